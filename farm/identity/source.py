"""One source file: its digest, and what it imports, read off without running it."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from farm.errors import DataError, ExperimentError
from farm.identity.state import FileState, settled, state_of

_BY_NAME = ("import_module", "__import__")
EVERYTHING = "*"


class Import(NamedTuple):
    """`from ..module import names`, with the count of dots; no names where the module itself is imported."""

    level: int
    module: str
    names: tuple[str, ...] = ()


class Source(NamedTuple):
    """What is known of a source file."""

    digest: str
    imports: tuple[Import, ...]


_KNOWN: dict[Path, tuple[FileState, Source]] = {}


def read_source(path: Path) -> tuple[FileState | None, Source]:
    """Read a file that can be imported, or remember it from before, with the state it was in.

    What is not Python source (a compiled module) is one digest and imports nothing.
    """
    state = state_of(path)
    known = _KNOWN.get(path)
    if known is not None and known[0] == state:
        return known
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; expected a module that can be") from error
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    source = Source(digest, ())
    if path.suffix == ".py":
        tree = _parsed(path, data)
        imports = [*_imports(tree)]
        if any(name.encode() in data for name in _BY_NAME):
            imports += _imports_by_name(tree)
        source = Source(digest, tuple(imports))
    if state is not None and settled([state]) and state_of(path) == state:
        _KNOWN[path] = state, source
    return state, source


def _parsed(path: Path, data: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever imports it is told
            return ast.parse(data)
    except SyntaxError as error:
        line, told = error.lineno or 1, error.msg
    except ValueError as error:  # zero bytes
        line, told = 1, str(error)
    raise ExperimentError(f"{path}, line {line}: {told}; expected Python source that can be imported")


def _imports(tree: ast.Module) -> Iterator[Import]:
    """Give what statements import, inside functions too, but not what only a type checker does."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (Import(0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node.level, node.module or "", tuple(alias.name for alias in node.names))
        parts = ("body", "orelse", "finalbody", "handlers", "cases")
        for part in parts[1:] if _is_for_type_checkers(node) else parts:
            waiting += getattr(node, part, ())


def _is_for_type_checkers(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _imports_by_name(tree: ast.Module) -> Iterator[Import]:
    """Give what `import_module` imports, as far as its name can be read off.

    Of a name that is put together only the package can be known, and all in it is taken.
    """
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    # Both name the package, from where relative names start.
    constants |= {"__name__": "", "__package__": ""}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called not in _BY_NAME:
            continue
        name, whole = _read_off(node.args[0], constants)
        rest = name.lstrip(".")
        level = len(name) - len(rest)
        if whole:
            yield Import(level, rest)
        elif "." in name:
            yield Import(level, rest.rpartition(".")[0], (EVERYTHING,))


def _read_off(node: ast.AST, constants: Mapping[str, str]) -> tuple[str, bool]:
    """Give a text's beginning as far as it stands there, and whether that is all of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, True
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id], True
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.FormattedValue):
        parts = [node.value]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    text = ""
    for part in parts:
        more, whole = _read_off(part, constants)
        text += more
        if not whole:
            return text, False
    return text, bool(parts)


def texts_in(path: Path) -> set[str]:
    """Give the short texts in a source file that may be names of files."""
    constants = (
        node.value for node in ast.walk(_parsed(path, path.read_bytes())) if isinstance(node, ast.Constant)
    )
    texts = {value for value in constants if isinstance(value, str) and "." in value and len(value) < 256}
    return {text for text in texts if "\n" not in text and "\0" not in text}
