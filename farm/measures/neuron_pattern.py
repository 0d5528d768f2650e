"""The neuron activation pattern metric: do inputs of one scenario switch on a like number of neurons?

Inputs are put into groups by how many neurons of a layer are on. Outlying are those that are neither in the
largest group nor in one beside it (Cheng et al., 2018, section II C).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import IntArray
from farm.errors import DataError, ParameterError
from farm.measures.measure import Bounded, share
from farm.measures.neuron_activation import growing_sizes


@dataclass(frozen=True)
class ActivationGroups:
    """The inputs of a scenario, grouped by how many neurons are on."""

    neurons: int
    sizes: tuple[int, ...]
    """How many inputs are in each group, from few neurons on to many."""
    outlying: tuple[int, ...]
    """The rows of the inputs outside the main group and its neighbours, from the farthest groups on."""

    @property
    def n(self) -> int:
        """How many inputs there are."""
        return sum(self.sizes)

    @property
    def main(self) -> int | None:
        """The place of the largest group among `sizes`, the first of several; None without inputs."""
        return self.sizes.index(max(self.sizes)) if self.n else None

    @property
    def starts(self) -> tuple[int, ...]:
        """The smallest number of neurons on in each group."""
        return tuple(-(-self.neurons * group // len(self.sizes)) for group in range(len(self.sizes)))

    @property
    def trivial(self) -> bool:
        """Whether the groups are so few that none could be outlying."""
        return len(self.sizes) <= 2

    @property
    def share(self) -> Bounded:
        """The metric: the share of outlying inputs, with Wilson's interval; lower is better."""
        return share(len(self.outlying), self.n, "no inputs")


def activation_groups(counts: IntArray, neurons: int, gamma: int) -> ActivationGroups:
    """Put inputs into `gamma` groups by how many of a layer's neurons are on for each.

    The first group begins at 0; each ends before the next one begins, the last one with all neurons on.

    Examples
    --------
    >>> found = activation_groups(np.array([0, 4, 5, 4, 10]), neurons=10, gamma=5)
    >>> found.sizes, found.main, found.outlying, found.share.value.value
    ((1, 0, 3, 0, 1), 2, (0, 4), 0.4)
    """
    if neurons < 1:
        raise ParameterError(f"the layer has {neurons} neurons; expected at least 1")
    if not isinstance(gamma, int) or not 1 <= gamma <= neurons + 1:
        raise ParameterError(
            f"gamma is {gamma}; expected a whole number from 1 to {neurons + 1}, "
            "one more than the layer has neurons"
        )
    if not np.issubdtype(counts.dtype, np.integer):
        raise DataError(f"counts of neurons that are on: {counts.dtype}; expected whole numbers")
    if len(bad := np.flatnonzero((counts < 0) | (counts > neurons))):
        raise DataError(
            f"counts of neurons that are on: {counts[bad[0]]} in row {bad[0]}; expected 0 to {neurons}, "
            "the number of neurons"
        )
    # In whole numbers: a group's ends are multiples of neurons / gamma, which rounding would miss.
    group = np.minimum(counts.astype(np.int64) * gamma // neurons, gamma - 1)
    sizes = np.bincount(group, minlength=gamma)
    distance = np.abs(group - np.argmax(sizes))
    order = np.argsort(-distance, kind="stable")
    outlying = order[: np.count_nonzero(distance > 1)]
    return ActivationGroups(neurons, tuple(sizes.tolist()), tuple(outlying.tolist()))


def pattern_curve(
    counts: IntArray,
    neurons: int,
    gamma: int,
    *,
    rng: np.random.Generator,
    scenario: IntArray | None = None,
    steps: int = 10,
) -> list[tuple[int, float]]:
    """Return the metric of growing random subsets, each within the next, as (inputs, value).

    `scenario` numbers the scenario of each input, within which it may be outlying; without, all are of one.

    Examples
    --------
    >>> counts = np.array([0, 4, 4, 4])
    >>> pattern_curve(counts, neurons=4, gamma=4, rng=np.random.default_rng(0), steps=2)
    [(2, 0.5), (4, 0.25)]
    >>> alone = np.array([1, 0, 0, 0])
    >>> pattern_curve(counts, neurons=4, gamma=4, rng=np.random.default_rng(0), scenario=alone, steps=1)
    [(4, 0.0)]
    """
    drawn = rng.permutation(len(counts))
    of = np.zeros(len(counts), dtype=np.int64) if scenario is None else scenario
    return [
        (n, _outlying(counts[drawn[:n]], of[drawn[:n]], neurons, gamma) / n)
        for n in growing_sizes(len(drawn), steps)
    ]


def _outlying(counts: IntArray, scenario: IntArray, neurons: int, gamma: int) -> int:
    each = (counts[scenario == one] for one in np.unique(scenario))
    return sum(len(activation_groups(own, neurons, gamma).outlying) for own in each)
