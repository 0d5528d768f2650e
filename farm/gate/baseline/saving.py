"""Saving runs as a baseline, with their main measures, and what became another where one is renewed.

The measures are for people, and for the diff of a review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farm.comparing.measures import measured
from farm.comparing.sections import Standing, sections
from farm.comparing.sets import judged_runs, sets_of
from farm.errors import DataError
from farm.gate.baseline.baseline import NEEDED, Baseline
from farm.gate.baseline.file import check_replaceable, read_saved, to_text
from farm.judging import JudgedRun
from farm.measures import Measure
from farm.statistics.resolution import REPLICATES
from farm.store.files import write_text
from farm.store.readouts import Readouts

MEASURES = (
    "overall.mcc",
    "overall.fpr",
    "overall.fnr",
    "specific.mcc",
    "specific.fpr",
    "specific.fnr",
    "coverage",
    "residual_hazard",
    "auroc",
)
LEVEL, DIGITS = 0.95, 4
"""An interval's level, and the decimals of all numbers."""


@dataclass(frozen=True)
class Renewed:
    """Where a baseline was saved, and what it took the place of."""

    path: Path
    baseline: Baseline
    nbytes: int
    replaced: bool
    changes: tuple[str, ...]
    """Against the one that it replaced, measure by measure."""


def save_baseline(runs: Readouts | Sequence[Readouts], path: Path | str) -> Renewed:
    """Save runs as one text file; a baseline that is there is replaced, anything else is not."""
    path = Path(path)
    replaced = check_replaceable(path)
    runs = [runs] if isinstance(runs, Readouts) else list(runs)
    judged = judged_runs(runs, NEEDED)
    baseline = Baseline.of_judged(judged, str(path))
    if not baseline.monitors:
        raise DataError("no run has a monitor to keep; expected at least one that is ranked and did not fail")
    record = {}
    for run, own in zip(judged, baseline.runs, strict=True):
        head = own.record
        bits = {name: head.pop(name) for name in ("mistakes", "monitors")}
        record[own.name] = {**head, "measures": summary(run, own.ranked), **bits}
    differences: tuple[str, ...] = ()
    if replaced:
        try:
            differences = tuple(changes(read_saved(path)["runs"], record))
        except DataError as error:
            differences = (f"what changed cannot be told: {error}",)
    text = to_text(record)
    write_text(path, text)
    return Renewed(path, baseline, len(text.encode()), replaced, differences)


def default_path(name: str) -> Path:
    """Return where a baseline of this name is saved if nothing else is asked for.

    Examples
    --------
    >>> default_path("signs: fog, 3").as_posix()
    'baselines/signs-fog-3.yaml'
    """
    return Path("baselines") / (re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") + ".yaml")


def summary(run: JudgedRun, monitors: Sequence[str]) -> dict[str, Any]:
    """Return each benchmark set's measures, monitor by monitor, with the intervals of `farm compare`."""
    by_set: dict[str, Any] = {}
    for one in sets_of([run]):
        scored = any(one.streams[0].said[name].scores is not None for name in monitors)
        names = [measured(name) for name in MEASURES if scored or name != "auroc"]
        compared = sections(one.name, [one], names, monitors, alpha=1 - LEVEL, replicates=REPLICATES, seed=0)
        by_monitor: dict[str, dict[str, Any]] = {name: {} for name in monitors}
        for name, own in compared.items():
            for standing in own.standings:
                reason = one.cell(measured(name), standing.monitor).reason
                by_monitor[standing.monitor][name] = dict(_entry(standing, reason))
        by_set[one.name] = by_monitor
    return by_set


def _entry(standing: Standing, reason: str | None) -> Iterator[tuple[str, float | str]]:
    if not standing.value.defined:
        yield "undefined", str(reason)
        return
    yield "value", _rounded(standing.value)
    if standing.low.defined and standing.high.defined:
        yield "low", _rounded(standing.low)
        yield "high", _rounded(standing.high)
    else:
        yield "no_interval", str(standing.low.reason)


def _rounded(measure: Measure) -> float:
    return round(measure.value, DIGITS) + 0.0  # -0.0 is no other number


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Say what differs between the runs of two saved baselines, measure by measure.

    Examples
    --------
    >>> def runs(value):
    ...     measures = {"fog on signs with lenet": {"oob": {"specific.fpr": value}}}
    ...     return {"quickstart": {"stream": {"n": 10}, "measures": measures, "failed": {}}}
    >>> list(changes(runs({"value": 0.05, "low": 0.03, "high": 0.07}), runs({"undefined": "no instances"})))
    ['quickstart: oob: specific.fpr on fog on signs with lenet: 0.05 -> undefined (no instances)']
    """
    yield from _come_and_gone("run", before, now)
    for run in (name for name in now if name in before):
        old, new = before[run], now[run]
        if old["stream"] != new["stream"]:
            yield f"{run}: the stream is another one ({old['stream']['n']} -> {new['stream']['n']} instances)"
        for change in _come_and_gone("monitor", _monitors(old), _monitors(new)):
            yield f"{run}: {change}"
        for where, own in new["measures"].items():
            for monitor, measures in own.items():
                earlier = old.get("measures", {}).get(where, {}).get(monitor, {})
                for name in (name for name in measures if name in earlier):
                    was, now_is = _worded(earlier[name]), _worded(measures[name])
                    if was != now_is:
                        yield f"{run}: {monitor}: {name} on {where}: {was} -> {now_is}"


def _come_and_gone(what: str, before: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    sides = list(before), list(now)
    for what_happened, there, other in (("new", sides[1], sides[0]), ("gone", *sides)):
        if names := [name for name in there if name not in other]:
            yield f"{what}{'s' if len(names) > 1 else ''} {what_happened}: {', '.join(names)}"


def _monitors(run: Mapping[str, Any]) -> dict[str, None]:
    return dict.fromkeys(name for own in run.get("measures", {}).values() for name in own)


def _worded(entry: Mapping[str, Any]) -> str:
    value = entry.get("value")
    return f"undefined ({entry.get('undefined')})" if value is None else f"{value:g}"
