"""The networks that an OD-test trains, each once, told apart by all that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from farm.api import OwnNetwork
from farm.protocols.od_test.results import LABEL


class Training(NamedTuple):
    """A network that is trained once; two that are equal are one."""

    seed: int
    source: str
    network: str
    """The classifier whose recipe it is by; nothing where it is a registered network."""
    need: OwnNetwork | None
    """Nothing where it is the classifier under watch itself."""
    learned: str
    """D_v, where it is told from that."""

    @property
    def kind(self) -> str:
        """What it counts as."""
        if self.need is None:
            return "classifiers under watch"
        if self.need.network:
            return self.need.network
        if self.need.against_outliers:
            return "told from outliers"
        if self.need.member:
            return "members of ensembles"
        said = ", ".join(f"{key}: {value}" for key, value in self.need.parameters)
        return f"with {said}" if said else "of the same recipe"


def training_for(label: Mapping[str, Any], need: OwnNetwork | None) -> Training:
    """Return the training of what a method asks for in a cell; of the classifier, where it asks nothing."""
    registered = need is not None and bool(need.network)
    told = need is not None and need.against_outliers
    return Training(
        label["seed"],
        label["workload"],
        "" if registered else label["classifier"],
        need,
        label[LABEL] if told else "",
    )
