"""From a campaign's lists to its cells: every combination of their items that is not excluded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from farm import registry
from farm.api import Faultload
from farm.config import Experiment, Settings
from farm.errors import ExperimentError, suggestion
from farm.specs import NO_FAULT, ComponentSpec, FaultSpec

if TYPE_CHECKING:
    from farm.campaign.pieces import FaultloadSpec
    from farm.campaign.spec import Campaign

Label = Mapping[str, str | float | int | None]


@dataclass(frozen=True)
class Cell:
    """One experiment of a campaign, and what tells it from the others."""

    experiment: Experiment
    label: Label
    """Its workload, classifier, faultload and severity by the names that readouts show, and its seed."""

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
    return f"{label['workload']}, {label['classifier']}, {fault}{severity}, seed {label['seed']}"


class _Faults(NamedTuple):
    """The faults of one stream."""

    name: str
    severity: float | None
    specs: list[FaultSpec]
    made: Faultload | None = None
    """The fault, where it was made to find out whether it has severities."""


class _Named(NamedTuple):
    name: str
    spec: ComponentSpec


def expand(campaign: Campaign, folder: Path | None) -> list[Cell]:
    """Give all cells, workload by workload, classifier by classifier, seed by seed."""
    workloads = _components("workload", campaign.workloads or [campaign.workload])
    classifiers = _components("classifier", campaign.classifiers or [campaign.classifier])
    faults = _all_faults(campaign, folder)
    cells: list[tuple[Label, _Named, _Named, _Faults]] = []
    for workload, classifier, seed, fault in product(workloads, classifiers, campaign.all_seeds, faults):
        label: Label = {
            "workload": workload.name,
            "classifier": classifier.name,
            "faultload": fault.name,
            "severity": fault.severity,
            "seed": seed,
        }
        cells.append((label, workload, classifier, fault))
    gone, without = _excluded(campaign, [label for label, *_ in cells])
    given = [key for key in Settings.model_fields if key in campaign.model_fields_set]
    shared = {key: getattr(campaign, key) for key in given}
    monitors = [(_shown("monitor", spec), spec) for spec in campaign.monitors]
    expanded: list[Cell] = []
    for number, (label, workload, classifier, fault) in enumerate(cells):
        if number in gone:
            continue
        if fault.made is not None:
            fault.made.check_severity(fault.severity)
        values = {"workload": workload.spec, "classifier": classifier.spec, "faultload": fault.specs}
        values |= {"monitors": [spec for name, spec in monitors if name not in without[number]]}
        if not values["monitors"]:
            raise ExperimentError(
                f"exclude leaves the cell '{_title(label)}' without monitors; exclude the cell itself"
            )
        # Validated as one that stands alone; of its parts, which are, nothing is looked at again.
        expanded.append(Cell(Experiment.model_validate({**shared, **values, "seed": label["seed"]}), label))
    if not expanded:
        raise ExperimentError("exclude leaves no cell; expected at least one")
    return expanded


def _components(kind: str, specs: Iterable[ComponentSpec | None]) -> list[_Named]:
    """Name components apart."""
    of: registry.Kind = "workload" if kind == "workload" else "model"
    named = [_Named(_shown(of, spec), spec) for spec in specs if spec is not None]
    for name in (one.name for one in named):
        if sum(other.name == name for other in named) > 1:
            raise ExperimentError(f"{kind}s: two are called '{name}'; give one another name with 'as'")
    return named


def _shown(kind: registry.Kind, spec: ComponentSpec) -> str:
    """Give the name that readouts show; data that somebody brings may have a title."""
    title = spec.parameters.get("title") if kind == "workload" else None
    if spec.alias or isinstance(title, str):
        return spec.alias or str(title)
    # Only other tools' spelling needs the list of all names, which takes time to read.
    return registry.canonical(kind, spec.name) if "_" in spec.name else spec.name


def _all_faults(campaign: Campaign, folder: Path | None) -> list[_Faults]:
    """Give the faults of every stream, severity by severity."""
    items = [campaign.faultload or []] if campaign.faultloads is None else campaign.faultloads
    found: list[_Faults] = []
    for item in items:
        made: Faultload | None = None
        severities: Sequence[float | None] = [None]
        if len(item) == 1:
            own = item[0].severity
            severities = own if isinstance(own, list) else [own]
            if own is None and campaign.severities:
                made = _made(item[0], folder)
                severities = campaign.severities if made.severities else severities
        for severity in severities:
            specs = [spec.at(severity if len(item) == 1 else spec.severity) for spec in item]
            found.append(_faults(specs, campaign.stream.benchmark, made))
    if campaign.severities and not any(one.made and one.made.severities for one in found):
        raise ExperimentError(
            "severities has no effect: each faultload says its own, has none, or is one of several in a "
            "stream; leave it out"
        )
    _check_apart(found)
    return found


def _faults(specs: list[FaultSpec], benchmark: str | None, made: Faultload | None) -> _Faults:
    last = sorted(specs, key=lambda spec: spec.both)  # those of all instances come after the others
    name = "+".join(_shown("faultload", spec) for spec in last) or benchmark or NO_FAULT
    return _Faults(name, specs[0].severity if len(specs) == 1 else None, specs, made)


def _made(spec: FaultloadSpec, folder: Path | None) -> Faultload:
    if folder is None or ":" not in str([spec.name, *spec.parameters.values()]):
        return cast(Faultload, spec.make("faultload"))
    from farm.experiment import importable  # takes a while, and only who names own modules needs it

    with importable(folder):
        return cast(Faultload, spec.make("faultload"))


def _check_apart(faults: Sequence[_Faults]) -> None:
    """Two streams must not be called the same: nobody could tell their results apart."""
    seen: dict[tuple[str, float | None], _Faults] = {}
    for one in faults:
        other = seen.setdefault((one.name, one.severity), one)
        if other is one:
            continue
        at = "" if one.severity is None else f" at severity {one.severity:g}"
        if other.specs == one.specs:
            raise ExperimentError(f"faultloads: '{one.name}'{at} stands there twice; leave one out")
        raise ExperimentError(f"faultloads: two are called '{one.name}'{at}; give one another name with 'as'")


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
        for key, values in asked.items():
            for value in values:
                if value not in known[key]:
                    hint = suggestion(_told(value), map(_told, known[key]))
                    raise ExperimentError(
                        f"exclude.{number}.{key} is {_told(value)!r}, which no cell has; {hint}"
                    )
        monitors = asked.pop("monitor", None)
        matching = [
            i for i, label in enumerate(labels) if all(label[key] in values for key, values in asked.items())
        ]
        if not matching:
            raise ExperimentError(f"exclude.{number} matches no cell, since none has all of it; leave it out")
        if monitors is None:
            gone.update(matching)
        else:
            for i in matching:
                without[i].update(monitors)
    return gone, without


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
