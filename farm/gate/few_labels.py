"""The residual hazard of a log of which few instances are labelled: what monitors let pass, and was wrong.

A decision that nobody acted upon is no hazard, whatever its label. Of any other the classifier's doubt is
a guess, and what this is wrong by where there is a label corrects it (`PredictionPowered`). Where labels were
given by chance, bounds hold at all moments of the log together, however bad the guesses are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.judging import VerdictTable
from farm.judging.along_stream import share_of
from farm.judging.record import Record, plain
from farm.measures import Bounded, Measure, undefined
from farm.statistics.anytime import PredictionPowered, RatioSequence, Tracks
from farm.store.logs import LABEL_CHANCE
from farm.store.readouts import Readouts

CHOSEN = "labels were not given with the same chance to all, so that those alone do not stand for all"
NO_CHANCE = f"{LABEL_CHANCE} is missing for some instances"


@dataclass(frozen=True, eq=False)
class FewLabels:
    """A log in order, with the labels that there are.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> random = np.random.default_rng(0)
    >>> wrong, asked = random.random(4000) < 0.1, random.random(4000) < 0.1
    >>> label = np.where(asked, 0.0, np.nan)
    >>> known = {"label": label, "predicted": 1 * wrong, "confidence": np.where(wrong, 0.3, 0.98)}
    >>> made = make_readouts({"never": np.zeros(4000, dtype=bool)}, is_ood=None, **known)
    >>> found = FewLabels.of(made).hazard("never", 0.95)
    >>> [[round(end.value, 3) for end in (each.low, each.high)] for each in found]
    [[0.082, 0.139], [0.061, 0.178]]
    """

    along: VerdictTable
    chance: FloatArray
    """With which chance each instance was chosen to be labelled; NaN where that is not known."""
    assumed: bool
    """Whether the chance is the share of instances that are labelled, for want of a column that tells it."""

    @classmethod
    def of(cls, readouts: Readouts) -> FewLabels | None:
        """Take what is labelled of a log; None where nothing is, or all."""
        instances = readouts.instances
        if "label" not in instances or instances["label"].isna().nunique() < 2:
            return None
        table = VerdictTable.of(instances, readouts.alarms, readouts.run)
        assumed = LABEL_CHANCE not in instances
        order: IntArray = np.argsort(table.position, kind="stable")
        chance = (
            np.full(len(table), np.mean(~table.unlabelled))
            if assumed
            else instances[LABEL_CHANCE].to_numpy(dtype=np.float64, na_value=np.nan)
        )
        return cls(table.take(order), chance[order], assumed)

    @property
    def known(self) -> BoolArray:
        """Which instances are labelled."""
        return ~self.along.unlabelled

    def hazard(self, monitor: str, level: float) -> tuple[Bounded, Bounded]:
        """Return the share of wrong decisions acted upon, by labels and guesses, and by labels alone."""
        if np.isnan(self.chance).any():
            return Bounded.nowhere(undefined(NO_CHANCE)), Bounded.nowhere(undefined(NO_CHANCE))
        said = self.along.said[monitor]
        hazard = (said.decided & ~said.right).astype(np.float64)
        alone = self._alone(hazard, level) if self._same_chance else Bounded.nowhere(undefined(CHOSEN))
        # Where nothing is guessed, all that is known is what labelled instances tell, if they stand for all.
        only = self.why_no_guess and self._same_chance
        return alone if only else self._guessed(said.decided, hazard, level), alone

    @property
    def _same_chance(self) -> bool:
        return len(np.unique(self.chance)) == 1

    def _guessed(self, decided: BoolArray, hazard: FloatArray, level: float) -> Bounded:
        # What was not acted upon is no hazard, and needs no label: guessed and known to be 0 it counts as 0.
        label = np.where(decided & ~self.known, np.nan, hazard)
        guess = np.where(decided, self.doubt, 0.0)
        longest = int(self._tracks.sizes.max())
        most = max(self._most(self.known & decided), 1)
        found = PredictionPowered(float(self.chance.min()), level, longest, most)
        found.add(guess, label, self.chance, self._tracks)
        return share_of(found)

    def _alone(self, hazard: FloatArray, level: float) -> Bounded:
        alone = RatioSequence(self._most(self.known), level)
        labelled = self.known.astype(np.float64)
        alone.add(self._tracks.sums(hazard * labelled), self._tracks.sums(labelled))
        return share_of(alone)

    @property
    def why_no_guess(self) -> str | None:
        """Say why the classifier's confidence is no guess; None where it is one."""
        confidence = self.along.confidence
        if confidence is None or np.isnan(confidence).all():
            return "there is no confidence"
        least, most = np.nanmin(confidence), np.nanmax(confidence)
        if least < 0 or most > 1:
            return f"confidence goes from {least:g} to {most:g}, and not from 0 to 1"
        return None

    @property
    def doubt(self) -> FloatArray:
        """How likely the classifier takes itself to be wrong; 0 where it does not tell."""
        confidence = self.along.confidence
        if confidence is None or self.why_no_guess:
            return np.zeros(len(self.along))
        return np.nan_to_num(1.0 - confidence)

    @cached_property
    def _tracks(self) -> Tracks:
        return Tracks(self.along.track)

    def _most(self, instances: BoolArray) -> int:
        """Return how many of these a track has at most."""
        return int(self._tracks.sums(instances.astype(np.float64)).max())

    def record(self, monitor: str, level: float) -> Record:
        """Return what is known of a monitor for JSON."""
        found, alone = self.hazard(monitor, level)
        return plain(
            {
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "labelled_alone": alone.value,
                "labelled_alone_low": alone.low,
                "labelled_alone_high": alone.high,
                "n_labelled": int(self.known.sum()),
                "assumption": self.assumption,
                "guessed_by": None if self.why_no_guess else "confidence",
                "sentence": self.sentence(monitor, level),
            }
        )

    def sentence(self, monitor: str, level: float) -> str:
        """Say it in plain words."""
        found, alone = self.hazard(monitor, level)
        told = f"{monitor}: what is wrong and acted upon is not bounded: {found.low.reason}"
        if found.low.defined:
            low, high = map(_percent, (found.low, found.high))
            by = f"labels alone, as {why}" if (why := self.why_no_guess) else "labels and confidence"
            told = f"{monitor}: of all instances {low} to {high} are wrong and acted upon, by {by}"
            if alone.low.defined and not self.why_no_guess:
                low, high = map(_percent, (alone.low, alone.high))
                told += f"; by labelled instances alone {low} to {high}"
        return f"{told}."

    @property
    def assumption(self) -> str:
        """Say what is taken for granted of how labels were given."""
        chance = f"with the chance that {LABEL_CHANCE} tells"
        if self.assumed:
            chance = f"with the same chance, {_percent(Measure(float(np.mean(self.known))))}"
        longest, most = int(self._tracks.sizes.max()), self._most(self.known)
        longer = f"; no track has more than {longest:,} instances and {most:,} labels" if longest > 1 else ""
        return f"Taken for granted: instances were drawn to be labelled {chance}, and not picked{longer}."


def _percent(share: Measure) -> str:
    """Write a share in per cent, with a digit that tells it from 0."""
    return f"{100 * share.value:.1f} %" if not 0 < share.value < 0.01 else f"{100 * share.value:.2g} %"
