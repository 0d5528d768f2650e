"""How many threads numerical libraries may use while something runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class ThreadLimit:
    """A limit that can be entered again and again.

    It looks once for the libraries that are loaded, when it is first entered: that takes longer than a small
    classifier's pass, and so must not be done for each image.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._controller: ThreadpoolController | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Limit torch, BLAS and OpenMP, and give back what was set before."""
        if self._controller is None:
            self._controller = ThreadpoolController()
        with self._controller.limit(limits=self._threads):
            if importlib.util.find_spec("torch") is None:
                yield
                return
            import torch

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
