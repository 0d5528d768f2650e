"""What a threshold promises, how surely, and under which assumption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, TypeAlias

from farm.api.calibration_data import CLASS

Unit: TypeAlias = Literal["instance", "track"]
What: TypeAlias = Literal["false_alarms", "risk", "residual_hazard"]
INSTANCE: Final = "instance"
TRACK: Final = "track"
WORDS: Mapping[What, str] = {
    "false_alarms": "at most {} false alarms",
    "risk": "at most {} of accepted decisions wrong",
    "residual_hazard": "at most {} of decisions wrong and acted upon",
}


@dataclass(frozen=True)
class Promise:
    """One share that is bounded.

    `false_alarms` are of ID instances, `risk` is the share of wrong decisions among those accepted, and
    `residual_hazard` the share of instances whose wrong decision is accepted.

    Examples
    --------
    >>> Promise("false_alarms", 0.05).words
    'at most 5 % false alarms'
    """

    what: What
    at_most: float
    realised_on_validation: float | None = None
    """The share among the units that the threshold was chosen on; with groups, of the worst of them."""

    @property
    def words(self) -> str:
        """What is promised, in plain words."""
        return WORDS[self.what].format(percent(self.at_most))


@dataclass(frozen=True)
class Guarantee:
    """What a threshold promises of instances that are not there yet.

    Examples
    --------
    >>> promised = (Promise("false_alarms", 0.05, 0.031),)
    >>> print(Guarantee(promised, confidence=0.99, n=132, needed=90).sentence)
    at most 5 % false alarms, with 99 % confidence, if instances at work are exchangeable with the 132 of
    validation
    """

    promises: tuple[Promise, ...]
    n: int
    """How many units were used."""
    needed: int
    """The fewest that could have met it, in each group where it is `by` any."""
    confidence: float | None = None
    """The chance that the validation data are such that all promises hold; None where on average."""
    unit: Unit = INSTANCE
    """What is exchangeable."""
    event: Unit = INSTANCE
    """Of tracks: one random instance of each, so that each counts the same, or any false alarm in it."""
    by: str | None = None
    """What it holds within each group of: the predicted `class`, or a condition."""
    seen_in_fit: bool = False
    """Whether the monitor's fit looked at the validation data: then its own scores may flatter it."""

    @property
    def on_average(self) -> bool:
        """Whether it holds on average over validation sets, and not with a confidence in this one."""
        return self.confidence is None

    @property
    def assumption(self) -> str:
        """What must be so for it to hold."""
        plain = f"validation and working data are exchangeable {self.unit}s"
        return (
            f"{plain}, though the monitor's fit looked at the validation data" if self.seen_in_fit else plain
        )

    @property
    def promised(self) -> str:
        """What is promised and how surely, in plain English."""
        if self.event == TRACK:
            (promise,) = self.promises
            said = f"a false alarm in at most {percent(promise.at_most)} of tracks"
        else:
            said = listed([promise.words for promise in self.promises])
            if self.unit == TRACK:
                said += " (each track counts the same)"
        if self.by:
            said += f" within each {'predicted class' if self.by == CLASS else self.by}"
        if self.confidence is None:
            return f"{said}, on average over validation sets"
        return f"{said}, with {percent(self.confidence)} confidence"

    @property
    def sentence(self) -> str:
        """All of it, with what it takes for granted."""
        of = f"{self.unit}s at work are exchangeable with the {self.n:,} of validation"
        but = ", at which the monitor's fit looked, too: that may flatter it" if self.seen_in_fit else ""
        return f"{self.promised}, if {of}{but}"

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "promises": [asdict(promise) for promise in self.promises],
            "on_average": self.on_average,
            "confidence": self.confidence,
            "unit": self.unit,
            "event": self.event,
            "by": self.by,
            "n": self.n,
            "needed": self.needed,
            **({"seen_in_fit": True} if self.seen_in_fit else {}),
            "assumption": self.assumption,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Guarantee:
        """Make it again from what `record` gave; what others wrote beside is left out.

        Examples
        --------
        >>> one = Guarantee((Promise("risk", 0.02, 0.0),), confidence=0.9, n=200, needed=115)
        >>> Guarantee.from_record(one.record()) == one
        True
        """
        names = [f.name for f in fields(cls) if f.name != "promises" and f.name in record]
        told = (Promise(*(one[key] for key in Promise.__match_args__)) for one in record["promises"])
        return cls(tuple(told), **{name: record[name] for name in names})


def listed(words: Sequence[str]) -> str:
    """Join what is said.

    Examples
    --------
    >>> listed(["this"]), listed(["this", "that", "more"])
    ('this', 'this, that and more')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def percent(share: float) -> str:
    """Write a share in per cent, with as many digits as it has.

    Examples
    --------
    >>> percent(0.05), percent(0.999), percent(0.0125)
    ('5 %', '99.9 %', '1.25 %')
    """
    return f"{100 * share:.6g} %"
