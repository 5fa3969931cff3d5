"""``halfmoon plan``: what a fit will cost, before it is begun."""

from __future__ import annotations

from pathlib import Path
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
    data: Annotated[Path | None, typer.Argument(hidden=True)] = None,
    rows: Annotated[
        float | None, typer.Option(metavar="N", help="Rows of the data; 1e8 is a number. Required.")
    ] = None,
    features: Annotated[float | None, typer.Option(metavar="N", help="Columns of the data. Required.")] = None,
    landmarks: Annotated[
        float, typer.Option(metavar="N", help="Rows that stand for all others in the costly steps.")
    ] = 500,
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

        from halfmoon.planning import measured_costs, plan

        if data is not None:
            raise ValueError(f"{data}: plan reads no data. Name their size: halfmoon plan --rows N --features N.")
        if rows is None or features is None:
            raise ValueError("plan needs the size of the data, in numbers: halfmoon plan --rows N --features N.")
        smallest = measured_costs().smallest
        below = 1 <= rows < smallest
        size = max(rows, smallest) if below else rows
        planned = plan(size, features, landmarks, workers, threads=threads, gigabits=gigabits)
        if below:
            report.show(f"{rows:,.0f} rows are fewer than in any run that was measured; this is the plan for {size:,}.")
            report.show("A smaller fit takes less: there is nothing to plan.\n")
        report.show(str(planned))
        facts = asdict(planned)
        facts["planned_seconds"] = planned.seconds
        report.finish(planned.summary, timed=False, **facts)
