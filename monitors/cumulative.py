"""Charts that know the mean of quiet scores: cumulative sums and exponentially weighted averages."""

from __future__ import annotations

from farm.api.changes import Cusum, Ewma
from monitors._members import MemberSpec
from monitors._score_charts import StandardisedChart


class CusumChart(StandardisedChart):
    """Adds up by how much scores lie above half the shift that it is to see: a small rise will do that lasts.

    Parameters
    ----------
    of
        The monitor whose scores it follows: a name, or a mapping with its name and parameters.
    shift
        The rise of the mean that is to be seen soonest, in standard deviations of ID scores.
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
    >>> CusumChart(of="max-softmax", limit=5.0).fixed_threshold
    0.0
    """

    reference = "Page: Continuous inspection schemes, Biometrika 1954"
    statistic = "CUSUM"

    def __init__(
        self,
        *,
        of: MemberSpec,
        shift: float = 1.0,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
    ) -> None:
        super().__init__(of=of, run_length=run_length, limit=limit, restart=restart)
        self._made = Cusum(shift=shift)


class EwmaChart(StandardisedChart):
    """Averages scores, older ones less and less; sees small rises, and what comes and goes.

    Parameters
    ----------
    of
        The monitor whose scores it follows: a name, or a mapping with its name and parameters.
    weight
        Of the newest score; the smaller, the smaller the rises that it sees, and the later.
    variance
        `exact`: in units of the average's standard deviation after so many scores. `steady`: after many.
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
    >>> EwmaChart(of="max-softmax", run_length=500).parameters["weight"]
    0.1
    """

    reference = "Lucas, Saccucci: Exponentially weighted moving average control schemes, Technometrics 1990"
    statistic = "weighted average"

    def __init__(
        self,
        *,
        of: MemberSpec,
        weight: float = 0.1,
        variance: str = "exact",
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
    ) -> None:
        super().__init__(of=of, run_length=run_length, limit=limit, restart=restart)
        self._made = Ewma(weight=weight, variance=variance)
