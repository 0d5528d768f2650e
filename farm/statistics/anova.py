"""Analysis of variance over repeated runs: which factors, alone or together, move a measure.

Sums of squares are of type II: each effect beside all others that do not contain it. In a balanced design all
types agree. In others type II tests a factor with more power than type III where its interactions are small,
does not hang on how levels are coded, and asks about a factor what an average over the runs at hand answers;
where an interaction is large, neither type's answer about the factor alone means much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from farm.errors import ParameterError
from farm.statistics.anova_checks import homogeneity, normality, repetition
from farm.statistics.anova_design import Design, check_columns, terms_of
from farm.statistics.anova_result import Anova, Effect, LevelMeans
from farm.statistics.table import Undefined


def anova(
    table: pd.DataFrame,
    value: str,
    factors: Sequence[str],
    *,
    interactions: str | Iterable[Sequence[str]] = "two-way",
    run: str | None = None,
    alpha: float = 0.05,
) -> Anova | Undefined:
    """Split the variance of a measure between one to three factors, their interactions and the error.

    Parameters
    ----------
    table
        One row a run; runs with the same levels are repeats.
    value
        The column of the measure. Where one is missing nothing is analysed: which runs to leave out is for
        the user to say.
    factors
        The columns of the factors, numbers among them taken as names.
    interactions
        `none`, `two-way` (between each two factors), `all`, or a list such as `[("monitor", "fault")]`.
        What is left out belongs to the error.
    run
        The column that tells which run a row comes from, to find runs that count more than once.
    alpha
        From which p on an effect shows, or an assumption is doubted.

    Examples
    --------
    >>> faults = ["fog", "fog", "snow", "snow"]
    >>> table = pd.DataFrame({"monitor": ["odin"] * 4 + ["oob"] * 4, "fault": faults * 2})
    >>> table["mcc"] = [0.50, 0.54, 0.61, 0.59, 0.30, 0.34, 0.43, 0.37]
    >>> found = anova(table, "mcc", ["monitor", "fault"])
    >>> print(found.effect("monitor").sentence)
    the monitor explains 83 % of the variance (F(1, 4) = 88.9, p < 0.001)
    """
    terms = terms_of(tuple(factors), interactions)
    check_columns(table, value, factors, run)
    if not 0 < alpha < 1:
        raise ParameterError(f"anova: alpha = {alpha}; expected a number between 0 and 1")
    design = Design.of(table, value, tuple(factors), terms)
    if isinstance(design, Undefined):
        return design
    model = ols(design.formula, design.frame)
    if reason := _why_no_fit(model, design):
        return Undefined(reason)
    fit = model.fit()
    if fit.ssr <= 1e-24 * len(design.values):
        return Undefined(
            "the levels fix every value: no error is left to compare with (are runs copies of one?)"
        )
    sizes = np.bincount(design.cell, minlength=design.n_cells)
    values = design.values
    return Anova(
        value=value,
        factors=design.factors,
        levels=design.levels,
        n=len(values),
        effects=_effects(fit, design, alpha),
        error_sum_of_squares=float(fit.ssr) * design.scale**2,
        error_df=int(fit.df_resid),
        total_sum_of_squares=float(fit.centered_tss) * design.scale**2,
        r_squared=float(fit.rsquared),
        smallest_cell=int(sizes.min()),
        largest_cell=int(sizes.max()),
        normality=normality(np.asarray(fit.resid, dtype=np.float64), alpha),
        homogeneity=homogeneity(values, design.cell, alpha),
        warnings=repetition(values, design.cell, None if run is None else table[run]),
        level_means=tuple(_level_means(fit, design, number) for number in range(len(factors))),
        alpha=alpha,
    )


def _why_no_fit(model: Any, design: Design) -> str | None:
    if empty := design.empty_combination():
        return f"{empty}; run them, or leave the interaction out"
    n, needed = model.exog.shape
    if np.linalg.matrix_rank(model.exog) < min(n, needed):
        return "the factors change together, so that their effects cannot be told apart"
    if n <= needed:
        return f"{n} runs leave no degree of freedom for the error; repeat runs, or leave an interaction out"
    return None


def _effects(fit: Any, design: Design, alpha: float) -> tuple[Effect, ...]:
    rows = anova_lm(fit, typ=2)
    total, error_df = float(fit.centered_tss), int(fit.df_resid)
    error = float(fit.ssr)
    effects = []
    for term in design.terms:
        row = rows.loc[design.name(term)]
        # Rounding may carry the sum of an effect that is none below 0 by a last bit.
        squares, df = max(float(row["sum_sq"]), 0.0), int(row["df"])
        effects.append(
            Effect(
                factors=term,
                sum_of_squares=squares * design.scale**2,
                df=df,
                error_df=error_df,
                f=max(float(row["F"]), 0.0),
                p=float(row["PR(>F)"]),
                eta_squared=squares / total,
                partial_eta_squared=squares / (squares + error),
                omega_squared=(squares - df * error / error_df) / (total + error / error_df),
                alpha=alpha,
            )
        )
    return tuple(effects)


def _level_means(fit: Any, design: Design, number: int) -> LevelMeans | Undefined:
    cells, first = np.unique(design.cell, return_index=True)
    if len(cells) < design.n_cells:
        empty = f"{design.n_cells - len(cells)} of {design.n_cells} combinations of levels have no run"
        return Undefined(f"{empty}: not every level was tried under the same conditions")
    # One row of the model's matrix for each combination; a level's mean is the mean over its rows.
    codes, rows = design.codes[number], fit.model.exog[first]
    n_levels = len(design.levels[number])
    weights = np.stack([rows[codes[first] == level].mean(axis=0) for level in range(n_levels)])
    covariance = weights @ fit.cov_params().to_numpy() @ weights.T * design.scale**2
    means = weights @ fit.params.to_numpy() * design.scale + design.values.mean()
    return LevelMeans(
        factor=design.factors[number],
        levels=design.levels[number],
        n=tuple(np.bincount(codes, minlength=n_levels).tolist()),
        means=tuple(means.tolist()),
        covariance=tuple(tuple(row) for row in covariance.tolist()),
    )
