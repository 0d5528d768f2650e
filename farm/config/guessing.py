"""What lies in a folder or behind a name, as an experiment would say it: for whoever has no file yet."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    if suffix == ".npz":
        return {"name": "npz", "path": str(path)}
    if suffix in TABLES:
        return {"name": "table", "path": str(path)}
    if place.is_dir():
        return {"name": "folder", "path": str(path)}
    if len(place.parts) > 1 or suffix or place.exists():
        raise ExperimentError(
            f"{path} is no folder, .npz, .csv or .parquet file; expected images in one of these forms"
        )
    return {"name": str(path)}


def classifier_spec(model: str, weights: str | None = None) -> dict[str, Any]:
    """Return a classifier as an experiment names it: a file, `module:factory`, or a registered name.

    Examples
    --------
    >>> classifier_spec("net.onnx"), classifier_spec("mine:make_net", "w.pt")
    ({'name': 'onnx', 'path': 'net.onnx'}, {'name': 'module', 'factory': 'mine:make_net', 'weights': 'w.pt'})
    """
    kind = PROGRAMS.get(Path(model).suffix.lower())
    if kind is None and Path(model).suffix.lower() in WEIGHTS and Path(model).is_file():
        kind = "exported"  # TorchScript goes by .pt as well; what is no program says so itself
    if kind is not None:
        if weights is not None:
            raise ExperimentError(f"--weights {weights}: {model} has weights of its own; leave them out")
        return {"name": kind, "path": model}
    if ":" in model:
        return {"name": "module", "factory": model} | ({} if weights is None else {"weights": weights})
    if weights is not None:
        raise ExperimentError(
            f"--weights {weights}: expected --model MODULE:FACTORY, which makes the network"
        )
    return {"name": model}


@dataclass
class FoundFiles:
    """What of a folder an experiment could use, the likeliest first."""

    workloads: list[str] = field(default_factory=list)
    """Images with classes."""
    outliers: list[str] = field(default_factory=list)
    """Images without, which may serve as novel ones."""
    programs: list[str] = field(default_factory=list)
    factories: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)


def found_in(folder: Path) -> FoundFiles:
    """Look at a folder, and one level below it; nothing is opened but Python files, and nothing run."""
    found = FoundFiles()
    for place in sorted(_entries(folder)):
        name, suffix = place.name, place.suffix.lower()
        if place.is_dir():
            _sort_folder(place, found)
        elif suffix == ".npz" or suffix in TABLES:
            found.workloads.append(name)
        elif suffix in PROGRAMS:
            found.programs.append(name)
        elif suffix in WEIGHTS:
            found.weights.append(name)
        elif suffix == ".py":
            found.factories += [f"{place.stem}:{factory}" for factory in _factories(place)]
    return found


def _entries(folder: Path) -> Iterator[Path]:
    for number, place in enumerate(folder.iterdir()):
        if number >= MOST_FILES:
            return
        if not place.name.startswith((".", "_")):
            yield place


def _sort_folder(place: Path, found: FoundFiles) -> None:
    """Say of a folder whether its images have classes: folders below it, perhaps below splits."""
    inside = list(_entries(place))
    below = [one for one in inside if one.is_dir()]
    if any(one.name.lower() in _SPLITS for one in below):
        below = [two for one in below for two in _entries(one) if two.is_dir()]
    with_images = [one for one in below if _has_images(_entries(one))]
    if len(with_images) > 1:
        found.workloads.append(place.name)
    elif with_images or _has_images(inside):
        found.outliers.append(place.name)


def _has_images(places: Iterable[Path]) -> bool:
    return any(place.suffix.lower() in IMAGES for place in places)


def _factories(path: Path) -> list[str]:
    """Name what of a module may make a network, without running it: classes of nn.Module, and `make_...`."""
    try:
        tree = ast.parse(read_text(path))
    except (OSError, ValueError, SyntaxError):
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
