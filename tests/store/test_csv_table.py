import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError
from farm.store.csv_table import CsvTable
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


CELLS = [
    "",
    " ",
    "1",
    " 2.5 ",
    "+3",
    "-4e-1",
    ".5",
    "1,5",
    "1_0",
    "0x1f",
    "1e999",
    "nan",
    "inf",
    "NULL",
    "#N/A",
    "-",
]
CELLS += ['"7"', '"a,b"', '"two\nlines"', '"in ""quotes"""', '"', 'a"b"', '"a"b', "1\t", "\ufeff", "\u00a0x"]
CELLS += ["true", "stop", " stop", "ä", "2026-11-19"]


def all_that_is_read(path):
    """Read a file, and return every column as text, as numbers and as codes, or why it is refused."""
    read = []
    try:
        table = CsvTable(path, types={"n": pa.float64(), "s": pa.string(), "t": pa.float64()})
    except DataError as error:
        return str(error)
    for column in table.columns:
        codes, words = table.coded(column)
        assert len(set(words.to_pylist())) == len(words) == len(set(codes.tolist()))
        assert words.take(pa.array(codes)).to_pylist() == table.text(column).tolist()
        try:
            numbers = table.numbers(column).tolist()
        except DataError as error:
            numbers = str(error)
        read.append((column, table.text(column).tolist(), repr(numbers)))
    return read


@given(
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.lists(st.sampled_from(CELLS), min_size=3, max_size=4), min_size=0, max_size=6),
    st.booleans(),
)
def test_what_is_read_at_once_is_what_is_read_row_by_row(tmp_path_factory, delimiter, end, rows, closed):
    path = tmp_path_factory.mktemp("table") / "log.csv"
    lines = [delimiter.join(row) for row in [["n", "s", "t", "few"][: len(rows[0]) if rows else 4], *rows]]
    path.write_bytes((end.join(lines) + end * closed).encode())
    at_once = all_that_is_read(path)
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_):
            raise pa.ArrowInvalid("refused")

        patch.setattr(CsvTable, "_streamed", refuse)
        row_by_row = all_that_is_read(path)
    assert at_once == row_by_row


def test_a_file_of_many_blocks(table):
    rows = [f"{number % 7 if number < 60_000 else 'late'},{number / 8}" for number in range(90_000)]
    read = table("name,value\n" + "\n".join(rows))
    codes, words = read.coded("name")
    assert words.to_pylist() == ["0", "1", "2", "3", "4", "5", "6", "late"]
    assert np.bincount(codes).tolist() == [*[8572] * 3, *[8571] * 4, 30_000]
    assert read.numbers("value").tolist() == [number / 8 for number in range(90_000)]
    with pytest.raises(DataError, match="line 60002, column 'name': 'late'"):
        read.numbers("name")


def test_columns_that_are_not_asked_for_are_read_when_they_are(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,x\n2,y\n")
    read = CsvTable(tmp_path / "log.csv", only=["a"])
    assert read.text("b").tolist() == ["x", "y"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_as_on_any_machine(table, end):
    read = table(end.join([b"a,b", b"1,2", b"", b'"x', b'y",4', b""]))
    assert read.text("b").tolist() == ["2", "4"]
    assert read.text("a").tolist() == ["1", "x\ny"]
    assert [read.line(row) for row in range(2)] == [2, 4]


@pytest.mark.parametrize("blank", [b"\n", b"\n \n\t\n", b"\r\n\r\n"])
def test_blank_lines_may_come_before_the_names_of_columns(table, blank):
    read = table(blank + b"a,b\n1,2\nx,3\n")
    assert read.columns == ["a", "b"]
    with refused(DataError) as told:
        read.codes("a", {"1": 1}, "1")
    assert f"line {3 + blank.count(bytes([10]))}" in str(told.value)
