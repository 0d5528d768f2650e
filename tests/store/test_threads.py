"""Limits of threads: on what is loaded, and on what is loaded meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from farm.store.threads import limited_threads

CODE = """
import json
from threadpoolctl import threadpool_info
from farm.store.threads import limited_threads

with limited_threads(1):
    import sklearn.cluster
    inside = {one["filepath"]: one["num_threads"] for one in threadpool_info()}
print(json.dumps(inside))
"""


def test_a_library_that_only_a_fit_imports_is_limited_too() -> None:
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=free)
    inside = json.loads(done.stdout)
    assert any("scikit_learn" in path for path in inside)
    assert set(inside.values()) == {1}


@pytest.mark.parametrize("before", [None, "3"])
def test_the_environment_is_as_it_was_afterwards(monkeypatch, before) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    with limited_threads(2):
        assert os.environ["OMP_NUM_THREADS"] == "2"
    assert os.environ.get("OMP_NUM_THREADS") == before
