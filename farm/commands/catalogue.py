"""`farm list` and `farm describe`: what there is, and what it takes."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from farm import api, registry
from farm.commands.parsing.common import KINDS, SCENARIO
from farm.config.yaml_reading import override
from farm.errors import ExperimentError, StorageError
from farm.registry import Kind
from farm.report.data_card import card_lines
from farm.report.pictures import contact_sheet
from farm.run.data_card import data_card
from farm.run.loading import importable
from farm.run.progress import shown_progress
from farm.store.files import check_new_file


def list_components(options: argparse.Namespace) -> int:
    """List registered names; nothing of theirs is imported."""
    kinds = [options.kind] if options.kind else KINDS
    entries = [entry for kind in kinds for entry in registry.entries(cast(Kind, KINDS[kind])).values()]
    records = [{"kind": e.kind, "name": e.name, "target": e.target, "owner": e.owner} for e in entries]
    if options.format == "json":
        print(json.dumps(records, indent=2))
        return 0
    rows = [("kind", "name", "from")]
    for entry in entries:
        owner = "" if entry.owner == registry.OURS else f"{entry.owner}: "
        rows.append((entry.kind, entry.name, owner + entry.target))
    kind, name = (max(map(len, column)) for column in list(zip(*rows, strict=True))[:2])
    for row in rows:
        # What is too long for a line is left to the terminal: a name that is cut cannot be copied.
        print(f"{row[0]:{kind}}  {row[1]:{name}}  {row[2]}")
    print("\nfarm describe KIND NAME tells more, e.g. farm describe monitor oob")
    return 0


def describe(options: argparse.Namespace) -> int:
    """Tell what a component is, its parameters with defaults, and its reference."""
    with importable(Path.cwd()):
        if options.kind == SCENARIO:
            from farm.commands.scenario import describe_scenario

            return describe_scenario(options)
        return _describe(options)


def _describe(options: argparse.Namespace) -> int:
    cls = registry.component_class(options.kind, options.name)
    parameters = [
        {
            "name": name,
            "type": str(parameter.annotation),
            "default": "required" if parameter.default is inspect.Parameter.empty else parameter.default,
        }
        for name, parameter in api.parameters_of(cls).items()
    ]
    text = inspect.getdoc(cls) or ""
    record: dict[str, Any] = {
        "kind": options.kind,
        "name": options.name,
        "class": f"{cls.__module__}:{cls.__qualname__}",
        "description": text,
        "parameters": parameters,
        "reference": cls.reference or None,
    }
    if issubclass(cls, api.Faultload):
        record |= {"category": cls.category, "severities": list(cls.severities), "origin": cls.origin or None}
        record |= {"not_monotone": cls.not_monotone or None}
    if issubclass(cls, api.Monitor):
        record["needs"] = _needs(cls)
    if options.images or options.set:
        record["data_card"] = _look_into(options)
    if options.format == "json":
        print(json.dumps(record, indent=2, default=str))
        return 0
    if "data_card" in record:
        print("\n".join(card_lines(record["data_card"])))
        print(f"\nSamples of every class were drawn to {options.images}")
        return 0
    _print_description(record, parameters)
    return 0


def _look_into(options: argparse.Namespace) -> dict[str, Any]:
    """Load a workload, draw its contact sheet, and give its data card."""
    if options.kind != "workload":
        raise ExperimentError(f"--images and --set look into a workload; {options.kind}s have no images")
    if not options.images:
        raise ExperimentError("--set has no effect without --images, which loads the workload")
    out = Path(options.images)
    if out.suffix.lower() != ".png":
        raise ExperimentError(f"--images {out}: expected the name of a new .png file to draw to")
    check_new_file(out)
    parameters: dict[str, Any] = {}
    for setting in options.set:
        override(parameters, setting)
    # Here, because the testbed loads torch, which no other description needs.
    from farm.run.testbed import Testbed

    with shown_progress(quiet=options.format == "json") as progress:
        workload = Testbed(progress=progress).workload({"name": options.name, **parameters})
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        contact_sheet(workload).save(out, format="PNG")
    except OSError as error:
        with suppress(OSError):
            out.unlink(missing_ok=True)
        raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
    return data_card(workload)


def _print_description(record: dict[str, Any], parameters: Sequence[dict[str, Any]]) -> None:
    print(f"{record['kind']} {record['name']}  ({record['class']})\n")
    print(record["description"].split("\nExamples\n")[0].rstrip())
    if parameters:
        print("\nDefaults")
        print("--------")
        for parameter in parameters:
            default = parameter["default"]
            shown = default if default == "required" else repr(default)
            print(f"{parameter['name']}: {shown}")
    if "category" in record:
        print(f"\nCategory: {record['category']}")
        levels = ", ".join(f"{s:g}" for s in record["severities"])
        if record["origin"]:
            print(f"Origin: {record['origin']}")
        print(f"Severities: {levels or 'none; severity means nothing here'}")
        if record["not_monotone"]:
            print(f"A higher one need not change more: {record['not_monotone']}")
    if "needs" in record:
        print(f"\nNeeds: {_told(record['needs'])}")
    if record["reference"]:
        print(f"\nReference: {record['reference']}")


def _needs(cls: type[api.Monitor]) -> dict[str, Any] | None:
    """Return what a monitor needs with its default parameters; None where it cannot be made with these."""
    try:
        needs = asdict(cls().needs)
    except Exception:  # noqa: BLE001 - whatever it wants to be made, it is described all the same
        return None
    return needs | {"members": "all"} if needs["members"] == api.ALL_MEMBERS else needs


def _told(needs: dict[str, Any] | None) -> str:
    """Tell what is needed in words."""
    if needs is None:
        return "depends on its parameters"
    networks = [api.OwnNetwork(**one).title for one in needs["networks"]]
    words = {
        "logits": "logits",
        "gradients": "gradients back to the image",
        "head": "the last linear layer's weights",
        "members": f"{needs['members']} passes or networks",
        "boxes": "boxes",
        "box_spread": "the boxes' spread",
        "networks": f"networks of its own: {', '.join(networks)}",
        "outliers": "outliers (validation_fault)",
        "order": "the stream's order",
    }
    layers = [f"the layer '{layer}'" for layer in needs["layers"]]
    told = layers + [text for tag, text in words.items() if needs[tag]]
    return ", ".join(told) if told else "nothing beyond images and probabilities"
