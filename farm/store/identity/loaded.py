"""What is in memory, and all that it depends on, where the code on disk is surely what it was made from."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

from farm.api import JSON, Classifier, Component, ModelSource
from farm.errors import RequirementError
from farm.registry import Kind
from farm.store import provenance
from farm.store.identity.code import CodeDigest, code_digest, testbed_digest
from farm.store.identity.component import Identities
from farm.store.identity.memory import newest, states_of
from farm.store.timing import timed


def _process_start() -> float:
    """Return when this process started, in seconds since 1970; where no system tells, that is now.

    The kernel counts in ticks. The end of its tick is taken: reading the first module comes later than that,
    and a file that was written just before the process was started is no newer.
    """
    try:
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        since_boot = (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")
        # Whoever is held up between the two clocks sees the boot too early; the latest is right.
        boot = max(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) for _ in range(10))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time()
    return min(boot + since_boot, time.time())


STARTED = _process_start()
"""A process that was forked keeps its parent's: it has the parent's modules."""


def in_memory_is_current(code: CodeDigest) -> bool:
    """Say whether what this process has imported can only be this code.

    False where one of the files was written, replaced or removed since the process started: its modules may
    be older, and nothing that they make may be kept under the digest.

    Examples
    --------
    >>> in_memory_is_current(CodeDigest("", (Path("was_removed.py"),), {}))
    False
    """
    states = states_of(code.files).values()
    return None not in states and newest(states) <= STARTED * 1e9


@timed("identity")
def loaded_identity(kind: Kind, component: Component, identities: Identities) -> dict[str, JSON]:
    """Return the identity of a component that is in memory; raise where it would not tell all of it.

    See `Identities.component`; here all parameters are in it, defaults too. A `UserError` says what is in
    the way: a class that was typed in, a parameter that is a function, code that was changed since this
    process started. `identities` is to know what was looked at for it.

    Examples
    --------
    >>> from farm import registry
    >>> loaded_identity("monitor", registry.monitor("never"), Identities(Path()))["target"]
    'monitors.baselines:Never'
    """
    who = f"{kind} '{component.name}'"
    loaded_code(type(component), identities, who)
    target = f"{type(component).__module__}:{type(component).__qualname__}"
    # It may tell its parameters in words of its own: what it was made with must be JSON as well.
    identities.component(kind, target, component.name, component._arguments)
    identity = identities.component(kind, target, component.name, component.parameters)
    own = (identity["code"], identities.testbed.digest)
    if not all(in_memory_is_current(code) for code in identities.code if code.digest in own):
        raise RequirementError(f"{who}: some of its code was changed since this process started")
    return identity


def loaded_code(cls: type, identities: Identities, who: str) -> CodeDigest:
    """Return the code of a class in memory; raise where it lies in no file, or not in the one found."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or vars(module).get(cls.__qualname__) is not cls:
        raise RequirementError(f"{who}: its class {cls.__module__}:{cls.__qualname__} is not found in a file")
    code, lies_at = code_digest([cls.__module__], identities.folder), Path(file).resolve()
    files = [path for path in (*code.files, *identities.testbed.files) if path.name == lies_at.name]
    if lies_at not in [path.resolve() for path in files]:
        raise RequirementError(f"{who}: its module '{cls.__module__}' is another one than {file}")
    if not in_memory_is_current(code):
        raise RequirementError(f"{who}: its code was changed since this process started")
    return code


def circumstances(
    classifier: Classifier, source: ModelSource, *, threads: int, identities: Identities
) -> dict[str, JSON]:
    """Return the classifier and the `surroundings`; raise where not all can be told.

    A classifier's digest does not see its code, so `source`, what made it, is told as well. Floating-point
    sums are the same bit for bit only on one kind of processor, with as many threads.
    """
    code = loaded_code(type(classifier), identities, f"classifier '{classifier.name}'")
    return {
        "classifier": {
            "made_from": loaded_identity("model", source, identities),
            "code": code.digest,
            "digest": classifier.digest,
            "engine": classifier.engine.key,
        },
        "arithmetic": _arithmetic(),
        **surroundings(threads),
    }


def surroundings(threads: int) -> dict[str, JSON]:
    """Return what all that is computed depends on: the testbed, versions, machine and threads."""
    hardware = provenance.hardware()
    return {
        "testbed": testbed_digest().digest,
        "versions": dict(provenance.versions()),
        "machine": {what: hardware[what] for what in ("machine", "system", "processor")},
        "threads": threads,
    }


def _arithmetic() -> str | None:
    """Say which instructions of the processor torch uses, which may be told to use fewer than there are."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch.backends.cpu.get_cpu_capability()
