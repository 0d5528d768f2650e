"""Where the network looks: heat maps of images with hidden parts, against where their objects are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farm.api import IntArray
from farm.measures.measure import Bounded, Measure
from farm.measures.occlusion import AtThreshold, OverImages, at_threshold, over_thresholds
from farm.protocols.dependability.rows import (
    BY_TRACKS,
    OF_ONE,
    Lacking,
    MetricRow,
    how_many,
    without_ends,
)
from farm.protocols.dependability.streams import Streams, track_codes
from farm.report.figures import OccludedImage
from farm.statistics.by_track import mean_by_track
from farm.store.occlusion import OcclusionMaps

PRECISION, COVERING = "interpretation_precision", "occlusion_covering"
CURVE = tuple(number / 20 for number in range(1, 20))
"""The thresholds of the curve."""


@dataclass(frozen=True, eq=False)
class OcclusionFindings:
    """Both metrics on heat maps, image by image."""

    maps: OcclusionMaps
    at: AtThreshold
    track: IntArray
    """The number of each image's track."""
    classes: tuple[str, ...]

    @classmethod
    def of_streams(cls, streams: Streams) -> OcclusionFindings | Lacking:
        """Measure at the threshold that the file says."""
        both = PRECISION, COVERING
        plain = streams.plain
        if plain.occlusion is None:
            failure = (plain.run.get("occlusion") or {}).get("failure")
            return Lacking(both, str(failure or "the run made no heat maps"))
        maps = plain.occlusion
        if not len(maps.position):
            return Lacking(both, "no image has a right answer, so that no heat map was made")
        at = at_threshold(maps.heat, maps.occluding, streams.spec.occlusion.rho, why_not=maps.why_no_mask)
        rows = np.searchsorted(plain.instances["position"].to_numpy(), maps.position)
        return cls(maps, at, track_codes(plain)[rows], tuple(plain.run["classes"]))

    @cached_property
    def curve(self) -> tuple[AtThreshold, ...]:
        """Both metrics over thresholds."""
        return over_thresholds(self.maps.heat, self.maps.occluding, CURVE, why_not=self.maps.why_no_mask)

    def shown(self, most: int) -> list[OccludedImage]:
        """Return images as a figure takes them: those of the least precision first, then the others."""
        maps, precision, covering = self.maps, self.at.precision.each, self.at.covering.each
        order = np.argsort([one.value for one in precision], kind="stable")[:most]
        return [
            OccludedImage(
                maps.images[i],
                maps.heat[i],
                maps.masks[i],
                maps.size,
                maps.asked.window,
                maps.asked.stride,
                self.classes[maps.predicted[i]],
                float(maps.plain[i]),
                f"precision {_told(precision[i])}, covering {_told(covering[i])}",
            )
            for i in order.tolist()
        ]

    @property
    def unsure(self) -> int:
        """Of how many images the predicted class is below the threshold with nothing hidden."""
        return int((self.maps.plain < self.at.rho).sum())

    @property
    def metrics(self) -> Mapping[str, OverImages]:
        """Each metric over the images."""
        return {PRECISION: self.at.precision, COVERING: self.at.covering}

    def rows(self, level: float) -> list[MetricRow]:
        """Return mean, minimum and maximum over images."""
        rows = []
        for metric, over in self.metrics.items():
            n = over.n_defined
            tracks = how_many(self.track[~np.isnan(over.values)])
            rows.append(MetricRow(metric, "mean", self._mean(over, level), n, BY_TRACKS, tracks=tracks))
            rows += [
                MetricRow(metric, part, without_ends(value, OF_ONE), n, "")
                for part, value in (("minimum", over.minimum), ("maximum", over.maximum))
            ]
        return rows

    def _mean(self, over: OverImages, level: float) -> Bounded:
        known = ~np.isnan(over.values)
        if not known.any():
            return Bounded.nowhere(over.mean)
        return mean_by_track(over.values[known], self.track[known], lowest=0, highest=1, level=2 * level - 1)


def _told(value: Measure) -> str:
    return f"{value.value:.2f}" if value.defined else "none"
