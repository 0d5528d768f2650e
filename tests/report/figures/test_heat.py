import math

import numpy as np
import pandas as pd
import pytest

from farm.report.figures import heat_colour, heat_map
from farm.report.figures.heat import GOOD, NOWHERE, contrast
from tests.report.figures.seen import STRANGE, fits, overlaps, words


def lightness(value, *ends, **options):
    return contrast(heat_colour(value, *ends, **options)[0], "#000000")


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("better", [True, False])
def test_every_number_is_read_on_its_cell(ends, better):
    for value in np.linspace(*ends, 101):
        colour, ink = heat_colour(float(value), *ends, better)
        assert contrast(colour, ink) >= 4.5


def test_the_best_is_dark_blue_whichever_way():
    assert heat_colour(1, -1, 1, True)[0] == heat_colour(-1, -1, 1, False)[0] == GOOD[-1]
    assert heat_colour(1, 0, 1, True)[0] == heat_colour(0, 0, 1, False)[0] == GOOD[-1]


def test_chance_is_pale_between_bad_and_good():
    assert heat_colour(0, -1, 1)[0] == GOOD[0]
    assert lightness(-1, -1, 1) < lightness(-0.5, -1, 1) < lightness(0, -1, 1)
    assert lightness(1, -1, 1) < lightness(0.5, -1, 1) < lightness(0, -1, 1)
    assert heat_colour(-1, -1, 1)[0] != heat_colour(1, -1, 1)[0]


def test_what_lies_beyond_the_ends_has_their_colour():
    assert heat_colour(7, 0, 1) == heat_colour(1, 0, 1)
    assert heat_colour(-math.inf, 0, 1) == heat_colour(0, 0, 1)
    assert heat_colour(2, 3, 3) == heat_colour(3, 3, 3)


def test_undefined_has_no_colour_of_the_scale():
    assert heat_colour(math.nan, 0, 1) == NOWHERE


def test_values_stand_where_their_row_and_column_meet():
    table = pd.DataFrame({"oob": [0.8, math.nan], "odin": [-0.1, 0.4]}, index=["fog", "rain"])
    axes = heat_map(table, measure="specific MCC").axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["0.80"] == (0.5, 0.5)
    assert places["\N{MINUS SIGN}0.10"] == (1.5, 0.5)
    assert places["\N{EN DASH}"] == (0.5, 1.5)
    assert places["fog"][1] == 0.5
    assert places["odin"][0] == pytest.approx(1.5, abs=0.1)
    cells, hatches = axes.collections
    assert len(cells.get_paths()) == 4
    assert [path.get_extents().y0 >= 1 and path.get_extents().x1 <= 1 for path in hatches.get_paths()] == [
        True
    ] * 4


def test_the_colours_are_explained():
    table = pd.DataFrame({"oob": [0.8]}, index=["fog"])
    assert {"FNR", "worst 1", "best 0, \N{EN DASH} undefined"} <= set(
        words(heat_map(table, measure="FNR", higher_is_better=False, low=0))
    )


def test_nothing_defined_is_said():
    nothing = pd.DataFrame({"oob": [math.nan]}, index=["fog"])
    for table in (nothing, nothing.iloc[:0], pd.DataFrame()):
        assert words(heat_map(table, measure="MCC", title="t")) == ["t", "No MCC is defined here."]


@pytest.mark.parametrize("monitors", [["m"], STRANGE, [f"a monitor with a name {i}" for i in range(22)]])
def test_no_word_is_cut_off_or_on_another(monitors):
    table = pd.DataFrame(np.full((len(STRANGE), len(monitors)), -0.88), index=STRANGE, columns=monitors)
    figure = heat_map(table, measure="specific MCC", title="A title")
    assert fits(figure)
    numbers = [text for text in words(figure) if text == "\N{MINUS SIGN}0.88"]
    assert len(numbers) == table.size
    assert not overlaps(figure, numbers)
