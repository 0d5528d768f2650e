"""Parts of a campaign that no experiment has: exclusions, limits, faults at several severities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from farm.campaign.jobs import Limits
from farm.specs import NO_FAULT, FaultSpec, Strict, as_faults


def _one_or_several(value: Any) -> Any:
    if value is None or value == []:
        raise ValueError(f"is {value!r}; expected a value, or a list of them")
    return value if isinstance(value, list) else [value]


def _no_fault_too(value: Any) -> Any:
    named = [NO_FAULT if one is None else one for one in value] if isinstance(value, list) else value
    return _one_or_several(NO_FAULT if named is None else named)


Texts = Annotated[list[str] | None, BeforeValidator(_one_or_several)]


class Exclusion(Strict):
    """Cells that are left out, where all that is said holds; with `monitor`, that monitor leaves them."""

    workload: Texts = None
    classifier: Texts = None
    faultload: Annotated[list[str] | None, BeforeValidator(_no_fault_too)] = None
    severity: Annotated[list[float] | None, BeforeValidator(_one_or_several)] = None
    seed: Annotated[list[int] | None, BeforeValidator(_one_or_several)] = None
    monitor: Texts = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"is empty; expected one of: {', '.join(type(self).model_fields)}")
        return self

    @property
    def asked(self) -> dict[str, Sequence[Any]]:
        """The values of each key that is there."""
        return {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set}


class LimitSpec(Strict):
    """What a cell may take before its process is ended; without `memory_gb`, all the memory it wants."""

    seconds: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    memory_gb: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def limits(self) -> Limits:
        """Give them in seconds and bytes."""
        return Limits(self.seconds, None if self.memory_gb is None else round(self.memory_gb * 1e9))


def _severity(value: Any) -> Any:
    if value is None:
        return value
    for one in value if isinstance(value, list) and value else [value]:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 < one < float("inf"):
            raise ValueError(f"is {value!r}; expected a number above 0, or a list of them")
    return value


class FaultloadSpec(FaultSpec):
    """A fault as a campaign has it: at one severity, or at each of a list, which makes a cell each."""

    severity: Annotated[Any, AfterValidator(_severity)] = None

    def at(self, severity: float | None) -> FaultSpec:
        """Give it at one severity."""
        values = self.model_dump(by_alias=True, exclude_unset=True)
        return FaultSpec.model_validate({**values, "severity": severity})


def _one_severity_each(faults: list[FaultloadSpec]) -> list[FaultloadSpec]:
    for fault in faults:
        if len(faults) > 1 and isinstance(fault.severity, list):
            raise ValueError(
                f"'{fault.name}' has a list of severities beside another fault; expected one severity each: "
                "write each combination as an item of its own"
            )
    return faults


Streamed = Annotated[list[FaultloadSpec], BeforeValidator(as_faults), AfterValidator(_one_severity_each)]
"""The faults of one stream: one or several; empty where there are ID instances alone."""
