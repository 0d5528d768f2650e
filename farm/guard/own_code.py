"""A user's own modules beside an experiment: which ones a guard needs, and how it finds them again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, Self

from farm.registry import OUR_PACKAGES

_TARGET = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*")
_PACKAGE = "__init__.py"
_LOCK = RLock()
"""Two guards may each have a module of one name, but `sys.modules` has one place for it."""


def needed_files(values: Any, folder: Path) -> list[str]:
    """Return the source files in a folder that some component is made with, as paths from there.

    `values` are recipes. Whatever text in them names a `module:attribute` is looked for, with all that those
    modules import from the same folder. Call it where the folder is importable. Of a package all source
    files are taken. What is imported by a name that is put together at run time cannot be seen.
    """
    from farm.store.identity.code import code_digest  # not before: nobody who loads a guard fits one

    folder = folder.resolve()
    named = (text.partition(":")[0] for text in _texts(values) if _TARGET.fullmatch(text))
    files = code_digest((), folder, imported=named).files
    tops = {file.relative_to(folder).parts[0] for file in files if file.is_relative_to(folder)}
    own = [folder / top for top in tops if top.removesuffix(".py") not in OUR_PACKAGES]
    sources = (one.rglob("*.py") if (one / _PACKAGE).is_file() else [one] for one in own)
    return sorted(
        file.relative_to(folder).as_posix() for of in sources for file in of if file.suffix == ".py"
    )


class OwnCode:
    """Source files that can be imported while this is entered, and by nobody else.

    What was imported stays known here, so that a later import, such as one inside a function, finds it again.
    Nothing is compiled to a file: the folder stays as it was checked.
    """

    def __init__(self, folder: Path, files: Sequence[str] = ()) -> None:
        self.folder, self.files = folder, tuple(files)
        self._names = {_module_name(file): folder / file for file in self.files}
        self._modules: dict[str, ModuleType] = {}
        self._hidden: dict[str, ModuleType] = {}

    def keep(self) -> Self:
        """Remember those that are imported now, from wherever."""
        self._modules = {name: sys.modules[name] for name in self._names if name in sys.modules}
        return self

    def __enter__(self) -> Self:
        if self._names:
            _LOCK.acquire()
            self._hidden = {name: sys.modules.pop(name) for name in self._names if name in sys.modules}
            sys.modules.update(self._modules)
            sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._names:
            sys.meta_path.remove(self)
            self._modules = {name: sys.modules.pop(name) for name in self._names if name in sys.modules}
            sys.modules.update(self._hidden)
            self._hidden = {}
            _LOCK.release()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find one of these modules: what `import` asks of a finder."""
        del path, target
        if name not in self._names:
            return None
        file = self._names[name]
        inside = [str(file.parent)] if file.name == _PACKAGE else None
        loader = _SourceOnly(name, str(file))
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)


class _SourceOnly(SourceFileLoader):
    """Reads source, and neither reads nor writes compiled code, which nobody has checked."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(f"no compiled code of {path}")


def _texts(values: Any) -> Iterator[str]:
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from _texts(value)
    elif isinstance(values, Iterable):
        for value in values:
            yield from _texts(value)


def _module_name(file: str) -> str:
    parts = file.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
