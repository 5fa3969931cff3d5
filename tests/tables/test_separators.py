"""Separators and decimal commas are found, and nothing else is changed."""

import numpy as np
import pytest

from halfmoon.exceptions import DataFileError
from halfmoon.tables import Recipe, fit_table, read_columns, read_table
from halfmoon.tables._separators import find_dialect

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.csv"):
        (tmp_path / name).write_text(text, newline="", encoding="utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b,c\n1,2,3\n", ","),
        ("a;b;c\n1,5;2,5;x\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("sep=;\r\na;b\r\n1;2\r\n", ";"),
        ('a,b\n"x; y; z",2\n', ","),
        ('text;n\n"one, two";1\n"three";2\n', ";"),
        ("size, cm;price;y\n1,5;2;x\n2,5;3;y\n", ";"),  # a comma in every line, but fewer cells
        ("a\n1\n2\n", ","),
        ("a,b\n1,2\n3\n", ","),  # a line too short: that of the suffix, and an error names the line
    ],
)
def test_separators(write, text, separator):
    assert find_dialect(write(text), ",").separator == separator


def test_decimal_commas_and_groups_of_thousands(write):
    table = read_table(write("a;b;c;d;y\n1,5;1.234;007;01.02.2024;2,5\n-0,25;12.500,75;008;03.04.2024;\n"), target="y")
    assert table.X["a"].astype(float).tolist() == [1.5, -0.25]
    assert table.X["b"].astype(float).tolist() == [1234.0, 12500.75]
    assert table.X["d"].tolist() == ["01.02.2024", "03.04.2024"]  # no number
    assert float(table.target[0]) == 2.5
    assert table.notes == ["cells are separated by ';'", "numbers are read with a decimal comma"]


def test_points_stay_points_where_no_comma_says_otherwise(write):
    table = read_table(write("a;b\n1.234;x\n2.5;y\n"))
    assert table.X["a"].tolist() == [1.234, 2.5]
    assert read_table(write('a,b\n"1,234.5",x\n"12",y\n')).X["a"].astype(float).tolist() == [1234.5, 12.0]


def test_texts_keep_their_commas(write):
    table = read_table(write("size;code;y\n1,5;1,0;a\n2,5;2,0;b\n"), target="y", categorical=["code"])
    assert table.X["code"].tolist() == ["1,0", "2,0"]
    assert read_columns(write("id;x\n007;1,50\n"), ["id", "x"]) == {"id": ["007"], "x": ["1,50"]}


def test_a_model_reads_files_written_either_way(write, rng):
    values = rng.normal(size=30) + 4.0 * (np.arange(30) % 2)
    english = "size,y\n" + "\n".join(f"{v:.4f},{'ab'[i % 2]}" for i, v in enumerate(values))
    model = fit_table(read_table(write(english), target="y"), Recipe())
    european = "size;more\n" + "\n".join(f"{v:.4f};1".replace(".", ",") for v in values)
    expected = model.predict(model.read(write(english))).tolist()
    assert model.predict(model.read(write(european))).tolist() == expected
    odd = "size~more\n" + "\n".join(f"{v:.4f}~1" for v in values)
    assert model.predict(model.read(write(odd), separator="~")).tolist() == expected


def test_a_separator_may_be_named(write):
    assert read_table(write("a b\n1 2\n"), separator="space").X.shape == (1, 2)
    with pytest.raises(DataFileError, match=r"line 2 has 1 cells and the header has 2\. The separator is ' '"):
        read_table(write("a b\n1;2\n"), separator="space")


def test_a_slip_among_decimal_commas_leaves_the_other_cells_numbers(write):
    frame = read_table(write("a;b\n1,5;x\n2.000,5;y\n12,x;x\n;y\n")).X
    assert frame["a"].tolist()[:3] == ["1.5", "2000.5", "12,x"]


@pytest.mark.parametrize("mark", ["n/a", "N/A", "#N/A", "NA", "NaN", "nan", "NULL", "null", "?", ""])
def test_marks_of_missing_values(write, mark):
    frame = read_table(write(f"a;b\n1,5;x\n{mark};y\n2,5;x\n")).X
    assert frame["a"].isna().tolist() == [False, True, False]
