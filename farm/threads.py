"""How many threads numerical libraries may use while something runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limit torch, BLAS and OpenMP to this many threads, and give back what was set before.

    One is the default of every run: on a busy machine a second thread makes small forward passes many
    times slower, and results would depend on the number.
    """
    with threadpool_limits(limits=threads):
        if importlib.util.find_spec("torch") is None:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
