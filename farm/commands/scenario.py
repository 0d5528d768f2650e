"""`farm describe scenario FILE`: what is planned, before anything runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import FloatArray, IntArray, Schedule, check_number
from farm.config.files import find_scenario, read_mapping, with_scenario
from farm.errors import ExperimentError, UserError
from farm.report.figures import PlannedInterval, check_target, save, timeline
from farm.run.builder import fault_of_interval, make_order
from farm.run.schedules import check_acting
from farm.run.timeline import STRETCH

MOST_EPISODES = 20
"""So many are told one by one."""
DEFAULT_LENGTH = 1000
"""So many instances are shown of a scenario that does not say how long it is."""


def describe_scenario(options: argparse.Namespace) -> int:
    """Check a scenario's file, tell what it plans, and draw it."""
    out = Path(options.images) if options.images else None
    if options.set:
        raise ExperimentError("--set has no effect on a scenario; change its file")
    if out is not None:
        check_target(out, "--images")
    path = find_scenario(options.name, Path())
    description = str(read_mapping(path).get("description") or "")
    stream = with_scenario({"order": {"name": "scenario", "file": options.name}}, Path())
    rate = stream.get("frame_rate")
    schedule = make_order(stream["order"])
    assert isinstance(schedule, Schedule)
    if rate is not None:
        check_number("frame_rate", rate, above=0)
    _check(schedule, path)
    length = schedule.length or DEFAULT_LENGTH
    share, intensity, episode = _planned(schedule, length)
    said = [{k: v for k, v in one.items() if v is not None} for one in stream["order"]["intervals"]]
    record = {
        "name": path.stem,
        "description": description,
        "length": length,
        "frame_rate": rate,
        "intervals": [{**one, "faults": _names(one.get("faults"))} for one in said],
        "episodes": _episodes(episode),
    }
    if options.format == "json":
        print(json.dumps(record, indent=2))
    else:
        print("\n".join(_told(record)))
    if out is not None:
        strength = share * intensity
        intervals = [
            PlannedInterval(", ".join(one["faults"]), own)
            for one, own in zip(record["intervals"], strength.T, strict=True)
        ]
        save(timeline(intervals, episode, frame_rate=rate, title=description or path.stem), out)
    return 0


def _check(schedule: Schedule, path: Path) -> None:
    """Look whether the faults of the intervals can be made, and act."""
    named = []
    for number, interval in enumerate(schedule.intervals):
        try:
            named.append([fault_of_interval(fault).rule for fault in interval.faults])
        except UserError as error:
            raise type(error)(f"{path}: intervals.{number}: {error}") from None
    if all(named):  # else others are the experiment's, which is not known here
        check_acting(schedule, [], named)


def _planned(schedule: Schedule, length: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return share, intensity and episode of the first so many instances, as seed 0 has them."""
    plans = list(islice(schedule.stretches(seed=0), -(-length // STRETCH)))
    share, intensity, episode = (
        np.concatenate([getattr(plan, name) for plan in plans])[:length]
        for name in ("share", "intensity", "episode")
    )
    return share, intensity, episode


def _names(faults: Any) -> list[str]:
    """Say what acts in an interval, such as `fog (severity 3)`."""
    if faults is None:
        return ["one of the experiment's faults"]
    told = []
    for fault in faults if isinstance(faults, list) else [faults]:
        said: Mapping[str, Any] = {"name": fault} if isinstance(fault, str) else fault
        level = f" (severity {said['severity']:g})" if "severity" in said else ""
        told.append(f"{said.get('as') or said['name']}{level}")
    return told


def _episodes(episode: IntArray) -> list[dict[str, int]]:
    numbers, begin, n = np.unique(episode, return_index=True, return_counts=True)
    rows = zip(numbers.tolist(), begin.tolist(), n.tolist(), strict=True)
    return [
        {"episode": number, "begin": first, "end": first + many}
        for number, first, many in rows
        if number >= 0
    ]


def _told(record: Mapping[str, Any]) -> Iterator[str]:
    n, rate, episodes = record["length"], record["frame_rate"], record["episodes"]
    yield f"scenario {record['name']}" + (f": {record['description']}" if record["description"] else "")
    lasts = f", {n / rate:g} s at {rate:g} instances a second" if rate else ""
    yield f"  {n:,} instances{lasts}; {len(record['intervals'])} intervals, {len(episodes)} episodes"
    names = [", ".join(one["faults"]) for one in record["intervals"]]
    for number, (name, one) in enumerate(zip(names, record["intervals"], strict=True)):
        yield f"  {number}  {name:{max(map(len, names))}}  {_when(one, n)}"
    yield from (
        f"  episode {one['episode']}: instances {one['begin']} to {one['end'] - 1}"
        for one in episodes[:MOST_EPISODES]
    )
    if len(episodes) > MOST_EPISODES:
        yield f"  and {len(episodes) - MOST_EPISODES} more episodes"


def _when(one: Mapping[str, Any], n: int) -> str:
    """Say in words when an interval is there."""
    begin, lasting = one.get("begin", 0), one.get("lasting")
    if begin >= n:
        return f"never: it begins at {begin:,}, and the stream has {n:,} instances"
    if one.get("gap"):
        words = f"at random: {lasting} instances on average, {one['gap']} apart (told and drawn for seed 0)"
    elif one.get("every"):
        words = f"{lasting} instances from {begin} on, every {one['every']}"
    elif one.get("end") or lasting:
        words = f"instances {begin} to {(one.get('end') or begin + lasting) - 1}"
    else:
        words = f"from instance {begin} on"
    share = one.get("share", 1)
    words += "" if share == 1 else f", upon {share:.0%} of the objects"
    growth = [
        f"{word} over {one[key]}" for key, word in (("rise", "grows"), ("fall", "fades")) if one.get(key)
    ]
    return words + (f"; its {one.get('of', 'severity')} {' and '.join(growth)}" if growth else "")
