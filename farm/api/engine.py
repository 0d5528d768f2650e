"""What runs a classifier's network: torch as it is, torch compiled, or onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

from farm.errors import RequirementError

EngineName: TypeAlias = Literal["auto", "eager", "compiled", "onnx"]
AUTO, EAGER, COMPILED, ONNX = "auto", "eager", "compiled", "onnx"
ENGINES = (AUTO, EAGER, COMPILED, ONNX)
"""What can be asked for; `auto` is onnx where that passes its check, and else eager."""
OWN = "own"
"""The engine of a classifier that nobody can look into."""
PACKAGES: Mapping[str, tuple[str, ...]] = {
    EAGER: (),
    COMPILED: ("torch",),
    ONNX: ("torch", "onnx", "onnxscript", "onnxruntime"),
    AUTO: ("torch", "onnx", "onnxscript", "onnxruntime"),
}
"""What an engine is built and run with."""


BUILT_WITH = ("onnx", "onnxscript")
"""Of these, what is needed to build an engine, and not to run it."""


@dataclass(frozen=True)
class Engine:
    """The engine in use, and how it came to that.

    Examples
    --------
    >>> Engine("eager", "auto", reason="onnxruntime is not installed").record()
    {'name': 'eager', 'requested': 'auto', 'max_diff': None, 'reason': 'onnxruntime is not installed'}
    """

    name: str
    requested: str = AUTO
    max_diff: float | None = None
    """By how much it differed at most when it was checked: in probabilities, or layers in their range."""
    reason: str = ""
    """Why it is not what was asked for."""
    layers: tuple[str, ...] = ()
    """What it gives beside its answers; eager gives any layer."""
    versions: Mapping[str, str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.reason:
            return f"{self.name} ({self.reason})"
        differs = (
            "" if self.max_diff is None else f", which differs from eager by at most {self.max_diff:.2g}"
        )
        return self.name + differs

    @property
    def key(self) -> Any:
        """Return, as JSON, all by which its numbers may differ from another's for the same network."""
        return [self.name, list(self.layers), dict(self.versions)]

    @property
    def runs_with(self) -> dict[str, str | None]:
        """The versions of what it runs with."""
        return {name: found for name, found in self.versions.items() if name not in BUILT_WITH}

    def record(self) -> dict[str, Any]:
        """Return what readouts tell of it."""
        told = {"name": self.name, "requested": self.requested}
        return {**told, "max_diff": self.max_diff, "reason": self.reason}


def engine_versions(engine: str) -> dict[str, str | None]:
    """Return the versions of what an engine is built and run with; None for what is not installed."""
    found: dict[str, str | None] = {}
    for package in PACKAGES[engine]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def check_engine(engine: str) -> None:
    """Raise where an engine that is asked for by name lacks something here."""
    if engine != AUTO and (lacking := missing_for(engine)):
        raise RequirementError(f"engine '{engine}' cannot be used: {lacking}")


def missing_for(engine: str) -> str:
    """Say what an engine lacks here, and how to get it; nothing where all is installed."""
    lacking = [package for package, found in engine_versions(engine).items() if found is None]
    if not lacking:
        return ""
    how = "pip install 'farm-testbed[fast]'"
    return f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed; try: {how}"
