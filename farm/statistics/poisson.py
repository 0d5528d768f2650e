"""How many events to expect where some were seen, if they come independently of each other."""

from __future__ import annotations

from farm.errors import ParameterError


def expected_events(seen: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact ends of the expected number of events; each end holds with (1 + level) / 2.

    References
    ----------
    F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).

    Examples
    --------
    >>> [tuple(round(end, 3) for end in expected_events(seen)) for seen in (0, 1, 10)]
    [(0.0, 3.689), (0.025, 5.572), (4.795, 18.39)]
    """
    if seen < 0 or not 0 < level < 1:
        raise ParameterError(
            f"events: {seen} at a level of {level}; expected 0 or more, and a level between 0 and 1"
        )
    from scipy.special import gammaincinv  # not before: most of what is judged needs none

    tail = (1 - level) / 2
    low = float(gammaincinv(seen, tail)) if seen else 0.0
    return low, float(gammaincinv(seen + 1, 1 - tail))
