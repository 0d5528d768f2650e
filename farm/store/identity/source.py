"""One source file: its digest, and what it imports, read off without running it."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

from farm.errors import DataError, ExperimentError

_BY_NAME = ("import_module", "__import__")


def read_source(file: Path, package: str) -> tuple[str, list[str]]:
    """Return the digest of a file that can be imported, and the modules that it may import.

    `package` is where its relative imports start. What is not Python source (a compiled module) imports
    nothing.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}; expected a module that can be") from error
    imported: list[str] = []
    if file.suffix == ".py":
        tree = _parsed(file, data)
        imported += _imports(tree)
        if any(name.encode() in data for name in _BY_NAME):
            imported += _imports_by_name(tree)
    found = []
    for name in imported:
        try:
            found.append(resolve_name(name, package))
        except ImportError:
            continue  # above all packages: it fails, as whoever runs it is told
    return hashlib.blake2b(data, digest_size=16).hexdigest(), found


def _parsed(file: Path, data: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever imports it is told
            return ast.parse(data)
    except SyntaxError as error:
        line, told = error.lineno or 1, error.msg
    except ValueError as error:  # zero bytes
        line, told = 1, str(error)
    raise ExperimentError(f"{file}, line {line}: {told}; expected Python source that can be imported")


def _imports(tree: ast.Module) -> Iterator[str]:
    """Return what statements import, inside functions too, but not what only a type checker does.

    `from a import b` may take a module `a.b`.
    """
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (base + alias.name for alias in node.names)
        test = node.test if isinstance(node, ast.If) else None
        for_type_checkers = getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
        parts = ("body", "orelse", "finalbody", "handlers", "cases")
        for part in parts[1:] if for_type_checkers else parts:
            waiting += getattr(node, part, ())


def _imports_by_name(tree: ast.Module) -> Iterator[str]:
    """Return what `import_module` imports where its name stands there, or in a constant of the module."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in _BY_NAME:
            named = node.args[0]
            name = constants.get(named.id) if isinstance(named, ast.Name) else named
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value
