"""Computes as every run does: on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sklearn.cluster  # noqa: F401 - a limit of threads holds for libraries that are loaded by then
import torch  # noqa: F401

from farm.store.threads import limited_threads


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Limit a folder's tests to one thread: with more, the last bits of a sum may differ from fit to fit."""
    with limited_threads(1):
        yield
