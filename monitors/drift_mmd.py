"""A chart of features: those of the latest instances, as a whole, against those of ID validation data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from farm.api import (
    LAST_HIDDEN,
    Features,
    FitData,
    FloatArray,
    IntArray,
    Labelled,
    Needs,
    Observation,
    State,
    StrArray,
    check_number,
    collect,
)
from farm.api.changes import ChangeDetector, Discrepancy, Units
from monitors._charts import Chart
from monitors._layer import LayerMonitor


class DriftMmd(Chart, LayerMonitor):
    """The maximum mean discrepancy of the features in a sliding window from those of ID validation data.

    It sees that the world has moved though no single image looks odd. Until the window is full it is quiet.

    Parameters
    ----------
    window
        How many of the latest instances count.
    points
        How many validation instances they are compared with.
    layer
        The layer whose values are the features.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).
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
    >>> DriftMmd(window=30).needs.layers
    ('last-hidden',)
    """

    reference = "Gretton, Borgwardt, Rasch, Schölkopf, Smola: A kernel two-sample test, JMLR 2012"

    def __init__(
        self,
        *,
        window: int = 50,
        points: int = 200,
        layer: str = LAST_HIDDEN,
        pool: str = "mean",
        run_length: float | None = None,
        limit: float | None = None,
        restart: bool = False,
    ) -> None:
        check_number("window", window, low=2, whole=True)
        check_number("points", points, low=2, whole=True)
        LayerMonitor.__init__(self, layer=layer, pool=pool)
        Chart.__init__(self, run_length=run_length, limit=limit, restart=restart)
        self._window, self._points = window, points
        self.watched = f"discrepancy of the latest {window} instances' features"

    @property
    def needs(self) -> Needs:
        """One hidden layer, and the stream's order."""
        return replace(super().needs, order=True)

    def _fit(self, data: FitData) -> State:
        tracks: list[StrArray | None] = []

        def noted() -> Iterator[Labelled]:
            for batch in data.validation:
                tracks.append(batch.observation.track)
                yield batch

        features = collect(noted(), self._layer).features
        return self._learned(features, Units.of_batches(tracks, len(features)), data.seed)

    def _picked(self, rows: IntArray, chance: np.random.Generator) -> IntArray:
        return chance.permutation(rows)[: self._points]

    def _detector(self, reference: FloatArray) -> ChangeDetector[FloatArray]:
        return Discrepancy(reference, window=self._window)

    def _values(self, observation: Observation) -> Features:
        return observation.features(self._layer)
