"""From a campaign's lists to its cells: every combination of their items that is not excluded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from farm import registry
from farm.api import AUTO, Faultload
from farm.config.experiment import Experiment, Settings
from farm.config.specs import NO_FAULT, TEST, ClassifierSpec, ComponentSpec
from farm.errors import ExperimentError, suggestion
from farm.run.loading import importable

if TYPE_CHECKING:
    from farm.campaign.spec import Campaign, FaultloadSpec

LEARNED = "validation_fault"
Label = Mapping[str, str | float | int | None]


@dataclass(frozen=True)
class Cell:
    """One experiment of a campaign, and what tells it from the others."""

    experiment: Experiment
    label: Label
    """Its workload, classifier, faultload and severity by the names that readouts show, and its seed; with a
    validation fault that, too."""

    @property
    def title(self) -> str:
        """What to call it.

        Examples
        --------
        >>> pieces = {"workload": "signs", "classifier": "lenet", "monitors": ["odin"]}
        >>> experiment = Experiment.model_validate({"name": "x", **pieces})
        >>> fog = {"faultload": "fog", "severity": 3.0}
        >>> Cell(experiment, {"workload": "signs", "classifier": "lenet", **fog, "seed": 0}).title
        'signs, lenet, fog severity 3, seed 0'
        """
        return _title(self.label)


def _title(label: Label) -> str:
    fault = "no fault" if label["faultload"] == NO_FAULT else label["faultload"]
    severity = "" if label["severity"] is None else f" severity {label['severity']:g}"
    learned = f", outliers of {label[LEARNED]}" if LEARNED in label else ""
    return f"{label['workload']}, {label['classifier']}{learned}, {fault}{severity}, seed {label['seed']}"


class _NamedPart(NamedTuple):
    """A part of an experiment by the name that readouts show; of a stream, its faults."""

    name: str
    spec: Any
    severity: float | None = None
    made: Faultload | None = None
    """The fault, where it was made to find out whether it has severities."""
    stream: Mapping[str, Any] = MappingProxyType({})
    """What its stream has otherwise than the campaign's."""
    readouts: Mapping[str, Any] = MappingProxyType({})
    """What its readouts keep otherwise."""


def expand(campaign: Campaign, folder: Path | None) -> list[Cell]:
    """Return all cells, workload by workload, classifier by classifier, seed by seed."""
    workloads = _components("workload", campaign.workloads or [campaign.workload])
    classifiers = _components("classifier", _on_engines(campaign.classifiers or [campaign.classifier]))
    faults = _all_faults(campaign, folder)
    learned = _validation_faults(campaign)
    parts = list(product(workloads, classifiers, campaign.all_seeds, learned, faults))
    labels: list[Label] = [
        {
            "workload": workload.name,
            "classifier": classifier.name,
            "faultload": fault.name,
            "severity": fault.severity,
            "seed": seed,
            **({} if outliers.spec is None else {LEARNED: outliers.name}),
        }
        for workload, classifier, seed, outliers, fault in parts
    ]
    gone, without = _excluded(campaign, labels)
    given = [key for key in Settings.model_fields if key in campaign.model_fields_set]
    shared = {key: getattr(campaign, key) for key in given}
    monitors = [(_shown("monitor", spec), spec) for spec in campaign.monitors]
    expanded: list[Cell] = []
    for number, (label, part) in enumerate(zip(labels, parts, strict=True)):
        if number in gone:
            continue
        workload, classifier, seed, outliers, fault = part
        if fault.made is not None:
            fault.made.check_severity(fault.severity)
        values = {"workload": workload.spec, "classifier": classifier.spec, "faultload": fault.spec}
        values |= {"monitors": [spec for name, spec in monitors if name not in without[number]]}
        if fault.stream:
            # A split that was learned from has no OOD instances, whatever share others have.
            but = {"ood_share"} if fault.stream.get("split", TEST) != TEST else None
            shared_stream = campaign.stream.model_dump(exclude_unset=True, exclude=but)
            values["stream"] = {**shared_stream, **fault.stream}
        values |= fault.readouts
        if outliers.spec is not None:
            values[LEARNED] = outliers.spec
        if not values["monitors"]:
            raise ExperimentError(
                f"exclude leaves the cell '{_title(label)}' without monitors; exclude the cell itself"
            )
        # Validated as one that stands alone; of its parts, which are, nothing is looked at again.
        expanded.append(Cell(Experiment.model_validate({**shared, **values, "seed": seed}), label))
    if not expanded:
        raise ExperimentError("exclude leaves no cell; expected at least one")
    return expanded


def _components(what: str, specs: Iterable[ComponentSpec | None]) -> list[_NamedPart]:
    kind: registry.Kind = "workload" if what == "workload" else "model"
    named = [_NamedPart(_shown(kind, spec), spec) for spec in specs if spec is not None]
    _check_apart(what, named)
    return named


def _validation_faults(campaign: Campaign) -> list[_NamedPart]:
    """Return what monitors learn outliers from; where there is nothing, that alone."""
    specs = campaign.validation_faults or ([campaign.validation_fault] if campaign.validation_fault else [])
    named = [_NamedPart(_shown("faultload", spec), spec) for spec in specs]
    _check_apart(LEARNED, named)
    return named or [_NamedPart("", None)]


def _on_engines(specs: Iterable[ClassifierSpec | None]) -> list[ClassifierSpec]:
    """Say the engine of those that do not say it: cells are many, and `auto` is the fastest that is right."""
    engines = [(spec, spec.engine or AUTO) for spec in specs if spec is not None]
    return [spec.model_copy(update={"engine": engine}) for spec, engine in engines]


def _shown(kind: registry.Kind, spec: ComponentSpec) -> str:
    """Return the name that readouts show; data that somebody brings may have a title."""
    title = spec.parameters.get("title") if kind == "workload" else None
    if spec.alias or isinstance(title, str):
        return spec.alias or str(title)
    # Only other tools' spelling needs the list of all names, which takes time to read.
    return registry.canonical(kind, spec.name) if "_" in spec.name else spec.name


def _all_faults(campaign: Campaign, folder: Path | None) -> list[_NamedPart]:
    """Return the faults of every stream, severity by severity."""
    items = [campaign.faultload or []] if campaign.faultloads is None else campaign.faultloads
    streams: list[_NamedPart] = []
    for item in items:
        called = next((spec.alias for spec in item if spec.name == NO_FAULT), None)
        faults = [spec for spec in item if spec.name != NO_FAULT]
        made: Faultload | None = None
        severities: Sequence[float | None] = [None]
        if len(faults) == 1:
            given = faults[0].severity
            severities = given if isinstance(given, list) else [given]
            if given is None and campaign.severities:
                made = _make_fault(faults[0], folder)
                severities = campaign.severities if made.severities else severities
        last = sorted(faults, key=lambda spec: spec.both)  # those of all instances come after the others
        together = "+".join(_shown("faultload", spec) for spec in last)
        name = together or called or campaign.stream.benchmark or NO_FAULT
        own = next((spec.stream.model_dump(exclude_unset=True) for spec in item if spec.stream), {})
        kept = next((spec.readouts.settings() for spec in item if spec.readouts), {})
        for severity in severities:
            specs = [spec.at(severity if len(faults) == 1 else spec.severity) for spec in faults]
            level = specs[0].severity if len(specs) == 1 else None
            streams.append(_NamedPart(name, specs, level, made, own, kept))
    if campaign.severities and not any(one.made and one.made.severities for one in streams):
        raise ExperimentError(
            "severities has no effect: each faultload says its own, has none, or is one of several in a "
            "stream; leave it out"
        )
    _check_apart("faultload", streams)
    return streams


def _make_fault(spec: FaultloadSpec, folder: Path | None) -> Faultload:
    if folder is None or ":" not in str([spec.name, *spec.parameters.values()]):
        return cast(Faultload, spec.make("faultload"))
    with importable(folder):
        return cast(Faultload, spec.make("faultload"))


def _streamed(part: _NamedPart) -> tuple[Any, ...]:
    return part.spec, part.stream, part.readouts


def _check_apart(what: str, parts: Sequence[_NamedPart]) -> None:
    """Two parts must not be called the same: nobody could tell their results apart."""
    by_name: dict[tuple[str, float | None], _NamedPart] = {}
    for one in parts:
        other = by_name.setdefault((one.name, one.severity), one)
        if other is one:
            continue
        at = "" if one.severity is None else f" at severity {one.severity:g}"
        if what == "faultload" and _streamed(other) == _streamed(one):
            raise ExperimentError(f"faultloads: '{one.name}'{at} stands there twice; leave one out")
        raise ExperimentError(f"{what}s: two are called '{one.name}'{at}; give one another name with 'as'")


def _excluded(campaign: Campaign, labels: Sequence[Label]) -> tuple[set[int], list[set[str]]]:
    """Say which cells are left out, and which monitors leave which of the others, by the cells' numbers."""
    gone: set[int] = set()
    without: list[set[str]] = [set() for _ in labels]
    known: dict[str, list[Any]] = {
        key: list(dict.fromkeys(label[key] for label in labels if label[key] is not None))
        for key in labels[0]
    }
    known["monitor"] = [_shown("monitor", spec) for spec in campaign.monitors]
    for number, exclusion in enumerate(campaign.exclude):
        asked = exclusion.asked
        for key, value in ((key, value) for key, values in asked.items() for value in values):
            if value not in known.get(key, ()):
                hint = suggestion(_as_text(value), map(_as_text, known.get(key, ())))
                raise ExperimentError(
                    f"exclude.{number}.{key} is {_as_text(value)!r}, which no cell has; {hint}"
                )
        monitors = asked.pop("monitor", None)
        matching = [
            i
            for i, label in enumerate(labels)
            if all(label.get(key) in values for key, values in asked.items())
        ]
        if not matching:
            raise ExperimentError(f"exclude.{number} matches no cell, since none has all of it; leave it out")
        if monitors is None:
            gone.update(matching)
        else:
            for i in matching:
                without[i].update(monitors)
    return gone, without


def _as_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
