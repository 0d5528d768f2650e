"""`farm fit` and `farm decide`: a chosen monitor is put into a folder, and then to work on images."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from farm.api import OWN
from farm.errors import DataError, FarmError, one_line
from farm.guard import Decision, Guard
from farm.report.cells import csv_cell
from farm.report.output import with_descriptions
from farm.run.progress import shown_progress
from farm.store.files import check_free
from farm.workloads.decoding import SUFFIXES

MOST = 5
"""So many contributions and nearest images of a decision are printed; JSON has all."""


def fit(options: argparse.Namespace) -> int:
    """Fit an experiment's classifier and one of its monitors, and save them as a folder."""
    started = time.perf_counter()
    out = Path(options.out)
    check_free(out)  # now, not after the work is done
    with shown_progress(quiet=options.quiet) as progress:
        guard = Guard.fit(
            options.experiment,
            overrides=options.set,
            monitor=options.monitor,
            progress=progress,
            engine=options.engine,
        )
    guard.save(out)
    calibration, data = guard.monitor.calibration, guard.provenance["workload"]
    accepted = calibration.validation_acceptance
    share = "" if accepted is None else f", which accepts {accepted:.1%} of {calibration.n} validation images"
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"classifier  {guard.classifier.name}, {len(guard.classifier.classes)} classes of '{data['name']}'")
    if guard.classifier.engine.name != OWN:
        print(f"engine      {guard.classifier.engine}")
    print(f"monitor     {guard.monitor.name}, threshold {calibration.threshold:.6g}{share}")
    if calibration.guarantee is not None:
        print(f"guarantee   {calibration.guarantee.sentence}")
    set_to = ", ".join(f"{name}={value}" for name, value in guard.policy.parameters.items())
    policy = guard.policy.name + (f" ({set_to})" if set_to else "")
    print(f"policy      {policy}; fallback: {guard.fallback.record()['name']}")
    if guard.code.files:
        print(f"your code   {', '.join(guard.code.files)}")
    print(f"\nWritten to {out} ({size / 1e6:.1f} MB) in {time.perf_counter() - started:.0f} s. Next:")
    told = [
        (f"farm decide {out} IMAGE...", "accept or cancel what the classifier says of images"),
        (f"farm.Guard.load({str(out)!r})(image)", "the same in Python"),
    ]
    print(with_descriptions(told))
    return 0


def decide(options: argparse.Namespace) -> int:
    """Decide on image files, which are taken for consecutive ones of a stream."""
    guard = Guard.load(options.guard)
    untracked = guard.untracked if options.track is None else ""
    for note in (*guard.notes, *([f"{untracked}; set --track"] if untracked else [])):
        print(f"farm: note: {note}", file=sys.stderr)
    images = list(_files(options.images))
    explain = "all" if options.why or options.format == "json" else "cancelled"
    printer = _PRINTERS[options.format](guard, images, why=options.why)
    failed = 0
    for image in images:
        try:
            printer.add(image, guard(image, options.track, explain=explain))
        except FarmError as error:  # an image that cannot be read, or a monitor that fails on it
            failed += 1
            reason = one_line(error).removeprefix(f"{image}: ")
            printer.fail(image, reason)
            print(f"farm: {image}: {reason}", file=sys.stderr)
    printer.end()
    return 1 if failed else 0


def _files(names: Sequence[str]) -> Iterator[str]:
    """Return files as they are named, and those of a folder by name; it may have folders below."""
    for name in names:
        path = Path(name)
        if not path.is_dir():
            yield name
            continue
        found = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        if not found:
            raise DataError(f"{path} has no image in it; expected {', '.join(SUFFIXES)}")
        yield from map(str, found)


def _told(decision: Decision, *, why: bool) -> str:
    """Say in one line what there is to say of a decision, or of accepted ones where that is asked for."""
    reason = decision.why or (decision.explanation.reason if why else "")
    return "; ".join(filter(None, [reason, *decision.notes]))


class _DecisionTable:
    """One line an image, at once; where it is asked, what weighs most stands below."""

    def __init__(self, guard: Guard, images: Sequence[str], *, why: bool) -> None:
        self._image = max(map(len, ["image", *images]))
        self._class = max(map(len, ["class", *guard.classifier.classes]))
        self._why = why
        self._counts = {"accepted": 0, "cancelled": 0, "failed": 0}
        print(self._line("image", "decision", "class", "confidence", "score", "threshold", "why"))

    def add(self, image: str, decision: Decision) -> None:
        self._counts["accepted" if decision.accepted else "cancelled"] += 1
        numbers = (f"{decision.confidence:.3f}", f"{decision.score:.6g}", f"{decision.threshold:.6g}")
        verdict = "ACCEPT" if decision.accepted else "CANCEL"
        why = _told(decision, why=self._why)
        print(self._line(image, verdict, decision.predicted, *numbers, why), flush=True)
        if self._why:
            for part, value in list(decision.explanation.contributions.items())[:MOST]:
                print(f"    {part}: {value:.6g}")
            if nearest := decision.explanation.nearest[:MOST]:
                print(f"    nearest training images: {', '.join(nearest)}")

    def fail(self, image: str, reason: str) -> None:
        self._counts["failed"] += 1
        print(self._line(image, "ERROR", "", "", "", "", reason), flush=True)

    def end(self) -> None:
        print("\n" + ", ".join(f"{n} {what}" for what, n in self._counts.items() if n))

    def _line(self, image: str, verdict: str, predicted: str, *rest: str) -> str:
        confidence, score, threshold, why = rest
        cells = f"{image:<{self._image}}  {verdict:<8}  {predicted:<{self._class}}"
        return f"{cells}  {confidence:>10}  {score:>12}  {threshold:>12}  {why}".rstrip()


class _Json:
    """A list of records, with everything in them."""

    def __init__(self, guard: Guard, images: Sequence[str], *, why: bool) -> None:
        del guard, images, why
        self._records: list[dict[str, Any]] = []

    def add(self, image: str, decision: Decision) -> None:
        self._records.append({"image": image, **decision.record(), "error": None})

    def fail(self, image: str, reason: str) -> None:
        self._records.append({"image": image, "accepted": False, "error": reason})

    def end(self) -> None:
        print(json.dumps(self._records, indent=2, allow_nan=False, ensure_ascii=False))


class _Csv:
    """One row an image; an explanation is its reason."""

    COLUMNS = (
        *("image", "accepted", "label", "predicted", "confidence", "score", "threshold", "alarm", "why"),
        *("classifier_time_us", "monitor_time_us", "error"),
    )

    def __init__(self, guard: Guard, images: Sequence[str], *, why: bool) -> None:
        del guard, images
        self._why = why
        self._writer = csv.DictWriter(
            sys.stdout, self.COLUMNS, restval="", extrasaction="ignore", lineterminator="\n"
        )
        self._writer.writeheader()

    def add(self, image: str, decision: Decision) -> None:
        self._write(image, **decision.record() | {"why": _told(decision, why=self._why)})

    def fail(self, image: str, reason: str) -> None:
        self._write(image, accepted=False, error=reason)

    def _write(self, image: str, **told: Any) -> None:
        self._writer.writerow({"image": csv_cell(image)} | {name: csv_cell(told[name]) for name in told})

    def end(self) -> None:
        sys.stdout.flush()


_PRINTERS: dict[str, type[_DecisionTable | _Json | _Csv]] = {
    "table": _DecisionTable,
    "json": _Json,
    "csv": _Csv,
}
