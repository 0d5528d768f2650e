"""Another workload that a seed of its own draws: the same images, whatever the experiment's seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from farm.api import Context, OODImages, Workload, WorkloadSource, check_number
from farm.config.experiment import ComponentSpec
from farm.errors import ParameterError
from farm.store.component_cache import load_workload


class Fixed(WorkloadSource):
    """Another workload, drawn by a seed of its own instead of the experiment's.

    So repetitions of an experiment, each with another seed, have the same images: they differ in training,
    in faults and in the order alone. The workload keeps the other one's name, and what is in the cache of
    it with that seed is found there.

    Parameters
    ----------
    of
        The other workload: a name, or a mapping with its name and parameters.
    seed
        What it is drawn by.

    Examples
    --------
    >>> from farm.api import Context
    >>> fixed = Fixed(of={"name": "digits", "size": 8, "channels": 1})
    >>> one, other = (fixed.load(Context(seed=seed)) for seed in (1, 2))
    >>> one.name, one.content_hash == other.content_hash
    ('digits', True)
    """

    def __init__(self, *, of: str | Mapping[str, Any], seed: int = 0) -> None:
        check_number("seed", seed, low=0, high=2**63 - 1, whole=True)
        try:
            self._spec = ComponentSpec.model_validate(of)
        except ValidationError:
            raise ParameterError(f"of is {of!r}; expected a name, or a mapping with a name") from None
        self._of = cast(WorkloadSource, self._spec.make("workload"))
        self._seed = seed

    def for_workload(self, workload: Workload) -> Fixed:
        """Return it around what the other one is beside this workload."""
        inner = self._of.for_workload(workload)
        if inner is self._of:
            return self
        alias = {"as": self._spec.alias} if self._spec.alias else {}
        made = Fixed(of={"name": self._spec.name, **alias, **inner.parameters}, seed=self._seed)
        made.name = self.name
        return made

    def _load(self, context: Context) -> Workload:
        return load_workload(self._of, replace(context, seed=self._seed))

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:
        own = replace(context, seed=self._seed)
        return load_workload(self._of, own) if self._of.rendered else self._of._load_ood(own, like)
