"""Model assertions: flicker against a plain count of changes, physical bounds against images made by hand."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api import CalibrationRule, Labelled, Monitor, NoCache, Observation
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeClassifier, TinyModel, TinySource
from monitors.assertions import Flicker
from monitors.physical_bounds import CHECKS, FROZEN, PhysicalBounds
from tests.wording import refused, same_text

COIN = FakeClassifier(lambda images: np.full((len(images), 4), 0.25), ("a", "b", "c", "d"))


def seen(predicted, tracks=None, images=None) -> Observation:
    n = len(predicted)
    return Observation(
        ids=np.arange(n).astype(str),
        images=np.zeros((n, 1, 2, 2), np.float32) if images is None else images,
        probabilities=np.full((n, 4), 0.25),
        predicted=np.array(predicted, dtype=np.int64),
        confidence=np.full(n, 0.25),
        track=None if tracks is None else np.array(tracks, dtype=np.str_),
    )


def pictures(images) -> Observation:
    return seen(np.zeros(len(images), int), images=np.asarray(images, dtype=np.float32))


def in_batches(monitor: Monitor, observation: Observation, size: int) -> list[float]:
    monitor.restart()
    parts = [observation.take(slice(i, i + size)) for i in range(0, len(observation), size)]
    return np.concatenate([monitor.score(one) for one in parts]).tolist()


class Data:
    """Training data, and the same for validation, in batches of five."""

    classes = COIN.classes
    seed = 0
    outliers = None

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self.networks: dict[str, object] = {}

    def __iter__(self) -> Iterator[Labelled]:
        for i in range(0, len(self._observation), 5):
            now = self._observation.take(slice(i, i + 5))
            yield Labelled(now, now.predicted)

    @property
    def validation(self) -> Iterator[Labelled]:
        return iter(self)


def flicker(**parameters) -> Flicker:
    return Flicker(**parameters).fit(Data(seen([0, 1], ["s", "s"])), COIN)


def changes(predicted, track, *, window: int, **parameters) -> list[float]:
    """The scores as numbers of changes."""
    scores = flicker(window=window, **parameters).score(seen(predicted, track))
    return (scores * (window - 1)).round(9).tolist()


# Flicker ----------------------------------------------------------------------------------------------


def test_flicker_counts_the_changes_among_a_tracks_latest_predictions() -> None:
    assert changes([0, 0, 1, 0, 0, 0, 0, 0], ["t"] * 8, window=4) == [0, 0, 1, 2, 2, 1, 0, 0]


def test_the_score_is_a_share_of_the_most_changes_there_could_be() -> None:
    assert flicker(window=4).score(seen([0, 1, 0, 1, 0], ["t"] * 5)).tolist() == [0, 1 / 3, 2 / 3, 1, 1]


def test_tracks_are_told_apart_however_they_are_mixed() -> None:
    predicted, tracks = [0, 1, 0, 1, 2, 1], ["t", "u", "t", "u", "t", "u"]
    assert changes(predicted, tracks, window=3) == [0, 0, 0, 0, 1, 0]


def test_an_instance_without_a_track_stands_alone() -> None:
    assert flicker().score(seen([0, 1, 2, 3])).tolist() == [0, 0, 0, 0]


streams = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("tuv")), max_size=40)


def transcription(rows: list[tuple[int, str]], window: int) -> list[float]:
    scores = []
    for now, (_, track) in enumerate(rows):
        own = [label for label, name in rows[: now + 1] if name == track][-window:]
        scores.append(sum(own[i] != own[i - 1] for i in range(1, len(own))) / (window - 1))
    return scores


@given(streams, st.integers(2, 6))
def test_flicker_equals_a_transcription_of_its_definition_whatever_the_batch(rows, window: int) -> None:
    observation = seen([label for label, _ in rows], [track for _, track in rows])
    monitor = flicker(window=window, changes=None)
    for size in (1, 3, 7, max(len(rows), 1)):
        scores = in_batches(monitor, observation, size) if rows else monitor.score(observation).tolist()
        assert scores == transcription(rows, window)


def test_the_set_number_of_changes_raises_the_alarm() -> None:
    data, watched = Data(seen([0] * 10, ["t"] * 10)), seen([0, 1, 0, 0, 1], ["u"] * 5)
    alarms = {}
    for number in (1, 2, 3):
        monitor = Flicker(window=4, changes=number).fit(data, COIN)
        calibration = monitor.calibrate(data, CalibrationRule(), 4)
        assert (calibration.method, calibration.threshold) == ("fixed", (number - 0.5) / 3)
        alarms[number] = monitor.judge(watched).alarms.tolist()
    assert alarms == {
        1: [False, True, True, True, True],
        2: [False, False, True, True, True],
        3: [False, False, False, False, False],
    }


def test_without_a_set_number_it_is_calibrated_and_calibration_leaves_no_trace() -> None:
    # One change in eleven instances: they score 0 five times, and 1 of 2 twice per change.
    data = Data(seen([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], ["t"] * 11))
    monitor = Flicker(window=3, changes=None).fit(data, COIN)
    calibration = monitor.calibrate(data, CalibrationRule(accept=0.8), 4)
    assert (calibration.method, calibration.threshold) == ("id-quantile", 0.25)
    assert calibration.validation_acceptance == pytest.approx(9 / 11)
    assert monitor.score(seen([0], ["t"])).tolist() == [0]  # the track ended with another class


def test_a_window_decides_how_long_a_change_is_held_against_a_track() -> None:
    predicted = [0, 1, 1, 1, 1, 1]
    assert changes(predicted, ["t"] * 6, window=2) == [0, 1, 0, 0, 0, 0]
    assert changes(predicted, ["t"] * 6, window=5) == [0, 1, 1, 1, 1, 0]


def test_restart_forgets_and_scoring_otherwise_goes_on() -> None:
    monitor = flicker(window=3)
    assert monitor.score(seen([0], ["t"])).tolist() == [0]
    assert monitor.score(seen([1], ["t"])).tolist() == [0.5]
    monitor.restart()
    assert monitor.score(seen([0], ["t"])).tolist() == [0]


def test_the_track_not_seen_for_the_longest_time_is_forgotten_first() -> None:
    # u is the oldest when w comes, since t was seen again.
    predicted, tracks = [0, 0, 0, 0, 1, 1], ["t", "u", "t", "w", "t", "u"]
    assert changes(predicted, tracks, window=2, tracks=2) == [0, 0, 0, 0, 1, 0]
    assert changes(predicted, tracks, window=2, tracks=3) == [0, 0, 0, 0, 1, 1]


def test_memory_stays_the_same_along_a_stream_of_ever_new_tracks() -> None:
    def stream(monitor: Flicker, first: int) -> int:
        for start in range(first, first + 6000, 50):
            monitor.score(seen([0] * 50, [f"track-{i:09d}" for i in range(start, start + 50)]))
        return tracemalloc.get_traced_memory()[0]

    bounded, growing = flicker(tracks=100), flicker(tracks=10**6)
    tracemalloc.start()
    try:
        before = stream(bounded, 0)
        assert stream(bounded, 6000) - before < 20_000
        before = stream(growing, 0)
        assert stream(growing, 6000) - before > 200_000
    finally:
        tracemalloc.stop()


def test_notes_tell_whether_the_data_have_tracks_at_all() -> None:
    several = Flicker().fit(Data(seen([0] * 7, list("ttuuuvw"))), COIN)
    assert several.notes() == {"training_tracks": 4, "of_several_instances": 2}
    none = Flicker().fit(Data(seen([0] * 7)), COIN)
    assert none.notes() == {"training_tracks": 0, "of_several_instances": 0}


def test_flicker_asks_for_order() -> None:
    assert Flicker().needs.order


@pytest.mark.parametrize(
    "parameters",
    [
        {"window": 1},
        {"window": 3, "changes": 3},
        {"changes": 0},
        {"tracks": 0},
    ],
)
def test_flicker_refuses_parameters_that_mean_nothing(parameters) -> None:
    with refused(ParameterError):
        Flicker(**parameters)


def test_flicker_tells_which_classes_came_one_after_another() -> None:
    monitor = flicker(window=4)
    batch = seen([0, 2, 1, 1, 0], ["t", "u", "t", "t", "t"])
    same_text(monitor.explain(batch)[2].reason)
    scores = monitor.score(batch)
    told = monitor.explain(batch)
    assert [e.details["latest"] for e in told] == [["a"], ["c"], ["a", "b"], ["a", "b", "b"], list("abba")]
    same_text(told[4].reason)
    assert scores[4] == 2 / 3
    same_text(monitor.explain(seen([0]))[0].reason)
    monitor.restart()
    assert "latest" not in monitor.explain(batch)[4].details


def test_explaining_flicker_does_not_go_on_in_the_track() -> None:
    monitor = flicker(window=4)
    batch = seen([0, 1], ["t", "t"])
    monitor.score(batch)
    monitor.explain(batch)
    monitor.explain(batch)
    later = dataclasses.replace(seen([1], ["t"]), ids=np.array(["7"]))
    assert monitor.score(later).tolist() == [1 / 3]
    assert monitor.explain(later)[0].details == {"latest": ["a", "b", "b"]}


# Physical bounds --------------------------------------------------------------------------------------

# Mean brightness 0.2, 0.4, 0.6; contrast 0.2, 0.1, 0.2; a quarter at full scale in the last.
ID = np.array(
    [[[[0.0, 0.4], [0.0, 0.4]]], [[[0.3, 0.5], [0.3, 0.5]]], [[[0.4667, 0.4667], [0.4666, 1.0]]]], np.float32
)
CONTRAST = float(np.std([0.4667, 0.4667, 0.4666, 1.0]))


def bounds(**parameters) -> PhysicalBounds:
    return PhysicalBounds(**parameters).fit(Data(pictures(ID)), COIN)


def score(monitor: PhysicalBounds, image) -> float:
    monitor.restart()
    return float(monitor.score(pictures(np.reshape(image, (1, -1, 2, 2))))[0])


def test_black_is_how_much_darker_than_the_darkest_training_image() -> None:
    unit = np.std([0.2, 0.4, 0.6])
    monitor = bounds(checks=["black"])
    assert score(monitor, np.zeros(4)) == pytest.approx(0.2 / unit, rel=1e-5)
    assert score(monitor, np.full(4, 0.1)) == pytest.approx(0.1 / unit, rel=1e-5)
    assert score(monitor, ID[0]) == 0.0
    assert score(monitor, np.full(4, 0.9)) == pytest.approx(-0.7 / unit, rel=1e-5)


def test_saturated_is_how_much_more_is_at_full_scale_than_in_any_training_image() -> None:
    unit = np.std([0, 0, 0.25])
    monitor = bounds(checks=["saturated"])
    assert score(monitor, np.ones(4)) == pytest.approx(0.75 / unit)
    assert score(monitor, [1, 1, 0, 0]) == pytest.approx(0.25 / unit)
    assert score(monitor, [1, 0, 0, 0]) == 0.0
    assert score(monitor, np.zeros(4)) == pytest.approx(-0.25 / unit)


def test_flat_is_how_much_less_contrast_than_in_any_training_image() -> None:
    unit = np.std([0.2, 0.1, CONTRAST])
    monitor = bounds(checks=["flat"])
    assert score(monitor, np.full(4, 0.5)) == pytest.approx(0.1 / unit, rel=1e-5)
    assert score(monitor, [0.45, 0.55, 0.45, 0.55]) == pytest.approx(0.05 / unit, rel=1e-5)
    assert score(monitor, ID[0]) == pytest.approx(-0.1 / unit, rel=1e-5)


def test_a_plain_colour_is_flat_though_its_channels_differ() -> None:
    colours = np.random.default_rng(0).random((20, 3, 2, 2))
    monitor = PhysicalBounds(checks=["flat"]).fit(Data(pictures(colours)), COIN)
    plain = np.broadcast_to(np.array([0.1, 0.5, 0.9])[:, None, None], (3, 2, 2))
    contrasts = np.sqrt(colours.var(axis=(2, 3)).mean(axis=1))
    assert score(monitor, plain) == pytest.approx(contrasts.min() / contrasts.std(), rel=1e-5)


def test_the_worst_check_decides() -> None:
    for image in (np.zeros(4), np.ones(4), np.full(4, 0.5), ID[1]):
        singly = [score(bounds(checks=[check]), image) for check in CHECKS]
        assert score(bounds(), image) == max(singly)


def test_no_training_image_is_out_of_bounds_and_black_white_and_grey_are() -> None:
    monitor = bounds()
    assert max(score(monitor, image) for image in ID) <= 0
    assert min(score(monitor, np.full(4, level)) for level in (0, 0.3, 0.5, 1)) > 0


def test_a_bound_that_all_training_images_share_has_a_unit_all_the_same() -> None:
    alike = Data(pictures(np.tile(ID[1], (6, 1, 1, 1))))
    monitor = PhysicalBounds(checks=["black", "saturated", "flat"]).fit(alike, COIN)
    # One grey level is the unit where there is no spread.
    assert score(monitor, ID[1] - np.float32(3 / 255)) == pytest.approx(3, abs=1e-3)
    assert score(monitor, np.ones(4)) == pytest.approx(255)


def test_frozen_is_the_same_image_as_the_one_before_in_the_stream() -> None:
    monitor = bounds(checks=["frozen"])
    step = np.float32(1 / 255)
    a, b = ID[0], ID[1]
    images = np.stack([a, a, b, a, a + step, a + step])
    assert monitor.score(pictures(images)).tolist() == [-FROZEN, FROZEN, -FROZEN, -FROZEN, -FROZEN, FROZEN]


def test_frozen_below_says_what_counts_as_the_same() -> None:
    images = pictures(np.stack([ID[0], ID[0] + np.float32(0.001)]))
    assert bounds(checks=["frozen"]).score(images)[1] == FROZEN
    assert bounds(checks=["frozen"], frozen_below=0.0005).score(images)[1] == -FROZEN


def test_a_frozen_image_alarms_whatever_the_tolerance() -> None:
    images = np.random.default_rng(0).random((40, 1, 4, 4))
    images[0] = np.tile([0.0, 0.9], 8).reshape(4, 4)  # far from flat, as bright as most
    for tolerance in (0.0, 255, None):
        monitor = PhysicalBounds(tolerance=tolerance).fit(Data(pictures(images)), COIN)
        monitor.calibrate(Data(pictures(images)), CalibrationRule(), 4)
        assert monitor.judge(pictures(images[[0, 0]])).alarms.tolist() == [False, True]


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_bounds_are_the_same_whatever_the_batch(size: int) -> None:
    images = np.random.default_rng(3).random((20, 3, 9, 9), dtype=np.float32)
    for i in (4, 6, 7, 14):  # across the edges of the batches, and within them
        images[i] = images[i - 1]
    images[10] = 0
    observation = pictures(images)
    monitor = PhysicalBounds().fit(Data(pictures(images[::2])), COIN)
    whole = monitor.score(observation).tolist()
    assert [i for i in range(20) if whole[i] == FROZEN] == [4, 6, 7, 14]
    assert in_batches(monitor, observation, size) == whole


def test_restart_forgets_the_image_before_and_an_empty_batch_does_not() -> None:
    monitor, image = bounds(), pictures(ID[:1])
    assert monitor.score(image)[0] <= 0
    assert monitor.score(pictures(ID[:0])).shape == (0,)
    assert monitor.score(image)[0] == FROZEN
    monitor.restart()
    assert monitor.score(image)[0] <= 0


def test_bounds_keep_one_image_and_not_its_batch() -> None:
    images = np.random.default_rng(0).random((50, 1, 2, 2), dtype=np.float32)
    monitor = bounds()
    monitor.score(pictures(images))
    images[-1] = 0  # whoever fills the same memory again does not change what was seen
    assert monitor.score(pictures(images[-1:]))[0] < FROZEN
    assert monitor._before is not None
    assert (monitor._before.base, monitor._before.nbytes) == (None, 16)


def test_only_the_comparison_of_images_asks_for_order() -> None:
    assert PhysicalBounds().needs.order
    assert not PhysicalBounds(checks=["black", "saturated", "flat"]).needs.order


def test_a_check_that_is_off_finds_nothing() -> None:
    black, white = np.zeros(4), np.ones(4)
    assert score(bounds(checks=["saturated"]), black) < 0 < score(bounds(checks=["saturated"]), white)
    assert score(bounds(checks=["black"]), white) < 0 < score(bounds(checks=["black"]), black)
    same = pictures(np.stack([ID[1], ID[1]]))
    assert bounds(checks=["black", "saturated", "flat"]).score(same).max() <= 0
    assert bounds().score(same).max() == FROZEN


def test_full_scale_says_what_counts_as_saturated() -> None:
    pale = np.full(4, 0.97)
    assert score(bounds(checks=["saturated"]), pale) < 0
    assert score(bounds(checks=["saturated"], full_scale=0.96), pale) > 0


def test_a_tolerance_is_the_threshold_and_none_calibrates_it() -> None:
    rng = np.random.default_rng(1)
    data = Data(pictures(rng.random((100, 1, 4, 4))))
    dim = pictures(rng.random((1, 1, 4, 4)) * 0.5)
    alarms = []
    for tolerance in (0.0, 50.0):
        monitor = PhysicalBounds(tolerance=tolerance).fit(data, COIN)
        assert monitor.calibrate(data, CalibrationRule(), 4).threshold == tolerance
        alarms.append(bool(monitor.judge(dim).alarms[0]))
    assert alarms == [True, False]
    monitor = PhysicalBounds(tolerance=None).fit(data, COIN)
    calibration = monitor.calibrate(data, CalibrationRule(accept=0.9), 4)
    assert calibration.threshold < 0
    assert calibration.validation_acceptance == 0.9


def test_notes_tell_the_worst_training_images() -> None:
    expected = {"worst_black": 0.2, "worst_saturated": 0.25, "worst_flat": 0.1}
    assert bounds().notes() == pytest.approx(expected, rel=1e-5)
    assert bounds(checks=["frozen"]).notes() == {}


def explained(monitor: Monitor, image):
    (told,) = monitor.explain(pictures(np.reshape(image, (1, -1, 2, 2))))
    return told


def test_bounds_tell_the_check_its_value_and_the_worst_training_image() -> None:
    monitor = bounds(checks=["black", "saturated", "flat"])
    told = explained(monitor, np.full(4, 0.1))
    unit = np.std([0.2, 0.1, CONTRAST])
    dark, flat = 0.1 / np.std([0.2, 0.4, 0.6]), 0.1 / unit
    assert flat > dark > 0
    assert told.reason == (
        f"'flat' finds most: contrast is 0, no training image is below 0.1 ({flat:.3g} std beyond)"
    )
    assert told.contributions == pytest.approx({"flat": flat, "black": dark}, rel=1e-5)
    assert told.details == pytest.approx({"check": "flat", "value": 0.0, "worst_in_training": 0.1}, abs=1e-6)
    same_text(explained(monitor, np.ones(4)).reason)
    inside = explained(bounds(checks=["black"]), np.full(4, 0.9))
    same_text(inside.reason)
    assert inside.reason.endswith("std within)")
    assert inside.contributions == {}


def test_bounds_tell_of_a_frozen_image_from_what_scoring_found() -> None:
    monitor = bounds()
    batch = pictures(np.stack([ID[0], ID[0], ID[1]]))
    kept = "whether it is the same as the image before it is kept for the latest batch only"
    assert all(e.reason.endswith(kept) for e in monitor.explain(batch))
    monitor.score(batch)
    first, second, third = monitor.explain(batch)
    same_text(first.reason)
    same_text(second.reason)
    assert (second.contributions, second.details) == ({"frozen": FROZEN}, {"check": "frozen"})
    assert third.reason.startswith("'flat' finds most")
    # Asking did not count as looking: the next image is compared with the last one scored.
    assert monitor.score(pictures(ID[1:2])).tolist() == [FROZEN]
    monitor.score(batch)
    monitor.restart()
    assert monitor.explain(batch)[1].reason.endswith(kept)
    alone = bounds(checks=["frozen"])
    alone.score(batch)
    same_text(alone.explain(batch)[0].reason)


def test_a_black_training_image_lets_black_images_pass_and_the_notes_show_it() -> None:
    data = Data(pictures(np.concatenate([ID, np.zeros((1, 1, 2, 2))])))
    monitor = PhysicalBounds().fit(data, COIN)
    assert score(monitor, np.zeros(4)) == 0
    assert monitor.notes()["worst_black"] == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"checks": "black"},
        {"checks": []},
        {"checks": 3},
        {"checks": ["dark"]},
        {"tolerance": -1},
        {"full_scale": 0},
        {"frozen_below": 0},
    ],
)
def test_bounds_refuse_parameters_that_mean_nothing(parameters) -> None:
    with refused(ParameterError):
        PhysicalBounds(**parameters)


# In a stream with time --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def watched() -> SimpleNamespace:
    """Objects in four views each, some of them seen as black frames, under both monitors."""
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload(TinySource())
    classifier = bed.classifier(TinyModel(), workload)
    monitors = bed.fit([Flicker(window=3), PhysicalBounds()], classifier, workload)
    order = {"name": "sequence", "views": 4, "share": 0.3}
    stream = bed.stream(workload, classifier, "black-frame", order=order, length=240)
    runs = {n: bed.run(stream, classifier, monitors, workload, batch_size=n) for n in (1, 3, 7, 240)}
    return SimpleNamespace(runs=runs, instances=runs[1].instances)


def verdicts(watched, monitor: str, column: str, size: int = 1) -> np.ndarray:
    table = watched.runs[size].alarms
    return table[table["monitor"] == monitor].sort_values("position")[column].to_numpy()


def test_black_frames_are_caught_and_few_others_are(watched) -> None:
    alarms, is_ood = verdicts(watched, "physical-bounds", "alarm"), watched.instances["is_ood"].to_numpy()
    assert is_ood.sum() > 30
    assert alarms[is_ood].all()
    assert alarms[~is_ood].mean() < 0.05


def test_flicker_in_a_stream_equals_the_transcription(watched) -> None:
    # Each visit, a run of instances of one track, is watched anew.
    track = watched.instances["track"]
    visits = (track != track.shift()).cumsum().astype(str)
    assert visits.nunique() > track.nunique()
    rows = list(zip(watched.instances["predicted"], visits, strict=True))
    expected = transcription(rows, 3)
    assert verdicts(watched, "flicker", "score").tolist() == expected
    assert {0.0, 0.5} <= set(expected)


@pytest.mark.parametrize("monitor", ["flicker", "physical-bounds"])
def test_a_stream_gives_the_same_in_any_batches(watched, monitor: str) -> None:
    score, alarm = (verdicts(watched, monitor, column) for column in ("score", "alarm"))
    for size in (3, 7, 240):
        np.testing.assert_allclose(verdicts(watched, monitor, "score", size), score, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(verdicts(watched, monitor, "alarm", size), alarm)
