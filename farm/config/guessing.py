"""What lies in a folder or behind a name, as an experiment would say it: for whoever has no file yet."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from farm import registry
from farm.api.files import read_text
from farm.errors import ExperimentError

PROGRAMS = {".onnx": "onnx", ".pt2": "exported", ".ts": "exported"}
WEIGHTS = (".pt", ".pth", ".safetensors")
TABLES = (".csv", ".parquet")
IMAGES = (".png", ".jpg", ".jpeg", ".ppm", ".bmp", ".webp")
MOST_FILES = 2000
"""So many entries of a folder are looked at."""
_SPLITS = {"train", "test", "val", "validation"}


def workload_spec(path: str | Path) -> dict[str, Any]:
    """Return images as an experiment names them, by what lies there; what is no path is a registered name.

    Examples
    --------
    >>> workload_spec("signs"), workload_spec("images/mine.npz")
    ({'name': 'signs'}, {'name': 'npz', 'path': 'images/mine.npz'})
    """
    place = Path(path)
    suffix = place.suffix.lower()
    kind = (
        "npz" if suffix == ".npz" else "table" if suffix in TABLES else "folder" if place.is_dir() else None
    )
    if kind is not None:
        return {"name": kind, "path": str(path)}
    if str(path) in registry.entries("workload"):
        return {"name": str(path)}
    what = "is no" if place.exists() else "is not there; expected a"
    raise ExperimentError(f"{path} {what} folder, .npz, .csv or .parquet file")


def classifier_spec(model: str, weights: str | None = None) -> dict[str, Any]:
    """Return a classifier as an experiment names it: a file, `module:factory`, or a registered name.

    Examples
    --------
    >>> classifier_spec("net.onnx"), classifier_spec("mine:make_net", "w.pt")
    ({'name': 'onnx', 'path': 'net.onnx'}, {'name': 'module', 'factory': 'mine:make_net', 'weights': 'w.pt'})
    """
    suffix = Path(model).suffix.lower()
    # TorchScript goes by .pt as well; what is no program says so itself.
    kind = PROGRAMS.get(suffix, "exported" if suffix in WEIGHTS else None)
    if kind is not None:
        if weights is not None:
            raise ExperimentError(f"--weights {weights}: {model} has weights of its own; leave them out")
        return {"name": kind, "path": model}
    if ":" in model:
        factory = model.replace(".py:", ":")  # a module goes by its file as well
        return {"name": "module", "factory": factory} | ({} if weights is None else {"weights": weights})
    if weights is None and model in registry.entries("model"):
        return {"name": model}
    raise ExperimentError(
        f"--model {model}: expected MODULE:FUNCTION, such as my_models:make_net, or an .onnx, .pt2 or "
        "TorchScript file"
    )


@dataclass
class FoundFiles:
    """What of a folder an experiment could use, as it would say it, the likeliest first."""

    workloads: list[dict[str, Any]] = field(default_factory=list)
    """Images with classes."""
    ood: list[dict[str, Any]] = field(default_factory=list)
    """Images without, which may serve as novel ones."""
    programs: list[str] = field(default_factory=list)
    factories: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)

    def classifiers(self) -> list[dict[str, Any]]:
        """Return the networks that these may be; each factory and each of the weights is there once."""
        weights: list[str | None] = [*self.weights] or [None]
        pairs = [(factory, one) for factory in self.factories[:1] for one in weights]
        pairs += [(factory, weights[0]) for factory in self.factories[1:]]
        return [*map(classifier_spec, self.programs), *(classifier_spec(*pair) for pair in pairs)]


def found_in(folder: Path, said: Path) -> FoundFiles:
    """Look at a folder, which the experiment calls `said`; only Python files are opened."""
    found = FoundFiles()
    package = [] if said == Path() else list(said.parts)
    for place in sorted(_entries(folder)):
        path, suffix = str(said / place.name), place.suffix.lower()
        if place.is_dir():
            if (kind := _holds(place)) is not None:
                (found.workloads if kind == "classes" else found.ood).append({"name": "folder", "path": path})
        elif suffix == ".npz" or suffix in TABLES:
            found.workloads.append(workload_spec(place) | {"path": path})
        elif suffix in PROGRAMS:
            found.programs.append(path)
        elif suffix in WEIGHTS:
            found.weights.append(path)
        elif suffix == ".py" and all(part.isidentifier() for part in [*package, place.stem]):
            found.factories += [f"{'.'.join([*package, place.stem])}:{one}" for one in _factories(place)]
    return found


def _entries(folder: Path) -> Iterator[Path]:
    for number, place in enumerate(folder.iterdir()):
        if number >= MOST_FILES:
            return
        if not place.name.startswith((".", "_")):
            yield place


def _holds(place: Path) -> Literal["classes", "images"] | None:
    """Say of a folder whether its images have classes: folders below it, perhaps below splits."""
    inside = list(_entries(place))
    below = [one for one in inside if one.is_dir()]
    if any(one.name.lower() in _SPLITS for one in below):
        below = [two for one in below for two in _entries(one) if two.is_dir()]
    with_images = [one for one in below if _has_images(_entries(one))]
    if len(with_images) > 1:
        return "classes"
    figures = place.with_name(f"{place.name.removesuffix('-figures')}.html").is_file()
    return "images" if (with_images or _has_images(inside)) and not figures else None


def _has_images(places: Iterable[Path]) -> bool:
    return any(place.suffix.lower() in IMAGES for place in places)


def _factories(path: Path) -> list[str]:
    """Name what of a module may make a network, without running it: classes of nn.Module, and `make_...`."""
    try:
        tree = ast.parse(read_text(path))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    made: list[str] = []
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef)
            and _needs_nothing(node)
            and node.name.startswith(("make", "build"))
        ):
            made.insert(0, node.name)
        if isinstance(node, ast.ClassDef) and any("Module" in ast.unparse(base) for base in node.bases):
            start = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None)
            if not isinstance(start, ast.FunctionDef) or _needs_nothing(start, itself=1):
                made.append(node.name)
    return made


def _needs_nothing(function: ast.FunctionDef, itself: int = 0) -> bool:
    """Whether a function can be called without arguments, but for so many of its own."""
    taken = function.args
    required = len(taken.posonlyargs) + len(taken.args) - len(taken.defaults) - itself
    return required <= 0 and all(default is not None for default in taken.kw_defaults)
