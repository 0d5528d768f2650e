"""Analyses of variance: the source's, of all values as if independent, and with the networks as blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pandas as pd
from threadpoolctl import threadpool_limits

from farm.protocols.robustness.results import Results
from farm.protocols.robustness.summary import FEWEST, pairs_and_none, worst_trainings
from farm.statistics.anova import anova
from farm.statistics.anova_result import Anova, LevelMeans
from farm.statistics.design import BETWEEN
from farm.statistics.differences import (
    LevelDifferences,
    level_difference,
    level_differences,
    studentized_p,
)
from farm.statistics.table import Undefined

NETWORK = "network"
CLASSIFIER, TRANSFORMATION, LEVEL, SET = "classifier", "transformation", "level", "OOD set"
TRANSFORMED = "transformed"


@dataclass(frozen=True)
class Analyses:
    """One question, analysed twice."""

    measure: str
    factors: tuple[str, ...]
    independent: Anova | Undefined
    """As the source does: each value for itself."""
    by_network: Anova | Undefined
    """With networks as blocks: values of one network resemble each other."""
    left_out: tuple[str, ...] = ()
    """Transformations that do not come at all levels, and so cannot be crossed with these."""

    @property
    def effects(self) -> list[str]:
        """The names of the effects, in the order of the table."""
        for found in (self.independent, self.by_network):
            if isinstance(found, Anova):
                return [effect.name for effect in found.effects]
        return []


def classification(results: Results, measure: str) -> Analyses:
    """Ask how a measure depends on classifier, transformation and level: the source's Tables 2 to 4."""
    frame = results.classification
    levels = frame.groupby("transformation", sort=False)["level"].nunique()
    fewer = tuple(levels.index[levels < levels.max()])
    kept = frame[~frame["transformation"].isin(fewer)]
    return replace(_analysed(results, _table(kept, measure), measure), left_out=fewer)


def ood(results: Results, kind: str) -> Analyses:
    """Ask how AUROC depends on classifier and OOD set: the source's Tables 6, 8 and 11.

    Pairs have the untransformed natural images among them, and of GANs the worst training counts.
    """
    if kind == "gan":
        frame = worst_trainings(results)
    else:
        frame = pairs_and_none(results) if kind == "pair" else results.ood(kind)
    return _analysed(results, _table(frame, "auroc", sets=True), "auroc")


def plain_against_transformed(results: Results, measure: str) -> Analyses:
    """Ask whether classifiers differ on the plain test set and under all transformations: Table 1.

    For the source's analysis each plain value stands there once for each condition: it has so many runs of
    the plain test set, and takes conditions for repetitions. With networks as blocks each network has two
    values, one plain and one the mean over all conditions.
    """
    transformed, plain = results.classification, results.plain
    n = len(transformed[["transformation", "level"]].drop_duplicates())
    both = [(pd.concat([plain] * n), "no"), (transformed, "yes")]
    table = pd.concat([_table(frame, measure).assign(**{TRANSFORMED: said}) for frame, said in both])
    factors = _varying(table, (CLASSIFIER, TRANSFORMED))
    return _twice(results, table, measure, factors)


def _analysed(results: Results, table: pd.DataFrame, measure: str) -> Analyses:
    names = (CLASSIFIER, SET) if SET in table else (CLASSIFIER, TRANSFORMATION, LEVEL)
    return _twice(results, table, measure, _varying(table, names))


def _varying(table: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if table[name].nunique() > 1)


def _twice(results: Results, table: pd.DataFrame, measure: str, factors: tuple[str, ...]) -> Analyses:
    if why := _why_not(results, table, measure, factors):
        return Analyses(measure, factors, Undefined(why), Undefined(why))
    with threadpool_limits(1):  # small products: several threads would wait for one another
        independent = anova(table, measure, factors)
        by_network = anova(table, measure, factors, blocks=NETWORK)
    return Analyses(measure, factors, independent, by_network)


def _why_not(results: Results, table: pd.DataFrame, measure: str, factors: tuple[str, ...]) -> str:
    """Say why there is no analysis, if so."""
    if table.empty:
        return "there are no results"
    if not factors:
        return "there is one classifier, and one condition"
    if given := [name for name in results.classifiers if name in results.given]:
        return (
            f"{given[0]} brought its weights along, so that its repetitions are of one network and of one "
            "test set drawn anew: they are no independent evidence of what retraining would do"
        )
    if table["repetition"].nunique() < FEWEST:
        return "one repetition tells no spread; set repetitions to 5 or more"
    if missing := int(table[measure].isna().sum()):
        return f"{measure} has no value in {missing:,} of {len(table):,} results"
    return ""


def _table(frame: pd.DataFrame, measure: str, *, sets: bool = False) -> pd.DataFrame:
    """Return the columns of an analysis; levels as names, and networks by classifier and repetition."""
    table = frame[["classifier", "repetition", measure]].copy()
    if sets:
        table[SET] = frame["group"]
    else:
        table[TRANSFORMATION] = frame["transformation"]
        table[LEVEL] = frame["level"].map(lambda level: f"{level:g}")
    table[NETWORK] = [f"{a} {b}" for a, b in zip(frame["classifier"], frame["repetition"], strict=True)]
    return table


@dataclass(frozen=True)
class GroupedLevel:
    """A level of a factor: its mean, its comparison interval, and the letters of its groups.

    Two comparison intervals overlap where Tukey's test of the source's analysis tells no difference.
    `letters` are by that test, `letters_by_network` by tests within networks.
    """

    name: str
    mean: float
    low: float
    high: float
    letters: str
    letters_by_network: str


def groups(found: Analyses, factor: str) -> list[GroupedLevel] | Undefined:
    """Group the levels of a factor that are not told apart: the source's Figures 10, 24 and 26."""
    if isinstance(found.independent, Undefined):
        return found.independent
    of = found.independent.level_means.get(factor)
    compared = level_differences(found.independent, factor) if of is not None else Undefined("no such factor")
    if not found.independent.balanced:
        return Undefined("some results are missing, so that no one interval fits all pairs")
    if isinstance(compared, Undefined) or not isinstance(of, LevelMeans):
        return compared if isinstance(compared, Undefined) else Undefined("there are no means")
    second: LevelDifferences | Undefined = (
        level_differences(found.by_network, factor)
        if isinstance(found.by_network, Anova)
        else found.by_network
    )
    by_network = (
        {} if isinstance(second, Undefined) else dict(zip(second.levels, second.letters, strict=True))
    )
    # Half of the least difference that shows, on each side: in a balanced design one for all pairs.
    pair = compared.pairs[0]
    half = 0.0 if pair.low is None or pair.high is None else (pair.high - pair.low) / 4
    return [
        GroupedLevel(name, mean, mean - half, mean + half, letters, by_network.get(name, ""))
        for name, mean, letters in zip(compared.levels, compared.means, compared.letters, strict=True)
    ]


def tukey_between_classifiers(found: Analyses, factor: str) -> dict[tuple[str, str, str], float]:
    """Return Tukey's p of each two classifiers at each level of a factor, as the source compares them.

    The pairs are among all combinations of classifiers and levels. The keys are level and classifiers.
    """
    if isinstance(found.independent, Undefined):
        return {}
    of = found.independent.level_means.get(f"{CLASSIFIER} x {factor}")
    if not isinstance(of, LevelMeans):
        return {}
    place = {name: number for number, name in enumerate(of.levels)}
    levels = dict.fromkeys(name.rpartition(BETWEEN)[2] for name in of.levels)
    p: dict[tuple[str, str, str], float] = {}
    for level in levels:
        at = [name for name in place if name.endswith(f"{BETWEEN}{level}")]
        for one, other in combinations(at, 2):
            difference, error, df = level_difference(of, place[one], place[other])
            names = [name.removesuffix(f"{BETWEEN}{level}") for name in (one, other)]
            if difference is not None and error:
                q = math.sqrt(2) * abs(difference) / error
                p[level, names[0], names[1]] = p[level, names[1], names[0]] = studentized_p(q, len(place), df)
    return p
