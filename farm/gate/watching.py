"""What can be said of a log whoever looks at it when: bounds and evidence that hold at all moments together.

Evidence that scores have moved against a reference is a stake, bet on how each score ranks among those of the
reference and all before it. Were nothing moved, the chance that it ever grows to x times what it was is at
most 1 / x; so "1 in 20" is said of at most one in twenty such logs, however often one looks. Instances that
share a track are one value, their mean; of an alarm rate, their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from farm.api.arrays import FloatArray
from farm.gate.drift import Reference
from farm.judging import VerdictTable
from farm.judging.along_stream import Growth, share_of
from farm.judging.record import Record, plain
from farm.measures import Bounded, Measure, undefined
from farm.statistics.anytime import RatioSequence, ScoreEvidence, Together, Tracks, repeated_fixed_n
from farm.statistics.wording import listed

FEWEST = 4
"""So many scores a reference must have to rank others among."""


class WatchedLog:
    """Monitors of a log, looked after one instance or track after the other, beside a reference.

    Parameters
    ----------
    table
        The log's instances.
    reference
        What its scores and alarms are held against.
    monitors
        Whom to look after.
    level
        Of all bounds.

    Examples
    --------
    >>> from farm.judging import JudgedRun
    >>> from farm.testing import make_readouts
    >>> score = np.random.default_rng(0).normal(size=400)
    >>> may, june = ({"odin": {"score": own}} for own in (score[:200], score[200:] + 1))
    >>> reference = Reference.of(make_readouts(may, is_ood=None, label=None), "May")
    >>> log = make_readouts(june, is_ood=None, label=None)
    >>> table = JudgedRun.of(log.instances, log.alarms, log.run).table
    >>> print(WatchedLog(table, reference, ["odin"]).sentence("odin"))
    odin: evidence that its scores have moved reached 1 in 20 at instance 16 and 1 in 100 at instance 27 of
        200 (strongest 1 in 36,000). Its alarm rate is between 70.9 % and 90.4 % at all moments; a test for a
        fixed number, repeated after each instance, would have found it above that of May at instance 11.
    """

    def __init__(
        self, table: VerdictTable, reference: Reference, monitors: Sequence[str], level: float = 0.95
    ) -> None:
        self._along = table.take(np.argsort(table.position, kind="stable"))
        self._reference, self.level = reference, level
        self._tracks = Tracks(self._along.track)
        self.by_track = table.shares_tracks or reference.table.shares_tracks
        self.unit = "track" if self.by_track else "instance"
        self._why_not = {name: why for name in monitors if (why := self._missing(name))}
        self._monitors = tuple(monitors)
        self._bets = {
            name: self._evidence(name, seed)
            for seed, name in enumerate(monitors)
            if name not in self._why_not
        }

    def _missing(self, name: str) -> str | None:
        """Say why there is no evidence on a monitor's scores, if so."""
        reference = self._reference
        if name not in reference.table.said:
            return f"{reference.name} has nothing of '{name}'"
        if self._along.said[name].scores is None:
            return "some instances have no score"
        if reference.table.said[name].scores is None:
            return f"some instances of {reference.name} have no score"
        if len(own := self._scores(reference.table, name)) < FEWEST:
            return f"{reference.name} has {len(own)} {self.unit}s; evidence needs at least {FEWEST}"
        return None

    def _scores(self, table: VerdictTable, name: str) -> FloatArray:
        tracks = self._tracks if table is self._along else Tracks(table.track)
        return tracks.means(np.asarray(table.said[name].scores, dtype=np.float64))

    def _alarms(self, name: str) -> FloatArray:
        return self._tracks.sums(self._along.said[name].alarm.astype(np.float64))

    def _evidence(self, name: str, seed: int) -> FloatArray:
        evidence = ScoreEvidence(self._scores(self._reference.table, name), seed)
        return evidence.add(self._scores(self._along, name))

    def growth(self, name: str) -> Growth | Measure:
        """Return how the evidence on a monitor's scores grew, or why there is none."""
        if name in self._why_not:
            return undefined(self._why_not[name])
        return self._grown(self._bets[name])

    @cached_property
    def together(self) -> Growth | None:
        """How the evidence of all monitors together grew; None where there is none."""
        if not self._bets:
            return None
        return self._grown(Together(list(self._bets)).add(self._bets))

    @staticmethod
    def _grown(bets: FloatArray) -> Growth:
        found = Growth()
        found.follow(bets, np.arange(1, len(bets) + 1))
        return found

    @cached_property
    def _rates(self) -> dict[str, RatioSequence]:
        sizes = self._tracks.sizes
        rates = {name: RatioSequence(int(sizes.max()), self.level) for name in self._monitors}
        for name, rate in rates.items():
            rate.add(self._alarms(name), sizes)
        return rates

    def alarm_rate(self, name: str) -> Bounded:
        """Return a monitor's alarm rate, and between what it is at all moments together."""
        return share_of(self._rates[name])

    def peeking(self, name: str) -> int | None:
        """Return when the alarm rate would first have been found above the reference's by repeated tests.

        These are made for a fixed number of instances, and take the reference's rate for the true one. Where
        tracks alternate they are not told.
        """
        if self._tracks.alternate or name not in (before := self._reference.table).said:
            return None
        rate = float(before.said[name].alarm.mean())
        sizes = self._tracks.sizes if self._along.shares_tracks else None
        return repeated_fixed_n(self._alarms(name), rate, self.level, sizes=sizes) if 0 < rate < 1 else None

    def record(self, name: str) -> Record:
        """Return all that is known of a monitor for JSON."""
        growth, rate = self.growth(name), self.alarm_rate(name)
        told = dict.fromkeys(Growth().record, growth) if isinstance(growth, Measure) else growth.record
        ends = {"alarm_rate": rate.value, "low": rate.low, "high": rate.high}
        return plain(
            {
                "unit": self.unit,
                "by_lot": self._tracks.alternate,
                "n": self._rates[name].n,
                "level": self.level,
                **ends,
                **told,
                "peeking": self.peeking(name),
                "together": self._together_record,
                "sentence": self.sentence(name),
            }
        )

    def sentence(self, name: str) -> str:
        """Say it in plain words."""
        order = " Tracks alternate: they are taken in an order by lot." if self._tracks.alternate else ""
        return f"{name}: {self._of_scores(name)}. {self._of_alarms(name)}.{order}"

    def _of_scores(self, name: str) -> str:
        growth = self.growth(name)
        if isinstance(growth, Measure):
            return f"there is no evidence on its scores: {growth.reason}"
        return f"evidence that its scores have moved {self._words(growth)}"

    def _words(self, growth: Growth) -> str:
        return growth.words(self.unit, len(self._tracks.sizes), by_lot=self._tracks.alternate)

    def _of_alarms(self, name: str) -> str:
        rate, at = self.alarm_rate(name), self.peeking(name)
        if not rate.low.defined:
            told = "Its alarm rate did not stay the same along the log"
        else:
            low, high = (f"{100 * end.value:.1f} %" for end in (rate.low, rate.high))
            longest = int(self._tracks.sizes.max())
            given = f" (if no track has more than {longest:,} instances)" if longest > 1 else ""
            told = f"Its alarm rate is between {low} and {high} at all moments{given}"
        if at is None:
            return told
        test = f"a test for a fixed number, repeated after each {self.unit},"
        return (
            f"{told}; {test} would have found it above that of {self._reference.name} at {self.unit} {at:,}"
        )

    @property
    def _together_record(self) -> Record | None:
        if self.together is None:
            return None
        names, grew = listed(list(self._bets)), self._words(self.together)
        # Of one monitor all is told.
        told = f"{names} together: evidence that scores have moved {grew}." if len(self._bets) > 1 else None
        return self.together.record | {"sentence": told}
