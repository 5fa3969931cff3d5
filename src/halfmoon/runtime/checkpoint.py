"""Finished pieces of a long computation, kept in a folder: a run that was killed goes on where it was.

Tasks are pure functions, so the result of one may be read from a file as well as computed: `kept` says which
functions are worth it. A piece is named by the function and a digest of what it was given, is written atomically, and
ends with a digest of itself: a damaged one is computed again.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from halfmoon.exceptions import CheckpointError
from halfmoon.runtime.atomic_write import atomic_write, leftovers
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.naming import naming
from halfmoon.runtime.pieces import DamagedError, digest, read_piece, write_piece

__all__ = ["Checkpoint", "CheckpointedExecutor", "kept"]

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

MANIFEST = "halfmoon-checkpoint.json"
FORMAT = 1
_KEPT: set[Callable[..., Any]] = set()


def kept(function: Function) -> Function:
    """Declare that the results of a task are worth a file where a checkpoint is kept."""
    _KEPT.add(function)
    return function


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds the finished pieces of one run.

    Examples
    --------
    >>> import tempfile
    >>> from halfmoon.runtime.checkpoint import Checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint.open(folder, {"rows": "5"})
    ...     checkpoint.piece("square", lambda: 3**2)
    ...     Checkpoint.open(folder, {"rows": "5"}).piece("square", lambda: print("not computed again"))
    9
    9
    """

    folder: Path

    @classmethod
    def open(cls, folder: str | os.PathLike[str], fingerprint: Mapping[str, str]) -> Self:
        """Return the checkpoint in a folder, new or of an earlier run with the same fingerprint.

        Parameters
        ----------
        folder : path
            Created if need be. One that holds other files, or the run of something else, is refused.
        fingerprint : mapping of str to str
            What the run depends on, by name.

        Returns
        -------
        Checkpoint
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        manifest = place / MANIFEST
        if not manifest.exists():
            _check_empty(place)
            with atomic_write(manifest) as file:
                file.write(json.dumps({"format": FORMAT, "fingerprint": dict(fingerprint)}, indent=1).encode())
        _check_same(place, _read_manifest(manifest), dict(fingerprint))
        for leftover in leftovers(place):  # of a killed run; a folder has one run at a time
            leftover.unlink(missing_ok=True)
        return cls(place)

    def piece(self, name: str, compute: Callable[[], Result]) -> Result:
        """Return a piece from its file, or compute it and write the file."""
        path = self.folder / f"{name}.piece"
        found, value = self._read(path)
        if found:
            return value
        result = compute()
        with atomic_write(path) as file:
            write_piece(file, result)
        return result

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name; it may be damaged."""
        return (self.folder / f"{name}.piece").exists()

    def _read(self, path: Path) -> tuple[bool, Any]:
        try:
            with naming(path), path.open("rb") as file:
                return True, read_piece(file)
        except FileNotFoundError:
            return False, None
        except DamagedError as error:
            warnings.warn(f"{path} is damaged ({error}) and is computed again.", UserWarning, stacklevel=3)
            return False, None


class CheckpointedExecutor(Executor):
    """Runs tasks on another executor, and keeps the results of those that are worth it.

    Parameters
    ----------
    inner : Executor
        Runs the tasks.
    checkpoint : Checkpoint
        Keeps their results.
    """

    def __init__(self, inner: Executor, checkpoint: Checkpoint) -> None:
        self.inner, self.checkpoint = inner, checkpoint
        self.shares_memory = inner.shares_memory

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.inner.__exit__(*error)

    def map(
        self, task: Callable[[Prepared, Item], Result], prepared: Prepared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield task(prepared, item) for every item, in order; finished ones come from their files."""
        if task not in _KEPT:
            yield from self.inner.map(task, prepared, items)
            return
        prefix, wanted = f"{task.__name__}-{digest(prepared)}", list(items)
        names = [f"{prefix}-{digest(item)}" for item in wanted]
        # By name: of two equal items the second is read from the file of the first.
        missing = {name: item for name, item in zip(names, wanted, strict=True) if not self.checkpoint.has(name)}
        computed = self.inner.map(task, prepared, missing.values())
        for item, name in zip(wanted, names, strict=True):
            if self.checkpoint.has(name):
                yield self.checkpoint.piece(name, partial(task, prepared, item))
            else:
                yield self.checkpoint.piece(name, partial(next, computed))

    def run(self, task: Callable[[Prepared], Result], prepared: Prepared) -> Result:
        """Return task(prepared), computed by a worker or read from its file."""
        if task not in _KEPT:
            return self.inner.run(task, prepared)
        name = f"{task.__name__}-{digest(prepared)}"
        return self.checkpoint.piece(name, lambda: self.inner.run(task, prepared))


def _check_empty(place: Path) -> None:
    others = sorted(path.name for path in {*place.iterdir()}.difference(leftovers(place)))
    if others:
        raise CheckpointError(
            f"The folder {place} is not a checkpoint: it holds {len(others)} other files, {others[0]!r} for one. "
            "Name an empty or a new folder."
        )


def _read_manifest(manifest: Path) -> dict[str, Any]:
    try:
        with naming(manifest):
            contents: dict[str, Any] = json.loads(manifest.read_bytes())
        if contents["format"] != FORMAT:
            raise CheckpointError(
                f"{manifest.parent} was written in format {contents['format']}, this version reads {FORMAT}. "
                "Name another folder, or finish the run with the version that began it."
            )
        return dict(contents["fingerprint"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{manifest} is damaged ({error}). Delete the folder, or name another one.") from None


def _check_same(place: Path, found: dict[str, Any], expected: dict[str, str]) -> None:
    differing = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    if differing:
        name = differing[0]
        raise CheckpointError(
            f"The folder {place} holds the run of something else: it differs in {', '.join(differing)} ({name}: "
            f"{found.get(name)} there, {expected.get(name)} now). Name another folder, or delete this one."
        )
