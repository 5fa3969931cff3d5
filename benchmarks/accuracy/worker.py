"""A process that solves problems, one per line of its input: ``python -m benchmarks.accuracy.worker TABLE``.

It runs in the environment of its table of methods. Times are seconds of processor time, over all threads, which other
work on the machine hardly changes; the system ends the process when a task takes more of it than its limit.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from benchmarks.accuracy.problem import Answer, Method, read_problem, write_arrays
from benchmarks.accuracy.tuning import tuned


def private_output() -> TextIO:
    """Return the standard output for answers, and send what packages print to the standard error."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


def solve(method: Method, task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task, write the classes, and return the times in seconds."""
    problem = read_problem(Path(task["problem"]), task["labels"], task["seed"])
    start = time.process_time()
    hardest = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(start + task["limit"]), hardest))
    answers = tuned(method, problem) if task["tuned"] else method.solve(problem)
    fitted = time.process_time()
    write_arrays(Path(task["answer"]), dict(_classes(answers)))
    return {"fit": fitted - start, "predict": time.process_time() - fitted}


def _classes(answers: dict[str, Answer]) -> Iterator[tuple[str, Any]]:
    for suffix, answer in answers.items():
        yield f"train{suffix}", answer.train
        if answer.new is not None:
            yield f"new{suffix}", answer.new()


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    output = private_output()
    table = importlib.import_module(f"benchmarks.accuracy.{sys.argv[1]}")
    methods = {method.name: method for group in table.GROUPS.values() for method in group}
    print(json.dumps({"ready": True}), file=output, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            reply = solve(methods[task["method"]], task)
        except (Exception, SystemExit) as error:  # GraphLearning exits on errors
            reply = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=output, flush=True)


if __name__ == "__main__":
    main()
