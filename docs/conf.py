"""Configuration of the documentation, for ``make docs``."""

import re
from importlib import import_module
from pathlib import Path

from PIL import Image

import halfmoon

project = "halfmoon"
author = "The halfmoon developers"
copyright = author
version = release = halfmoon.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx-mathjax-offline",  # formulas without a request to anyone
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "generated/backreferences"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections say the types
numpydoc_show_class_members = False  # the template of classes shows them

# What the API page lists: a title, a sentence, and names by module. What is not here is not for users.
API = [
    (
        "Learn from few labels",
        "Estimators for labelled and unlabelled rows.",
        {"halfmoon": ["LapSVC", "LapRLSClassifier", "LapRLSRegressor"]},
    ),
    (
        "Cluster",
        "Clusters of any shape, without labels.",
        {"halfmoon": ["KernelKMeans"]},
    ),
    (
        "Use the kernel elsewhere",
        "The kernel for methods of scikit-learn and your own, and its feature map for linear models.",
        {"halfmoon": ["DataDependentKernel", "LandmarkFeatures"], "halfmoon.kernels": ["DataDependentGPKernel"]},
    ),
    (
        "Understand a model",
        "What ``report_``, ``choice_``, ``explain``, ``label_issues`` and ``conformal_guarantee`` return.",
        {
            "halfmoon.semi_supervised": [
                "Report",
                "Score",
                "Choice",
                "Explanation",
                "PointExplanation",
                "LabelIssues",
                "LabelIssue",
                "ConformalGuarantee",
            ]
        },
    ),
    (
        "Choose what to label",
        "The labelling page, and suggestions for code of your own.",
        {"halfmoon": ["label"], "halfmoon.active_learning": ["suggest"]},
    ),
    (
        "Tune and validate",
        "Searches and folds that keep the unlabelled rows in the graph.",
        {"halfmoon.model_selection": ["KernelSearchCV", "LabeledKFold", "labeled_scorer"]},
    ),
    (
        "Tables and model files",
        "What the command line does, from Python, and files that hold no code.",
        {
            "halfmoon": ["save", "load", "open_rows"],
            "halfmoon.tables": ["TableModel", "Table", "read_table"],
        },
    ),
    (
        "Plots",
        "Displays in scikit-learn's conventions.",
        {
            "halfmoon.plotting": [
                "DecisionRegionDisplay",
                "EmbeddingDisplay",
                "ExplanationDisplay",
                "KernelMatrixDisplay",
                "LabelCurveDisplay",
                "SpectrumDisplay",
                "ComponentSizesDisplay",
            ]
        },
    ),
    (
        "Large data",
        "Costs before a fit, progress during it, and clusters.",
        {
            "halfmoon": ["distributed", "progress_callback"],
            "halfmoon.planning": ["plan", "Plan", "Step", "fit_memory", "FitMemory", "FitSize"],
        },
    ),
    (
        "Graphs",
        "Neighbour graphs and their Laplacians.",
        {
            "halfmoon.graph": [
                "knn_graph",
                "GraphReport",
                "SearchOptions",
                "laplacian",
                "check_graph",
                "connected_components",
                "Components",
                "NeighborIndex",
                "find_duplicates",
            ]
        },
    ),
    (
        "Geometry: landmarks and the inverse on them",
        "What the data say before there are labels.",
        {
            "halfmoon": ["Geometry", "select_landmarks", "restrict"],
            "halfmoon.geometry": ["Restriction", "restrict_powers"],
        },
    ),
    (
        "Regularisers",
        "Which functions on the graph count as smooth.",
        {
            "halfmoon.regularizers": [
                "PowerRegularizer",
                "HeatRegularizer",
                "SpectralRegularizer",
                "AmplifiedResistance",
                "MatrixRegularizer",
                "GraphRegularizer",
                "Greens",
            ]
        },
    ),
    (
        "Linear systems",
        "Symmetric diagonally dominant systems with many right-hand sides.",
        {"halfmoon.solvers": ["solve_sdd", "Solution", "SolveOptions", "Solver", "System"]},
    ),
    (
        "Errors and warnings",
        "All in ``halfmoon.exceptions``.",
        {"halfmoon.exceptions": import_module("halfmoon.exceptions").__all__},
    ),
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("halfmoon",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (640, 400),
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
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "benchmarks": []},
}
html_sidebars = {page: [] for page in ("index", "start", "command-line")}  # they have no pages below them
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def write_api_page(app, config):
    """List what users need, by task."""
    lines = ["API reference", "=============", ""]
    for title, sentence, modules in API:
        lines += [title, "-" * len(title), "", sentence, ""]
        for module, names in modules.items():
            lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree:", "   :nosignatures:", ""]
            lines += [*(f"   {name}" for name in names), ""]
    page = Path(app.srcdir, "generated", "api.rst")
    page.parent.mkdir(exist_ok=True)
    text = "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


TARGETS = {
    name: f"{module}.{name}"
    for _, _, modules in API
    for module, names in modules.items()
    for name in names
    if not name.islower() or "_" in name  # other names are words too
}


def link_page(app, docname, source):
    """Turn what is plain Markdown for readers of the repository into links of the site.

    Links to the files of examples lead into the gallery. The first mention of a name of the API leads to its page.
    """
    if Path(app.env.doc2path(docname)).suffix != ".md" or docname == "changelog":
        return
    text = re.sub(r"\((?:\.\./)+examples/(plot_\w+)\.py\)", r"(/auto_examples/\1.rst)", source[0])
    text = re.sub(r"\((?:\.\./)+examples/\)", "(/auto_examples/index.rst)", text)
    parts = re.split(r"(^```.*?^```$|^#.*?$)", text, flags=re.MULTILINE | re.DOTALL)  # code and headings stay
    seen = set()

    def link(mention):
        name = mention[1]
        if name not in TARGETS or name in seen:
            return mention[0]
        seen.add(name)
        return f"{{py:obj}}`~{TARGETS[name]}`"

    parts[::2] = [re.sub(r"(?<![\[`])`(\w+)`(?![\]`])", link, part) for part in parts[::2]]
    source[0] = "".join(parts)


def crop_thumbnails(app):
    """Show the left of wide figures in the gallery, at a size that can be read."""
    images = Path(app.srcdir, "auto_examples", "images")
    width, height = sphinx_gallery_conf["thumbnail_size"]
    for thumbnail in images.glob("thumb/*_thumb.png"):
        figure = images / re.sub(r"_thumb\.png$", "_001.png", thumbnail.name)
        if not figure.exists():  # with plot_gallery=0 nothing was drawn
            continue
        with Image.open(figure) as image:
            shown = image.convert("RGB").crop((0, 0, min(image.width, image.height * width // height), image.height))
        shown.thumbnail((width, height))
        page = Image.new("RGB", (width, height), "white")
        page.paste(shown, ((width - shown.width) // 2, (height - shown.height) // 2))
        page.save(thumbnail)


def setup(app):
    """Write the API page before Sphinx looks for pages, links as pages are read, thumbnails after the gallery."""
    app.connect("config-inited", write_api_page)
    app.connect("source-read", link_page)
    app.connect("builder-inited", crop_thumbnails, priority=900)
