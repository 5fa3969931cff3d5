"""``explain`` and ``check-labels``: what Python says, with rows counted as people count them."""

import json

import numpy as np
import pandas as pd
import pytest

import halfmoon as library


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
    assert "'rose' is not a class of this model. It has ['setosa', 'versicolor', 'virginica']" in result.stderr


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
    assert pd.read_csv(out).iloc[0, :3].tolist() == [21, "virginica", "setosa"]


def test_check_labels_of_images_and_numbers(files, halfmoon):
    told = json.loads(halfmoon("check-labels photos --json").stdout)
    assert len(told["issues"]) == 16
    assert all(issue["row"].endswith(".png") for issue in told["issues"])
    told = json.loads(halfmoon("check-labels houses.parquet --target price --json").stdout)
    assert len(told["issues"]) == 40
    assert all(isinstance(issue["suggested"], float) for issue in told["issues"])
