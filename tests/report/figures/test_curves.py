import numpy as np
import pytest

from farm.measures.ranking import RiskCoverage, Separation
from farm.report.figures import (
    Calibrated,
    Look,
    ScoreCurves,
    precision_recall,
    risk_coverage,
    roc,
    score_curves,
)
from farm.report.figures.curves import FEWEST, POINTS
from tests.report.figures.seen import STRANGE, fits, strokes, words


def make(name="oob", n=500, shift=1.0, at=Calibrated(), id_scores=None):  # noqa: B008
    rng = np.random.default_rng(0)
    id_scores = rng.normal(size=n) if id_scores is None else id_scores
    scores = np.concatenate([id_scores, rng.normal(shift, size=n)])
    is_ood = np.arange(len(scores)) >= len(id_scores)
    own = Separation.of(scores, is_ood)
    return ScoreCurves(name, own.roc(), own.precision_recall(), RiskCoverage.of(scores, is_ood), at)


def lines(axes, look):
    return [line for line in axes.lines if line.get_color() == look.colour and len(line.get_xdata()) > 1]


@pytest.mark.parametrize("draw", [roc, precision_recall, risk_coverage])
def test_each_monitor_has_a_line_of_few_points_between_the_ends(draw):
    curves = [make(shift=1), make("odin", shift=3)]
    (axes,) = draw(curves).axes
    for index, curve in enumerate(curves):
        (line,) = lines(axes, Look.of(index))
        assert 10 < len(line.get_xdata()) <= POINTS
        full = curve.risk_coverage.coverage if draw is risk_coverage else getattr(curve, draw.__name__).x
        assert line.get_xdata()[-1] == full[-1] == 1.0
        assert line.get_xdata()[0] == pytest.approx(FEWEST if draw is risk_coverage else 0, abs=0.01)


def test_three_panels_share_one_legend():
    figure = score_curves([make(), make("odin")])
    assert [axes.get_title("left") for axes in figure.axes] == [
        "ROC",
        "Precision and recall",
        "Risk and coverage",
    ]
    assert words(figure).count("odin") == 1


def test_the_calibrated_point_is_a_filled_marker():
    at = Calibrated(roc=(0.05, 0.4), precision_recall=(0.4, 0.9), risk_coverage=(0.7, 0.2))
    figure = score_curves([make(at=at)])
    for axes, place in zip(figure.axes, (at.roc, at.precision_recall, at.risk_coverage), strict=True):
        (marker,) = (line for line in axes.lines if len(line.get_xdata()) == 1)
        assert tuple(marker.get_xydata()[0]) == place
        assert marker.get_marker() == Look.of(0).marker
        assert marker.get_fillstyle() == "full"
    assert "Marker: the threshold a monitor is calibrated to." in words(figure)


def test_no_marker_where_nothing_is_calibrated():
    figure = roc([make(at=Calibrated(risk_coverage=(0.7, 0.2)))])
    assert all(len(line.get_xdata()) > 1 for line in figure.axes[0].lines)
    assert not any("Marker" in text for text in words(roc([make()])))


def test_chance_and_no_monitor_are_drawn_to_compare_with():
    figure = score_curves([make()])
    drawn = [[line.get_ydata().tolist() for line in strokes(axes, 2)] for axes in figure.axes]
    chance, level, alone = drawn
    assert chance == [[0, 1]]
    assert level == [[0.5, 0.5]]
    assert alone == [[0.5, 0.5]]


def test_missing_curves_are_told_with_their_reason_and_leave_the_looks():
    gone = make("odin", id_scores=np.full(500, np.nan))
    figure = roc([gone, make()])
    assert "\N{EN DASH} the score is missing for 500 of 1,000 instances: odin" in words(figure)
    assert lines(figure.axes[0], Look.of(1))
    assert not lines(figure.axes[0], Look.of(0))


def test_nothing_defined_is_said():
    assert words(score_curves([], title="t")) == ["t", "No monitor has scores here."]
    gone = make(id_scores=np.full(500, np.nan))
    assert words(roc([gone])) == ["No curve is defined: the score is missing for 500 of 1,000 instances."]


def test_a_handful_of_instances_and_perfect_scores_are_drawn():
    figure = score_curves([make(n=3), make("perfect", shift=1e6)])
    assert len(figure.axes) == 3
    low, high = figure.axes[2].get_ylim()
    assert low == 0 < high


@pytest.mark.parametrize("draw", [roc, score_curves])
def test_twenty_strange_names_fit(draw):
    figure = draw([make(STRANGE[i % len(STRANGE)] + str(i)) for i in range(20)], title="T" * 200)
    assert fits(figure)
    assert len({text for text in words(figure) if "alpha" in text}) == 4
