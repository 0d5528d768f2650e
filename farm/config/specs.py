"""The pieces of an experiment, each as its file says it: components, calibration, faults, the stream."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from farm import api, registry
from farm.api import ORDERS
from farm.errors import ExperimentError

NO_FAULT = "none"
"""What experiments call a stream without faults."""


SplitName = Literal["test", "train", "validation"]
TEST, TAUGHT = "test", ("train", "validation")
"""The split that everybody is judged by, and those that were learned from."""


class Strict(BaseModel):
    """What has just the keys that it declares, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _visible_name(name: str | None) -> str | None:
    if name is None or name.strip():
        return name
    raise ValueError(f"is {name!r}; expected a name")


def lasting_keys(value: Any) -> Any:
    """Write mappings whose keys are not all text as pairs: JSON, which keeps runs, would make them text.

    Examples
    --------
    >>> lasting_keys({"same": {2: "stop", "7": 4}})
    {'same': [[2, 'stop'], ['7', 4]]}
    """
    if isinstance(value, list):
        return [lasting_keys(one) for one in value]
    if not isinstance(value, dict):
        return value
    pairs = [[key, lasting_keys(one)] for key, one in value.items()]
    return dict(pairs) if all(isinstance(key, str) for key in value) else pairs


class ComponentSpec(BaseModel):
    """A component by name; every other key is one of its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)
    unsaid: ClassVar[tuple[str, ...]] = ()
    """Keys that are not written where nobody said anything."""

    name: str
    alias: Annotated[str | None, AfterValidator(_visible_name)] = Field(default=None, alias="as")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else lasting_keys(value)

    @model_serializer(mode="wrap")
    def _with_every_parameter(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A parameter that is null stays: to leave it out would mean its default."""
        nulls = {key: None for key, value in self.parameters.items() if value is None}
        said = {**handler(self), **nulls}
        return {key: value for key, value in said.items() if value is not None or key not in self.unsaid}

    @property
    def parameters(self) -> dict[str, Any]:
        """The component's parameters that the experiment sets."""
        return dict(self.model_extra or {})

    def make(self, kind: registry.Kind) -> api.Component:
        """Make the component."""
        return registry.make(kind, self.name, self.parameters, self.alias, other_keys=self.own_keys())

    @classmethod
    def own_keys(cls) -> list[str]:
        """Return the keys that are no parameters."""
        return [field.alias or name for name, field in cls.model_fields.items()]


class CalibrationSpec(Strict):
    """How thresholds are set: see `farm.api.CalibrationRule`."""

    method: str = "id-quantile"
    accept: float = 0.95
    threshold: float | None = None
    confidence: float | None = None
    event: api.Unit | None = None
    by: str | None = None
    risk: float | None = None
    hazard: float | None = None

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An acceptance that the method would not use is left out, unless somebody wrote it."""
        values: dict[str, Any] = handler(self)
        if not self._uses_acceptance and "accept" not in self.model_fields_set:
            values.pop("accept", None)
        unsaid = {"confidence", "event", "by", "risk", "hazard"}
        return {key: value for key, value in values.items() if value is not None or key not in unsaid}

    @property
    def _uses_acceptance(self) -> bool:
        return "accept" in api.CALIBRATION_KEYS.get(self.method, ())

    def rule(self) -> api.CalibrationRule:
        """Make the rule, which checks the values."""
        if "accept" in self.model_fields_set and not self._uses_acceptance:
            raise ExperimentError(
                f"calibration.accept is {self.accept}, which method '{self.method}' would not use; "
                "leave it out"
            )
        return api.CalibrationRule(**{name: getattr(self, name) for name in type(self).model_fields})


class ClassifierSpec(ComponentSpec):
    """A model by name, and the engine that runs its network: without one, eager, and in campaigns auto."""

    unsaid = ("engine",)

    engine: api.EngineName | None = None


class MonitorSpec(ComponentSpec):
    """A monitor by name, with a calibration, a policy and a fallback of its own where it wants them."""

    calibration: CalibrationSpec | None = None
    policy: ComponentSpec | None = None
    fallback: ComponentSpec | None = None


class ValidationFaultSpec(ComponentSpec):
    """A faultload by name, at one severity: outliers to learn from, or one of a stream's."""

    severity: float | None = Field(default=None, gt=0, strict=True)


class FaultSpec(ValidationFaultSpec):
    """A faultload of a stream.

    `share` is its part of the OOD instances beside other faults; `both` applies it to ID and OOD instances
    alike, after all others. `coherence` is how long a random draw lasts, and `drift` in how many instances
    one that drifts becomes another.
    """

    unsaid = ("coherence", "drift")

    share: float = Field(default=1.0, gt=0, le=1e6, strict=True)
    both: bool = Field(default=False, strict=True)
    coherence: api.Coherence | None = None
    drift: int | None = Field(default=None, ge=1, strict=True)

    @model_validator(mode="after")
    def _drifts(self) -> Self:
        if self.drift is not None and self.coherence != "drifting":
            raise ValueError(f"drift is {self.drift}, which only 'coherence: drifting' uses; leave it out")
        return self


def as_faults(value: Any) -> Any:
    """Write what an experiment says of its faults as a list: one, several, or none."""
    if value in (None, NO_FAULT):
        return []
    return value if isinstance(value, list) else [value]


def _length(value: Any) -> Any:
    if value in (None, "endless") or (type(value) is int and value >= 1):
        return value
    raise ValueError(f"is {value!r}; expected a whole number of at least 1, or 'endless'")


class OrderSpec(ComponentSpec):
    """The order of a stream: `shuffled`, `sequential`, or a schedule by name."""


class StreamSpec(Strict):
    """What the stream is made of; or a benchmark set that was written to disk.

    With another `split` than test it has the ID instances of that, and judges nobody.
    """

    order: OrderSpec = Field(default=OrderSpec(name="shuffled"), strict=False)
    ood_share: float | None = None
    length: Annotated[Any, AfterValidator(_length)] = None
    frame_rate: float | None = Field(default=None, gt=0)
    benchmark: str | None = None
    split: SplitName = "test"

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Beside a benchmark nothing else has an effect, not even what it is by default."""
        if self.benchmark:
            return {"benchmark": self.benchmark}
        values: dict[str, Any] = handler(self)
        if self.frame_rate is None:
            values.pop("frame_rate", None)
        if self.split == TEST:
            values.pop("split", None)
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.benchmark and (unused := sorted(self.model_fields_set - {"benchmark"})):
            raise ValueError(f"'{unused[0]}' has no effect beside benchmark, which is a stream already")
        timed = self.order.name not in ORDERS
        if self.split != TEST:
            if timed:
                raise ValueError(
                    f"split is '{self.split}', which makes no stream with time; expected order shuffled or "
                    f"sequential, not '{self.order.name}'"
                )
            if self.ood_share is not None:
                raise ValueError(
                    f"'ood_share' has no effect on split '{self.split}', of which there are ID instances "
                    "alone; leave it out"
                )
        if timed and self.ood_share is not None:
            raise ValueError("'ood_share' has no effect on a stream with time; give its order a share")
        if self.length == "endless" and not timed:
            raise ValueError(f"length is 'endless'; a stream in the order '{self.order.name}' has an end")
        return self


class ReadoutsSpec(Strict):
    """What readouts keep beside what all have.

    `probabilities` are those of every class, four bytes an instance and class; otherwise there are those of
    the predicted and of the right class alone.
    """

    probabilities: bool = False


FILLS = ("mean", "black", "white")
MOST_OCCLUDED = 1000


def _fill(value: Any) -> Any:
    if value in FILLS or (type(value) in (int, float) and 0 <= value <= 1):
        return value
    raise ValueError(f"is {value!r}; expected {', '.join(FILLS)}, or a number from 0 to 1")


class OcclusionSpec(Strict):
    """How a square patch is moved over images, to see where hiding something changes the classifier's mind.

    `images` are how many instances are looked at: the first ID ones that have a right answer, not two of one
    track while other tracks remain. `window` is the side of the patch and `stride` its step, in pixels; it
    stands wherever it fits as a whole. `fill` is what it shows: `mean` (of each channel of the image),
    `black`, `white`, or a number from 0 to 1.
    """

    images: int = Field(default=40, ge=1, le=MOST_OCCLUDED)
    window: int = Field(default=8, ge=1, lt=2**31)
    stride: int = Field(default=2, ge=1, lt=2**31)
    fill: Annotated[Any, AfterValidator(_fill)] = "mean"
