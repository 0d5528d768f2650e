"""`assert_monitor`: what a test expects of a monitor, in a sentence, judged as the gate judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from farm.api import check_number
from farm.errors import ExperimentError, UnknownNameError, suggestion
from farm.gate.criteria_file import CriteriaFile
from farm.gate.criterion import LEVEL, Criterion, Relation
from farm.gate.measures import OF_RUNS, SIDES
from farm.gate.scanner import Scanner
from farm.gate.selection import IS, Condition, Selection, read_selection
from farm.store.readouts import Readouts
from farm.testing.benchmark import Asked, benchmark_here, made, running_test
from farm.testing.failures import failures, with_summary

STATISTICS = ("p50", "p95", "p99", "p99_9", "mean", "max")
"""What is offered of a distribution; other quantiles go by the same pattern."""

FEW = 4
"""So many of the words that may follow are told."""

KEYS = ("category", "faultload")
"""What a single word may name."""


def assert_monitor(monitor: Asked) -> MonitorAssertion:
    """Begin to say what is expected of a monitor.

    It is run on the benchmark of the test's fixtures; outside of pytest on the embedded one. What is expected
    holds only where the confidence bound says so: the same number passes or fails as in `farm check`. A test
    of pytest that begins a sentence and never says how good it must be fails at its end.

    Parameters
    ----------
    monitor
        A monitor, its class, its name, or a mapping with its name and parameters.

    Examples
    --------
    In a test: `assert_monitor(MyMonitor(tau=0.5)).on("novelty").overall.mcc.at_least(0.4)`.

    >>> assert_monitor("never").on("novelty").overall.mcq
    Traceback (most recent call last):
    AttributeError: measure 'overall.mcq' is not known; did you mean 'overall.mcc'?
    """
    return _begun(MonitorAssertion(monitor))


@dataclass(frozen=True)
class MonitorAssertion:
    """A sentence about a monitor, so far; every word gives a longer one, and leaves this one as it is.

    Measures are attributes by their names in criteria: `overall.mcc`, `specific.fpr`, `auroc`,
    `residual_hazard`, `monitor_time_us.p99`.
    """

    asked: Asked
    places: tuple[str, ...] = ()
    measure: str = ""
    confidence: float = LEVEL
    readouts: Readouts | None = field(default=None, repr=False)
    shorter: MonitorAssertion | None = field(default=None, repr=False, compare=False)
    """What it was before its last word."""

    def on(self, *places: str) -> MonitorAssertion:
        """Say where: a category, a faultload, or as in criteria (`id`, `faultload:fog severity<=3`).

        Of several places it has to hold on each by itself. Without any it is about all faults together.
        """
        return self._longer(places=(*self.places, *places))

    def level(self, confidence: float) -> MonitorAssertion:
        """Say how sure it must be; 0.95 without."""
        return self._longer(confidence=confidence)

    def using(self, run: Readouts) -> MonitorAssertion:
        """Judge a run that is there already, by the monitor's name in it."""
        return self._longer(readouts=run)

    def at_least(self, bound: float) -> None:
        """Fail unless the measure surely reaches a bound."""
        __tracebackhide__ = True
        self._hold("at_least", ">=", bound)

    def at_most(self, bound: float) -> None:
        """Fail unless the measure surely stays below a bound."""
        __tracebackhide__ = True
        self._hold("at_most", "<=", bound)

    def __getattr__(self, name: str) -> MonitorAssertion:
        """Choose a measure, word by word."""
        said = self.measure
        longer = f"{said}.{name}" if said else name
        if said in OF_RUNS:
            statistic = name.replace("_", ".")
            if OF_RUNS[said].is_distribution and OF_RUNS[said].has_statistic(statistic):
                return self._longer(measure=f"{said}.{statistic}")
        elif longer in OF_RUNS or any(known.startswith(f"{longer}.") for known in OF_RUNS):
            return self._longer(measure=longer)
        if not name.startswith("_"):  # an error is an answer; what only looks for special methods gets none
            self._answered()
        if said in OF_RUNS and not OF_RUNS[said].is_distribution:
            raise AttributeError(f"'{said}' is a whole measure; expected at_least or at_most, not '{name}'")
        known = OF_RUNS if said not in OF_RUNS else [f"{said}.{word}" for word in STATISTICS]
        raise AttributeError(f"measure '{longer}' is not known; {suggestion(longer, known)}")

    def __dir__(self) -> list[str]:
        """Offer the next words."""
        return [*super().__dir__(), *_next_words(self.measure)]

    def __str__(self) -> str:
        """Say it as it was written, but for how sure it must be."""
        on = f".on({', '.join(map(repr, self.places))})" if self.places else ""
        return f"assert_monitor({_name(self.asked)}){on}{f'.{self.measure}' if self.measure else ''}"

    @property
    def missing(self) -> str:
        """Say what has to follow before anything is asserted."""
        measure = self.measure if self.measure in OF_RUNS else self.measure.rpartition(".")[0]
        known = OF_RUNS.get(measure)
        if known is None or (known.is_distribution and measure == self.measure):
            words = [f".{word}" for word in _next_words(self.measure)]
            some = ", ".join([*words[:FEW], *(["..."] if len(words) > FEW else [])])
            return f"a measure ({some}) and .at_least(...) or .at_most(...)"
        return ".at_least(...)" if known.higher_is_better else ".at_most(...)"

    def _longer(self, **words: Any) -> MonitorAssertion:
        return _begun(replace(self, shorter=self, **words))

    def _answered(self) -> None:
        """Forget what has come to its end, and all that it was before."""
        still_open = _open_sentences()
        last: MonitorAssertion | None = self
        while last is not None:
            still_open[:] = [one for one in still_open if one is not last]
            last = last.shorter

    def _hold(self, word: str, relation: Relation, bound: float) -> None:
        __tracebackhide__ = True
        self._answered()
        check_number(word, bound)
        measure, statistic = self._quantity()
        asked = Criterion(
            text="",
            measure=measure,
            statistic=statistic,
            relation=relation,
            bound=float(bound),
            level=self.confidence,
            place="assert_monitor",
        )
        run, name = self._run()
        selections = [_selection(place, run) for place in self.places] or [Selection()]
        criteria = [replace(asked, selection=selection) for selection in selections]
        monitors = (name,) if asked.gated.of_monitors else None
        named = tuple(replace(one, text=str(one), monitors=monitors) for one in criteria)
        if found := failures(run, CriteriaFile(named, Path("assert_monitor")), benchmark_here):
            raise with_summary(AssertionError("\n\n".join(found)), found)

    def _quantity(self) -> tuple[str, str | None]:
        """Take measure and statistic apart; both have to be said."""
        if self.measure in OF_RUNS:
            return self.measure, None
        measure, _, statistic = self.measure.partition(".")
        if measure in OF_RUNS:
            return measure, statistic
        known = ", ".join(_next_words(self.measure))
        what = f"of '{self.measure}' " if self.measure else ""
        raise ExperimentError(f"assert_monitor: no measure {what}is named; expected one of {known}")

    def _run(self) -> tuple[Readouts, str]:
        """Return the readouts to judge, and what the monitor is called in them."""
        if self.readouts is None:
            run = benchmark_here().run(self.asked)
            return run, str(run.run["monitors"][0]["name"])
        there = {str(note["name"]) for note in self.readouts.run.get("monitors") or ()}
        heard = isinstance(self.asked, str) and self.asked in there.union(self.readouts.alarms["monitor"])
        return self.readouts, str(self.asked) if heard else made(self.asked).monitor.name


def unanswered(open_sentences: Sequence[MonitorAssertion]) -> str:
    """Say in a line what was begun, and what has to follow; of each beginning only as far as it got."""
    longest = [one for one in open_sentences if not any(each.shorter is one for each in open_sentences)]
    told = "; ".join(f"{one} asserts nothing as yet: expected {one.missing} to follow" for one in longest[:3])
    return told + (f"; and {len(longest) - 3} more" if len(longest) > 3 else "")


def _begun(said: MonitorAssertion) -> MonitorAssertion:
    """Remember what the test that runs has begun to say; return it."""
    _open_sentences().append(said)
    return said


def _open_sentences() -> list[MonitorAssertion]:
    """Return what the test that runs has begun to say and not said yet; outside of any, a list for nobody."""
    if (item := running_test()) is None:
        return []
    from farm.testing.plugin import open_sentences

    return open_sentences(item)


def _name(asked: Asked) -> str:
    """Name a monitor without making it."""
    if isinstance(asked, str | Mapping):
        return repr(asked)
    return asked.__name__ if isinstance(asked, type) else type(asked).__name__


def _next_words(said: str) -> list[str]:
    """Return what may follow: the next parts of measures' names."""
    if said in OF_RUNS:
        return list(STATISTICS) if OF_RUNS[said].is_distribution else []
    prefix = f"{said}." if said else ""
    return list(
        dict.fromkeys(known[len(prefix) :].split(".")[0] for known in OF_RUNS if known.startswith(prefix))
    )


def _selection(place: str, run: Readouts) -> Selection:
    """Read where: a word that the run knows a category or a fault by, or a selection as in criteria."""
    word = place.strip()
    faulted = run.instances[run.instances["is_ood"].to_numpy(bool)]
    for key in KEYS:
        if key in faulted and word in faulted[key].unique():
            return Selection(conditions=(Condition(key, IS, word),))
    if word in SIDES or any(sign in word for sign in ": <>=≤≥"):
        scanner = Scanner(word)
        try:
            found = read_selection(scanner)
        except ExperimentError as error:
            raise ExperimentError(f"assert_monitor: on('{place}'): {error}") from None
        if not scanner.done:
            raise ExperimentError(f"assert_monitor: on('{place}'): {scanner.place}; expected the end")
        return found
    known = [str(one) for key in KEYS if key in faulted for one in faulted[key].dropna().unique()]
    raise UnknownNameError(
        f"assert_monitor: on('{place}') names neither a category nor a faultload of the run; "
        f"{suggestion(word, [*known, *SIDES])}"
    )
