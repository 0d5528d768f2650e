"""One bit an instance as text: lines of 64 hexadecimal digits, so that one change changes one line."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray
from farm.errors import DataError

DIGITS = 64
"""A line's digits, each of four instances; the first instance is a digit's highest bit."""


def to_lines(bits: BoolArray) -> str:
    """Write bits as lines; what is missing of the last byte is filled with 0.

    Examples
    --------
    >>> to_lines(np.array([True, False, False, True, True, False]))
    '98\\n'
    """
    digits = np.packbits(bits).tobytes().hex()
    return "".join(f"{digits[at : at + DIGITS]}\n" for at in range(0, len(digits), DIGITS))


def from_lines(text: str, n: int, what: str) -> BoolArray:
    """Read the bits of `n` instances; `what` they are is told where they cannot be read.

    Examples
    --------
    >>> from_lines("98\\n", 6, "alarms of odin").tolist()
    [True, False, False, True, True, False]
    """
    digits = "".join(text.split())
    needed = 2 * ((n + 7) // 8)
    if len(digits) != needed:
        raise DataError(f"{what}: {len(digits)} hexadecimal digits; expected {needed} for {n} instances")
    try:
        octets = bytes.fromhex(digits)
    except ValueError:
        wrong = next(digit for digit in digits if digit not in "0123456789abcdefABCDEF")
        raise DataError(f"{what}: '{wrong}' is no hexadecimal digit") from None
    bits = np.unpackbits(np.frombuffer(octets, np.uint8)).astype(np.bool_)
    if bits[n:].any():
        raise DataError(f"{what}: bits beyond the {n} instances are set; expected 0 there")
    return bits[:n]
