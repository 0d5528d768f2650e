"""What a renewed baseline says otherwise than the one that it replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


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
        for told in _come_and_gone("monitor", _monitors(old), _monitors(new)):
            yield f"{run}: {told}"
        for where, own in new["measures"].items():
            for monitor, measures in own.items():
                earlier = old["measures"].get(where, {}).get(monitor, {})
                for name in (name for name in measures if name in earlier):
                    was, now_is = _worded(earlier[name]), _worded(measures[name])
                    if was != now_is:
                        yield f"{run}: {monitor}: {name} on {where}: {was} -> {now_is}"


def _come_and_gone(what: str, before: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    sides = list(before), list(now)
    for told, there, other in (("new", sides[1], sides[0]), ("gone", *sides)):
        if names := [name for name in there if name not in other]:
            yield f"{what}{'s' if len(names) > 1 else ''} {told}: {', '.join(names)}"


def _monitors(run: Mapping[str, Any]) -> dict[str, None]:
    return dict.fromkeys(name for own in run["measures"].values() for name in own)


def _worded(entry: Mapping[str, Any]) -> str:
    return f"undefined ({entry['undefined']})" if "undefined" in entry else f"{entry['value']:g}"
