"""What the classifier's mix-ups of the test images weigh."""

from __future__ import annotations

from dataclasses import dataclass

from farm.api import IntArray
from farm.config.files import find_severities
from farm.config.severity_matrix import load_severities
from farm.measures.weighted_confusion import SeverityMatrix, WeightedConfusion
from farm.protocols.dependability.rows import BY_TRACKS, Lacking, MetricRow, how_many
from farm.protocols.dependability.streams import Streams, track_codes
from farm.statistics.by_track import mean_by_track

METRIC = "weighted_confusion"


@dataclass(frozen=True, eq=False)
class ConfusionFindings:
    """The mean weight of a decision, and the costliest confusions."""

    matrix: SeverityMatrix
    found: WeightedConfusion
    track: IntArray
    """The number of each instance's track, of those that have a right answer."""

    @classmethod
    def of_streams(cls, streams: Streams) -> ConfusionFindings | Lacking:
        """Weigh what the classifier predicts of the test images as they are."""
        said = streams.spec.severities
        if said is None:
            return Lacking(
                (METRIC,), "nothing says what each confusion weighs; name a file of weights as severities"
            )
        plain = streams.plain
        matrix = load_severities(find_severities(said, streams.home), plain.run["classes"])
        label, predicted = (plain.instances[name].to_numpy() for name in ("label", "predicted"))
        found = WeightedConfusion.of(matrix, label, predicted)
        return cls(matrix, found, track_codes(plain)[found.answered])

    def rows(self, level: float) -> list[MetricRow]:
        """Return the mean weight."""
        mean = mean_by_track(
            self.found.weights, self.track, lowest=0, highest=self.matrix.heaviest, level=2 * level - 1
        )
        return [MetricRow(METRIC, "mean", mean, self.found.n, BY_TRACKS, tracks=how_many(self.track))]
