"""The code in README and documentation runs, and the gallery is complete."""

import ast
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[!_]*/*.md")]
    if "```python\n" in page.read_text(encoding="utf-8")
)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
QUICK = ("plot_regularizers.py", "plot_gaussian_process.py")


BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)

DECIMAL = re.compile(r"\d+\.\d+")


def blocks_of(page):
    """Return the python blocks of a page and what they are said to print.

    Each block is on the lines where it stands, so that errors point into the page.
    """
    text = page.read_text(encoding="utf-8")
    return [("\n" * text.count("\n", 0, block.start(1)) + block[1], block[2]) for block in BLOCK.finditer(text)]


def same_text(printed, expected):
    """Return whether texts agree; the last digit of a decimal number may depend on the machine."""
    if DECIMAL.sub("#", printed) != DECIMAL.sub("#", expected):
        return False
    pairs = zip(DECIMAL.findall(printed), DECIMAL.findall(expected), strict=True)
    return all(abs(float(a) - float(b)) <= 1.5 * 10.0 ** -len(b.partition(".")[2]) for a, b in pairs)


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # pages write files
    namespace = {}
    for code, expected in blocks_of(ROOT / page):
        exec(compile(code, page, "exec"), namespace)
        printed = capsys.readouterr().out
        assert expected is None or same_text(printed, expected), printed


def test_printed_numbers_are_compared():
    assert same_text("92.9% of 1,767", "93.0% of 1,767")
    assert not same_text("92.9% of 1,767", "93.1% of 1,767")
    assert not same_text("92.9% of 1,767", "92.9% of 1,768")


def test_first_pages_show_what_their_code_prints():
    for page in ("README.md", "docs/index.md", "docs/start.md", "docs/labels-first.md", "docs/embeddings.md"):
        assert any(expected for _, expected in blocks_of(ROOT / page)), page


def test_api_page_lists_what_users_import():
    listed = {
        f"{module}.{name}"
        for _, _, modules in runpy.run_path(str(ROOT / "docs" / "conf.py"))["API"]
        for module, names in modules.items()
        for name in names
    }
    for module in ("halfmoon", "halfmoon.model_selection", "halfmoon.plotting", "halfmoon.exceptions"):
        assert {f"{module}.{name}" for name in import_module(module).__all__} <= listed
    for path in listed:
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name), path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_compiles_and_has_a_title_a_text_and_a_figure(example):
    source = example.read_text(encoding="utf-8")
    title, underline, *text = ast.get_docstring(ast.parse(source)).splitlines()
    assert underline == "=" * len(title)
    assert any(text)
    assert "plt.show()" in source


@pytest.mark.parametrize("name", QUICK)
def test_quick_examples_run(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    runpy.run_path(str(ROOT / "examples" / name))
    assert plt.get_fignums()
    plt.close("all")


def test_pages_link_to_examples_that_exist():
    stems = {example.stem for example in EXAMPLES}
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[!_]*/*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"(?:glr_|auto_examples/)(plot_\w+?)(?=_\d{3}\.|\W)", text))
    assert named
    assert named <= stems


def linked_from(page):
    """Return the files that a page links to, or shows as pictures."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets if "://" not in target}


def test_pages_that_the_readme_links_to_read_well_in_the_repository():
    first = linked_from(ROOT / "README.md")
    for page in (page for page in first if page.suffix == ".md"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"\{[a-z:]+\}`|^```\{", text, flags=re.MULTILINE), page
        assert not [target for target in linked_from(page) if not target.exists()], page
    assert all(target.exists() for target in first)
