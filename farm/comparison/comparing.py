"""Comparing the monitors of some runs: section by section, then category by category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from farm.comparison.conclusions import Conclusion, conclude
from farm.comparison.measures import Measured, measured
from farm.comparison.sections import Section, section
from farm.comparison.sets import BenchmarkSet, benchmark_sets
from farm.errors import ExperimentError, suggestion
from farm.readouts import Readouts
from farm.statistics.bootstrap import REPLICATES
from farm.statistics.table import CONVENTIONS

BY = ("faultload", "category", "severity", "workload")
ALL = "all sets"


@dataclass(frozen=True)
class Comparison:
    """All that was asked for, and all that was found."""

    measure: Measured
    by: str
    alpha: float
    undefined: str
    replicates: int
    seed: int
    sets: tuple[BenchmarkSet, ...]
    sections: tuple[Section, ...]
    conclusions: tuple[Conclusion, ...]
    """One a category, and one over all sets where there are several categories."""
    notes: tuple[str, ...]


def compare_runs(
    runs: Sequence[Readouts],
    *,
    measure: str = "overall.mcc",
    by: str = "faultload",
    alpha: float = 0.05,
    undefined: str = "zero",
    only: Sequence[str] = (),
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Comparison:
    """Compare all monitors that any of the runs has, or some of them.

    Parameters
    ----------
    runs
        Their readouts. Those on the same workload, classifier and fault are repetitions of one benchmark set.
    measure
        What to compare by; a name in `MEASURES`.
    by
        What makes a section: `faultload`, `category`, `severity` or `workload`.
    alpha
        The chance of seeing a difference where there is none; intervals hold with 1 - alpha.
    undefined
        What a value without a number counts as where sets are ranked: `zero`, `drop` or `error`.
    only
        The monitors to compare; all where none is named. The fewer, the less is lost to their number.
    replicates, seed
        Of the resampling.
    """
    what = measured(measure)
    for option, value, known in (("--by", by, BY), ("--undefined", undefined, CONVENTIONS)):
        if value not in known:
            raise ExperimentError(f"{option} '{value}' is not known; {suggestion(value, known)}")
    if not 0 < alpha < 1:
        raise ExperimentError(f"--alpha is {alpha}; expected a number between 0 and 1")
    sets = benchmark_sets(runs)
    there = list(dict.fromkeys(m for one in sets for records in one.records for m in records))
    for name in only:
        if name not in there:
            raise ExperimentError(f"--monitor '{name}' is in none of the runs; {suggestion(name, there)}")
    monitors = [name for name in there if name in only or not only]

    def about(name: str, own: Sequence[BenchmarkSet]) -> Section:
        return section(name, own, what, monitors, alpha=alpha, replicates=replicates, seed=seed)

    sections = tuple(about(name, own) for name, own in _grouped(sets, by).items())
    categories = _grouped(sets, "category")
    found = []
    for category, own in ({**categories, ALL: sets} if len(categories) > 1 else categories).items():
        streams = about(category, own)
        found.append(
            conclude(category, own, what, monitors, alpha=alpha, undefined=undefined, streams=streams)
        )
    return Comparison(
        what, by, alpha, undefined, replicates, seed, tuple(sets), sections, tuple(found), _notes(sets)
    )


def _grouped(sets: Sequence[BenchmarkSet], by: str) -> dict[str, list[BenchmarkSet]]:
    groups: dict[str, list[BenchmarkSet]] = {}
    for one in sets:
        groups.setdefault(getattr(one, by) or ("no severity" if by == "severity" else "no fault"), []).append(
            one
        )
    return dict(sorted(groups.items()))


def _notes(sets: Sequence[BenchmarkSet]) -> tuple[str, ...]:
    notes = []
    repeated = max((len(one.streams) for one in sets), default=1)
    if repeated > 1:
        notes.append(f"up to {repeated} runs of the same set count as one set: their mean")
    shares = {round(float(s.is_ood.mean()), 3) for one in sets for s in one.streams}
    if len(shares) > 1:
        notes.append(
            f"the share of OOD instances differs from set to set ({min(shares):.1%} to {max(shares):.1%}): "
            "precision, F1 and MCC do not compare across sets with different shares, FPR and FNR do"
        )
    return tuple(notes)
