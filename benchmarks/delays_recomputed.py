"""Whether delays in runs' Parquet files, found by a plain walk, are those that `farm judge` tells.

`python benchmarks/delays_recomputed.py RUN...`. The walk takes nothing from the testbed: it reads two files
row by row, and says of each onset how it was noticed, as `docs/decisions/0015-delays.md` puts it. It fails
where any number differs from a record's.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from farm.judging.readouts import judged_records

NAMES = ("n", "found", "standing", "on_id", "missed", "after", "open", "empty", "median", "p95")


def walked(rows: list[dict[str, Any]], signal: list[bool]) -> dict[tuple[Any, ...], list[Any]]:
    """Return the outcomes of each fault's onsets: a delay, or a word."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    met: set[int] = set()
    for place, row in enumerate(rows):
        if row["episode"] == -1 or not row["is_ood"] or row["episode"] in met:
            continue
        met.add(row["episode"])
        end = place
        while end < len(rows) and rows[end]["episode"] == row["episode"]:
            end += 1
        first = next((at for at in range(place, end) if signal[at]), None)
        if first == place and place > 0 and signal[place - 1]:
            outcome: Any = "standing"
        elif first is not None:
            outcome = first - place if rows[first]["is_ood"] else "on_id"
        elif end == len(rows):
            outcome = "open"
        else:
            begun = rows[end]["episode"] != -1 and rows[end]["is_ood"]
            outcome = "after" if signal[end] and not begun else "missed"
        found[tuple(row.get(name) for name in ("faultload", "category", "severity"))].append(outcome)
    return found


def summed(outcomes: list[Any], empty: int) -> dict[str, Any]:
    """Return what a record tells of a fault's onsets."""
    told = {name: outcomes.count(name) for name in ("standing", "on_id", "after", "open")}
    missed = outcomes.count("missed") + told["after"]
    delays = sorted(each for each in outcomes if not isinstance(each, str)) + [math.inf] * missed
    told |= {"n": len(outcomes), "found": len(delays) - missed, "missed": missed, "empty": empty}
    for name, share in (("median", 0.5), ("p95", 0.95)):
        value = delays[math.ceil(share * len(delays) - 1e-9) - 1] if delays else math.inf
        told[name] = None if math.isinf(value) else value
    return told


def differences(folder: Path) -> tuple[int, list[str]]:
    """Return how many numbers were compared, and those that differ."""
    rows = sorted(pq.read_table(folder / "instances.parquet").to_pylist(), key=lambda row: row["position"])
    empty = len({row["episode"] for row in rows} - {row["episode"] for row in rows if row["is_ood"]} - {-1})
    heard: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for alarm in pq.read_table(folder / "alarms.parquet").to_pylist():
        heard[alarm["monitor"]][alarm["position"]] = alarm
    wrong, compared = [], 0
    for record in judged_records(folder):
        if record["part"] != "all" or record["monitor"] not in heard:
            continue
        own = heard[record["monitor"]]
        for signal, block in (("alarm", "detection_delay"), ("cancelled", "cancellation_delay")):
            outcomes = walked(rows, [own[row["position"]][signal] for row in rows])
            fault = tuple(record[name] for name in ("faultload", "category", "severity"))
            expected = summed(outcomes.get(fault, []), empty)
            for name in NAMES:
                compared += 1
                if record[block][name] != expected[name]:
                    where = f"{folder}: {record['monitor']} on {record['faultload']}, {block}.{name}"
                    wrong.append(f"{where} is {record[block][name]}; the walk has {expected[name]}")
    return compared, wrong


def main() -> None:
    """Compare all runs, and fail where any number differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    wrong = []
    for folder in parser.parse_args().runs:
        compared, found = differences(folder)
        wrong += found
        print(f"{folder}: {compared:,} numbers compared, {len(found)} differ")
    sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
