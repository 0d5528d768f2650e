"""How many threads numerical libraries may use while something runs."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager

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
        self._controller: ThreadpoolController | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Limit torch, BLAS and OpenMP, and give back what was set before."""
        there = importlib.util.find_spec("torch") is not None
        if there:
            import torch  # before anything is limited: it reads the environment, too
        if self._controller is None:
            self._controller = ThreadpoolController()
        with self._controller.limit(limits=self._threads), _for_later(self._threads):
            if not there:
                yield
                return
            before = torch.get_num_threads()
            torch.set_num_threads(self._threads)
            try:
                yield
            finally:
                torch.set_num_threads(before)


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limit torch, BLAS and OpenMP to this many threads, and give back what was set before.

    One is the default of every run: on a busy machine a second thread makes small forward passes many
    times slower, and results would depend on the number.
    """
    with ThreadLimit(threads).held():
        yield


@contextmanager
def _for_later(threads: int) -> Iterator[None]:
    """Limit libraries that are not loaded yet, such as those that only a monitor's fit imports."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(threads)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before
