"""Repeated measures: every block has every combination of levels, and each effect its own error.

A block's values give a contrast of levels once; an effect is the mean of its contrasts over the blocks,
and its error is how they spread. F with all degrees of freedom relies on sphericity: contrasts that vary
alike and apart. Monitors that are made alike break it, so the p that decides has the degrees of freedom
times Greenhouse and Geisser's epsilon, without a test first whether it has to: with few runs Mauchly's
test finds little.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from scipy import stats
from scipy.linalg import helmert

from farm.api.arrays import FloatArray
from farm.measures.measure import Measure, undefined
from farm.statistics.anova_result import Anova, Blocks, Check, Effect, normality, repetition
from farm.statistics.design import Design, paired_means
from farm.statistics.table import Undefined


def repeated_measures(design: Design, value: str, alpha: float) -> Anova | Undefined:
    """Analyse a design in which every block has every combination of levels."""
    n = design.n_blocks
    table = np.empty((n, design.n_cells))
    table[design.block, design.cell] = design.scaled
    effects = []
    for term in design.terms:
        effect = _effect(design, table, term, alpha)
        if effect is None:
            same = f"the {' x '.join(term)} differs alike in each of {n} {design.block_noun}s"
            return Undefined(f"{same}: no error is left to compare with (are they copies of one?)")
        effects.append(effect)
    means = {}
    for number, factor in enumerate(design.factors):
        of_levels = np.bincount(design.codes[number], design.values) / np.bincount(design.codes[number])
        means[factor] = paired_means(design, number, tuple(of_levels.tolist()))
    residuals = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    return Anova(
        value=value,
        factors=design.factors,
        n=table.size,
        effects=tuple(effects),
        smallest_cell=n,
        largest_cell=n,
        normality=normality(residuals.ravel(), alpha),
        homogeneity=None,
        warnings=repetition(design.values, design.cell),
        level_means=means,
        blocks=Blocks.of(design, "repeated measures"),
    )


def _effect(design: Design, table: FloatArray, term: tuple[str, ...], alpha: float) -> Effect | None:
    n, squares_of = len(table), design.scale**2
    found = table @ _contrasts(design, term)
    df = found.shape[1]
    spread = np.atleast_2d(np.cov(found, rowvar=False))
    squares, error = n * float((found.mean(axis=0) ** 2).sum()), (n - 1) * float(np.trace(spread))
    if error <= 1e-24 * table.size:
        return None
    f = squares * (n - 1) / error
    # Rounding may carry it over 1 by a last bit.
    epsilon = min(float(np.trace(spread) ** 2 / (df * (spread**2).sum())), 1.0)
    return Effect(
        factors=term,
        sum_of_squares=squares * squares_of,
        df=df,
        error=error * squares_of,
        error_df=df * (n - 1),
        f=f,
        p=float(stats.f.sf(f, df, df * (n - 1))),
        eta_squared=squares / float((table**2).sum()),
        partial_eta_squared=squares / (squares + error),
        omega_squared=None,
        alpha=alpha,
        epsilon=epsilon,
        p_corrected=float(stats.f.sf(f, df * epsilon, df * epsilon * (n - 1))),
        sphericity=mauchly(spread, n - 1, " x ".join(term), alpha) if df > 1 else None,
        repeated=f"{design.block_noun}s",
    )


def _contrasts(design: Design, term: tuple[str, ...]) -> FloatArray:
    """Return contrasts of cells for an effect: orthogonal, of length 1, and means over all other factors."""
    parts = (
        helmert(len(levels)).T if factor in term else np.full((len(levels), 1), len(levels) ** -0.5)
        for factor, levels in zip(design.factors, design.levels, strict=True)
    )
    return np.asarray(reduce(np.kron, parts))


def mauchly(spread: FloatArray, df: int, name: str, alpha: float = 0.05) -> Check:
    """Test whether contrasts vary alike and apart, by their covariance and its degrees of freedom.

    Mauchly's test, with p to the second order as R gives it.

    Examples
    --------
    >>> mauchly(np.array([[2.0, 0.5], [0.5, 1.0]]), 9, "monitor").sentence
    "nothing speaks against sphericity of the monitor (Mauchly's test: W = 0.778, p = 0.37)"
    """
    d = len(spread)
    w, p = (undefined(f"{d} contrasts ask for {d + 1} blocks or more; there are {df + 1}"),) * 2
    if df >= d:
        w = Measure(float(np.linalg.det(spread * d / np.trace(spread))))
        log = math.log(max(w.value, 1e-300))
        rho = 1 - (2 * d**2 + d + 2) / (6 * d * df)
        second = (d + 2) * (d - 1) * (d - 2) * (2 * d**3 + 6 * d**2 + 3 * d + 2) / (288 * (d * df * rho) ** 2)
        chi, free = -df * rho * log, d * (d + 1) / 2 - 1
        first, later = stats.chi2.sf(chi, free), stats.chi2.sf(chi, free + 4)
        p = Measure(min(max(float(first + second * (later - first)), 0.0), 1.0))
    said = f"nothing speaks against sphericity of the {name}", f"sphericity of the {name} does not hold"
    return Check("Mauchly's test" if df >= d else f"Mauchly's test of the {name}", w, p, alpha, *said)
