"""Activation patterns: the neurons that are on must have been seen together with the predicted class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from farm.api import JSON, Explanation, Features, FitData, Observation, State
from monitors._layer import by_class
from monitors._pattern_sets import ROWS, PatternMonitor, Words, packed, packed_of, unpacked


class ActivationPatterns(PatternMonitor):
    """Keeps the on/off patterns of each class's correctly classified training data, as packed bits.

    A neuron is on above 0. The score is the smallest Hamming distance to a pattern of the *predicted* class;
    a class without patterns is one step farther away than all neurons together.

    Parameters
    ----------
    gamma
        How many neurons may differ: the alarm is raised above that. None calibrates the threshold instead.
    layer
        The hidden layer.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).
    neurons
        None takes all. A share takes, for each class, those with the largest weights (in size) to it, which
        only the layer `last-hidden` has. A list takes those, counted from 0.

    Examples
    --------
    >>> ActivationPatterns(gamma=2).fixed_threshold
    2.5
    """

    reference = "Cheng, Nührenberg, Yasuoka: Runtime monitoring neuron activation patterns, DATE 2019"

    def _fit(self, data: FitData) -> State:
        watched, patterns = self._sets(data)
        ends = np.cumsum([len(p) for p in patterns])
        return {"mask": packed(watched), "patterns": np.concatenate(patterns), "ends": ends}

    def _load(self, state: State) -> None:
        self._mask = state["mask"].astype(np.uint64)
        patterns = state["patterns"].astype(np.uint64)
        of_class = np.split(patterns, state["ends"].astype(np.int64)[:-1])
        # Words first: to add up whole planes is much faster than to add up the few words of each pattern.
        self._patterns: list[Words] = [np.ascontiguousarray(p.T[:, None]) for p in of_class]
        self._nowhere = int(np.bitwise_count(self._mask).sum(axis=1).max()) + 1

    def _score(self, observation: Observation) -> Features:
        label = observation.predicted
        order, blocks = observation.once(by_class, label)
        bits = (packed_of(observation, self._layer) & self._mask[label])[order]
        score = np.full(len(bits), float(self._nowhere))
        for seen, first, last in blocks:
            known = self._patterns[seen]
            for start in range(first, last if known.size else first, ROWS):
                rows = slice(start, min(start + ROWS, last))
                differ = np.bitwise_count(bits[rows].T[:, :, None] ^ known)
                score[order[rows]] = np.add.reduce(differ, axis=0, dtype=np.uint32).min(axis=1)
        return score

    def _explain(self, observation: Observation) -> Explanation:
        label, on = int(observation.predicted[0]), observation.features(self._layer) > 0
        known = self._patterns[label][:, 0]
        if not known.size:
            return self._unseen(label)
        differ = (packed(on) & self._mask[label]).T ^ known
        nearest = int(np.bitwise_count(differ).sum(axis=0, dtype=np.uint32).argmin())
        differing = np.flatnonzero(unpacked(np.ascontiguousarray(differ[:, [nearest]].T), on.shape[1])[0])
        return self._told(label, len(differing), differing, on[0])

    def notes(self) -> Mapping[str, JSON]:
        """How many different patterns are kept, and how many classes have none."""
        counts = [known.shape[2] for known in self._patterns]
        return {"patterns": sum(counts), "classes_without_patterns": counts.count(0)}
