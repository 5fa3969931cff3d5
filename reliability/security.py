"""Security: formula cells, no network, no pickles; crafted model files are in the hostile files and in the tests."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from halfmoon.tables import write_columns

__all__ = ["SECURITY", "run_security"]

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
ALPHABET = [*"=+-@\t\r\n'\"|;,( ", "a", "1", ".", "e", "é"]
OFFLINE = """
import socket
def refuse(*arguments, **options):
    raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
import numpy as np, halfmoon
X = np.random.default_rng(0).normal(size=(60, 2))
y = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
model = halfmoon.LapSVC(random_state=0, probability=True).fit(X, y)
halfmoon.save(model, "model.hm")
halfmoon.load("model.hm").predict_proba(X)
print(model.report_)
from typer.testing import CliRunner
from halfmoon.cli._app import app
assert CliRunner().invoke(app, ["info", "model.hm"]).exit_code in (0, 2)
"""

NO_LISTENER = """
import psutil
listening = [c for c in psutil.Process().net_connections() if c.status == psutil.CONN_LISTEN]
assert not listening, listening
"""


def _formula_cells(rng: np.random.Generator) -> None:
    """No cell of a text file begins like a formula, unless it is a number."""
    texts = ["".join(rng.choice(ALPHABET, size=rng.integers(0, 8))) for _ in range(50)]
    name = "".join(rng.choice(ALPHABET, size=4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        write_columns({name: np.array(texts, dtype=object), "value": np.arange(50.0) - 25.0}, path)
        found = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False)
    for cell in [*found[0], *found[1]]:
        if cell.startswith(FORMULA):
            float(cell.replace(".", "").replace(",", ".") if "," in cell else cell)  # a negative number is none


def _no_network(rng: np.random.Generator) -> None:
    """Import, fit, save, load, report and command line do without any connection."""
    _run_in_new_process(OFFLINE)


def _no_listener(rng: np.random.Generator) -> None:
    """Do the same, and look for ports that others could connect to."""
    _run_in_new_process(OFFLINE + NO_LISTENER)


def _run_in_new_process(code: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


class Check(NamedTuple):
    """A check, and whether it draws what it tries: one that does not is run once."""

    run: Callable[[np.random.Generator], None]
    drawn: bool


SECURITY = {
    "tables of 50 random texts, none of them a formula in CSV": Check(_formula_cells, True),
    "import, fit, save, load and commands without network": Check(_no_network, False),
    "no listening port": Check(_no_listener, False),
}


def run_security(name: str, seed: int) -> None:
    """Run one check; what must not happen raises."""
    SECURITY[name].run(np.random.default_rng(seed))
