"""Loss of confidence: the published example, and one instance after the other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError
from farm.measures.confidence_loss import ConfidenceLoss
from tests.wording import refused

NAN = math.nan


def loss(before, **after):
    return ConfidenceLoss.of(np.array(before, float), {k: np.array(v, float) for k, v in after.items()})


def test_the_published_example():
    """The probability of a car falls from 0.91 to 0.69 under FGSM, which is the worst of three."""
    found = loss([0.91], rotation=[0.85], distortion=[0.8], fgsm=[0.69])
    assert found.mean.value == pytest.approx(-0.22)
    assert [each.worst for each in found.by_transformer.values()] == [0, 0, 1]


def test_a_mean_above_0_means_that_each_made_it_surer():
    found = loss([0.5, 0.5], fog=[0.7, 0.6], rain=[0.6, 0.9])
    assert found.losses == pytest.approx([0.1, 0.1])
    assert found.minimum.value == pytest.approx(0.1)


def test_of_transformers_that_tie_the_first_counts():
    found = loss([0.5, 0.5, 0.5], fog=[0.25, 0.25, 0.5], rain=[0.25, 0.125, NAN], snow=[0.25, 0.5, 0.5])
    assert {name: (each.worst, each.tied) for name, each in found.by_transformer.items()} == {
        "fog": (2, 0),
        "rain": (1, 1),
        "snow": (0, 2),
    }


def test_who_does_not_count_is_told():
    found = loss([0.5, NAN, 0.5, 0.25], fog=[0.25, 0.1, NAN, NAN], rain=[NAN, NAN, NAN, 0.5])
    assert (found.n, found.unanswered, found.untouched) == (2, 1, 1)
    assert found.rows.tolist() == [0, 3]
    assert found.losses.tolist() == [-0.25, 0.25]
    assert found.by_transformer["fog"].n == 1
    assert found.by_transformer["rain"].mean.value == 0.25


@pytest.mark.parametrize(("n", "worst"), [(10, 1), (11, 2), (20, 2), (21, 3)])
def test_the_worst_tenth_is_rounded_up(n, worst):
    after = np.random.default_rng(n).permutation(n) / 100
    found = loss(np.full(n, 0.5), fog=after)
    assert found.worst_tenth.value == pytest.approx(np.arange(worst).mean() / 100 - 0.5)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ([], {"fog": []}, "no instances"),
        ([0.5], {}, "no transformers"),
        ([NAN, NAN], {"fog": [0.1, 0.1]}, "none of the 2 instances has a right answer"),
        ([0.5, 0.5], {"fog": [NAN, NAN]}, "no transformer acted on any of the 2 instances"),
    ],
)
def test_where_nothing_counts_the_reason_is_told(before, after, why):
    found = loss(before, **after)
    assert {found.mean.reason, found.minimum.reason, found.worst_tenth.reason} == {why}
    assert {each.mean.reason for each in found.by_transformer.values()} <= {why}
    assert found.n == 0


def test_one_transformer_that_never_acted_has_no_mean():
    found = loss([0.5], fog=[0.25], rain=[NAN])
    assert found.by_transformer["rain"].mean.reason == "it acted on no instance"
    assert found.mean.value == -0.25


CHANCE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.just(NAN))


@given(st.lists(st.tuples(CHANCE, CHANCE, CHANCE, CHANCE), min_size=1, max_size=30))
def test_one_instance_after_the_other(rows):
    before, *after = np.array(rows).T
    found = loss(before, a=after[0], b=after[1], c=after[2])
    least, worst, tied = [], dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for plain, *transformed in rows:
        changes = {name: new - plain for name, new in zip("abc", transformed, strict=True)}
        known = {name: change for name, change in changes.items() if not math.isnan(change)}
        if known:
            least.append(min(known.values()))
            first, *more = [name for name, change in known.items() if change == least[-1]]
            worst[first] += 1
            for name in more:
                tied[name] += 1
    assert found.losses.tolist() == least
    assert found.n + found.unanswered + found.untouched == len(rows)
    assert {name: (each.worst, each.tied) for name, each in found.by_transformer.items()} == {
        name: (worst[name], tied[name]) for name in "abc"
    }
    if least:
        assert found.mean.value == pytest.approx(sum(least) / len(least))
        assert found.minimum.value == min(least)


def test_what_is_no_probability_is_refused():
    for before, after in (([0.5], {"fog": [1.5]}), ([-0.1], {}), ([0.5, 0.5], {"fog": [0.5]})):
        with refused(DataError):
            loss(before, **after)
