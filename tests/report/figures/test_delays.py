import math

from farm.report.figures import DelayCurve, Look, delay_curves
from tests.report.figures.seen import STRANGE, fits, overlaps, words

NAN = math.nan


def test_a_curve_a_monitor_over_rates_of_equal_width():
    curves = [DelayCurve("oob", (1, 10, 100), (NAN, 4, 0)), DelayCurve("odin", (1, 10, 100), (9, 2, 1))]
    figure = delay_curves(curves)
    (axes,) = figure.axes
    assert [line.get_color() for line in axes.lines] == [Look.of(0).colour, Look.of(1).colour]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[0, 1, 2]] * 2
    assert axes.lines[1].get_ydata().tolist() == [9, 2, 1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "10", "100"]
    assert fits(figure)
    assert not overlaps(figure, ["oob", "odin"])


def test_where_nobody_notices_it_is_said():
    figure = delay_curves([DelayCurve("oob", (1,), (NAN,))])
    assert words(figure) == ["Every monitor misses half of the onsets or more."]


def test_long_and_strange_names_fit():
    assert fits(delay_curves([DelayCurve(name, (1, 2), (3, 2)) for name in (*STRANGE, "long" * 40)]))
