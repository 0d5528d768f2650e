import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from PIL import Image

from farm.errors import ParameterError
from farm.measures.measure import Measure, undefined
from farm.report.figures import as_svg, critical_difference, save
from farm.statistics.ranks import compare_ranks
from farm.statistics.table import full_table
from tests.wording import refused, same_text

A_SET = "one faultload at one severity on one workload"


def make_comparison(k=4, n=12, spread=3.0, higher_is_better=True, zeroed=0, alpha=0.05, name="monitor"):
    values = np.random.default_rng(0).normal(size=(n, k)) + np.linspace(0, spread, k)
    cells = {(f"set{i}", f"{name}{j}"): Measure(float(values[i, j])) for i in range(n) for j in range(k)}
    cells |= {(f"set{i}", f"{name}0"): undefined("no alarm") for i in range(zeroed)}
    table = full_table(cells, "specific.mcc", higher_is_better=higher_is_better, a_set_is=A_SET)
    return compare_ranks(table, alpha)


def words(path):
    """Return all the text of an SVG: each line is drawn as paths, below a comment with its letters."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text(), flags=re.DOTALL)).replace("\xa0", " ")


@pytest.fixture
def drawn(tmp_path):
    def draw(comparison, name="cd.svg", **options):
        save(critical_difference(comparison, **options), tmp_path / name)
        return tmp_path / name

    return draw


def test_says_all_that_a_stranger_needs(drawn):
    comparison = make_comparison(alpha=0.01)
    text = words(drawn(comparison, about="noise"))
    same_text(text)
    assert f"Mean rank over N = 12 sets; a set is {A_SET}." in text
    same_text(text)
    assert f"CD = {comparison.critical_difference:.2f} (Nemenyi, \N{GREEK SMALL LETTER ALPHA} = 0.01)" in text
    for name, rank in zip(comparison.monitors, comparison.mean_ranks, strict=True):
        assert f"{name}  {rank:.2f}" in text or f"{rank:.2f}  {name}" in text
    same_text(text)
    assert "Iman and Davenport" in text
    assert "counts as 0" not in text


def test_lower_is_better_is_said(drawn):
    same_text(words(drawn(make_comparison(higher_is_better=False))))


def test_undefined_values_have_a_footnote(drawn):
    same_text(words(drawn(make_comparison(zeroed=3))))


def test_says_where_no_difference_is_shown(drawn):
    comparison = make_comparison(spread=0.0)
    assert not comparison.any_differ
    same_text(words(drawn(comparison)))


def test_too_few_sets_join_all_and_are_said(drawn):
    """By themselves Friedman's test and the critical difference would tell the first from the last."""
    comparison = make_comparison(k=3, n=3, spread=9.0)
    assert comparison.mean_ranks[-1] - comparison.mean_ranks[0] > comparison.critical_difference
    text = words(drawn(comparison))
    same_text(text)
    assert "the monitors differ" not in text


@pytest.mark.parametrize(("suffix", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("PDF", b"%PDF")])
def test_writes_by_suffix_and_the_same_twice(drawn, suffix, begins):
    comparison = make_comparison()
    one, two = (drawn(comparison, f"{name}.{suffix}").read_bytes() for name in ("one", "two"))
    assert one.startswith(begins)
    assert one == two


def test_the_same_whatever_the_order_of_hashes(drawn, tmp_path):
    """scikit-posthocs draws a bar through a set of names, in an order that differs between interpreters."""
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from test_ranks import *;"
        "save(critical_difference(make_comparison(k=8, spread=1.5)), Path(sys.argv[2]))"
    )
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    arguments = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path / "other.svg")]
    subprocess.run(arguments, check=True, env={**os.environ, "PYTHONHASHSEED": other})
    here = drawn(make_comparison(k=8, spread=1.5))
    assert here.read_bytes() == (tmp_path / "other.svg").read_bytes()


@pytest.mark.parametrize("k", [2, 3, 30])
def test_nothing_is_cut_off(drawn, k):
    """A border of white is left on every side, with names of any length."""
    path = drawn(make_comparison(k=k, n=40, name="outside_the_box_with_a_long_name_"), "cd.png")
    pixels = np.asarray(Image.open(path).convert("L"))
    for edge in (pixels[:10], pixels[-10:], pixels[:, :10], pixels[:, -10:]):
        assert (edge == 255).all()
    assert (pixels < 128).any()


def test_names_are_no_formulas(drawn):
    assert "$a_{1}$" in words(drawn(make_comparison(name="$a_{1}$")))


def test_another_suffix_is_refused(drawn):
    with refused(ParameterError):
        drawn(make_comparison(), "cd.gif")


def test_settings_and_pyplot_are_left_alone(drawn):
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "mine"}):
        large = drawn(make_comparison(), "large.svg").read_bytes()
        assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.hashsalt"]) == (20, "mine")
    assert large == drawn(make_comparison(), "usual.svg").read_bytes()
    assert pyplot.get_fignums() == []


def test_names_of_any_length_and_with_control_characters_stay_names_in_a_page():
    comparison = make_comparison(name="\x1b[31m" + "long" * 40)
    root = fromstring(as_svg(critical_difference(comparison), title="ranks"))
    written = "".join(root.itertext())
    assert "\\x1b[31mlong" in written
    assert "…" in written
    assert float(root.attrib["viewBox"].split()[2]) < 1400
