"""Policies that follow what a monitor says along the stream, and cancel while it has changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from farm.api import check_number
from farm.api.changes import (
    Adwin,
    ChangeDetector,
    Cusum,
    Ewma,
    PageHinkley,
    check_run_length,
    limit_of_run_length,
)
from farm.errors import ParameterError
from farm.run.policies import Remembering

RATE = 0.05
RUN_LENGTH = 1000.0


class ChangePolicy(Remembering):
    """Base of those that cancel while a statistic is above its limit. A subclass hands in the detector.

    It follows alarms, or margins, in standard deviations from their mean while all is well. The limit of a
    run length takes alarms to come singly, at their rate.
    """

    def __init__(
        self,
        detector: ChangeDetector[float],
        rate: float | None,
        margins: Mapping[str, Any] | None,
        *,
        run_length: float | None,
        limit: float | None,
        restart: bool,
        within: str,
    ) -> None:
        super().__init__(within=within)
        said = {"rate": rate, "margins": margins, "run_length": run_length, "limit": limit}
        for one, other in (("rate", "margins"), ("run_length", "limit"), ("run_length", "margins")):
            if said[one] is not None and said[other] is not None:
                raise ParameterError(f"{one} is {said[one]!r} and {other} is {said[other]!r}; expected one")
        self._of_margins = margins is not None
        if margins is None:
            self._mean = RATE if rate is None else rate
            check_number("rate", self._mean, above=0, high=0.5)
            self._sd = math.sqrt(self._mean * (1 - self._mean))
        else:
            if set(margins) != {"mean", "sd"} or limit is None:
                raise ParameterError(
                    f"margins is {dict(margins)!r} and limit is {limit!r}; expected a mean, an sd and a limit"
                )
            check_number("margins.mean", margins["mean"])
            check_number("margins.sd", margins["sd"], above=0)
            self._mean, self._sd = margins["mean"], margins["sd"]
        self._run_length = RUN_LENGTH if run_length is None else run_length
        check_run_length(self._run_length)
        if limit is not None:
            check_number("limit", limit, above=0)
        self._set, self._restart = limit, restart
        self._detector = detector

    @cached_property
    def limit(self) -> float:
        """The limit that was set, or that of the run length."""
        if self._set is not None:
            return self._set
        found = limit_of_run_length(
            self._run_length,
            lambda _: self._detector,
            lambda chance, n: ((chance.random(n) < self._mean) - self._mean) / self._sd,
            seed=0,
        )
        self._detector.forget()
        return found

    def _follow(self, alarm: bool, margin: float) -> bool:
        limit, value = self.limit, margin if self._of_margins else float(alarm)
        cancels = self._detector.follow((value - self._mean) / self._sd) > limit
        if cancels and self._restart:
            self._detector.restart()
        return cancels

    def _forget(self) -> None:
        self._detector.forget()


class CusumPolicy(ChangePolicy):
    """Cancels while alarms, or margins, lie too high for too long: by their cumulative sum.

    Parameters
    ----------
    shift
        The rise of the mean that is to be seen soonest, in standard deviations.
    rate
        The share of alarms while all is well. 0.05 where neither this nor `margins` is set.
    margins
        To follow score minus threshold instead: its `mean` and `sd` while all is well. Set a `limit`, too.
    run_length
        Instances between two false alarms, on average, where alarms come singly. 1,000 where not set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance that it cancels.
    within
        Whether it remembers the whole `stream`, or begins anew with each `track`.

    Examples
    --------
    >>> policy = CusumPolicy(limit=4.0, rate=0.1)
    >>> [policy._cancels(alarm, 0.0, None) for alarm in (False, True, True, True, False)]
    [False, False, True, True, True]
    """

    def __init__(
        self,
        *,
        shift: float = 1.0,
        rate: float | None = None,
        margins: Mapping[str, Any] | None = None,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
        within: str = "stream",
    ) -> None:
        super().__init__(
            Cusum(shift=shift),
            rate,
            margins,
            run_length=run_length,
            limit=limit,
            restart=restart,
            within=within,
        )


class EwmaPolicy(ChangePolicy):
    """Cancels while an average of alarms, or margins, in which older ones weigh less and less, is too high.

    Parameters
    ----------
    weight
        Of the newest.
    variance
        `exact`: in units of the average's standard deviation after so many. `steady`: after many.
    rate
        The share of alarms while all is well. 0.05 where neither this nor `margins` is set.
    margins
        To follow score minus threshold instead: its `mean` and `sd` while all is well. Set a `limit`, too.
    run_length
        Instances between two false alarms, on average, where alarms come singly. 1,000 where not set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance that it cancels.
    within
        Whether it remembers the whole `stream`, or begins anew with each `track`.

    Examples
    --------
    >>> policy = EwmaPolicy(limit=3.0, rate=0.1)
    >>> [policy._cancels(alarm, 0.0, None) for alarm in (False, True, True, True, False)]
    [False, False, True, True, True]
    """

    def __init__(
        self,
        *,
        weight: float = 0.1,
        variance: str = "exact",
        rate: float | None = None,
        margins: Mapping[str, Any] | None = None,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
        within: str = "stream",
    ) -> None:
        super().__init__(
            Ewma(weight=weight, variance=variance),
            rate,
            margins,
            run_length=run_length,
            limit=limit,
            restart=restart,
            within=within,
        )


class PageHinkleyPolicy(ChangePolicy):
    """Cancels while alarms, or margins, lie too far above the mean of all so far (Page and Hinkley).

    Parameters
    ----------
    delta
        What each may lie above for nothing, in standard deviations.
    alpha
        What remains of the sum from one instance to the next.
    fewest
        Before so many instances it never cancels.
    rate
        The share of alarms while all is well. 0.05 where neither this nor `margins` is set.
    margins
        To follow score minus threshold instead: its `mean` and `sd` while all is well. Set a `limit`, too.
    run_length
        Instances between two false alarms, on average, where alarms come singly. 1,000 where not set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance that it cancels.
    within
        Whether it remembers the whole `stream`, or begins anew with each `track`.

    Examples
    --------
    >>> policy = PageHinkleyPolicy(limit=4.0, fewest=2)
    >>> [policy._cancels(alarm, 0.0, None) for alarm in (False, False, True, True, True)]
    [False, False, False, True, True]
    """

    def __init__(
        self,
        *,
        delta: float = 0.5,
        alpha: float = 0.9999,
        fewest: int = 30,
        rate: float | None = None,
        margins: Mapping[str, Any] | None = None,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
        within: str = "stream",
    ) -> None:
        super().__init__(
            PageHinkley(delta=delta, alpha=alpha, fewest=fewest),
            rate,
            margins,
            run_length=run_length,
            limit=limit,
            restart=restart,
            within=within,
        )


class AdwinPolicy(ChangePolicy):
    """Cancels while the newer alarms, or margins, of a window are too high beside the older ones.

    Parameters
    ----------
    delta
        At which the window is shortened; at a `limit` of log(1/delta) it then cancels.
    clock
        It looks at each so many-th instance; until the next look it stays as it is.
    rate
        The share of alarms while all is well. 0.05 where neither this nor `margins` is set.
    margins
        To follow score minus threshold instead: its `mean` and `sd` while all is well. Set a `limit`, too.
    run_length
        Instances between two false alarms, on average, where alarms come singly. 1,000 where not set.
    limit
        What the statistic must exceed instead.
    restart
        Whether it begins anew after each instance that it cancels.
    within
        Whether it remembers the whole `stream`, or begins anew with each `track`.

    Examples
    --------
    >>> policy = AdwinPolicy(limit=1.0, clock=8)
    >>> sum(policy._cancels(alarm, 0.0, None) for alarm in [False] * 40 + [True] * 16)
    9
    """

    def __init__(
        self,
        *,
        delta: float = 0.002,
        clock: int = 32,
        rate: float | None = None,
        margins: Mapping[str, Any] | None = None,
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
        within: str = "stream",
    ) -> None:
        super().__init__(
            Adwin(delta=delta, clock=clock),
            rate,
            margins,
            run_length=run_length,
            limit=limit,
            restart=restart,
            within=within,
        )
