"""The pages that are made of the results: all tables on one, the summary between two marks of another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.plot import OURS, draw_ranks
from benchmarks.accuracy.report import PRIORS, VIEWS, Errors, behind, lost_rows, mean_over, set_tables, summary
from benchmarks.accuracy.store import Result

BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"
VERY_FEW = (1, 2, 3, 5)
CLASSES = {"digits": 10, "wine": 3, "docstrings": 8, "letter": 26, "MNIST": 10}  # the others have two
COMMAND = "python -m benchmarks.accuracy --data DIR"


def write_pages(results: Sequence[Result], methods: Sequence[str], out: Path, docs: Path | None) -> None:
    """Write tables and picture to the folder of results, and to the documentation if it is named."""
    plain = [r for r in results if not r.tuned]
    if not results:
        raise SystemExit(f"{out} has no results: run the benchmark without --report first.")
    if docs is not None and not plain:
        raise SystemExit(
            f"{out} has no results of the defaults, which {docs} shows: run the benchmark without --tuned."
        )
    names = [m for m in methods if not m.endswith(PRIORS)]
    panels = {title: Errors.of(plain, view, list(SETS), names) for view, title in VIEWS.items()}
    folders = [out] if docs is None else [out, docs]
    for folder in folders:
        _write(folder / "accuracy.md", "\n".join(page(results, methods)) + "\n")
        if plain:
            draw_ranks(panels, (folder / "images" if folder == docs else folder) / "accuracy.png")
    if docs is not None:
        comparison = docs / "comparison.md"
        _write(comparison, replaced(comparison.read_text(), "\n".join(short(plain, methods))))


def page(results: Iterable[Result], methods: Sequence[str]) -> Iterator[str]:
    """Yield the page of all tables."""
    yield "# Accuracy, all tables"
    yield ""
    yield (
        f"Made by `{COMMAND}`; [How it compares](comparison.md) says what the sets and methods are, and what follows. "
        "Errors in per cent, means over draws ± their standard errors; columns are labels per class. **Bold**: best, "
        "or within one standard error (of the paired differences) of the best. Seconds are those of the processor, "
        "all threads together, means over all fits. A figure in parentheses is the number of draws of a method "
        "that has fewer than the set."
    )
    for is_tuned, heading in ((False, "Defaults"), (True, "Tuned by cross-validation on the labels")):
        chosen = [r for r in results if r.tuned == is_tuned]
        for view, title in VIEWS.items():
            for told, note in ((False, ""), (True, ", class priors given")):
                errors = Errors.of(chosen, view, list(SETS), [m for m in methods if m.endswith(PRIORS) == told])
                if errors.rows:
                    yield from ["", f"## {heading}{note}: {title}", "", *summary(errors), "", *set_tables(errors)]


def short(results: Sequence[Result], methods: Sequence[str]) -> Iterator[str]:
    """Yield the summary of the methods at their defaults."""
    for view, title in VIEWS.items():
        errors = Errors.of(results, view, list(SETS), [m for m in methods if not m.endswith(PRIORS)])
        told = Errors.of(results, view, list(SETS), [m for m in methods if m.endswith(PRIORS)])
        yield from [f"### On {title}", "", *summary(errors), "", *_lags(errors)]
        yield from ["", "Where neither is best nor within one standard error of it:", "", *lost_rows(errors, OURS)]
        if view == "train":
            yield from ["", *mean_over(errors, "MNIST", VERY_FEW)]
        if told.rows:
            yield from ["", f"### On {title}, class priors given", "", *summary(told), ""]
        if view == "train":
            yield from mean_over(told, "MNIST", VERY_FEW)
    missing = [m for m in methods if not any(r.method == m and r.train is not None for r in results)]
    if missing:
        yield f"Without any result: {', '.join(missing)}."


def _lags(errors: Errors) -> Iterator[str]:
    """Yield how far halfmoon is behind a plain SVC at worst."""
    n_classes = {name: CLASSES.get(name, 2) for name in SETS}
    for method in OURS:
        worst = behind(errors, method, "SVC", n_classes)
        if worst is not None:
            points, (name, labels) = worst
            where = f"{name}, {labels} labels per class"
            yield f"With 60 labels and more, `{method}` minus `SVC` is at worst {points:+.1f} points ({where})."


def replaced(text: str, middle: str) -> str:
    """Return a page with what is between its marks replaced.

    Examples
    --------
    >>> replaced("a <!-- accuracy: begin --> old <!-- accuracy: end --> z", "new").split()
    ['a', '<!--', 'accuracy:', 'begin', '-->', 'new', '<!--', 'accuracy:', 'end', '-->', 'z']
    """
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not (found and closed):
        raise ValueError(f"The page has no marks {BEGIN} and {END} to write between. Put them where the tables go.")
    return f"{head}{BEGIN}\n\n{middle}\n\n{END}{tail}"


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)
