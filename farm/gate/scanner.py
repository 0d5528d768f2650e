"""Reading a criterion piece by piece, and writing its pieces so that they are read again as they were."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from decimal import Decimal

from farm.errors import ExperimentError

ANYTIME = "anytime"
KEYWORDS = (ANYTIME, "on", "for", "at", "by")
"""What begins a clause, or is one; a name that is one of them stands in quotes."""
RELATIONS = {">=": ">=", "<=": "<=", "≥": ">=", "≤": "<=", ">": ">", "<": "<"}
"""What may be written, and what it is."""

_NUMBER = r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*(%?)(?=[\s,]|$)"
_QUOTED = r'"((?:[^"\\]|\\.)+)"(?=[\s,]|$)'
_BARE = r'([^\s",]+)'
_PLAIN = re.compile(r"[A-Za-z0-9_.~/+-]+")
_WORD = re.compile(r"\S+")


class Scanner:
    """What is left of a text, and what was taken last.

    Examples
    --------
    >>> scanner = Scanner('for "my own" <= 5 %')
    >>> scanner.keyword(), scanner.name("a monitor"), scanner.relation(), scanner.number("it", share=True)
    ('for', 'my own', '<=', 0.05)
    """

    def __init__(self, text: str) -> None:
        self._rest, self._last = text.lstrip(), ""

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return not self._rest

    @property
    def place(self) -> str:
        """Say what stands here, after what."""
        word = _WORD.match(self._rest)
        if not self._last:
            return f"it begins with '{word[0]}'" if word else "it is empty"
        return f"'{word[0]}' after '{self._last}'" if word else f"it ends after '{self._last}'"

    def sees(self, pattern: str) -> bool:
        """Whether something stands here."""
        return re.compile(pattern, re.DOTALL).match(self._rest) is not None

    def take(self, pattern: str) -> re.Match[str] | None:
        """Take what stands here, if it is of that form."""
        match = re.compile(pattern, re.DOTALL).match(self._rest)
        if match is not None:
            self._last = " ".join(match[0].split())
            self._rest = self._rest[match.end() :].lstrip()
        return match

    def keyword(self, known: Collection[str] = KEYWORDS) -> str | None:
        """Take one of these words, if it stands here alone."""
        match = self.take(rf"({'|'.join(known)})(?=\s|$)")
        return match[1] if match else None

    def relation(self) -> str | None:
        """Take a relation between numbers, if there is one."""
        match = self.take("|".join(RELATIONS))
        return RELATIONS[match[0]] if match else None

    def number(self, what: str, *, share: bool = False) -> float:
        """Take a number; one that is a share may be in per cent."""
        match = self.take(_NUMBER)
        if match is None:
            raise ExperimentError(f"{self.place}; expected {what}, a number")
        if match[2] and not share:
            raise ExperimentError(f"{what} is '{self._last}'; expected a number that is not in per cent")
        # Decimal: 7 % of a float is not quite 0.07.
        value = float(Decimal(match[1]) / 100 if match[2] else Decimal(match[1]))
        if not math.isfinite(value):
            raise ExperimentError(f"{what} is '{self._last}'; expected a finite number")
        return value

    def name(self, what: str) -> str:
        """Take a name, as it stands or in double quotes."""
        if match := self.take(_QUOTED):
            return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)
        if match := self.take(_BARE):
            return match[1]
        raise ExperimentError(f"{self.place}; expected {what}, in double quotes where it has spaces")


def name_words(name: str) -> str:
    r"""Write a name, in quotes where it needs them.

    Examples
    --------
    >>> print(name_words("gaussian-noise"), name_words("my fog"), name_words('5" gun'), name_words("at"))
    gaussian-noise "my fog" "5\" gun" "at"
    """
    if _PLAIN.fullmatch(name) and name not in KEYWORDS:
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'


def number_words(value: float) -> str:
    """Write a number with all its digits, and no more.

    Examples
    --------
    >>> number_words(500.0), number_words(0.05), number_words(-1e-07)
    ('500', '0.05', '-1e-07')
    """
    return repr(float(value)).removesuffix(".0")


def exact_percent(share: float) -> str:
    """Write a share in per cent with all its digits.

    Examples
    --------
    >>> exact_percent(0.95), exact_percent(0.9995), exact_percent(0.07)
    ('95 %', '99.95 %', '7 %')
    """
    return f"{(Decimal(repr(float(share))) * 100).normalize():f} %"
