"""Outside the box in the plane of an ISOMAP: distances along the training data instead of through the air."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farm.api import JSON, LAST_HIDDEN, IntArray, State, check_number, generator
from monitors._box_spaces import Points, Space
from monitors._layer import by_class
from monitors.boxes import BoxMonitor


class OutsideTheBoxIsomap(BoxMonitor):
    """Boxes in each class's ISOMAP embedding.

    Time and memory are bounded by `landmarks`: no more than that many training points a class carry the
    embedding, 4 bytes times its square each. What is lost is how finely a class's shape is followed; boxes
    are still fitted to all of the class's points, projected through the landmarks. That costs fidelity: of
    classes with a hundred points, scores had a rank correlation with those of all points of 0.3 (20
    landmarks), 0.5 (50) and 0.7 (80).

    Parameters
    ----------
    neighbours
        How many nearest points make a neighbourhood.
    dimensions
        How many coordinates are kept.
    landmarks
        At most this many points a class.
    clusters, tau, tau_unit, boundary, layer, pool
        As for `oob`.

    Examples
    --------
    >>> OutsideTheBoxIsomap(landmarks=500).parameters["neighbours"]
    5
    """

    reference = "Ferreira et al.: Report on first version of a benchmark for safety monitoring, 2020"

    def __init__(
        self,
        *,
        neighbours: int = 5,
        dimensions: int = 2,
        landmarks: int = 1000,
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
        check_number("neighbours", neighbours, low=2, whole=True)
        check_number("dimensions", dimensions, low=1, whole=True)
        check_number("landmarks", landmarks, low=10, whole=True)
        self._neighbours, self._dimensions, self._landmarks = neighbours, dimensions, landmarks

    def _fit_space(self, layer: str, by_class: Sequence[Points], seed: int) -> State:
        from sklearn.manifold import Isomap  # not before: a guard fits nothing

        del layer
        parts: dict[str, np.ndarray] = {}
        joined = 0
        for label, every in enumerate(by_class):
            rng = generator(seed, "oob-isomap", label)
            points = every[np.sort(rng.permutation(len(every))[: self._landmarks])]
            if len(points) <= max(self._dimensions, 2):
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                k = min(self._neighbours, len(points) - 1)
                # The solver that it takes by itself for more than 200 points starts at random.
                isomap = Isomap(n_neighbors=k, n_components=self._dimensions, eigen_solver="dense").fit(
                    points
                )
            # scikit-learn joins a neighbourhood graph that falls apart, and warns; we count.
            joined += any("connected components" in str(w.message) for w in caught)
            parts |= {f"{label}.{name}": array for name, array in _as_arrays(isomap, points).items()}
        return {**parts, "joined": np.array(joined), "n_classes": np.array(len(by_class))}

    def _space(self, state: State) -> Space:
        embeddings: list[_Embedding | None] = []
        for label in range(int(np.asarray(state["n_classes"], dtype=np.int64))):
            own = {name: state.get(f"{label}.{name}") for name in ("points", "geodesic", "weights", "offset")}
            arrays = {n: np.asarray(a, dtype=np.float32) for n, a in own.items() if a is not None}
            embeddings.append(_Embedding(self._neighbours, **arrays) if arrays else None)
        joined = int(np.asarray(state["joined"], dtype=np.int64))
        return _Embeddings(self._dimensions, embeddings, joined)


class _Embeddings(Space):
    """Every class's embedding; None where a class had too few points."""

    def __init__(self, dimensions: int, embeddings: Sequence[_Embedding | None], joined: int) -> None:
        self._dimensions, self._embeddings, self._joined = dimensions, embeddings, joined

    def project(self, features: Points, label: IntArray) -> Points:
        result = np.full((len(features), self._dimensions), np.nan, dtype=np.float32)
        order, blocks = by_class(label)
        ordered = features if len(features) == 1 else features[order]
        for own, start, stop in blocks:
            if (embedding := self._embeddings[own]) is not None:
                result[order[start:stop]] = embedding.project(ordered[start:stop])
        return result

    def notes(self) -> Mapping[str, JSON]:
        """In how many classes the neighbourhood graph had to be joined."""
        return {"classes_with_joined_graph": self._joined}


class _Embedding:
    """One class's ISOMAP as arrays. Projecting is scikit-learn's, folded into one matrix product."""

    def __init__(self, k: int, points: Points, geodesic: Points, weights: Points, offset: Points) -> None:
        self._points, self._geodesic, self._offset = points, geodesic, offset
        self._half = weights * np.float32(-0.5)
        self._squares = (points**2).sum(axis=1) / np.float32(2)
        self._k = min(k, len(points) - 1)

    # Absurdly large values overflow to infinity, which is outside of every box, as it should be.
    @np.errstate(over="ignore", invalid="ignore")
    def project(self, features: Points) -> Points:
        # Half the squared distances, but for |f|^2, which is the same to all points: only their order counts.
        to_points = self._squares - features @ self._points.T
        near = to_points.argpartition(self._k - 1, axis=1)[:, : self._k]
        # The short way once more, without the cancellation that the squared form suffers near zero.
        apart = features[:, None] - self._points[near]
        direct = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        along = (self._geodesic[near] + direct[:, :, None]).min(axis=1)
        projected: Points = np.square(along) @ self._half + self._offset
        return projected


def _as_arrays(isomap: Any, points: Points) -> dict[str, np.ndarray]:
    """Take what projecting needs out of a fitted Isomap: kernel centring becomes weights and an offset."""
    kernel, centre = isomap.kernel_pca_, isomap.kernel_pca_._centerer
    scaled = kernel.eigenvectors_ / np.sqrt(np.maximum(kernel.eigenvalues_, np.finfo(np.float64).tiny))
    scaled[:, kernel.eigenvalues_ <= 0] = 0.0
    weights = scaled - scaled.sum(axis=0) / len(points)
    offset = (centre.K_fit_all_ - centre.K_fit_rows_) @ scaled
    arrays = {"points": points, "geodesic": isomap.dist_matrix_, "weights": weights, "offset": offset}
    return {name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()}
