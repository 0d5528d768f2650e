"""Stream monitors: charts of a pixel's brightness, whose distribution is known, and of features."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from farm import registry
from farm.api import CalibrationRule, Labelled, Monitor, Needs, Observation
from farm.api.changes import Adwin, Cusum, Ewma, PageHinkley, Standardised
from farm.config.experiment import rule_for
from farm.config.specs import CalibrationSpec
from farm.errors import ComponentFailure, ExperimentError, ParameterError
from farm.testing.fakes import FakeClassifier
from monitors import martingale
from tests.wording import refused, same_text

HERE = __name__
COIN = FakeClassifier(
    lambda images: np.full((len(images), 2), 0.5),
    ("a", "b"),
    layers={"features": lambda images: images.reshape(len(images), -1)},
)
CHARTS = ["cusum", "ewma", "page-hinkley", "adwin"]


class Pixel(Monitor):
    """Scores by the first pixel."""

    def _fit(self, data):
        return {"n": np.array(sum(len(labels) for _, labels in data))}

    def _load(self, state) -> None:
        self._n = int(state["n"])

    def _score(self, observation):
        return observation.images[:, 0, 0, 0]

    def notes(self):
        return {"n": self._n}


class Counts(Pixel):
    """Scores by how many instances came before."""

    came = 0

    @property
    def needs(self) -> Needs:
        return Needs(order=True)

    def reset(self) -> None:
        self.came = 0

    def _score(self, observation):
        found = np.arange(self.came, self.came + len(observation))
        self.came += len(observation)
        return found


def seen(values, track=None) -> Observation:
    """Return a pixel an instance, which is its feature, too."""
    values = np.asarray(values, dtype=np.float32)
    n = len(values)
    return Observation(
        ids=np.array([f"image-{i}" for i in range(n)]),
        images=values[:, None, None, None],
        probabilities=np.full((n, 2), 0.5),
        predicted=np.zeros(n, dtype=np.int64),
        confidence=np.full(n, 0.5),
        activations={"features": values[:, None]},
        track=None if track is None else np.asarray(track, dtype=np.str_),
    )


@dataclasses.dataclass
class Data:
    """Fit data; validation is what charts learn from, in two batches."""

    quiet: Observation
    classes: tuple[str, ...] = ("a", "b")
    seed: int = 0
    outliers = None
    networks = {}  # noqa: RUF012

    def __iter__(self):
        return iter(self.validation)

    @property
    def validation(self):
        half = len(self.quiet) // 2
        for rows in (slice(0, half), slice(half, None)):
            yield Labelled(self.quiet.take(rows), self.quiet.predicted[rows])


def made(name: str, **parameters: Any) -> Monitor:
    if name == "drift-mmd":
        return registry.monitor(name, layer="features", pool="none", **parameters)
    return registry.monitor(name, **{"of": {"name": f"{HERE}:Pixel", "as": "pixel"}, **parameters})


def fitted(name: str, quiet: Observation, **parameters: Any) -> Monitor:
    seed = parameters.pop("seed", 0)
    return made(name, **parameters).fit(Data(quiet, seed=seed), COIN)


def normal(n: int, seed: int, mean: float = 5.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 2.0, n)


def in_tracks(n: int, seed: int, size: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return values that share most of what they are with their track."""
    chance = np.random.default_rng(seed)
    values = np.repeat(chance.normal(size=n // size), size) + 0.3 * chance.normal(size=n)
    return values, np.repeat(np.arange(n // size), size).astype(str)


def run_length(monitor: Monitor, stream: Observation) -> float:
    monitor.restart()
    return len(stream) / max(int((monitor.score(stream) > 0).sum()), 1)


# What the score is -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "detector", "history"),
    [
        ("cusum", Cusum(), 0),
        ("ewma", Ewma(), 0),
        ("page-hinkley", PageHinkley(delta=0.5), 300),
        ("adwin", Adwin(), 300),
    ],
)
def test_the_score_is_the_detectors_statistic_minus_the_limit(name, detector, history) -> None:
    quiet, stream = normal(500, 0), normal(200, 1, 6.0).astype(np.float32).astype(float)
    monitor = fitted(name, seen(quiet), limit=3.0)
    by_hand = Standardised(detector, np.asarray(monitor.state["reference"]), history=history)
    assert monitor.score(seen(stream)) == pytest.approx(by_hand.along(stream) - 3.0, abs=1e-4)
    assert sorted(monitor.state["reference"]) == sorted(quiet.astype(np.float32))
    found = monitor.calibrate(Data(seen(quiet)).validation, CalibrationRule(), 2)
    assert (found.method, found.threshold) == ("fixed", 0.0)


def test_an_alarm_lasts_while_the_statistic_is_above_its_limit_or_one_instance() -> None:
    quiet, stream = seen(normal(500, 0)), seen(np.r_[normal(50, 1), normal(50, 2, 9.0)])
    lasting = fitted("cusum", quiet, limit=5.0).score(stream) > 0
    first = int(lasting.argmax())
    assert lasting[first:].all()
    single = fitted("cusum", quiet, limit=5.0, restart=True).score(stream) > 0
    assert (int(single.argmax()), bool(single[first + 1])) == (first, False)
    assert 2 < single.sum() < lasting.sum()


@pytest.mark.parametrize("name", [*CHARTS, "martingale", "drift-mmd"])
@pytest.mark.parametrize("restart", [False, True])
def test_scores_do_not_depend_on_the_batches(name, restart) -> None:
    parameters = {"chance": 0.2} if name == "martingale" else {"limit": 0.05}
    monitor = fitted(name, seen(normal(400, 0)), restart=restart, **parameters)
    values, track = in_tracks(300, 3)
    stream = seen(values + 8, track)
    whole = monitor.score(stream)
    assert (whole > 0).any()
    for size in (1, 7):
        monitor.restart()
        parts = [monitor.score(stream.take(slice(i, i + size))) for i in range(0, 300, size)]
        assert np.concatenate(parts) == pytest.approx(whole, abs=1e-9)


def test_scores_that_are_all_alike_in_validation_have_a_unit() -> None:
    monitor = fitted("cusum", seen(np.full(30, 2.0)), limit=3.0)
    assert monitor.score(seen([2.0, 4.0, 9.0])).tolist() == [-3.0, -1.5, 5.0]


def test_what_it_watches_forgets_with_it() -> None:
    monitor = fitted("cusum", seen(normal(60, 0)), of=f"{HERE}:Counts", limit=5.0)
    first = monitor.score(seen(np.zeros(5)))
    monitor.restart()
    assert np.array_equal(monitor.score(seen(np.zeros(5))), first)


# Run lengths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CHARTS, "drift-mmd"])
def test_streams_as_in_validation_run_as_long_as_asked(name) -> None:
    more = {"window": 20, "points": 100} if name == "drift-mmd" else {}
    runs = []
    for seed in range(3):
        monitor = fitted(name, seen(normal(2000, seed)), run_length=100, restart=True, seed=seed, **more)
        runs.append(run_length(monitor, seen(normal(12_000, 100 + seed))))
    assert 70 < np.mean(runs) < 160


def test_the_order_of_validation_data_does_not_matter() -> None:
    """Sorted as by class, every value would look like a change."""
    values = normal(1000, 0)
    limits = [float(fitted("cusum", seen(order)).state["limit"]) for order in (values, np.sort(values))]
    assert limits[1] == pytest.approx(limits[0], rel=0.15)
    assert Cusum().along(np.sort((values - 5) / 2)).max() > 20 * limits[0]


def test_tracks_stay_together_since_their_images_are_alike() -> None:
    values, track = in_tracks(4000, 0)
    monitor = fitted("cusum", seen(values, track), run_length=200, restart=True)
    ignorant = fitted("cusum", seen(values), run_length=200, restart=True)
    stream = seen(*in_tracks(30_000, 1))
    assert 140 < run_length(monitor, stream) < 320
    assert run_length(ignorant, stream) < 80
    assert (monitor.notes()["units"], ignorant.notes()["units"]) == (400, 4000)


def test_few_validation_data_make_the_limit_higher() -> None:
    few = [fitted("cusum", seen(normal(50, seed))).state["limit"] for seed in range(5)]
    many = [fitted("cusum", seen(normal(2000, seed))).state["limit"] for seed in range(2)]
    assert np.mean(few) > np.mean(many) + 0.4


# Martingales -------------------------------------------------------------------------------------------


def ever(quiet, stream, track_quiet=None, track=None, n: int = 60, **parameters) -> int:
    """Count the streams that ever alarm; each has validation data of its own."""
    found = 0
    for seed in range(n):
        monitor = fitted("martingale", seen(quiet(seed), track_quiet), seed=seed, **parameters)
        found += bool((monitor.score(seen(stream(1000 + seed), track)) > 0).any())
    return found


def test_exchangeable_streams_hardly_ever_alarm() -> None:
    for draw in (normal, lambda n, seed: np.round(normal(n, seed))):
        found = ever(
            lambda seed, draw=draw: draw(40, seed), lambda seed, draw=draw: draw(200, seed), chance=0.1
        )
        assert found <= 6 + 3 * math.sqrt(5.4)


def test_tracks_that_are_exchangeable_hardly_ever_alarm_and_their_images_alone_often_would() -> None:
    def values(n: int):
        return lambda seed: in_tracks(n, seed)[0]

    tracks = in_tracks(400, 0)[1], in_tracks(1000, 0)[1]
    assert ever(values(400), values(1000), *tracks, chance=0.1) <= 6 + 3 * math.sqrt(5.4)
    assert ever(values(400), values(1000), chance=0.1) > 30


def test_a_shift_is_seen_and_the_rest_of_a_track_has_the_statistic_of_its_first() -> None:
    values, track = in_tracks(400, 0)
    later, names = in_tracks(600, 1)
    monitor = fitted("martingale", seen(values, track))
    assert monitor.notes()["chance"] == pytest.approx(0.01)
    score = monitor.score(seen(later + 3, names))
    assert (score > 0).any()
    assert (score.reshape(-1, 10) == score[::10, None]).all()
    assert len(np.unique(score)) == 60


def test_a_track_that_comes_back_is_not_bet_on_again() -> None:
    monitor = fitted("martingale", seen(normal(50, 0)))
    alone = monitor.score(seen([9.0, 9.0]))
    monitor.restart()
    again = monitor.score(seen([9.0, 1.0, 9.0, 9.0], ["s", "t", "s", "u"]))
    assert again[0] == alone[0]
    assert again[2] == again[1] != again[3]


def test_the_track_seen_least_lately_is_forgotten_first(monkeypatch) -> None:
    monkeypatch.setattr(martingale, "TRACKS", 2)
    monitor = fitted("martingale", seen(normal(50, 0)))
    # t is the oldest when u comes, since s was seen again.
    score = monitor.score(seen([9.0] * 6, ["s", "t", "s", "u", "s", "t"]))
    assert [bool(changed) for changed in np.diff(score)] == [True, False, True, False, True]


def test_after_a_restart_the_rest_of_the_track_is_quiet() -> None:
    monitor = fitted("martingale", seen(normal(300, 0)), chance=0.1, restart=True)
    score = monitor.score(seen(np.full(60, 15.0), np.repeat(np.arange(20), 3).astype(str)))
    alarms = np.flatnonzero(score > 0)
    assert len(alarms) > 2
    assert (alarms % 3 == 0).all()
    assert score[alarms + 1].tolist() == pytest.approx([math.log(0.1)] * len(alarms))


def test_it_warns_where_what_it_watches_learned_from_validation_data() -> None:
    quiet = seen(normal(60, 0))
    assert "warning" not in fitted("martingale", quiet).notes()
    fusion = {"name": "fusion", "members": [f"{HERE}:Pixel", "max-softmax"]}
    learned = fitted("martingale", quiet, of=fusion)
    same_text(learned.notes()["warning"])
    again = made("martingale", of=fusion).restore(learned.state, COIN)
    assert again.notes() == learned.notes()


def test_a_run_length_is_promised_by_shiryaev_and_roberts() -> None:
    monitor = fitted("martingale", seen(normal(100, 0)), run_length=50, restart=True)
    assert float(monitor.state["limit"]) == pytest.approx(math.log(51))
    assert monitor.notes()["run_length"] == 50
    assert run_length(monitor, seen(normal(15_000, 1))) > 50 * (1 - 3 / math.sqrt(300))


# Features ----------------------------------------------------------------------------------------------


def test_the_discrepancy_sees_that_the_stream_has_narrowed_though_no_image_is_odd() -> None:
    quiet = seen(normal(600, 0))
    drift, single = fitted("drift-mmd", quiet), fitted("cusum", quiet)
    stream = seen(np.r_[normal(200, 1), 5 + (normal(200, 2) - 5) * 0.2])
    assert not (drift.score(stream)[:200] > 0).any()
    assert (drift.score(stream)[-60:] > 0).all()
    assert not (single.score(stream)[200:] > 0).any()


# What it tells -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CHARTS, "martingale", "drift-mmd"])
def test_it_tells_which_statistic_is_above_its_limit_since_when(name) -> None:
    parameters = {"chance": 0.1} if name == "martingale" else {"limit": 0.5 if name == "drift-mmd" else 4.0}
    monitor = fitted(name, seen(normal(400, 0)), **parameters)
    stream = seen(np.r_[np.full(100, 5.0), np.full(100, 15.0)])
    same_text(monitor.explain(stream.take(slice(0, 1)))[0].reason)
    alarms = monitor.score(stream) > 0
    first = int(alarms.argmax())
    told = monitor.explain(stream.take(slice(first - 1, first + 3)))
    assert [one.details["above_for"] for one in told] == [0, 1, 2, 3]
    assert told[3].details["since"] == f"image-{first}"
    assert told[3].details["statistic"] > told[3].details["limit"]
    same_text([one.reason for one in told])


def test_it_tells_what_the_watched_monitor_says_and_found_out() -> None:
    quiet = seen(normal(60, 0))
    monitor = fitted("ewma", quiet, of="max-softmax", limit=3.0)
    monitor.score(quiet)
    assert "reason" in monitor.explain(quiet)[0].details["max-softmax"]
    assert fitted("ewma", quiet, limit=3.0).notes() == {
        "limit": 3.0,
        "run_length": None,
        "units": 60,
        "of": {"pixel": {"n": 60}},
    }


def test_its_parameters_are_those_of_what_it_watches_too() -> None:
    monitor = registry.monitor("cusum", of={"name": "knn", "as": "near", "k": 7}, shift=2.0)
    assert monitor.needs == dataclasses.replace(registry.monitor("knn", k=7).needs, order=True)
    told = monitor.parameters
    assert (told["of"]["name"], told["of"]["as"], told["of"]["k"]) == ("knn", "near", 7)
    assert registry.monitor("cusum", **told).parameters == told


def test_its_threshold_is_its_own_before_any_fit() -> None:
    monitor = registry.monitor("cusum", of="max-softmax")
    with refused(ExperimentError):
        rule_for(monitor, CalibrationSpec(method="id-extreme"), CalibrationRule())
    with refused(ParameterError):
        registry.monitor("vote", members=[{"name": "cusum", "of": "energy"}, "knn"])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cusum", {"of": "max-sofmax"}),
        ("cusum", {"of": {"k": 5}}),
        ("cusum", {"of": {"name": "knn", "as": 5}}),
        ("cusum", {"of": "knn", "limit": 5.0, "run_length": 100.0}),
        ("martingale", {"of": {"name": "flicker"}}),
        ("martingale", {"of": "knn", "chance": 0.1, "run_length": 100.0}),
        ("cusum", {}),
    ],
)
def test_what_cannot_be_meant_is_refused(name, parameters) -> None:
    with refused(ParameterError, registry.UnknownNameError):
        registry.monitor(name, **parameters)


@pytest.mark.parametrize("name", ["cusum", "drift-mmd"])
def test_one_track_alone_is_too_few(name) -> None:
    with refused(ComponentFailure):
        fitted(name, seen(normal(30, 0), ["t"] * 30))


def test_a_failure_of_what_it_watches_names_both() -> None:
    monitor = fitted("cusum", seen(normal(30, 0)), limit=5.0)
    with refused(ComponentFailure):
        monitor.score(seen([1.0, math.nan]))
