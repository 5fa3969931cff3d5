"""``halfmoon plan``: what a fit will cost, before it is begun."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmoon.cli import _options as o
from halfmoon.cli._report import reporting

NAME = "plan"
HELP = "Print time, memory and traffic of a fit before it is begun, from measured runs."
EXAMPLES = o.examples(
    "halfmoon plan --rows 1e6 --features 32",
    "halfmoon plan --rows 1e8 --features 128 --landmarks 1000 --workers 20",
)


def command(
    rows: Annotated[float, typer.Option(metavar="N", help="Rows of the data; 1e8 is a number.", show_default=False)],
    features: Annotated[float, typer.Option(metavar="N", help="Columns of the data.", show_default=False)],
    landmarks: Annotated[float, typer.Option(metavar="N", help="Points at which functions are measured.")] = 500,
    workers: Annotated[
        float, typer.Option(metavar="N", help="Machines that solve; 1 is one machine that does everything.")
    ] = 1,
    threads: Annotated[float, typer.Option(metavar="N", help="Threads of each machine.")] = 2,
    gigabits: Annotated[float, typer.Option(metavar="X", help="Of the network, per second and machine.")] = 10,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Print the plan."""
    with reporting(quiet, as_json) as report:
        from dataclasses import asdict

        from halfmoon.planning import plan

        planned = plan(rows, features, landmarks, workers, threads=threads, gigabits=gigabits)
        report.show(str(planned))
        facts = asdict(planned)
        facts["planned_seconds"] = planned.seconds
        report.finish("Planned", **facts)
