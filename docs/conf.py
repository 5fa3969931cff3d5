"""Configuration of the documentation, for ``make docs``."""

from importlib import import_module
from pathlib import Path

import halfmoon

project = "halfmoon"
author = "The halfmoon developers"
copyright = author
version = release = halfmoon.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "generated/backreferences"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections say the types
numpydoc_show_class_members = False  # the template of classes shows them

# What the API page lists: modules, their titles and, where not everything exported is for users, the names.
API = {
    "halfmoon": ("Kernels and estimators", None),
    "halfmoon.semi_supervised": (
        "What estimators answer",
        ["ConformalGuarantee", "Explanation", "PointExplanation", "LabelIssue", "LabelIssues"],
    ),
    "halfmoon.model_selection": ("Tuning with few labels", None),
    "halfmoon.active_learning": ("Which rows to label next", ["suggest"]),
    "halfmoon.graph": ("Graphs", None),
    "halfmoon.regularizers": ("Regularisers", None),
    "halfmoon.geometry": ("Q^+ on the landmarks", ["Restriction", "restrict_powers"]),
    "halfmoon.solvers": ("Solvers", None),
    "halfmoon.plotting": ("Plots", None),
    "halfmoon.planning": ("What a fit will cost", ["FitMemory", "FitSize", "Plan", "Step", "fit_memory", "plan"]),
    "halfmoon.exceptions": ("Errors and warnings", None),
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("halfmoon",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = f"halfmoon {release}"
html_static_path = ["_static"]
html_css_files = ["halfmoon.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "comparison": [], "index": [], "benchmarks": []},
}
html_sidebars = {page: [] for page in ("index", "start", "comparison")}  # they have no pages below them
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def write_api_page(app, config):
    """List what every public module exports; what a module exports again is listed where it came first."""
    lines, seen = ["API reference", "=============", ""], set()
    for name, (title, chosen) in API.items():
        module = import_module(name)
        exported = {entry: getattr(module, entry) for entry in sorted(chosen or module.__all__)}
        fresh = [entry for entry, value in exported.items() if callable(value) and id(value) not in seen]
        seen.update(id(value) for value in exported.values())
        lines += [title, "-" * len(title), "", f".. currentmodule:: {name}", ""]
        lines += [".. autosummary::", "   :toctree:", "   :nosignatures:", "", *(f"   {entry}" for entry in fresh), ""]
    page = Path(app.srcdir, "generated", "api.rst")
    page.parent.mkdir(exist_ok=True)
    text = "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def setup(app):
    """Write the API page before Sphinx looks for pages."""
    app.connect("config-inited", write_api_page)
