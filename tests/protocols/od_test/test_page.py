"""The page of an OD-test: what it says, and that it says no more than was found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from farm.protocols.od_test import wording
from farm.protocols.od_test.page import page
from farm.protocols.od_test.results import Results
from farm.protocols.od_test.summary import MeanAccuracy, mean_accuracies, optimism_gaps, significance
from farm.report.cells import interval
from farm.report.page.book import FigureBook
from farm.statistics.ranks import RankComparison
from tests.protocols.od_test.made_results import HOSTILE, METHODS, made_results, made_samples, made_spec
from tests.report.page.test_html import Parsed
from tests.report.page.test_page import ids, section, text


def said(results: Results, name: str) -> str:
    return text(section(page(results), name))


def test_sections_are_there_and_links_lead_somewhere() -> None:
    whole = page(made_results(samples=(made_samples(),)))
    names = ["answer", "optimism", "sources", "networks", "samples", "tests", "triplets", "method"]
    assert re.findall(r'<section id="([\w-]+)">', whole) == names
    known = ids(whole)
    assert len(known) == len(set(known))
    assert {str(a["href"])[1:] for name, a in Parsed(whole).tags if name == "a"} <= set(known)
    assert whole.count("<svg") == 3
    assert "\0" not in whole


def test_figures_are_written_beside_the_page(tmp_path: Path) -> None:
    page(made_results(), FigureBook(tmp_path))
    assert {path.stem for path in tmp_path.iterdir()} == {
        "mean-accuracies",
        "optimism",
        "accuracies-by-source",
    }


def test_the_answer_names_the_highest_mean_and_never_a_best() -> None:
    results = made_results()
    top = mean_accuracies(results)[0]
    told = said(results, "answer")
    assert f"{top.title} has the highest mean accuracy over all triplets: {top.mean:.3f}" in told
    assert f"({wording.OFTEN} {interval(top.low, top.high, 3)}, 36 triplets)" in told
    assert f"{top.mean - 0.5:.3f} above chance (0.5), and its interval lies above chance" in told
    gap = optimism_gaps(results)[0]
    assert f"The largest gap is that of {gap.title}" in told
    assert "no p-value is given: 3 source sets are fewer than 5" in told
    assert "best" not in told.replace("were the best on each", "")


def test_tables_hold_every_mean() -> None:
    results = made_results()
    for one in mean_accuracies(results):
        numbers = "".join(f"{number:.3f}" for number in (one.mean, one.low, one.high))
        assert f"{one.title}{numbers}{one.n}" in said(results, "answer").replace(" ", "")


def test_optimism_says_how_to_switch_it_on() -> None:
    plain = made_results(made_spec())
    assert "optimistic: true in the file switches that on" in said(plain, "optimism")
    assert "gap" not in said(plain, "answer")
    asked = made_results()
    told = said(replace(asked, frame=asked.honest), "optimism")
    assert "no method has results both" in told
    assert "optimistic: true" not in told


def test_no_gain_on_the_same_set_is_no_gap() -> None:
    results = made_results()
    frame = results.frame.assign(accuracy=0.6)
    assert "No method has a higher accuracy on the set" in said(replace(results, frame=frame), "answer")


def test_enough_sources_are_tested_and_only_what_differs_is_said_to() -> None:
    two: list[dict[str, Any]] = [{**METHODS[0], "networks": "VGG"}, {**METHODS[1], "networks": "VGG"}]
    apart = made_results(made_spec(8, methods=two))
    found = significance(apart)
    assert isinstance(found, RankComparison)
    assert found.any_differ
    told = said(apart, "tests")
    assert "The methods differ over 8 source sets" in told
    assert "PbThreshold/VGG, of the best mean rank, is better than BinClass/VGG." in told
    alike = replace(apart, frame=apart.frame.assign(accuracy=0.7))
    assert "differ over 8 source sets is not told" in said(alike, "tests")
    near = made_results(made_spec(8, methods=two), skill={"PbThreshold": 0.65})
    assert "No difference between the methods is shown over 8 source sets" in said(near, "tests")


def test_too_few_sources_for_so_many_methods_are_said_to_be() -> None:
    told = said(made_results(made_spec(6)), "answer")
    assert "Whether methods differ is not tested: n = 6 sets are too few" in told


def test_a_single_source_and_a_single_result() -> None:
    one = made_results(made_spec(1))
    assert "There is one source set" in said(one, "sources")
    alone = replace(one, frame=one.frame.iloc[:1])
    told = said(alone, "answer")
    assert "is the only method; its mean accuracy is" in told
    assert "(1 triplet, so that there is no interval)" in told
    assert "one source set gives no interval" in told


def test_what_is_missing_is_said_before_means_are_compared() -> None:
    results = made_results()
    fewer = replace(results, frame=results.frame.iloc[5:], failures={"singular matrix": 4}, missing=1)
    told = said(fewer, "answer")
    assert "PbThreshold/VGG: 31 of 36 results" in told
    assert "over all triplets:" not in told
    assert told.index("over the triplets that are there") < told.index("Not all results are there")
    method = said(fewer, "method")
    assert "singular matrix (in 4 cells)" in method
    assert "1 cell is not there yet" in method
    whole = said(results, "method")
    assert "No method failed." in whole
    assert "No cell is missing." in whole


def test_a_method_without_any_result_is_missed() -> None:
    results = made_results()
    left = results.frame[results.frame["method"] != "1-NNSVM"]
    assert list(wording.lacking(replace(results, frame=left))) == ["1-NNSVM: 0 of 36 results"]


def test_what_learns_nothing_from_outliers_has_a_result_a_target() -> None:
    quantile = {"method": "id-quantile", "accept": 0.95}
    methods = [
        *METHODS,
        {"name": "pixelcnn", "as": "PixelCNN++", "networks": "none", "calibration": quantile},
    ]
    results = made_results(made_spec(methods=methods))
    assert list(wording.lacking(results)) == []
    assert "PixelCNN++" in said(results, "triplets")


def test_a_method_that_a_source_lacks_is_left_out_of_the_tests_and_named() -> None:
    results = made_results(made_spec(6))
    gone = (results.frame["method"] == "1-NNSVM") & (results.frame["source"] == "set 2")
    fewer = replace(results, frame=results.frame[~gone])
    assert "Not tested, since not on every source: 1-NNSVM." in said(fewer, "tests")


def test_nothing_but_optimistic_results_is_no_answer() -> None:
    results = made_results()
    told = page(replace(results, frame=results.frame[results.frame["optimistic"]]))
    assert "There is no result yet on a set that a method did not learn from." in text(told)


def test_several_seeds_count_and_a_triplet_is_their_mean() -> None:
    results = made_results(made_spec(1, seeds=[0, 1], methods=[METHODS[2]]))
    first, second = (results.frame.assign(seed=seed, accuracy=value) for seed, value in ((0, 0.6), (1, 0.8)))
    both = replace(results, frame=pd.concat([first, second]))
    assert list(wording.lacking(both)) == []
    assert "0.700" in said(both, "triplets")
    assert "2 seeds" in said(both, "method")


@pytest.mark.parametrize("name", [HOSTILE, '"><img src=x onerror=alert(1)>'])
def test_names_stay_text(name: str) -> None:
    spec = made_spec(
        name=name,
        description=name,
        methods=[{"name": "max-softmax", "as": name}],
        networks=[{"name": "n", "as": name}],
    )
    results = made_results(spec, failures={name: 2}, samples=(replace(made_samples(), network=name),))
    plain = made_results(
        made_spec(methods=METHODS[:1], networks=[{"name": "n", "as": "VGG"}]), samples=(made_samples(),)
    )
    tags, expected = (
        [tag for tag, _ in Parsed(page(one)).tags if tag in ("script", "img")] for one in (results, plain)
    )
    assert tags == expected
    assert not any("onerror" in attributes for _, attributes in Parsed(page(results)).tags)


def test_forty_methods_have_their_tables_folded() -> None:
    methods = [{"name": "max-softmax", "as": f"method {i}"} for i in range(20)]
    whole = page(made_results(made_spec(2, methods=methods)))
    assert whole.count("<details>") == 3
    assert text(whole).count("method 19/Res") >= 4


def test_samples_are_a_sheet_of_sixteen() -> None:
    whole = page(
        made_results(samples=(made_samples(), made_samples("set 2", 3, 3), made_samples("set 3", 0)))
    )
    images = [a for name, a in Parsed(section(whole, "samples")).tags if name == "img"]
    assert [a["alt"] for a in images] == [
        "16 images drawn by PixelCNN++ after it learned set 1",
        "3 images drawn by PixelCNN++ after it learned set 2",
    ]
    assert all(str(a["src"]).startswith("data:image/png;base64,") for a in images)


@pytest.mark.parametrize(
    ("mean", "low", "high", "told"),
    [
        (0.6, 0.45, 0.75, "0.100 above chance (0.5), and its interval holds chance."),
        (0.4, 0.35, 0.45, "0.100 below chance (0.5), and its interval lies below chance."),
        (0.5, 0.45, 0.55, "That is chance (0.5), and its interval holds chance."),
    ],
)
def test_where_an_interval_lies_is_said(mean: float, low: float, high: float, told: str) -> None:
    assert wording.highest([MeanAccuracy("ODIN", "VGG", 5, mean, low, high)]).endswith(told)


def test_two_of_the_same_mean_are_both_named() -> None:
    pair = [MeanAccuracy(name, "", 5, 0.6, 0.5, 0.7) for name in "ab"]
    assert wording.highest(pair).startswith(
        "a and b have the same, highest mean accuracy over all triplets: 0.600 to three digits."
    )
    assert wording.near_chance(pair) == "The intervals of a and b reach chance (0.5) or below."
