"""How sure a proportion is."""

from __future__ import annotations

import math
from statistics import NormalDist

from farm.errors import ParameterError
from farm.measures.measure import Measure, undefined


def wilson(k: int, n: int, level: float = 0.95) -> tuple[Measure, Measure]:
    """Give Wilson's score interval for a proportion of which `k` in `n` were seen.

    Unlike the textbook interval p +- z * s it keeps its level near 0 and 1, where the error of a good
    monitor lies, and it has a width when `k` is 0 or `n`.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927).

    Examples
    --------
    >>> low, high = wilson(0, 10)
    >>> low.value, round(high.value, 4)
    (0.0, 0.2775)
    """
    if not 0 <= k <= n:
        raise ParameterError(f"wilson: k = {k} of n = {n}; expected 0 <= k <= n")
    if not 0 < level < 1:
        raise ParameterError(f"wilson: level = {level}; expected a number between 0 and 1")
    if n == 0:
        return undefined("no instances"), undefined("no instances")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = k / n
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # The ends are exact in theory; rounding would leave 1e-17 there.
    low = 0.0 if k == 0 else max(centre - half, 0.0)
    high = 1.0 if k == n else min(centre + half, 1.0)
    return Measure(low), Measure(high)
