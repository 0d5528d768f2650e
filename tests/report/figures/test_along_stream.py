import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from farm.report.figures import ScoresOverTime, along_stream, style
from farm.report.figures.along_stream import BINS, CEILING, FLOOR
from tests.report.figures.seen import STRANGE, fits, overlaps, svg, words


def make(score, threshold=1.0, delays=(), name="oob", position=None):
    score = np.asarray(score, dtype=float)
    position = np.arange(len(score)) if position is None else position
    alarm = score > (math.inf if threshold is None else threshold)
    return ScoresOverTime(name, position, score, alarm, threshold, delays)


def drawn(axes, colour, least=1):
    """Return the points of the collections of a colour."""
    found = [c for c in axes.collections if to_hex((*c.get_edgecolor(), *c.get_facecolor())[0]) == colour]
    return [path.vertices for one in found for path in one.get_paths() if len(path.vertices) >= least]


def test_episodes_are_shaded_and_their_delay_is_told():
    score = np.zeros(100)
    score[45:50] = 2
    (axes,) = along_stream([make(score, delays=[5, "missed"])], [(40, 50), (70, 90)]).axes
    shades = [(s[:, 0].min(), s[:, 0].max()) for s in drawn(axes, style.OOD, least=4)]
    assert shades == [(40, 50), (70, 90)]
    onsets = [line[0, 0] for line in drawn(axes, style.OOD) if len(line) == 2]
    assert onsets == [40, 70]
    assert {"+5", "missed", "1 of 2 episodes missed"} <= set(words(axes.figure))
    (delay,) = (line for line in drawn(axes, style.ALARM) if (line[:, 1] == CEILING).all())
    assert delay[:, 0].tolist() == [40, 45]


def test_alarms_stand_below_the_scores_neighbours_as_one():
    score = np.zeros(1000)
    score[100:200] = score[500] = 2
    (axes,) = along_stream([make(score)], []).axes
    bars = [line[:, 0].tolist() for line in drawn(axes, style.ALARM)]
    assert bars == [pytest.approx([100, 200], abs=4), pytest.approx([500, 502], abs=4)]
    assert all(FLOOR < line[0, 1] < 0 for line in drawn(axes, style.ALARM))


def test_no_alarm_draws_none():
    (axes,) = along_stream([make(np.zeros(10))], []).axes
    assert drawn(axes, style.ALARM) == []
    assert "no faults" in words(axes.figure)


def test_scores_of_a_long_stream_are_thinned_and_no_peak_is_lost():
    score = np.random.default_rng(0).uniform(0, 0.5, 100_000)
    score[77_777] = 1.2
    score[55_555] = -0.4
    (axes,) = along_stream([make(score)], []).axes
    (band,) = drawn(axes, style.ID)
    assert len(band) <= 2 * BINS + 5
    for peak, place in ((np.argmax(band[:, 1]), 77_777), (np.argmin(band[:, 1]), 55_555)):
        assert band[peak, 0] == pytest.approx(place, abs=100_000 / BINS)


def test_scores_of_a_short_stream_are_all_drawn():
    (axes,) = along_stream([make([0, 1, 0.5], threshold=1.0)], []).axes
    scores, threshold = axes.lines
    assert scores.get_ydata().tolist() == [0, 1, 0.5]
    assert threshold.get_ydata().tolist() == [1, 1]


def test_one_absurd_score_does_not_flatten_the_rest():
    score = np.tile([0.0, 1.0], 500)
    score[10] = 1e9
    (axes,) = along_stream([make(score, threshold=0.5)], []).axes
    assert axes.lines[0].get_ydata()[0] == pytest.approx(0.5)


def test_a_few_high_scores_among_equal_ones_are_seen():
    score = np.zeros(1000)
    score[500] = 5
    (axes,) = along_stream([make(score, threshold=1.0)], []).axes
    (band,) = drawn(axes, style.ID)
    assert axes.lines[0].get_ydata()[0] == pytest.approx(0.2)
    assert band[:, 1].max() == 1


@pytest.mark.parametrize("threshold", [None, math.inf, math.nan])
def test_without_a_finite_threshold_no_line_is_drawn(threshold):
    (axes,) = along_stream([make([0, 1, 0.5], threshold=threshold)], []).axes
    assert len(axes.lines) == 1


@pytest.mark.parametrize("score", [[5.0] * 9, [math.nan] * 9, [math.inf, -math.inf, 1.0], [1.0]])
def test_odd_scores_are_drawn(score):
    (axes,) = along_stream([make(score, threshold=None)], []).axes
    assert svg(axes.figure) is not None
    heights = axes.lines[0].get_ydata()
    assert np.all(np.isnan(heights) | ((heights >= 0) & (heights <= 1)))


def test_panels_share_the_places_of_the_stream():
    rows = [make(np.zeros(10), name="a"), make(np.zeros(5), name="b", position=np.arange(20, 25))]
    figure = along_stream(rows, [])
    assert {axes.get_xlim() for axes in figure.axes} == {(0, 24)}
    assert [axes.get_title("left") for axes in figure.axes] == ["a", "b"]


def test_many_episodes_are_told_by_signs_where_words_do_not_fit():
    episodes = [(i * 100, i * 100 + 50) for i in range(60)]
    delays = ["missed" if i % 2 else 12 for i in range(len(episodes))]
    figure = along_stream([make(np.zeros(6000), delays=delays)], episodes)
    assert words(figure).count("\N{MULTIPLICATION SIGN}") == 30
    assert not overlaps(figure, ["\N{MULTIPLICATION SIGN}", "+12"])


def test_nothing_to_show_is_said():
    for rows in ([], [make([])]):
        assert words(along_stream(rows, [])) == ["The stream is empty."]


def test_strange_names_fit():
    figure = along_stream([make(np.zeros(50), name=name) for name in STRANGE], [], title="t")
    assert fits(figure)
