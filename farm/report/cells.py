"""What stands in one cell of a table: a number as a person reads it, or a dash and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A text, in some cells a second one below it, and the number of a footnote."""

    text: str
    below: str = ""
    note: int | None = None


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
        """Give a reason's number."""
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


def value_cell(path: str, write: Callable[[float], str]) -> Callable[[Mapping[str, Any], Notes], Cell]:
    """Make a writer of the cell that shows one field."""

    def cell(record: Mapping[str, Any], notes: Notes) -> Cell:
        value, reason = look_up(record, path)
        return Cell(write(value)) if value is not None else Cell(DASH, note=notes.number(reason))

    return cell


def error_cell(task: str) -> Callable[[Mapping[str, Any], Notes], Cell]:
    """Make a writer of an error with its interval below."""

    def cell(record: Mapping[str, Any], notes: Notes) -> Cell:
        error, reason = look_up(record, f"{task}.error")
        if error is None:
            return Cell(DASH, note=notes.number(reason))
        low, high = record[task]["wilson_low"], record[task]["wilson_high"]
        # Where the interval itself is small one digit would hide it.
        digits = 1 if high >= 0.01 else 2
        return Cell(percent(error, digits), f"{100 * low:.{digits}f}{DASH}{100 * high:.{digits}f}")

    return cell


def latency_cell(record: Mapping[str, Any], notes: Notes) -> Cell:
    """Write the median time that a monitor adds; below, in per cent of the classifier's."""
    own, reason = look_up(record, "monitor_time_us.median")
    if own is None:
        return Cell(DASH, note=notes.number(reason))
    classifier, _ = look_up(record, "classifier_time_us.median")
    if not classifier:
        return Cell(duration(own))
    share = 100 * own / classifier
    return Cell(duration(own), f"+{share:.0f} %" if share >= 1 else "<1 %")


def acceptance_cell(record: Mapping[str, Any], notes: Notes) -> Cell:
    """Write the share of ID instances to be accepted; below, the share that was."""
    asked, _ = look_up(record, "asked_acceptance")
    realised, reason = look_up(record, "realised_acceptance")
    if realised is None:
        return Cell(DASH, note=notes.number(reason))
    return Cell(DASH if asked is None else percent(asked), f"→ {percent(realised)}")


def _written(value: float, end: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    step = 10.0**-digits
    sign = "-" if value < 0 else ""
    if value and float(text) == 0.0:
        return f"{'>' if sign else '<'}{sign}{step:.{digits}f}"
    if abs(value) < end and float(text) == end:
        return f"{'<' if sign else '>'}{sign}{end - step:.{digits}f}"
    return sign + text
