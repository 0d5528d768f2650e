"""The cache of one component: what it keeps is found by what made the component itself, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from farm.api import JSON, Cache, Component, Context, NoCache, State
from farm.cache import DiskCache
from farm.errors import UserError
from farm.identity.component import Identities
from farm.identity.loaded import loaded_identity
from farm.identity.reads import Recorder
from farm.identity.undeclared import advice, undeclared_by
from farm.registry import Kind


class NotKept(Exception):  # noqa: N818 - no error: what was to be kept is made all the same
    """Why something cannot be found again by what made it."""


class Untold(NotKept):
    """Not all that makes it can be told."""


class Declared:
    """Sees that code reads no more than its identities tell.

    Parameters
    ----------
    who
        Whose code it is, as it is told.
    made_by
        Gets to know what is declared, wherever keys are made.
    cache
        Where things are kept; what is read there is no data.
    """

    def __init__(self, who: str, made_by: Identities, cache: Cache) -> None:
        self._who, self._made_by = who, made_by
        self._apart = [cache.folder] if isinstance(cache, DiskCache) else []

    def check(self, recorder: Recorder | None = None) -> None:
        """Raise `Untold` where it read more, since this process started or as a recorder heard."""
        if files := undeclared_by([self._made_by], recorder=recorder, apart=self._apart):
            raise Untold(f"{self._who} {advice(files)}")

    def checked(self, blocks: Callable[[], Iterable[NDArray[Any]]]) -> Iterator[NDArray[Any]]:
        """Give the blocks, and stop before the first that cannot be kept."""
        with Recorder() as recorder:
            for block in blocks():
                self.check(recorder)
                yield block


class ComponentCache:
    """A `farm.api.Cache` in whose keys are a component's class, code, parameters and files.

    Where they cannot be told, nothing is kept; nor is what was made while the component's code read data
    that no parameter names. Of its `data`, the recipe of a workload, all files are in the keys, too.
    """

    def __init__(
        self, kind: Kind, component: Component, context: Context, cache: DiskCache, data: JSON = None
    ) -> None:
        self._kind, self._component, self._context, self._cache = kind, component, context, cache
        self._data = data
        self._made_by = Identities(context.folder)
        who = f"{kind} '{component.name}': its code"
        self._declared = Declared(who, self._made_by, cache)

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Give the arrays for this key and component."""
        made: list[State] = []

        def checked() -> State:
            with Recorder() as recorder:
                made.append(make())
            self._declared.check(recorder)
            return made[0]

        try:
            return self._cache.arrays(kind, self._key(key), checked)
        except Untold as error:
            self._tell(error)
            return made[0] if made else make()

    def mapped(
        self,
        kind: str,
        key: Mapping[str, JSON],
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Give one large array for this key and component."""
        try:
            return self._cache.mapped(
                kind, self._key(key), shape, dtype, partial(self._declared.checked, blocks)
            )
        except Untold as error:
            self._tell(error)
            return NoCache().mapped(kind, key, shape, dtype, blocks)

    def _key(self, key: Mapping[str, JSON]) -> dict[str, JSON]:
        try:
            identity = loaded_identity(self._kind, self._component, self._context.folder, self._made_by)
            files = self._made_by.files_of(self._data)
        except UserError as error:
            raise Untold(str(error)) from error
        self._declared.check()
        return {"made_by": identity, "files": files, "key": dict(key)}

    def _tell(self, error: NotKept) -> None:
        self._context.progress.note(f"{error}; what it makes is made anew each time")
