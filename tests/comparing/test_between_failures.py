"""The time between failures: exact bounds, tracks, and by simulation how often the bounds hold."""

import numpy as np
import pytest
from scipy.stats import chi2

from farm.comparing.between_failures import between_failures, table_failures
from farm.errors import ParameterError
from farm.judging import VerdictTable
from farm.statistics.by_track import rate_by_track
from farm.testing import make_readouts
from tests.wording import refused


def table(wrong, *, cancelled=None, decision=None, **columns):
    said = {} if cancelled is None else {"odin": {"alarm": cancelled, "cancelled": cancelled}}
    if decision is not None:
        said["odin"]["decision"] = decision
    made = make_readouts(said, wrong=wrong, **columns)
    return VerdictTable.of(made.instances, made.alarms, made.run)


def found(of, monitor=None, **options):
    begins = table_failures(of, monitor, np.zeros(len(of), dtype=int))
    return between_failures(of, begins, **options)


def test_garwoods_bounds_of_a_stream_without_tracks():
    wrong = np.isin(np.arange(1000), [3, 4, 5, 400, 800, 801])
    time = found(table(wrong), level=0.9)
    assert time.value.value == pytest.approx(1000 / 3)
    assert time.low.value == pytest.approx(1000 / (chi2.isf(0.05, 8) / 2))
    assert time.high.value == pytest.approx(1000 / (chi2.ppf(0.05, 6) / 2))
    seconds = found(table(wrong), level=0.9, frame_rate=25)
    for one, other in zip(
        (time.low, time.value, time.high), (seconds.low, seconds.value, seconds.high), strict=True
    ):
        assert other.value == pytest.approx(one.value / 25)


def test_without_a_failure_there_is_a_lower_bound_alone():
    time = found(table(np.zeros(1000, dtype=bool)))
    assert time.value.reason == time.high.reason == "no failure in 1,000 instances"
    assert time.low.value == pytest.approx(1000 / -np.log(0.025))


def test_a_failure_is_what_was_acted_upon():
    """What the monitor cancels is none, unless a fallback decides wrongly."""
    wrong = np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=bool)
    cancelled = np.array([0, 1, 0, 0, 1, 1, 0, 0], dtype=bool)
    assert found(table(wrong, cancelled=cancelled)).value.value == 8 / 2
    assert found(table(wrong, cancelled=cancelled), "odin").value.value == 8 / 2
    decision = np.where(cancelled, [0, -1, 0, 0, 0, 1, 0, 0], wrong)
    # The fallback mends the fifth and spoils the sixth.
    made = table(wrong, cancelled=cancelled, decision=decision)
    assert table_failures(made, "odin", np.zeros(8)).tolist() == [1, 0, 1, 0, 0, 1, 0, 0]


def test_a_failure_ends_with_its_track():
    track, wrong = np.repeat(list("abcdefgh"), 5), np.isin(np.arange(40), [3, 4, 5, 6, 20])
    made = table(wrong, track=track)
    time = found(made)
    assert time.value.value == 40 / 3
    low, high = rate_by_track(np.isin(np.arange(40), [3, 5, 20]), np.arange(40) // 5)
    assert (time.low.value, time.high.value) == pytest.approx((1 / high.value, 1 / low.value))


def test_too_few_tracks_have_a_time_and_no_bounds():
    time = found(table(np.arange(40) == 7, track=np.repeat(list("abcd"), 10)))
    assert time.value.value == 40
    assert "of 4 tracks" in time.low.reason
    assert time.high.reason == time.low.reason


def test_what_has_no_label_may_have_failed():
    label = np.array([0.0, np.nan, 0.0])
    time = found(table([0, 0, 1], label=label, predicted=[0, 1, 1]))
    assert time.low.reason == "the label is missing for 1 of 3 instances"


def test_a_frame_rate_is_above_0():
    with refused(ParameterError):
        found(table([0, 1]), frame_rate=0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "between"), [(300, 200), (1000, 100), (2000, 1500)])
def test_bounds_of_a_stream_hold(n, between):
    """Failures last three instances on the average and begin by chance."""
    random, held = np.random.default_rng(n), []
    for _ in range(1000):
        wrong = np.zeros(n + 50, dtype=bool)
        begins = np.flatnonzero(random.random(n + 50) < 1 / (between - 3))
        for begin, lasting in zip(begins, random.geometric(1 / 3, len(begins)), strict=True):
            wrong[begin : begin + lasting] = True
        time = found(table(wrong[50:]))
        held.append((time.low.value <= between, not time.high.defined or between <= time.high.value))
    assert (np.mean(held, axis=0) >= 0.975 - 3.1 * np.sqrt(0.975 * 0.025 / 1000)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("tracks", "events"), [(12, 0.3), (40, 0.2), (100, 0.05)])
def test_bounds_of_tracks_hold(tracks, events):
    """Of 12 to 40 instances each, and some far worse than others; a failure lasts a whole second instance."""
    random, held = np.random.default_rng(tracks), []
    for _ in range(300):
        sizes = random.integers(12, 41, tracks)
        track = np.repeat(np.arange(tracks), sizes)
        rate = events / 26 * random.gamma(0.5, 2, tracks)[track]
        begins = (random.random(len(track)) < rate) & (np.arange(len(track)) % 2 == 0)
        time = found(table(begins, track=np.char.mod("t%d", track)))
        between = 2 * 26 / events
        held.append((time.low.value <= between, not time.high.defined or between <= time.high.value))
    assert (np.mean(held, axis=0) >= 0.975 - 3.1 * np.sqrt(0.975 * 0.025 / 300)).all()
