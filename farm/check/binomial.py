"""How sure a share is: one-sided bounds, exact whatever the share, and how many trials would decide."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from farm.errors import ParameterError
from farm.statistics.planning import smallest

MOST = 10**9
"""Beyond so many trials nothing is decided."""


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
    return float(betaincinv(k, n - k + 1, 1 - level)) if k > 0 else 0.0


def high_of_share(k: float, n: float, level: float) -> float:
    """Bound it from above.

    Examples
    --------
    >>> round(high_of_share(0, 59, 0.95), 4), round(high_of_share(1, 59, 0.95), 4)
    (0.0495, 0.0779)
    """
    _check(k, n, level)
    return float(betaincinv(k + 1, n - k, level)) if k < n else 1.0


@dataclass(frozen=True)
class Trials:
    """What was asked, put as a question about a share of independent trials: is it above or below `at`?"""

    seen: float
    n: float
    at: float

    def needed(self, level: float) -> int | None:
        """Give how many trials would decide, were the share seen among them the same; None if none would.

        Examples
        --------
        >>> Trials(seen=0, n=20, at=0.05).needed(0.95), Trials(seen=1, n=20, at=0.05).needed(0.95)
        (59, None)
        """
        share = self.seen / self.n

        def enough(n: int) -> bool:
            bound = low_of_share if share > self.at else high_of_share
            return (bound(share * n, n, level) - self.at) * (share - self.at) >= 0

        return smallest(enough) if share != self.at and enough(MOST) else None


def _check(k: float, n: float, level: float) -> None:
    if not (0 <= k <= n and n > 0 and 0 < level < 1):
        raise ParameterError(
            f"share: {k} of {n} at a level of {level}; expected 0 <= k <= n, n above 0, and a level "
            "between 0 and 1"
        )
