"""Every command does what it says: results, notes, the last line, JSON and quiet."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import halfmoon as library
from command_notes import notes

LAST_LINE = r" in \d+\.\d s"


def test_fit_reports_what_it_did(files, halfmoon):
    result = halfmoon("fit flowers.csv --target species --out reported.hm")
    assert result.exit_code == 0
    assert re.search(
        rf"^Fitted LapSVC to 150 rows, 15 labelled \(149 landmarks\){LAST_LINE}: reported.hm$",
        result.stdout.splitlines()[-1],
    )
    assert re.search(r"LapSVC: +\d+ of 15 right \(\d+%, 95% interval \d+ to \d+%\)", result.stdout)
    assert re.search(r"most frequent class: +\d+ of 15 right", result.stdout)
    assert "error bound" not in result.stdout  # of a linear system: it is no answer to how good the model is
    assert notes(result) == [
        "note: text is one-hot encoded: site",
        "note: missing numbers become the median of their column: sepal_length (1)",
        "note: numbers are brought to mean 0 and deviation 1; --no-standardize keeps them as they are",
    ]


def test_predictions_are_those_of_the_model_in_python(files, halfmoon, flowers_model, flowers):
    assert halfmoon("predict once.hm new.csv --proba --force --out out.csv").exit_code == 0
    written = pd.read_csv("out.csv")
    model = library.load(flowers_model)
    assert list(written) == ["prediction", "p(setosa)", "p(versicolor)", "p(virginica)"]
    assert written["prediction"].tolist() == model.predict(flowers).tolist()
    np.testing.assert_allclose(written.iloc[:, 1:].to_numpy().sum(axis=1), 1.0)
    assert (written["prediction"] == flowers["species"]).mean() > 0.8


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather", "npz"])
def test_every_format_of_predictions(files, halfmoon, flowers_model, suffix):
    result = halfmoon(f"predict once.hm new.csv --json --force --out out.{suffix}")
    assert json.loads(result.stdout)["columns"] == ["prediction"]
    readers = {"csv": pd.read_csv, "tsv": lambda path: pd.read_csv(path, sep="\t"), "parquet": pd.read_parquet,
               "feather": pd.read_feather, "npz": np.load}  # fmt: skip
    assert set(readers[suffix](f"out.{suffix}")["prediction"]) == {"setosa", "versicolor", "virginica"}
    assert not [path for path in files.iterdir() if path.name.endswith(".tmp")]


def test_categories_that_the_model_has_not_seen_are_reported(files, halfmoon, flowers_model, flowers, tmp_path):
    flowers.assign(site=["east", "west", *flowers["site"][2:]]).to_csv(tmp_path / "far.csv", index=False)
    result = halfmoon(f"predict once.hm {tmp_path / 'far.csv'} --proba --out {tmp_path / 'p.csv'}")
    assert notes(result) == [
        "note: column 'site': 2 of 150 cells hold categories that the model has not seen, as 'east' in line 2"
    ]


def test_leading_zeros_of_classes_are_kept(halfmoon, table, tmp_path):
    path = table("a,y\n" + "\n".join(f"{i % 3 + 0.01 * i},{i % 3 + 1:02d}" for i in range(30)))
    assert halfmoon(f"fit {path} -t y -o {tmp_path / 'm.hm'}").exit_code == 0
    halfmoon(f"predict {tmp_path / 'm.hm'} {path} -o {tmp_path / 'p.csv'}")
    assert set((tmp_path / "p.csv").read_text().split()) == {"prediction", "01", "02", "03"}
    assert json.loads(halfmoon(f"evaluate {tmp_path / 'm.hm'} {path} --json").stdout)["scores"]["accuracy"] > 0.9


def test_evaluate(files, halfmoon, flowers_model):
    facts = json.loads(halfmoon("evaluate once.hm test.csv --json").stdout)
    assert facts["labeled"] == 150
    recalls = [value for name, value in facts["scores"].items() if name.startswith("recall")]
    assert facts["scores"]["accuracy"] == pytest.approx(np.mean(recalls))  # 50 of each
    result = halfmoon("evaluate once.hm flowers.csv")
    text = result.stdout
    assert "15 of the 15 labelled rows had a label in the fit" in result.stderr
    assert "recall of setosa" in text
    assert re.search(rf"Evaluated LapSVC on 15 labelled rows of 150{LAST_LINE}", text)


def test_labels_that_the_model_has_never_seen(files, halfmoon, flowers_model, flowers, tmp_path):
    flowers.assign(species=flowers["species"].str.replace("s", "S", n=1)).to_csv(tmp_path / "wrong.csv", index=False)
    result = halfmoon(f"evaluate once.hm {tmp_path / 'wrong.csv'}")
    assert notes(result)[:1] == [
        "note: 100 of 150 labelled rows count as errors: the model has never seen their labels (2 different, such as "
        "'Setosa'). Did you mean 'setosa'?"
    ]
    (of_fit,) = notes(halfmoon("evaluate once.hm test.csv"))
    assert "15 of the 150 labelled rows had a label in the fit" in of_fit


def test_numbers_that_json_does_not_have(halfmoon, table, tmp_path):
    """R^2 of a single row is not defined."""
    rows = [f"{i % 5},{i / 7},{i / 3 if i < 1 else ''}" for i in range(30)]
    one = table("\n".join(["a,b,y", *rows]))
    lines = [f"fit {one} -t y --task regress -o {tmp_path / 'm.hm'} --json",
             f"evaluate {tmp_path / 'm.hm'} {one} --json",
             f"diagnose {one} -t y --task regress --json"]  # fmt: skip
    _, scores, diagnosis = (strict_json(halfmoon(line).stdout) for line in lines)
    assert scores["scores"]["R^2"] is None
    assert scores["scores"]["mean absolute error"] >= 0.0
    assert diagnosis["report"]["model"]["value"] is None
    assert diagnosis["report"]["verdict"] == "cannot be told"


def strict_json(text):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_names_are_printed_as_they_are(files, halfmoon, flowers_model):
    result = halfmoon("predict once.hm new.csv -o 'r:100:[red]s.csv'")
    assert result.stdout.endswith(": r:100:[red]s.csv\n")


def test_names_that_the_terminal_cannot_show(halfmoon, table, tmp_path):
    rows = "\n".join(f"{i % 2 + 0.01 * i},{i},{('weiß', 'schwarz')[i % 2]}" for i in range(20))
    model = tmp_path / "m.hm"
    assert halfmoon(f"fit {table(f'größe,высота,y{chr(10)}{rows}')} -t y -o {model}").exit_code == 0
    result = subprocess.run(
        [sys.executable, "-m", "halfmoon", "info", str(model)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"gr\xf6\xdfe: number" in result.stdout
    assert b"Read a LapSVC" in result.stdout


def test_regression(files, halfmoon):
    result = halfmoon("fit houses.parquet --target price --out h.hm --json")
    facts = json.loads(result.stdout)
    assert (facts["task"], facts["estimator"], facts["labeled"]) == ("regress", "LapRLSRegressor", 40)
    assert "this is regression, by the values of 'price'" in facts["notes"][0]
    halfmoon("predict h.hm houses.parquet --proba --out h.parquet")
    assert (pd.read_parquet("h.parquet")["deviation"] >= 0).all()
    scores = json.loads(halfmoon("evaluate h.hm houses.parquet --json").stdout)["scores"]
    assert scores["R^2"] > 0.2
    assert scores["mean absolute error"] <= scores["root mean square error"]


def test_tuning(files, halfmoon):
    facts = json.loads(halfmoon("fit flowers.csv --target species --neighbors 8 --tune --out t.hm --json").stdout)
    assert facts["candidates"] == 18
    assert facts["tuned"]["n_neighbors"] == 8
    assert 0.5 < facts["held_out_score"] <= 1.0


def test_clusters(files, halfmoon):
    text = halfmoon("cluster moons.npz -k 2").stdout
    assert re.search(rf"Fitted KernelKMeans to 100 rows \(100 landmarks\){LAST_LINE}: moons.clusters.csv", text)
    truth = np.load("moons.npz")["truth"]
    assert abs((pd.read_csv("moons.clusters.csv")["cluster"] == truth).mean() - 0.5) > 0.4  # up to names
    assert halfmoon("fit moons.npz --task cluster -k 2 --out k.hm").exit_code == 0
    scores = json.loads(halfmoon("evaluate k.hm moons.npz --target truth --json").stdout)["scores"]
    assert scores["adjusted Rand index"] > 0.5


def test_images(files, halfmoon):
    facts = json.loads(halfmoon("fit photos --out p.hm --json").stdout)
    assert (facts["rows"], facts["labeled"], facts["features"]) == (80, 16, 64)
    assert "images are brought to 8 x 8 pixels, grey" in facts["notes"]
    assert halfmoon("predict p.hm photos --out p.csv").exit_code == 0
    written = pd.read_csv("p.csv")
    assert written["image"].str.endswith(".png").all()
    assert json.loads(halfmoon("info p.hm --json").stdout)["image_shape"] == [8, 8, 1]
    scores = json.loads(halfmoon("evaluate p.hm photos --json").stdout)["scores"]
    assert scores["accuracy"] > 0.9


def test_sparse_rows_and_marks(files, halfmoon):
    """The same moons from NPZ with -1 for unlabelled, and from libsvm with nan."""
    dense = json.loads(halfmoon("fit moons.npz --target y --unlabeled -1 --no-standardize --out a.hm --json").stdout)
    thin = json.loads(halfmoon("fit moons.libsvm --no-standardize --out b.hm --json").stdout)
    assert dense["labeled"] == thin["labeled"] == 12
    halfmoon("predict a.hm moons.npz --out a.npz")
    halfmoon("predict b.hm moons.libsvm --out b.npz")
    assert np.array_equal(np.load("a.npz")["prediction"], np.load("b.npz")["prediction"])


def test_columns_may_have_any_name(halfmoon, table, tmp_path):
    rows = "\n".join(f"{i % 2 + 0.01 * i},{i},{'ab'[i % 2]}" for i in range(20))
    path, model = table(f"__loader__,__class__,y\n{rows}\n"), tmp_path / "m.hm"
    assert halfmoon(f"fit {path} --target y --out {model}").exit_code == 0
    columns = json.loads(halfmoon(f"info {model} --json").stdout)["columns"]
    assert columns == {"__loader__": "number", "__class__": "number"}


def test_minus_one_is_a_class_unless_it_is_said_otherwise(halfmoon, table, tmp_path):
    rows = "\n".join(f"{i % 2 + 0.01 * i},{i},{2 * (i % 2) - 1}" for i in range(20))
    path = table(f"a,b,y\n{rows}\n")
    result = halfmoon(f"fit {path} --target y --out {tmp_path / 'm.hm'}")
    assert "-1 is read as a class" in result.stderr
    halfmoon(f"predict {tmp_path / 'm.hm'} {path} --out {tmp_path / 'p.csv'}")
    assert set(pd.read_csv(tmp_path / "p.csv")["prediction"]) == {-1, 1}


@pytest.mark.parametrize(("mark", "shown"), [("-1", "-1"), ("Unknown", "'Unknown'")])
def test_a_mark_in_most_rows_is_refused_with_the_way_out(halfmoon, table, tmp_path, mark, shown):
    rows = "\n".join(f"{i % 3 + 0.01 * i},{i},{i % 3 if i < 12 else mark}" for i in range(60))
    path, model = table(f"a,b,y\n{rows}\n"), tmp_path / "m.hm"
    result = halfmoon(f"fit {path} --target y --out {model}")
    assert result.exit_code == 2
    assert f"'y' is {shown} in 48 of 60 rows. Add --unlabeled {mark}" in result.stderr
    assert halfmoon(f"fit {path} --target y --unlabeled {mark} --out {model}").exit_code == 0
    assert halfmoon(f"fit {path} --target y --task classify --out {model}").exit_code == 0


def test_a_graph_in_pieces_is_noted_with_the_option_that_helps(halfmoon, table, tmp_path):
    rows = "\n".join(f"{i % 7 + 1000 * (i % 2)},{i % 5},{'ab'[i // 2 % 2] if i < 8 else ''}" for i in range(70))
    path = table(f"a,b,y\n{rows}\n")
    result = halfmoon(f"fit {path} --target y --out {tmp_path / 'm.hm'}")
    assert re.search(r"note: The graph has \d+ components, and .*\. Raise --neighbors\.\n", result.stderr)


def test_diagnose(files, halfmoon):
    text = halfmoon("diagnose flowers.csv --target species").stdout
    assert text.startswith("LapSVC: 149 different rows, 15 labelled")
    assert "unlabelled rows" in text
    facts = json.loads(halfmoon("diagnose flowers.csv --target species --json").stdout)
    assert sum(facts["component_sizes"]) == 149
    assert facts["report"]["verdict_in_words"] in text


def test_info(files, halfmoon, flowers_model):
    text = halfmoon("info once.hm").stdout
    assert re.search(r"classes +setosa, versicolor, virginica", text)
    assert re.search(r"linear systems +solved to \d\.\de-\d+ \(proven\); this says nothing about", text)
    assert re.search(r"landmarks +149 rows that stand for all others", text)
    assert re.search(r"graph +\d+ connected parts?$", text, flags=re.M)
    assert "error_bound" not in text
    assert "bound kind" not in text
    assert "site: text" in text


def test_quiet_is_quiet(files, halfmoon, flowers_model):
    for line in ("fit flowers.csv -t species -o q.hm", "predict once.hm new.csv --force -o q.csv", "info once.hm"):
        result = halfmoon(f"{line} --quiet")
        assert (result.exit_code, result.output) == (0, "")
        result = halfmoon(f"{line} --quiet --json")  # what is asked for by name is printed
        assert json.loads(result.stdout)["out"]
        assert result.stderr == ""


def test_warnings_of_the_library_are_notes(halfmoon, table, tmp_path):
    """Two far clouds: the graph falls apart, and the library warns."""
    rows = "\n".join(f"{10000 * (i % 2) + i},{i % 7},{'ab'[i % 2] if i < 6 else ''}" for i in range(40))
    result = halfmoon(f"fit {table('x,y,c' + chr(10) + rows)} -t c -o {tmp_path / 'm.hm'} --neighbors 2")
    assert result.exit_code == 0
    assert any("components" in line for line in notes(result))


def test_models_of_python_are_not_taken_for_models_of_tables(files, halfmoon):
    library.save(library.LapSVC(), "bare.hm")
    result = halfmoon("predict bare.hm moons.npz --out x.csv")
    assert result.exit_code == 2
    assert "holds a LapSVC" in result.stderr


def test_plan(halfmoon):
    line = "plan --rows 1e8 --features 128 --landmarks 1000 --workers 20"
    text = halfmoon(line).stdout
    assert "100,000,000 rows x 128 features, 1,000 landmarks, 20 workers x 2 threads" in text
    for part in ("memory of each worker", "sent to the workers", "more than one machine was not measured"):
        assert part in text
    facts = json.loads(halfmoon(f"{line} --json").stdout)
    assert facts["planned_seconds"] == pytest.approx(sum(step["seconds"] for step in facts["steps"]))
    assert (facts["rows"], facts["workers"]) == (10**8, 20)
    assert halfmoon(f"{line} --quiet").stdout == ""


def test_small_fits_need_no_plan(halfmoon):
    result = halfmoon("plan --rows 5000 --features 64")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "5,000 rows are fewer than in any run that was measured; this is the plan for 16,000."
    )
    assert re.fullmatch(r"About [\d.]+ s, at most [\d.]+ MB", result.stdout.splitlines()[-1])


def test_vectors_in_arrays_are_told_that_they_are_standardised(files, halfmoon):
    fit = "fit moons.npz --target y --unlabeled -1 --out scaled.hm"
    note = "note: every feature is brought to mean 0 and deviation 1 by itself; where rows are vectors"
    assert note in halfmoon(fit).stderr
    assert note in halfmoon("fit moons.npy --target moon-labels.npy --unlabeled -1 --out scaled.hm").stderr
    assert note not in halfmoon(f"{fit} --no-standardize").stderr


def test_one_of_a_kind_is_singular(files, halfmoon, flowers_model, tmp_path):
    (tmp_path / "one.csv").write_text("\n".join((files / "test.csv").read_text().splitlines()[:2]) + "\n")
    for line in ("predict once.hm ONE --out OUT", "explain once.hm ONE", "evaluate once.hm ONE"):
        text = halfmoon(line.replace("ONE", str(tmp_path / "one.csv")).replace("OUT", str(tmp_path / "p.csv"))).stdout
        assert re.search(r"1 (labelled )?row\b", text.splitlines()[-1])
        assert "1 rows" not in text


def test_a_cluster_of_next_to_no_rows_is_named(files, halfmoon, tmp_path, rng):
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 30.0, [[1000.0, 0.0]]])
    np.savez(tmp_path / "far.npz", X=X)
    result = halfmoon(f"cluster {tmp_path / 'far.npz'} -k 3 --out {tmp_path / 'c.csv'}")
    sizes = np.bincount(pd.read_csv(tmp_path / "c.csv")["cluster"])
    assert (min(sizes) < 3) == ("less than 1% of the rows are in cluster" in result.stderr)


def test_rows_on_disk(files, halfmoon):
    result = halfmoon(
        "fit moons.npy --target moon-labels.npy --unlabeled -1 --max-memory 1GB --checkpoint moons-run --out disk.hm"
    )
    assert result.exit_code == 0, result.output
    assert "stay on disk" in result.output
    assert (files / "moons-run" / "halfmoon-checkpoint.json").exists()
    assert halfmoon("predict disk.hm moons.npy --proba --out disk.csv").exit_code == 0
    assert halfmoon("fit moons.npz --target y --unlabeled -1 --out memory.hm").exit_code == 0
    assert halfmoon("predict memory.hm moons.npz --proba --out memory.csv").exit_code == 0
    on_disk, in_memory = pd.read_csv(files / "disk.csv"), pd.read_csv(files / "memory.csv")
    assert (on_disk["prediction"] == in_memory["prediction"]).all()
    np.testing.assert_allclose(on_disk["p(1)"], in_memory["p(1)"], atol=1e-3)  # float32 on disk, float64 in the archive


def test_parquet_on_disk_predicts_by_blocks(files, halfmoon, monkeypatch):
    import halfmoon.cli.predict as predict

    fit = "fit houses.parquet --target price --max-memory 1GB --out houses-disk.hm"
    assert halfmoon(fit).exit_code == 0
    assert halfmoon("predict houses-disk.hm houses.parquet --out whole.csv").exit_code == 0
    monkeypatch.setattr(predict, "BLOCK", 70)
    assert halfmoon("predict houses-disk.hm houses.parquet --out blocks.csv").exit_code == 0
    whole, blocks = pd.read_csv(files / "whole.csv"), pd.read_csv(files / "blocks.csv")
    assert len(whole) == 120
    np.testing.assert_allclose(blocks["prediction"], whole["prediction"], rtol=1e-9)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fit moons.npy --target y --out x.hm", "must name a .npy file"),
        ("fit flowers.csv --target species --tune --max-memory 1GB --out x.hm", "are for one fit"),
        ("fit flowers.csv --target species --max-memory much --out x.hm", "is not a size"),
        ("fit houses.parquet --target prize --max-memory 1GB --out x.hm", "there is no column 'prize'. Did you mean"),
        ("fit moons.npy --target moon-labels.npy --categorical a --out x.hm", "the file does not name its columns"),
        (
            "fit moons.npy --target moon-labels.npy --separator tab --out x.hm",
            "only CSV and TSV files have a separator",
        ),
        (
            "fit houses.parquet --target price --categorical age --max-memory 1GB --out x.hm",
            "the column 'age' cannot be categorical: rows that stay on disk are numbers",
        ),
        ("diagnose houses.parquet --target price --task cluster", "Clusters have no labels to look at"),
    ],
)
def test_what_rows_on_disk_cannot_do(files, halfmoon, command, message):
    result = halfmoon(command)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("folder", ["moons.zarr", "moons-parts"])
def test_every_command_reads_rows_on_disk(files, halfmoon, tmp_path, folder):
    X = np.load("moons.npy")
    if folder == "moons.zarr":
        import zarr

        zarr.save_array(tmp_path / folder, X)
        target = "moon-labels.npy"
    else:
        target = "y"
        (tmp_path / folder).mkdir()
        labels = np.load("moon-labels.npy")
        for part in (slice(0, 50), slice(50, 100)):
            frame = pd.DataFrame({"a": X[part, 0], "b": X[part, 1], "y": labels[part]})
            frame.to_parquet(tmp_path / folder / f"{part.start:03d}.parquet")
    data = tmp_path / folder
    assert halfmoon(f"diagnose {data} --target {target} --unlabeled -1").exit_code == 0
    assert halfmoon(f"check-labels {data} --target {target} --unlabeled -1").exit_code == 0
    ignore = "" if folder == "moons.zarr" else "--ignore y"
    assert halfmoon(f"cluster {data} -k 2 {ignore} --out {tmp_path / 'clusters.csv'}").exit_code == 0
    assert len(pd.read_csv(tmp_path / "clusters.csv")) == 100
    if folder == "moons-parts":
        result = halfmoon(f"cluster {data} -k 2 {ignore} --out {data / '000.parquet'}")
        assert "the result would overwrite the input" in result.stderr


@pytest.mark.parametrize("option", ["--ignore site", "--separator tab", "--no-standardize", "--text a"])
@pytest.mark.parametrize("command", ["diagnose", "check-labels"])
def test_a_model_is_not_read_or_fitted_again(files, halfmoon, flowers_model, command, option):
    result = halfmoon(f"{command} {flowers_model} {option}")
    assert result.exit_code == 2
    assert f"Leave {option.split()[0].replace('--no-', '--')} out, or name data." in result.stderr
