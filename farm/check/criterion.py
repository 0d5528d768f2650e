"""One criterion: what of which monitors, on what, has to be how good, and how sure that must be.

::

    MEASURE RELATION BOUND [on SELECTION] [for MONITOR, ...] [at LEVEL %]
    MEASURE not worse than baseline:PATH by MARGIN [on ...] [for ...] [at ...]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from farm.check.measures import GATED, Gated
from farm.check.scanner import KEYWORDS, RELATIONS, Scanner, name_words, number_words, percent_words
from farm.check.selection import EVERYTHING, Condition, Selection, read_selection
from farm.check.sense import LEVEL, problems
from farm.errors import ExperimentError, suggestion

__all__ = ["Condition", "Criterion", "Defaults", "Relation", "Selection", "parse_criterion"]

Relation: TypeAlias = Literal[">=", "<=", ">", "<", "not worse"]


@dataclass(frozen=True)
class Defaults:
    """What holds where a criterion itself does not say."""

    level: float = LEVEL
    monitors: tuple[str, ...] | None = None
    """None stands for all that the run ranks."""


@dataclass(frozen=True)
class Criterion:
    """A criterion that can be met and can fail; anything else is an error as soon as it is made.

    Written out by `str` it is parsed as the same criterion again.

    Examples
    --------
    >>> print(Criterion("", "specific.fpr", None, "<=", 0.05, selection=Selection("id")))
    specific.fpr <= 0.05 on id at 95 %
    """

    text: str = field(compare=False)
    """As it was written."""
    measure: str
    """A name in `GATED`."""
    statistic: str | None
    """Which value of a distribution: `p50` to `p99.9`, `mean`, `max`."""
    relation: Relation
    bound: float | None = None
    baseline: str | None = None
    """The path of a run, or of what was kept of one."""
    margin: float | None = None
    """By how much it may be worse than the baseline."""
    monitors: tuple[str, ...] | None = None
    """None stands for all that the run ranks."""
    selection: Selection = EVERYTHING
    level: float = LEVEL
    """How sure it must be that it is met."""
    place: str = field(default="criterion", compare=False)
    """Where it was written: a file, and its number there."""

    def __post_init__(self) -> None:
        if self.measure not in GATED:
            raise self.error(f"measure '{self.measure}' is not known; {suggestion(self.measure, GATED)}")
        for problem in problems(self):
            raise self.error(problem)

    @property
    def gated(self) -> Gated:
        """What is known of its measure."""
        return GATED[self.measure]

    @property
    def quantity(self) -> str:
        """Its measure, and which value of it."""
        return self.measure if self.statistic is None else f"{self.measure}.{self.statistic}"

    def error(self, problem: str) -> ExperimentError:
        """Make the error that tells of a problem with it, and where it was written."""
        return _error(self.place, self.text or str(self), problem)

    def __str__(self) -> str:
        if self.relation != "not worse":
            asked = f"{self.relation} {number_words(self.bound or 0.0)}"
        else:
            path = name_words(self.baseline or "")
            asked = f"not worse than baseline:{path} by {number_words(self.margin or 0.0)}"
        on = f" on {self.selection}" if str(self.selection) else ""
        of = "" if self.monitors is None else f" for {', '.join(map(name_words, self.monitors))}"
        return f"{self.quantity} {asked}{on}{of} at {percent_words(self.level)}"


NO_DEFAULTS = Defaults()


def parse_criterion(text: str, defaults: Defaults = NO_DEFAULTS, *, place: str = "criterion") -> Criterion:
    """Read a criterion; `place` says where it was written, for errors.

    Examples
    --------
    >>> print(parse_criterion('overall.mcc ≥ 0.4 for oob, odin on faultload:"my fog" severity<=3'))
    overall.mcc >= 0.4 on faultload:"my fog" severity<=3 for oob, odin at 95 %
    >>> parse_criterion("overall.mcc >= 40 %")
    Traceback (most recent call last):
    farm.errors.ExperimentError: criterion 'overall.mcc >= 40 %': the bound is '40 %'; expected a number
        that is not in per cent
    """
    try:
        asked = _read(Scanner(text))
    except ExperimentError as error:
        raise _error(place, text, str(error)) from None
    values: dict[str, Any] = {"level": defaults.level, **asked}
    if GATED[values["measure"]].of_monitors:
        values.setdefault("monitors", defaults.monitors)
    return Criterion(text=text, place=place, **values)


def _read(scanner: Scanner) -> dict[str, Any]:
    """Read what a criterion says; what it leaves out has no key."""
    measure = scanner.take(r"[^\s<>=≤≥]+")
    if measure is None:
        raise ExperimentError(
            f"{scanner.here}; expected a measure first, such as in 'overall.mcc >= 0.4 on category:noise'"
        )
    known, statistic = _measure(measure[0])
    asked: dict[str, Any] = {"measure": known.name, "statistic": statistic}
    if scanner.take(r"not\s+worse\s+than(?=\s|$)"):
        if not scanner.take("baseline:"):
            raise ExperimentError(f"{scanner.here}; expected a baseline, such as baseline:runs/main")
        asked |= {"relation": "not worse", "baseline": scanner.name("a run's folder or a saved baseline")}
    else:
        relation = scanner.relation()
        if relation is None:
            known_ones = ", ".join(dict.fromkeys(RELATIONS.values()))
            raise ExperimentError(f"{scanner.here}; expected {known_ones} or 'not worse than'")
        asked |= {
            "relation": cast(Relation, relation),
            "bound": scanner.number("the bound", share=known.is_share),
        }
    while not scanner.done:
        _read_clause(scanner, asked, known)
    if "baseline" in asked and "margin" not in asked:
        raise ExperimentError("'by' is missing: by how much it may be worse, such as 'by 0.02'")
    return asked


_OF_CLAUSE = {"on": "selection", "for": "monitors", "at": "level", "by": "margin"}


def _read_clause(scanner: Scanner, asked: dict[str, Any], known: Gated) -> None:
    here, word = scanner.here, scanner.keyword()
    if word is None:
        raise ExperimentError(f"{here}; expected {', '.join(map(repr, KEYWORDS[:-1]))} or the end")
    key = _OF_CLAUSE[word]
    if key in asked:
        raise ExperimentError(f"'{word}' stands there twice; expected it once")
    if word == "on":
        asked[key] = read_selection(scanner)
    elif word == "for":
        asked[key] = _names(scanner)
    elif word == "at":
        asked[key] = scanner.number("the level", share=True)
    elif "baseline" in asked:
        asked[key] = scanner.number("the margin", share=known.is_share)
    else:
        raise ExperimentError("'by' belongs to 'not worse than'; leave it out")


def _measure(text: str) -> tuple[Gated, str | None]:
    """Find a measure by its name, and take the statistic off."""
    if text in GATED:
        return GATED[text], None
    name, _, statistic = text.partition(".")
    if name not in GATED or not GATED[name].is_distribution:
        raise ExperimentError(f"measure '{text}' is not known; {suggestion(text, GATED)}")
    return GATED[name], statistic


def _names(scanner: Scanner) -> tuple[str, ...]:
    found = [scanner.name("a monitor")]
    while scanner.take(","):
        found.append(scanner.name("a monitor"))
    return tuple(found)


def _error(place: str, text: str, problem: str) -> ExperimentError:
    return ExperimentError(" ".join(f"{place} '{' '.join(text.split())}': {problem}".split()))
