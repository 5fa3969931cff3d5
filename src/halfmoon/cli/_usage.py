"""Mistakes in the command line itself: one line like every other error, not a box."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from halfmoon.cli._interrupts import INTERRUPTED, NOTHING, Interrupted, end_interrupted
from halfmoon.cli._report import BAD_INPUT, Report

__all__ = ["Command", "Commands"]

# Of click, which newer versions of typer carry within them: typer gives a name to its subclass only.
UsageError: Any = typer.BadParameter.__base__


def _as_flags(params: list[Any]) -> list[Any]:
    """Return parameters of which those that need no value show none in the help."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """One command; flags show as flags in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options."""
        return _as_flags(super().get_params(ctx))


class Commands(TyperGroup):
    """The group of all commands; it reports what the parser refuses."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of ``halfmoon`` itself."""
        return _as_flags(super().get_params(ctx))

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command line and end the process."""
        words = sys.argv[1:] if args is None else args
        try:
            code = super().main(args, *rest, **options | {"standalone_mode": False})
            if code == INTERRUPTED:  # while arguments were parsed
                raise Interrupted(NOTHING)
            sys.exit(code)
        except (Interrupted, typer.Abort) as interrupt:
            end_interrupted(str(interrupt) or NOTHING, as_json="--json" in words)
        except UsageError as error:
            if error.format_message():  # without any argument help is shown, and this is empty
                Report(quiet=False, as_json="--json" in words).fail(_message_of(error), BAD_INPUT)
            sys.exit(BAD_INPUT)


def _message_of(error: Any) -> ValueError:
    """Return what is wrong, and where to read on."""
    command = "halfmoon" if error.ctx is None else error.ctx.command_path
    text = error.format_message()
    text = re.sub(r"Invalid value for ('.*?'): Input should be", r"\1 must be", text)
    return ValueError(f"{text}{'' if text.endswith(('.', '?')) else '.'} See {command} --help.")
