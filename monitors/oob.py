"""Outside the box: alarms on hidden-layer values that training data of the predicted class never had."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from farm.api import LAST_HIDDEN, State, check_choice, check_number
from farm.errors import ParameterError
from monitors._box_spaces import Components, Neurons, Points, Space
from monitors._neurons import check_once, check_there
from monitors.boxes import BoxMonitor


class OutsideTheBox(BoxMonitor):
    """Boxes over neurons of a hidden layer: two of them, as the benchmark has it, or all.

    Parameters
    ----------
    neurons
        `first-last`, `all`, or a list of numbers. Which two are taken is close to luck: see how the results
        spread over several choices before believing one.
    clusters
        Boxes a class.
    tau
        How far outside still counts as inside. None calibrates it on ID validation data.
    tau_unit
        `activation` (an absolute distance) or `width` (a fraction of each box's width, as first published).
    boundary
        `closed`: a point on a face is inside; `strict`: it is outside (needs a tau).
    layer
        The hidden layer watched, or a list of layers: then the one at which an instance is farthest outside
        decides. One tau holds for all, so layers of different scale go better with widths.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> OutsideTheBox(neurons=[3, 77], tau=0.0001).fixed_threshold
    0.0001
    """

    reference = "Henzinger, Lukina, Schilling: Outside the box, ECAI 2020"

    def __init__(
        self,
        *,
        neurons: str | Sequence[int] = "first-last",
        clusters: int = 3,
        tau: float | None = None,
        tau_unit: str = "activation",
        boundary: str = "closed",
        layer: str | Sequence[str] = LAST_HIDDEN,
        pool: str = "mean",
    ) -> None:
        super().__init__(
            clusters=clusters, tau=tau, tau_unit=tau_unit, boundary=boundary, layer=layer, pool=pool
        )
        if isinstance(neurons, str):
            check_choice("neurons", neurons, ("first-last", "all"))
        elif not neurons or not all(isinstance(n, int) and n >= 0 for n in neurons):
            raise ParameterError(f"neurons is {neurons!r}; expected 'first-last', 'all' or numbers from 0")
        else:
            check_once(neurons)
        self._neurons = neurons

    def _fit_space(self, layer: str, by_class: Sequence[Points], seed: int) -> State:
        del seed
        size = by_class[0].shape[1]
        if self._neurons == "all":
            chosen = np.arange(size)
        elif self._neurons == "first-last":
            chosen = np.array([0, size - 1])
        else:
            chosen = np.array(self._neurons)
            check_there(chosen.tolist(), self.name, layer, size)
        return {"neurons": chosen}

    def _space(self, state: State) -> Space:
        return Neurons(np.asarray(state["neurons"], dtype=np.int64))


class OutsideTheBoxPCA(BoxMonitor):
    """Boxes in the plane of each class's first two principal components.

    Parameters
    ----------
    dimensions
        How many components are kept.
    clusters, tau, tau_unit, boundary, layer, pool
        As for `oob`.

    Examples
    --------
    >>> OutsideTheBoxPCA().parameters["dimensions"]
    2
    """

    reference = "Ferreira et al.: Report on first version of a benchmark for safety monitoring, 2020"

    def __init__(
        self,
        *,
        dimensions: int = 2,
        clusters: int = 3,
        tau: float | None = None,
        tau_unit: str = "activation",
        boundary: str = "closed",
        layer: str | Sequence[str] = LAST_HIDDEN,
        pool: str = "mean",
    ) -> None:
        super().__init__(
            clusters=clusters, tau=tau, tau_unit=tau_unit, boundary=boundary, layer=layer, pool=pool
        )
        check_number("dimensions", dimensions, low=1, whole=True)
        self._dimensions = dimensions

    def _fit_space(self, layer: str, by_class: Sequence[Points], seed: int) -> State:
        from sklearn.decomposition import PCA  # not before: a guard fits nothing

        del layer, seed
        n_classes, size = len(by_class), by_class[0].shape[1]
        # NaN stands for a class with too few points for a plane: what it projects is NaN, and no box.
        mean = np.full((n_classes, size), np.nan, dtype=np.float32)
        axes = np.full((n_classes, self._dimensions, size), np.nan, dtype=np.float32)
        for label, points in enumerate(by_class):
            if len(points) > self._dimensions:
                pca = PCA(self._dimensions, svd_solver="full").fit(points)
                mean[label], axes[label] = pca.mean_, pca.components_
        return {"mean": mean, "axes": axes}

    def _space(self, state: State) -> Space:
        return Components(
            np.asarray(state["mean"], dtype=np.float32), np.asarray(state["axes"], dtype=np.float32)
        )
