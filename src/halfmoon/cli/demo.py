"""``halfmoon demo``: the library at work on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from halfmoon._extras import need
from halfmoon.cli import _options as o
from halfmoon.cli._report import reporting

NAME = "demo"
HELP = "Run five kernels on circles, moons and digits; print a table and draw the decision regions."
EXAMPLES = o.examples("halfmoon demo --out demo.png")


def command(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the figure.")] = Path(
        "demo.png"
    ),
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Run the demonstration."""
    with reporting(quiet, as_json) as report:
        report.writes(out)
        need("Figures", "plot", "matplotlib")
        with report.working("running"):
            from halfmoon.experiments import demo
            from halfmoon.tables import check_writable

            check_writable(out)
            results = list(demo.run(demo.Config(seed=seed)))
            demo.draw(results, out)
        report.show(demo.table(results))
        worst = max(result.kernel.restriction_.error_bound for result in results)
        report.finish(
            f"Ran {len(results)} classifiers (error bound {worst:.1e})",
            str(out),
            error_bound=worst,
            results=[_row(result) for result in results],
        )


def _row(result: Any) -> dict[str, Any]:
    return {
        "data": result.task.name,
        "kernel": result.kernel_name,
        "eta": result.eta,
        "error": result.error,
        "seconds": result.seconds,
    }
