"""One of the networks that an ensemble is the mean of: trained by itself, and found there by the ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farm.api import Classifier, Context, ModelSource, SavedClassifier, Workload, check_number
from models.averaged import context_of_member, recipe_of_members


class EnsembleMember(ModelSource):
    """The network that an `ensemble` by the same recipe has as its member of this number, bit for bit.

    Both find it in the cache where either has trained it, however many members the ensemble has. So a
    campaign trains an ensemble's networks side by side, with a cell for each.

    Parameters
    ----------
    of
        The recipe: a model's name, or a mapping with its name and parameters. It has to be trained here.
    number
        Which of them, from 1.

    Examples
    --------
    >>> EnsembleMember(of="lenet", number=2).parameters
    {'of': 'lenet', 'number': 2}
    """

    reference = (
        "Lakshminarayanan, Pritzel, Blundell: Simple and scalable predictive uncertainty, NeurIPS 2017"
    )

    def __init__(self, *, of: str | Mapping[str, Any], number: int) -> None:
        check_number("number", number, low=1, whole=True)
        self._of, self._number = recipe_of_members(of), number

    def trainings(self) -> Sequence[ModelSource]:
        """Return the recipe that it is trained by."""
        return self._of.trainings()

    def check(self, context: Context) -> None:
        """Check the recipe."""
        self._of.check(context)

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Train it, or find it in the cache."""
        return self._named(self._of.classifier(workload, self._own(context)))

    def untrained(self, workload: Workload, context: Context) -> Classifier | None:
        """Make it with the weights that training begins with."""
        made = self._of.untrained(workload, self._own(context))
        return None if made is None else self._named(made)

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make it again."""
        return self._named(self._of.restore(saved))

    def _own(self, context: Context) -> Context:
        return context_of_member(context, self._of, self._number)

    def _named(self, made: Classifier) -> Classifier:
        made.name = self.name
        return made
