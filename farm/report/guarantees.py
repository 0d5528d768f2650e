"""Guarantees against reality as tables: a row a promise; what was realised on ID data, and under faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from farm.api.calibration_data import CLASS
from farm.api.guarantee import TRACK, percent
from farm.judging.inspection import Look, LookCell
from farm.judging.promises import ID, RealisedPromise
from farm.report import cells
from farm.report.cells import DASH
from farm.report.looks import embedded, render_looks
from farm.report.output import Styled
from farm.report.sheet import Records, grouped

TITLE = "Guarantees against reality"
COLUMNS = ("monitor", "promised", "at most", "on ID, %", "of", "verdict")
ON_ID = (
    "on ID: realised on ID instances, with its 95 % interval; kept: they do not contradict the promise; "
    "broken: they do, surely; of promises that are just kept at most one in 40 is called so by chance"
)
VOID = "Under a fault nothing is promised: what was realised there, with its 95 % interval, is void"
WHAT: Mapping[str, str] = {
    "false_alarms": "false alarms",
    "risk": "wrong among accepted",
    "residual_hazard": "wrong and accepted",
}
"""What is bounded, in the few words of a cell."""


def promises_of(records: Records) -> list[dict[str, Any]]:
    """Gather what became of promises from a run's judged records, each once, with the monitor's name."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for record in records:
        for each in record.get("guarantees") or ():
            key = str(record["monitor"]), str(each["what"]), str(each["where"])
            found.setdefault(key, {"monitor": record["monitor"], "policy": record.get("policy"), **each})
    return list(found.values())


def entries(promises: Sequence[RealisedPromise]) -> list[dict[str, Any]]:
    """Return promises as records have them, with their monitors' names."""
    return [
        {"monitor": each.promise.monitor, "policy": each.promise.policy, **each.record()} for each in promises
    ]


def below_records(records: Records, format: str, width: int) -> str:
    """Return what stands below runs' tables in a format for people: nothing where nothing was promised."""
    runs = [(own[0].get("run"), promises_of(own)) for own in grouped(records, ("run",))]
    several = len(runs) > 1
    looks = [look for run, own in runs if own for look in guarantee_looks(own, str(run) if several else "")]
    return below(looks, format, width)


def below(looks: Sequence[Look], format: str, width: int) -> str:
    """Return looks as the last part of what is told."""
    if not looks:
        return ""
    if format == "table":
        return Styled("\n" + render_looks(looks, format, width=width).rstrip("\n") + "\n")
    return "\n" + "\n".join(embedded(look, format) for look in looks)


def guarantee_looks(told: Sequence[Mapping[str, Any]], of: str = "") -> list[Look]:
    """Return the table of what became of promises, and another one of faults where there are several.

    `of` names the run where there are more than one.

    Examples
    --------
    >>> one = {"monitor": "odin", "what": "risk", "at_most": 0.02, "confidence": 0.9, "event": "instance"}
    >>> one |= {"unit": "track", "where": "ID", "group": None, "value": 0.01, "low": 0.002, "high": 0.03}
    >>> one |= {"policy": "cancel", "n": 900, "n_units": 60, "verdict": "kept", "reason": None, "by": None}
    >>> one |= {"assumption": "validation and working data are exchangeable tracks"}
    >>> fog = one | {"where": "fog 3", "value": 0.5, "low": None, "high": None, "n": 6, "n_units": 3}
    >>> (look,) = guarantee_looks([one, fog])
    >>> look.columns[-2:], look.rows[0][-1].splitlines()
    (('verdict', 'fog 3, %'), ['50.0', 'of 3 tracks'])
    >>> look.notes[0]
    'Promised if validation and working data are exchangeable tracks'
    """
    rows, faults = by_promise(told)
    on_data = [own[ID] for own in rows]
    notes = [*filter(None, map(why, on_data)), *beside(on_data), *_assumed(on_data)]
    title = f"{of}: {TITLE}" if of else TITLE
    one = [fault for fault in faults if len(faults) == 1]
    shown: list[tuple[LookCell, ...]] = [
        (*_of_id(own[ID]), *(_share(own.get(fault)) for fault in one)) for own in rows
    ]
    legend = (ON_ID, *([VOID] if one else []))
    looks = [Look(title, (*COLUMNS, *(f"{fault}, %" for fault in one)), shown, (*notes, *legend))]
    if len(faults) > 1:
        looks += _under(rows, faults, title)
    return looks


def _under(
    rows: Sequence[Mapping[str, Mapping[str, Any]]], faults: Sequence[str], title: str
) -> Iterator[Look]:
    """Return a table of what was realised under faults for each thing that is promised."""
    found: dict[str, list[tuple[LookCell, ...]]] = {}
    for own in rows:
        shares = (_share(own.get(fault)) for fault in faults)
        found.setdefault(happened(own[ID]), []).append((own[ID]["monitor"], *shares))
    for number, (what, shown) in enumerate(found.items(), 1):
        notes = (VOID,) if number == len(found) else ()
        yield Look(f"{title}, under faults: {what}, %", ("monitor", *faults), shown, notes)


def by_promise(
    told: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Mapping[str, Any]]], list[str]]:
    """Return what became of each promise by the place, and the names of all faults."""
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for each in told:
        found.setdefault((each["monitor"], each["what"]), {})[each["where"]] = each
    return list(found.values()), list(dict.fromkeys(each["where"] for each in told if each["where"] != ID))


def promised(each: Mapping[str, Any]) -> str:
    """Say what a promise is about, in the few words of a cell."""
    return "tracks with a false alarm" if each["event"] == TRACK else WHAT[each["what"]]


def happened(each: Mapping[str, Any]) -> str:
    """Say the same of instances under a fault, on which an alarm is no false one."""
    return promised(each).replace("false alarm", "alarm").replace("a alarm", "an alarm")


def bound(each: Mapping[str, Any]) -> str:
    """Say how much is promised at most, and how surely."""
    sure = "on average" if each["confidence"] is None else f"{percent(each['confidence'])} sure"
    return f"{percent(each['at_most'])}, {sure}"


def realised(each: Mapping[str, Any] | None) -> tuple[str, str]:
    """Write what was realised, in per cent, and its interval, or of how little it is where that has none."""
    if each is None or each["value"] is None:
        return DASH, ""
    if None in (each["low"], each["high"]):
        return cells.percent(each["value"]), f"of {_units(each)}"
    return cells.bounded_percent(each["value"], each["low"], each["high"])


def counted(each: Mapping[str, Any]) -> str:
    """Say of how many instances or tracks it is, and of which group."""
    told = _units(each)
    return told if each["group"] is None else f"{told}: {each['group']}"


def _units(each: Mapping[str, Any]) -> str:
    units, n = each["n_units"], each["n"]
    return f"{n:,}" if units == n else f"{units:,} track{'' if units == 1 else 's'}"


def why(each: Mapping[str, Any]) -> str | None:
    """Say why a promise is broken, or not known to be kept; None where there is nothing to say."""
    if each["verdict"] == "kept" or not each["reason"]:
        return None
    return f"{each['monitor']}, {promised(each)}: {each['verdict']}: {each['reason']}"


def beside(on_data: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what else has to be known of promises, each thing once."""
    told = (note for each in on_data for note in (_worst_of_groups(each), _policy(each)))
    return list(dict.fromkeys(filter(None, told)))


def _assumed(on_data: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what promises take for granted; what most of them do, last and without their names."""
    found: dict[str, dict[str, None]] = {}
    for each in on_data:
        found.setdefault(each["assumption"], {})[each["monitor"]] = None
    *others, most = sorted(found, key=lambda assumption: len(found[assumption]))
    for assumption in others:
        yield f"{', '.join(found[assumption])}: promised if {assumption}"
    yield f"All others: promised if {most}" if others else f"Promised if {most}"


def _policy(each: Mapping[str, Any]) -> str | None:
    """Say that a promise is not about what a policy makes of alarms, where that is more than to cancel."""
    if each["policy"] in (None, "cancel"):
        return None
    what = f"what the policy {each['policy']} makes of them"
    return f"{each['monitor']}: promised of its alarms, and not of {what}"


def _worst_of_groups(each: Mapping[str, Any]) -> str | None:
    """Say which group is told, where a promise is by groups."""
    if each["group"] is None:
        return None
    by = "predicted class" if each["by"] == CLASS else each["by"]
    if each["n_groups"] == 1:
        return f"{each['monitor']}: there is one group by {by}, {each['group']}"
    return f"{each['monitor']}: of {each['n_groups']} groups by {by} the worst is told, {each['group']}"


def _of_id(each: Mapping[str, Any]) -> tuple[LookCell, ...]:
    return (each["monitor"], promised(each), bound(each), _share(each), counted(each), each["verdict"])


def _share(each: Mapping[str, Any] | None) -> str:
    return "\n".join(filter(None, realised(each)))
