"""Charts that learn from the stream itself what is usual: Page-Hinkley and ADWIN."""

from __future__ import annotations

from farm.api.changes import Adwin, PageHinkley
from monitors._members import MemberSpec
from monitors._score_charts import StandardisedChart

HISTORY = 300
"""They begin with so many scores of ID validation data: a stream may be faulty from its first image on."""


class PageHinkleyChart(StandardisedChart):
    """Adds up how far scores lie above the mean of all that came, and says how far that rose from its lowest.

    Parameters
    ----------
    of
        The monitor whose scores it follows: a name, or a mapping with its name and parameters.
    delta
        What each score may lie above for nothing, in standard deviations of ID scores.
    alpha
        What remains of the sum from one instance to the next.
    run_length
        How many instances come on average between two false alarms, on streams that are made up of ID
        validation data; it sets the limit. 1,000 where neither is set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance with an alarm. Otherwise an alarm lasts while the statistic
        is above its limit.

    Examples
    --------
    >>> PageHinkleyChart(of="max-softmax").needs.order
    True
    """

    reference = "Hinkley: Inference about the change-point from cumulative sum tests, Biometrika 1971"
    statistic = "Page-Hinkley sum"
    history = HISTORY

    def __init__(
        self,
        *,
        of: MemberSpec,
        delta: float = 0.5,
        alpha: float = 0.9999,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
    ) -> None:
        super().__init__(of=of, run_length=run_length, limit=limit, restart=restart)
        self._made = PageHinkley(delta=delta, alpha=alpha)


class AdwinChart(StandardisedChart):
    """Compares newer scores with older ones in a window that is as long as they have one mean.

    The statistic is log(1/delta) for the smallest delta at which newer scores would be called higher.

    Parameters
    ----------
    of
        The monitor whose scores it follows: a name, or a mapping with its name and parameters.
    delta
        At which the window is shortened; at a `limit` of log(1/delta) it then alarms.
    clock
        It looks at each so many-th score; until the next look the statistic stays.
    run_length
        How many instances come on average between two false alarms, on streams that are made up of ID
        validation data; it sets the limit. 1,000 where neither is set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance with an alarm. Otherwise an alarm lasts while the statistic
        is above its limit.

    Examples
    --------
    >>> AdwinChart(of="max-softmax", clock=8).parameters["delta"]
    0.002
    """

    reference = "Bifet, Gavaldà: Learning from time-changing data with adaptive windowing, SDM 2007"
    statistic = "ADWIN evidence"
    history = HISTORY

    def __init__(
        self,
        *,
        of: MemberSpec,
        delta: float = 0.002,
        clock: int = 32,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
    ) -> None:
        super().__init__(of=of, run_length=run_length, limit=limit, restart=restart)
        self._made = Adwin(delta=delta, clock=clock)
