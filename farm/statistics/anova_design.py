"""The table of an analysis of variance: checked, its factors in codes, and the model to fit to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm.api.arrays import FloatArray, IntArray
from farm.errors import DataError, ParameterError, suggestion
from farm.statistics.table import Undefined

Terms: TypeAlias = tuple[tuple[str, ...], ...]
"""The factors of each effect: one for a factor's own, several for an interaction."""

ORDERS = {"none": 1, "two-way": 2, "all": 3}
"""How many factors the interactions of that name have at most."""
MOST_FACTORS = 3


@dataclass(frozen=True)
class Design:
    """The table in codes; factors are f0, f1, ... there, so that any column name will do."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: tuple[IntArray, ...]
    values: FloatArray
    scale: float
    terms: Terms

    @classmethod
    def of(
        cls, table: pd.DataFrame, value: str, factors: tuple[str, ...], terms: Terms
    ) -> Design | Undefined:
        """Code the table, or say why it cannot be analysed."""
        values = table[value].to_numpy(dtype=np.float64, na_value=np.nan)
        for column in factors:
            if missing := int(table[column].isna().sum()):
                return Undefined(f"'{column}' is missing in {missing} of {len(table)} rows")
        if bad := int((~np.isfinite(values)).sum()):
            return Undefined(f"'{value}' is missing or infinite in {bad} of {len(table)} rows")
        if not len(values):
            return Undefined("there are no rows")
        coded = [_coded(table[column], column) for column in factors]
        for column, (_, levels) in zip(factors, coded, strict=True):
            if len(levels) < 2:
                return Undefined(f"the factor '{column}' has one level only, '{levels[0]}'")
        largest = float(np.abs(values).max())
        if np.ptp(values) <= 1e-13 * largest:
            return Undefined(f"each of the {len(values)} values of '{value}' is {values[0]:g}")
        codes, levels_of = zip(*coded, strict=True)
        return cls(factors, levels_of, codes, values, float(values.std()), terms)

    @property
    def frame(self) -> pd.DataFrame:
        """What is fitted; the values in units of their spread, so that sums of squares keep their digits."""
        columns: dict[str, Any] = {f"f{i}": pd.Categorical(codes) for i, codes in enumerate(self.codes)}
        return pd.DataFrame(columns | {"y": (self.values - self.values.mean()) / self.scale})

    def name(self, term: tuple[str, ...]) -> str:
        """Give a term's name in the formula."""
        return ":".join(f"f{self.factors.index(factor)}" for factor in term)

    @property
    def formula(self) -> str:
        """The model."""
        return "y ~ " + " + ".join(self.name(term) for term in self.terms)

    @property
    def n_cells(self) -> int:
        """How many combinations of levels there could be."""
        return int(np.prod([len(levels) for levels in self.levels]))

    @property
    def cell(self) -> IntArray:
        """Which combination of levels each row has."""
        shape = tuple(len(levels) for levels in self.levels)
        return np.asarray(np.ravel_multi_index(self.codes, shape), dtype=np.int64)

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


def terms_of(factors: tuple[str, ...], interactions: str | Iterable[Sequence[str]]) -> Terms:
    if not 1 <= len(factors) <= MOST_FACTORS or len(set(factors)) < len(factors):
        raise ParameterError(
            f"anova: factors = {list(factors)}; expected 1 to {MOST_FACTORS} different columns"
        )
    every = [term for size in (1, 2, 3) for term in combinations(factors, size)]
    if isinstance(interactions, str):
        if interactions not in ORDERS:
            raise ParameterError(
                f"anova: interactions = '{interactions}'; {suggestion(interactions, ORDERS)}"
            )
        return tuple(term for term in every if len(term) <= ORDERS[interactions])
    asked = [frozenset(term) for term in interactions]
    known = {frozenset(term): term for term in every if len(term) > 1}
    for term in asked:
        name = " x ".join(sorted(term))
        if term not in known:
            raise ParameterError(f"anova: interaction '{name}'; expected two or more of {', '.join(factors)}")
        for part in known:
            if part < term and part not in asked:
                missing = " x ".join(known[part])
                raise ParameterError(f"anova: interaction '{name}' without '{missing}'; expected both")
    return tuple(term for term in every if len(term) == 1 or frozenset(term) in asked)


def check_columns(table: pd.DataFrame, value: str, factors: Sequence[str], run: str | None) -> None:
    for column in (value, *factors, *([] if run is None else [run])):
        if column not in table:
            known = suggestion(column, map(str, table.columns))
            raise ParameterError(f"anova: column '{column}' is not in the table; {known}")
    if value in factors:
        raise ParameterError(f"anova: '{value}' is both value and factor; expected different columns")
    if not pd.api.types.is_numeric_dtype(table[value]):
        raise DataError(f"anova: column '{value}' is {table[value].dtype}; expected numbers")


def _coded(column: pd.Series, name: str) -> tuple[IntArray, tuple[str, ...]]:
    """Give a factor as codes of its sorted levels."""
    found = list(column.unique())
    try:
        found.sort()
    except TypeError:
        found.sort(key=str)
    levels = tuple(str(level) for level in found)
    if len(set(levels)) < len(levels):
        raise DataError(f"anova: two levels of '{name}' read alike; expected each under a name of its own")
    return np.asarray(pd.Index(found).get_indexer(pd.Index(column)), dtype=np.int64), levels
