"""Text files: lines become rows, and cells keep their text where it counts."""

import numpy as np
import pandas as pd
import pytest

from halfmoon.exceptions import DataFileError, UnseenCategoryWarning
from halfmoon.tables import Recipe, fit_table, labeled_rows, read_table

# Categories make clusters, and the graph may fall apart; that is not the subject.
pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def write(tmp_path):
    """Write text to a CSV file and return its path."""

    def write(text):
        (tmp_path / "t.csv").write_text(text, newline="")
        return tmp_path / "t.csv"

    return write


def test_text_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff,a,"b\nc"\r\n0,1,"x, ""y"""\r\n\r\n1,?,\r\n'.encode())
    table = read_table(path, target="b\nc")
    assert list(table.X) == ["a"]
    assert table.notes == ["the column without a name is left out"]
    assert table.target[0] == 'x, "y"'
    assert [table.row(i) for i in (0, 1)] == ["line 3", "line 5"]
    assert np.isnan(table.X["a"][1])


def codes_table(codes, rng):
    """Three categories that determine the class, beside a number that says nothing."""
    rows = [f"{codes[i % 3]},{rng.normal():.6f},{'abc'[i % 3]}" for i in range(45)]
    return "code,x,y\n" + "\n".join(rows)


def test_numbers_that_are_names_keep_their_text(write, rng):
    """An empty cell makes floats of a column of whole numbers; "10" must not become "10.0"."""
    model = fit_table(
        read_table(write(codes_table(["0", "10", "20"], rng)), target="y", categorical=["code"]), Recipe()
    )
    path = write("code,x\n0,0\n10,0\n,0\n20,0\n")
    with pytest.warns(UnseenCategoryWarning, match=r"'code': 1 of 4 cells .* as '\(missing\)' in line 4"):
        predicted = model.predict(model.read(path))
    assert predicted[[0, 1, 3]].tolist() == ["a", "b", "c"]
    frame = pd.DataFrame({"code": [0.0, 10.0, np.nan, 20.0], "x": 0.0})
    with pytest.warns(UnseenCategoryWarning):
        assert model.predict(frame).tolist() == predicted.tolist()


def test_texts_that_look_like_numbers_keep_their_zeros(write, rng):
    model = fit_table(read_table(write(codes_table(["007", "B1", "A9"], rng)), target="y"), Recipe())
    assert model.predict(model.read(write("code,x\n007,0\n007,0.1\n"))).tolist() == ["a", "a"]  # and no warning
    with pytest.warns(UnseenCategoryWarning, match="column 'code': 2 of 3 cells hold .* not seen, as '7' in line 2"):
        model.predict(model.read(write("code,x\n7,0\n007,0\n8,0\n")))


def test_only_the_documented_words_are_missing(write):
    table = read_table(write("a,y\nNA,NA\nNaN,NaN\n?,?\n,\nNone,None\nnone,none\n-,-\nk.A.,k.A.\n"), target="y")
    assert labeled_rows(table).tolist() == table.X["a"].notna().tolist() == [False] * 4 + [True] * 4
    assert table.target[4:].tolist() == ["None", "none", "-", "k.A."]


def test_a_first_line_of_numbers_is_no_header(write, rng):
    with pytest.raises(DataFileError, match=r"the first line holds numbers\. Add a line above it"):
        read_table(write("5.1,3.5\n4.9,3\n"))
    rows = "\n".join(f"{i % 2 + 0.1 * rng.normal()},{i},{'ab'[i % 2]}" for i in range(20))
    model = fit_table(read_table(write(f"0,1,y\n{rows}\n"), target="y"), Recipe())
    assert len(model.read(write("0,1\n1,2\n")).X) == 1  # names that the model knows
    with pytest.raises(DataFileError, match="the first line holds numbers"):
        model.read(write("0.5,1\n1,2\n"))


def test_every_line_of_a_single_column_is_a_row(write):
    table = read_table(write('\n\na\n1\n\n2\n""\nbad\n'))
    assert table.X["a"].isna().tolist() == [False, True, False, True, False]
    assert [table.row(i) for i in range(5)] == [f"line {number}" for number in range(4, 9)]


def test_a_quoted_blank_line_is_not_skipped_in_silence(write):
    with pytest.raises(DataFileError, match="line 3 has 1 cells and the header has 2"):
        read_table(write('a,b\n1,2\n""\n3,4\n'))
    with pytest.raises(DataFileError, match="there are 3 rows on 2 lines"):
        read_table(write('a,b\n1,2\n" "\n3,4\n'))


@pytest.mark.parametrize("text", ["\n\n", "\ufeff", "  \n"])
def test_files_without_text_are_empty(write, text):
    with pytest.raises(DataFileError, match=r"t.csv: the file is empty\."):
        read_table(write(text))
