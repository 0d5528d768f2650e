"""Which instances a monitor scored last: whoever looks back can explain these without scoring them again."""

from __future__ import annotations

import numpy as np

from farm.api import Observation


class Latest:
    """The instances of the batch that was scored last, told apart by their ids and what was observed of them.

    To score an instance again would tell a monitor with a memory that it came twice. So such a monitor keeps
    what it found of each instance, and looks up here which one it is asked about.

    Examples
    --------
    >>> from farm.api import FunctionClassifier
    >>> coin = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("heads", "tails"))
    >>> batch = coin.observe(np.zeros((3, 1, 8, 8), np.float32))
    >>> Latest(batch).row(batch.take(slice(2, 3)))
    2
    """

    def __init__(self, observation: Observation) -> None:
        self._ids, self._probabilities = observation.ids, observation.probabilities

    def row(self, one: Observation) -> int | None:
        """Return the place of this one instance; None where it is not there, or more than one might be it."""
        places = np.flatnonzero(self._ids == one.ids[0])
        alike = places[(self._probabilities[places] == one.probabilities[0]).all(axis=1)]
        return int(alike[0]) if len(alike) == 1 else None
