"""Dates, words and vectors become features; what cannot is refused with the row."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from halfmoon import load, save
from halfmoon.exceptions import DataFileError
from halfmoon.runtime.spool import is_on_disk
from halfmoon.tables import Recipe, Table, fit_table, read_table, write_columns
from halfmoon.tables._dates import AmbiguousDatesError, as_days, date_format, date_slip
from halfmoon.tables._prepare import plan_preparation, typed_features

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


def as_table(frame, target=None, **how):
    return Table(Path("frame"), frame, None if target is None else np.array(target, dtype=object), "y", **how)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2024-12-31", "1999-01-02"], "ISO8601"),
        (["2024-12-31T23:59:59Z", "2024-12-31 10:00"], "ISO8601"),
        (["31.12.2024", "1.2.2024"], "%d.%m.%Y"),
        (["01.02.2024"], "%d.%m.%Y"),
        (["01/02/2024", "31/12/2024"], "%d/%m/%Y"),
        (["01/02/2024", "12/31/2024"], "%m/%d/%Y"),
        (["31-12-24 8:30", "01-02-23 23:05"], "%d-%m-%y %H:%M"),
        (["2024/12/31", "2024/1/2"], "%Y/%m/%d"),
        (["31 Dec 2024", "1 Jan 2023"], "%d %b %Y"),
        (["31.12.2024", "someday"], None),
        (["31/12/2024", "12/31/2024"], None),
        (["99.99.2024"], None),
        (["north", "south"], None),
    ],
)
def test_formats_of_dates(cells, form):
    assert date_format(pd.Series(cells)) == form


@pytest.mark.parametrize(
    ("cells", "slip"),
    [
        (["31.12.2024", "1.2.2024", "2O.2.2024"], 2),
        (["soon", "2024-12-31", "2024-12-30"], 0),
        (["31.12.2024", "1.2.2024", "31.02.2024"], 2),
        (["31.12.2024", "1.2.2024", "2024-12-31"], 2),
        (["01/02/2024", "03/04/2024", "-"], 2),
        (["north", "south", "1.2.2024"], None),
        (["31.12.2024", "soon"], None),
        (["31/12/2024", "12/31/2024"], None),
    ],
)
def test_a_slip_among_dates_is_found(cells, slip):
    assert date_slip(pd.Series(cells)) == slip


def test_days_and_months_that_nothing_tells_apart():
    cells = pd.Series(["01/02/2024", "03/04/2024"])
    with pytest.raises(AmbiguousDatesError):
        date_format(cells)
    assert date_format(cells, day_first=True) == "%d/%m/%Y"
    assert date_format(cells, day_first=False) == "%m/%d/%Y"
    with pytest.raises(DataFileError, match=r"column 'day' holds dates, and '01/02/2024' may be .* --day-first or"):
        plan_preparation(as_table(pd.DataFrame({"day": cells})), standardize=False)


def test_dates_of_every_kind_are_the_same_days():
    days = [datetime.date(2024, 2, 1), datetime.date(1969, 12, 31)]
    columns = [
        (pd.Series(days, dtype=object), "date ISO8601"),
        (pd.to_datetime(pd.Series(days)), "date ISO8601"),
        (pd.Series(["01.02.2024", "31.12.1969"]), "date %d.%m.%Y"),
    ]
    for column, kind in columns:
        plan = plan_preparation(as_table(column.to_frame("day")), standardize=False)
        assert plan.columns == {"day": kind}
        assert as_days(column, kind).tolist() == [19754.0, -1.0]


def test_a_model_keeps_the_format_of_its_dates(rng):
    n = 40
    frame = pd.DataFrame(
        {"day": [f"{i % 28 + 1:02d}/{i % 12 + 1:02d}/2024" for i in range(n)], "x": rng.normal(size=n)}
    )
    model = fit_table(as_table(frame, ["a", "b"] * (n // 2)), Recipe())
    assert model.columns["day"] == "date %d/%m/%Y"
    model.predict(pd.DataFrame({"day": ["01/02/2024", None], "x": [0.0, 1.0]}))  # not ambiguous any more
    with pytest.raises(DataFileError, match=r"row 1, column 'day': '12/31/2024' is no date of the format %d/%m/%Y"):
        model.predict(pd.DataFrame({"day": ["12/31/2024"], "x": [0.0]}))


def test_words_decide_where_numbers_say_nothing(tmp_path, rng):
    n = 60
    words = ["cheap and cheerful thing", "broken on the first day"]
    texts = [f"{words[i % 2]} {rng.integers(1000)}x{i}" for i in range(n)]
    frame = pd.DataFrame({"review": texts, "noise": rng.normal(size=n) * 0.01})
    truth = np.array(["good", "bad"] * (n // 2))
    notes = []
    model = fit_table(
        as_table(frame, np.where(np.arange(n) < 16, truth, None)), Recipe(standardize=False), notes.append
    )
    assert "words become TF-IDF features: review" in notes
    assert (model.predict(frame) == truth).all()
    save(model, tmp_path / "m.hm")
    np.testing.assert_array_equal(load(tmp_path / "m.hm").predict_proba(frame), model.predict_proba(frame))
    assert model.predict(pd.DataFrame({"review": [None], "noise": [0.0]})).shape == (1,)


def test_short_texts_become_words_on_request():
    frame = pd.DataFrame({"name": [f"person {i}" for i in range(30)], "x": np.arange(30) * 0.5})
    assert "name" not in plan_preparation(as_table(frame), standardize=True).columns
    assert plan_preparation(as_table(frame, text=("name",)), standardize=True).columns["name"] == "words"
    with pytest.raises(DataFileError, match="column 'x' has no words of two letters"):
        plan_preparation(as_table(pd.DataFrame({"x": ["a", "b"]}), text=("x",)), standardize=True)


def test_columns_that_count_the_rows_are_noted():
    frame = pd.DataFrame({"number": np.arange(5, 35), "x": np.arange(30) % 7})
    assert (
        "column 'number' counts the rows; --ignore number if that says nothing"
        in plan_preparation(as_table(frame), standardize=True).notes
    )


@pytest.fixture
def embeddings(rng):
    return rng.normal(size=(40, 6)).astype(np.float32)


def by_pyarrow_lists(X, path):
    pa.parquet.write_table(pa.table({"v": list(X), "y": ["a", "b"] * 20}), path)


def by_pyarrow_fixed(X, path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    pa.parquet.write_table(pa.table({"v": lists, "y": ["a", "b"] * 20}), path)


def by_pyarrow_halves(X, path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float16)), X.shape[1])
    pa.feather.write_feather(pa.table({"v": lists, "y": ["a", "b"] * 20}), path)


def polars_frame(X, kind):
    return polars.DataFrame({"v": polars.Series(X.tolist(), dtype=kind), "y": ["a", "b"] * 20})


def by_polars_lists(X, path):
    polars_frame(X, polars.List(polars.Float32)).write_parquet(path)


def by_polars_arrays(X, path):
    polars_frame(X, polars.Array(polars.Float64, X.shape[1])).write_parquet(path)


def by_polars_arrow(X, path):
    polars_frame(X, polars.Array(polars.Float32, X.shape[1])).write_ipc(path)


def by_pandas_csv(X, path):
    write_columns({"v": pd.Series(list(X)).to_numpy(), "y": np.array(["a", "b"] * 20)}, path)


WRITERS = {
    "a.parquet": by_pyarrow_lists,
    "b.parquet": by_pyarrow_fixed,
    "c.feather": by_pyarrow_halves,
    "d.parquet": by_polars_lists,
    "e.parquet": by_polars_arrays,
    "f.arrow": by_polars_arrow,
    "g.csv": by_pandas_csv,
}


@pytest.mark.parametrize("name", WRITERS)
def test_columns_of_lists_are_features(embeddings, tmp_path, name):
    WRITERS[name](embeddings, tmp_path / name)
    table = read_table(tmp_path / name, target="y")
    plan = plan_preparation(table, standardize=False)
    assert plan.columns == {"v": "6 numbers"}
    Z = plan.transformer.fit_transform(typed_features(table, plan.columns))
    np.testing.assert_allclose(Z, embeddings, atol=2e-3 if "feather" in name else 1e-6)
    scaled = plan_preparation(table, standardize=True).transformer.fit_transform(typed_features(table, plan.columns))
    ratio = np.linalg.norm(scaled[0] - scaled[1]) / np.linalg.norm(scaled[2] - scaled[3])
    expected = np.linalg.norm(embeddings[0] - embeddings[1]) / np.linalg.norm(embeddings[2] - embeddings[3])
    assert ratio == pytest.approx(expected, rel=1e-2)  # directions and ratios are kept
    assert scaled.var(axis=0).mean() == pytest.approx(1.0, rel=1e-4)


def test_vectors_beside_other_columns(embeddings, tmp_path):
    frame = pd.DataFrame({"v": list(embeddings), "x": np.arange(40.0) ** 2, "site": ["n", "s"] * 20})
    model = fit_table(as_table(frame, ["a", "b", None, None] * 10), Recipe())
    assert model.facts["features"] == 6 + 1 + 2
    save(model, tmp_path / "m.hm")
    np.testing.assert_array_equal(load(tmp_path / "m.hm").predict_proba(frame), model.predict_proba(frame))


FAULTS = {
    "row 3, column 'v': the cell is empty": lambda rows: rows.__setitem__(2, None),
    "row 3, column 'v': there are 5 numbers, not 6": lambda rows: rows.__setitem__(2, rows[2][:5]),
    "row 3, column 'v': the vector holds a missing or infinite number": lambda rows: rows.__setitem__(
        2, np.full(6, np.nan, dtype=np.float32)
    ),
    "row 3, column 'v': the cell is not a list of numbers": lambda rows: rows.__setitem__(2, ["red", "blue"]),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faulty_vectors_are_refused_with_their_row(embeddings, message):
    rows = list(embeddings)
    FAULTS[message](rows)
    with pytest.raises(DataFileError, match=message):
        plan_preparation(as_table(pd.DataFrame({"v": pd.Series(rows)})), standardize=True)


def test_new_vectors_must_be_of_the_length_of_the_model(embeddings):
    model = fit_table(as_table(pd.DataFrame({"v": list(embeddings)}), ["a", "b"] * 20), Recipe())
    with pytest.raises(DataFileError, match="row 1, column 'v': there are 5 numbers, not 6"):
        model.predict(pd.DataFrame({"v": list(embeddings[:, :5])}))


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8", "g", "<i2"])
def test_arrays_of_any_kind_of_number(tmp_path, rng, dtype):
    X = rng.integers(-9, 9, size=(12, 3)).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X=X, y=np.arange(12) % 2)
    np.save(tmp_path / "y.npy", np.arange(12) % 2)
    whole = read_table(tmp_path / "x.npy", target=str(tmp_path / "y.npy"))
    packed = read_table(tmp_path / "x.npz", target="y")
    np.testing.assert_array_equal(whole.X, X.astype(np.float64))
    np.testing.assert_array_equal(whole.X, packed.X)
    assert whole.X.dtype == {"<f2": np.float16, "<f4": np.float32, ">f4": np.float32, "<i2": np.float32}.get(
        dtype, np.float64
    )
    assert is_on_disk(whole.X)
    assert whole.target.tolist() == packed.target.tolist() == [0, 1] * 6


def test_several_targets_per_row_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(6), y=np.ones((6, 2)))
    with pytest.raises(DataFileError, match="'y' has 2 targets per row, and a model has one"):
        read_table(tmp_path / "x.npz", target="y")


def test_images_in_an_npz_file_are_rows_of_pixels(tmp_path, rng):
    X = rng.random((6, 4, 5, 3))
    for images, shape in ((X, (4, 5, 3)), (X[..., 0], (4, 5, 1))):
        np.savez(tmp_path / "x.npz", X=images, y=np.arange(6) % 2)
        table = read_table(tmp_path / "x.npz", target="y")
        assert table.image_shape == shape
        np.testing.assert_array_equal(table.X, images.reshape(6, -1))
    np.savez(tmp_path / "x.npz", X=X[:0])
    with pytest.raises(DataFileError, match="there are no rows of data"):
        read_table(tmp_path / "x.npz")


def test_numbers_with_a_decimal_comma_are_no_formulas(tmp_path):
    cells = ["-0,609", "+1.234,5", "-,5", "-1,5e3", "-1,2,3", "-1+1,5", "-A1,5"]
    write_columns({"a": np.array(cells, dtype=object)}, tmp_path / "x.csv")
    found = pd.read_csv(tmp_path / "x.csv", dtype=str)["a"].tolist()
    assert found == [*cells[:4], "'-1,2,3", "'-1+1,5", "'-A1,5"]
