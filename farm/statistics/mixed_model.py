"""A mixed model: blocks, and how much each of them changes an effect, are drawn by chance.

It serves where some block lacks some combination of levels: a monitor that failed in one run, or a factor
such as the classifier that changes from run to run only. Variances are estimated by restricted likelihood,
as ratios to what is left over that may be 0, as lme4 does: statsmodels' MixedLM serves as the reference in
tests, but takes seconds a table and fails where a variance is 0. Effects are tested by F of type II among
values that these variances make independent, with the degrees of freedom of the stratum that the effect is
judged by (containment, as SAS has it): where every block has everything and no variance is estimated as 0
it is the F of repeated measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize
from statsmodels.formula.api import ols

from farm.api.arrays import FloatArray
from farm.statistics.anova_result import Anova, Blocks, Effect, LevelMeans, PairedMeans, normality, repetition
from farm.statistics.design import Design, Terms, level_means, paired_means, why_no_fit
from farm.statistics.table import Undefined

Whitening: TypeAlias = Callable[[FloatArray], FloatArray]
"""From columns to such in which the values of a block are independent, with variance 1."""
_FLAT = 1e-5
"""Where 0 makes a variance less likely by no more than this (in -2 log likelihood), it is 0, as in lme4."""


def mixed_model(design: Design, value: str, alpha: float) -> Anova | Undefined:
    """Analyse a design in which blocks lack combinations of levels."""
    fixed = ols(design.formula, design.frame)
    if reason := why_no_fit(fixed, design):
        return Undefined(reason)
    exog, strata = fixed.exog, _strata(design)
    judged = {term: _within(design, term) for term in design.terms}
    free = {stratum: _degrees(design, strata, stratum) for stratum in {*judged.values()}}
    for term, stratum in judged.items():
        if not free[stratum]:
            what = f"what the {' x '.join(term)} does cannot be told from what a {design.block_noun} does"
            return Undefined(f"{what}; run all with other seeds too, five or more, or ask for fewer factors")
    variances, settled = _variances(design, exog, strata)
    whitened, _ = _whitening(design, strata, variances)
    y, x = whitened(design.scaled), whitened(exog)
    spread = np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64)
    params = spread @ x.T @ y
    noun = f"between {design.block_noun}s"
    names = [f"{noun} in the {' x '.join(one)}" if one else noun for one in strata] + ["left over"]
    components = dict(zip(names, variances * design.scale**2, strict=True))
    means: dict[str, LevelMeans | PairedMeans | Undefined] = {}
    for number, name in enumerate(design.factors):
        found = level_means(design, (name,), exog, params, spread, free[judged[(name,)]])
        if judged[(name,)] and isinstance(found, LevelMeans):
            means[name] = paired_means(design, number, found.means)
        else:
            means[name] = found
    return Anova(
        value=value,
        factors=design.factors,
        n=len(y),
        effects=tuple(_effect(design, whitened, term, free[judged[term]], alpha) for term in design.terms),
        smallest_cell=int(np.bincount(design.cell, minlength=design.n_cells).min()),
        largest_cell=int(np.bincount(design.cell).max()),
        normality=normality(y - x @ params, alpha),
        homogeneity=None,
        warnings=(*settled, *repetition(design.values, design.cell)),
        level_means=means,
        blocks=Blocks.of(design, "mixed model", components),
    )


def _within(design: Design, term: tuple[str, ...]) -> tuple[str, ...]:
    """Return which factors of an effect change inside a block; by their stratum the effect is judged."""
    levels = {factor: pd.Series(design.combination((factor,))[0]) for factor in term}
    return tuple(f for f, codes in levels.items() if codes.groupby(design.block).nunique().max() > 1)


def _strata(design: Design) -> Terms:
    """Return what blocks change at random, but for the finest, which is what is left over."""
    finest = _within(design, design.factors)
    every = dict.fromkeys([(), *(_within(design, term) for term in design.terms)])
    return tuple(stratum for stratum in every if stratum != finest)


def _indicators(design: Design, term: tuple[str, ...], *, of_block: bool = False) -> FloatArray:
    codes, n = design.combination(term)
    return np.eye(n * design.n_blocks if of_block else n)[codes + n * design.block if of_block else codes]


def _degrees(design: Design, strata: Terms, stratum: tuple[str, ...]) -> int:
    """Return how many degrees of freedom a stratum adds to the effects and to the strata that it contains."""
    fixed = [_indicators(design, term) for term in design.terms]
    if stratum not in strata:
        every = [_indicators(design, other, of_block=True) for other in strata]
        return len(design.values) - _rank([*fixed, *every])
    inside = [_indicators(design, other, of_block=True) for other in strata if {*other} < {*stratum}]
    return _rank([*fixed, *inside, _indicators(design, stratum, of_block=True)]) - _rank([*fixed, *inside])


def _rank(columns: Sequence[FloatArray]) -> int:
    return int(np.linalg.matrix_rank(np.hstack(columns)))


def _variances(design: Design, exog: FloatArray, strata: Terms) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the variance of each stratum and of what is left over, and what is to be said of it."""
    free = len(design.values) - exog.shape[1]

    def left(ratios: FloatArray) -> tuple[float, float]:
        whitened, log_determinant = _whitening(design, strata, np.array([*ratios**2, 1.0]))
        x, y = whitened(exog), whitened(design.scaled)
        squares = _left(x, y)
        return squares, log_determinant + float(np.linalg.slogdet(x.T @ x)[1]) + free * np.log(squares)

    found: Any = minimize(  # type: ignore[call-overload]
        lambda ratios: left(ratios)[1], np.ones(len(strata)), bounds=Bounds(0, np.inf), method="L-BFGS-B"
    )
    said = () if found.success else ("the estimate of the variances did not settle; take p for a rough one",)
    ratios = np.asarray(found.x, dtype=np.float64)
    for number in np.argsort(ratios).tolist():
        # Near 0 the likelihood is flat: where the search stops there is a matter of a processor's last bits.
        without = np.where(np.arange(len(ratios)) == number, 0.0, ratios)
        if left(without)[1] <= left(ratios)[1] + _FLAT:
            ratios = without
    return np.array([*ratios**2, 1.0]) * left(ratios)[0] / free, said


def _whitening(design: Design, strata: Terms, variances: FloatArray) -> tuple[Whitening, float]:
    """Return what makes values independent, and the logarithm of their covariance's determinant."""
    codes = [design.combination(stratum)[0] for stratum in strata]
    roots = []
    for number in range(design.n_blocks):
        rows = np.flatnonzero(design.block == number)
        covariance = np.eye(len(rows)) * variances[-1]
        for of, variance in zip(codes, variances, strict=False):
            covariance += variance * (of[rows, None] == of[rows])
        roots.append((rows, np.linalg.cholesky(covariance)))

    def whitened(columns: FloatArray) -> FloatArray:
        found = np.empty_like(columns)
        for rows, lower in roots:
            found[rows] = solve_triangular(lower, columns[rows], lower=True)
        return found

    return whitened, 2 * sum(float(np.log(np.diag(lower)).sum()) for _, lower in roots)


def _effect(
    design: Design,
    whitened: Whitening,
    term: tuple[str, ...],
    error_df: int,
    alpha: float,
) -> Effect:
    y = whitened(design.scaled)
    beside = [(), *(other for other in design.terms if not {*term} <= {*other})]
    others = [_indicators(design, other) for other in beside]
    both = [*others, _indicators(design, term)]
    df = _rank(both) - _rank(others)
    before, after = (_left(whitened(np.hstack(columns)), y) for columns in (others, both))
    f = max(before - after, 0.0) / df
    return Effect(
        factors=term,
        sum_of_squares=None,
        df=df,
        error=None,
        error_df=error_df,
        f=f,
        p=float(stats.f.sf(f, df, error_df)),
        eta_squared=None,
        partial_eta_squared=f * df / (f * df + error_df),
        omega_squared=None,
        alpha=alpha,
        repeated=f"{design.block_noun}s",
    )


def _left(columns: FloatArray, values: FloatArray) -> float:
    """Return the sum of squares that columns leave of values."""
    fitted = columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    return float(((values - fitted) ** 2).sum())
