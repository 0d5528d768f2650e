"""One criterion: what of which monitors, on what, has to be how good, and how sure that must be.

::

    MEASURE RELATION BOUND [anytime] [on SELECTION] [for MONITOR, ...] [at LEVEL %]
    MEASURE not worse than baseline:PATH by MARGIN [on ...] [for ...] [at ...]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from farm.errors import ExperimentError, suggestion
from farm.gate.measures import GATED, PAIRED, Gated
from farm.gate.scanner import (
    ANYTIME,
    KEYWORDS,
    RELATIONS,
    Scanner,
    exact_percent,
    name_words,
    number_words,
)
from farm.gate.selection import EVERYTHING, Selection, read_selection
from farm.gate.shares import refuses_anytime

Relation: TypeAlias = Literal[">=", "<=", ">", "<", "not worse"]
LEVEL = 0.95
"""How sure it must be that a criterion is met, where nothing is said."""


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
    anytime: bool = False
    """Whether its bounds hold at all moments of the stream together, whoever stops it and why."""
    place: str = field(default="criterion", compare=False)
    """Where it was written: a file, and its number there."""

    def __post_init__(self) -> None:
        if self.measure not in GATED:
            raise self.error(f"measure '{self.measure}' is not known; {suggestion(self.measure, GATED)}")
        for problem in _problems(self):
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
        asked += f" {ANYTIME}" if self.anytime else ""
        on = f" on {self.selection}" if str(self.selection) else ""
        of = "" if self.monitors is None else f" for {', '.join(map(name_words, self.monitors))}"
        return f"{self.quantity} {asked}{on}{of} at {exact_percent(self.level)}"


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
            f"{scanner.place}; expected a measure first, such as in 'overall.mcc >= 0.4 on category:noise'"
        )
    known, statistic = _measure(measure[0])
    asked: dict[str, Any] = {"measure": known.name, "statistic": statistic}
    if scanner.take(r"not\s+worse\s+than(?=\s|$)"):
        if not scanner.take("baseline:"):
            raise ExperimentError(f"{scanner.place}; expected a baseline, such as baseline:runs/main")
        asked |= {"relation": "not worse", "baseline": scanner.name("a run's folder or a saved baseline")}
    else:
        relation = scanner.relation()
        if relation is None:
            known_ones = ", ".join(dict.fromkeys(RELATIONS.values()))
            raise ExperimentError(f"{scanner.place}; expected {known_ones} or 'not worse than'")
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
    place, word = scanner.place, scanner.keyword()
    if word is None:
        raise ExperimentError(f"{place}; expected {', '.join(map(repr, KEYWORDS[:-1]))} or the end")
    key = _OF_CLAUSE.get(word, word)
    if key in asked:
        raise ExperimentError(f"'{word}' stands there twice; expected it once")
    if word == ANYTIME:
        asked[key] = True
    elif word == "on":
        asked[key] = read_selection(scanner)
    elif word == "for":
        monitors = [scanner.name("a monitor")]
        while scanner.take(","):
            monitors.append(scanner.name("a monitor"))
        asked[key] = tuple(monitors)
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


def _error(place: str, text: str, problem: str) -> ExperimentError:
    return ExperimentError(" ".join(f"{place} '{' '.join(text.split())}': {problem}".split()))


def _problems(criterion: Criterion) -> Iterator[str]:
    """Say what is wrong with a criterion whose measure is known, whatever there is to judge by it.

    It makes sense if something would meet it, and something would not.
    """
    gated, side, monitors = criterion.gated, criterion.selection.side, criterion.monitors
    if why := gated.refuses_statistic(criterion.statistic):
        yield why
    yield from _of_bound(criterion) if criterion.baseline is None else _of_margin(criterion)
    if criterion.anytime and (
        why := refuses_anytime(criterion.measure, criterion.quantity, criterion.baseline)
    ):
        yield why
    yield from criterion.selection.problems()
    if why := gated.refuses(side):
        yield f"cannot be judged on {side}: {why}"
    for key in criterion.selection.keys:
        if why := gated.refuses_key(key):
            yield f"{criterion.measure} cannot be judged by {key}: {why}"
    if monitors is not None and gated.kind == "reported":
        yield f"{criterion.measure} is a protocol's, whose parts say which monitor is meant; leave 'for' out"
    elif monitors is not None and not gated.of_monitors:
        yield f"{criterion.measure} is the same whatever the monitor; leave 'for' out"
    if monitors is not None and (why := monitors_problem(monitors)):
        yield why
    if why := level_problem(criterion.level):
        yield why


def level_problem(level: float) -> str | None:
    """Say what is wrong with a level, if anything."""
    if 0.5 <= level < 1:
        return None
    return (
        f"the level is {number_words(level)}; expected at least 50 % and less than 100 %, such as "
        f"{exact_percent(LEVEL)}"
    )


def monitors_problem(monitors: tuple[str, ...]) -> str | None:
    """Say what is wrong with the names of some monitors, if anything."""
    if not monitors or not all(monitors):
        return "no monitor is named; expected at least one"
    twice = next((name for name in monitors if monitors.count(name) > 1), None)
    return None if twice is None else f"monitor '{twice}' is named twice; expected it once"


def _of_bound(criterion: Criterion) -> Iterator[str]:
    known, bound, relation = criterion.gated, criterion.bound, criterion.relation
    if bound is None or criterion.margin is not None or relation == "not worse":
        yield "expected a bound, or a baseline and a margin"
        return
    if not math.isfinite(bound):
        yield f"the bound is {bound}; expected a finite number"
    better, good = ("higher", (">=", ">")) if known.higher_is_better else ("lower", ("<=", "<"))
    if relation not in good:
        yield (
            f"{better} {known.name} is better, and '{relation}' asks for a bad one; expected '{good[0]}' or "
            f"'{good[1]}'"
        )
    sign = 1 if known.higher_is_better else -1
    past_best, past_worst = sign * (bound - known.best), sign * (bound - known.worst)
    range_ = f"{known.name} is from {known.lowest:g} to {known.highest:g}"
    if past_best > 0 or (past_best == 0 and relation in (">", "<")):
        yield f"it can never be met: {range_}"
    elif past_best == 0 and not known.measured:
        yield (
            f"it can never be met: no number of instances shows that {known.name} is {known.best:g} exactly; "
            f"expected a bound {'below' if known.higher_is_better else 'above'} it"
        )
    if past_worst < 0 or (past_worst == 0 and relation in (">=", "<=")):
        yield f"it can never fail: {range_}"


def _of_margin(criterion: Criterion) -> Iterator[str]:
    known, margin = criterion.gated, criterion.margin
    if (
        criterion.relation != "not worse"
        or criterion.bound is not None
        or margin is None
        or not criterion.baseline
    ):
        yield "beside a baseline, expected 'not worse than' it 'by' a margin, and no bound"
        return
    if not known.of_monitors:
        kept = "nothing that a protocol finds" if known.kind == "reported" else "what monitors said"
        yield (
            f"{criterion.quantity} cannot be compared with a baseline, which keeps {kept}; expected a bound"
        )
    elif known.kind not in PAIRED:
        yield (
            f"{criterion.quantity} cannot be compared with a baseline, which keeps alarms and decisions, and "
            "no scores or times; expected a bound"
        )
    elif not margin >= 0:
        yield f"the margin is {number_words(margin)}; expected at least 0: by how much it may be worse"
    elif margin >= known.highest - known.lowest:
        yield (
            f"it can never fail: {known.name} is from {known.lowest:g} to {known.highest:g}, and may be "
            f"worse by {number_words(margin)}"
        )
