"""What stands in one cell of a table: a number as a person reads it, or a dash and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class TableCell:
    """A text, in some cells a second one below it, the number of a footnote, and the value that it writes."""

    text: str
    below: str = ""
    note: int | None = None
    value: float | None = field(default=None, compare=False)


class Notes:
    """Footnotes, each reason once.

    Examples
    --------
    >>> notes = Notes()
    >>> notes.number("no instances"), notes.number("not given"), notes.number("no instances")
    (1, 2, 1)
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, reason: str) -> int:
        """Return a reason's number."""
        return self._numbers.setdefault(reason, len(self._numbers) + 1)

    @property
    def texts(self) -> list[str]:
        """The reasons, the first being number 1."""
        return list(self._numbers)


def look_up(record: Mapping[str, Any], path: str) -> tuple[float | None, str]:
    """Find a field such as `specific.mcc`: its value, or None and the reason.

    Examples
    --------
    >>> look_up({"specific": None, "undefined": {"specific": "is_ood was not given"}}, "specific.mcc")
    (None, 'is_ood was not given')
    """
    name, _, inner = path.partition(".")
    value = record.get(name)
    if value is None:
        return None, record["undefined"].get(name, "not given")
    return look_up(value, inner) if inner else (value, "")


def number(value: float, digits: int = 2) -> str:
    """Write a number so that only 0 and 1 themselves look like it.

    Examples
    --------
    >>> number(0.25), number(1.0), number(0.9997), number(0.001), number(-0.001), number(-0.9999)
    ('0.25', '1.00', '>0.99', '<0.01', '>-0.01', '<-0.99')
    """
    return _written(value, 1.0, digits)


def percent(share: float, digits: int = 1) -> str:
    """Write a share in per cent, without the sign.

    Examples
    --------
    >>> percent(0.1234), percent(0.0002), percent(0.9999), percent(1.0)
    ('12.3', '<0.1', '>99.9', '100.0')
    """
    return _written(100 * share, 100.0, digits)


def duration(microseconds: float) -> str:
    """Write a time with the unit that keeps it short.

    Examples
    --------
    >>> duration(3.21), duration(123.4), duration(45678.0)
    ('3.2 µs', '123 µs', '45.7 ms')
    """
    if microseconds >= 1000:
        return f"{microseconds / 1000:.1f} ms"
    return f"{microseconds:.1f} µs" if microseconds < 10 else f"{microseconds:.0f} µs"


def interval(low: float, high: float, digits: int = 2) -> str:
    """Write the ends of an interval; a dash beside a minus would be hard to read.

    Examples
    --------
    >>> interval(0.17, 0.26), interval(-0.02, 0.09)
    ('0.17–0.26', '-0.02 to 0.09')
    """
    return f"{low:.{digits}f}{' to ' if low < 0 else DASH}{high:.{digits}f}"


def bounded_percent(share: float, low: float, high: float) -> tuple[str, str]:
    """Write a share in per cent, and its interval.

    Examples
    --------
    >>> bounded_percent(0.0004, 0.0, 0.016), bounded_percent(0.0004, 0.0, 0.002)
    (('<0.1', '0.0–1.6'), ('0.04', '0.00–0.20'))
    """
    # Where the interval itself is small one digit would hide it.
    digits = 1 if high >= 0.01 else 2
    return percent(share, digits), interval(100 * low, 100 * high, digits)


def value_cell(path: str, write: Callable[[float], str]) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of the cell that shows one field."""

    def cell(record: Mapping[str, Any], notes: Notes) -> TableCell:
        value, reason = look_up(record, path)
        return (
            TableCell(write(value), value=value)
            if value is not None
            else TableCell(DASH, note=notes.number(reason))
        )

    return cell


def interval_cell(value: str, low: str, high: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of a share with its interval below; the three are fields."""

    return _bounded_cell((value, low, high), percent, bounded_percent)


def rate_cell(path: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of a rate such as `specific.fpr` with its interval below."""
    return interval_cell(path, f"{path}_low", f"{path}_high")


def mcc_cell(task: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of a task's MCC with its interval below."""

    def write(found: float, least: float, most: float) -> tuple[str, str]:
        return number(found), interval(least, most)

    fields = f"{task}.mcc", f"{task}.mcc_low", f"{task}.mcc_high"
    return _bounded_cell(fields, number, write)


def _bounded_cell(
    fields: tuple[str, str, str],
    alone: Callable[[float], str],
    write: Callable[[float, float, float], tuple[str, str]],
) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    def cell(record: Mapping[str, Any], notes: Notes) -> TableCell:
        found, reason = look_up(record, fields[0])
        if found is None:
            return TableCell(DASH, note=notes.number(reason))
        (least, why), (most, _) = look_up(record, fields[1]), look_up(record, fields[2])
        if least is None or most is None:
            return TableCell(alone(found), note=notes.number(why), value=found)
        return TableCell(*write(found, least, most), value=found)

    return cell


def latency_cell(record: Mapping[str, Any], notes: Notes) -> TableCell:
    """Write the median time that a monitor adds; below, in per cent of the classifier's."""
    own, reason = look_up(record, "monitor_time_us.median")
    if own is None:
        return TableCell(DASH, note=notes.number(reason))
    classifier, _ = look_up(record, "classifier_time_us.median")
    if not classifier:
        return TableCell(duration(own), value=own)
    share = 100 * own / classifier
    return TableCell(duration(own), f"+{share:.0f} %" if share >= 1 else "<1 %", value=own)


def acceptance_cell(record: Mapping[str, Any], notes: Notes) -> TableCell:
    """Write the share of ID instances to be accepted; below, the share that was."""
    asked, _ = look_up(record, "asked_acceptance")
    realised, reason = look_up(record, "realised_acceptance")
    if realised is None:
        return TableCell(DASH, note=notes.number(reason))
    return TableCell(DASH if asked is None else percent(asked), f"→ {percent(realised)}", value=realised)


def _written(value: float, end: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    step = 10.0**-digits
    sign = "-" if value < 0 else ""
    if value and float(text) == 0.0:
        return f"{'>' if sign else '<'}{sign}{step:.{digits}f}"
    if abs(value) < end and float(text) == end:
        return f"{'<' if sign else '>'}{sign}{end - step:.{digits}f}"
    return sign + text


def markup_free(text: str) -> str:
    r"""Keep names and marks from becoming markup in Markdown.

    Examples
    --------
    >>> print(markup_free("oob_pca | <b>"))
    oob\_pca \| \<b\>
    """
    return re.sub(r"([\\|*_`<>#])", r"\\\1", text)


FORMULA = r"^([=+\-@\t\r])"
"""How a cell begins that a spreadsheet would compute."""


def csv_cell(value: Any) -> Any:
    """Return a value for CSV: text that a spreadsheet would compute has an apostrophe before it.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("fog"), csv_cell(-1.5)
    ("'=1+1", 'fog', -1.5)
    """
    return re.sub(FORMULA, r"'\1", value) if isinstance(value, str) else value
