"""A camera that lags: it shows an earlier instant of the stream, and labels are those of the present one."""

from __future__ import annotations

from farm.api import HELD, Images, PerInstance, at_severity
from faultloads.anomaly import Anomaly


class _Lagging(Anomaly):
    """Shows other instants, which the stream does; pixels by themselves stay what they are."""

    lags = True
    objects = "hidden"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity, random
        return images


class FrozenFrame(_Lagging):
    """The last frame before the fault came is shown for as long as it stays.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> FrozenFrame().lag(float("nan"), 0.5) == HELD
    True
    """

    severities = ()

    def lag(self, severity: float, chance: float) -> int:
        """Go on showing what was shown last."""
        del severity, chance
        return HELD


class DelayedFrame(_Lagging):
    """Frames come late: by 1, 2, 4, 8 or 16 instances at severities 1 to 5.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> DelayedFrame().lag(3.0, 0.5)
    4
    """

    def lag(self, severity: float, chance: float) -> int:
        """Go back as far as the delay is."""
        del chance
        return round(at_severity(severity, [1, 2, 4, 8, 16], neutral=0))


class DroppedFrame(_Lagging):
    """Some frames are lost, and the last one that came is shown again: 0.1, 0.2, 0.35, 0.5 or 0.7 of them.

    Frames that come in time are as they should be, and no OOD instances.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> [DroppedFrame().lag(5.0, chance) == HELD for chance in (0.6, 0.8)]
    [True, False]
    """

    def lag(self, severity: float, chance: float) -> int:
        """Go on showing what was shown last, where this frame is lost."""
        lost = chance < at_severity(severity, [0.1, 0.2, 0.35, 0.5, 0.7], neutral=0)
        return HELD if lost else 0
