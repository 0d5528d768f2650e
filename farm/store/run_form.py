"""What `run.json` has to have, whoever signed it: what judges, compares and repeats a run relies on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from farm.api import Unit, What
from farm.store.files import check_signature
from farm.store.records import Form, read_record

SCHEMA = 3


class NameForm(Form):
    """A component by name, with what it was made by."""

    name: str | None = None
    recipe: dict[str, Any] | None = None
    hash: str | None = None
    digest: str | None = None


class EngineForm(Form):
    """What ran a network."""

    name: str
    requested: str
    max_diff: float | None
    reason: str


class NotedClassifierForm(NameForm):
    """A classifier, and what ran it."""

    engine: EngineForm | None = None


Number: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]


class CardSplitForm(Form):
    """One split on a data card."""

    name: str
    images: Number
    groups: Number
    classes: Number
    identical: Number


class CardClassForm(Form):
    """How many images of a class there are."""

    name: str
    train: Number
    validation: Number
    test: Number


class CardForm(Form):
    """A workload's data card."""

    shape: Annotated[list[Number], Field(min_length=3, max_length=3)]
    splits: list[CardSplitForm]
    classes: list[CardClassForm]
    boxes: bool
    masks: bool
    conditions: dict[str, dict[str, int | float]]


class WorkloadForm(NameForm):
    """A workload, with its data card."""

    sizes: dict[str, Number] | None = None
    notes: dict[str, Any] | None = None
    card: CardForm | None = None


class PromiseForm(Form):
    """One share that is bounded."""

    what: What
    at_most: float
    realised_on_validation: float | None


class GuaranteeForm(Form):
    """What a threshold promises."""

    promises: Annotated[list[PromiseForm], Field(min_length=1)]
    on_average: bool
    confidence: float | None
    unit: Unit
    event: Unit
    by: str | None
    n: Number
    needed: Number
    seen_in_fit: bool = False
    assumption: str


class CalibrationForm(Form):
    """How a threshold was set."""

    method: str | None = None
    threshold: float | None = None
    asked_acceptance: float | None = None
    held_out_acceptance: float | None = None
    guarantee: GuaranteeForm | None = None


class PartForm(Form):
    """A policy or a fallback."""

    name: str
    recipe: dict[str, Any] | None = None


class MonitorForm(Form):
    """What a run notes of one monitor."""

    name: str
    failure: str | None = None
    ranked: bool | None = None
    nbytes: int | None = None
    parameters: dict[str, Any] | None = None
    calibration: CalibrationForm | None = None
    policy: PartForm | None = None
    fallback: PartForm | None = None


class SurroundingsForm(Form):
    """What readouts may depend on beside the experiment."""

    versions: dict[str, str | None] | None = None
    hardware: dict[str, Any] | None = None
    testbed_commit: str | None = None


class PassForm(SurroundingsForm):
    """What computed some monitors of a cell, and how long it took."""

    monitors: list[str]
    cell_seconds: float | None = None


class OcclusionNoteForm(Form):
    """What came of heat maps that were asked for."""

    failure: str | None


class BoxesForm(Form):
    """How large the images are that boxes lie in, and what their spread took off the number of members."""

    height: Number
    width: Number
    spread_ddof: Number | None


class CellForm(Form):
    """Which cell of a campaign a run is."""

    id: str
    title: str
    label: dict[str, str | int | float | None]
    keys: dict[str, str]


class RepeatableForm(Form):
    """A run's record as far as it tells what was run."""

    experiment: dict[str, Any]


class RunForm(SurroundingsForm):
    """A run's record; a log that was saved as a run has little of it."""

    files: dict[str, str]
    layers: dict[str, str]
    name: str | None = None
    home: str | None = None
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    batch_size: int | None = Field(default=None, ge=0, lt=2**63)
    threads: int | None = None
    seconds: float | None = None
    workload: WorkloadForm | None = None
    classifier: NotedClassifierForm | None = None
    classes: list[str] | None = None
    boxes: BoxesForm | None = None
    monitors: Sequence[MonitorForm] | None = None
    experiment: dict[str, Any] | None = None
    stream: dict[str, Any] | None = None
    occlusion: OcclusionNoteForm | None = None
    passes: Sequence[PassForm] | None = None
    cell: CellForm | None = None


class SignedRunForm(RunForm):
    """One that has the checksum of its content."""

    checksum: str


def signed_run(folder: Path, form: type[RunForm] = SignedRunForm) -> dict[str, Any]:
    """Read the record of a run's folder, as it was signed; of its files, no other is looked at."""
    run = read_record(folder / "run.json", SCHEMA, form)
    check_signature(folder / "run.json", run)
    return run


class NotedMonitorForm(MonitorForm):
    """A monitor of which it is told whether it failed."""

    failure: str | None


class WholeRunForm(SignedRunForm):
    """One that a run wrote, and nobody by hand."""

    monitors: Sequence[NotedMonitorForm]


class FinishedCellForm(WholeRunForm):
    """One that is a cell of a campaign."""

    cell: CellForm
    passes: Sequence[PassForm] = Field(min_length=1)
