"""Rules that set a threshold with a guarantee, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farm.api.guarantees import bounded, conformal, risk, several
from farm.api.guarantees.found import Found


@dataclass(frozen=True)
class Method:
    """A rule: what it must be told, what it may be told beside, and what it does."""

    find: Callable[..., Found]
    """From `CalibrationData`, and by their names what it is told, to the threshold and what is promised."""
    fewest: Callable[..., int]
    """From the shares and the confidence, by their names, to how few units could do."""
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    """Of what it may be told, one at least it must be."""


GUARANTEES: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "conformal": Method(conformal.conformal, conformal.fewest, ("accept",), ("by",)),
        "bounded": Method(bounded.bounded, bounded.fewest, ("accept", "confidence"), ("event",)),
        "risk": Method(risk.selective, risk.fewest, ("risk", "confidence")),
        several.METHOD: Method(
            several.several,
            several.fewest,
            ("accept", "confidence"),
            ("risk", "hazard"),
            one_of=("risk", "hazard"),
        ),
    }
)
"""By the name that `calibration.method` has."""
