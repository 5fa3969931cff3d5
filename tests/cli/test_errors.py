"""Bad input gets one line with the row or column and exit code 2; what breaks gets exit code 1."""

import json
import os
import shutil

import numpy as np
import pytest

from halfmoon import _extras, cli
from halfmoon.cli import fit

TABLES = {
    "fit nothere.csv -t y": "nothere.csv: no such file or folder.",
    "fit flowers.csv -t specie": "flowers.csv: there is no column 'specie'. Did you mean 'species'?",
    "fit flowers.csv -t species --ignore colour": "there is no column 'colour'. It has 'sepal_length'",
    "fit flowers.csv -t species --categorical colour": "there is no column 'colour'.",
    "fit flowers.csv -t species --ignore species": "flowers.csv: the target 'species' cannot be ignored.",
    "fit flowers.csv -t species --categorical species": "flowers.csv: 'species' is the target, it cannot be",
    "fit flowers.csv -t species --ignore site --categorical site": "'site' is both ignored and categorical.",
    "fit flowers.csv": "which column is the target? Name it with --target.",
    "fit moons.npz -t z": "moons.npz: there is no array 'z'.",
    "fit moons.npz": "which column is the target?",
    "fit moons.npz -t y --ignore a": "does not name its columns",
    "fit moons.npz -t y --categorical a": "moons.npz: the column 'a' cannot be categorical, the file does not name",
    "fit moons.libsvm --categorical a": "moons.libsvm: the column 'a' cannot be categorical",
    "fit photos --categorical a": "photos: the column 'a' cannot be categorical",
    "fit moons.libsvm -t foo": "moons.libsvm: the target 'foo' cannot be chosen, a label begins each line.",
    "fit photos -t foo": "photos: the target 'foo' cannot be chosen, the subfolders are the classes.",
    "fit flowers.csv -t species --task regress": "line 2, column 'species': 'setosa' is not a finite number.",
    "fit flowers.csv --task cluster": "--task cluster needs the number of clusters",
    "fit flowers.csv -t species -k 3": "it needs --task cluster",
    "fit flowers.csv --task cluster -k 3 --tune": "--tune needs labels",
    "fit flowers.csv --task cluster -k 1000 --ignore species": "--clusters must be between 1 and 150. Got 1000",
    "fit flowers.csv -t species --ignore Site": "there is no column 'Site'. Did you mean 'site'?",
    "fit houses.parquet -t price --task classify": "in 40 labelled rows: too few rows for each as a class.",
    "label houses.parquet -t price --no-browser": "'price' holds quantities, such as",
    "fit unsorted": "no image is labelled: all 2 are in the folder itself or in 'unlabeled'. Move some into subfolders",
    "fit sheet.xlsx -t y": "workbooks are not read. Save the sheet as 'CSV UTF-8' in Excel.",
}
TEXTS = {
    "a,b,y\n1,2,x\n3,4\n": "line 3 has 2 cells and the header has 3.",
    "a,b,y\n1,2,x\n\n3,4,y,5\n": "line 4 has 4 cells and the header has 3.",
    "a,b,y\n1,2,x\n\n3,oops,\n4,5,y\n6,7,x\n": "line 4, column 'b': 'oops' is not a finite number.",
    "a,b,y\n1,2,x\n3,inf,y\n": "line 3, column 'b': inf is not a finite number.",
    "a,b,y\n1,2,\n3,4,\n": "no row is labelled: all 2 cells of 'y' are empty. Fill in some, or label rows with",
    "a,b,y\n1,2,x\n3,4,\n": "'y' has one class, 'x', on 1 labelled row. A classifier needs two: label a row of another",
    "a;b;y\n1,5;2;x\n2,5;3;y\n12,x;4;\n3,5;4;\n": "line 4, column 'a': '12,x' is not a finite number.",
    "a,day,y\n1,1.2.2024,x\n2,3O.2.2024,y\n3,4.2.2024,\n": "line 3, column 'day': '3O.2.2024' is no date as the other",
    "a,a,y\n1,2,x\n3,4,\n": "several columns are called 'a'.",
    "1,1,0\n1,2,x\n3,4,\n": "the first line holds numbers.",
    "1,2,0\n1,2,x\n3,4,\n": "the first line holds numbers.",
    "a,b,y\n1,2,x\n3,1e200,y\n": "line 3, column 'b': 1e+200 is too large",
    "y\nx\nz\n": "there is no column of features besides the target.",
    "a,b,y\n": "there are no rows of data.",
    "": "the file is empty.",
    'a,y\n1,x\n2,"y\n': "cannot be read",
}


def check(result, message):
    assert result.exit_code == 2
    line = result.stderr.splitlines()[-1]
    assert line.startswith("halfmoon: ")
    assert message in line
    assert result.stdout == ""


@pytest.mark.parametrize("line", TABLES)
def test_bad_requests(files, halfmoon, line):
    (files / "sheet.xlsx").write_text("PK")
    (files / "unsorted").mkdir(exist_ok=True)
    for image in sorted((files / "photos").glob("*.png"))[:2]:
        shutil.copy(image, files / "unsorted")
    check(halfmoon(line if line.startswith("label") else f"{line} --out bad.hm"), TABLES[line])
    assert not (files / "bad.hm").exists()


@pytest.mark.parametrize("text", TEXTS)
def test_bad_tables(halfmoon, table, tmp_path, text):
    check(halfmoon(f"fit {table(text)} -t y --out {tmp_path / 'bad.hm'}"), TEXTS[text])


def test_bad_files_of_other_formats(halfmoon, table, tmp_path):
    out = f"--out {tmp_path / 'bad.hm'}"
    check(halfmoon(f"fit {table('1 1:2' + chr(10) + '0 1:x', 't.libsvm')} {out}"), "line 2: '1:x' is not a number.")
    far = table("1 1:2\n0 99999999999:1", "far.libsvm")
    check(
        halfmoon(f"fit {far} {out}"),
        "far.libsvm: line 2: the index of '99999999999:1' is not between 0 and 2147483647.",
    )
    for name in ("t.parquet", "t.feather", "t.npz"):
        check(halfmoon(f"fit {table('nonsense', name)} -t y {out}"), f"{name}: the file cannot be read")
    check(halfmoon(f"fit {table('x', 't.docx')} -t y {out}"), "the suffix '.docx' is not known.")
    (tmp_path / "latin.csv").write_bytes(b"a,y\n\xe9,x\n")
    check(halfmoon(f"fit {tmp_path / 'latin.csv'} -t y {out}"), "not UTF-8 text (invalid continuation byte, line 2)")


def test_bad_images(halfmoon, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    check(halfmoon(f"fit {folder} --out {tmp_path / 'bad.hm'}"), "there are no images")
    (folder / "cat.png").write_text("meow")
    check(halfmoon(f"fit {folder} --out {tmp_path / 'bad.hm'}"), "cat.png: the image cannot be read.")


def test_wrong_columns_at_predict(files, halfmoon, flowers_model, flowers, tmp_path):
    out = f"--out {tmp_path / 'p.csv'}"
    flowers.drop(columns="site").to_csv(tmp_path / "less.csv", index=False)
    check(halfmoon(f"predict once.hm {tmp_path / 'less.csv'} {out}"), "the column 'site'")
    flowers.astype(object).replace({"sepal_width": {3.5: "wide"}}).to_csv(tmp_path / "word.csv", index=False)
    check(halfmoon(f"predict once.hm {tmp_path / 'word.csv'} {out}"), "line 2, column 'sepal_width': 'wide'")
    check(halfmoon(f"predict once.hm moons.npz {out}"), "this file has no names")
    check(halfmoon("evaluate once.hm test.csv -t site"), "'site' that the model was fitted with is the target here.")
    assert not (tmp_path / "p.csv").exists()


def test_data_without_rows_at_predict(files, halfmoon, tmp_path):
    assert halfmoon("fit moons.npz --target truth --out full.hm").exit_code == 0
    np.savez(tmp_path / "none.npz", X=np.empty((0, 2)))
    out = f"--out {tmp_path / 'p.csv'}"
    check(halfmoon(f"predict full.hm {tmp_path / 'none.npz'} {out}"), "none.npz: there are no rows of data.")


def test_bad_places(files, halfmoon, flowers_model):
    check(halfmoon("fit flowers.csv -t species --out nowhere/m.hm"), "the folder nowhere does not exist")
    check(halfmoon("fit flowers.csv -t species --out photos"), "this is a folder")
    check(halfmoon("predict once.hm new.csv --out p.docx"), "Use .csv, .tsv, .parquet, .feather, .npz.")
    check(halfmoon("predict nothere.hm new.csv --out never.csv"), "nothere.hm: no such model file.")
    check(halfmoon("predict new.csv once.hm --out never.csv"), "no model file but data. The model comes first")


OVERWRITTEN = (
    "fit DATA -t species -o DATA",
    "fit DATA -t species -o LINK",
    "predict MODEL DATA -o DATA",
    "predict MODEL DATA -o LINK",
    "predict MODEL DATA -o MODEL",
    "cluster DATA -k 2 -o DATA",
)


@pytest.mark.parametrize("line", OVERWRITTEN)
def test_a_result_does_not_overwrite_what_it_comes_from(files, halfmoon, flowers_model, tmp_path, line):
    shutil.copy(files / "test.csv", tmp_path / "data.csv")
    shutil.copy(flowers_model, tmp_path / "model.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("data", "model", "link"):
        line = line.replace(name.upper(), str(tmp_path / f"{name}.csv"))
    check(halfmoon(line), "the result would overwrite the input")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_model_does_not_overwrite_an_image_of_its_folder(files, halfmoon):
    image = next((files / "photos" / "1").iterdir())
    before = image.read_bytes()
    check(halfmoon(f"fit photos --out {image}"), "the result would overwrite the input photos")
    assert image.read_bytes() == before


IMPOSSIBLE = {
    "/proc/m.hm": "no file can be written there",
    "/dev/null": "not a regular file",
    260 * "m": "name too long",
    "circle.hm": "not a regular file",
}


@pytest.mark.parametrize("place", [place for place in IMPOSSIBLE if os.path.isdir(os.path.dirname(place) or ".")])
def test_impossible_places_are_refused_before_the_work(files, halfmoon, place):
    """There is no data file, and that would be said first if it were read."""
    if place == "circle.hm" and not os.path.islink(place):
        (files / place).symlink_to(place)
    result = halfmoon(f"fit nothere.csv -t species --out {place}")
    assert IMPOSSIBLE[place].lower() in result.stderr.lower()
    check(result, place)


def test_a_damaged_model(files, halfmoon, flowers_model, tmp_path):
    damaged = bytearray(flowers_model.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.hm").write_bytes(bytes(damaged))
    check(halfmoon(f"info {tmp_path / 'damaged.hm'}"), "damaged.hm")


def test_errors_as_json(halfmoon):
    result = halfmoon("fit nothere.csv --out m.hm --json")
    assert json.loads(result.stdout) == {"error": "nothere.csv: no such file or folder.", "exit_code": 2}


def test_what_breaks_is_not_the_users_fault(files, halfmoon, monkeypatch):
    def broken(*args):
        raise RuntimeError("the sky fell")

    monkeypatch.setattr(fit, "need_target", broken)
    result = halfmoon("fit flowers.csv -t species --out m.hm")
    assert result.exit_code == 1
    assert result.stderr == "halfmoon: RuntimeError: the sky fell (HALFMOON_TRACEBACK=1 shows where)\n"


USAGE = {
    "fit x.csv": "Missing option '--out'",
    "fit": "Missing argument 'DATA'",
    "fit x.csv --out m.hm --landmarks 0": "'--landmarks' must be",
    "fit x.csv --out m.hm --task nonsense": "'--task'",
    "fit x.csv --out m.hm --landmrks 5": "No such option: --landmrks",
    "fit x.csv --out": "'--out'",
    "info a.hm b.hm": "unexpected extra argument",
    "fitt x.csv": "No such command 'fitt'",
    "--nonsense": "No such option: --nonsense",
}


@pytest.mark.parametrize("line", USAGE)
def test_mistakes_in_the_command_line(halfmoon, line):
    result = halfmoon(line)
    check(result, USAGE[line])
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.endswith(" --help.\n")
    if line.startswith(("fit ", "info ")) and not line.endswith("--out"):
        result = halfmoon(f"{line} --json")
        assert USAGE[line] in json.loads(result.stdout)["error"]
        assert (result.exit_code, result.stderr) == (2, "")


PLANS = {
    "--rows 0 --features 3": "'rows' must be a whole number of at least 16,000. Got 0.",
    "--rows nan --features 3": "'rows' must be a whole number",
    "--rows 1e6 --features 2.5": "'features' must be a whole number of at least 1. Got 2.5.",
    "--rows 1e6 --features 3 --landmarks 1e7": "There are 10,000,000 landmarks for 1,000,000 rows.",
    "--rows 1e6 --features 3 --workers -2": "'workers' must be a whole number of at least 1. Got -2.",
    "--rows 1e6 --features 3 --threads 0": "'threads' must be a whole number of at least 1. Got 0.",
    "--rows 1e6 --features 3 --gigabits 0": "'gigabits' must be a positive number. Got 0.0.",
    "--rows 1e6": "plan needs the size of the data, in numbers: halfmoon plan --rows N --features N.",
    "flowers.csv": "flowers.csv: plan reads no data. Name their size: halfmoon plan --rows N --features N.",
    "--rows many --features 3": "'--rows'",
}


@pytest.mark.parametrize("options", PLANS)
def test_plans_of_nonsense(halfmoon, options):
    check(halfmoon(f"plan {options}"), PLANS[options])


def test_help_without_a_command(halfmoon):
    result = halfmoon("")
    assert result.stdout.strip() == halfmoon("--help").stdout.strip()
    assert result.stderr == ""


EXTRAS = {
    "demo": "Figures need matplotlib: pip install 'halfmoon[plot]'",
    "reproduce figure4": "Figures need matplotlib: pip install 'halfmoon[plot]'",
    "label moons.npz": "Pages to label on need starlette, uvicorn: pip install 'halfmoon[label]'",
    "fit moons.zarr -t y.npy --out bad.hm": "Zarr arrays need zarr: pip install 'halfmoon[zarr]'",
    "fit parts -t y --out bad.hm": "Parquet files need pyarrow: pip install 'halfmoon[cli]'",
    "fit flowers.csv -t species --out bad.hm": "Tables need pandas, pyarrow: pip install 'halfmoon[cli]'",
    "fit photos --out bad.hm": "Images need PIL: pip install 'halfmoon[cli]'",
    "info flowers.hm": "Model files need skops: pip install 'halfmoon[files]'",
}


@pytest.mark.parametrize("line", EXTRAS)
def test_a_missing_extra_is_named_in_one_sentence_everywhere(files, halfmoon, flowers_model, monkeypatch, line):
    shutil.copy(flowers_model, "flowers.hm")
    (files / "moons.zarr").mkdir(exist_ok=True)
    (files / "parts").mkdir(exist_ok=True)
    shutil.copy("houses.parquet", "parts/1.parquet")
    monkeypatch.setattr(_extras, "find_spec", lambda name: None)
    check(halfmoon(line), EXTRAS[line])


def test_without_the_extra(monkeypatch, capsys):
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == "typer" else True)
    with pytest.raises(SystemExit) as exit:
        cli.main()
    assert exit.value.code == 2
    assert capsys.readouterr().err == "halfmoon: Commands need typer: pip install 'halfmoon[cli]'\n"
