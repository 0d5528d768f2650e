"""How many threads numerical libraries may use while something runs."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from threadpoolctl import ThreadpoolController

_VARIABLE = "OMP_NUM_THREADS"
"""What OpenMP and BLAS look at when they are loaded."""


class ThreadLimit:
    """A limit that can be entered again and again; libraries that are loaded meanwhile keep it for good.

    It looks once for the libraries that are loaded, when it is first entered: that takes longer than a small
    classifier's pass, and so must not be done for each image.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._found: list[_Threads] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Limit torch, BLAS and OpenMP, and give back what was set before."""
        if self._found is None:
            self._found = _libraries()
        said = os.environ.get(_VARIABLE)
        if said != str(self._threads):
            os.environ[_VARIABLE] = str(self._threads)
        # Mostly there is nothing to do: whoever asks often has set it before.
        changed = [(pool, n) for pool in self._found if (n := pool.get()) != self._threads]
        for pool, _ in changed:
            pool.set(self._threads)
        try:
            yield
        finally:
            for pool, before in changed:
                pool.set(before)
            if said is None:
                os.environ.pop(_VARIABLE, None)
            elif said != str(self._threads):
                os.environ[_VARIABLE] = said


class _Threads(NamedTuple):
    """How a library tells and takes its number of threads."""

    get: Callable[[], int]
    set: Callable[[int], object]


def _libraries() -> list[_Threads]:
    """Return all that are loaded, and torch."""
    own = []
    if importlib.util.find_spec("torch") is not None:
        import torch  # before anything is limited: it reads the environment, too

        own = [_Threads(torch.get_num_threads, torch.set_num_threads)]
    found = ThreadpoolController().lib_controllers
    return [_Threads(one.get_num_threads, one.set_num_threads) for one in found] + own


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limit torch, BLAS and OpenMP to this many threads, and give back what was set before.

    One is the default of every run: on a busy machine a second thread makes small forward passes many
    times slower, and results would depend on the number.
    """
    with ThreadLimit(threads).held():
        yield
