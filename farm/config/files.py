"""Files of experiments: where they are, what they say, and the lists of faults that they point at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farm import registry
from farm.api import read_text
from farm.config.yaml_reading import override, parse_yaml
from farm.errors import ExperimentError, suggestion

EXPERIMENTS = registry.HOME / "experiments"
PLURALS = {
    "workloads": "workload",
    "classifiers": "classifier",
    "faultloads": "faultload",
    "validation_faults": "validation_fault",
    "seeds": "seed",
}
"""The lists of a campaign, and what an experiment has instead."""
CAMPAIGN_KEYS = ("protocol", *PLURALS, "severities", "repetitions", "exclude", "limits")
"""The keys that only a campaign has: a file with one of them is a campaign."""

_RIVALS: Mapping[str, tuple[str, ...]] = {
    **{singular: (plural,) for plural, singular in PLURALS.items()},
    **{plural: (singular,) for plural, singular in PLURALS.items()},
    "seeds": ("seed", "repetitions"),
    "repetitions": ("seeds",),
}
"""What says the same in another way: a setting of the command line takes its place."""

Recorded = Callable[[Path], tuple[dict[str, Any], Path]]
"""Reads from a run's record what was run, and the folder for its relative paths."""

_OF_A_LIST = {"list", "entry", "share", "both"}
_TAKES = (
    "faultload: a list takes 'list', 'entry', 'share' and 'both', and nothing else; 'entry' may be left out "
    "in an item of a campaign's 'faultloads', which then stands for all entries"
)


@dataclass(frozen=True)
class Written:
    """What a file and the command line say together, before it is checked."""

    values: dict[str, Any]
    path: Path
    folder: Path
    """Where relative paths and the user's own modules are looked for."""

    @property
    def campaign_key(self) -> str | None:
        """The first of the keys that make it a campaign; None where it is a single experiment."""
        return next((key for key in self.values if key in CAMPAIGN_KEYS), None)


def read_written(where: str, overrides: Sequence[str], recorded: Recorded) -> Written:
    """Read an experiment or a campaign by path or by bare name; of a run's `run.json`, what was run.

    Paths are relative to where its file lies; for a shipped experiment, beside which nobody has files, to
    the current folder; for a run, to where they were when it ran, which `recorded` reads.
    """
    path = find_experiment(where)
    if path.suffix == ".json":
        values, folder = recorded(path)
    else:
        values, folder = read_mapping(path), path.parent if path == Path(where) else Path()
    values.setdefault("name", re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem))
    for setting in overrides:
        for rival in _RIVALS.get(setting.partition("=")[0], ()):
            values.pop(rival, None)
        override(values, setting)
    return Written(values, path, folder.resolve())


def find_experiment(where: str) -> Path:
    """Find a file, or one of the shipped experiments by its bare name."""
    path = Path(where)
    if path.suffix in (".yaml", ".yml", ".json") or path.exists():
        if path.is_file():
            return path
        kind = "is a folder" if path.is_dir() else "is no file" if path.exists() else "is not there"
        hint = f"; to repeat its run, give {path / 'run.json'}" if (path / "run.json").is_file() else ""
        raise ExperimentError(f"{path} {kind}; expected an experiment file (YAML){hint}")
    shipped = EXPERIMENTS / f"{where}.yaml"
    if shipped.is_file() and shipped.parent == EXPERIMENTS:
        return shipped
    known = [p.stem for p in EXPERIMENTS.glob("*.yaml")]
    raise ExperimentError(f"experiment '{where}' is neither a file nor shipped; {suggestion(where, known)}")


def listed(faultload: Any, folder: Path) -> Any:
    """Replace `{list: FILE, entry: NAME}` by what that file says under that name.

    A list is looked for beside the experiment, then among those that ship with the testbed.
    """
    if isinstance(faultload, list):
        return [listed(one, folder) for one in faultload]
    if not isinstance(faultload, dict) or "list" not in faultload:
        return faultload
    if not {"list", "entry"} <= set(faultload) <= _OF_A_LIST:
        raise ExperimentError(_TAKES)
    entries, entry = _entries(faultload, folder), str(faultload["entry"])
    if entry not in entries:
        raise ExperimentError(
            f"faultload: list '{faultload['list']}' has no entry '{entry}'; {suggestion(entry, entries)}"
        )
    return _entry(faultload, entry, entries[entry])


def with_scenario(stream: Any, folder: Path) -> Any:
    """Replace `order: {name: scenario, file: FILE}` by what the file says, so that a record needs no file.

    Its `frame_rate` is the stream's, unless that says another.
    """
    order = stream.get("order") if isinstance(stream, dict) else None
    if not isinstance(order, dict) or order.get("name") != "scenario" or "file" not in order:
        return stream
    if more := sorted(set(order) - {"name", "file", "as"}):
        raise ExperimentError(f"stream.order: a scenario's file says all of it; take out {', '.join(more)}")
    said = read_mapping(find_scenario(str(order["file"]), folder))
    said.pop("description", None)
    rate = {"frame_rate": said.pop("frame_rate")} if "frame_rate" in said else {}
    return {**rate, **stream, "order": {**{key: order[key] for key in order if key != "file"}, **said}}


def find_scenario(name: str, folder: Path) -> Path:
    """Find a scenario's file beside the experiment, or one of the shipped ones by its bare name."""
    return _beside_or_shipped("scenario", name, folder, EXPERIMENTS / "scenarios")


def find_domain(name: str, folder: Path) -> Path:
    """Find a file of conditions beside the experiment, or a shipped one by its bare name."""
    return _beside_or_shipped("domain", name, folder, EXPERIMENTS / "domains")


def find_criteria(name: str, folder: Path) -> Path:
    """Find a file of criteria beside the experiment, or a shipped one by its bare name."""
    return _beside_or_shipped("criteria", name, folder, EXPERIMENTS / "criteria")


def find_severities(name: str, folder: Path) -> Path:
    """Find a file of severities beside the experiment, or a shipped one by its bare name."""
    return _beside_or_shipped("severities", name, folder, EXPERIMENTS / "severities")


def _beside_or_shipped(what: str, name: str, folder: Path, place: Path) -> Path:
    beside, shipped = folder / name, place / f"{name}.yaml"
    if beside.is_file():
        return beside
    if shipped.is_file() and shipped.parent == place:
        return shipped
    known = [path.stem for path in place.glob("*.yaml")]
    raise ExperimentError(f"{what} '{name}' is neither a file nor shipped; {suggestion(name, known)}")


def all_listed(faultload: Any, folder: Path) -> list[tuple[str, Any]]:
    """Replace `{list: FILE}` by all that the file says, and anything else as `listed` does.

    Each comes with its name in the list, or with none.
    """
    if not isinstance(faultload, dict) or "list" not in faultload or "entry" in faultload:
        return [("", listed(faultload, folder))]
    if not set(faultload) <= _OF_A_LIST:
        raise ExperimentError(_TAKES)
    return [(name, _entry(faultload, name, said)) for name, said in _entries(faultload, folder).items()]


def _entry(faultload: Mapping[str, Any], name: str, said: Any) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise ExperimentError(
            f"faultload: list '{faultload['list']}': {name} is {said!r}; expected keys and values with a name"
        )
    return {**said, **{key: value for key, value in faultload.items() if key not in ("list", "entry")}}


def _entries(faultload: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read a list of faults: what it says, by the names of its entries."""
    name = str(faultload["list"])
    beside, shipped = folder / name, EXPERIMENTS / "faultloads" / f"{name}.yaml"
    path = beside if beside.is_file() else shipped
    if not path.is_file():
        known = [p.stem for p in (EXPERIMENTS / "faultloads").glob("*.yaml")]
        raise ExperimentError(
            f"faultload: list '{name}' is no file and not shipped; {suggestion(name, known)}"
        )
    return read_mapping(path)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file of keys and values."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}") from error
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise ExperimentError(f"{path} holds a {type(values).__name__}; expected keys and values")
    return values
