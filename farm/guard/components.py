"""Components in a record: by name, parameters and owner, so that another machine makes the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from farm import registry
from farm.api import Classifier, Component, ModelSource
from farm.errors import DataError, RequirementError, UnknownNameError
from farm.registry import Kind


def component_record(kind: Kind, component: Component) -> dict[str, Any]:
    """Give what makes a component again."""
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


def made_again(kind: Kind, record: Mapping[str, Any], where: str) -> Component:
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
    """Give the name by which a component's class is found: a registered one, or `module:Class`."""
    cls = type(component)
    target = f"{cls.__module__}:{cls.__qualname__}"
    for entry in registry.entries(kind).values():
        # Where a package lists a class need not be where it is defined; few bear the same name.
        if entry.target == target or (
            entry.target.endswith(f":{cls.__qualname__}")
            and registry.component_class(kind, entry.name) is cls
        ):
            return entry.name
    if cls.__module__ == "__main__" or "." in cls.__qualname__:
        raise RequirementError(
            f"{what} cannot be saved: its class {target} cannot be imported by name; move it to the top "
            "level of a module of its own"
        )
    return target


def _owner(kind: Kind, named: str) -> dict[str, str] | None:
    """Give the installed package that a component comes from; None where it comes from no package."""
    if ":" in named:
        owners = packages_distributions().get(named.partition(":")[0].partition(".")[0], [])
        owner = owners[0] if owners else ""
    else:
        owner = registry.entries(kind)[named].owner
    try:
        return {"package": owner, "version": version(owner)}
    except (PackageNotFoundError, ValueError):
        return None
