"""``explain``, ``check-labels`` and ``suggest``: what Python says, with rows counted as people count them."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import halfmoon as library
from halfmoon.active_learning import STRATEGIES, suggest
from halfmoon.cli.suggest import Strategy


def test_explain_says_what_the_model_says(files, halfmoon, flowers_model, flowers):
    told = json.loads(halfmoon("explain once.hm new.csv --row 120 --row 3 --json").stdout)["points"]
    why = library.load(flowers_model).explain(flowers.iloc[[119, 2]])
    assert [point["row"] for point in told] == [120, 3]
    assert [point["prediction"] for point in told] == why.predictions.tolist()
    for point, expected in zip(told, why, strict=True):
        assert [entry["row"] for entry in point["shares"]] == (expected.rows + 1).tolist()
        assert sum(entry["share"] for entry in point["shares"]) + point["intercept"] == pytest.approx(point["total"])
        assert point["path"][-1] == point["row"]  # a training row itself


def test_explain_prints_and_writes_shares(files, halfmoon, flowers_model, tmp_path):
    result = halfmoon(f"explain once.hm new.csv --of virginica --out {tmp_path / 'shares.csv'}")
    assert result.exit_code == 0
    assert "row 1: setosa, decision value of virginica -" in result.stdout
    assert "... and 140 more points" in result.stdout
    shares = pd.read_csv(tmp_path / "shares.csv")
    sums = shares.groupby("row")["share"].sum() + shares.groupby("row")["intercept"].first()
    np.testing.assert_allclose(sums, shares.groupby("row")["decision_value"].first())
    assert set(shares["labeled_row"]) <= set(range(1, 151, 10))  # every tenth row is labelled


def test_explain_refuses_what_is_not_there(files, halfmoon, flowers_model):
    result = halfmoon("explain once.hm new.csv --row 151")
    assert result.exit_code == 2
    assert "there is no row 151, it has 150 rows" in result.stderr
    result = halfmoon("explain once.hm new.csv --of rose")
    assert "'rose' is not a class of this model. It has 'setosa', 'versicolor', 'virginica'" in result.stderr


def test_clusters_have_nothing_to_explain(files, halfmoon, tmp_path):
    model = tmp_path / "k.hm"
    assert halfmoon(f"fit customers.csv --ignore id --task cluster -k 3 -q -o {model}").exit_code == 0
    assert "nothing to explain" in halfmoon(f"explain {model} customers.csv").stderr
    assert "no labels to check" in halfmoon(f"check-labels {model}").stderr


def test_check_labels_finds_a_wrong_one_in_a_file_and_in_its_model(halfmoon, flowers, tmp_path):
    flowers.loc[flowers.index % 5 > 0, "species"] = None
    flowers.loc[20, "species"] = "virginica"  # it is a setosa
    data, model, out = tmp_path / "slip.csv", tmp_path / "slip.hm", tmp_path / "doubts.csv"
    flowers.to_csv(data, index=False)
    told = json.loads(halfmoon(f"check-labels {data} --target species --json").stdout)
    assert told["suspicious"] >= 1
    assert told["issues"][0] | {"score": None} == {
        "row": 22,  # its line
        "given": "virginica",
        "suggested": "setosa",
        "score": None,
    }
    assert halfmoon(f"fit {data} -t species -q -o {model}").exit_code == 0
    result = halfmoon(f"check-labels {model} --out {out}")
    assert "of 30 labels look wrong" in result.stdout
    assert re.search(r"gets \d+ of 30 held-out labels right", result.stdout)  # how far the model is to be trusted
    assert len(re.findall(r"^  row ", result.stdout, flags=re.M)) == told["suspicious"]  # and no row beside them
    assert pd.read_csv(out).iloc[0, :3].tolist() == [21, "virginica", "setosa"]


def test_check_labels_of_images_and_numbers(files, halfmoon):
    told = json.loads(halfmoon("check-labels photos --json").stdout)
    assert len(told["issues"]) == 16
    assert all(issue["row"].endswith(".png") for issue in told["issues"])
    told = json.loads(halfmoon("check-labels houses.parquet --target price --json").stdout)
    assert len(told["issues"]) == 40
    assert all(isinstance(issue["suggested"], float) for issue in told["issues"])


def test_images_go_by_their_names(files, halfmoon, tmp_path):
    model = tmp_path / "photos.hm"
    assert "images" not in json.loads(halfmoon(f"fit photos --landmarks 40 --json -o {model}").stdout)
    image = sorted(path.name for path in (files / "photos").glob("*.png"))[0]
    text = halfmoon(f"explain {model} photos --row {image}").stdout
    assert text.startswith(f"{image}: ")
    shares = re.findall(r"^  ([01]/\d+\.png) +([01]) +[+-]", text, flags=re.M)
    assert len(shares) == 5
    assert all(name.startswith(label) for name, label in shares)
    assert "row " not in text.splitlines()[1]
    told = json.loads(halfmoon(f"check-labels {model} --json").stdout)
    assert all(issue["row"].endswith(".png") for issue in told["issues"])
    refused = halfmoon(f"explain {model} photos --row nobody.png")
    assert "--row nobody.png is not an image of the folder or a number from 1 on." in refused.stderr
    assert halfmoon(f"explain {model} photos --row 0").exit_code == 2


def test_suggest_says_the_next_step(files, halfmoon, flowers_model, tmp_path):
    shown = halfmoon(f"suggest once.hm flowers.csv --n 2 --out {tmp_path / 'next.csv'}").stdout
    assert "Next: fill in 'species' of these rows in flowers.csv, then fit again, with the options that" in shown
    assert "halfmoon fit flowers.csv" in shown
    assert "--target species --out once.hm" in shown


def test_suggest_writes_rows_and_columns_of_the_data(files, halfmoon, flowers_model, tmp_path):
    out = tmp_path / "next.csv"
    told = json.loads(halfmoon(f"suggest once.hm flowers.csv --n 6 --out {out} --json").stdout)
    written, data = pd.read_csv(out), pd.read_csv("flowers.csv")
    assert written["row"].tolist() == told["rows"]
    assert len(set(told["rows"])) == 6
    assert list(written) == ["row", *data.columns]
    expected = data.iloc[written["row"] - 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(written.drop(columns="row"), expected, check_dtype=False)  # an empty column
    assert written["species"].isna().all()  # every tenth row is labelled, and none of these is suggested


@pytest.mark.parametrize("strategy", ["uncertainty", "density", "variance", "coverage", "random"])
def test_suggest_follows_its_strategy_and_seed(files, halfmoon, flowers_model, tmp_path, strategy):
    line = (
        f"suggest once.hm flowers.csv --strategy {strategy} --seed 3 --json --force --out {tmp_path / 'next.parquet'}"
    )
    told = json.loads(halfmoon(line).stdout)
    model = library.load(flowers_model)
    assert told["rows"] == (suggest(model.estimator, 10, strategy, 3) + 1).tolist()


def test_suggest_knows_the_names_of_all_strategies():
    assert [strategy.value for strategy in Strategy] == list(STRATEGIES)


def test_suggest_names_images(files, halfmoon, tmp_path):
    model, out = tmp_path / "photos.hm", tmp_path / "next.csv"
    assert halfmoon(f"fit photos --landmarks 40 -q -o {model}").exit_code == 0
    assert halfmoon(f"suggest {model} photos -n 3 -o {out}").exit_code == 0
    written = pd.read_csv(out)
    assert list(written) == ["row", "image"]
    assert all("/" not in name.removeprefix("photos/") for name in written["image"])  # in no folder of a class


def test_suggest_refuses_rows_that_the_model_was_not_fitted_to(files, halfmoon, flowers_model, flowers, tmp_path):
    shuffled = tmp_path / "shuffled.csv"
    flowers.iloc[::-1].to_csv(shuffled, index=False)
    result = halfmoon(f"suggest once.hm {shuffled} --out {tmp_path / 'next.csv'}")
    assert result.exit_code == 2
    assert "not the 150 rows that the model was fitted to" in result.stderr
    assert not (tmp_path / "next.csv").exists()
    flowers.iloc[:50].to_csv(shuffled, index=False)
    assert halfmoon(f"suggest once.hm {shuffled} --out {tmp_path / 'next.csv'}").exit_code == 2


def test_clusters_have_no_labels_to_add_to(files, halfmoon, tmp_path):
    model = tmp_path / "k.hm"
    assert halfmoon(f"fit customers.csv --ignore id --task cluster -k 3 -q -o {model}").exit_code == 0
    result = halfmoon(f"suggest {model} customers.csv --out {tmp_path / 'next.csv'}")
    assert "A model of clusters knows no labels" in result.stderr
