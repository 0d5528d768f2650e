"""Comparing the monitors of some runs: section by section, then category by category."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from farm.comparing.conclusions import ALL, Conclusion, conclude
from farm.comparing.equal_alarms import at_false_alarms
from farm.comparing.frames import guarantees_frame, pairs_frame, ranks_frame, tests_frame, values_frame
from farm.comparing.guarantees import realised_over
from farm.comparing.joint_tracks import ALARM_RATE
from farm.comparing.measures import Measured, measured
from farm.comparing.sameness import changed_monitors, unranked
from farm.comparing.saving import load_comparison, save_comparison
from farm.comparing.sections import Section, section
from farm.comparing.sets import BenchmarkSet, benchmark_sets
from farm.errors import DataError, ExperimentError, suggestion
from farm.judging.promises import RealisedPromise
from farm.judging.readouts import load_runs
from farm.statistics.resolution import check_replicates
from farm.statistics.table import CONVENTIONS
from farm.statistics.wording import listed, verb
from farm.store.readouts import Readouts

BY = ("faultload", "category", "severity", "workload")
EQUAL = (
    "each monitor has {:g} false alarms a thousand quiet instances, or just fewer: its threshold is set to "
    "that, and each alarm cancels"
)
SectionMaker: TypeAlias = Callable[[str, tuple[BenchmarkSet, ...]], Section]


@dataclass(frozen=True)
class Comparison:
    """All that was asked for, and all that was found."""

    measure: Measured
    by: str
    alpha: float
    undefined: str
    replicates: int | None
    """As asked for; None: as many as each section's monitors ask for."""
    seed: int
    monitors: tuple[str, ...]
    sets: tuple[BenchmarkSet, ...]
    sections: tuple[Section, ...]
    conclusions: tuple[Conclusion, ...]
    """One a category, and one over all sets where there are several categories."""
    notes: tuple[str, ...]
    control: str | None = None
    """The monitor that all others are compared with; None where they are compared with the best."""
    promises: tuple[RealisedPromise, ...] = ()
    """What became of the promises that the monitors' calibrations made."""

    def save(self, folder: Path | str) -> Path:
        """Write a folder with all that was found, whole or not at all; the runs' instances are not in it."""
        return save_comparison(self, Path(folder))

    @classmethod
    def load(cls, folder: Path | str) -> Comparison:
        """Read a folder that `save` wrote, checking that it is unchanged; `sets` have no streams."""
        return load_comparison(Path(folder))

    @property
    def values(self) -> pd.DataFrame:
        """A row a section and monitor, for pandas: its value, interval, and p on these instances."""
        return values_frame(self)

    @property
    def ranks(self) -> pd.DataFrame:
        """A row a category and monitor: its mean rank over sets."""
        return ranks_frame(self)

    @property
    def tests(self) -> pd.DataFrame:
        """A row a category: Friedman's chi-squared, Iman and Davenport's F, the critical difference."""
        return tests_frame(self)

    @property
    def pairs(self) -> pd.DataFrame:
        """A row a pair of monitors: its p by each method, the least p can be, what a smaller one takes."""
        return pairs_frame(self)

    @property
    def guarantees(self) -> pd.DataFrame:
        """A row a promise and place, ID or a fault: what was promised, what was realised, the verdict."""
        return guarantees_frame(self)


def compare(*runs: Readouts | Path | str, **options: Any) -> Comparison:
    """Compare the monitors of some runs: readouts, runs' folders or campaigns', and logs.

    `options` are those of `compare_runs`: the measure, what makes a section, and so on. `values`, `ranks`,
    `tests`, `pairs` and `guarantees` of what is returned are frames for pandas.
    """
    found: list[Readouts] = []
    for run in runs:
        found += [run] if isinstance(run, Readouts) else load_runs([run])
    return compare_runs(found, **options)


def compare_runs(
    runs: Sequence[Readouts],
    *,
    measure: str = "overall.mcc",
    by: str = "faultload",
    alpha: float = 0.05,
    undefined: str = "zero",
    only: Sequence[str] = (),
    replicates: int | None = None,
    seed: int = 0,
    rope: float | None = None,
    control: str | None = None,
    false_alarms: float | None = None,
    promises_only: bool = False,
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
        Of the resampling. Without `replicates`, as many as the number of monitors asks for.
    rope
        A difference of the measure that is too small to matter. Where it is given, each conclusion also tells
        how probable a larger one is (Bayesian signed-rank test).
    control
        The monitor that each other one is compared with, such as the baseline that a new one has to beat.
        Without it, each is compared with the best, or with every other one.
    false_alarms
        Where it is given, each monitor is judged by the alarms that it would raise with so many false ones a
        thousand quiet instances, whatever its threshold and its policy.
    promises_only
        Tell what became of promises, and compare nothing, which takes most of the time.

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
    if what.of_classifier:
        raise ExperimentError(
            f"--measure '{measure}' is the same whatever the monitor, so that none is better; `farm anova` "
            "tells what it depends on, and `farm check` holds it to a bound"
        )
    if false_alarms is not None:
        runs = [at_false_alarms(run, false_alarms) for run in runs]
    for option, value, known in (("--by", by, BY), ("--undefined", undefined, CONVENTIONS)):
        if value not in known:
            raise ExperimentError(f"{option} '{value}' is not known; {suggestion(value, known)}")
    if not 0 < alpha < 1:
        raise ExperimentError(f"--alpha is {alpha}; expected a number between 0 and 1")
    check_replicates(replicates)
    if rope is not None and not 0 <= rope < float("inf"):
        raise ExperimentError(f"--rope is {rope}; expected a number of at least 0")
    sets = benchmark_sets(runs, what)
    monitors = _chosen(sets, runs, only, control)

    about = _sections_of(what, monitors, alpha=alpha, replicates=replicates, seed=seed, control=control)
    compared = [] if promises_only else sets
    sections = tuple(about(name, own) for name, own in _grouped(compared, by).items())
    yardsticks = yardsticks_of(sets) - {*only, control}
    concluded = _concluded(
        compared,
        what,
        monitors,
        about,
        alpha=alpha,
        undefined=undefined,
        rope=rope,
        seed=seed,
        control=control,
        yardsticks=yardsticks,
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
        conclusions=concluded,
        notes=(
            *([] if false_alarms is None else [EQUAL.format(false_alarms)]),
            *_notes(what, sets, runs, monitors),
            *_not_run(sets, runs, [m for m in monitors if m not in yardsticks]),
        ),
        control=control,
        # Of alarms at other thresholds nobody promised anything.
        promises=() if false_alarms is not None else _promises(sets, monitors),
    )


def _promises(sets: Sequence[BenchmarkSet], monitors: Sequence[str]) -> tuple[RealisedPromise, ...]:
    judged = {part.run.table.run: part.run for one in sets for part in one.whole}
    return realised_over([judged[number] for number in sorted(judged)], monitors)


def conclusions(
    sets: Sequence[BenchmarkSet], measure: str, monitors: Sequence[str], *, alpha: float = 0.05, seed: int = 0
) -> tuple[Conclusion, ...]:
    """Return what `compare_runs` concludes of each category, without its sections, which take their time."""
    what = measured(measure)
    about = _sections_of(what, monitors, alpha=alpha, replicates=None, seed=seed, control=None)
    yardsticks = yardsticks_of(sets)
    return _concluded(
        sets, what, monitors, about, alpha=alpha, undefined="zero", seed=seed, yardsticks=yardsticks
    )


def yardsticks_of(sets: Sequence[BenchmarkSet]) -> set[str]:
    """Name the monitors that know nothing, and are there to be compared with."""
    records = (item for one in sets for run in one.records for item in run.items())
    return {name for name, record in records if record["yardstick"]}


def _sections_of(measure: Measured, monitors: Sequence[str], **options: Any) -> SectionMaker:
    """Return what makes a section of some sets, each once."""

    @cache
    def about(name: str, own: tuple[BenchmarkSet, ...]) -> Section:
        return section(name, own, measure, monitors, **options)

    return about


def _concluded(
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    about: SectionMaker,
    **options: Any,
) -> tuple[Conclusion, ...]:
    """Conclude on each category, and on all of them where there are several."""
    groups = _grouped(sets, "category")
    if len(groups) > 1:
        groups[ALL] = tuple(sets)
    return tuple(
        conclude(name, own, measure, monitors, streams=partial(about, name, own), **options)
        for name, own in groups.items()
    )


def _chosen(
    sets: Sequence[BenchmarkSet], runs: Sequence[Readouts], only: Sequence[str], control: str | None
) -> tuple[str, ...]:
    there = list(dict.fromkeys(m for one in sets for records in one.records for m in records))
    asked = [("--monitor", name) for name in only] + ([("--control", control)] if control is not None else [])
    for option, name in asked:
        if name in there:
            continue
        if name in unranked(runs):
            raise ExperimentError(
                f"{option} '{name}' is not ranked by its own run, so that it cannot be here"
            )
        raise ExperimentError(f"{option} '{name}' is in none of the runs; {suggestion(name, there)}")
    if not there:
        raise DataError("no run has a monitor to compare; expected at least one that is ranked")
    return tuple(name for name in there if name in (*only, control) or not only)


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
    if measure.name == ALARM_RATE:
        yield "fewer alarms cost less; whether they were the right ones, their number does not tell"
    shares = {round(float(s.is_ood.mean()), 2) for one in sets for s in one.streams if not s.why_no_ood}
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


def _not_run(
    sets: Sequence[BenchmarkSet], runs: Sequence[Readouts], monitors: Sequence[str]
) -> Iterator[str]:
    """Say which monitors were not run in which runs, and how to compare them all the same."""
    lacking: dict[str, dict[int, None]] = {m: {} for m in monitors}
    for one in sets:
        for records, stream in zip(one.records, one.streams, strict=True):
            for monitor in monitors:
                if monitor not in records:
                    lacking[monitor][stream.run] = None
    by_runs: dict[tuple[int, ...], list[str]] = {}
    for monitor, where in lacking.items():
        by_runs.setdefault(tuple(where), []).append(monitor)
    whole = by_runs.pop((), [])
    for numbers, names in by_runs.items():
        folders = [str(runs[i].run.get("folder", f"run {i + 1}")) for i in numbers]
        told = f"{listed(names)} {verb(names, 'was', 'were')} not run in {listed(folders)}: to compare "
        told += f"{verb(names, 'it', 'them')}, give the other runs alone"
        yield told + ("; to compare the others, name them by --monitor" if len(whole) > 1 else "")
