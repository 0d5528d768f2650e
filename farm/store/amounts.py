"""Sizes and durations, as people write and read them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from farm.errors import ExperimentError

DURATIONS = {"s": 1, "min": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES_OF_TWO = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def duration(text: str, what: str) -> float:
    """Read a duration in seconds.

    Examples
    --------
    >>> duration("1.5h", "--older-than")
    5400.0
    """
    return _amount(text, what, DURATIONS, "a duration such as 30d, 12h or 90min")


def size(text: str, what: str) -> int:
    """Read a size in bytes.

    Examples
    --------
    >>> size("5GB", "--to"), size("1 KiB", "--to")
    (5000000000, 1024)
    """
    return round(_amount(text, what, SIZES | SIZES_OF_TWO, "a size such as 5GB, 500MB or 0B"))


def age_told(seconds: float) -> str:
    """Tell how long ago something was.

    Examples
    --------
    >>> age_told(30), age_told(3600), age_told(3 * 24 * 3600)
    ('just now', '60 min ago', '3 days ago')
    """
    for unit, name in (("d", "days"), ("h", "hours"), ("min", "min")):
        if seconds >= 2 * DURATIONS[unit] or (unit == "min" and seconds >= DURATIONS[unit]):
            return f"{int(seconds // DURATIONS[unit])} {name} ago"
    return "just now"


def in_words(seconds: float) -> str:
    """Say a time as people do who do not know it exactly.

    Examples
    --------
    >>> in_words(3), in_words(42), in_words(700), in_words(9500), in_words(200_000)
    ('a few seconds', 'about 40 s', 'about 12 min', 'about 2.5 h', 'about 2.5 days')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 85:
        return f"about {round(seconds / 10) * 10} s"
    if seconds < 85 * 60:
        return f"about {round(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"about {round(seconds / 1800) / 2:g} h"
    return f"about {round(seconds / 43200) / 2:g} days"


def in_bytes(nbytes: float) -> str:
    """Say a size.

    Examples
    --------
    >>> in_bytes(900), in_bytes(1_234_567), in_bytes(45_000_000_000)
    ('0.9 kB', '1.2 MB', '45 GB')
    """
    size, units = nbytes / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if size >= 9.95 else f"{size:.1f} {units[0]}"


def _amount(text: str, what: str, units: Mapping[str, float], expected: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text.strip())
    factors = {unit.lower(): factor for unit, factor in units.items()}
    if match is None or match[2].lower() not in factors:
        raise ExperimentError(f"{what} is '{text}'; expected {expected}")
    return float(match[1]) * factors[match[2].lower()]
