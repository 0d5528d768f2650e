"""A camera that lags: it shows an earlier instant of the stream, and labels are those of the present one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from farm.api import Images, PerInstance, at_severity
from faultloads.anomaly import Anomaly


class _Lagging(Anomaly):
    """Shows other instants, which the stream does; pixels by themselves stay what they are."""

    lags = True
    objects = "hidden"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity, random
        return images

    @abstractmethod
    def lag(self, since: int, severity: float, chance: Callable[[int], float]) -> int:
        """Say how many instants ago was what the camera shows."""


class FrozenFrame(_Lagging):
    """The last frame before the fault came is shown for as long as it stays.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> [FrozenFrame().lag(since, float("nan"), lambda place: 0.0) for since in range(3)]
    [1, 2, 3]
    """

    severities = ()

    def lag(self, since: int, severity: float, chance: Callable[[int], float]) -> int:
        """Go back to the last instant before."""
        del severity, chance
        return since + 1


class DelayedFrame(_Lagging):
    """Frames come late: by 1, 2, 4, 8 or 16 instances at severities 1 to 5.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> DelayedFrame().lag(0, 3.0, lambda place: 0.0)
    4
    """

    severities = (1, 2, 3, 4, 5)

    def lag(self, since: int, severity: float, chance: Callable[[int], float]) -> int:
        """Go back as far as the delay is."""
        del since, chance
        return round(at_severity(severity, [1, 2, 4, 8, 16], neutral=0))


class DroppedFrame(_Lagging):
    """Some frames are lost, and the last one that came is shown again: 0.1, 0.2, 0.35, 0.5 or 0.7 of them.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> lost = {1, 2, 5}.__contains__
    >>> [DroppedFrame().lag(since, 5.0, lambda place: 0.0 if lost(place) else 1.0) for since in range(6)]
    [0, 1, 2, 0, 0, 1]
    """

    severities = (1, 2, 3, 4, 5)

    def lag(self, since: int, severity: float, chance: Callable[[int], float]) -> int:
        """Go back to the last frame that came, one before the fault did at the most."""
        share = at_severity(severity, [0.1, 0.2, 0.35, 0.5, 0.7], neutral=0)
        back = 0
        while back <= since and chance(since - back) < share:
            back += 1
        return back
