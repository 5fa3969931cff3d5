"""What ``make package`` runs where only the wheel and what it needs are installed."""

import subprocess
import sys
from importlib.metadata import files
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import make_moons

import halfmoon

EXTRAS = ("matplotlib", "pandas", "typer", "rich", "skops", "networkx")


def main():
    found = [name for name in EXTRAS if find_spec(name)]
    assert not found, f"the wheel has pulled in {found}"
    packed = [str(path) for path in files("halfmoon")]
    assert not [path for path in packed if "tests" in path or path.endswith((".npz", ".csv", ".png"))], packed
    X, y = make_moons(200, noise=0.1, random_state=0)
    few = np.full(200, -1)
    for c in (0, 1):
        few[np.flatnonzero(y == c)[:5]] = c
    score = halfmoon.LapSVC().fit(X, few).score(X, y)
    assert score > 0.8
    command = subprocess.run([sys.executable, "-m", "halfmoon", "--help"], capture_output=True, text=True, check=False)
    assert command.returncode == 2, command
    assert "halfmoon[cli]" in command.stderr, command
    print(f"halfmoon {halfmoon.__version__}: {len(packed)} files, no extras, score {score:.2f}")


if __name__ == "__main__":
    main()
