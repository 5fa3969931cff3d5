"""Files that name the version agree on it."""

import re
from pathlib import Path

import halfmoon

ROOT = Path(__file__).parents[2]


def test_citation_recipe_and_changelog_have_the_version():
    version = re.escape(halfmoon.__version__)
    for name, line in (
        ("CITATION.cff", rf"^version: {version}$"),
        ("conda/recipe.yaml", rf'^  version: "{version}"$'),
        ("CHANGELOG.md", rf"^## {version} "),
    ):
        assert re.search(line, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE), name


def test_recipe_requires_what_the_package_requires():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.search(r"^dependencies = \[\n(.*?)^\]", declared, flags=re.MULTILINE | re.DOTALL)[1]
    for name, bounds in re.findall(r'"([\w-]+)([^"]+)"', required):
        assert f"    - {name} {bounds}\n" in recipe
