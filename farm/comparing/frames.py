"""A comparison as tables for pandas: one row a thing, one name a column, no prose in cells.

What is undefined is NaN or None; why it is so stands in the comparison itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from farm.comparing.sections import Section
from farm.statistics.ranks import Friedman, RankComparison

if TYPE_CHECKING:
    from farm.comparing.comparison import Comparison

VALUES: tuple[str, ...] = ("measure", "section", "sets", "n", "tracks", "monitor", "value", "low", "high")
VALUES += ("p", "like_best", "like_control", "gap")
RANKS = ("category", "sets", "monitor", "mean_rank")
TESTS: tuple[str, ...] = ("category", "sets", "monitors", "chi_squared", "chi_squared_df", "chi_squared_p")
TESTS += ("f", "f_df", "f_error_df", "f_p", "critical_difference", "alpha", "sets_needed")
PAIRS: tuple[str, ...] = ("over", "name", "first", "second", "p", "method", "floor", "needed", "needed_of")
PAIRS += ("n", "n_equal", "first_sum", "second_sum", "p_alone", "p_holm", "p_shaffer", "p_nemenyi")
GUARANTEES: tuple[str, ...] = ("monitor", "what", "at_most", "on_average", "confidence", "unit", "event")
GUARANTEES += ("by", "where", "group", "n_groups", "value", "low", "high", "n", "n_units", "verdict")
TEXTS: tuple[str, ...] = ("measure", "section", "monitor", "gap", "category", "over", "name", "first")
TEXTS += (
    "second",
    "method",
    "needed_of",
    "what",
    "unit",
    "event",
    "by",
    "where",
    "group",
    "verdict",
    "reason",
)
KINDS = dict.fromkeys((*VALUES, *RANKS, *TESTS, *PAIRS, *GUARANTEES), "float64")
KINDS |= dict.fromkeys(("sets", "monitors", "chi_squared_df", "f_df", "f_error_df"), "int64")
KINDS |= dict.fromkeys(("like_best", "like_control", "on_average"), "boolean")
KINDS |= dict.fromkeys(("n_groups", "n_units", "tracks", "needed", "sets_needed", "n", "n_equal"), "Int64")
"""Of which kind the columns are that hold no text, whether or not anything is in them."""
BY_RESAMPLING, BESIDE_CONTROL, BY_RANKS = "resampling-tukey", "resampling-holm", "wilcoxon-holm"
"""How p came about: by resampling tracks or episodes, with Tukey's range or Holm's correction, or by
Wilcoxon's signed ranks with Holm's correction."""


def values_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row a section and monitor: the mean over its sets, its interval, and p by resampling."""
    rows = (
        {
            "measure": comparison.measure.name,
            "section": one.name,
            "sets": len(one.sets),
            "n": one.n,
            "tracks": one.n_groups,
            "monitor": each.monitor,
            **{name: getattr(each, name).value for name in ("value", "low", "high", "p")},
            "like_best": each.like_best,
            "like_control": each.like_control,
            "gap": each.gap,
        }
        for one in comparison.sections
        for each in one.standings
    )
    return _frame(rows, VALUES)


def ranks_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row a category and monitor: its mean rank over the sets, best first."""
    rows = (
        {"category": category, "sets": ranks.n_sets, "monitor": monitor, "mean_rank": mean}
        for category, ranks in ranked(comparison)
        for monitor, mean in zip(ranks.monitors, ranks.mean_ranks, strict=True)
    )
    return _frame(rows, RANKS)


def tests_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row a category: Friedman's chi-squared, Iman and Davenport's F, the critical difference.

    `sets_needed` is how many it takes where these are too few for any test to tell a pair apart.
    """
    rows = (
        {
            "category": category,
            "sets": ranks.n_sets,
            "monitors": len(ranks.monitors),
            **friedman_numbers(ranks.friedman),
            "critical_difference": ranks.critical_difference,
            "alpha": ranks.alpha,
            "sets_needed": needed(ranks),
        }
        for category, ranks in ranked(comparison)
    )
    return _frame(rows, TESTS)


def friedman_numbers(found: Friedman) -> dict[str, float | None]:
    """Return Friedman's test by name, what is undefined as None."""
    df, error_df = found.degrees_of_freedom
    return {
        "chi_squared": found.chi_squared.json,
        "chi_squared_df": df,
        "chi_squared_p": found.chi_squared_p.json,
        "f": found.statistic.json,
        "f_df": df,
        "f_error_df": error_df,
        "f_p": found.p.json,
    }


def pairs_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row a pair of monitors that was compared.

    `over` says whether sets were ranked or instances resampled, and `method` how p came about. `p` is what
    sentences and marks are of, `floor` the least that it can be, `needed` how many it takes where that is
    above alpha: sets, tracks a side or replicates, as `needed_of` says. The other corrections are there where
    sets were ranked.
    """
    rows = [
        {"over": "instances", "name": one.name, **pair}
        for one in comparison.sections
        for pair in stream_pairs(one)
    ]
    rows += [
        {"over": "sets", "name": category, **pair}
        for category, ranks in ranked(comparison)
        for pair in rank_pairs(ranks)
    ]
    return _frame(rows, PAIRS)


def guarantees_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a row a promise and place: on ID instances first, then fault by fault, where all is void."""
    rows = ({"monitor": each.promise.monitor, **each.record()} for each in comparison.promises)
    return _frame(rows, GUARANTEES)


def stream_pairs(section: Section) -> Iterator[dict[str, Any]]:
    """Return the best, or the control, beside each other monitor of which there is a p."""
    for standing in section.standings:
        if section.resolution is not None and standing.p.defined:
            needed_of, needed = section.resolution.needed or (None, None)
            yield {
                "first": section.control or section.best,
                "second": standing.monitor,
                "p": standing.p.value,
                "method": BY_RESAMPLING if section.control is None else BESIDE_CONTROL,
                "floor": section.resolution.floor,
                "needed": needed,
                "needed_of": needed_of,
            }


def rank_pairs(ranks: RankComparison) -> Iterator[dict[str, Any]]:
    """Return all pairs, or the control's, with each p there is of them."""
    for pair in ranks.wilcoxon:
        every = ranks.control is None
        yield {
            **asdict(pair),
            "p": pair.p_holm,
            "p_alone": pair.p,
            "p_nemenyi": ranks.nemenyi_p(pair.first, pair.second) if every else None,
            "method": BY_RANKS,
            "floor": ranks.floor,
            "needed": needed(ranks),
            "needed_of": "sets" if ranks.too_few else None,
        }


def needed(ranks: RankComparison) -> int | None:
    """Return how many sets it takes to tell any pair apart, where there are too few."""
    return ranks.sets_needed if ranks.too_few else None


def ranked(comparison: Comparison) -> Iterator[tuple[str, RankComparison]]:
    """Return the categories that have ranks, with these."""
    for one in comparison.conclusions:
        if isinstance(one.ranks, RankComparison):
            yield one.category, one.ranks


def _frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    found = pd.DataFrame([{name: row.get(name) for name in columns} for row in rows], columns=list(columns))
    return found.astype({name: KINDS[name] for name in columns if name not in TEXTS})
