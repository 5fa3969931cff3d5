"""The demo in a small version: its table, one fact of it, and the structure of its figure."""

import numpy as np
import pytest

from halfmoon.experiments import demo


@pytest.fixture(scope="module")
def results():
    return list(demo.run(demo.Config(scale=0.3, etas=(1e2, 1e4))))


def test_every_kernel_on_every_task(results):
    assert [(r.task.name, r.kernel_name) for r in results] == [
        (task, kernel) for task in ("circles", "two moons", "digits") for kernel in demo.KERNELS
    ]
    assert all(0.0 <= r.error <= 1.0 and r.seconds > 0.0 for r in results)


def test_the_graph_helps(results):
    """The efficient kernel errs less than its base kernel, over the three tasks."""
    errors = {name: np.mean([r.error for r in results if r.kernel_name == name]) for name in demo.KERNELS}
    assert errors["efficient, graph"] < errors["base (RBF)"]
    assert errors["efficient, eq. 6"] < errors["base (RBF)"]


def test_table_and_figure(results, tmp_path, monkeypatch, capsys):
    lines = demo.table(results).splitlines()
    assert len(lines) == 1 + len(results)
    assert lines[1].startswith("circles")
    path = tmp_path / "demo.png"
    demo.draw(results, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(demo, "run", lambda config: iter(results))
    demo.main(["--out", str(path), "--seed", "3"])
    assert f"saved to {path}" in capsys.readouterr().out
