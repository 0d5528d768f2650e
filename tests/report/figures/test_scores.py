import math

import numpy as np
import pytest

from farm.report.figures import MonitorScores, score_distributions
from tests.report.figures.seen import STRANGE, fits, words

RNG = np.random.default_rng(0)
USUAL = RNG.normal(size=1000), RNG.normal(2, 1, size=800)
NONE = np.empty(0)


def draw(*scores):
    """Return the axes, and what is filled, outlined and drawn as thresholds: points of each."""
    (axes,) = score_distributions(scores).axes
    *_, filled, outlined, thresholds = axes.collections
    return axes, *([path.vertices for path in one.get_paths()] for one in (filled, outlined, thresholds))


def heights(outline, ground):
    return outline[:, 1] - ground


def test_the_threshold_is_at_0_and_the_unit_is_the_middle_of_id():
    own = MonitorScores("oob", np.linspace(0, 10, 1001), np.linspace(20, 30, 11), threshold=9.0)
    axes, filled, outlined, thresholds = draw(own)
    assert thresholds[0][:, 0].tolist() == [0, 0]
    # From 10 % to 90 % it is 8 wide, so that ID reaches from -9 / 8 to 1 / 8, and OOD from 11 / 8 to 21 / 8.
    shown = filled[0][heights(filled[0], 0) > 0.01, 0]
    assert shown.min() == pytest.approx(-9 / 8, abs=0.1)
    assert shown.max() == pytest.approx(1 / 8, abs=0.1)
    assert outlined[0][:, 0].min() == pytest.approx(11 / 8, abs=0.1)
    assert outlined[0][:, 0].max() == pytest.approx(21 / 8, abs=0.1)
    assert axes.get_xlim()[0] <= -9 / 8 < 21 / 8 <= axes.get_xlim()[1]


def test_moved_and_stretched_scores_look_the_same():
    one, other = (
        draw(MonitorScores("oob", USUAL[0] * scale + move, USUAL[1] * scale + move, 1.5 * scale + move))
        for scale, move in ((1, 0), (1024, 4096))
    )
    assert one[0].get_xlim() == other[0].get_xlim()
    for a, b in zip(one[1] + one[2], other[1] + other[2], strict=True):
        assert np.allclose(a, b, atol=0.02)


def test_what_lies_at_the_threshold_is_no_alarm():
    """It stands on the left: an alarm is a score above the threshold."""
    own = MonitorScores("oob", np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]), threshold=1.0)
    _, filled, outlined, _ = draw(own)
    for shape, share in ((filled[0], 0.0), (outlined[0], 0.44)):
        x, y = (shape[:-1] + shape[1:]).T / 2
        right = y[x > 0]
        assert right.max(initial=0) == pytest.approx(share, abs=0.01)


def test_a_row_each_from_top_to_bottom():
    axes, filled, outlined, thresholds = draw(*(MonitorScores(n, *USUAL, 1.0) for n in ("first", "second")))
    assert [shape[:, 1].min() for shape in filled] == [1, 0]
    assert len(outlined) == len(thresholds) == 2
    places = dict(zip([t.get_text() for t in axes.get_yticklabels()], axes.get_yticks(), strict=True))
    assert 1 < places["first"] < 2
    assert 0 < places["second"] < 1
    assert all(heights(shape, ground).max() < 1 for shape, ground in zip(filled, (1, 0), strict=True))


@pytest.mark.parametrize(
    ("id_scores", "ood_scores", "threshold"),
    [
        ([0.5] * 9, [0.5] * 9, 0.5),
        ([0.5] * 9, [0.5, 3.0], 0.5),
        ([1.0], [2.0], 1.0),
        ([0, 1, math.inf], [-math.inf, 3], 1.0),
        ([math.inf], [-math.inf], 0.0),
        ([1e300, -1e300], [0.0], 0.0),
        ([0, 1], [1, 2], math.inf),
        ([0, 1], [1, 2], math.nan),
        ([math.nan] * 3, [1, 2], 1.0),
        ([0, 1], [], 1.0),
        ([], [1, 2], None),
        (np.float32([1, 2, 3]), np.float32([1, 2, 3]), 2.0),
    ],
)
def test_odd_scores_are_drawn(id_scores, ood_scores, threshold):
    own = MonitorScores("oob", np.array(id_scores), np.array(ood_scores), threshold)
    axes, filled, *_ = draw(own)
    low, high = axes.get_xlim()
    assert -4 <= low < 0 < high <= 6
    assert np.isfinite(filled[0]).all()
    tallest = max([heights(shape, 0).max() for shape in draw(own)[1] + draw(own)[2]])
    outside = any("%" in text for text in words(axes.figure) if not text.startswith("12 %"))
    assert tallest == pytest.approx(0.88) or outside


def test_no_single_threshold_is_told_and_not_drawn():
    for threshold in (None, math.inf):
        axes, _, _, thresholds = draw(MonitorScores("oob", *USUAL, threshold))
        assert thresholds == []
        assert "no one threshold: 0 is the median of ID" in words(axes.figure)


def test_missing_scores_are_told():
    assert "no OOD scores" in words(score_distributions([MonitorScores("oob", USUAL[0], NONE, 1.0)]))
    missing = MonitorScores("oob", np.full(3, np.nan), USUAL[1], 1.0)
    assert "no ID scores" in words(score_distributions([missing]))


def test_what_lies_further_out_is_told():
    far = np.concatenate([np.full(1, -1e9), np.zeros(2), np.full(7, math.inf)])
    texts = words(score_distributions([MonitorScores("oob", USUAL[0], far, 1.0)]))
    assert "70 % →" in texts
    assert "← 10 %" in texts


def test_one_absurd_score_does_not_flatten_the_rest():
    parts = USUAL[1], np.append(USUAL[1], 1e9)
    usual, absurd = (draw(MonitorScores("oob", USUAL[0], part, 1.0))[0].get_xlim() for part in parts)
    assert absurd[1] - absurd[0] <= 1.2 * (usual[1] - usual[0])


def test_nothing_to_show_is_said():
    for scores in ([], [MonitorScores("oob", NONE, NONE, 1.0)]):
        assert words(score_distributions(scores)) == ["There are no scores to show."]


def test_strange_names_fit():
    figure = score_distributions([MonitorScores(name, *USUAL, 1.0) for name in STRANGE * 4], title="t")
    assert fits(figure)
