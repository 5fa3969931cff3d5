"""European tables, dates, words, embeddings, and columns that are carried over to results."""

import json

import numpy as np
import pandas as pd
import pytest

import halfmoon as library
from command_notes import notes


def test_a_table_of_a_european_excel(files, halfmoon, tmp_path):
    model, out = tmp_path / "r.hm", tmp_path / "p.csv"
    result = halfmoon(f"fit reviews.csv --target stars --ignore id --out {model}")
    assert result.exit_code == 0
    assert notes(result)[:4] == [
        "note: cells are separated by ';'",
        "note: numbers are read with a decimal comma",
        "note: words become TF-IDF features: review",
        "note: dates become days, a number: day (31 December is 31.12.2024)",
    ]
    columns = json.loads(halfmoon(f"info {model} --json").stdout)["columns"]
    assert columns == {"day": "date %d.%m.%Y", "price": "number", "review": "words"}
    assert halfmoon(f"predict {model} reviews.csv --id id --out {out}").exit_code == 0
    written = pd.read_csv(out, dtype=str)
    assert list(written) == ["id", "prediction"]
    assert written["id"].tolist() == [f"{i + 7:04d}" for i in range(60)]  # as it is written, zeros and all
    assert written["prediction"].tolist() == ["good", "bad"] * 30


def test_tables_that_are_carried_over_are_written_as_they_were(files, halfmoon, tmp_path):
    model, out = tmp_path / "r.hm", tmp_path / "p.csv"
    halfmoon(f"fit reviews.csv --target stars --ignore id --out {model}")
    lines = (files / "reviews.csv").read_text(encoding="utf-8-sig").splitlines()
    assert halfmoon(f"predict {model} reviews.csv --keep --proba --out {out}").exit_code == 0
    written = out.read_text().splitlines()
    assert [line.rsplit(";", 3)[0] for line in written[1:]] == lines[1:]  # decimal commas, zeros and all
    assert all("," in line.rsplit(";", 1)[1] for line in written[1:])  # probabilities too
    assert halfmoon(f"suggest {model} reviews.csv --n 5 --out {out} --force").exit_code == 0
    suggested = out.read_text().splitlines()
    assert suggested[0] == "row;id;day;price;review;stars"
    assert all(lines[int(line.split(";")[0])] == line.split(";", 1)[1] for line in suggested[1:])


def test_all_columns_are_carried_over(files, halfmoon, flowers_model, tmp_path):
    for suffix, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet), ("feather", pd.read_feather)):
        out = tmp_path / f"p.{suffix}"
        assert halfmoon(f"predict once.hm test.csv --keep --out {out}").exit_code == 0
        written = read(out)
        assert list(written) == [*pd.read_csv("test.csv"), "prediction"]
        assert written["sepal_length"].astype(float).tolist() == pd.read_csv("test.csv")["sepal_length"].tolist()
    assert halfmoon(f"predict once.hm test.csv --id site --out {tmp_path / 'p.npz'}").exit_code == 0
    assert np.load(tmp_path / "p.npz")["site"][:3].tolist() == ["south", "north", "north"]


REFUSED = {
    "predict once.hm test.csv --id plot --id row": "there are no columns 'plot', 'row'. It has 'sepal_length'",
    "predict once.hm test.csv --id site --keep": "--keep carries all columns over, those of --id too.",
    "cluster moons.npz -k 2 --id a": "moons.npz: it does not name its columns",
    "cluster photos -k 2 --keep": "photos: it does not name its columns",
}


@pytest.mark.parametrize("line", REFUSED)
def test_columns_that_cannot_be_carried_over(files, halfmoon, flowers_model, tmp_path, line):
    result = halfmoon(f"{line} --out {tmp_path / 'p.csv'}")
    assert result.exit_code == 2
    assert REFUSED[line] in result.stderr


def test_a_column_of_the_name_of_a_result(files, halfmoon, flowers_model, flowers, tmp_path):
    flowers.assign(prediction=1).to_csv(tmp_path / "again.csv", index=False)
    result = halfmoon(f"predict once.hm {tmp_path / 'again.csv'} --keep --out {tmp_path / 'p.csv'}")
    assert result.exit_code == 2
    assert "The data have a column 'prediction' too" in result.stderr


def test_embeddings_of_polars_and_arrays_give_one_model(files, halfmoon, tmp_path):
    facts = json.loads(halfmoon(f"fit embeddings.parquet --target topic --out {tmp_path / 'a.hm'} --json").stdout)
    assert (facts["features"], facts["labeled"]) == (64, 50)
    assert "vectors are scaled as a whole: embedding (64 numbers)" in facts["notes"]
    line = f"fit embeddings.npy --target labels.npy --unlabeled -1 --no-standardize --out {tmp_path / 'b.hm'}"
    assert halfmoon(line).exit_code == 0
    halfmoon(f"predict {tmp_path / 'a.hm'} embeddings.parquet --keep --out {tmp_path / 'a.parquet'}")
    halfmoon(f"predict {tmp_path / 'b.hm'} embeddings.npy --out {tmp_path / 'b.csv'}")
    named = pd.read_parquet(tmp_path / "a.parquet")
    numbers = pd.read_csv(tmp_path / "b.csv")["prediction"]
    agreement = (named["prediction"] == "topic " + numbers.astype(str)).mean()
    assert agreement > 0.95  # scaling by one number changes nothing but rounding
    assert len(named["embedding"][0]) == 64


TARGETS = {
    "fit flowers.csv -t species -t site": "2 targets were named, and a model has one.",
    "fit embeddings.parquet -t embedding": "row 1, column 'embedding': the target is a list",
    "fit embeddings.npy": "where are the labels? Name another NPY file with --target.",
    "fit embeddings.npy -t topic": "--target must name a .npy file with one target per row. Got topic.",
    "fit flowers.csv -t specie --ignore colour": "there are no columns 'colour', 'specie'. It has 'sepal_length'",
    "fit flowers.csv -t species --text site --ignore site": "'site' is both ignored and text.",
    "fit flowers.csv -t species --separator ab": "The separator must be one character",
    "fit houses.parquet -t price --separator ,": "only CSV and TSV files have a separator",
}


@pytest.mark.parametrize("line", TARGETS)
def test_what_is_refused_with_the_way_out(files, halfmoon, tmp_path, line):
    result = halfmoon(f"{line} --out {tmp_path / 'm.hm'}")
    assert result.exit_code == 2
    assert TARGETS[line] in result.stderr


def test_missing_columns_are_all_named(files, halfmoon, flowers_model, flowers, tmp_path):
    flowers.drop(columns=["site", "petal_width"]).to_csv(tmp_path / "less.csv", index=False)
    result = halfmoon(f"predict once.hm {tmp_path / 'less.csv'} --out {tmp_path / 'p.csv'}")
    assert "the 2 columns 'petal_width', 'site' that the model was fitted with are missing." in result.stderr


def test_only_models_are_replaced_without_force(files, halfmoon, tmp_path):
    out = tmp_path / "letter.txt"
    out.write_text("dear friend")
    result = halfmoon(f"fit flowers.csv -t species --out {out}")
    assert result.exit_code == 2
    assert "there is a file that is no model" in result.stderr
    assert out.read_text() == "dear friend"
    assert halfmoon(f"fit flowers.csv -t species --out {out} --force").exit_code == 0
    assert halfmoon(f"fit flowers.csv -t species --out {out}").exit_code == 0  # a model now
    assert library.load(out).target == "species"


@pytest.mark.parametrize(
    "line",
    [
        "predict once.hm new.csv",
        "suggest once.hm flowers.csv",
        "explain once.hm new.csv",
        "check-labels once.hm",
        "cluster customers.csv -k 2",
    ],
)
def test_results_replace_no_file_without_force(files, halfmoon, flowers_model, tmp_path, line):
    out = tmp_path / "mine.csv"
    out.write_text("dear friend")
    result = halfmoon(f"{line} --out {out}")
    assert result.exit_code == 2
    assert "there is a file already. Name another one, or replace it with --force." in result.stderr
    assert out.read_text() == "dear friend"
    assert halfmoon(f"{line} --out {out} --force").exit_code == 0
    assert out.read_text() != "dear friend"


def test_a_folder_of_images_without_a_label(files, halfmoon, tmp_path):
    folder = tmp_path / "pictures"
    for source in (files / "photos").rglob("*.png"):
        place = folder / ("Unlabeled" if source.parent.name == "photos" else source.parent.name)
        place.mkdir(parents=True, exist_ok=True)
        (place / source.name).write_bytes(source.read_bytes())
    facts = json.loads(halfmoon(f"fit {folder} --out {tmp_path / 'm.hm'} --json").stdout)
    assert (facts["rows"], facts["labeled"]) == (80, 16)
