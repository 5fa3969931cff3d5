"""What people see: pictures, rows, names; and files become sessions."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from halfmoon.exceptions import DataFileError
from halfmoon.labeller import ImageArrays, ImageFiles, Rows, Texts, session_of_arrays, session_of_file
from halfmoon.labeller._items import looks_like_images


def picture(data):
    return np.asarray(Image.open(io.BytesIO(data)))


def test_arrays_become_pictures_in_the_range_of_a_screen(rng):
    pixels = rng.uniform(-2.0, 3.0, size=(4, 5, 6))
    shown = picture(ImageArrays(pixels).picture(1))
    assert shown.shape == (5, 6)
    assert ((shown.astype(float) - 255 * (pixels[1] - pixels.min()) / np.ptp(pixels)) ** 2).max() < 1.0
    color = rng.integers(256, size=(2, 4, 4, 3)).astype(np.uint8)
    assert (picture(ImageArrays(color).picture(0)) == color[0]).all()
    assert picture(ImageArrays(color[..., :1]).picture(0)).shape == (4, 4)
    with pytest.raises(ValueError, match=r"Got \(2, 4\)"):
        ImageArrays(color[:, :, 0, 0])


def test_files_become_pictures_that_are_not_too_large(tmp_path, rng):
    Image.fromarray(rng.integers(256, size=(900, 1200, 3)).astype(np.uint8)).save(tmp_path / "big.png")
    Image.fromarray((rng.integers(1 << 16, size=(8, 8))).astype(np.uint16)).save(tmp_path / "deep.png")
    (tmp_path / "broken.png").write_bytes(b"nothing")
    items = ImageFiles(tmp_path, ["big.png", "deep.png", "broken.png"])
    assert picture(items.picture(0)).shape[:2] == (384, 512)
    assert picture(items.picture(1)).shape[:2] == (8, 8)
    assert items.describe(0) == {"name": "big.png"}
    with pytest.raises(DataFileError, match=r"broken\.png"):
        items.picture(2)


def test_rows_show_their_cells():
    frame = pd.DataFrame({"size": [1.5, np.nan], "word": ["x" * 400, None]})
    rows = Rows(frame, list(frame.columns))
    assert rows.describe(0)["cells"][0] == ["size", "1.5"]
    assert len(rows.describe(0)["cells"][1][1]) == 301
    assert rows.describe(1) == {"name": "row 2", "cells": [["size", ""], ["word", ""]]}
    assert rows.picture(0) is None


def test_texts_show_text_and_cells():
    frame = pd.DataFrame({"stars": [3, 5]})
    texts = Texts(["good <b>", "bad"], Rows(frame, ["stars"]))
    assert texts.describe(0)["text"] == "good <b>"
    assert texts.describe(1)["cells"] == [["stars", "5"]]
    assert Texts(["a"]).describe(0)["cells"] == []


def test_pictures_are_told_from_other_squares(rng):
    digits = load_digits().data
    assert looks_like_images(digits) == (8, 8, 1)
    assert looks_like_images(rng.uniform(size=(300, 64))) is None
    assert looks_like_images(digits[:, rng.permutation(64)]) is None
    assert looks_like_images(digits[:, :63]) is None
    assert looks_like_images(digits - 1.0) is None


def write_digits(folder):
    digits = load_digits()
    np.savez(folder / "digits.npz", X=digits.data[:120])
    np.savez(folder / "pictures.npz", X=digits.images[:120])
    return digits


def test_arrays_of_pictures_in_npz_files(tmp_path):
    write_digits(tmp_path)
    notes = []
    for name in ("digits.npz", "pictures.npz"):
        session = session_of_file(tmp_path / name, notify=notes.append)
        assert session.items.kind == "image"
        assert picture(session.picture(5)).shape == (8, 8)
        session.close()
    assert any("look like pictures of 8 x 8" in note for note in notes)
    wide = session_of_file(tmp_path / "digits.npz", image_shape=(4, 16, 1))
    assert picture(wide.picture(0)).shape == (4, 16)
    wide.close()
    with pytest.raises(DataFileError, match="images of 7 x 7 pixels"):
        session_of_file(tmp_path / "digits.npz", image_shape=(7, 7, 1))


def test_a_table_brings_its_labels_along_and_saves_a_model_for_predict(tmp_path, monkeypatch):
    from halfmoon import load

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.repeat(["x", "y"], 40)
    frame = pd.DataFrame({"a": rng.normal(size=80) + 5 * (kind == "y"), "site": np.tile(["n", "s"], 40), "kind": kind})
    frame.loc[frame.index % 8 > 0, "kind"] = None
    frame.to_csv("few.csv", index=False)
    session = session_of_file(tmp_path / "few.csv", target="kind", classes=["z"], journal=tmp_path / "j.jsonl")
    assert session.classes == ["x", "y", "z"]
    session.start().wait(120)
    assert session.state()["labels"] == 10
    assert session.item(0)["cells"][1] == ["site", "n"]
    session.save_model(tmp_path / "few.hm")
    session.close()
    model = load(tmp_path / "few.hm")
    assert (model.predict(frame.drop(columns="kind")) == kind).mean() > 0.9
    assert model.facts["labeled"] == 10


def test_texts_are_compared_by_their_words_and_the_model_knows_new_ones(tmp_path, rng):
    from halfmoon import load

    words = {
        "sea": ["ship", "harbour", "wave", "sailor", "anchor", "storm"],
        "air": ["plane", "wing", "pilot", "cloud", "runway", "jet"],
    }
    kind = np.repeat(["sea", "air"], 40)
    texts = [" ".join(rng.choice(words[name], size=5)) for name in kind]
    frame = pd.DataFrame({"story": texts, "kind": np.where(np.arange(80) % 10 == 0, kind, "")})
    frame.to_csv(tmp_path / "stories.csv", index=False)
    session = session_of_file(tmp_path / "stories.csv", target="kind", text="story").start().wait(120)
    assert session.items.kind == "text"
    assert session.item(3)["text"] == texts[3]
    assert np.mean(np.array(session.classes)[session.predictions.classes] == kind) > 0.9
    session.save_model(tmp_path / "stories.hm")
    session.close()
    new = pd.DataFrame({"story": ["the sailor left the harbour", "a pilot above the cloud", None]})
    assert load(tmp_path / "stories.hm").predict(new)[:2].tolist() == ["sea", "air"]


def test_a_column_without_words_is_refused(tmp_path):
    (tmp_path / "empty.csv").write_text("story,a\n.,1\n.,2\n")
    with pytest.raises(DataFileError, match="has no words"):
        session_of_file(tmp_path / "empty.csv", text="story")


def test_images_and_rows_must_go_together():
    with pytest.raises(ValueError, match="There are 3 images and 5 rows"):
        session_of_arrays(np.eye(5), images=np.zeros((3, 4, 4)))
