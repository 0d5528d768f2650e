"""`farm list` and `farm describe`: what there is, and what it takes."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Sequence
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from farm import api, registry
from farm.cli import KINDS
from farm.registry import Kind


def list_components(options: argparse.Namespace) -> int:
    """List registered names; nothing of theirs is imported."""
    kinds = [options.kind] if options.kind else KINDS
    entries = [entry for kind in kinds for entry in registry.entries(_singular(kind)).values()]
    records = [{"kind": e.kind, "name": e.name, "target": e.target, "owner": e.owner} for e in entries]
    if options.format == "json":
        print(json.dumps(records, indent=2))
        return 0
    table = Table("kind", "name", "from", box=None, header_style="bold")
    for record in records:
        owner = "" if record["owner"] == registry.OURS else f"{record['owner']}: "
        table.add_row(record["kind"], record["name"], owner + record["target"])
    Console().print(table)
    print("\nfarm describe KIND NAME tells more, e.g. farm describe monitor oob")
    return 0


def describe(options: argparse.Namespace) -> int:
    """Tell what a component is, its parameters with defaults, and its reference."""
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
        record |= {"category": cls.category, "severities": list(cls.severities)}
    if options.format == "json":
        print(json.dumps(record, indent=2, default=str))
        return 0
    _print_description(record, parameters)
    return 0


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
        print(f"Severities: {levels or 'none; severity means nothing here'}")
    if record["reference"]:
        print(f"\nReference: {record['reference']}")


def _singular(kind: str) -> Kind:
    return cast(Kind, kind.removesuffix("s"))
