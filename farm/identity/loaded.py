"""The identity of a component in memory, where the code on disk is surely what it was made from."""

from __future__ import annotations

import sys
from pathlib import Path

from farm.api import JSON, Component
from farm.errors import RequirementError
from farm.identity.code import CodeDigest, code_digest
from farm.identity.component import Identities
from farm.identity.current import in_memory_is_current
from farm.registry import Kind


def loaded_identity(
    kind: Kind, component: Component, folder: Path, identities: Identities | None = None
) -> dict[str, JSON]:
    """Give the identity of a component that is in memory; raise where it would not tell all of it.

    See `farm.identity.component_identity`; here all parameters are in it, defaults too. A `UserError` says
    what is in the way: a class that was typed in, a parameter that is a function, code that was changed since
    this process started. `identities` is to know what was looked at for it.

    Examples
    --------
    >>> from farm import registry
    >>> loaded_identity("monitor", registry.monitor("never"), Path())["target"]
    'monitors.baselines:Never'
    """
    who = f"{kind} '{component.name}'"
    loaded_code(type(component), folder, who)
    identities = identities or Identities(folder)
    target = f"{type(component).__module__}:{type(component).__qualname__}"
    # It may tell its parameters in words of its own: what it was made with must be JSON as well.
    identities.component(kind, target, component.name, component._arguments)
    identity = identities.component(kind, target, component.name, component.parameters)
    if not identities.in_memory_is_current():
        raise RequirementError(f"{who}: some of its code was changed since this process started")
    return identity


def loaded_code(cls: type, folder: Path, who: str) -> CodeDigest:
    """Give the code of a class that is in memory; raise where it lies in no file, or not in the one found."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is not None and vars(module).get(cls.__qualname__) is cls:
        code = code_digest([cls.__module__], folder)
        if Path(file).resolve() not in {path.resolve() for path in code.files}:
            raise RequirementError(f"{who}: its module '{cls.__module__}' is another one than {file}")
        if in_memory_is_current(code):
            return code
        raise RequirementError(f"{who}: its code was changed since this process started")
    raise RequirementError(f"{who}: its class {cls.__module__}:{cls.__qualname__} is not found in a file")
