"""Hostile data files and model files, and every command that reads them."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from halfmoon import load
from halfmoon.cli._app import app
from reliability.judge import Result, Verdict

__all__ = ["FILES", "FILE_CALLS", "File"]

Rng = np.random.Generator


@dataclass(frozen=True)
class File:
    """Contents of a file, and the suffix that says how it is read."""

    content: bytes
    suffix: str
    plain: None = None

    @property
    def inputs(self) -> bytes:
        """What a call must not change."""
        return self.content


def _frame(rng: Rng) -> pd.DataFrame:
    n = 24
    kind = np.where(np.arange(n) % 2 == 0, "a", "b")
    frame = pd.DataFrame(rng.normal(size=(n, 2)) + 3.0 * (kind == "a")[:, None], columns=["u", "v"]).round(4)
    return frame.assign(y=np.where(np.arange(n) < 10, kind, None))


def _csv(change: Callable[[Rng, pd.DataFrame], Any]) -> Callable[[Rng], File]:
    def make(rng: Rng) -> File:
        changed = change(rng, _frame(rng))
        text = changed.to_csv(index=False) if isinstance(changed, pd.DataFrame) else changed
        return File(text if isinstance(text, bytes) else text.encode(), ".csv")

    return make


def _text(edit: Callable[[str], str | bytes]) -> Callable[[Rng], File]:
    return _csv(lambda rng, frame: edit(frame.to_csv(index=False)))


def _cell(value: Any, column: str = "u") -> Callable[[Rng], File]:
    def change(rng: Rng, frame: pd.DataFrame) -> pd.DataFrame:
        cells = frame[column].astype(object)
        cells[int(rng.integers(len(frame)))] = value
        return frame.assign(**{column: cells})

    return _csv(change)


def _labels(values: Iterable[Any]) -> Callable[[Rng], File]:
    names = list(values)
    return _csv(lambda rng, frame: frame.assign(y=[names[i % len(names)] if i < 12 else None for i in range(24)]))


def _noise(rng: Rng) -> File:
    return File(rng.bytes(int(rng.integers(1, 500))), str(rng.choice([".csv", ".parquet", ".npz", ".libsvm"])))


def _cut(rng: Rng) -> File:
    buffer = io.BytesIO()
    _frame(rng).to_parquet(buffer)
    content = buffer.getvalue()
    return File(content[: int(rng.integers(len(content)))], ".parquet")


def _bits(rng: Rng) -> File:
    content = bytearray(_frame(rng).to_csv(index=False).encode())
    for place in rng.integers(len(content), size=3):
        content[place] ^= 1 << int(rng.integers(8))
    return File(bytes(content), ".csv")


def _npz(**arrays: Any) -> Callable[[Rng], File]:
    def make(rng: Rng) -> File:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return File(buffer.getvalue(), ".npz")

    return make


TABLES: dict[str, Callable[[Rng], File]] = {
    "harmless": _csv(lambda rng, frame: frame),
    "empty": _text(lambda text: ""),
    "one byte": _text(lambda text: "x"),
    "header alone": _text(lambda text: text.splitlines()[0]),
    "one row": _text(lambda text: "\n".join(text.splitlines()[:2])),
    "two rows": _text(lambda text: "\n".join(text.splitlines()[:3])),
    "without header": _text(lambda text: "\n".join(text.splitlines()[1:])),
    "cut in a line": _text(lambda text: text[: len(text) // 2]),
    "a cell too many": _text(lambda text: text.replace("\n", ",9\n", 3)),
    "open quote": _text(lambda text: text.replace(",", ',"', 5)),
    "nothing but commas": _text(lambda text: ",,,\n" * 20),
    "nothing but line ends": _text(lambda text: "\n" * 50),
    "carriage returns": _text(lambda text: text.replace("\n", "\r\n")),
    "old carriage returns": _text(lambda text: text.replace("\n", "\r")),
    "byte order mark": _text(lambda text: b"\xef\xbb\xbf" + text.encode()),
    "UTF-16": _text(lambda text: text.encode("utf-16")),
    "not UTF-8": _text(lambda text: text.encode().replace(b",a", b",\xe9")),
    "zero bytes": _text(lambda text: text.encode().replace(b",", b"\0", 3)),
    "semicolons": _text(lambda text: text.replace(",", ";")),
    "blanks around cells": _text(lambda text: text.replace(",", " , ")),
    "decimal commas": _text(lambda text: "u;v;y\n1,5;2,5;a\n1,0;2,0;b\n"),
    "a row twice": _csv(lambda rng, frame: pd.concat([frame] * 2)),
    "all rows equal": _csv(lambda rng, frame: pd.concat([frame[:1]] * 20)),
    "columns of one name": _text(lambda text: text.replace("u,v", "u,u")),
    "a column without a name": _text(lambda text: text.replace("u,v", ",v")),
    "a very long name": _text(lambda text: text.replace("u,v", "u" * 100_000 + ",v")),
    "a name with a line end": _text(lambda text: text.replace("u,v", '"u\nw",v')),
    "a name that is a formula": _text(lambda text: text.replace("u,v", "=1+1,v")),
    "a very long cell": _cell("x" * 200_000),
    "NaN": _cell(np.nan),
    "text among numbers": _cell("many"),
    "inf": _cell("inf"),
    "1e200": _cell(1e200),
    "1e-200": _cell(1e-200),
    "1e400": _cell("1e400"),
    "a huge integer": _cell("9" * 400),
    "a date": _cell("2024-01-01"),
    "a percentage": _cell("5%"),
    "hexadecimal": _cell("0x1F"),
    "underscores": _cell("1_000"),
    "Arabic digits": _cell("٣"),
    "constant column": _csv(lambda rng, frame: frame.assign(u=1.0)),
    "constant columns": _csv(lambda rng, frame: frame.assign(u=1.0, v=2.0)),
    "empty column": _csv(lambda rng, frame: frame.assign(u=None)),
    "all empty": _csv(lambda rng, frame: frame.assign(u=None, v=None, y=None)),
    "column of text": _csv(lambda rng, frame: frame.assign(w=[f"t{i % 3}" for i in range(24)])),
    "column of distinct texts": _csv(lambda rng, frame: frame.assign(w=[f"t{i}" for i in range(24)])),
    "column of booleans": _csv(lambda rng, frame: frame.assign(w=np.arange(24) % 2 == 0)),
    "five hundred columns": _csv(
        lambda rng, frame: pd.DataFrame(rng.normal(size=(24, 500)), columns=[f"c{j}" for j in range(500)]).assign(
            y=frame["y"]
        )
    ),
    "numbers of many sizes": _csv(lambda rng, frame: frame.assign(u=10.0 ** rng.uniform(-300, 140, 24))),
    "no label": _labels([None]),
    "one class": _labels(["a"]),
    "every label another": _labels([f"c{i}" for i in range(12)]),
    "labels that are formulas": _labels(["=1+1", "@x"]),
    "labels that are numbers": _labels([1, 2]),
    "labels that are large numbers": _labels([1e300, -1e300]),
    "labels that are tiny numbers": _labels([1e-300, 2e-300]),
    "labels -1": _labels([-1, 1]),
    "labels nan": _labels(["nan", "NaN"]),
    "labels with blanks": _labels(["a", "a "]),
    "labels of other scripts": _labels(["猫", "кот"]),
    "labels with markup": _labels(["[red]x[/red]", "<b>y</b>"]),
    "labels with line ends": _labels(["a\nb", "c"]),
    "labels with control characters": _labels(["\x1b[31ma", "b\x07"]),
    "noise": _noise,
    "cut Parquet": _cut,
    "flipped bits": _bits,
    "NPZ without arrays": _npz(),
    "NPZ with vectors": _npz(a=np.arange(3.0)),
    "NPZ with NaN": _npz(X=np.full((20, 2), np.nan), y=np.arange(20) % 2),
    "NPZ complex": _npz(X=np.ones((20, 2)) + 1j, y=np.arange(20) % 2),
    "NPZ of objects": _npz(X=np.array([[{}, 1.0]] * 5, dtype=object), y=np.arange(5) % 2),
    "NPZ without rows": _npz(X=np.ones((0, 3)), y=np.ones(0)),
    "NPZ of large numbers": _npz(X=1e200 * np.arange(40.0).reshape(20, 2), y=np.arange(20) % 2),
    "NPZ, labels of another length": _npz(X=np.ones((20, 2)), y=np.arange(19) % 2),
    "libsvm": lambda rng: File(b"\n".join(b"%d 1:%d 2:%d" % (i % 2, i, -i) for i in range(20)), ".libsvm"),
    "libsvm, unsorted": lambda rng: File(b"0 3:1 1:2\n1 2:1\n" * 5, ".libsvm"),
    "libsvm, repeated": lambda rng: File(b"0 1:1 1:2\n1 2:1\n" * 5, ".libsvm"),
    "libsvm, far index": lambda rng: File(b"0 2000000000:1\n1 2:1\n" * 5, ".libsvm"),
    "libsvm, NaN": lambda rng: File(b"0 1:nan\n1 2:1\n" * 5, ".libsvm"),
    "unknown suffix": lambda rng: File(b"a,b\n1,2\n", ".xls"),
}


@lru_cache(maxsize=1)
def _model() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_text(_frame(np.random.default_rng(0)).to_csv(index=False))
        result = CliRunner().invoke(app, ["fit", f"{folder}/t.csv", "-t", "y", "-o", f"{folder}/m.hm", "--quiet"])
        assert result.exit_code == 0, result.output
        return (Path(folder) / "m.hm").read_bytes()


def _damaged(edit: Callable[[Rng, bytearray], bytes | bytearray]) -> Callable[[Rng], File]:
    return lambda rng: File(bytes(edit(rng, bytearray(_model()))), ".hm")


def _flipped(rng: Rng, content: bytearray, low: float = 0.0, high: float = 1.0) -> bytearray:
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.uniform(low, high) * len(content))] ^= 1 << int(rng.integers(8))
    return content


MODELS: dict[str, Callable[[Rng], File]] = {
    "intact": _damaged(lambda rng, content: content),
    "no byte": _damaged(lambda rng, content: b""),
    "cut": _damaged(lambda rng, content: content[: int(rng.integers(len(content)))]),
    "flipped bits": _damaged(_flipped),
    "flipped bits at the start": _damaged(lambda rng, content: _flipped(rng, content, 0.0, 0.01)),
    "flipped bits at the end": _damaged(lambda rng, content: _flipped(rng, content, 0.95, 1.0)),
    "something behind": _damaged(lambda rng, content: content + rng.bytes(20)),
    "something before": _damaged(lambda rng, content: rng.bytes(3) + bytes(content)),
    "twice": _damaged(lambda rng, content: content * 2),
    "bytes exchanged": _damaged(lambda rng, content: bytes(rng.permutation(np.frombuffer(content, np.uint8)))),
    "noise": _damaged(lambda rng, content: rng.bytes(1000)),
    "a pickle": _damaged(lambda rng, content: b"\x80\x04\x95"),
    "a zip file": _damaged(lambda rng, content: content[content.index(b"PK") :]),
    "a table": _damaged(lambda rng, content: b"a,b\n1,2\n"),
}
FILES = {"table": TABLES, "model": MODELS}


def _command(*words: str) -> Callable[[File], Verdict]:
    """Return a call of the command line; FILE, MODEL and OUT stand for the hostile file, a sound model, a result."""

    def call(file: File) -> Verdict:
        with tempfile.TemporaryDirectory() as folder:
            path, model, out = Path(folder, f"given{file.suffix}"), Path(folder, "sound.hm"), Path(folder, "out.csv")
            path.write_bytes(file.content)
            model.write_bytes(_model())
            table = Path(folder, "sound.csv")
            table.write_text(_frame(np.random.default_rng(1)).to_csv(index=False))
            places = {"FILE": path, "MODEL": model, "TABLE": table, "OUT": out, "NEW.hm": Path(folder, "new.hm")}
            before = Path.cwd()
            os.chdir(folder)
            try:
                result = CliRunner().invoke(app, [str(places.get(word, word)) for word in words])
            finally:
                os.chdir(before)
            return _verdict(result, out)

    return call


def _verdict(result: Any, out: Path) -> Verdict:
    """Judge an exit: 0 with whole results, or 2 with one line that begins with the command's name."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return Verdict("raw error", repr(result.exception))
    last = (result.stderr.strip().splitlines() or [""])[-1]
    if "Warning" in result.stderr or "Traceback" in result.output:
        return Verdict("raw warning", last)
    if result.exit_code == 2:
        as_json = result.stdout.startswith('{"error": ')
        last = result.stdout.strip() if as_json else last
        told = (as_json or last.startswith("halfmoon: ")) and len(last) > 30
        return Verdict("refused" if told else "raw error", last)
    if result.exit_code != 0:
        return Verdict("raw error", f"exit code {result.exit_code}: {last}")
    if out.exists() and pd.read_csv(out, keep_default_na=False).isin(["", "nan", "inf"]).any(axis=None):
        return Verdict("not finite", "an empty cell in the result")
    return Verdict("finite")


def _load(file: File) -> dict[str, Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "given.hm")
        path.write_bytes(file.content)
        model = load(path)
    return {"P": Result(model.predict_proba(_frame(np.random.default_rng(1))[["u", "v"]]), (24, 2))}


FILE_CALLS: dict[str, tuple[tuple[str, ...], Callable[[File], Any]]] = {
    "halfmoon fit": (("table",), _command("fit", "FILE", "-t", "y", "-o", "NEW.hm", "--quiet")),
    "halfmoon fit, regression": (
        ("table",),
        _command("fit", "FILE", "-t", "y", "--task", "regress", "-o", "NEW.hm", "--quiet"),
    ),
    "halfmoon fit, tuned": (("table",), _command("fit", "FILE", "-t", "y", "--tune", "-o", "NEW.hm", "--quiet")),
    "halfmoon fit, clusters": (
        ("table",),
        _command("fit", "FILE", "--task", "cluster", "-k", "2", "-o", "NEW.hm", "--quiet"),
    ),
    "halfmoon cluster": (("table",), _command("cluster", "FILE", "-k", "2", "-o", "OUT", "--force", "--quiet")),
    "halfmoon diagnose": (("table",), _command("diagnose", "FILE", "-t", "y")),
    "halfmoon check-labels": (("table",), _command("check-labels", "FILE", "-t", "y", "--json")),
    "halfmoon predict": (
        ("table",),
        _command("predict", "MODEL", "FILE", "-o", "OUT", "--force", "--proba", "--quiet"),
    ),
    "halfmoon evaluate": (("table",), _command("evaluate", "MODEL", "FILE", "-t", "y", "--json")),
    "halfmoon explain": (("table",), _command("explain", "MODEL", "FILE", "--row", "1")),
    "load": (("model",), _load),
    "halfmoon info": (("model",), _command("info", "FILE")),
    "halfmoon predict, model": (("model",), _command("predict", "FILE", "TABLE", "-o", "OUT", "--force", "--quiet")),
    "halfmoon explain, model": (("model",), _command("explain", "FILE", "TABLE", "--row", "1", "--json")),
    "halfmoon check-labels, model": (("model",), _command("check-labels", "FILE")),
}
