"""What an analysis of variance is of: factors, their levels, and the blocks that values come in."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm.api.arrays import FloatArray, IntArray
from farm.errors import ParameterError, suggestion
from farm.statistics.anova_result import LevelMeans, PairedMeans
from farm.statistics.table import Undefined

Terms: TypeAlias = tuple[tuple[str, ...], ...]
"""The factors of each effect: one for a factor's own, several for an interaction."""

ORDERS = {"none": 1, "two-way": 2, "all": 3}
"""How many factors the interactions of that name have at most."""
MOST_FACTORS = 3
BETWEEN = ", "
"""Between the levels that make a combination."""


@dataclass(frozen=True)
class Design:
    """The table in codes; factors are f0, f1, ... there, so that any column name will do."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: tuple[IntArray, ...]
    values: FloatArray
    scale: float
    terms: Terms
    block_noun: str | None = None
    """What a block is; None where every value stands for itself."""
    block: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Of each value, its block."""
    averaged: tuple[int, int] = (1, 1)
    """Of how many rows a value is the mean, at the least and at the most."""

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        value: str,
        factors: tuple[str, ...],
        terms: Terms,
        blocks: str | None = None,
    ) -> Design | Undefined:
        """Code the table, or say why it cannot be analysed; a block's rows of equal levels are averaged."""
        values = table[value].to_numpy(dtype=np.float64, na_value=np.nan)
        columns = [*factors, *([] if blocks is None else [blocks])]
        for column in columns:
            if missing := int(table[column].isna().sum()):
                return Undefined(f"'{column}' is missing in {missing} of {len(table)} rows")
        if bad := int((~np.isfinite(values)).sum()):
            return Undefined(f"'{value}' is missing or infinite in {bad} of {len(table)} rows")
        if not len(values):
            return Undefined("there are no rows")
        averaged = (1, 1)
        if blocks is not None:
            alike = table.groupby(columns, observed=True)[value]
            averaged = int(alike.size().min()), int(alike.size().max())
            table = alike.mean().reset_index()
            values = table[value].to_numpy(dtype=np.float64)
        codes, found = zip(*(pd.factorize(table[column], sort=True) for column in factors), strict=True)
        for column, levels in zip(factors, found, strict=True):
            if len(levels) < 2:
                return Undefined(f"the factor '{column}' has one level only, '{levels[0]}'")
        largest = float(np.abs(values).max())
        if np.ptp(values) <= 1e-13 * largest:
            return Undefined(f"each of the {len(values)} values of '{value}' is {values[0]:g}")
        names = tuple(tuple(map(str, levels)) for levels in found)
        block = np.empty(0, dtype=np.int64) if blocks is None else pd.factorize(table[blocks])[0]
        return cls(factors, names, codes, values, float(values.std()), terms, blocks, block, averaged)

    @property
    def scaled(self) -> FloatArray:
        """The values around their mean, in units of their spread: sums of squares keep their digits."""
        return np.asarray((self.values - self.values.mean()) / self.scale)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(np.unique(self.block))

    @property
    def frame(self) -> pd.DataFrame:
        """What is fitted."""
        columns: dict[str, Any] = {f"f{i}": pd.Categorical(codes) for i, codes in enumerate(self.codes)}
        return pd.DataFrame(columns | {"y": self.scaled})

    def combination(self, term: tuple[str, ...]) -> tuple[IntArray, int]:
        """Return which combination of some factors' levels each value has, and how many there could be."""
        picked = [self.factors.index(factor) for factor in term]
        shape = tuple(len(self.levels[i]) for i in picked)
        if not picked:
            return np.zeros(len(self.values), dtype=np.int64), 1
        found = np.ravel_multi_index(tuple(self.codes[i] for i in picked), shape)
        return np.asarray(found, dtype=np.int64), int(np.prod(shape))

    def name(self, term: tuple[str, ...]) -> str:
        """Return a term's name in the formula."""
        return ":".join(f"f{self.factors.index(factor)}" for factor in term)

    @property
    def formula(self) -> str:
        """The model."""
        return "y ~ " + " + ".join(self.name(term) for term in self.terms)

    @property
    def n_cells(self) -> int:
        """How many combinations of levels there could be."""
        return self.combination(self.factors)[1]

    @property
    def cell(self) -> IntArray:
        """Which combination of levels each row has."""
        return self.combination(self.factors)[0]

    def empty_combination(self) -> str | None:
        """Describe a combination of levels that an interaction asks for and no run has."""
        for term in self.terms:
            picked = [self.factors.index(factor) for factor in term]
            counts = np.zeros([len(self.levels[i]) for i in picked], dtype=np.int64)
            np.add.at(counts, tuple(self.codes[i] for i in picked), 1)
            empty = np.argwhere(counts == 0)
            if len(empty):
                first = " and ".join(
                    f"{f} '{self.levels[i][j]}'" for f, i, j in zip(term, picked, empty[0], strict=True)
                )
                which = " x ".join(term)
                return f"{len(empty)} of {counts.size} combinations of {which} have no run, such as {first}"
        return None


def terms_of(factors: tuple[str, ...], interactions: str) -> Terms:
    """Return the effects of some factors, with interactions up to the order of that name."""
    if not 1 <= len(factors) <= MOST_FACTORS or len(set(factors)) < len(factors):
        raise ParameterError(
            f"anova: factors = {list(factors)}; expected 1 to {MOST_FACTORS} different columns"
        )
    if interactions not in ORDERS:
        raise ParameterError(f"anova: interactions = '{interactions}'; {suggestion(interactions, ORDERS)}")
    sizes = range(1, ORDERS[interactions] + 1)
    return tuple(term for size in sizes for term in combinations(factors, size))


def why_no_fit(model: Any, design: Design) -> str | None:
    """Say why the fixed effects of a model cannot be told apart."""
    if empty := design.empty_combination():
        return f"{empty}; run them, or leave the interaction out"
    n, needed = model.exog.shape
    if np.linalg.matrix_rank(model.exog) < min(n, needed):
        return "the factors change together, so that their effects cannot be told apart"
    if n <= needed:
        few = f"{n} values leave no degree of freedom for the error"
        return f"{few}; repeat runs with other seeds, five or more, or leave an interaction out"
    return None


def level_means(
    design: Design,
    term: tuple[str, ...],
    exog: FloatArray,
    params: FloatArray,
    covariance: FloatArray,
    error_df: int,
) -> LevelMeans | Undefined:
    """Return the means at each level of a factor, or of combinations, by a model of scaled values."""
    cells, first = np.unique(design.cell, return_index=True)
    if len(cells) < design.n_cells:
        empty = f"{design.n_cells - len(cells)} of {design.n_cells} combinations of levels have no run"
        return Undefined(f"{empty}: not every level was tried under the same conditions")
    # One row of the model's matrix for each combination; a level's mean is the mean over its rows.
    (codes, n_levels), rows = design.combination(term), exog[first]
    weights = np.stack([rows[codes[first] == level].mean(axis=0) for level in range(n_levels)])
    of_means = weights @ covariance @ weights.T * design.scale**2
    means = weights @ params * design.scale + design.values.mean()
    named = product(*(design.levels[design.factors.index(factor)] for factor in term))
    return LevelMeans(
        levels=tuple(map(BETWEEN.join, named)),
        means=tuple(means.tolist()),
        covariance=tuple(tuple(row) for row in of_means.tolist()),
        error_df=error_df,
    )


def paired_means(design: Design, number: int, means: tuple[float, ...]) -> PairedMeans:
    """Set what each block has at the levels of a factor beside each other."""
    table = np.full((design.n_blocks, *map(len, design.levels)), np.nan)
    table[(design.block, *design.codes)] = design.values
    levels = design.levels[number]
    values = np.moveaxis(table, number + 1, 1).reshape(design.n_blocks, len(levels), -1)
    return PairedMeans(levels, means, values)
