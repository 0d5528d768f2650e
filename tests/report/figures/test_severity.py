import math

import pandas as pd
import pytest

from farm.report.figures import Look, severity_curves
from tests.report.figures.seen import STRANGE, fits, overlaps, words

NAN = math.nan


def make(faults, monitors=("oob", "odin"), severities=(1, 3, 5), value=None):
    rows = []
    for fault in faults:
        for monitor in monitors:
            for level in severities:
                own = level / 10 if value is None else value
                rows.append((fault, level, monitor, own, own - 0.05, own + 0.05))
    return pd.DataFrame(rows, columns=["faultload", "severity", "monitor", "value", "low", "high"])


def test_a_panel_a_fault_and_a_line_a_monitor():
    figure = severity_curves(make(["fog", "rain"]), measure="FNR")
    assert [axes.get_title("left") for axes in figure.axes] == ["fog", "rain"]
    for axes in figure.axes:
        assert [line.get_color() for line in axes.lines] == [Look.of(0).colour, Look.of(1).colour]
        for line in axes.lines:
            assert line.get_ydata().tolist() == [0.1, 0.3, 0.5]
    assert [words(figure).count(name) for name in ("oob", "odin")] == [1, 1]


def test_severities_are_steps_and_monitors_stand_side_by_side():
    (axes,) = severity_curves(make(["fog"], severities=(0.05, 0.1, 0.4)), measure="FNR").axes
    first, second = (line.get_xdata() for line in axes.lines)
    assert (second - first).tolist() == pytest.approx([0.25] * 3)
    assert ((first + second) / 2).tolist() == pytest.approx([0, 1, 2])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.05", "0.1", "0.4"]


def test_whiskers_are_the_intervals():
    frame = make(["fog"], monitors=["oob"])
    frame.loc[1, "low"] = NAN
    (axes,) = severity_curves(frame, measure="FNR").axes
    whiskers = [path.vertices[:, 1].tolist() for path in axes.collections[0].get_paths()]
    assert whiskers == [pytest.approx([0.05, 0.15]), pytest.approx([0.45, 0.55])]


def test_a_value_that_is_undefined_is_a_gap():
    frame = make(["fog"])
    frame.loc[1, "value"] = NAN
    (axes,) = severity_curves(frame, measure="FNR").axes
    assert [math.isnan(y) for y in axes.lines[0].get_ydata()] == [False, True, False]


def test_all_share_one_scale_with_the_intervals_in_it():
    frame = pd.concat([make(["fog"], value=0.2), make(["rain"], value=0.9)])
    limits = {axes.get_ylim() for axes in severity_curves(frame, measure="FNR").axes}
    ((low, high),) = limits
    assert 0 <= low < 0.15
    assert high > 0.95


def test_a_fault_without_severity_has_one_place():
    frame = make(["novelty"], severities=[NAN], value=0.5)
    (axes,) = severity_curves(frame, measure="FNR").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["no severity"]
    low, high = axes.get_xlim()
    assert all(low < line.get_xdata()[0] < high for line in axes.lines)


def test_a_monitor_that_a_fault_lacks_keeps_its_look():
    frame = pd.concat([make(["fog"]), make(["rain"], monitors=["odin"])])
    rain = severity_curves(frame, measure="FNR").axes[1]
    assert [line.get_color() for line in rain.lines] == [Look.of(1).colour]


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (4, 1), (5, 2), (12, 3), (13, 4)])
def test_panels_stand_in_rows_of_four(n, rows):
    figure = severity_curves(make([f"fault {i}" for i in range(n)]), measure="FNR")
    places = [axes.get_position() for axes in figure.axes]
    assert len(places) == n
    assert len({round(place.y0, 6) for place in places}) == rows
    assert not any(a.overlaps(b) for i, a in enumerate(places) for b in places[:i])


def test_nothing_defined_is_said():
    frame = make(["fog"], value=NAN)
    for nothing in (frame, frame.iloc[:0]):
        assert words(severity_curves(nothing, measure="FNR")) == ["No FNR is defined here."]


def test_strange_names_fit():
    figure = severity_curves(make(STRANGE, [*STRANGE, *"abcdefghijklmno"]), measure="F" * 80, title="t")
    assert fits(figure)
    assert not overlaps(figure, words(figure))
