"""What transformers cost: the probability of the right class under the worst one, image by image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from farm.api import FloatArray, IntArray
from farm.measures.confidence_loss import HIGHEST, LOWEST, ConfidenceLoss
from farm.measures.measure import Bounded
from farm.protocols.dependability.rows import (
    BY_TRACKS,
    OF_ONE,
    Lacking,
    MetricRow,
    how_many,
    without_ends,
)
from farm.protocols.dependability.streams import Streams, track_codes
from farm.statistics.by_track import mean_by_track
from farm.store.readouts import Readouts

METRIC = "adversarial_loss"
TENTH = "the worst tenth was chosen for being the worst"


@dataclass(frozen=True, eq=False)
class LossFindings:
    """The change of the right class's probability under transformers."""

    found: ConfidenceLoss
    track: IntArray
    """The number of the track of each image that counts."""
    severities: Mapping[str, str]
    """At which severity each transformer was, or how far it might move a pixel."""
    unlabelled: tuple[str, ...] = ()
    """Transformers that are left out, since nothing that they change has a right answer."""

    @classmethod
    def of_streams(cls, streams: Streams) -> LossFindings | Lacking:
        """Compare the images that all transformers acted on with themselves as they were."""
        there = {
            name: streams.faulted[name] for name in streams.spec.transformer_names if name in streams.faulted
        }
        if not there:
            return Lacking((METRIC,), "there is no stream of a transformer")
        plain = streams.plain
        before = plain.instances["label_probability"].to_numpy(dtype=np.float64)
        place = pd.Series(np.arange(len(before)), index=plain.instances["id"])
        after = {name: _after(place, one) for name, one in there.items()}
        unlabelled = tuple(name for name, values in after.items() if np.isnan(values).all())
        after = {name: values for name, values in after.items() if name not in unlabelled}
        if not after:
            return Lacking((METRIC,), f"no transformer leaves a right answer: {', '.join(unlabelled)}")
        # The worst of six is worse than that of five: only images that all acted on are compared.
        known = ~np.isnan(np.array(list(after.values()))).any(axis=0)
        found = ConfidenceLoss.of(
            before, {name: np.where(known, values, np.nan) for name, values in after.items()}
        )
        severity = {name: _severity(one) for name, one in there.items()}
        return cls(found, track_codes(plain)[found.rows], severity, unlabelled)

    def rows(self, level: float) -> list[MetricRow]:
        """Return the mean, the least and the worst tenth, and each transformer's own mean."""
        found, n, tracks = self.found, self.found.n, how_many(self.track)
        rows = [
            MetricRow(METRIC, "mean", self._mean(found.losses, level), n, BY_TRACKS, tracks=tracks),
            MetricRow(METRIC, "minimum", without_ends(found.minimum, OF_ONE), n, ""),
            MetricRow(METRIC, "worst tenth", without_ends(found.worst_tenth, TENTH), n, ""),
        ]
        for name, one in found.by_transformer.items():
            mean = self._mean(one.changes, level) if one.mean.defined else Bounded.nowhere(one.mean)
            rows.append(MetricRow(METRIC, name, mean, one.n, BY_TRACKS, detail=True, tracks=tracks))
        return rows

    def _mean(self, changes: FloatArray, level: float) -> Bounded:
        if not len(changes):
            return Bounded.nowhere(self.found.mean)
        return mean_by_track(changes, self.track, lowest=LOWEST, highest=HIGHEST, level=2 * level - 1)


def _after(place: pd.Series, readouts: Readouts) -> FloatArray:
    """Return the right class's probability of each plain image under a transformer; NaN where it is not."""
    # A faulted image is called as it was before, with the fault behind it.
    own = readouts.instances["id"].str.rpartition("|")[0].map(place)
    after = np.full(len(place), np.nan)
    known = own.notna().to_numpy()
    after[own[known].to_numpy(dtype=np.int64)] = readouts.instances["label_probability"].to_numpy()[known]
    return after


def _severity(readouts: Readouts) -> str:
    (fault,) = readouts.run["stream"]["faults"]
    if fault["severity"] is not None:
        return f"{fault['severity']:g}"
    eps = fault["parameters"].get("eps")
    return "" if eps is None else f"eps {eps:g}"
