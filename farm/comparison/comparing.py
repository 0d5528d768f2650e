"""Comparing the monitors of some runs: section by section, then category by category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from farm.comparison.conclusions import Conclusion, conclude
from farm.comparison.measures import Measured, measured
from farm.comparison.sameness import changed_monitors, unranked
from farm.comparison.sections import Section, section
from farm.comparison.sets import BenchmarkSet, benchmark_sets
from farm.comparison.wording import ALL, listed, verb
from farm.errors import DataError, ExperimentError, suggestion
from farm.readouts import Readouts
from farm.statistics.bootstrap import REPLICATES
from farm.statistics.table import CONVENTIONS

BY = ("faultload", "category", "severity", "workload")


@dataclass(frozen=True)
class Comparison:
    """All that was asked for, and all that was found."""

    measure: Measured
    by: str
    alpha: float
    undefined: str
    replicates: int
    seed: int
    monitors: tuple[str, ...]
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
    rope: float | None = None,
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
    rope
        A difference of the measure that is too small to matter. Where it is given, each conclusion also tells
        how probable a larger one is (Bayesian signed-rank test).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> n = 200
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": np.arange(n) % 10 == 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 100, faultload="snow", category="shift")
    >>> alarms = [pd.DataFrame({"position": range(n), "monitor": name, "alarm": np.arange(n) % every == 0})
    ...           for name, every in (("oob", 5), ("odin", 9))]
    >>> found = compare_runs([Readouts(instances, pd.concat(alarms), {})])
    >>> print(found.conclusions[0].sentence)
    On shift, there is one set, so that its instances decide (n = 200): oob comes first;
    odin is worse (p = 0.001).
    """
    what = measured(measure)
    for option, value, known in (("--by", by, BY), ("--undefined", undefined, CONVENTIONS)):
        if value not in known:
            raise ExperimentError(f"{option} '{value}' is not known; {suggestion(value, known)}")
    if not 0 < alpha < 1:
        raise ExperimentError(f"--alpha is {alpha}; expected a number between 0 and 1")
    if replicates < 1:
        raise ExperimentError(f"--replicates is {replicates}; expected at least 1")
    if rope is not None and not 0 <= rope < float("inf"):
        raise ExperimentError(f"--rope is {rope}; expected a number of at least 0")
    sets = benchmark_sets(runs)
    monitors = _chosen(sets, runs, only)

    @cache
    def about(name: str, own: tuple[BenchmarkSet, ...]) -> Section:
        return section(name, own, what, monitors, alpha=alpha, replicates=replicates, seed=seed)

    sections = tuple(about(name, own) for name, own in _grouped(sets, by).items())
    groups = _grouped(sets, "category")
    if len(groups) > 1:
        groups[ALL] = tuple(sets)
    conclusions = tuple(
        conclude(
            name,
            own,
            what,
            monitors,
            alpha=alpha,
            undefined=undefined,
            streams=partial(about, name, own),
            rope=rope,
            seed=seed,
        )
        for name, own in groups.items()
    )
    return Comparison(
        measure=what,
        by=by,
        alpha=alpha,
        undefined=undefined,
        replicates=replicates,
        seed=seed,
        monitors=monitors,
        sets=tuple(sets),
        sections=sections,
        conclusions=conclusions,
        notes=tuple(_notes(what, sets, runs, monitors)),
    )


def _chosen(sets: Sequence[BenchmarkSet], runs: Sequence[Readouts], only: Sequence[str]) -> tuple[str, ...]:
    there = list(dict.fromkeys(m for one in sets for records in one.records for m in records))
    for name in only:
        if name in there:
            continue
        if name in unranked(runs):
            raise ExperimentError(
                f"--monitor '{name}' is not ranked by its own run, so that it cannot be here"
            )
        raise ExperimentError(f"--monitor '{name}' is in none of the runs; {suggestion(name, there)}")
    if not there:
        raise DataError("no run has a monitor to compare; expected at least one that is ranked")
    return tuple(name for name in there if name in only or not only)


def _grouped(sets: Sequence[BenchmarkSet], by: str) -> dict[str, tuple[BenchmarkSet, ...]]:
    groups: dict[str, list[BenchmarkSet]] = {}
    for one in sets:
        groups.setdefault(getattr(one, by), []).append(one)
    return {name: tuple(groups[name]) for name in sorted(groups, key=_order)}


def _order(name: str) -> tuple[bool, float, str]:
    """Severities in the order of their numbers, and before what is none."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _notes(
    measure: Measured, sets: Sequence[BenchmarkSet], runs: Sequence[Readouts], monitors: Sequence[str]
) -> Iterator[str]:
    repeated = max(len(one.streams) for one in sets)
    if repeated > 1:
        yield f"up to {repeated} runs of the same set count as one set: their mean"
    shares = {round(float(s.is_ood.mean()), 2) for one in sets for s in one.streams}
    if len(shares) > 1 and measure.depends_on_share:
        yield (
            f"the share of OOD instances differs from set to set ({100 * min(shares):.0f} % to "
            f"{100 * max(shares):.0f} %), and {measure.name} with it: it compares monitors, but not one set "
            "with another"
        )
    yield from changed_monitors(runs)
    aside = [name for name in unranked(runs) if name not in monitors]
    if aside:
        yield f"{listed(aside)} {verb(aside, 'is', 'are')} not ranked by the run itself and left out"
