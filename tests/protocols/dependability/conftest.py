"""What these tests share: a campaign of toys that lacks nothing, run once a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from farm.protocols.dependability.results import Results
from tests.protocols.dependability.toys import run


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a campaign; nobody changes it."""
    folder = tmp_path_factory.mktemp("toy")
    assert run(folder) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def results(toy: Path) -> Results:
    return Results.of(toy)
