"""What tests share: a cache of their own, the real data where there are any, and a tiny workload."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

# Before anything computes, and for every process that a test starts: two processes of two threads each would
# wait for one another on two cores.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
# Tables are as wide as the terminal, of which tests have none, or each another one.
os.environ.update(COLUMNS="100", LINES="40")

import pytest
from hypothesis import settings

from farm.api import Context, Workload
from farm.testing.fakes import FakeClassifier, TinyModel, tiny_workload
from tests.wording import WORDING, module_of, name_of

# Whoever runs the tests in the background may have Ctrl-C ignored, which new processes would take over.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time, and none called slow because the machine is busy.
settings.register_profile("farm", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("farm")

ROOT = Path(__file__).resolve().parent.parent
COLLECTED: dict[str, set[str]] = {}
"""The names of the tests of each file, before any is left out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the texts in tests/golden anew")
    parser.addoption("--one-in", type=int, default=1, metavar="N", help="run one of N of the tests chosen")
    parser.addoption("--from", type=int, default=0, metavar="K", help="begin with the K-th of each N tests")
    parser.addoption("--backwards", action="store_true", help="run the tests in reversed order")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        COLLECTED.setdefault(module_of(item), set()).add(name_of(item))
    if config.option.backwards:
        items.reverse()


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_take_a_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    n = config.option.one_in
    items[:] = items[config.getoption("--from") % n :: n]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    WORDING.begin(item)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if WORDING.renewing:
        single = any("::" in arg for arg in session.config.args)
        for module, golden in WORDING.files.items():
            golden.renew(None if single else COLLECTED[module])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what each journey took, whichever process ran it."""
    for report in terminalreporter.getreports(""):
        for name, took in report.user_properties if report.when == "teardown" else ():
            if name == "journey":
                terminalreporter.write_line(f"{report.nodeid}: {took}")


@pytest.fixture(scope="session", autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's cache out of the tests, and the tests out of it."""
    WORDING.renewing, WORDING.folder = request.config.option.renew, str(tmp_path_factory.getbasetemp())
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FARM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data, or skip the test."""
    asked = os.environ.get("FARM_DATA")
    folder = Path(asked) if asked else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set FARM_DATA to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def tiny() -> Workload:
    """Return a workload of four classes, 8 x 8 RGB; nobody changes it."""
    return tiny_workload()


@pytest.fixture
def classifier(tiny: Workload) -> FakeClassifier:
    """Return a white box that knows the tiny workload's classes fairly well, its calls not yet counted."""
    return TinyModel().classifier(tiny, Context())
