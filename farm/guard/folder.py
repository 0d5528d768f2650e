"""A guard's folder: what it is made of, so that any machine with the same packages makes it again.

`guard.json` tells everything in words and has a checksum of each other file, and of itself. The arrays of
classifier, monitor and second classifier are in one `.npz` each; the user's own modules are below `code/`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from farm import provenance
from farm.api import Calibration, Classifier, ModelSource, Monitor, Policy, SavedClassifier
from farm.errors import ComponentFailure, DataError, FarmError, RequirementError, one_line
from farm.fallback import LAST, NONE, Fallback, LastAccepted, NoFallback, SecondClassifier
from farm.files import check_files, file_digest, json_digest, new_folder, read_record, write_json
from farm.guard.arrays import read_arrays, write_arrays
from farm.guard.components import component_record, made_again, source_of
from farm.guard.guard import Guard
from farm.guard.own_code import OwnCode
from farm.threads import limited_threads

SCHEMA = 1
RECORD = "guard.json"
CODE = "code"
SECOND = "second"
KEYS = (
    "classes",
    "shape",
    "threads",
    "classifier",
    "monitor",
    "policy",
    "fallback",
    "provenance",
    "versions",
)


def save_guard(guard: Guard, folder: Path) -> Path:
    """Write a guard's folder, whole or not at all."""
    classifier = _classifier_record(guard.classifier)
    arrays = {"classifier.npz": guard.classifier.state, "monitor.npz": guard.monitor.state}
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
        "classifier": classifier,
        "monitor": {**monitor, "calibration": guard.monitor.calibration.record()},
        "policy": component_record("policy", guard.policy),
        "fallback": fallback,
        "provenance": guard.provenance,
        "versions": provenance.versions(),
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
        write_json(temporary / RECORD, {**record, "checksum": json_digest(record)})
    return folder


def load_guard(folder: Path) -> Guard:
    """Read a guard's folder, checking that it is complete and unchanged; the code in it runs."""
    record = _checked_record(folder)
    shape, threads = record["shape"], record["threads"]
    code = OwnCode(folder / CODE, record["code"])
    with code, limited_threads(threads):
        classifier = _classifier(record["classifier"], record, folder, "classifier.npz")
        monitor = cast(Monitor, made_again("monitor", record["monitor"], str(folder)))
        classifier.resolve(monitor.needs, f"monitor '{monitor.name}'")
        calibration = Calibration.from_record(record["monitor"]["calibration"])
        monitor.restore(read_arrays(folder / "monitor.npz"), classifier, calibration)
        guard = Guard(
            classifier,
            monitor,
            shape=(shape[0], shape[1], shape[2]),
            policy=cast(Policy, made_again("policy", record["policy"], str(folder))),
            fallback=_fallback(record, folder),
            threads=threads,
            provenance=record["provenance"],
            code=code,
        )
    guard.notes = _differences(record)
    guard.warm_up()
    return guard


def _checked_record(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; expected one that `farm fit` wrote")
    path = folder / RECORD
    record = read_record(path, SCHEMA, [*KEYS, "code", "files", "checksum"])
    checksum = record.pop("checksum")
    if json_digest(record) != checksum:
        raise DataError(f"{path} was changed: its checksum differs from what it says")
    needed = ["classifier.npz", "monitor.npz", *(f"{CODE}/{file}" for file in record["code"])]
    check_files(folder, record["files"], needed)
    return record


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
    model = cast(ModelSource, made_again("model", saved, str(folder)))
    channels, height, width = record["shape"]
    task = SavedClassifier(
        name=record["provenance"].get("workload", {}).get("name", "unknown"),
        classes=tuple(record["classes"]),
        shape=(channels, height, width),
        state=read_arrays(folder / file),
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
