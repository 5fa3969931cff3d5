"""What may come of a call with hostile input: the right result or a clear error, and nothing else."""

from __future__ import annotations

import hashlib
import linecache
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning

import halfmoon
from halfmoon import exceptions

__all__ = ["FAILURES", "GOOD", "Result", "Verdict", "judge", "judge_error"]

GOOD = ("right", "finite", "refused")
FAILURES = (
    "raw error", "raw warning", "not finite", "wrong shape", "differs", "changed input", "changed state", "hang",
    "died",
)  # fmt: skip
OURS = Path(halfmoon.__file__).parent
THEIRS = Path(sklearn.__file__).parent
CHECKS = THEIRS / "utils"  # where conversions fail in numpy's words
ERRORS = tuple(
    error
    for error in vars(exceptions).values()
    if isinstance(error, type) and issubclass(error, Exception) and not issubclass(error, Warning)
)
WARNINGS = (
    *(kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Warning)),
    ConvergenceWarning,
    DataConversionWarning,  # a column vector y, say
    UndefinedMetricWarning,
)
DOCUMENTED = (
    "X has feature names",
    "X does not have valid feature names",
    "The number of unique classes",
)  # scikit-learn
RTOL = 1e-6  # of results that must agree, relative to the largest entry


@dataclass(frozen=True)
class Result:
    """An array that a call has given, the shape it must have, and what else is expected of it."""

    value: Any
    shape: tuple[int, ...] | None = None
    infinite: bool = False
    compared: bool = True  # with the result of plain data; where rounding decides between classes it is not
    rtol: float = RTOL


Results = Mapping[str, Result]


@dataclass(frozen=True)
class Verdict:
    """What came of a call."""

    status: str
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether this must not happen."""
        return self.status in FAILURES


def judge(
    call: Callable[[Any], Results | Verdict],
    given: Any,
    plain: Any = None,
    inputs: Callable[[Any], Any] = lambda given: given,
) -> Verdict:
    """Call and judge; a call may judge itself. Where data have a plain form, its result is what is right."""
    before, state = fingerprint(inputs(given)), _state()
    try:
        results, caught = _watched(call, given)
    except Exception as error:
        verdict = judge_error(error)
    else:
        verdict = judge_warnings(caught) or (results if isinstance(results, Verdict) else judge_results(results))
        if not verdict.failed and plain is not None:
            verdict = _compare(results, call, plain)
    if fingerprint(inputs(given)) != before:
        return Verdict("changed input", verdict.message)
    if _state() != state:
        return Verdict("changed state", verdict.message)
    return verdict


def _watched(call: Callable[[Any], Any], given: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return call(given), list(caught)


def judge_error(error: BaseException) -> Verdict:
    """Return "refused" for an error that was raised on purpose, by us or by scikit-learn's checks of input."""
    text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not isinstance(error, (ValueError, TypeError, *ERRORS)) or isinstance(error, np.linalg.LinAlgError):
        return Verdict("raw error", f"{text} {_place(frames)}")
    frame = Path(frames[-1].filename)
    raised = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).strip().startswith("raise ")
    told = frame.is_relative_to(OURS) or frame.is_relative_to(THEIRS)
    if frame.is_relative_to(CHECKS) or (told and raised and len(str(error)) > 20):
        return Verdict("refused", text)
    return Verdict("raw error", f"{text} {_place(frames)}")


def _place(frames: traceback.StackSummary) -> str:
    """Return the innermost line of the library on the way to an error."""
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(OURS)]
    return f"[{Path(ours[-1].filename).relative_to(OURS)}:{ours[-1].lineno}]" if ours else "[outside]"


def judge_warnings(caught: list[warnings.WarningMessage]) -> Verdict | None:
    """Return a failure for the first warning that is neither ours nor one of those that scikit-learn documents."""
    for warning in caught:
        if not issubclass(warning.category, WARNINGS) and not str(warning.message).startswith(DOCUMENTED):
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            return Verdict("raw warning", f"{warning.category.__name__}: {warning.message} [{place}]")
    return None


def judge_results(results: Results) -> Verdict:
    """Return whether all results are finite and of their shapes."""
    for name, result in results.items():
        value = _array(result.value)
        if result.shape is not None and value.shape != result.shape:
            return Verdict("wrong shape", f"{name} has shape {value.shape}, not {result.shape}")
        if value.dtype.kind in "fc" and np.isnan(value).any():
            return Verdict("not finite", f"{name} holds NaN")
        if value.dtype.kind in "fc" and not result.infinite and np.isinf(value).any():
            return Verdict("not finite", f"{name} holds infinite values")
    return Verdict("finite")


def _compare(results: Results, call: Callable[[Any], Any], plain: Any) -> Verdict:
    """Return whether the plain form of the data gives the same results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = call(plain)
        except Exception as error:
            return Verdict("differs", f"a result, but the plain data were refused: {error}")
    for name, result in results.items():
        if not result.compared:
            continue
        found, right = _array(result.value), _array(expected[name].value)
        if found.shape != right.shape:
            return Verdict("differs", f"{name} has shape {found.shape}, from plain data {right.shape}")
        if right.dtype.kind not in "fc":
            if not np.array_equal(found.astype(str), right.astype(str)):
                return Verdict("differs", f"{name} differs from the result of the plain data")
        elif right.size:
            known = np.isfinite(right)
            scale = max(float(np.abs(right[known]).max(initial=0.0)), np.finfo(float).tiny)
            deviation = float(np.abs(found[known] - right[known]).max(initial=0.0)) / scale
            if not np.array_equal(known, np.isfinite(found)) or deviation > result.rtol:
                return Verdict("differs", f"{name} deviates by {deviation:.1e} from the result of the plain data")
    return Verdict("right")


def _array(value: Any) -> np.ndarray[Any, Any]:
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


def fingerprint(value: Any) -> str:
    """Return a digest of everything that a call could change in its input."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Any:
    yield type(value).__name__.encode()
    if isinstance(value, np.ma.MaskedArray):
        yield from _parts(value.filled(0) if value.dtype.kind in "fiub" else np.asarray(value))
        yield np.ma.getmaskarray(value).tobytes()
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.strides}".encode()
        yield repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
    elif sparse.issparse(value):
        yield f"{value.format} {value.shape}".encode()
        for name in ("data", "indices", "indptr", "row", "col", "offsets"):
            if hasattr(value, name):
                yield from _parts(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _parts(entry)
    elif hasattr(value, "columns") and hasattr(value, "to_numpy"):
        yield repr(list(value.columns)).encode()
        yield from _parts(value.to_numpy())
    else:
        yield repr(value).encode()


def _state() -> tuple[Any, ...]:
    """Return what a call must leave as it is in the process."""
    kind, keys, place, *rest = np.random.get_state()  # noqa: NPY002 - the global state is what is looked at
    return tuple(np.geterr().items()), kind, hashlib.sha256(keys.tobytes()).hexdigest(), place, *rest
