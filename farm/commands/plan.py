"""`farm plan`: how large an experiment must be, from what is wanted, or from what a run has shown so far."""

from __future__ import annotations

import argparse
import json
from typing import Any

from farm.commands.plan_run import of_run, percent, print_rates, within
from farm.errors import ParameterError
from farm.statistics.planning import (
    instances_for_half_width,
    instances_of_each_kind,
    onsets_for_delay_bound,
    sets_for_rank_difference,
)

ASK = (
    "plan: nothing was asked; try 'farm plan --half-width 0.02 --rate 0.1', 'farm plan --rank-difference 1 "
    "--monitors 8', 'farm plan --delay-bound', or 'farm plan RUN'"
)


def plan(options: argparse.Namespace) -> int:
    """Answer every question that was asked."""
    _check(options)
    answers: list[dict[str, Any]] = []
    if options.run is not None:
        answers.append(of_run(options.run, options.half_width, options.level))
    elif options.half_width is not None:
        answers.append(_kinds(options) if _asks_for_kinds(options) else _rate(options))
    if options.rank_difference is not None:
        answers.append(_ranks(options.rank_difference, options.monitors, options.alpha))
    if options.delay_bound:
        answers.append(_delay(options.missed, options.level))
    if options.format == "json":
        print(json.dumps(answers, indent=2, allow_nan=False, ensure_ascii=False))
        return 0
    for answer in answers:
        if "rates" in answer:
            print_rates(answer["rates"], options.half_width)
        for sentence in answer["sentences"]:
            print(sentence)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse options without effect: whoever gave them expects one."""
    rates = options.rate is not None or _asks_for_kinds(options)
    ranks = options.rank_difference is not None or options.monitors is not None
    if options.run is None and options.half_width is None:
        if rates:
            raise ParameterError("plan: --rate, --fpr, --fnr and --ood-share need --half-width, such as 0.02")
        if not (ranks or options.delay_bound or options.missed):
            raise ParameterError(ASK)
    if options.run is not None and rates:
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
        "sentences": [f"To know {near} {within(options.half_width, options.level)}: {n} instances.{worst}"],
    }


def _kinds(options: argparse.Namespace) -> dict[str, Any]:
    kinds = instances_of_each_kind(
        options.half_width, options.fpr, options.fnr, ood_share=options.ood_share, level=options.level
    )
    so_well = within(options.half_width, options.level)
    sentences = [
        f"To know a false-alarm rate (FPR) {_near(options.fpr)} {so_well}: {kinds.n_id} ID instances.",
        f"To know a miss rate (FNR) {_near(options.fnr)} {so_well}: {kinds.n_ood} OOD instances of each "
        "fault that is to have its own.",
    ]
    if options.ood_share is not None:
        share = percent(options.ood_share)
        sentences.append(f"A stream of which {share} are OOD has enough of both from {kinds.n_stream} on.")
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
    return {
        "question": "ranks",
        "rank_difference": difference,
        "monitors": monitors,
        "alpha": alpha,
        "sets": n,
        "sentences": [
            f"For a difference of {difference:g} in mean rank between two of {monitors} monitors to count "
            f"(Nemenyi's test, alpha {alpha:g}): {n} benchmark sets.",
            "Monitors that truly differ by no more than that will show it about every second time; more sets "
            "make it surer.",
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
            f"{n} onsets, {but}."
        ],
    }


def _near(rate: float | None) -> str:
    return "of any size" if rate is None else f"near {percent(rate)}"
