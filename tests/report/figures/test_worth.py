import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from farm.report.figures import Look, specific_and_overall, trade_off, worth_against_cost
from tests.report.figures.seen import STRANGE, fits, intervals, overlaps, strokes, words

NAN = math.nan


def make_trade(costs, gains, names=None, yardsticks=()):
    names = names or [f"monitor {i}" for i in range(len(costs))]
    columns = {"monitor": names, "availability_cost": costs, "safety_gain": gains}
    return pd.DataFrame(columns | {"yardstick": [name in yardsticks for name in names]})


def points(axes):
    """Return the markers of single points with their places."""
    return {line.get_marker(): tuple(line.get_xydata()[0]) for line in strokes(axes, 1)}


def test_both_tasks_stand_side_by_side_with_their_intervals():
    frame = intervals(["good", "poor"], specific=[0.8, 0.2], overall=[0.1, NAN])
    axes = specific_and_overall(frame).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["good", "poor"]
    specific, overall = (line for line in strokes(axes, 2) if line.get_linestyle() == "None")
    assert specific.get_xdata().tolist() == [0.8, 0.2]
    assert overall.get_xdata()[0] == 0.1
    assert np.isnan(overall.get_xdata()[1])
    assert specific.get_marker() != overall.get_marker()
    whiskers = [path.vertices[:, 0].tolist() for c in axes.collections for path in c.get_paths()]
    assert pytest.approx([0.75, 0.85]) in whiskers
    assert pytest.approx([0.05, 0.15]) in whiskers
    assert "overall undefined" in words(axes.figure)


def test_bounds_that_are_undefined_leave_the_point():
    frame = intervals(["good"], specific=[0.8], overall=[0.1]).assign(specific_low=NAN)
    axes = specific_and_overall(frame).axes[0]
    assert any(0.8 in line.get_xdata() for line in axes.lines)


def test_chance_is_always_in_sight():
    axes = specific_and_overall(intervals(["good"], specific=[0.8], overall=[0.7])).axes[0]
    low, high = axes.get_xlim()
    assert low < 0 < 0.85 < high


def test_gain_and_cost_stand_where_they_should():
    axes = trade_off(make_trade([0.1, 0.2], [0.05, 0.2]), error_rate=0.25).axes[0]
    assert points(axes) == {Look.of(0).marker: (0.1, 0.05), Look.of(1).marker: (0.2, 0.2)}
    assert "all wrong decisions: 0.25" in words(axes.figure)
    ((_, end),) = (line.get_xydata() for line in strokes(axes, 2) if line.get_ydata()[0] == 0)
    assert end[1] / end[0] == pytest.approx(0.25 / 0.75)


def test_an_unknown_error_rate_draws_no_line():
    axes = trade_off(make_trade([0.1], [0.05])).axes[0]
    assert len(axes.lines) == 1
    assert words(axes.figure).count("monitor 0") == 1


def test_a_cost_of_less_than_nothing_is_in_sight():
    axes = trade_off(make_trade([-0.1, 0.2], [-0.05, 0.2]), error_rate=0.25).axes[0]
    assert axes.get_xlim()[0] < -0.1
    assert axes.get_ylim()[0] < -0.05


def test_yardsticks_are_hollow():
    axes = trade_off(make_trade([0.1, 0.2], [0.05, 0.2], ["oob", "never"], {"never"}), error_rate=0.3).axes[0]
    fills = {line.get_marker(): to_hex(line.get_markerfacecolor()) for line in strokes(axes, 1)}
    assert fills == {Look.of(0).marker: Look.of(0).colour, Look.of(1).marker: "#ffffff"}


def test_who_is_undefined_is_named_and_changes_nobodys_look():
    axes = trade_off(make_trade([NAN, 0.2], [0.05, 0.2], ["oob", "odin"]), error_rate=0.3).axes[0]
    assert points(axes) == {Look.of(1).marker: (0.2, 0.2)}
    assert "\N{EN DASH} undefined, and so not drawn: oob" in words(axes.figure)


def test_powers_of_ten_are_of_like_width():
    columns = {"time_us": [1, 10, 1000], "nbytes": [0, 1e3, 1e6], "mcc": [0.1, 0.2, 0.3]}
    frame = pd.DataFrame({"monitor": list("abc"), **columns})
    time, memory = worth_against_cost(frame).axes
    assert [x for x, _ in points(time).values()] == pytest.approx([0, 1, 3])
    assert [text.get_text() for text in time.get_xticklabels()] == ["1 µs", "10 µs", "100 µs", "1 ms"]
    assert [text.get_text() for text in memory.get_xticklabels()] == ["0", "1 kB", "10 kB", "100 kB", "1 MB"]
    assert memory.get_xlim()[0] < points(memory)[Look.of(0).marker][0] < 3


def test_one_cost_that_is_unknown_leaves_the_other():
    frame = pd.DataFrame({"monitor": ["a", "b"], "time_us": [1, NAN], "nbytes": [10, 20], "mcc": [0.1, 0.2]})
    time, memory = worth_against_cost(frame).axes
    assert set(points(time)) == {Look.of(0).marker}
    assert set(points(memory)) == {Look.of(0).marker, Look.of(1).marker}
    assert "\N{EN DASH} undefined, and so not drawn: b (time)" in words(time.figure)


def test_no_cost_known_leaves_empty_panels_and_the_names():
    frame = pd.DataFrame({"monitor": ["a"], "time_us": [NAN], "nbytes": [NAN], "mcc": [0.1]})
    assert "\N{EN DASH} undefined, and so not drawn: a (time), a (memory)" in words(worth_against_cost(frame))


def test_nothing_defined_is_said():
    none = intervals(["a"], specific=[NAN], overall=[NAN])
    assert (
        words(specific_and_overall(none))
        == words(specific_and_overall(none.iloc[:0]))
        == ["No MCC is defined here."]
    )
    undefined = make_trade([NAN], [0.1])
    said = ["No gain and no cost is defined here."]
    assert words(trade_off(undefined, error_rate=0.1)) == words(trade_off(undefined.iloc[:0])) == said
    cost = pd.DataFrame({"monitor": ["a"], "time_us": [1.0], "nbytes": [1], "mcc": [NAN]})
    assert (
        words(worth_against_cost(cost))
        == words(worth_against_cost(cost.iloc[:0]))
        == ["No MCC is defined here."]
    )


@pytest.mark.parametrize("seed", range(5))
def test_names_of_a_dozen_points_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    names = [f"monitor {i}" for i in range(12)]
    frame = make_trade(rng.uniform(0, 0.2, 12), rng.uniform(0, 0.2, 12), names)
    figure = trade_off(frame, error_rate=0.3)
    assert not overlaps(figure, names)
    assert fits(figure)


def test_names_at_one_place_are_moved_and_joined_to_it():
    names = [f"monitor {i}" for i in range(6)]
    figure = trade_off(make_trade([0.1] * 6, [0.1] * 6, names), error_rate=0.3)
    assert not overlaps(figure, names)
    leaders = [line for line in strokes(figure.axes[0], 2) if np.allclose(line.get_xydata()[0], 0.1)]
    assert leaders


@pytest.mark.parametrize("n", [1, 20])
def test_strange_names_fit(n):
    names = [STRANGE[i % len(STRANGE)] + str(i) for i in range(n)]
    rng = np.random.default_rng(1)
    for figure in (
        specific_and_overall(
            intervals(names, specific=rng.uniform(-0.2, 1, n), overall=rng.uniform(-0.2, 1, n))
        ),
        trade_off(make_trade(rng.uniform(0, 0.2, n), rng.uniform(0, 0.2, n), names), error_rate=0.3),
    ):
        assert fits(figure)
        assert sum("alpha" in text for text in words(figure)) == sum("alpha" in name for name in names)


@pytest.mark.parametrize("nbytes", [[3.0, 2e9], [0.0, 40.0, 1.6e6], [7.0, 3e7]])
def test_every_point_lies_within_the_panel_whatever_has_a_tick(nbytes):
    rows = [{"monitor": f"m{i}", "time_us": 1.0, "nbytes": n, "mcc": 0.1} for i, n in enumerate(nbytes)]
    axes = worth_against_cost(pd.DataFrame(rows)).axes[1]
    low, high = axes.get_xlim()
    drawn = [float(x) for line in axes.lines for x in line.get_xdata()]
    assert len(drawn) >= len(nbytes)
    assert all(low <= x <= high for x in drawn)
