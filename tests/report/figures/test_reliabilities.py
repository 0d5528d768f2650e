"""Reliability diagrams side by side: every point where it belongs, and what is unknown left out."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from farm.report.figures import reliabilities
from tests.report.figures.seen import STRANGE, fits, svg, words

NAN = math.nan


def made(networks=("vanilla", "ensemble"), streams=("none", "fog")):
    rows = [
        (network, stream, said, said / (1 + place))
        for network in networks
        for place, stream in enumerate(streams)
        for said in (0.9, 0.3, 0.6)
    ]
    return pd.DataFrame(rows, columns=["network", "stream", "said", "was"])


def test_a_panel_a_network_a_line_a_stream_and_the_diagonal():
    sheet = reliabilities(made(), x="Confidence", y="Accuracy")
    assert [axes.get_title("left") for axes in sheet.axes] == ["vanilla", "ensemble"]
    for axes in sheet.axes:
        diagonal, none, fog = (line.get_xydata().tolist() for line in axes.lines)
        assert diagonal == [[0, 0], [1, 1]]
        assert none == [[0.3, 0.3], [0.6, 0.6], [0.9, 0.9]]
        assert fog == [[0.3, 0.15], [0.6, 0.3], [0.9, 0.45]]
        assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0, 1))
    assert {"none", "fog", "Confidence", "Accuracy"} <= set(words(sheet))
    assert fits(sheet)


def test_what_has_no_value_is_not_drawn():
    frame = made(["vanilla"])
    frame.loc[frame["stream"] == "fog", "was"] = NAN
    (axes,) = reliabilities(frame, x="Confidence", y="Accuracy").axes
    assert len(axes.lines) == 2
    assert "fog" not in words(axes.figure)


@pytest.mark.parametrize("frame", [made([]), made().assign(was=NAN)])
def test_without_any_value_it_says_so(frame):
    assert words(reliabilities(frame, x="x", y="y", title="Boxes")) == [
        "Boxes",
        "There is nothing to compare with what was said.",
    ]


def test_many_networks_with_strange_names_fit():
    sheet = reliabilities(made(STRANGE, ["none", *STRANGE]), x="Predicted quantile", y="Share below")
    assert len(sheet.axes) == len(STRANGE)
    assert fits(sheet)
    assert svg(sheet) is not None
