"""How low and how high a share of independent trials may be, each end by itself at its level."""

from __future__ import annotations

from farm.errors import ParameterError


def low_of_share(k: float, n: float, level: float) -> float:
    """Bound a share from below, of which `k` in `n` independent trials were seen.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934).

    Examples
    --------
    >>> low_of_share(0, 59, 0.95), round(low_of_share(59, 59, 0.95), 4)
    (0.0, 0.9505)
    """
    _check(k, n, level)
    return _beta_quantile(k, n - k + 1, 1 - level) if k > 0 else 0.0


def high_of_share(k: float, n: float, level: float) -> float:
    """Bound it from above.

    Examples
    --------
    >>> round(high_of_share(0, 59, 0.95), 4), round(high_of_share(1, 59, 0.95), 4)
    (0.0495, 0.0779)
    """
    _check(k, n, level)
    return _beta_quantile(k + 1, n - k, level) if k < n else 1.0


def _beta_quantile(a: float, b: float, level: float) -> float:
    from scipy.special import betaincinv  # not before: where nothing shares a track it is not needed

    return float(betaincinv(a, b, level))


def _check(k: float, n: float, level: float) -> None:
    if not (0 <= k <= n and n > 0 and 0 < level < 1):
        raise ParameterError(
            f"share: {k} of {n} at a level of {level}; expected 0 <= k <= n, n above 0, and a level "
            "between 0 and 1"
        )
