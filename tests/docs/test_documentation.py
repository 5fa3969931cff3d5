"""The code in README and documentation runs, and the gallery is complete."""

import ast
import re
import runpy
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


def code_of(page):
    """Return the python blocks of a page, each on the lines where it stands, so that errors point into the page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [("\n" * text.count("\n", 0, block.start(1))) + block.group(1) for block in blocks]


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages write files
    namespace = {}
    for block in code_of(ROOT / page):
        exec(compile(block, page, "exec"), namespace)


def test_readme_and_start_have_code():
    assert {"README.md", "docs/start.md"} <= set(PAGES)


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
