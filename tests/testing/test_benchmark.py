"""A benchmark that monitors are run on: made once, remembered, and no test sees what another did to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.api import Monitor, Observation
from farm.errors import ComponentFailure, ExperimentError, ParameterError, UnknownNameError
from farm.testing.benchmark import EXPERIMENT, REMEMBERED, Benchmark, benchmark_of, made, small_benchmark
from farm.testing.fakes import FakeMonitor, doubt, tiny_workload
from farm.testing.small_system import SmallSystem
from tests.testing.tiny_benchmark import tiny_benchmark, write_tiny
from tests.wording import refused


@pytest.fixture(scope="module")
def tiny() -> Benchmark:
    """Return one for all tests; that this does no harm is what they test."""
    return tiny_benchmark()


class Fits:
    """A way to fit that counts."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, data: object) -> dict[str, Any]:
        self.n += 1
        return {}


def test_the_small_benchmark_is_the_system_that_monitors_are_checked_on() -> None:
    recipe = SmallSystem().recipe
    assert {key: EXPERIMENT[key] for key in recipe} == recipe
    assert small_benchmark() is small_benchmark()


def test_the_same_monitors_are_run_once(tiny: Benchmark) -> None:
    fits = Fits()
    monitor = FakeMonitor(fit=fits, name="counted")
    first, second = tiny.run(monitor), tiny.run(monitor)
    assert fits.n == 1
    assert first.alarms.equals(second.alarms)
    tiny.run(FakeMonitor(fit=fits, name="counted again"))
    assert fits.n == 2


def test_the_latest_results_are_remembered_and_no_more() -> None:
    tiny, fits = tiny_benchmark(stream={"length": 8}), Fits()
    monitors = [FakeMonitor(fit=fits, name=f"number {i}") for i in range(REMEMBERED + 1)]
    for one in monitors:
        tiny.run(one)
    tiny.run(monitors[-1])
    assert fits.n == REMEMBERED + 1
    tiny.run(monitors[0])
    assert fits.n == REMEMBERED + 2


def test_what_one_test_does_to_its_tables_the_next_does_not_see(tiny: Benchmark) -> None:
    mine = tiny.run("max-softmax")
    mine.alarms["alarm"] = True
    mine.instances["note"] = "mine"
    again = tiny.run("max-softmax")
    assert not again.alarms["alarm"].all()
    assert "note" not in again.instances


def test_a_given_monitor_stays_as_it_is_and_another_with_its_parameters_is_run(tiny: Benchmark) -> None:
    given = FakeMonitor(score=lambda seen: -seen.confidence, name="given")
    run = tiny.run(given)
    assert given._state is None
    assert run.alarms["monitor"].unique().tolist() == ["given"]
    assert run.alarms["score"].to_numpy() == pytest.approx(-run.instances["confidence"].to_numpy())


def test_classes_of_one_name_are_not_confused(tiny: Benchmark) -> None:
    def local(sign: int) -> type[Monitor]:
        class Same(FakeMonitor):
            def _score(self, observation: Observation) -> Any:
                return sign * observation.confidence

        return Same

    up, down = (tiny.run(local(sign)).alarms["score"].to_numpy() for sign in (1, -1))
    assert np.array_equal(up, -down)


def test_what_is_no_json_goes_by_its_identity(tiny: Benchmark) -> None:
    low, high = (tiny.run(FakeMonitor(score=lambda seen, k=k: k * doubt(seen))) for k in (1, 3))
    assert high.alarms["score"].to_numpy() == pytest.approx(3 * low.alarms["score"].to_numpy())


def test_a_mapping_says_all_that_an_experiment_can(tiny: Benchmark) -> None:
    strict = {"name": "max-softmax", "as": "strict", "calibration": {"method": "id-quantile", "accept": 0.6}}
    patient = {"name": "max-softmax", "as": "patient", "policy": {"name": "m-of-n", "m": 3, "n": 3}}
    run = tiny.run("max-softmax", strict, patient, {"name": "max-softmax", "as": "kept", "fallback": "last"})
    by_name = run.alarms.groupby("monitor")
    assert by_name["alarm"].sum()["strict"] > by_name["alarm"].sum()["max-softmax"]
    assert by_name["alarm"].sum()["patient"] == by_name["alarm"].sum()["max-softmax"]
    assert by_name["cancelled"].sum()["patient"] < by_name["cancelled"].sum()["max-softmax"]
    decided = run.alarms[run.alarms["cancelled"]].groupby("monitor")["decision"].max()
    assert decided["max-softmax"] == -1
    assert decided["kept"] > -1


def test_calibration_is_the_experiments_where_a_monitor_has_none_of_its_own() -> None:
    lax, strict = (tiny_benchmark(calibration={"accept": accept}) for accept in (0.99, 0.6))
    shares = [
        one.run("energy").alarms["alarm"][~one.run().instances["is_ood"]].mean() for one in (lax, strict)
    ]
    assert shares == pytest.approx([0.01, 0.4], abs=0.1)


def test_without_names_the_experiments_own_monitors_run(tiny: Benchmark) -> None:
    assert tiny.run().alarms["monitor"].unique().tolist() == ["energy"]


def test_two_of_one_name_are_an_error(tiny: Benchmark) -> None:
    with refused(ExperimentError):
        tiny.run("energy", "energy")


@pytest.mark.parametrize(
    "failing", [{"fit": lambda data: 1 / 0}, {"score": lambda seen: np.full(len(seen), np.nan)}]
)
def test_a_monitor_that_fails_is_an_error(tiny: Benchmark, failing: dict[str, Any]) -> None:
    with refused(ComponentFailure):
        tiny.run("energy", FakeMonitor(**failing, name="broken"))


def test_a_monitor_that_fails_on_the_stream_alone_is_an_error(tiny: Benchmark) -> None:
    def only_large(seen: Observation) -> Any:
        if len(seen) == tiny.experiment.batch_size:  # none such is in the 128 images of the validation split
            raise RuntimeError("never saw so few")
        return doubt(seen)

    with refused(ComponentFailure):
        tiny.run(FakeMonitor(score=only_large, name="naive"))


def test_what_is_no_monitor_is_said() -> None:
    with refused(ParameterError):
        made(3)  # type: ignore[arg-type]
    with refused(UnknownNameError):
        made("energi")


def test_a_class_that_needs_parameters_is_said() -> None:
    class Demanding(FakeMonitor):
        def __init__(self, *, tau: float) -> None:
            super().__init__()

    with refused(ParameterError):
        made(Demanding)


def test_images_are_those_of_the_stream_in_the_order_asked_for(tiny: Benchmark) -> None:
    everything = np.concatenate([batch.images for batch in tiny.stream.batches(100)])
    places = np.array([1500, 3, 64, 63, 3])
    assert np.array_equal(tiny.images(places), everything[places])
    assert tiny.images(np.array([], dtype=np.int64)).shape == (0, 3, 8, 8)


def test_its_own_runs_are_told_from_others(tiny: Benchmark, tmp_path: Path) -> None:
    from farm.store.readouts import Readouts

    run = tiny.run("energy")
    assert tiny.made_stream_of(Readouts.load(run.save(tmp_path / "run")))
    assert not tiny.made_stream_of(tiny_benchmark(seed=1).run("energy"))
    assert not tiny.made_stream_of(tiny_benchmark(faultload="textures").run("energy"))
    assert not tiny.made_stream_of(Readouts(run.instances, run.alarms))


def test_other_images_take_the_place_of_the_experiments(tiny: Benchmark) -> None:
    other = tiny_workload(seed=5, name="other")
    for asked in (other, {"name": "farm.testing.fakes:TinySource", "seed": 5, "title": "other"}):
        run = tiny.on(asked).run("energy")
        assert run.run["workload"]["hash"] == other.content_hash
        assert len(run.instances) == 3 * len(other.test)
    assert tiny.on(tiny.workload) is tiny


def test_an_experiment_is_found_from_the_root(tmp_path: Path) -> None:
    write_tiny(tmp_path / "mine.yaml", seed=7)
    for asked in ("mine.yaml", Path("mine.yaml"), tmp_path / "mine.yaml"):
        found = benchmark_of(asked, tmp_path)
        assert (found.experiment.seed, found.folder) == (7, tmp_path)
    assert benchmark_of("quickstart", tmp_path).experiment.name == "quickstart"
    assert benchmark_of(None, tmp_path) is small_benchmark()
    with refused(ExperimentError):
        benchmark_of("nothing.yaml", tmp_path)
    with refused(ExperimentError):
        benchmark_of("quikstart", tmp_path)


def test_modules_beside_the_experiment_are_found_and_the_path_is_left_alone(tmp_path: Path) -> None:
    import sys

    (tmp_path / "my_own_tiny_monitor.py").write_text(
        "from farm.testing.fakes import FakeMonitor\n\nclass Mine(FakeMonitor):\n    pass\n", encoding="utf-8"
    )
    before = list(sys.path)
    found = benchmark_of(write_tiny(tmp_path / "mine.yaml"), tmp_path)
    run = found.run("my_own_tiny_monitor:Mine", {"name": "my_own_tiny_monitor:Mine", "as": "again"})
    assert set(run.alarms["monitor"]) == {"my_own_tiny_monitor:Mine", "again"}
    assert sys.path == before


def test_a_monitor_is_fitted_by_the_code_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_patched_monitor.py").write_text(
        "from farm.testing.fakes import FakeMonitor\n\nSCALE = 1.0\n\nclass Mine(FakeMonitor):\n"
        "    def _fit(self, data):\n        return {'scale': SCALE}\n\n"
        "    def _score(self, seen):\n        return self.state['scale'] * seen.confidence\n",
        encoding="utf-8",
    )
    write_tiny(tmp_path / "mine.yaml")

    def highest() -> float:
        alarms = benchmark_of("mine.yaml", tmp_path).run("my_own_patched_monitor:Mine").alarms
        return float(alarms["score"].max())

    plain = highest()
    monkeypatch.setattr("my_own_patched_monitor.SCALE", 2.0)
    assert highest() == pytest.approx(2 * plain)
