"""``halfmoon label``: a page on this machine on which rows are labelled, with every prediction changing at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halfmoon._extras import need
from halfmoon.cli import _options as o
from halfmoon.cli._data import one_target
from halfmoon.cli._report import reporting
from halfmoon.runtime.words import counted

if TYPE_CHECKING:
    from halfmoon.labeller import Session

NAME = "label"
HELP = "Open a page to label the rows of a data file or a folder of images; predictions follow every label at once."
EXAMPLES = o.examples(
    "halfmoon label photos/",
    "halfmoon label flowers.csv --target species",
    "halfmoon label moons.npz --class inner --class outer --port 8123 --no-browser",
)
NEEDED = ("starlette", "uvicorn")


def command(
    data: o.Data,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column of labels that are there already, if any."),
    ] = None,
    classes: Annotated[
        list[str] | None, typer.Option("--class", metavar="NAME", help="A class to begin with; may be repeated.")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            "--journal", metavar="FILE", help="Where labels are kept; DATA.labels.jsonl unless given. Goes on if there."
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=65535, help="Port; any free one unless given.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    images: Annotated[
        str | None,
        typer.Option(metavar="WxH", help="Rows of numbers are pictures of this size, as 28x28 or, in colour, 32x32x3."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of texts to label, compared by their words.")
    ] = None,
    landmarks: o.Landmarks = None,
    neighbors: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Neighbours in the graph; 5 unless given.")
    ] = None,
    unlabeled: o.Unlabeled = None,
    ignore: o.Ignore = None,
    categorical: o.Categorical = None,
    day_first: o.DayFirst = None,
    separator: o.Separator = None,
    standardize: o.Standardize = None,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Serve the page until Ctrl-C."""
    with reporting(quiet, as_json) as report:
        need("Pages to label on", "label", *NEEDED)
        place = Path(f"{data.resolve().stem}.labels.jsonl") if journal is None else journal
        shape = None if images is None else _shape(images)
        with report.working("reading"):
            from halfmoon.labeller import serve, session_of_file
            from halfmoon.tables import check_writable

            check_writable(place, inputs=(data,))
            session = session_of_file(
                data,
                target=one_target(target),
                classes=classes or (),
                journal=place,
                text=text,
                image_shape=shape,
                ignore=ignore or (),
                categorical=categorical or (),
                day_first=day_first,
                separator=separator,
                standardize=standardize,
                unlabeled=unlabeled,
                notify=report.note,
                seed=seed,
                n_landmarks=landmarks,
                n_neighbors=neighbors,
            )

        def announce(address: str) -> None:
            report.announce(address)
            report.show(f"Labels are kept in {place} as you go; Ctrl-C ends.")
            report.show(f"{_labeled(session):,} of {counted(session.n, 'row')} labelled so far.")

        serve(session, port=port, journal=place, open_browser=browser, announce=announce)
        for note in session.notes:
            report.note(note)
        labels = _labeled(session)
        done = f"{labels:,} of {counted(session.n, 'row')} labelled; run the same command to continue. Session ended"
        report.finish(done, str(place), labels=labels, rows=session.n, classes=session.classes)


def _labeled(session: Session) -> int:
    return sum(label is not None for label in session.labels)


def _shape(text: str) -> tuple[int, int, int]:
    """Return height, width and channels."""
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)(?:x([134]))?", text)
    if found is None:
        raise ValueError(f"--images {text}: write width x height as in 28x28, or 32x32x3 for pictures in colour.")
    return int(found[2]), int(found[1]), int(found[3] or 1)
