"""Ctrl-C on the command line: one line that says what was kept, and exit code 130."""

import json
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from halfmoon.cli._interrupts import caused_by_interrupt

pytestmark = pytest.mark.usefixtures("sigint")
FIT = "fit flowers.csv --target species --out"


@pytest.fixture
def interrupted_fit(monkeypatch):
    import halfmoon.tables

    def fit_table(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(halfmoon.tables, "fit_table", fit_table)


@pytest.mark.usefixtures("interrupted_fit", "files")
def test_a_new_file_is_not_written(halfmoon, tmp_path):
    result = halfmoon(f"{FIT} {tmp_path / 'new.hm'}")
    assert result.exit_code == 130
    assert result.stderr.strip().splitlines()[-1] == "halfmoon: Interrupted: nothing was written."
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("interrupted_fit", "files")
def test_an_old_file_is_not_changed(halfmoon, flowers_model, tmp_path):
    shutil.copy(flowers_model, tmp_path / "old.hm")
    result = halfmoon(f"{FIT} {tmp_path / 'old.hm'}")
    assert result.exit_code == 130
    assert f"Interrupted: {tmp_path / 'old.hm'} was not changed." in result.stderr
    assert (tmp_path / "old.hm").read_bytes() == flowers_model.read_bytes()


@pytest.mark.usefixtures("interrupted_fit", "files")
def test_json(halfmoon, tmp_path):
    result = halfmoon(f"{FIT} {tmp_path / 'new.hm'} --json")
    assert result.exit_code == 130
    assert json.loads(result.stdout) == {"error": "Interrupted: nothing was written.", "exit_code": 130}


def test_after_the_file_was_written(halfmoon, files, tmp_path, monkeypatch):
    from halfmoon.cli import _report

    monkeypatch.setattr(_report.Report, "finish", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    result = halfmoon(f"{FIT} {tmp_path / 'new.hm'}")
    assert result.exit_code == 130
    assert f"Interrupted: {tmp_path / 'new.hm'} was written." in result.stderr


def test_finished_trials_are_kept(halfmoon, tmp_path, monkeypatch):
    from halfmoon.experiments import reproduce

    monkeypatch.setattr(reproduce, "reproduce", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    result = halfmoon(f"reproduce figure4 --out {tmp_path}")
    assert result.exit_code == 130
    assert f"Interrupted: finished trials are kept in {tmp_path}; the same command goes on" in result.stderr


@pytest.mark.parametrize(
    "where",
    [
        "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: signal.raise_signal(signal.SIGINT)}))",
        "weakref.finalize(type('Thing', (), {})(), signal.raise_signal, signal.SIGINT)",  # Python drops this one
    ],
)
def test_during_imports(where):
    script = f"""
        import signal, sys, time, weakref
        from halfmoon import cli
        def interrupted():
            {where}
            import halfmoon.cli._app
            time.sleep(20)
        cli._run = interrupted
        cli.main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == "halfmoon: Interrupted: nothing was written.\n"
    assert done.returncode == 130


def test_errors_that_interrupts_cause():
    error = ImportError("numpy failed to import")
    assert not caused_by_interrupt(error)
    error.__context__ = KeyboardInterrupt()
    assert caused_by_interrupt(error)
    assert not caused_by_interrupt(None)
