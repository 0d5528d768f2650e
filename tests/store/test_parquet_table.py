import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from farm.errors import DataError
from farm.store.parquet_table import ParquetTable
from tests.wording import refused


@pytest.fixture
def table(tmp_path):
    """Write a file and read it."""

    def write(**columns):
        pd.DataFrame(columns).to_parquet(tmp_path / "log.parquet")
        return ParquetTable(tmp_path / "log.parquet")

    return write


def test_columns_are_text_as_in_a_csv_file(table):
    read = table(A=[1.0, None], b=[True, False], c=[" x ", None], d=[0.1, 2.0])
    assert [read.text(name).tolist() for name in read.columns] == [
        ["1", ""],
        ["True", "False"],
        ["x", ""],
        ["0.1", "2.0"],
    ]


def test_numbers_are_exact_whatever_their_type(table):
    values = np.random.default_rng(0).random(100)
    assert np.array_equal(table(a=values).numbers("a"), values)
    np.testing.assert_array_equal(table(a=[3, None], b="x").numbers("a"), [3.0, np.nan])
    assert table(a=["0.5"]).numbers("a").tolist() == [0.5]


@pytest.mark.parametrize("values", [[0.0, np.inf], [0.0, -1.0], ["1", "x"]])
def test_mistakes_name_the_row(table, values):
    with refused(DataError):
        table(a=values).numbers("a", low=0.0)


def test_a_missing_column_and_one_that_is_there_twice(table, tmp_path):
    with refused(DataError):
        table(a=[1]).check_columns(["alarm"], [])
    with refused(DataError):
        table(a=[1], A=[2])
    (tmp_path / "no.parquet").write_text("a,b")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        ParquetTable(tmp_path / "no.parquet")


@pytest.mark.parametrize(
    "values",
    [
        [3, -1, 3, 7],
        [3, 2**40, 3, -(2**40)],
        np.array([100, -100, 127, 3], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3, 7, 7], dtype=np.uint64),
        pd.array([3, None, 3, 7], dtype="Int64"),
        [0.5, np.nan, 2.0, 0.5],
        [True, False, True, True],
        pd.array([True, None, True, False], dtype="boolean"),
        ["b", " a", "a", None],
        pd.Categorical(["x", None, "y", "x"], categories=["unused", "y", "x"]),
        pd.to_datetime(["2026-11-19", "2026-11-20", "2026-11-19", None]),
        [None] * 4,
    ],
)
def test_codes_and_the_texts_that_they_stand_for(table, values):
    read = table(a=values)
    codes, words = read.coded("a")
    assert words.take(pa.array(codes)).to_pylist() == read.text("a").tolist()
    assert sorted(set(codes.tolist())) == list(range(len(words)))
    assert len(set(words.to_pylist())) == len(words)
    missing = pd.Series(values).isna().to_numpy()
    assert [text == "" for text in read.text("a")] == missing.tolist()


def test_yes_and_no_and_what_is_missing(table):
    read = table(a=[True, False], b=pd.array([True, None], dtype="boolean"))
    meanings = {"0": 0, "false": 0, "1": 1, "true": 1}
    assert read.codes("a", meanings, "").tolist() == [1, 0]
    assert read.codes("b", meanings, "", missing=-1).tolist() == [1, -1]


def test_no_number_is_a_missing_one(tmp_path):
    column = pa.array([0.5, float("nan"), None])
    pq.write_table(pa.table({"a": column}), tmp_path / "log.parquet")
    np.testing.assert_array_equal(ParquetTable(tmp_path / "log.parquet").numbers("a"), [0.5, np.nan, np.nan])


def test_codes_of_values_that_are_not_there_are_refused(tmp_path, monkeypatch):
    """As damaged pages have them, which pyarrow reads without a word."""
    pq.write_table(pa.table({"monitor": ["odin", "oob"]}), tmp_path / "log.parquet")
    wild = pa.DictionaryArray.from_arrays(pa.array([0, 127], pa.int32()), ["odin", "oob"], safe=False)
    monkeypatch.setattr(pq, "read_table", lambda *_, **__: pa.table({"monitor": wild}))
    with pytest.raises(DataError, match=r"log\.parquet cannot be read as Parquet .*127"):
        ParquetTable(tmp_path / "log.parquet")


def described(path, pandas_says):
    """Write a table of which pandas says something else than it would."""
    table = pa.table({"monitor": ["odin", "oob"], "alarm": [True, False]})
    pq.write_table(table.replace_schema_metadata({"pandas": pandas_says}), path)
    return path


def test_what_pandas_says_of_a_table_may_be_no_text(tmp_path):
    path = described(tmp_path / "log.parquet", b'{"index_columns": ["\xb0"]}')
    with pytest.raises(DataError, match=r"log\.parquet cannot be read as Parquet .*0xb0"):
        ParquetTable(path)


@pytest.mark.parametrize(
    "says", ["[]", "{}", '{"index_columns": 3}', '{"index_columns": [{"kind": "range"}]}']
)
def test_what_pandas_says_of_a_table_may_be_of_another_form(tmp_path, says):
    assert ParquetTable(described(tmp_path / "log.parquet", says)).columns == ["monitor", "alarm"]
