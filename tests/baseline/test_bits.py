"""One bit an instance as lines of text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.baseline.bits import from_lines, to_lines
from farm.errors import DataError


def some_bits(fewest, most):
    """Draw so many bits, by bytes and how many bits of the last one are left out."""
    drawn = st.binary(min_size=-(-fewest // 8), max_size=most // 8), st.integers(0, 7)
    return st.builds(_without_last, *drawn)


def _without_last(data, less):
    bits = np.unpackbits(np.frombuffer(data, np.uint8)).astype(bool)
    return bits[: len(bits) - less]


@given(some_bits(8, 2000))
def test_bits_come_back(bits):
    text = to_lines(bits)
    assert from_lines(text, len(bits), "alarms").tolist() == bits.tolist()


@given(some_bits(304, 900), st.data())
def test_one_change_changes_one_line(bits, data):
    other = bits.copy()
    place = data.draw(st.integers(0, len(bits) - 1))
    other[place] = ~other[place]
    before, now = to_lines(bits).splitlines(), to_lines(other).splitlines()
    assert [i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b] == [place // 256]


def test_a_line_has_64_digits_of_four_instances_each_the_first_one_highest():
    lines = to_lines(np.arange(300) == 0).splitlines()
    assert [len(line) for line in lines] == [64, 12]
    assert lines[0] == "8" + "0" * 63


@pytest.mark.parametrize(
    ("text", "n", "told"),
    [
        ("98\n", 9, "alarms: 2 hexadecimal digits; expected 4 for 9 instances"),
        ("9x\n", 6, "alarms: 'x' is no hexadecimal digit"),
        ("99\n", 6, "alarms: bits beyond the 6 instances are set; expected 0 there"),
    ],
)
def test_what_cannot_be_read_is_told(text, n, told):
    with pytest.raises(DataError) as error:
        from_lines(text, n, "alarms")
    assert str(error.value) == told
