"""A baseline's file: YAML that reads well in a review's diff, checksummed, and replaced by one rename.

One bit an instance stands there as lines of 64 hexadecimal digits, so that one change changes one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import Field

from farm.api.arrays import BoolArray
from farm.api.files import read_text
from farm.config.yaml_reading import parse_yaml
from farm.errors import DataError, ExperimentError
from farm.store.files import SIGNATURE, signed
from farm.store.records import Form, check_record

SCHEMA = 1
DIGITS = 64
"""A line's digits, each of four instances; the first instance is a digit's highest bit."""
_MARK = "# A farm baseline:"
_COMMENT = (
    f"{_MARK} what monitors said of a stream, one bit an instance in its order. "
    "Renew it with `farm baseline save`; edited by hand it is refused.\n"
)
_IN_ONE_LINE = frozenset(("name", "hash", "digest", "value", "low", "high", "no_interval", "undefined"))
_NUMERIC = frozenset("+-.0123456789")
_EXPECTED = "expected a run's folder, or a file that `farm baseline save` wrote"


class BaselineNameForm(Form):
    """What a run noted of its workload or its classifier."""

    name: str | None
    hash: str | None = None
    digest: str | None = None
    engine: str | None = None


class StreamForm(Form):
    """A stream's size, and digests of what is in it."""

    n: int = Field(ge=1)
    n_ood: int = Field(ge=0)
    instances: str
    order: str
    labels: str
    faults: str


class BitsForm(Form):
    """What is kept of one monitor, as lines of digits."""

    alarm: str
    cancelled: str = ""
    decided: str = ""
    right: str = ""


class MeasureForm(Form):
    """A measure as it was when it was saved, for people to read."""

    value: float | None = None
    undefined: str | None = None


class BaselineRunForm(Form):
    """What is kept of one run."""

    workload: BaselineNameForm
    classifier: BaselineNameForm
    stream: StreamForm
    unranked: list[str]
    failed: dict[str, str]
    mistakes: str
    monitors: dict[str, BitsForm]
    measures: dict[str, dict[str, dict[str, MeasureForm]]] = Field(default={})


class BaselineForm(Form):
    """What a baseline's file has to have."""

    runs: dict[str, BaselineRunForm] = Field(min_length=1)


def to_text(runs: Mapping[str, Any]) -> str:
    """Write a baseline's runs as its file has them.

    Examples
    --------
    >>> print(to_text({"small": {"mistakes": "98\\n", "overall.mcc": {"value": 0.5}}}))  # doctest: +ELLIPSIS
    # A farm baseline: ...
    schema: 1
    farm: ...
    runs:
      small:
        mistakes: |
          98
        overall.mcc: {value: 0.5}
    checksum: ...
    <BLANKLINE>
    """
    record = signed({"schema": SCHEMA, "farm": version("farm-testbed"), "runs": runs})
    dumped = yaml.dump(record, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return _COMMENT + str(dumped)


def read_saved(path: Path) -> dict[str, Any]:
    """Read a baseline's file, and check that it is as it was written."""
    text = _text(path)
    try:
        record = parse_yaml(text, str(path))
    except ExperimentError as error:
        hint = "; was a conflict of two versions left in it? Save it anew" if text.startswith(_MARK) else ""
        raise DataError(f"{error}; {_EXPECTED}{hint}") from None
    if not text.startswith(_MARK) or not isinstance(record, dict) or SIGNATURE not in record:
        raise DataError(f"{path} is no baseline; {_EXPECTED}")
    if record.get("schema") != SCHEMA:
        raise DataError(
            f"{path}: schema is {record.get('schema')!r}; expected {SCHEMA}: save the baseline anew"
        )
    try:
        whole = signed(record)[SIGNATURE] == record[SIGNATURE]
    except (TypeError, ValueError):  # what JSON does not know, such as a date or NaN, was never written
        whole = False
    if not whole:
        raise DataError(
            f"{path} was changed by hand or in a merge: its checksum differs from its content; save it anew "
            "with `farm baseline save`"
        )
    check_record(record, BaselineForm, str(path))
    return record


def check_replaceable(path: Path) -> bool:
    """Say whether a baseline is there to be replaced; anything else that is there is an error."""
    if not path.exists():
        return False
    if path.is_dir() or not _text(path).startswith(_MARK):
        raise DataError(f"{path} is there and no baseline, so it is not replaced; choose another --out")
    return True


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        raise DataError(f"{path} is not there; {_EXPECTED}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a baseline ({error}); {_EXPECTED}") from None


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


class _Dumper(yaml.SafeDumper):
    """Bits as lines of their own, a measure in one line, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML gives it
        """Write what stands twice twice: a reader should not have to look it up."""
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Write lines as lines, and keep digests such as 12e34 from being read as numbers."""
        style = "|" if data.endswith("\n") else '"' if data[:1] in _NUMERIC else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def represent_dict(self, data: Any) -> yaml.MappingNode:
        """Write what is short in one line."""
        return self.represent_mapping(
            "tag:yaml.org,2002:map", data, flow_style=bool(data) and data.keys() <= _IN_ONE_LINE
        )


_Dumper.add_representer(str, _Dumper.represent_str)
_Dumper.add_representer(dict, _Dumper.represent_dict)
