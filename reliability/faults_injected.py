"""MemoryError and KeyboardInterrupt at every call of a function of the library during a fit, and around every task.

A tracer counts the calls in all threads and raises at one of them. Afterwards the exception must have come out as
itself, no thread of the library may be running, the estimator must be as it was before the fit (or wholly as after
it), the process must be as it was, and a fit once more must give the same bits.

Two kinds of calls have nobody to pass an exception on to: finalisers, whose exceptions Python drops, and the first
function of a thread, whose exceptions Python prints. There the fit must end, with an error or with the right bits.
"""

from __future__ import annotations

import contextvars
import copy
import gc
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

import halfmoon
from halfmoon import DataDependentKernel, KernelKMeans, LapRLSRegressor, LapSVC
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime import executor
from reliability.batches import run_cases
from reliability.judge import Verdict

__all__ = ["FITS", "Injection", "inject", "run_injections"]

OURS = str(Path(halfmoon.__file__).parent)
ERRORS: dict[str, type[BaseException]] = {"MemoryError": MemoryError, "KeyboardInterrupt": KeyboardInterrupt}
SECONDS = 30.0  # for a fit that takes a tenth of one
LOOK, LOOKS = 0.01, 500  # seconds between looks at threads that nobody waits for, and how many
ROWS = 40


@dataclass(frozen=True)
class Injection:
    """Where what is raised: at the call, the beginning or the end of a task (`kind`) of this number, in a fit."""

    fit: str
    kind: str
    error: str
    number: int


class Tracer:
    """Raises an error at one of the calls of functions of the library, or counts them all."""

    def __init__(self, error: BaseException | None = None, number: int = -1) -> None:
        self.error, self.number = error, number
        self.numbers = count()
        self.calls = 0
        self.place = ""
        self.passed_on = True  # whether somebody has called who can pass the error on

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at a call, in whichever thread; no lines are traced."""
        if not frame.f_code.co_filename.startswith(OURS):
            return
        self.calls += 1
        if next(self.numbers) == self.number and self.error is not None:
            self.place = f"{Path(frame.f_code.co_filename).relative_to(OURS)}: {frame.f_code.co_qualname}"
            caller = frame.f_back
            self.passed_on = caller is None or caller.f_code is not threading.Thread.run.__code__
            raise self.error

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Trace this thread and those that it starts."""
        before, dropped = sys.gettrace(), sys.unraisablehook
        told = threading.excepthook
        sys.unraisablehook = threading.excepthook = self._note
        threading.settrace(self)
        sys.settrace(self)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]
            sys.unraisablehook, threading.excepthook = dropped, told

    def _note(self, unraisable: Any) -> None:
        self.passed_on = self.passed_on and unraisable.exc_value is not self.error


@contextmanager
def at_task(kind: str, error: BaseException | None, number: int) -> Iterator[list[str]]:
    """Raise where a task of an executor begins or ends; yield the names of the tasks that were seen."""
    original, seen, numbers = executor._Job._call, list[str](), count()

    def call(job: Any) -> Any:
        mine = next(numbers) == number and error is not None
        seen.append(getattr(job.task, "__name__", "task"))
        if mine and kind == "task begins":
            raise error  # type: ignore[misc]
        result = original(job)
        if mine and kind == "task ends":
            raise error  # type: ignore[misc]
        return result

    executor._Job._call = call  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        executor._Job._call = original  # type: ignore[method-assign]


def _kernel(**options: Any) -> DataDependentKernel:
    given = {"n_neighbors": 4, "n_landmarks": 10, "solver": "approx_cholesky", "random_state": 0, "n_jobs": 2}
    return DataDependentKernel(**given | options)


def _search() -> KernelSearchCV:
    return KernelSearchCV(LapSVC(kernel=_kernel()), {"kernel__eta": [0.1, 1.0]}, cv=2)


FITS: dict[str, Callable[[], Any]] = {
    "LapSVC": lambda: LapSVC(kernel=_kernel(), probability=True),
    "LapRLSRegressor with a checkpoint": lambda: LapRLSRegressor(kernel=_kernel(power=3), instant_refits=True),
    "KernelKMeans": lambda: KernelKMeans(2, kernel=_kernel(solver="direct"), random_state=0),
    "KernelSearchCV": _search,
}


@cache
def _data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, and other labels."""
    rng, truth = np.random.default_rng(5), np.arange(ROWS) % 2
    X = rng.normal(size=(ROWS, 3)) + 2.0 * truth[:, None]
    first, second = (np.where(np.isin(np.arange(ROWS), rows), truth, -1) for rows in (range(12), range(8, 22)))
    return X, first, second


def _fit(name: str, model: Any, labels: np.ndarray) -> Any:
    X = _data()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if "checkpoint" not in name:
            return model.fit(X, labels)
        with tempfile.TemporaryDirectory() as folder:
            model.set_params(checkpoint=folder)
            try:
                return model.fit(X, np.where(labels >= 0, X[:, 0], np.nan))
            finally:
                model.set_params(checkpoint=None)


def _bits(model: Any) -> bytes:
    """Return what a fit has found, to the last bit."""
    if isinstance(model, KernelKMeans):
        return bytes(model.labels_.tobytes()) + repr(model.inertia_).encode()
    if isinstance(model, KernelSearchCV):
        return bytes(model.cv_results_["mean_test_score"].tobytes()) + _bits(model.best_estimator_)
    return bytes(model._decide_training().tobytes())


@cache
def _expected(name: str) -> tuple[Any, bytes, bytes]:
    """Return a model fitted to the first labels, its bits, and those of the other labels."""
    other = _bits(_fit(name, FITS[name](), _data()[2]))
    old = _fit(name, FITS[name](), _data()[1])
    return old, _bits(old), other


def calls(name: str) -> dict[str, int]:
    """Count the calls of functions of the library in a fit, and its tasks."""
    _expected(name)
    tracer = Tracer()
    with tracer.tracing(), at_task("", None, -1) as tasks:
        _fit(name, FITS[name](), _data()[2])
    return {"call": tracer.calls, "task begins": len(tasks), "task ends": len(tasks)}


def inject(case: Injection) -> Verdict:
    """Fit with one error raised, and judge what is left of it."""
    old, _, expected = _expected(case.fit)
    error = ERRORS[case.error]("injected")
    fresh = (case.number + (case.error == "MemoryError")) % 2 == 0
    model = FITS[case.fit]() if fresh else copy.copy(old)
    before, process = dict(vars(model)), _process()
    tracer = Tracer(error, case.number)
    came: BaseException | None = None
    with tracer.tracing() if case.kind == "call" else at_task(case.kind, error, case.number):
        try:
            _fit(case.fit, model, _data()[2])
        except BaseException as raised:
            came = raised
    if came is None and case.kind == "call" and not tracer.place:
        return Verdict("finite", "no such call")  # numbers differ by a few from run to run
    problem = _problem(tracer, error, came)
    error.__traceback__ = came = None  # type: ignore[assignment]
    problem = problem or _threads_left() or _half_fitted(model, before, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = _bits(_fit(case.fit, model, _data()[2])) == expected
    problem = problem or ("" if again else "a fit once more gives other bits") or _changed(process)
    return Verdict("changed state", f"{tracer.place}: {problem}") if problem else Verdict("right")


def _problem(tracer: Tracer, error: BaseException, came: BaseException | None) -> str:
    if came is error or not tracer.passed_on:
        return ""
    return "the error was swallowed" if came is None else f"came out as {type(came).__name__}: {came}"


def _threads_left() -> str:
    for _ in range(LOOKS):
        left = [thread.name for thread in threading.enumerate() if thread.name.startswith("halfmoon")]
        if not left:
            return ""
        gc.collect()
        time.sleep(LOOK)
    return f"threads are running: {left}"


def _half_fitted(model: Any, before: dict[str, Any], expected: bytes) -> str:
    """Say what is wrong with a model that is neither as it was nor fitted."""
    now = vars(model)
    if now.keys() == before.keys() and all(now[name] is before[name] for name in before):
        return ""
    try:
        return "" if _bits(model) == expected else "the model has other bits"
    except Exception as error:
        return f"the model is half fitted: {type(error).__name__}: {error}"


@cache
def _controllers() -> list[Any]:
    return list(ThreadpoolController().lib_controllers)


def _process() -> dict[str, Any]:
    """Return what a fit must leave as it was in the process."""
    return {
        "context": {variable.name: value for variable, value in contextvars.copy_context().items()},
        "threads of BLAS": [library.num_threads for library in _controllers()],
        "filters of warnings": list(warnings.filters),
        "numpy's errors": np.geterr(),
    }


def _changed(before: dict[str, Any]) -> str:
    now = _process()
    return next((f"{name}: {before[name]} before, {now[name]} now" for name in before if now[name] != before[name]), "")


def run_injections(name: str, kinds: tuple[str, ...], most: int, seed: int) -> tuple[int, str]:
    """Raise both errors at every call or task of a fit, or at `most` of them, evenly spread from a drawn first one."""
    numbers, rng, total = calls(name), np.random.default_rng(seed), 0
    cases = []
    for kind in kinds:
        step = max(1, -(-2 * numbers[kind] // most))
        for error in ERRORS:
            cases += [Injection(name, kind, error, at) for at in range(int(rng.integers(step)), numbers[kind], step)]
        total += numbers[kind]
    done = list(run_cases(cases, inject, jobs=1, seconds=SECONDS))
    failures = [f"{case}: {verdict.status}: {verdict.message}" for case, verdict in done if verdict.failed]
    assert not failures, f"{len(failures)} of {len(done)}: " + " | ".join(failures[:10])
    made = sum(verdict.status == "right" for _, verdict in done)
    return made, f"at {made:,} of 2 x {total:,} moments; as the rule asks"
