import itertools
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from farm.report.figures import DARK, VARIABLES, Look, roc, style
from farm.report.figures.heat import contrast
from farm.report.figures.keys import Legend
from tests.report.figures.seen import STRANGE, words


def _linear(colour):
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def _lab(light):
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira and Fernandes (2009): what is seen without one kind of cone.
SIGHT = {
    "all cones": "1 0 0 0 1 0 0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602 0.004733 0.691367 0.303900",
}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colours", [VARIABLES, DARK], ids=["light", "dark"])
def test_colours_of_monitors_are_told_apart_without_some_cones(colours, sight):
    cones = np.array(SIGHT[sight].split(), dtype=float).reshape(3, 3)
    series = [_lab(cones @ _linear(colour)) for name, colour in colours.items() if "series" in name]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(series, 2)) > 19


@pytest.mark.parametrize("colours", [VARIABLES, DARK], ids=["light", "dark"])
def test_all_is_seen_on_the_paper(colours):
    least = {"--grid": 1.3, "--paper": 1.0, "--ink": 12, "--faint": 4.5}
    for name, colour in colours.items():
        assert contrast(colour, colours["--paper"]) >= least.get(name, 3.0), name


def test_36_monitors_are_told_apart_without_colour():
    looks = [Look.of(index) for index in range(36)]
    assert len({(look.marker, str(look.dashes)) for look in looks}) == 36
    of_one_colour = [look for look in looks if look.colour == looks[0].colour]
    assert len({str(look.dashes) for look in of_one_colour[:4]}) == 4


def test_settings_of_the_user_and_pyplot_are_left_alone():
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "text.parse_math": True}):
        mine = dict(matplotlib.rcParams)
        drawn = words(roc([]))
        assert dict(matplotlib.rcParams) == mine
        with style.applied():
            assert matplotlib.rcParams["font.size"] == style.NORMAL
    assert drawn == ["No monitor has scores here."]
    assert pyplot.get_fignums() == []


def test_importing_all_figures_imports_no_plotting():
    code = "import sys, farm.report.figures; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"matplotlib", "pandas", "scipy", "scikit_posthocs", "torch", "sklearn"}
    assert not heavy & set(ran.stdout.split())


@pytest.mark.parametrize("name", [*STRANGE, "wide W" * 30, "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 30])
def test_names_are_one_line_of_bounded_width(name):
    short = style.shortened(name, 1.2)
    assert style.width_of(short) <= 1.2
    assert short.isprintable()
    assert short[0] == name[0]
    assert ("…" in short) == (style.width_of(" ".join(name.split())) > 1.2)


@pytest.mark.parametrize("text", ["max-softmax", "mahalanobis", "CAPITALS", "0123456789", "a fox, (of 1)"])
def test_a_width_is_about_that_in_the_font_drawn_with(text):
    with style.applied():
        sheet = style.figure(8, 1)
        style.write(sheet, 0, 0, text)
        drawn = sheet.texts[-1].get_window_extent().width / sheet.dpi
    assert 0.75 * style.width_of(text) <= drawn <= 1.03 * style.width_of(text)


def test_many_long_names_stand_in_two_columns():
    assert Legend(["a" * 80] * 20, width=4.2).columns == 2
    assert Legend(["a" * 80] * 3, width=4.2).columns == 1
    assert Legend(["a"] * 20, width=8.0).height < Legend(["a"] * 20, width=4.0).height


def test_round_ticks_lie_between_the_ends():
    assert list(style.steps(0.12, 0.87)) == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert style.steps(0, 20000)[10000.0] == "10000"


def test_a_notebook_shows_a_figure_by_itself():
    assert roc([])._repr_png_().startswith(b"\x89PNG")
