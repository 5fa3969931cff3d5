"""``halfmoon reproduce``: the paper's table and figures, computed again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from halfmoon._extras import need
from halfmoon.cli import _options as o
from halfmoon.cli._report import reporting

NAME = "reproduce"
HELP = "Compute the paper's Table 1 and Figures 1 to 5 again; every finished trial is kept, a killed run goes on."
EXAMPLES = o.examples(
    "halfmoon reproduce figure4",
    "halfmoon reproduce all --quick --data DIR",
    "halfmoon reproduce figure3 --data DIR --trials 10 --out results",
)


class Name(StrEnum):
    """What to reproduce."""

    all = "all"
    table1 = "table1"
    figure1 = "figure1"
    figure2 = "figure2"
    figure3 = "figure3"
    figure4 = "figure4"
    figure5 = "figure5"


def command(
    name: Annotated[Name, typer.Argument(metavar="NAME", help="table1, figure1 to figure5, or all.")],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="HALFMOON_DATA",
            help="Folder with mnist.npz and letter.npz; without it they are fetched from OpenML and kept.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "reproduction"
    ),
    trials: Annotated[int | None, typer.Option(min=1, help="Trials; as in the paper unless given.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores unless given.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few trials on a small grid: minutes, not an hour.")] = False,
    resume: Annotated[bool, typer.Option(help="Go on with the trials that are there.")] = True,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Run experiments and write tables, figures and summary.md."""
    with reporting(quiet, as_json) as report:
        report.collects(out)
        need("Figures", "plot", "matplotlib")
        with report.working(f"reproducing {name}"):
            import joblib
            import matplotlib

            from halfmoon.experiments.reproduce import EXPERIMENTS, Options, count_of_claims, reproduce

            matplotlib.use("Agg")
            names = list(EXPERIMENTS) if name is Name.all else [name.value]
            options = Options(data=data, seed=seed, trials=trials, quick=quick)
            claims = reproduce(names, out, options, jobs=jobs or joblib.cpu_count(), resume=resume)
        for claim in claims:
            report.show(f"{claim.verdict}: {claim.text}: {claim.measured} ({claim.aim})")
        report.finish(
            count_of_claims(claims),
            str(out / "summary.md"),
            claims=[vars(claim) for claim in claims],
        )
