import numpy as np
import pytest

from farm.csv_table import CsvTable
from farm.errors import DataError
from tests.wording import refused


@pytest.fixture
def table(tmp_path):
    """Write a file and read it."""

    def write(content, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return CsvTable(path)

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_detected(table, delimiter):
    read = table(f"a{delimiter}b\n1{delimiter}2\n")
    assert read.columns == ["a", "b"]
    assert read.text("b").tolist() == ["2"]


def test_one_column_needs_no_delimiter(table):
    assert table("a\n1\n2\n").numbers("a").tolist() == [1.0, 2.0]


def test_spaces_case_line_ends_and_a_spreadsheets_mark_do_not_matter(table):
    read = table(b"\xef\xbb\xbf Alarm , Score\r\n 1 , 0.5 \r\n")
    assert read.columns == ["alarm", "score"]
    assert (read.text("alarm").tolist(), read.numbers("score").tolist()) == (["1"], [0.5])


def test_decimal_comma_where_semicolons_part_the_columns(table):
    assert table("a;b\n0,5;1e-3\n").numbers("a").tolist() == [0.5]
    with refused(DataError):
        table('a,b\n"0,5",1\n').numbers("a")


def test_missing_numbers_are_nan(table):
    values = table("a,b\n,x\n2,x\n").numbers("a")
    np.testing.assert_array_equal(values, [np.nan, 2.0])


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "NaN", "x", "1_0", "0x1", "1 2"])
def test_numbers_are_finite(table, value):
    with refused(DataError):
        table(f"a,b\n1,1\n{value},1\n").numbers("a")


def test_numbers_may_have_a_least_value(table):
    with refused(DataError):
        table("a,b\n-1,0\n").numbers("a", low=0.0)


def test_codes_do_not_care_about_case_and_refuse_the_rest(table):
    read = table("a,b\nTrue,1\nFALSE,\nmaybe,0\n")
    assert read.codes("b", {"0": 0, "1": 1}, "0 or 1", missing=-1).tolist() == [1, -1, 0]
    with refused(DataError):
        read.codes("a", {"true": 1, "false": 0}, "true or false")
    with refused(DataError):
        read.codes("b", {"0": 0, "1": 1}, "0 or 1")


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,1\nx,1\n",
        "a,b\n\n1,1\n\n  \nx,1\n",
        'a,b\n1,"two\nlines"\nx,1\n',
        'a,b\n1,1\nx,"two\nlines"\n',
        "a,b\r\n1,1\r\nx,1\r\n",
        ",".join(["a", "b"]) + "\n" + "1,1\n" * 5000 + "x,1",
    ],
)
def test_line_numbers_are_those_of_an_editor(table, content):
    with refused(DataError):
        table(content).numbers("a")


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n\n",
        "a,b\n",
        "a,b\n\n  \n",
        "a,,c\n1,2,3\n",
        "a,b,A\n1,2,3\n",
        "a,b\n1,2\n1,2,3\n",
        "a,b\n1,2,3\n1,2,3\n",
        'a,b\n1,"2\n',
        b"a,b\n1,caf\xe9\n",
        "a,b\n1,2\n".encode("utf-16"),
    ],
)
def test_files_that_are_no_tables(table, content):
    with refused(DataError):
        table(content)


def test_no_file(tmp_path):
    with refused(DataError):
        CsvTable(tmp_path / "none.csv")


def test_a_folder(tmp_path):
    with refused(DataError):
        CsvTable(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "log.csv").write_text("a\n1\n")
    with refused(DataError):
        CsvTable(tmp_path / "log.csv" / "log.csv")


def test_columns_are_checked(table):
    read = table("alarm,extra\n1,2\n")
    assert read.check_columns(("alarm",), ("label",)) == ["extra"]
    with refused(DataError):
        read.check_columns(("alarm", "predicted"), ("label",))


def test_a_column_that_is_nearly_known_is_a_mistake(table):
    read = table("alarm,lable\n1,2\n")
    with refused(DataError):
        read.check_columns(("alarm",), ("label",))
