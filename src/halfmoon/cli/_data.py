"""Read data files as options say, and carry columns of them over to results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmoon.cli._options import Fitting, Reading

if TYPE_CHECKING:
    from halfmoon.tables import Recipe, Table

__all__ = ["carried_columns", "joined", "need_target", "one_target", "read_data", "recipe_of"]


def read_data(data: Path, target: list[str] | None, reading: Reading, *, on_disk: bool = False) -> Table:
    """Read the data that a model is fitted to; `on_disk` leaves rows of Parquet files there."""
    from halfmoon.tables import read_table

    return read_table(
        data,
        target=one_target(target),
        ignore=reading.ignore or (),
        categorical=reading.categorical or (),
        text=reading.text or (),
        day_first=reading.day_first,
        separator=reading.separator,
        on_disk=on_disk,
    )


def recipe_of(fitting: Fitting, task: str | None, **more: Any) -> Recipe:
    """Return how to fit a table, as the options say."""
    from halfmoon.tables import Recipe

    return Recipe(
        task=task,
        n_landmarks=fitting.landmarks,
        n_neighbors=fitting.neighbors,
        standardize=fitting.standardize,
        seed=fitting.seed,
        **more,
    )


def one_target(names: list[str] | None) -> str | None:
    """Return the one column that was named as the target; several are refused with the way out."""
    if names and len(names) > 1:
        first, second = names[:2]
        raise ValueError(
            f"{len(names)} targets were named, and a model has one. Fit a model for each, without the others as "
            f"features: --target {first} --ignore {second}, then --target {second} --ignore {first}."
        )
    return names[0] if names else None


def need_target(table: Table) -> None:
    """Say which columns there are if none was named as the target."""
    from halfmoon.tables import known_columns

    if table.target is not None:
        return
    if table.path.suffix.lower() == ".npy":
        raise table.error("where are the labels? Name another NPY file with --target.")
    names = known_columns("", list(getattr(table.X, "columns", ["y"])))
    raise table.error(f"which column is the target? Name it with --target. {names}")


def carried_columns(
    data: Path, table: Table, ids: list[str] | None, keep: bool, separator: str | None
) -> dict[str, Any]:
    """Return the columns of the data that a file of results begins with: the names of images, ids, or all columns."""
    import numpy as np

    from halfmoon.tables import read_columns

    if ids and keep:
        raise ValueError("--keep carries all columns over, those of --id too. Leave one of the two out.")
    if ids or keep:
        return read_columns(data, ids or (), separator=separator)
    return {"image": np.array(table.rows)} if table.unit == "image" else {}


def joined(carried: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return carried columns and results; two columns of one name are refused."""
    twice = [name for name in results if name in carried]
    if twice:
        raise ValueError(
            f"The data have a column {twice[0]!r} too, and a file has one of that name. Rename it, or name the columns "
            "to carry over with --id."
        )
    return carried | results
