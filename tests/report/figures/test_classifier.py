import numpy as np
import pytest

from farm.measures.calibration import reliability as tabulate
from farm.report.figures import confusion, reliability
from farm.report.figures.classifier import CELLS, LARGEST, WRITTEN
from tests.report.figures.seen import STRANGE, fits, overlaps, svg, words


def make_bins(**options):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 1, 500)
    return tabulate(confidence, rng.random(500) < confidence, **options)


@pytest.mark.parametrize("equal", ["width", "mass"])
def test_points_whiskers_and_bars_are_those_of_the_bins(equal):
    bins = [one for one in make_bins(equal=equal) if one.n]
    main, counts = reliability(make_bins(equal=equal)).axes
    diagonal, curve = main.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert curve.get_xdata().tolist() == [one.confidence.value for one in bins]
    assert curve.get_ydata().tolist() == [one.accuracy.value for one in bins]
    whiskers = [path.vertices[:, 1].tolist() for path in main.collections[0].get_paths()]
    assert whiskers == [[one.accuracy_low.value, one.accuracy_high.value] for one in bins]
    bars = counts.patches
    assert [bar.get_height() for bar in bars] == [one.n for one in bins]
    for bar, one in zip(bars, bins, strict=True):
        assert one.low <= bar.get_x() < bar.get_x() + bar.get_width() <= one.high + 1e-9


def test_no_confidence_is_said():
    empty = tabulate(np.array([0.9]), np.array([True]), bins=2)[:1]
    for bins in ((), empty):
        assert words(reliability(bins)) == ["There is no confidence to show."]


def test_rows_are_labels_and_columns_predictions():
    counts = np.array([[8, 2], [0, 5]])
    axes = confusion(counts, ["stop", "yield"]).axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["2"] == (1.5, 0.5)
    assert places["5"] == (1.5, 1.5)
    assert axes.get_ylim() == (2, 0)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["stop", "yield"]
    cells = axes.collections[0]
    assert len(cells.get_paths()) == 3
    light = [colour.sum() for colour in cells.get_facecolor()]
    assert light == sorted(light, reverse=True)


def test_a_class_without_instances_is_an_empty_row():
    axes = confusion(np.array([[0, 0], [1, 1]]), ["stop", "yield"]).axes[0]
    assert len(axes.collections[0].get_paths()) == 2


def test_of_many_classes_the_largest_confusions_are_written():
    n = WRITTEN + 1
    counts = np.diag(np.full(n, 90))
    counts[3, 5], counts[2, 1] = 10, 7
    figure = confusion(counts, [f"class-{i}" for i in range(n)])
    texts = words(figure)
    assert texts.index("10 of 100") < texts.index("7 of 97")
    assert texts[texts.index("10 of 100") + 1] == "class-3 (3) as class-5 (5)"
    assert "90" not in texts
    assert sum(" as class" in text for text in texts) == 2


@pytest.mark.parametrize("n", [43, 300])
def test_hundreds_of_classes_stay_small(n):
    counts = np.random.default_rng(0).integers(0, 9, (n, n))
    figure = confusion(counts, [str(i) for i in range(n)])
    assert len(figure.axes[0].collections[0].get_paths()) <= CELLS
    assert sum(" as " in text for text in words(figure)) == LARGEST + 1
    assert fits(figure)
    assert not overlaps(figure, words(figure))
    assert len(svg(figure).findall(".//*")) < CELLS + 100


def test_no_prediction_is_said():
    for counts, classes in ((np.zeros((2, 2), int), ["a", "b"]), (np.empty((0, 0), int), [])):
        assert words(confusion(counts, classes)) == ["There are no predictions to show."]


@pytest.mark.parametrize("n", [2, 15, 20])
def test_strange_names_fit(n):
    names = [f"{STRANGE[i % len(STRANGE)]}{i}" for i in range(n)]
    figure = confusion(np.full((n, n), 12_345), names, title="t")
    assert fits(figure)
    assert not overlaps(figure, ["12,345"])
