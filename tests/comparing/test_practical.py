"""How probable a difference that matters is: told where it is asked for, and of the best monitor."""

import numpy as np
import pytest

from farm.cli import main
from farm.comparing import compare_runs
from farm.errors import ExperimentError
from farm.report.comparison import render_comparison
from farm.statistics.bayes import practical
from farm.statistics.table import FullTable
from tests.comparing.made_runs import make_run
from tests.wording import refused, same_text


def found(rope):
    return compare_runs([make_run()], measure="specific.fnr", rope=rope, replicates=50)


def test_nothing_is_said_unless_it_is_asked_for():
    assert not any(one.practical for one in found(None).conclusions)


def test_the_best_is_compared_with_each_other_monitor():
    every = found(0.05).conclusions[-1]
    assert len(every.practical) == 2
    assert all(told.startswith("good is better than ") for told in every.practical)
    assert all("(n = 3 sets)" in told for told in every.practical)


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_numbers_are_those_of_the_test_whichever_name_comes_first(higher_is_better):
    from farm.comparing.conclusions import _practical

    values = np.array([[0.1, 0.5], [0.2, 0.5], [0.3, 0.6], [0.2, 0.7]])
    table = FullTable("m", tuple("abcd"), ("x", "y"), tuple(map(tuple, values.tolist())), higher_is_better)
    (pair,) = practical(table, "x", 0.1, 0)
    best, other = ("y", "x") if higher_is_better else ("x", "y")
    better = pair.worse if higher_is_better else pair.better
    (told,) = _practical(table, best, 0.1, 0)
    assert told.startswith(f"{best} is better than {other} by more than 0.1 with probability {better:.2f}")
    assert better > 0.9


def test_it_is_rendered_and_explained():
    comparison = found(0.05)
    for style in ("table", "markdown", "json"):
        text = " ".join(render_comparison(comparison, style, width=100).split())
        same_text(text)
    assert "prior" in render_comparison(comparison, "table")
    assert "prior" not in render_comparison(found(None), "table")


def test_a_negative_region_is_refused(tmp_path, capsys):
    with refused(ExperimentError):
        found(-1)
    make_run().save(tmp_path / "run")
    assert main(["compare", str(tmp_path / "run"), "--rope", "nan"]) == 2
    assert "--rope is nan" in capsys.readouterr().err
