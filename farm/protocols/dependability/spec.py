"""A dependability evaluation as its file says it, and the campaign that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from farm.api import Faultload, PooledLayer, parameters_of
from farm.comparing.measures import MEASURES, OF_CLASSIFIER
from farm.config.experiment import IF_THERE
from farm.config.explaining import explain
from farm.config.files import find_domain, find_severities, read_mapping
from farm.config.scenario_domain import load_domain, parse_domain
from farm.config.specs import (
    NO_FAULT,
    ClassifierSpec,
    ComponentSpec,
    FaultSpec,
    MonitorSpec,
    OcclusionSpec,
    Strict,
    ValidationFaultSpec,
)
from farm.errors import ExperimentError, suggestion
from farm.measures.scenarios import Domain
from farm.protocols.dependability.kinds import METRICS
from farm.protocols.shared import SHARED, as_written, check_criteria, check_once, titled
from farm.run.loading import importable

TRAINING = "training-data"
"""What the cell is called that looks at what the network was trained on."""
OWN_NAMES = (NO_FAULT, TRAINING, "mean", "minimum", "worst tenth")
"""What streams and parts of results are called that are of no fault."""
WATCHED_BY = "never"
"""The yardstick that is in each cell, also where nothing is to be judged."""
EPS_A_LEVEL = 0.01
"""How far attacks may move a pixel at severity 1; at severity 3 it is three times as far."""
Data = Literal["train", "test"]


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _several(kind: Any) -> Any:
    return Annotated[list[kind], Field(min_length=1, strict=False), BeforeValidator(_list)]


class ScenarioSpec(Strict):
    """Which scenarios there could be, and which conditions tell parts of the data apart.

    `by` are those that patterns and performance are told by; without it, the first two. A cell of conditions
    is rare that has less than `rare` of the test data.
    """

    domain: str | dict[str, Any] | None = None
    k: _several(int) = Field(default=[2])  # type: ignore[valid-type]
    next: int = Field(default=3, ge=0)
    seconds: float = Field(default=5.0, gt=0)
    by: _several(str) | None = None  # type: ignore[valid-type]
    rare: float = Field(default=0.05, gt=0, lt=1)


class NeuronSpec(Strict):
    """Which layers are looked at, and how; of maps each channel's greatest value counts."""

    layers: _several(str) = Field(default=["last-hidden"])  # type: ignore[valid-type]
    k: _several(int) = Field(default=[1, 2])  # type: ignore[valid-type]
    threshold: float = 0.0
    groups: int = Field(default=10, ge=1)


class LossSpec(Strict):
    """Transformers, all at one severity; attacks may move a pixel by 0.01 for each level of it."""

    transformers: Annotated[list[ValidationFaultSpec], Field(min_length=1, strict=False)] = Field(
        default=[
            ValidationFaultSpec(name=name)
            for name in ("rotation", "elastic-transform", "fog", "rain", "fgsm", "deepfool")
        ]
    )
    severity: float = Field(default=3.0, gt=0)
    images: int | None = Field(default=None, ge=1)


class PerformanceSpec(Strict):
    """What is told scenario by scenario; `ordered` streams come as they were recorded and have a MTBF."""

    measures: _several(str) = Field(default=["classifier_accuracy", "residual_hazard"])  # type: ignore[valid-type]
    ordered: bool = False
    frame_rate: float | None = Field(default=None, gt=0)


class HeatMapSpec(OcclusionSpec):
    """How heat maps are made, and below which probability a position is hot."""

    rho: float = Field(default=0.5, gt=0, lt=1)


class Dependability(Strict):
    """What a dependability evaluation asks of a network and of the data that it was trained or tried on."""

    name: str
    protocol: Literal["dependability"]
    description: str = ""
    seed: int = 0
    workload: ComponentSpec
    classifier: ClassifierSpec
    monitors: Annotated[list[MonitorSpec], Field(strict=False)] = Field(
        default=[MonitorSpec(name="max-softmax")]
    )
    metrics: _several(str) = Field(default=[*METRICS])  # type: ignore[valid-type]
    data: _several(Data) = Field(default=["train"])  # type: ignore[valid-type]
    scenarios: ScenarioSpec = ScenarioSpec()
    neurons: NeuronSpec = NeuronSpec()
    loss: LossSpec = LossSpec()
    performance: PerformanceSpec = PerformanceSpec()
    occlusion: HeatMapSpec = HeatMapSpec()
    severities: str | None = None
    faults: Annotated[list[FaultSpec], Field(strict=False)] = Field(default=[])
    criteria: str | None = None
    batch_size: int = 64
    threads: int = 1
    limits: dict[str, Any] = Field(default={})
    pictures: Any = "none"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(f"metrics has '{name}', which is not known; {suggestion(name, METRICS)}")
        for name in self.performance.measures:
            if name not in (known := {**MEASURES, **OF_CLASSIFIER}):
                raise ValueError(
                    f"performance.measures has '{name}', which is not known; {suggestion(name, known)}"
                )
        for key, ks, most in (("scenarios", self.scenarios.k, None), ("neurons", self.neurons.k, 3)):
            if wrong := [k for k in ks if k < 1 or (most is not None and k > most)]:
                raise ValueError(f"{key}.k is {wrong[0]}; expected from 1" + (f" to {most}" if most else ""))
        faults = "loss.transformers and faults"
        check_once(
            (
                (faults, [titled(one) for one in self.all_faults]),
                ("neurons.layers", self.neurons.layers),
                ("metrics", self.metrics),
                ("data", self.data),
                ("scenarios.k", self.scenarios.k),
                ("scenarios.by", self.scenarios.by or []),
                ("neurons.k", self.neurons.k),
                ("performance.measures", self.performance.measures),
            ),
            renamed=(faults,),
        )
        for name in self.fault_names:
            if name in OWN_NAMES:
                raise ValueError(
                    f"loss.transformers and faults: '{name}' is what results call something else; give the "
                    "fault another name with 'as'"
                )
        if self.performance.frame_rate is not None and not self.performance.ordered:
            raise ValueError("performance.frame_rate is only used beside 'ordered: true'; leave it out")
        return self

    @property
    def all_faults(self) -> list[ValidationFaultSpec]:
        """All transformers and faults, in the order of the file."""
        return [*(self.loss.transformers if self.asks("adversarial_loss") else []), *self.faults]

    @property
    def transformer_names(self) -> list[str]:
        """What tables call the transformers."""
        return [titled(one) for one in self.loss.transformers]

    @property
    def fault_names(self) -> list[str]:
        """What tables call all that monitors are tried on."""
        return [titled(one) for one in self.all_faults]

    @property
    def monitor_names(self) -> list[str]:
        """What tables call the monitors."""
        return [titled(one) for one in self.monitors]

    @property
    def layers(self) -> list[PooledLayer]:
        """The layers by the names that readouts have: of maps the greatest value of each channel."""
        return [PooledLayer(name, "max") for name in self.neurons.layers]

    def asks(self, *metrics: str) -> bool:
        """Whether one of these metrics is asked for."""
        return any(name in self.metrics for name in metrics)

    def domain(self, folder: Path) -> Domain | None:
        """Return the domain that the file names or holds; None where it has none."""
        said = self.scenarios.domain
        if said is None:
            return None
        if isinstance(said, str):
            return load_domain(find_domain(said, folder))
        return parse_domain(said, "scenarios.domain")

    def campaign(self) -> dict[str, Any]:
        """Return the campaign: the data as they are, and each transformer's and fault's work on them."""
        shared = {key: getattr(self, key) for key in SHARED if key in self.model_fields_set}
        names = self.monitor_names
        return {
            "pictures": self.pictures,
            "batch_size": self.batch_size,
            **shared,
            "workload": as_written(self.workload),
            "classifier": as_written(self.classifier),
            "faultloads": list(chain(self._plain(), self._transformed())),
            "stream": {"order": "sequential"} if self.performance.ordered else {},
            "monitors": [*map(as_written, self.monitors), *([] if WATCHED_BY in names else [WATCHED_BY])],
            "exclude": self._excluded(),
        }

    def _plain(self) -> Iterator[dict[str, Any]]:
        """Yield the test data, and the training data where they are asked for."""
        asks_layers = self.asks("neuron_activation", "neuron_pattern")
        layers = {"layers": [name + IF_THERE for name in self.layers]} if asks_layers else {}
        occluded = self.asks("interpretation_precision", "occlusion_covering")
        occlusion = {"occlusion": self.occlusion.model_dump(exclude={"rho"})} if occluded else {}
        yield {"name": NO_FAULT, **_kept({**layers, **occlusion})}
        if "train" in self.data and self.asks("scenario_coverage", "neuron_activation", "neuron_pattern"):
            yield {"name": NO_FAULT, "as": TRAINING, "stream": {"split": "train"}, **_kept(layers)}

    def _transformed(self) -> Iterator[dict[str, Any]]:
        length = {} if self.loss.images is None else {"length": self.loss.images}
        for one in self.loss.transformers if self.asks("adversarial_loss") else ():
            at = self._at_severity(one)
            yield {**as_written(one), **at, "stream": {"ood_share": 1.0, **length}}
        for fault in self.faults:
            yield {**as_written(fault), "stream": {"ood_share": 1.0}}

    def _at_severity(self, one: ValidationFaultSpec) -> dict[str, Any]:
        """Return what puts a transformer at the one severity of all."""
        made = cast(Faultload, one.make("faultload"))
        if made.category == "novelty":
            raise ExperimentError(
                f"loss.transformers: '{titled(one)}' leaves no right answer; expected faultloads that keep "
                "labels: put it under faults"
            )
        parameters = parameters_of(type(made))
        if made.severities:
            return {} if one.severity is not None else {"severity": self.loss.severity}
        if "eps" in parameters and "eps" not in one.parameters:
            return {"eps": round(EPS_A_LEVEL * self.loss.severity, 9)}
        return {}

    def _excluded(self) -> list[dict[str, Any]]:
        """Leave out the monitors where the data were learned from: there is nothing to judge."""
        judged = [name for name in self.monitor_names if name != WATCHED_BY]
        there = any(one.get("as") == TRAINING for one in self._plain())
        return [{"faultload": TRAINING, "monitor": judged}] if there and judged else []


def _kept(readouts: dict[str, Any]) -> dict[str, Any]:
    return {"readouts": readouts} if readouts else {}


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign, which remembers it; `folder` has its files."""
    try:
        said = Dependability.model_validate(dict(values))
    except ValidationError as error:
        raise ExperimentError(explain(error, Dependability, values)) from None
    said.domain(folder)  # mistakes in other files are to be told before anything runs
    if said.severities is not None:
        read_mapping(find_severities(said.severities, folder))
    check_criteria(said.criteria, folder)
    with importable(folder):
        return {**said.campaign(), "protocol": dict(values)}
