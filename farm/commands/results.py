"""`farm compare`, `farm judge` and `farm inspect`: from readouts to tables. None imports torch."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farm.commands.loading import loaded, prices_in
from farm.commands.systems import check_options, compare_systems
from farm.errors import ExperimentError
from farm.judging import JudgedRun
from farm.judging.classifier_check import classifier_warnings
from farm.judging.readouts import is_large, judged_folders, judged_records
from farm.protocols import Protocol, protocol_of
from farm.report.tables import render
from farm.store.files import check_free
from farm.store.readouts import Readouts

if TYPE_CHECKING:
    from farm.comparing import Conclusion
    from farm.gate.answer import Answer
    from farm.gate.drift import Reference
    from farm.gate.label_free import LabelledReference
    from farm.judging.inspection import InspectedRun, Look


def compare(options: argparse.Namespace) -> int:
    """Compare the monitors of one or more runs, and draw the critical-difference diagram if asked to."""
    from farm.comparing.comparison import compare as compare_readouts
    from farm.gate.answer import answers, plain_confidence
    from farm.report.comparison import gaps, render_comparison, render_table, why_empty

    check_options(options)
    of = [made for place in options.runs if (made := protocol_of(place)) is not None]
    if options.systems and not of:
        return compare_systems(options)
    if of:
        return _compare_protocol(of[0], options)
    if options.cd:
        from farm.report.figures import check_target

        check_target(Path(options.cd), "--cd")
    if options.out:
        check_free(Path(options.out))
    runs = loaded(options.runs)
    comparison = compare_readouts(
        *runs,
        measure=options.measure,
        by=options.by,
        alpha=options.alpha,
        undefined=options.undefined,
        only=options.monitor,
        replicates=options.replicates,
        seed=options.seed,
        rope=options.rope,
        control=options.control,
        false_alarms=options.false_alarms,
        promises_only=options.table == "guarantees" and not (options.cd or options.out),
    )
    # Each stream of a run has all of its ID instances, by which its classifier is judged.
    tables = {stream.run: stream for one in comparison.sets for stream in one.streams}
    _warn([(str(runs[number].run["folder"]), classifier_warnings(each)) for number, each in tables.items()])
    style = "latex" if options.latex else options.format
    width, colour = _terminal()
    if options.table:
        sys.stdout.write(render_table(comparison, options.table, style, width=width))
        why = why_empty(comparison, options.table) if style in ("csv", "json") else None
        left_out = () if options.table == "guarantees" else gaps(comparison)
        for gap in [*([why] if why else []), *left_out]:
            print(f"farm: {gap}", file=sys.stderr)
    else:
        # CSV has no place for sentences.
        found = (
            []
            if style == "csv"
            else answers(
                comparison.sets,
                only=comparison.monitors,
                alpha=options.alpha,
                replicates=options.replicates,
                seed=options.seed,
                control=options.control,
                confidence=plain_confidence(run.run for run in runs),
            )
        )
        sys.stdout.write(render_comparison(comparison, style, answer=found, width=width, colour=colour))
    if options.cd:
        _draw(comparison.conclusions, options.cd)
    if options.out:
        comparison.save(options.out)
        print(f"farm: kept in {options.out}", file=sys.stderr)
    return 0


def _compare_protocol(of: Protocol, options: argparse.Namespace) -> int:
    """Print what the campaign of a protocol found; it has tables of its own, and one folder at a time."""
    if len(options.runs) > 1:
        raise ExperimentError(
            f"{options.runs[0]} is one of {len(options.runs)} folders, and some are of a protocol; compare "
            "such a folder alone"
        )
    if options.cd or options.out or options.table or options.systems:
        raise ExperimentError(
            "--cd, --out, --table and --systems have no effect on a protocol's folder; leave them out"
        )
    print_looks(of.tables(of.results(options.runs[0])), "latex" if options.latex else options.format)
    return 0


def print_looks(looks: Sequence[Look], style: str) -> None:
    """Print looks as wide as the terminal."""
    from farm.report.looks import render_looks

    sys.stdout.write(render_looks(looks, style, width=_terminal(140)[0]))


def _draw(conclusions: Sequence[Conclusion], out: str) -> None:
    """Draw the ranks over all sets, or of the one category there is."""
    from farm.report.figures import critical_difference, save
    from farm.statistics.table import Undefined

    last = conclusions[-1]
    if isinstance(last.ranks, Undefined):
        raise ExperimentError(f"--cd {out}: nothing to draw; {last.ranks.reason}")
    save(critical_difference(last.ranks, about=last.category), Path(out))
    print(f"farm: drawn to {out}", file=sys.stderr)


def judge(options: argparse.Namespace) -> int:
    """Judge runs, or a user's own logs; a folder may be larger than memory."""
    if options.domain:
        return _by_scenarios(options)
    if options.k:
        raise ExperimentError("--k has no effect without --domain; leave it out")
    hint = "" if options.by else "; --by COLUMN tells alarm rates by one"
    reference = _reference(options.reference) if options.reference else None
    labelled = None if reference is None else _labelled(reference)
    records: list[dict[str, Any]] = []
    signs, looks = [], []
    for place in judged_folders(options.readouts):
        if reference is None and not options.by and is_large(place):
            records += judged_records(place)
            continue
        for readouts in loaded([place], options.by, hint=hint, probabilities=labelled is not None):
            found, warnings = _judged(readouts, options.by, reference)
            records += found
            signs.append((str(readouts.run["folder"]), warnings))
            if labelled is not None:
                accuracy = labelled.accuracy(readouts)
                looks.append(accuracy.look)
                records += accuracy.records if options.format in DATA else []
    if labelled is not None:
        looks += labelled.looks
        records += labelled.records if options.format in DATA else []
    _warn(signs)
    print_records(records, options.format, everything=options.all)
    if looks and options.format not in DATA:
        print()
        print_looks(looks, options.format)
    return 0


def _by_scenarios(options: argparse.Namespace) -> int:
    """Print what runs and logs say by the scenarios of a domain."""
    from farm.protocols.dependability.logs import scenario_looks

    for name in ("by", "reference", "all"):
        if getattr(options, name):
            raise ExperimentError(f"--{name} has no effect beside --domain; leave one of them out")
    ks = options.k or [2]
    for place in judged_folders(options.readouts):
        print_looks(list(scenario_looks(place, options.domain, ks)), options.format)
    return 0


def _warn(signs: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Say beside the output which classifiers may not be what was meant; once what is true of several."""
    found: dict[str, list[str]] = {}
    for folder, warnings in signs:
        for warning in warnings:
            found.setdefault(warning, []).append(folder)
    for warning, (first, *others) in found.items():
        more = f" and {len(others):,} more" if others else ""
        print(f"farm: warning: {first}{more}: {warning}", file=sys.stderr)


def _reference(path: str) -> Reference:
    from farm.gate.drift import Reference

    return Reference.load(path, probabilities=True)


def _labelled(reference: Reference) -> LabelledReference | None:
    from farm.gate.label_free import LabelledReference

    return LabelledReference.of(reference)


def _judged(
    readouts: Readouts, by: Sequence[str], reference: Reference | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Judge a run and its classifier, or tell alarm rates where nothing tells what is right, or if asked."""
    if not by and reference is None:
        judged = JudgedRun.of(readouts.instances, readouts.alarms, readouts.run)
        if any(record["specific"] or record["overall"] for record in judged.records):
            return judged.records, classifier_warnings(judged.table)
    from farm.gate.alarm_rates import PARTS, alarm_records

    return alarm_records(readouts, by or PARTS, reference), []


def inspect(options: argparse.Namespace) -> int:
    """Print what was asked for of each run."""
    from farm.judging import inspection

    if options.images:
        from farm.commands.inspect_images import draw

        return draw(options, loaded(options.run))
    if options.monitor or options.out:
        raise ExperimentError("--monitor and --out have no effect without --images missed|cancelled|ood|id")
    if options.deadline and "episodes" not in options.look:
        raise ExperimentError("--deadline has no effect without --look episodes")
    if not (options.look or options.ood_share or options.costs or options.pair or options.label_free):
        asked = " ".join(f"--look {name}" for name in (*inspection.LOOKS, *TOGETHER))
        raise ExperimentError(
            f"nothing to look at; give {asked}, --ood-share P, --costs FILE, --pair A B, "
            "--label-free or --images KIND"
        )
    prices = prices_in(options.costs) if options.costs else None
    looks = []
    readouts = loaded(options.run, probabilities=options.label_free)
    runs = [inspection.InspectedRun.of(each) for each in readouts]
    for each, run in zip(readouts, runs, strict=True):
        alone = [name for name in options.look if name in inspection.LOOKS]
        own = [look for name in alone for look in inspection.LOOKS[name](run)]
        if options.ood_share:
            own += inspection.at_share(run, options.ood_share)
        if options.pair:
            own += inspection.pair(run, *options.pair)
        if prices is not None:
            own += inspection.costs(run, prices)
        of_run = f"{each.run['folder']}: " if len(readouts) > 1 else ""
        looks += [replace(look, title=of_run + look.title) for look in own]
    looks += _together(runs, options.look, options.deadline)
    if options.label_free:
        from farm.judging.label_free_looks import label_free_looks

        looks += label_free_looks(readouts)
    print_looks(looks, options.format)
    return 0


DATA = ("json", "csv")
"""The formats in which all is one list of records."""
TOGETHER = ("episodes", "delays")
"""The looks at all runs as one table."""


def _together(runs: Sequence[InspectedRun], asked: Sequence[str], deadline: str | None) -> Iterator[Look]:
    from farm.judging import episode_looks

    for name in asked:
        if name == "episodes":
            granted = None if deadline is None else episode_looks.Deadline.parse(deadline)
            yield from episode_looks.episodes(runs, granted)
        elif name == "delays":
            yield from episode_looks.delays_at_false_alarms(runs)


def print_records(records: Sequence[dict[str, Any]], style: str, *, everything: bool = False) -> None:
    """Print records; a table takes the terminal's width and, in a terminal, colours."""
    width, colour = _terminal()
    sys.stdout.write(render(records, style, width=width, colour=colour, everything=everything))


def print_answers(answers: Sequence[Answer], warnings: Sequence[str]) -> None:
    """Print what a run says in plain sentences, and before it why that may mean little."""
    from farm.report.terminal import printed, sentences

    width, colour = _terminal()
    told = sentences([each.sentence for each in answers], warnings)
    sys.stdout.write(printed(told, width=width, colour=colour))


def _terminal(widest: int = 120) -> tuple[int, bool]:
    return min(shutil.get_terminal_size((100, 24)).columns, widest), sys.stdout.isatty()
