"""The pytest plugin: fixtures and a marker for tests of monitors. It imports the testbed only when used.

Fixtures, all of the session: `farm_benchmark`, and of it `farm_classifier`, `farm_stream` and `farm_run`.
What is tested on is decided by `farm_experiment` and `farm_workload`, which a conftest.py may override.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from farm.api import Classifier, Stream, Workload
    from farm.gate.criteria_file import CriteriaFile
    from farm.store.readouts import Readouts
    from farm.testing.benchmark import Benchmark

MARKER = (
    "farm_criteria(*criteria, file=None, undecided='fail'): what the monitors that the test gives to "
    "farm_run have to meet; see docs/guides/monitor-tests.md of farm-testbed"
)

KEYS = ("file", "undecided")
"""What the marker may name."""

_running: list[pytest.Item] = []
"""The test that runs; below it, where a test runs pytest, the one that does."""
_runs: pytest.StashKey[list[Readouts]] = pytest.StashKey()
_asked: pytest.StashKey[tuple[Any, Any]] = pytest.StashKey()
_open: pytest.StashKey[list[Any]] = pytest.StashKey()


def running() -> pytest.Item | None:
    """Return the test that runs now."""
    return _running[-1] if _running else None


def open_sentences(item: pytest.Item) -> list[Any]:
    """Return what a test has begun to say and not said yet, and its own fixtures before it.

    What others begin (fixtures of a wider scope, whoever tears down) is in a list for nobody.
    """
    return item.stash.get(_open, [])


def check_same(item: Any) -> None:
    """Fail a test for which the benchmark is overridden otherwise than for those before it.

    Pytest makes a fixture of the session once, whatever is overridden elsewhere: the test would be of other
    data than it says.
    """
    there = item.config.stash.get(_asked, None)
    own = tuple(item._request.getfixturevalue(name) for name in ("farm_experiment", "farm_workload"))
    if there is not None and (own[0] != there[0] or own[1] is not there[1]):
        pytest.fail(
            "farm_experiment or farm_workload is overridden in another way for this test than for one before "
            "it, and fixtures of the session are made once; run the two folders apart, or parametrize "
            "farm_experiment",
            pytrace=False,
        )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remember which test runs."""
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what an earlier attempt at the test ran, and what it began to say."""
    item.stash[_runs], item.stash[_open] = [], []


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Leave alone what fixtures of a wider scope begin to say: other tests may end it."""
    item = running()
    begun = item.stash.get(_open, None) if item is not None and fixturedef.scope != "function" else None
    if begun is None:
        return (yield)
    before = list(begun)
    try:
        return (yield)
    finally:
        begun[:] = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hold a test's criteria against what it ran, once it is through, and see that it said all it began."""
    if "farm_benchmark" in getattr(item, "fixturenames", ()):
        check_same(item)
    files = None
    if item.get_closest_marker("farm_criteria") is not None:
        files = _read_markers(item)  # before the test: a mistake in a criterion is told at once
    begun = item.stash.setdefault(_open, [])  # whoever calls again did not set up again
    try:
        result = yield
    finally:
        del item.stash[_open]
    if files is not None:
        _hold(files, item.stash[_runs])
    if begun:
        from farm.testing.assertions import unanswered

        pytest.fail(unanswered(begun), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Keep the evidence out of pytest's summary, which CI services are shown in full length.

    The failure's own section has it. A report without such a place for its message stays as it is.
    """
    report = yield
    raised = call.excinfo.value if call.excinfo is not None else None
    short = getattr(raised, "farm_summary", None)  # as `with_summary` noted it
    place: Any = getattr(report.longrepr, "reprcrash", None)
    if short is not None and isinstance(getattr(place, "message", None), str):
        place.message = place.message.replace(str(raised), short)
    return report


def _read_markers(item: pytest.Item) -> list[CriteriaFile]:
    """Read all criteria of a test; a mistake in one fails the test."""
    __tracebackhide__ = True
    from farm.errors import FarmError

    try:
        return [file for mark in item.iter_markers("farm_criteria") for file in _files_of(mark, item.config)]
    except FarmError as error:
        pytest.fail(f"farm_criteria: {error}", pytrace=False)


def _files_of(mark: pytest.Mark, config: pytest.Config) -> Iterator[CriteriaFile]:
    from farm.errors import ExperimentError, suggestion
    from farm.gate.criteria_file import load_criteria, parse_criteria

    for key in mark.kwargs:
        if key not in KEYS:
            raise ExperimentError(f"the marker has no '{key}'; {suggestion(key, KEYS)}")
    path, undecided = (mark.kwargs.get(key) for key in KEYS)
    if undecided not in (None, "fail", "pass"):
        raise ExperimentError(f"undecided is {undecided!r}; expected 'fail' or 'pass'")
    if not mark.args and path is None:
        raise ExperimentError("the marker names no criterion; expected some, or a file of them")
    files = [parse_criteria({"criteria": list(mark.args)}, "the marker")] if mark.args else []
    for file in [*files, *([] if path is None else [load_criteria(config.rootpath / path)])]:
        yield replace(file, undecided=undecided or file.undecided)


def _hold(files: Sequence[CriteriaFile], runs: list[Readouts]) -> None:
    """Fail the test where a criterion is not met by what it ran."""
    __tracebackhide__ = True
    from farm.errors import FarmError
    from farm.testing.benchmark import benchmark_here
    from farm.testing.failures import failures, with_summary

    if not runs:
        pytest.fail(
            "farm_criteria: nothing to judge, since the test gave no monitor to farm_run", pytrace=False
        )
    try:
        found = [text for run in runs for file in files for text in failures(run, file, benchmark_here)]
    except FarmError as error:
        pytest.fail(f"farm_criteria: {error}", pytrace=False)
    if texts := list(dict.fromkeys(found)):
        raise with_summary(pytest.fail.Exception("\n\n".join(texts), pytrace=False), texts)


@pytest.fixture(scope="session")
def farm_experiment() -> Path | str | None:
    """Return the experiment to test on: None, the embedded one; override it by the path of a YAML file."""
    return None


@pytest.fixture(scope="session")
def farm_workload(pytestconfig: pytest.Config, farm_experiment: Path | str | None) -> Workload:
    """Return the images to test on: the experiment's; override it by others, or by a workload's name."""
    from farm.testing.benchmark import benchmark_of

    return benchmark_of(farm_experiment, pytestconfig.rootpath).workload


@pytest.fixture(scope="session")
def farm_benchmark(
    pytestconfig: pytest.Config, farm_experiment: Path | str | None, farm_workload: Any
) -> Benchmark:
    """Return the experiment, ready for any monitor."""
    from farm.testing.benchmark import benchmark_of

    pytestconfig.stash[_asked] = farm_experiment, farm_workload
    return benchmark_of(farm_experiment, pytestconfig.rootpath).on(farm_workload)


@pytest.fixture(scope="session")
def farm_classifier(farm_benchmark: Benchmark) -> Classifier:
    """Return the classifier under watch."""
    return farm_benchmark.classifier


@pytest.fixture(scope="session")
def farm_stream(farm_benchmark: Benchmark) -> Stream:
    """Return the stream: in-distribution images and faults."""
    return farm_benchmark.stream


@pytest.fixture(scope="session")
def farm_run(farm_benchmark: Benchmark) -> Callable[..., Readouts]:
    """Return the function that fits monitors, runs them on the stream and gives the readouts."""

    def run(*monitors: Any) -> Readouts:
        found = farm_benchmark.run(*monitors)
        if (item := running()) is not None:
            item.stash[_runs].append(found)
        return found

    return run
