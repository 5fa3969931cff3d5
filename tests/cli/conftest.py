"""A folder with the files that help texts and docs speak of."""

import shlex

import numpy as np
import polars
import pytest
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_moons
from typer.testing import CliRunner

from halfmoon.cli._app import app


def _flowers():
    data = load_iris(as_frame=True)
    frame = data.frame.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    frame["species"] = data.target_names[frame.pop("target")]
    frame["site"] = np.where(np.arange(len(frame)) % 3, "north", "south")
    return frame


def _write_files(folder):
    flowers = _flowers()
    flowers.to_csv(folder / "test.csv", index=False)
    flowers.drop(columns="species").to_csv(folder / "new.csv", index=False)
    few = flowers.copy()
    few.loc[few.index % 10 > 0, "species"] = None
    few.loc[3, "sepal_length"] = None
    few.to_csv(folder / "flowers.csv", index=False)
    houses = load_diabetes(as_frame=True).frame.rename(columns={"target": "price"})[:120]
    houses.loc[houses.index % 3 > 0, "price"] = None
    houses.to_parquet(folder / "houses.parquet")
    flowers.drop(columns="species").assign(id=np.arange(150)).to_csv(folder / "customers.csv", index=False)
    X, y = make_moons(100, noise=0.05, random_state=0)
    np.savez(folder / "moons.npz", X=X, y=np.where(np.arange(100) < 12, y, -1), truth=y)
    np.save(folder / "moons.npy", X.astype(np.float32))
    np.save(folder / "moon-labels.npy", np.where(np.arange(100) < 12, y, -1))
    labels = [str(label) if i < 12 else "nan" for i, label in enumerate(y)]
    lines = [f"{label} 0:{float(a)!r} 1:{float(b)!r}" for label, (a, b) in zip(labels, X, strict=True)]
    (folder / "moons.libsvm").write_text("\n".join(lines))
    _write_images(folder / "photos")
    _write_reviews(folder / "reviews.csv")
    _write_embeddings(folder)


def _write_reviews(path):
    """A table as European editions of Excel save it."""
    words = {"good": "fine work and kind people", "bad": "late again and badly broken"}
    lines = ["id;day;price;review;stars"]
    for i in range(60):
        kind = ("good", "bad")[i % 2]
        price = f"{1000 + 40 * (i % 2) + i / 8:,.3f}".translate(str.maketrans(",.", ".,"))
        stars = kind if i < 20 else ""
        lines.append(f"{i + 7:04d};{i % 28 + 1:02d}.{i % 12 + 1:02d}.2024;{price};{words[kind]} number{i};{stars}")
    path.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())


def _write_embeddings(folder):
    """Embeddings by polars, and the same as arrays."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:150].astype(np.float32), y[:150]
    topics = [f"topic {label}" if i < 50 else None for i, label in enumerate(y)]
    polars.DataFrame({"embedding": X.tolist(), "topic": topics}).write_parquet(folder / "embeddings.parquet")
    np.save(folder / "embeddings.npy", X.astype(np.float16))
    np.save(folder / "labels.npy", np.where(np.arange(150) < 50, y, -1))


def _write_images(folder):
    digits = load_digits()
    chosen = np.flatnonzero(digits.target < 2)[:80]
    for name in "01":
        (folder / name).mkdir(parents=True)
    for place, i in enumerate(chosen):
        labeled = f"{digits.target[i]}/" if place < 16 else ""
        Image.fromarray((15 * digits.images[i]).astype(np.uint8)).save(folder / f"{labeled}{i}.png")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    _write_files(folder)
    return folder


@pytest.fixture
def files(written, monkeypatch):
    """The folder of files, entered."""
    monkeypatch.chdir(written)
    return written


@pytest.fixture
def halfmoon():
    """Run a command line; the result has stdout, stderr and exit_code."""

    def run(line):
        result = CliRunner().invoke(app, shlex.split(line))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture(scope="session")
def flowers_model(written):
    """The model of flowers.csv, fitted once."""
    path = written / "once.hm"
    line = ["fit", str(written / "flowers.csv"), "--target", "species", "--out", str(path), "--quiet"]
    assert CliRunner().invoke(app, line).exit_code == 0
    return path


@pytest.fixture
def flowers():
    return _flowers()


@pytest.fixture
def table(tmp_path):
    """Write text to a CSV file and return its path."""

    def write(text, name="table.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write
