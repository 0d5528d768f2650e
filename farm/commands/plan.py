"""`farm plan`: how large an experiment must be, from what is wanted, or from what a run has shown so far."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import Any

from rich.text import Text

from farm.commands.loading import loaded
from farm.commands.plan_guarantee import OPTIONS, of_guarantee
from farm.commands.plan_run import of_run, percent, rates_look, within
from farm.errors import ParameterError
from farm.report.looks import render_looks
from farm.report.terminal import printed
from farm.statistics.planning import (
    instances_for_half_width,
    instances_of_each_kind,
    onsets_for_delay_bound,
    sets_for_rank_difference,
)
from farm.statistics.ranks import sets_needed

ASK = (
    "plan: nothing was asked; try 'farm plan --half-width 0.02 --rate 0.1', 'farm plan --rank-difference 1 "
    "--monitors 8', 'farm plan --delay-bound', 'farm plan --guarantee bounded --confidence 0.99', or "
    "'farm plan RUN'"
)


def plan(options: argparse.Namespace) -> int:
    """Answer every question that was asked."""
    _check(options)
    answers: list[dict[str, Any]] = []
    if options.run:
        answers += [of_run(run, options.half_width, options.level) for run in loaded(options.run)]
    elif options.half_width is not None:
        answers.append(_kinds(options) if _asks_for_kinds(options) else _rate(options))
    if options.rank_difference is not None:
        answers.append(_ranks(options.rank_difference, options.monitors, options.alpha))
    if options.guarantee is not None:
        answers.append(of_guarantee(options))
    if options.delay_bound:
        answers.append(_delay(options.missed, options.level))
    if options.format == "json":
        print(json.dumps(answers, indent=2, allow_nan=False, ensure_ascii=False))
        return 0
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    several = sum("run" in answer for answer in answers) > 1
    for answer in answers:
        if several and "run" in answer:
            print(f"{answer['run']}:")
        if "rates" in answer:
            told = render_looks([rates_look(answer["rates"], options.half_width)], "table", width=width)
            sys.stdout.write(told)
        sys.stdout.write(printed(*map(Text, answer["sentences"]), width=width))
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse options without effect: whoever gave them expects one."""
    rates = options.rate is not None or _asks_for_kinds(options)
    ranks = options.rank_difference is not None or options.monitors is not None
    guarantee = options.guarantee is not None
    told = [f"--{name}" for name in OPTIONS if getattr(options, name) is not None]
    if told and not guarantee:
        raise ParameterError(f"plan: {told[0]} needs --guarantee, such as bounded")
    if not options.run and options.half_width is None:
        if rates:
            raise ParameterError("plan: --rate, --fpr, --fnr and --ood-share need --half-width, such as 0.02")
        if not (ranks or guarantee or options.delay_bound or options.missed):
            raise ParameterError(ASK)
    if options.run and rates:
        raise ParameterError("plan: --rate, --fpr, --fnr and --ood-share: RUN itself tells; leave them out")
    if options.rate is not None and _asks_for_kinds(options):
        raise ParameterError("plan: --rate beside --fpr, --fnr or --ood-share; expected one or the other")
    if (options.rank_difference is None) != (options.monitors is None):
        raise ParameterError("plan: --rank-difference and --monitors; expected both, such as 1.0 and 8")
    if options.missed and not options.delay_bound:
        raise ParameterError("plan: --missed has no effect without --delay-bound")


def _asks_for_kinds(options: argparse.Namespace) -> bool:
    return any(value is not None for value in (options.fpr, options.fnr, options.ood_share))


def _rate(options: argparse.Namespace) -> dict[str, Any]:
    n = instances_for_half_width(options.half_width, options.rate, options.level)
    near = "any rate" if options.rate is None else f"a rate near {percent(options.rate)}"
    worst = " These suffice whatever the rate: 50 % is the worst case." if options.rate is None else ""
    return {
        "question": "rate",
        "half_width": options.half_width,
        "rate": options.rate,
        "level": options.level,
        "instances": n,
        "sentences": [f"To know {near} {within(options.half_width, options.level)}: {n:,} instances.{worst}"],
    }


def _kinds(options: argparse.Namespace) -> dict[str, Any]:
    kinds = instances_of_each_kind(
        options.half_width, options.fpr, options.fnr, ood_share=options.ood_share, level=options.level
    )
    so_well = within(options.half_width, options.level)
    sentences = [
        f"To know a false-alarm rate (FPR) {_near(options.fpr)} {so_well}: {kinds.n_id:,} ID instances.",
        f"To know a miss rate (FNR) {_near(options.fnr)} {so_well}: {kinds.n_ood:,} OOD instances of each "
        "fault that is to have its own.",
    ]
    if options.ood_share is not None:
        share = percent(options.ood_share)
        sentences.append(f"A stream of which {share} are OOD has enough of both from {kinds.n_stream:,} on.")
    return {
        "question": "kinds",
        "half_width": options.half_width,
        "fpr": options.fpr,
        "fnr": options.fnr,
        "ood_share": options.ood_share,
        "level": options.level,
        "id_instances": kinds.n_id,
        "ood_instances": kinds.n_ood,
        "stream_length": kinds.n_stream,
        "sentences": sentences,
    }


def _ranks(difference: float, monitors: int, alpha: float) -> dict[str, Any]:
    n = sets_for_rank_difference(difference, monitors, alpha)
    fewest = sets_needed(monitors * (monitors - 1) // 2, alpha)
    # Where the fewest sets for any test decide, Nemenyi's would see the difference oftener than that.
    by_half = (
        "Monitors that truly differ by no more than that will show it about every second time; more sets "
        "make it surer."
    )
    return {
        "question": "ranks",
        "rank_difference": difference,
        "monitors": monitors,
        "alpha": alpha,
        "sets": n,
        "fewest_sets": fewest,
        "sentences": [
            f"For a difference of {difference:g} in mean rank between two of {monitors} monitors to count by "
            f"Nemenyi's test, as the critical-difference diagram shows it (alpha {alpha:g}): {n:,} benchmark "
            "sets.",
            *([by_half] if n > fewest else []),
            "Sentences of `farm compare` go by signed ranks of two monitors with Holm's correction, not by "
            f"mean ranks; fewer than {fewest} sets never tell two of {monitors} apart, by either test, nor "
            f"fewer than {sets_needed(monitors - 1, alpha)} one from a control.",
        ],
    }


def _delay(missed: int, level: float) -> dict[str, Any]:
    n = onsets_for_delay_bound(missed, level=level)
    but = "none of them missed" if missed == 0 else f"at most {missed} of them missed"
    return {
        "question": "delay",
        "missed": missed,
        "level": level,
        "onsets": n,
        "sentences": [
            f"To bound the delay that 95 % of all detections keep to, with {percent(level)} confidence: "
            f"{n:,} onsets, {but}."
        ],
    }


def _near(rate: float | None) -> str:
    return "of any size" if rate is None else f"near {percent(rate)}"
