"""The files of the page, read once: nothing else can be asked for."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = ["MEDIA", "bundle", "static_files"]

MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
IMPORT = re.compile(r"^import \{[^}]*\} from \"\./([a-z]+\.js)\";\n", flags=re.M)
EXPORT = re.compile(r"^export (?!default)", flags=re.M)


@cache
def static_files() -> dict[str, str]:
    """Return the files of the page by name."""
    folder = files("halfmoon.labeller") / "static"
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if any(file.name.endswith(suffix) for suffix in MEDIA)
    }


def bundle(entry: str) -> str:
    """Return a module and all that it imports as one module, for notebooks: they load one file.

    The modules import names from each other as ``import { a, b } from "./file.js"`` and from nowhere else, and have no
    name at their top level twice.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        for imported in IMPORT.findall(static_files()[name]):
            if imported not in order:
                visit(imported)
        if name not in order:
            order.append(name)

    visit(entry)
    return "\n".join(EXPORT.sub("", IMPORT.sub("", static_files()[name])) for name in order)
