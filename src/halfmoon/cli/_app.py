"""The commands of ``halfmoon``, in the order of its help."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmoon import __version__
from halfmoon.cli import (
    check_labels,
    cluster,
    demo,
    diagnose,
    evaluate,
    explain,
    fit,
    info,
    label,
    plan,
    predict,
    reproduce,
    suggest,
)
from halfmoon.cli._groups import ungrouped
from halfmoon.cli._usage import Command, Commands

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="Learn from a table with a few labels: kernels that know your unlabelled rows.",
    epilog="halfmoon COMMAND --help shows the options of a command, with examples.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"halfmoon {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options of ``halfmoon`` itself."""


COMMANDS = (
    fit, label, predict, explain, evaluate, check_labels, suggest, diagnose, cluster, info, plan, demo, reproduce,
)  # fmt: skip

for module in COMMANDS:
    app.command(module.NAME, cls=Command, help=module.HELP, epilog=module.EXAMPLES)(ungrouped(module.command))
