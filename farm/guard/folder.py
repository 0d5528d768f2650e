"""A guard's folder: what it is made of, so that any machine with the same packages makes it again.

`guard.json` tells everything in words and has a checksum of each other file, and of itself. The arrays of
classifier, monitor and second classifier are in one `.npz` each; the user's own modules are below `code/`.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from farm import registry
from farm.api import (
    AUTO,
    EAGER,
    ENGINES,
    OWN,
    Calibration,
    Classifier,
    Component,
    ModelSource,
    Monitor,
    SavedClassifier,
    check_choice,
)
from farm.api.context import MOST_THREADS
from farm.errors import (
    ComponentFailure,
    DataError,
    ExperimentError,
    FarmError,
    RequirementError,
    UnknownNameError,
    one_line,
)
from farm.guard.arrays import write_arrays
from farm.guard.guard import Guard
from farm.guard.own_code import OwnCode
from farm.registry import Kind
from farm.run.fallback import LAST, NONE, Fallback, LastAccepted, NoFallback, SecondClassifier
from farm.store import provenance
from farm.store.files import check_files, check_signature, file_digest, new_folder, signed, write_json
from farm.store.plain_arrays import read_npz
from farm.store.records import Form, read_record
from farm.store.run_form import EngineForm, GuaranteeForm
from farm.store.threads import limited_threads

SCHEMA = 1
RECORD = "guard.json"
CODE = "code"
ENGINE = "engine.npz"
SECOND = "second"
MOST_PIXELS = 2**26
"""Numbers that an image has at most: 256 MB."""


class OwnerForm(Form):
    """The package that a component is from."""

    package: str
    version: str


class ComponentForm(Form):
    """What makes a component again."""

    component: str
    name: str
    parameters: dict[str, Any]
    owner: OwnerForm | None


class ClassifierForm(ComponentForm):
    """What makes a classifier again, and what it then has to be."""

    digest: str
    engine: EngineForm | None = None


class ThresholdForm(Form):
    """A threshold, and what it was found by."""

    method: str
    threshold: float
    n: int
    asked_acceptance: float | None
    validation_acceptance: float | None
    per_class: list[float] | None
    classes_without_own_threshold: int
    guarantee: GuaranteeForm | None = None


class FittedMonitorForm(ComponentForm):
    """What makes a monitor again."""

    calibration: ThresholdForm


class FallbackForm(Form):
    """What takes a cancelled decision's place."""

    name: str
    classifier: ClassifierForm | None = None


class WorkloadForm(Form):
    """What a guard was fitted on."""

    name: str


class ProvenanceForm(Form):
    """What a guard was made from."""

    workload: WorkloadForm


class GuardForm(Form):
    """What `guard.json` has to have."""

    classes: list[str] = Field(min_length=1)
    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=3, max_length=3)
    threads: int = Field(ge=1, le=MOST_THREADS)
    classifier: ClassifierForm
    monitor: FittedMonitorForm
    policy: ComponentForm
    fallback: FallbackForm
    provenance: ProvenanceForm
    versions: dict[str, str | None]
    code: list[str]
    files: dict[str, str]
    checksum: str


def save_guard(guard: Guard, folder: Path) -> Path:
    """Write a guard's folder, whole or not at all."""
    classifier = _classifier_record(guard.classifier)
    arrays = {"classifier.npz": guard.classifier.state, "monitor.npz": guard.monitor.state}
    engine = guard.classifier.engine
    fitted_on, state = guard.fitted_on or (engine.record(), guard.classifier.engine_state)
    if state:
        arrays[ENGINE] = state
    fallback: dict[str, Any] = {"name": _fallback_name(guard.fallback)}
    if isinstance(guard.fallback, SecondClassifier):
        fallback["classifier"] = _classifier_record(guard.fallback.classifier)
        arrays["second.npz"] = guard.fallback.classifier.state
    monitor = component_record("monitor", guard.monitor)
    record = {
        "schema": SCHEMA,
        "classes": list(guard.classifier.classes),
        "shape": list(guard.shape),
        "threads": guard.threads,
        "classifier": {**classifier, "engine": fitted_on},
        "monitor": {**monitor, "calibration": guard.monitor.calibration.record()},
        "policy": component_record("policy", guard.policy),
        "fallback": fallback,
        "provenance": guard.provenance,
        "versions": {**provenance.versions(), **engine.runs_with},
        "code": list(guard.code.files),
    }
    with new_folder(folder) as temporary:
        for name, state in arrays.items():
            write_arrays(temporary / name, state)
        for file in guard.code.files:
            (temporary / CODE / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(guard.code.folder / file, temporary / CODE / file)
        names = [*arrays, *(f"{CODE}/{file}" for file in guard.code.files)]
        record["files"] = {name: file_digest(temporary / name) for name in names}
        write_json(temporary / RECORD, signed(record))
    return folder


def load_guard(folder: Path, engine: str = AUTO) -> Guard:
    """Read a guard's folder, checking that it is complete and unchanged; the code in it runs."""
    record = _checked_record(folder)
    threads = record["threads"]
    code = OwnCode(folder / CODE, record["code"])
    with code, limited_threads(threads):
        classifier = _classifier(record["classifier"], record, folder, "classifier.npz")
        classifier, told = _on_engine(classifier, record, folder, engine)
        monitor: Monitor = made_again("monitor", record["monitor"], folder)
        classifier.resolve(monitor.needs, f"monitor '{monitor.name}'")
        calibration = Calibration.from_record(record["monitor"]["calibration"])
        monitor.restore(read_npz(folder / "monitor.npz"), classifier, calibration)
        guard = Guard(
            classifier,
            monitor,
            shape=record["shape"],
            policy=made_again("policy", record["policy"], folder),
            fallback=_fallback(record, folder),
            threads=threads,
            provenance=record["provenance"],
            code=code,
        )
    if told:
        guard.fitted_on = record["classifier"]["engine"], read_npz(folder / ENGINE)
    guard.notes = (*told, *_differences(record))
    guard.warm_up()
    return guard


def _checked_record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    if not path.exists():
        what = f"has no {RECORD}" if folder.is_dir() else "is no folder"
        raise DataError(f"{folder} {what}; expected a folder that `farm fit` wrote")
    record = read_record(path, SCHEMA, GuardForm)
    check_signature(path, record)
    if math.prod(record["shape"]) > MOST_PIXELS:
        raise DataError(
            f"{path}: shape is {record['shape']}; expected at most {MOST_PIXELS:,} numbers an image"
        )
    n_classes, thresholds = len(record["classes"]), record["monitor"]["calibration"]["per_class"]
    if thresholds is not None and len(thresholds) != n_classes:
        raise DataError(f"{path}: {len(thresholds)} thresholds for {n_classes} classes; expected one a class")
    if record["fallback"]["name"] == SECOND and record["fallback"].get("classifier") is None:
        raise DataError(f"{path}: fallback.classifier is missing; expected the second classifier")
    needed = ["classifier.npz", "monitor.npz", *(f"{CODE}/{file}" for file in record["code"])]
    check_files(folder, record["files"], needed)
    return {**record, "shape": tuple(record["shape"])}


def _classifier_record(classifier: Classifier) -> dict[str, Any]:
    source = source_of(classifier)
    if type(source).restore is ModelSource.restore:
        raise RequirementError(
            f"classifier '{classifier.name}' cannot be saved: its model '{source.name}' does not say how it "
            "is made again from arrays (restore)"
        )
    source.name = classifier.name
    return {**component_record("model", source), "digest": classifier.digest}


def _classifier(saved: Mapping[str, Any], record: Mapping[str, Any], folder: Path, file: str) -> Classifier:
    """Make a classifier again; one that would give other outputs than the saved one is refused."""
    model: ModelSource = made_again("model", saved, folder)
    task = SavedClassifier(
        name=record["provenance"]["workload"]["name"],
        classes=tuple(record["classes"]),
        shape=record["shape"],
        state=read_npz(folder / file),
    )
    try:
        classifier = model.restore(task)
    except FarmError:
        raise
    except Exception as error:
        raise ComponentFailure(
            f"{folder}: classifier '{model.name}' cannot be made again: {one_line(error)}"
        ) from error
    classifier.recipe = {**saved["parameters"], "name": saved["component"]}
    if classifier.digest != saved["digest"]:
        raise DataError(
            f"{folder}: the code of classifier '{model.name}', or the version of what runs it, has changed "
            f"since the guard was saved: its digest is {classifier.digest}, and was {saved['digest']}"
        )
    return classifier


def _on_engine(
    classifier: Classifier, record: Mapping[str, Any], folder: Path, asked: str
) -> tuple[Classifier, tuple[str, ...]]:
    """Return the classifier on the engine that its monitor was fitted on, and what to know if it is not."""
    check_choice("engine", asked, ENGINES)
    own, kept = classifier.engine.name, record["classifier"].get("engine") or {}
    fitted_on = kept.get("name", own)
    if own != EAGER and asked not in (AUTO, own):
        how = "by itself" if own == OWN else f"by the engine '{own}' alone"
        raise ExperimentError(f"{folder}: its classifier runs {how}, and not by '{asked}'; leave engine out")
    if asked not in (AUTO, EAGER, fitted_on):
        why = f" ({kept['reason']})" if kept.get("reason") else ""
        raise ExperimentError(
            f"{folder} was fitted on the engine '{fitted_on}'{why}, and '{asked}' may give other scores; "
            "leave engine out, or fit it again on that (farm fit --engine) if its network can run so"
        )
    if ENGINE not in record["files"] or fitted_on in (own, EAGER):
        return classifier, ()
    why = "as asked"
    if asked != EAGER:
        try:
            return classifier.on_saved_engine(read_npz(folder / ENGINE), record["shape"]), ()
        except RequirementError as error:
            if asked != AUTO:
                raise
            why = str(error)
    told = f"the network runs eager ({why}); the monitor was fitted on the engine '{fitted_on}'"
    return classifier, (f"{told}: scores differ in their last digits, and near the threshold decisions may",)


def _fallback_name(fallback: Fallback) -> str:
    names: dict[type, str] = {NoFallback: NONE, LastAccepted: LAST, SecondClassifier: SECOND}
    kind = type(fallback)
    if kind not in names:
        raise RequirementError(
            f"a fallback of the class {kind.__module__}:{kind.__qualname__} cannot be saved; expected none, "
            "the last accepted decision, or a second classifier"
        )
    return names[kind]


def _fallback(record: Mapping[str, Any], folder: Path) -> Fallback:
    saved = record["fallback"]
    if saved["name"] == SECOND:
        return SecondClassifier(_classifier(saved["classifier"], record, folder, "second.npz"))
    return LastAccepted() if saved["name"] == LAST else NoFallback()


def _differences(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which versions differ from those that the guard was fitted with."""
    then: dict[str, str | None] = dict(record["versions"])
    for part in (record["classifier"], record["monitor"], record["policy"]):
        if part["owner"]:
            then[part["owner"]["package"]] = part["owner"]["version"]
    now = provenance.versions(name for name in then if name != "python")
    return tuple(
        f"{name} is {now.get(name) or 'not installed'} here, and was {version} when the guard was fitted"
        for name, version in then.items()
        if version is not None and now.get(name) != version
    )


def component_record(kind: Kind, component: Component) -> dict[str, Any]:
    """Return what makes a component again."""
    what = f"{kind} '{component.name}'"
    named = _named(kind, component, what)
    parameters = dict(component.parameters)
    try:
        plain = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise RequirementError(
            f"{what} cannot be saved, for a parameter cannot be written down as JSON: {error}"
        ) from error
    record = {"component": named, "name": component.name, "parameters": plain}
    return record | {"owner": _owner(kind, named)}


def made_again(kind: Kind, record: Mapping[str, Any], where: Path) -> Any:
    """Make a component from its record."""
    named, owner = record["component"], record["owner"]
    try:
        return registry.make(kind, named, record["parameters"], record["name"])
    except UnknownNameError:
        told = f" of the package {owner['package']} {owner['version']}" if owner else ""
        raise DataError(
            f"{where} needs the {kind} '{named}'{told}, which is not installed here; install it and try again"
        ) from None


def source_of(classifier: Classifier) -> ModelSource:
    """Make the recipe again that a classifier tells it was made by."""
    recipe = dict(classifier.recipe or {})
    name = recipe.pop("name", None)
    what = f"classifier '{classifier.name}' cannot be saved"
    if name is None:
        raise RequirementError(f"{what}: it was not made by a recipe; make it by name, as an experiment does")
    try:
        return registry.model(name, **recipe)
    except UnknownNameError:
        raise RequirementError(
            f"{what}: no model is registered as '{name}'; make it by a registered name or by module:Class"
        ) from None


def _named(kind: Kind, component: Component, what: str) -> str:
    """Return the name by which a component's class is found: a registered one, or `module:Class`."""
    cls = type(component)
    target = f"{cls.__module__}:{cls.__qualname__}"
    for entry in registry.entries(kind).values():
        # Where a package lists a class need not be where it is defined; few bear the same name.
        alike = entry.target.endswith(f":{cls.__qualname__}")
        if alike and registry.component_class(kind, entry.name) is cls:
            return entry.name
    if cls.__module__ == "__main__" or "." in cls.__qualname__:
        raise RequirementError(
            f"{what} cannot be saved: its class {target} cannot be imported by name; move it to the top "
            "level of a module of its own"
        )
    return target


def _owner(kind: Kind, named: str) -> dict[str, str] | None:
    """Return the installed package that a component comes from; None where it comes from no package."""
    if ":" in named:
        owners = packages_distributions().get(named.partition(":")[0].partition(".")[0], [])
        owner = owners[0] if owners else ""
    else:
        owner = registry.entries(kind)[named].owner
    try:
        return {"package": owner, "version": version(owner)}
    except (PackageNotFoundError, ValueError):
        return None
