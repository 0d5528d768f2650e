"""How large an experiment must be before it can tell what it is asked.

Each answer is the smallest number that will do: it does, and one less does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import scipy

from farm.api.guarantees.binomial import smallest
from farm.errors import ParameterError
from farm.statistics.ranks import critical_difference, sets_needed

WORST_RATE = 0.5
"""The rate whose interval is widest."""


def wilson_half_width(rate: float, n: int, level: float = 0.95) -> float:
    """Return half the width of Wilson's interval where the share `rate` of `n` instances is seen.

    Examples
    --------
    >>> round(wilson_half_width(0.1, 100), 4)
    0.0596
    """
    _check_share("rate", rate, ends=True)
    _check_share("level", level)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return z / (n + z * z) * math.sqrt(rate * (1 - rate) * n + z * z / 4)


def instances_for_half_width(half_width: float, rate: float | None = None, level: float = 0.95) -> int:
    """Return how many instances it takes until Wilson's interval is rate +- `half_width`, or narrower.

    The interval's middle lies a little nearer to one half than the rate. Without a rate it is the worst
    case, 0.5, that is planned for: then the interval is as narrow whatever the rate turns out to be.

    Examples
    --------
    >>> instances_for_half_width(0.02, rate=0.1), instances_for_half_width(0.02)
    (868, 2398)
    """
    check_half_width(half_width)
    # The width falls with n at any rate: its derivative has the sign of z^2 (p q - 1/2) - p q n, below 0.
    share = WORST_RATE if rate is None else rate
    return smallest(lambda n: wilson_half_width(share, n, level) <= half_width)


@dataclass(frozen=True, slots=True)
class KindSizes:
    """How many instances of each kind, and of a stream that has enough of both."""

    n_id: int
    n_ood: int
    ood_share: float | None
    n_stream: int


def instances_of_each_kind(
    half_width: float,
    fpr: float | None = None,
    fnr: float | None = None,
    *,
    ood_share: float | None = None,
    level: float = 0.95,
) -> KindSizes:
    """Return how many ID and OOD instances it takes until FPR and FNR both are known that well.

    The FPR is a share of the ID instances alone and the FNR of the OOD ones, so a stream with few OOD
    instances must be longer: with `ood_share` it is told how long.

    Examples
    --------
    >>> instances_of_each_kind(0.02, fpr=0.05, fnr=0.2, ood_share=0.2)
    KindSizes(n_id=469, n_ood=1535, ood_share=0.2, n_stream=7675)
    """
    n_id = instances_for_half_width(half_width, fpr, level)
    n_ood = instances_for_half_width(half_width, fnr, level)
    if ood_share is None:
        return KindSizes(n_id, n_ood, None, n_id + n_ood)
    _check_share("ood_share", ood_share)

    # The 1e-9 keeps 0.2 * n from falling short of a whole number by rounding.
    def enough(n: int) -> bool:
        return math.floor((1 - ood_share) * n + 1e-9) >= n_id and math.floor(ood_share * n + 1e-9) >= n_ood

    return KindSizes(n_id, n_ood, ood_share, smallest(enough))


def sets_for_rank_difference(difference: float, n_monitors: int, alpha: float = 0.05) -> int:
    """Return how many benchmark sets it takes until a difference in mean rank exceeds Nemenyi's, and counts.

    That is what must be *seen*. Monitors that truly differ by just as much show it in about every second
    experiment; more sets make it likelier. Over fewer than `sets_needed` no difference counts.

    Examples
    --------
    >>> sets_for_rank_difference(1.26, 4), sets_for_rank_difference(1.25, 4)
    (14, 15)
    """
    if n_monitors < 2:
        raise ParameterError(f"n_monitors is {n_monitors}; expected at least 2")
    if not 0 < difference <= n_monitors - 1:
        raise ParameterError(
            f"difference is {difference}; expected a number above 0, at most {n_monitors - 1}: mean ranks of "
            f"{n_monitors} monitors lie between 1 and {n_monitors}"
        )
    _check_share("alpha", alpha)
    fewest = sets_needed(n_monitors * (n_monitors - 1) // 2, alpha)
    return smallest(lambda n: critical_difference(n_monitors, n, alpha) < difference, at_least=fewest)


def onsets_for_delay_bound(missed: int = 0, quantile: float = 0.95, level: float = 0.95) -> int:
    """Return how many onsets it takes until the delay's percentile has an upper bound.

    The bound is an order statistic and takes nothing for granted about how delays are distributed. A missed
    onset has no delay: with `missed` of them there must be more others.

    Examples
    --------
    >>> onsets_for_delay_bound(), onsets_for_delay_bound(missed=1)
    (59, 93)
    """
    if missed < 0:
        raise ParameterError(f"missed is {missed}; expected 0 or more")
    _check_share("quantile", quantile)
    _check_share("level", level)
    # The longest delay that is known is a bound if more than `missed` onsets exceed the percentile.
    return smallest(
        lambda n: bool(scipy.special.bdtrc(missed, n, 1 - quantile) >= level), at_least=missed + 1
    )


def check_half_width(half_width: float) -> None:
    """Raise where no share can be known so well, or each is."""
    if not 0 < half_width < 0.5:
        raise ParameterError(f"half_width is {half_width}; expected a number between 0 and 0.5")


def _check_share(name: str, value: float, *, ends: bool = False) -> None:
    inside = 0 <= value <= 1 if ends else 0 < value < 1
    if not inside:
        raise ParameterError(f"{name} is {value}; expected a number between 0 and 1 (0.1 is 10 %)")
