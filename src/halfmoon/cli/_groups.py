"""Groups of options: a command has one parameter for each, and its command line all their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

__all__ = ["ungrouped"]


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its groups, which are dataclasses, one by one: typer has no groups.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from inspect import signature
    >>> from halfmoon.cli._groups import ungrouped
    >>> @dataclass
    ... class Size:
    ...     height: int = 2
    ...     width: int = 3
    >>> def area(name: str, *, size: Size) -> None:
    ...     print(name, size.height * size.width)
    >>> list(signature(ungrouped(area)).parameters)
    ['name', 'height', 'width']
    >>> ungrouped(area)(name="area", height=5, width=3)
    area 15
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    parameters: list[Parameter] = []
    for name, given in signature(command).parameters.items():
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            parameters += [_parameter(field.name, field.default, kinds[field.name]) for field in fields(groups[name])]
        else:
            parameters.append(_parameter(name, given.default, hints[name]))

    @wraps(command)
    def run(**options: Any) -> None:
        grouped = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**options, **grouped)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(name: str, default: Any, kind: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
