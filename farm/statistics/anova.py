"""Analysis of variance over repeated runs: which factors, alone or together, move a measure.

Values of one run are not independent: a classifier that was trained badly is bad under each fault, and
one monitor suffers more from it than another. Runs are blocks, therefore: where each has every
combination of levels, each effect is set beside its own spread between them (`repeated_measures`);
elsewhere a mixed model estimates these spreads (`mixed_model`). In simulated tables
(`benchmarks/anova_level.py`) of six runs, three monitors that are alike and ten faults, taking all values for
independent found an effect in 58 % of 150, runs as blocks in 2.8 % of 400 (at 5 %).

Sums of squares are of type II: each effect beside all others that do not contain it. In a balanced design
all types agree. In others type II tests a factor with more power than type III where its interactions are
small, does not hang on how levels are coded, and asks about a factor what an average over the runs at
hand answers; where an interaction is large, neither type's answer about the factor alone means much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from farm.errors import ParameterError
from farm.statistics.anova_result import Anova, Blocks, Effect, homogeneity, normality, repetition
from farm.statistics.design import Design, level_means, terms_of, why_no_fit
from farm.statistics.mixed_model import mixed_model
from farm.statistics.repeated_measures import repeated_measures
from farm.statistics.table import Undefined


def anova(
    table: pd.DataFrame,
    value: str,
    factors: Sequence[str],
    *,
    blocks: str | None = None,
    interactions: str = "two-way",
    alpha: float = 0.05,
) -> Anova | Undefined:
    """Split the variance of a measure between one to three factors, their interactions and the error.

    Parameters
    ----------
    table
        One row a value; rows with the same levels are repeats.
    value
        The column of the measure. Where one is missing nothing is analysed: which runs to leave out is for
        the user to say.
    factors
        The columns of the factors, numbers among them taken as names.
    blocks
        The column that tells which values belong together, such as those of one run; its name is what a block
        is called. Rows of a block with the same levels count as one, their mean. None: all are independent.
    interactions
        `none`, `two-way` (between each two factors) or `all`. What is left out belongs to the error.
    alpha
        From which p on an effect shows, or an assumption is doubted.

    Examples
    --------
    >>> faults = ["fog", "fog", "snow", "snow"]
    >>> table = pd.DataFrame({"monitor": ["odin"] * 4 + ["oob"] * 4, "fault": faults * 2})
    >>> table["mcc"] = [0.50, 0.54, 0.61, 0.59, 0.30, 0.34, 0.43, 0.37]
    >>> found = anova(table, "mcc", ["monitor", "fault"])
    >>> print(found.effects[0].sentence)
    the monitor explains 83 % of the variance (F(1, 4) = 88.9, p < 0.001)
    """
    terms = terms_of(tuple(factors), interactions)
    if not 0 < alpha < 1:
        raise ParameterError(f"anova: alpha = {alpha}; expected a number between 0 and 1")
    design = Design.of(table, value, tuple(factors), terms, blocks)
    if isinstance(design, Undefined):
        return design
    if design.block_noun is None or design.n_blocks == len(design.values):
        return _independent(design, value, alpha)
    if design.n_blocks == 1:
        return Undefined(
            f"all values are of one {design.block_noun}, and nothing tells what chance does; "
            "run the experiment with other seeds, five or more"
        )
    crossed = len(design.values) == design.n_blocks * design.n_cells
    return repeated_measures(design, value, alpha) if crossed else mixed_model(design, value, alpha)


def _independent(design: Design, value: str, alpha: float) -> Anova | Undefined:
    model = ols(design.formula, design.frame)
    if reason := why_no_fit(model, design):
        return Undefined(reason)
    fit = model.fit()
    if fit.ssr <= 1e-24 * len(design.values):
        return Undefined(
            "the levels fix every value: no error is left to compare with (are runs copies of one?)"
        )
    sizes = np.bincount(design.cell, minlength=design.n_cells)
    covariance, error_df = fit.cov_params().to_numpy(), int(fit.df_resid)
    return Anova(
        value=value,
        factors=design.factors,
        n=len(design.values),
        effects=_effects(fit, design, alpha),
        smallest_cell=int(sizes.min()),
        largest_cell=int(sizes.max()),
        normality=normality(np.asarray(fit.resid, dtype=np.float64), alpha),
        homogeneity=homogeneity(design.values, design.cell, alpha),
        warnings=repetition(design.values, design.cell),
        level_means={
            " x ".join(term): level_means(
                design, term, model.exog, fit.params.to_numpy(), covariance, error_df
            )
            for term in design.terms
        },
        blocks=Blocks.of(design, "independent"),
    )


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
                error=error * design.scale**2,
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
