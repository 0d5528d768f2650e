"""`farm cache` and `farm cache prune`: what is kept to be found again, and the removal of it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from farm import registry
from farm.errors import ExperimentError, StorageError, suggestion
from farm.report.terminal import text_console
from farm.store.amounts import age_told, duration, in_bytes, size
from farm.store.cache import default_cache_folder
from farm.store.cache_contents import (
    FATES,
    Fate,
    Item,
    Sort,
    contents,
    least_recently_used,
    leftovers,
    remove,
)

WORDS: Mapping[str, str] = {
    "digests": "remembered digests of files",
    "faults": "generated faults",
    "fitted-monitors": "fitted and calibrated monitors",
    "images": "decoded images",
    "masks": "decoded masks",
    "workloads": "rendered workloads",
}
LEFT: Mapping[Sort, str] = {
    "entry": "",
    "outdated": "of another version of the testbed, or not readable",
    "unfinished": "left unfinished by processes that were killed, or in the making",
    "lock": "locks of processes that were killed, or at work",
}


def show(options: argparse.Namespace) -> int:
    """Tell where the cache is, what it holds, and how much it takes."""
    folder = default_cache_folder()
    items = contents(folder)
    if options.format == "json":
        print(json.dumps(_record(folder, items), indent=2))
        return 0
    print(f"cache  {folder}\n")
    if not items:
        print("It is empty: trained classifiers, decoded images and fitted monitors will be kept there.")
        return 0
    entries = [item for item in items if item.sort == "entry"]
    table = _table("kind", "what it is", "entries", "size", "last used")
    for kind, own in _by_kind(entries).items():
        table.add_row(kind, words(kind), *_told(own))
    table.add_section()
    table.add_row("total", "", *_told(entries))
    text_console(sys.stdout).print(table)
    for sort, told in LEFT.items():
        if left := [item for item in items if item.sort == sort and told]:
            print(f"\n{len(left)} {told} ({in_bytes(_nbytes(left))})")
    if leftovers(items):
        print("\nfarm cache prune removes what nobody will ever use.")
    return 0


def prune(options: argparse.Namespace) -> int:
    """Remove what is left over, and entries where that is asked for; tell what."""
    if options.campaign is not None:
        return _prune_campaign(options)
    folder = default_cache_folder()
    items = contents(folder)
    if options.kind is not None:
        kinds = _by_kind(items)
        if options.kind not in kinds:
            hint = suggestion(options.kind, kinds)
            raise ExperimentError(f"--kind is '{options.kind}', of which {folder} has none; {hint}")
        items = kinds[options.kind]
    chosen = [*leftovers(items), *_entries(options, items)]
    results = list(remove(chosen, dry_run=options.dry_run))
    fates = {fate: [item for item, its in results if its == fate] for fate in FATES}
    if options.format == "json":
        print(json.dumps(_pruned_record(folder, fates, dry_run=options.dry_run), indent=2))
    else:
        _print_pruned(fates, items, dry_run=options.dry_run)
    if failed := fates["not removed"]:
        raise StorageError(
            f"cannot remove {failed[0].path}, nor all others of {len(failed)}; expected a cache that you may "
            "write to"
        )
    return 0


def words(kind: str) -> str:
    """Say what a kind of entries is, where that is known.

    Examples
    --------
    >>> words("lenet"), words("masks")
    ('trained classifiers', 'decoded masks')
    """
    return WORDS.get(kind) or ("trained classifiers" if kind in registry.entries("model") else "")


def _entries(options: argparse.Namespace, items: Sequence[Item]) -> list[Item]:
    """Choose the entries that are asked for: by age, by size, or all of a kind."""
    before = total = None
    if options.older_than is not None:
        before = time.time() - duration(options.older_than, "--older-than")
    if options.to is not None:
        total = size(options.to, "--to")
    elif options.kind is not None and before is None:
        total = 0
    return least_recently_used(items, before=before, total=total)


def _prune_campaign(options: argparse.Namespace) -> int:
    given = {"--older-than": options.older_than, "--to": options.to, "--kind": options.kind}
    if useless := [name for name, value in given.items() if value is not None]:
        raise ExperimentError(
            f"{useless[0]} has no effect on a campaign, whose orphaned cells are removed; leave it out, or "
            f"{options.campaign}"
        )
    from farm.campaign.plan import prune_orphans

    pruned = prune_orphans(Path(options.campaign), options.dry_run)
    nbytes = sum(pruned.values())
    if options.format == "json":
        record = {"folder": options.campaign, "dry_run": options.dry_run, "bytes": nbytes}
        print(json.dumps({**record, "removed": list(pruned)}, indent=2))
    elif not pruned:
        print("Nothing to remove.")
    else:
        print("\n".join(pruned))
        verb = "Would remove" if options.dry_run else "Removed"
        print(f"\n{verb} {len(pruned)} orphaned cells: {in_bytes(nbytes)}")
    return 0


def _print_pruned(fates: Mapping[Fate, Sequence[Item]], items: Sequence[Item], *, dry_run: bool) -> None:
    removed = fates["removed"]
    if not removed:
        print("Nothing to remove.")
    else:
        table = _table("kind", "what it is", "items", "size", "last used")
        for kind, own in _by_kind(removed).items():
            for sort, told in LEFT.items():
                if some := [item for item in own if item.sort == sort]:
                    table.add_row(kind, told or words(kind), *_told(some))
        text_console(sys.stdout).print(table)
        verb = "Would remove" if dry_run else "Removed"
        left = _nbytes(items) - _nbytes(removed)
        print(
            f"\n{verb} {len(removed)} of {len(items)} items: {in_bytes(_nbytes(removed))}; "
            f"{in_bytes(left)} {'would be' if dry_run else 'are'} left"
        )
    if in_use := fates["in use"]:
        print(f"{len(in_use)} left alone, since somebody uses them now", file=sys.stderr)


def _record(folder: Path, items: Sequence[Item]) -> dict[str, Any]:
    kinds = [{"kind": kind, "what": words(kind), **_counts(own)} for kind, own in _by_kind(items).items()]
    return {"folder": str(folder), "kinds": kinds, "total": _counts(items)}


def _counts(items: Sequence[Item]) -> dict[str, Any]:
    by_sort = {sort: [item for item in items if item.sort == sort] for sort in LEFT}
    entries = by_sort["entry"]
    used = max((item.used for item in entries), default=None)
    record: dict[str, Any] = {"entries": len(entries), "bytes": _nbytes(entries), "last_used": _moment(used)}
    for sort in ("outdated", "unfinished", "lock"):
        record[sort] = {"items": len(by_sort[sort]), "bytes": _nbytes(by_sort[sort])}
    return record


def _pruned_record(folder: Path, fates: Mapping[Fate, Sequence[Item]], *, dry_run: bool) -> dict[str, Any]:
    told = {
        fate.replace(" ", "_"): [
            {
                "kind": item.kind,
                "path": str(item.path),
                "sort": item.sort,
                "bytes": item.nbytes,
                "last_used": _moment(item.used),
            }
            for item in items
        ]
        for fate, items in fates.items()
    }
    return {"folder": str(folder), "dry_run": dry_run, **told}


def _by_kind(items: Iterable[Item]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.kind, []).append(item)
    return found


def _told(items: Sequence[Item]) -> tuple[str, str, str]:
    if not items:
        return "0", in_bytes(0), ""
    used = max(item.used for item in items)
    return str(len(items)), in_bytes(_nbytes(items)), age_told(time.time() - used)


def _nbytes(items: Iterable[Item]) -> int:
    return sum(item.nbytes for item in items)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in ("entries", "items", "size") else "left")
    return table
