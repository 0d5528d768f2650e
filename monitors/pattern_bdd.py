"""Activation patterns as they were first published: each class's set is one binary decision diagram."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import JSON, Explanation, Features, FitData, Observation, State
from farm.errors import RequirementError, one_line
from monitors._diagrams import REFUSED, Diagram, Distances, diagram_of, short_order
from monitors._layer import by_class
from monitors._pattern_sets import ROWS, PatternMonitor, packed, packed_of, unpacked
from monitors._reasons import MOST


class PatternDiagram(PatternMonitor):
    """Keeps the on/off patterns of each class's correctly classified training data as a decision diagram.

    The scores are those of `patterns`: the smallest Hamming distance to a pattern of the *predicted* class. A
    diagram is small where patterns make up a regular set; where nearly every training image has a pattern of
    its own, packed bits take less memory and less time. Fitting needs the extra `bdd`:
    `pip install 'farm-testbed[bdd]'`. Scoring does not.

    Parameters
    ----------
    gamma, layer, pool, neurons
        As for `patterns`.

    Examples
    --------
    >>> PatternDiagram(gamma=2).fixed_threshold
    2.5
    """

    reference = "Cheng, Nührenberg, Yasuoka: Runtime monitoring neuron activation patterns, DATE 2019"

    def _fit(self, data: FitData) -> State:
        bdd = self._dd()
        watched, patterns = self._sets(data)
        orders, diagrams = [], []
        for counted, words in zip(watched, patterns, strict=True):
            neurons = np.flatnonzero(counted)
            rows = unpacked(words, len(counted))[:, neurons]
            order = short_order(rows)
            orders.append(neurons[order])
            diagrams.append(diagram_of(rows[:, order], bdd.BDD()))
        level, low, high = (
            _narrow(np.concatenate(column)) for column in list(zip(*diagrams, strict=True))[:3]
        )
        return {
            "order": _narrow(np.stack(orders)),
            "level": level,
            "low": low,
            "high": high,
            "ends": np.cumsum([len(d.level) for d in diagrams]),
            "roots": np.array([d.root for d in diagrams]),
            "patterns": np.array([len(p) for p in patterns]),
            "width": np.array(watched.shape[1]),
        }

    def _dd(self) -> Any:
        try:
            return importlib.import_module("dd.bdd")
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and error.name in ("dd", "dd.bdd"):
                raise RequirementError(
                    f"monitor '{self.name}' needs the package dd, which is not installed; "
                    "try: pip install 'farm-testbed[bdd]'"
                ) from None
            raise RequirementError(f"dd cannot be imported: {one_line(error)}") from error

    def _load(self, state: State) -> None:
        order, ends, roots, level, low, high, counts = (
            state[name].astype(np.int64)
            for name in ("order", "ends", "roots", "level", "low", "high", "patterns")
        )
        self._nodes, self._counts, self._nowhere = len(level), counts, order.shape[1] + 1
        nodes = (np.split(values, ends[:-1]) for values in (level, low, high))
        self._distances = [
            None if root == REFUSED else Distances(Diagram(at, off, on, root), own, int(state["width"]))
            for at, off, on, root, own in zip(*nodes, roots.tolist(), order, strict=True)
        ]

    def _score(self, observation: Observation) -> Features:
        order, blocks = observation.once(by_class, observation.predicted)
        bits = packed_of(observation, self._layer)[order]
        score = np.full(len(bits), float(self._nowhere))
        for seen, first, last in blocks:
            if (distances := self._distances[seen]) is not None:
                for start in range(first, last, ROWS):
                    rows = slice(start, min(start + ROWS, last))
                    score[order[rows]] = distances(bits[rows])
        return score

    def _explain(self, observation: Observation) -> Explanation:
        label, on = int(observation.predicted[0]), observation.features(self._layer)[0] > 0
        if (distances := self._distances[label]) is None:
            return self._unseen(label)
        # A diagram tells distances alone. But where that is not 0, turning some neuron round makes it smaller
        # by one, and all that do so one after the other lead to a pattern that is nearest.
        distance = left = int(distances(packed(on[None]))[0])
        way, differing = on.copy(), np.empty(0, dtype=np.int64)
        while left and len(differing) < MOST:
            left -= 1
            turned = int(np.argmax(distances(packed(way ^ np.eye(len(on), dtype=np.bool_))) == left))
            way[turned] ^= True
            differing = np.append(differing, turned)
        return self._told(label, distance, differing, on)

    def notes(self) -> Mapping[str, JSON]:
        """How large the diagrams are, how many patterns they hold, and how many classes have none."""
        return {
            "nodes": self._nodes,
            "patterns": int(self._counts.sum()),
            "classes_without_patterns": int((self._counts == 0).sum()),
        }


def _narrow(values: np.ndarray) -> np.ndarray:
    """Take no more bytes a number than the largest needs."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
