import numpy as np
import pytest

from farm.measures.localization import quantile_table
from farm.report.figures import BoxedImage, box_reliability, boxes_on_images
from farm.report.figures.boxes import COLUMNS, PREDICTED, TRUTH
from tests.report.figures.seen import STRANGE, fits, strokes, svg, words

BOX = np.array([2.0, 1.0, 6.0, 5.0])


def made(n=1, **changes):
    grey = np.full((8, 8, 1), 128, np.uint8)
    given = {"pixels": grey, "size": (8, 8), "truth": BOX, "predicted": BOX + 1, "says": "stop, IoU 0.39"}
    return [BoxedImage(**{**given, **changes}) for _ in range(n)]


def corners(line):
    """Left, top, right and bottom of what was drawn."""
    x, y = line.get_xdata(), line.get_ydata()
    return [min(x), min(y), max(x), max(y)]


def test_both_boxes_lie_where_they_are_in_the_image_that_was_seen():
    """Kept images are smaller than those: boxes count the pixels of the large one."""
    (axes,) = boxes_on_images(made(size=(16, 32))).axes
    _, truth, _, predicted = strokes(axes, 5)
    assert (corners(truth), truth.get_color()) == (BOX.tolist(), TRUTH["color"])
    assert (corners(predicted), predicted.get_color()) == ((BOX + 1).tolist(), PREDICTED["color"])
    assert axes.images[0].get_extent() == [0, 32, 16, 0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 32), (32, 0))


def test_a_box_that_is_lost_is_not_drawn():
    (axes,) = boxes_on_images(made(truth=np.full(4, np.nan))).axes
    assert [line.get_color() for line in strokes(axes, 5)] == ["#010101", PREDICTED["color"]]


def test_images_stand_row_by_row_and_all_words_fit():
    figure = boxes_on_images([one for says in STRANGE for one in made(says=says)], title="Boxes")
    assert len(figure.axes) == len(STRANGE) > COLUMNS
    assert fits(figure)
    svg(figure)


def test_colours_are_shown_as_they_are():
    coloured = np.zeros((4, 4, 3), np.uint8)
    coloured[..., 0] = 200
    (axes,) = boxes_on_images(made(pixels=coloured)).axes
    assert np.array_equal(axes.images[0].get_array(), coloured)


def test_lines_and_whiskers_are_those_of_the_tables():
    random = np.random.default_rng(0)
    sides = ("left", "top", "right", "bottom")
    tables = {side: quantile_table(np.zeros(80), np.ones(80), random.normal(size=80)) for side in sides}
    figure = box_reliability(tables, title="Calibration")
    (axes,) = figure.axes
    diagonal, *lines = axes.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    for line, whiskers, rows in zip(lines, axes.collections, tables.values(), strict=True):
        points = [[0.0, 0.0], *([row.level, row.share.value] for row in rows)]
        assert line.get_xydata().tolist() == points
        ends = [path.vertices[:, 1].tolist() for path in whiskers.get_paths()]
        assert ends == [[row.low.value, row.high.value] for row in rows]
    assert set(sides) < set(words(figure))
    assert fits(figure)


@pytest.mark.parametrize("tables", [{}, {"left": quantile_table(np.zeros(2), np.zeros(2), np.zeros(2))}])
def test_without_a_spread_it_is_said(tables):
    why = ": the spread is 0 for 2 of 2 instances" if tables else ""
    assert words(box_reliability(tables)) == [f"There is no spread of boxes to show{why}."]
    assert words(boxes_on_images([])) == ["There are no images with boxes to show."]
