"""What everything depends on that is computed, and found again by what made it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from farm import provenance
from farm.api import JSON, Classifier, ModelSource
from farm.identity.code import testbed_digest
from farm.identity.loaded import loaded_code, loaded_identity


def circumstances(
    classifier: Classifier, source: ModelSource, *, threads: int, folder: Path
) -> dict[str, JSON]:
    """Give the classifier and the `surroundings`; raise where not all can be told.

    A classifier's digest does not see its code, so `source`, what made it, is told as well. Floating-point
    sums are the same bit for bit only on one kind of processor, with as many threads.
    """
    return {
        "classifier": {
            "made_from": loaded_identity("model", source, folder),
            "code": loaded_code(type(classifier), folder, f"classifier '{classifier.name}'").digest,
            "digest": classifier.digest,
        },
        "arithmetic": _arithmetic(),
        **surroundings(threads),
    }


def surroundings(threads: int) -> dict[str, JSON]:
    """Give what everything depends on that is computed at all: the testbed, versions, machine and threads."""
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
