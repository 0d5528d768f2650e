"""An OD-test as its file says it, and the campaign that it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from farm.api import VALIDATION_FAULT, Monitor
from farm.api.classifier import TAGS
from farm.config.explaining import explain
from farm.config.specs import ClassifierSpec, ComponentSpec, MonitorSpec, Strict
from farm.errors import ExperimentError
from farm.run.loading import importable
from farm.store.identity import Identities

NAME = "od-test"
NO_NETWORK = "none"
"""What a method says that looks at images alone."""
SHARED = ("name", "description", "seed", "seeds", "batch_size", "threads", "limits", "pictures")
"""Keys that mean in a campaign what they mean here."""
Triplet = tuple[str, str, str]
"""The names of D_s, D_v and D_t."""


class SetSpec(ComponentSpec):
    """A workload by name. With `mirror`, networks and neighbours also learn from mirrored training images.

    Of outliers without a training and a test split, `halves` learns from one half and judges on the other.
    """

    mirror: bool = False
    halves: bool = False

    @property
    def title(self) -> str:
        """The name that tables show."""
        title = self.parameters.get("title")
        return self.alias or (str(title) if isinstance(title, str) else self.name)

    def workload(self) -> dict[str, Any]:
        """Return it as a workload's specification."""
        return {"name": self.name, **({"as": self.alias} if self.alias else {}), **self.parameters}


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class MethodSpec(MonitorSpec):
    """A monitor by name, run with all networks, with those it names, or, where it needs none, without."""

    networks: Annotated[list[str] | None, BeforeValidator(_names)] = None

    @property
    def title(self) -> str:
        """The name that tables show."""
        return self.alias or self.name

    @property
    def learns(self) -> bool:
        """Whether its threshold, or more of it, is learned from D_v."""
        return self.calibration is None or self.calibration.method == VALIDATION_FAULT

    def monitor(self) -> dict[str, Any]:
        """Return it as a monitor's specification."""
        said = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return {key: value for key, value in said.items() if key != "networks"}


class SameClasses(Strict):
    """Classes that two sets share under different names, as pairs: of the first set, of the second."""

    sets: tuple[str, str] = Field(strict=False)
    classes: list[list[str | int]]

    def seen_from(self, ours: str) -> list[list[str | int]]:
        """Return the pairs as `novelty` has them, theirs before ours."""
        return [[theirs, own] if ours == self.sets[0] else [own, theirs] for own, theirs in self.classes]


class OdTest(Strict):
    """What an OD-test compares: source sets, sets that are outliers alone, networks, and methods."""

    name: str
    protocol: Literal["od-test"]
    description: str = ""
    seed: int = 0
    seeds: list[int] | None = None
    sources: Annotated[list[SetSpec], Field(min_length=1, strict=False)]
    outliers: Annotated[list[SetSpec], Field(strict=False)] = Field(default=[])
    incompatible: list[list[str]] = Field(default=[])
    same: list[SameClasses] = Field(default=[])
    networks: Annotated[list[ClassifierSpec], Field(min_length=1, strict=False)]
    methods: Annotated[list[MethodSpec], Field(min_length=1, strict=False)]
    optimistic: bool = False
    batch_size: int = 256
    threads: int = 1
    limits: dict[str, Any] = Field(default={})
    pictures: Any = "none"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key, names in (("sources and outliers", self.sets), ("networks", self.network_names)):
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{key}: two are called '{name}'; give one another name with 'as'")
        for key, pairs in (("incompatible", self.incompatible), ("same", [list(s.sets) for s in self.same])):
            for pair in pairs:
                for name in pair:
                    if name not in self.sets:
                        raise ValueError(f"{key} names '{name}', which is no set; sets: {_listed(self.sets)}")
                if len(set(pair)) != 2:
                    raise ValueError(f"{key} has {pair}; expected two sets")
        if any(one.mirror for one in self.outliers):
            raise ValueError("outliers: 'mirror' has no effect on a set that nothing is trained on")
        if any(one.halves for one in self.sources):
            raise ValueError("sources: 'halves' is for outliers alone; a source has splits of its own")
        for method in self.methods:
            for name in method.networks or []:
                if name not in (*self.network_names, NO_NETWORK):
                    known = _listed([*self.network_names, NO_NETWORK])
                    raise ValueError(f"methods: '{method.title}' runs with network '{name}'; known: {known}")
            if method.networks and NO_NETWORK in method.networks and len(method.networks) > 1:
                raise ValueError(f"methods: '{method.title}' runs with networks and with 'none'")
        if not self.triplets:
            raise ValueError(
                "there is no triplet: a source needs two other sets, one to learn from and one to be judged "
                "on; add outliers, such as noise-uniform and noise-normal"
            )
        return self

    @property
    def sets(self) -> list[str]:
        """The names of all sets, the sources first."""
        return [one.title for one in (*self.sources, *self.outliers)]

    @property
    def network_names(self) -> list[str]:
        """What tables call the networks."""
        return [one.alias or one.name for one in self.networks]

    @property
    def source_names(self) -> list[str]:
        """The names of the source sets."""
        return [one.title for one in self.sources]

    def compatible(self, source: str) -> list[str]:
        """Return the sets whose images are outliers to a source."""
        excluded = {other for pair in self.incompatible if source in pair for other in pair} | {source}
        return [name for name in self.sets if name not in excluded]

    @property
    def triplets(self) -> list[Triplet]:
        """All D_s, D_v and D_t with D_v and D_t compatible with D_s, and different."""
        return [
            (source, validation, target)
            for source in self.source_names
            for validation, target in product(self.compatible(source), repeat=2)
            if validation != target
        ]

    @property
    def without_network(self) -> set[str]:
        """Methods that look at images alone: they run once, beside the first network."""
        return {one.title for one in self.methods if one.networks == [NO_NETWORK]}

    def runs(self, method: MethodSpec, network: str) -> bool:
        """Say whether a method runs in the cells of a network."""
        if method.title in self.without_network:
            return network == self.network_names[0]
        return method.networks is None or network in method.networks

    def campaign(self) -> dict[str, Any]:
        """Return the campaign whose cells are these triplets with each network."""
        shared = {key: getattr(self, key) for key in SHARED if key in self.model_fields_set}
        return {
            "pictures": self.pictures,
            "batch_size": self.batch_size,
            **shared,
            "workloads": [_mirrored(one) for one in self.sources],
            "classifiers": [
                one.model_dump(mode="json", by_alias=True, exclude_unset=True) for one in self.networks
            ],
            "validation_faults": [self._novelty(one, "train") for one in self._all],
            "faultloads": [self._novelty(one, "test") for one in self._all],
            "stream": {"ood_share": 0.5},
            "calibration": {"method": VALIDATION_FAULT},
            "monitors": [one.monitor() for one in self.methods],
            "exclude": [*self._no_triplets(), *self._methods_elsewhere()],
        }

    @property
    def _all(self) -> list[SetSpec]:
        return [*self.sources, *self.outliers]

    def _novelty(self, one: SetSpec, split: str) -> dict[str, Any]:
        """Return the fault that brings a set's images as outliers, without classes that the source has."""
        same = {
            ours: pairs.seen_from(ours)
            for pairs in self.same
            if one.title in pairs.sets
            for ours in pairs.sets
            if ours != one.title and ours in self.source_names
        }
        workload = one.workload()
        if one.name.startswith("noise-"):
            workload = {"n": None, **workload}  # as many as the source has
        part = {"split": split}
        if one.halves:
            part = {"half": "first" if split == "train" else "second"}
        said = {"name": "novelty", "as": one.title, "workload": workload, **part, "resize": True}
        return said | ({"same_by_workload": same} if same else {})

    def _no_triplets(self) -> Iterable[dict[str, Any]]:
        """Leave out the cells that are no triplets."""
        for source in self.source_names:
            if gone := [name for name in self.sets if name not in self.compatible(source)]:
                yield {"workload": source, "validation_fault": gone}
                yield {"workload": source, "faultload": gone}
        if not self.optimistic:
            yield from ({"validation_fault": name, "faultload": name} for name in self._outlier_names)
        for network in self.network_names:
            if not any(self.runs(method, network) for method in self.methods):
                yield {"classifier": network}

    @property
    def _outlier_names(self) -> list[str]:
        """The sets that are outliers to some source."""
        return [name for name in self.sets if any(name in self.compatible(s) for s in self.source_names)]

    def _methods_elsewhere(self) -> Iterable[dict[str, Any]]:
        """Leave out methods where they do not run: with other networks, or a second time."""
        for network in self.network_names:
            gone = [one.title for one in self.methods if not self.runs(one, network)]
            if gone and len(gone) < len(self.methods):
                yield {"classifier": network, "monitor": gone}
        # What does not learn from D_v says the same for each: once for a D_t is enough.
        unsupervised = [one.title for one in self.methods if not one.learns]
        if not unsupervised:
            return
        alone = [
            network
            for network in self.network_names
            if not any(one.learns and self.runs(one, network) for one in self.methods)
        ]
        for source in self.source_names:
            names = self.compatible(source)
            for target in names:
                first = next(name for name in names if name != target)
                repeated = [name for name in names if name != first and (self.optimistic or name != target)]
                if repeated:
                    said = {"workload": source, "faultload": target, "validation_fault": repeated}
                    yield {**said, "monitor": unsupervised}
                    if alone:
                        yield {**said, "classifier": alone}


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign, which remembers it; `folder` has its files."""
    try:
        said = OdTest.model_validate(dict(values))
    except ValidationError as error:
        raise ExperimentError(explain(error, OdTest, values)) from None
    _check_different(said, folder)
    with importable(folder):
        for method in said.methods:
            _check_method(method)
    return {**said.campaign(), "protocol": dict(values)}


def _check_method(method: MethodSpec) -> None:
    """Raise where a file says of a method what its needs contradict."""
    if method.learns and method.networks != [NO_NETWORK]:
        return
    needs = cast(Monitor, method.make("monitor")).needs
    if needs.outliers and not method.learns:
        raise ExperimentError(
            f"method '{method.title}' learns from outliers, whatever its calibration; leave that out"
        )
    watched = needs.layers or any(getattr(needs, tag) for tag in TAGS)
    if method.networks == [NO_NETWORK] and (watched or any(not one.network for one in needs.networks)):
        raise ExperimentError(
            f"method '{method.title}' looks at the classifier, and says 'networks: none'; leave that out"
        )


def _check_different(said: OdTest, folder: Path) -> None:
    """Raise where two sets are one under two names: learned from and judged on would be the same."""
    identities, seen = Identities(folder), dict[str, str]()
    for one in (*said.sources, *said.outliers):
        files = identities.files_of(one.parameters)
        # Files count by their content, wherever they lie.
        told = {key: files.get(str(value), value) for key, value in one.parameters.items() if key != "title"}
        content = json.dumps([one.name, told], sort_keys=True, default=str)
        if (other := seen.setdefault(content, one.title)) != one.title:
            how = "have the same files, by content" if files else "are made alike"
            raise ExperimentError(
                f"sets '{other}' and '{one.title}' {how}: what is learned from one could not be judged on "
                "the other; leave one out"
            )


def _mirrored(one: SetSpec) -> dict[str, Any]:
    """Return a source as a workload, with mirrored training images where it asks for them."""
    if not one.mirror:
        return one.workload()
    return {"name": "mirrored", "as": one.title, "of": one.workload()}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
