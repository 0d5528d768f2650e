"""How far a calibration error may be off: as far as the gaps that it is the size of may be.

Draws of a calibration error are farther from 0 than it is, as it is itself farther than what it estimates:
chance adds to the size of each gap. Of a calibrated classifier the percentile interval would hold next to
never. But by the triangle inequality two errors differ by no more than the size of the difference between
their gaps. These are means of what instances add to them, and draws of means stray about them as they do
about the truth. So the error is no farther from its estimate than these draws say, wherever it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from farm.api.arrays import FloatArray, IntArray
from farm.comparing.classifier_sums import size_of_gaps
from farm.statistics.bounds import Drawn, Extra, Way, typical


@dataclass(frozen=True, eq=False)
class Gaps:
    """A calibration error on one stream, in draws that lie above it by what they stray."""

    task: str
    tracks: Sequence[IntArray]
    """The numbers of each side's tracks among those of all streams."""
    sizes: Sequence[FloatArray]
    sums: Sequence[FloatArray]
    """What each track adds to the gaps, and behind it of how many instances; side by side."""
    most: float
    """The greatest error that there is, which that of the unseen track may have."""

    @property
    def seen(self) -> FloatArray:
        """The gaps as they were seen."""
        total = sum(sums.sum(axis=0) for sums in self.sums)
        gaps: FloatArray = total[:-1] / total[-1]
        return gaps

    @property
    def error(self) -> float:
        """The calibration error itself."""
        return float(size_of_gaps(self.task, self.seen))

    def extra(self, side: int, way: Way) -> Extra:
        """Return by how much an unseen track may change the gaps: all of its instances err alike."""
        amount, n = typical(self.sizes[side]), sum(float(sums[:, -1].sum()) for sums in self.sums)
        return Extra(0, amount, way * (self.most + self.error) * amount / (n + amount))

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Return the error and what the gaps stray in each draw, the unseen track's part included."""
        total = sum(
            each.of * (sizes.sum() / each.n)[:, None] for sizes, each in zip(self.sizes, drawn, strict=True)
        )
        n, seen, error = total[:, -1], self.seen, self.error
        strays = size_of_gaps(self.task, total[:, :-1] / n[:, None] - seen)
        for extra in extras:
            if extra is not None:
                more = extra.amount * weight
                strays = (strays * n + (self.most + error) * more) / (n + more)
        return error + strays
