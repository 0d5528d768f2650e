"""Sentences, word by word, on tables of which the answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from farm.comparing import Measured, Section, Standing
from farm.comparing.conclusions import conclude, of_ranks, of_streams
from farm.errors import DataError
from farm.measures import Measure, undefined
from farm.statistics.ranks import compare_ranks
from farm.statistics.table import FullTable, Undefined
from tests.comparing.made_runs import hand_made_set
from tests.statistics.references import holm_by_statsmodels
from tests.wording import refused, same_text

MCC, HAZARD = Measured("overall.mcc", True), Measured("overall.fnr", False)


def sentence(columns, category="noise", *, higher_is_better=True, alpha=0.05, control=None):
    values = np.array(list(columns.values())).T
    table = FullTable(
        "overall.mcc",
        tuple(f"set {i}" for i in range(len(values))),
        tuple(columns),
        tuple(map(tuple, values.tolist())),
        higher_is_better,
    )
    return of_ranks(category, compare_ranks(table, alpha, control))


def around(level, n, seed, spread=0.02):
    return level + spread * np.random.default_rng(seed).normal(size=n)


def p_of_pair(columns, one, other):
    """Give Holm's p of one pair by scipy and statsmodels."""
    names = list(columns)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    raw = [stats.wilcoxon(columns[a], columns[b], method="exact").pvalue for a, b in pairs]
    return holm_by_statsmodels(raw)[pairs.index((one, other))]


def test_two_that_are_alike():
    columns = {"oob": around(0.5, 20, 0), "oob-pca": around(0.5, 20, 3)}
    p = stats.wilcoxon(*columns.values(), method="exact").pvalue
    assert sentence(columns) == f"On noise, oob and oob-pca cannot be told apart (n = 20 sets, p = {p:.2f})."


def test_two_that_are_alike_and_one_that_is_worse():
    columns = {"oob": around(0.5, 20, 0), "oob-pca": around(0.5, 20, 3), "odin": around(0.2, 20, 2)}
    p = p_of_pair(columns, "oob", "oob-pca")
    assert sentence(columns) == (
        f"On noise, oob and oob-pca cannot be told apart (n = 20 sets, p = {p:.2f}); odin is worse than both "
        "(largest p < 0.001)."
    )


def test_all_are_worse():
    columns = {"oob": around(0.5, 12, 0), "odin": around(0.3, 12, 1), "random": around(0.0, 12, 2)}
    worst = max(p_of_pair(columns, "oob", m) for m in ("odin", "random"))
    assert worst == pytest.approx(3 * 2 / 2**12)
    same_text(sentence(columns))
    del columns["random"]
    same_text(sentence(columns))


def test_nobody_can_be_told_from_the_best():
    columns = {name: around(0.5, 15, i) for i, name in enumerate(["a", "b", "c", "d"])}
    told = sentence(columns)
    best = compare_best(columns)
    smallest = min(p_of_pair(columns, *sorted((best, other))) for other in columns if other != best)
    assert told == (
        f"On noise, no other monitor can be told from {best}, whose mean rank is best (n = 15 sets, smallest "
        f"p {'> 0.99' if smallest > 0.99 else f'= {smallest:.2f}'})."
    )


def compare_best(columns):
    ranks = stats.rankdata(-np.array(list(columns.values())), axis=0).mean(axis=1)
    return list(columns)[int(np.argmin(ranks))]


def test_several_are_like_the_best_and_several_are_worse():
    columns = {name: around(0.5, 20, i) for i, name in enumerate(["a", "b", "c"])}
    columns |= {"x": around(0.2, 20, 7), "y": around(0.1, 20, 8)}
    best = compare_best({name: columns[name] for name in "abc"})
    like = [name for name in "abc" if name != best]
    told = sentence(columns)
    same_text(told)
    assert f"can be told from {best}, whose mean rank is best (n = 20 sets, smallest p = " in told
    assert set(told.split("none of ")[1].split(" can be")[0].split(" and ")) == set(like)
    assert told.endswith(f"; x and y are worse than {best} (largest p < 0.001).")


def test_worse_than_the_best_alone():
    """The second is like the best and like the third, so that the third is worse than the best only."""
    n = 20
    best, third = np.full(n, 0.5), np.full(n, 0.4) - 0.001 * np.arange(n)
    second = np.where(np.arange(n) % 2, 0.505, 0.35) + 0.001 * np.arange(n)
    told = sentence({"best": best, "second": second, "third": third})
    same_text(told)


def test_two_that_disagree_with_the_mean_ranks():
    """`b` beats `a` on 16 of 20 sets; on 4 so many stand between that `a` has the better mean rank."""
    n, lost = 20, np.arange(20) < 4
    a = np.full(n, 0.5)
    b = np.where(lost, 0.499, 0.6 + 0.001 * np.arange(n))
    between = {f"m{i}": np.where(lost, 0.4995, 0.2 + 0.001 * i) for i in range(8)}
    told = sentence({"a": a, "b": b, **between})
    same_text(told)
    assert "b is worse" not in told
    same_text(told)


def test_lower_is_better():
    columns = {"oob": around(0.5, 12, 0), "odin": around(0.3, 12, 1)}
    same_text(sentence(columns, higher_is_better=False))


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_beside_a_control_who_is_better_and_who_is_worse(higher_is_better):
    sign = 1 if higher_is_better else -1
    columns = {"oob": around(0.5, 20, 0), "max-softmax": around(0.3, 20, 1), "odin": around(0.3, 20, 5)}
    columns |= {"random": around(0.0, 20, 3), "always": around(-0.1, 20, 4)}
    columns = {name: sign * values for name, values in columns.items()}
    told = sentence(columns, control="max-softmax", higher_is_better=higher_is_better)
    raw = [
        stats.wilcoxon(columns["max-softmax"], columns[m], method="exact").pvalue
        for m in columns
        if m != "max-softmax"
    ]
    p = dict(zip((m for m in columns if m != "max-softmax"), holm_by_statsmodels(raw), strict=True))
    assert p["odin"] > 0.05
    assert told == (
        "On noise (n = 20 sets): oob is better than max-softmax (p < 0.001); random and always are worse "
        f"than max-softmax (largest p < 0.001); odin cannot be told from max-softmax (p = {p['odin']:.2f})."
    )


def test_beside_a_control_too_few_sets_are_said_to_be_too_few():
    columns = {f"m{i}": np.linspace(0.1, 0.2, 6) - i for i in range(4)}
    same_text(sentence(columns, control="m1"))
    enough = {name: np.linspace(0.1, 0.2, 7) - i for i, name in enumerate(columns)}
    same_text(sentence(enough, control="m1"))


def test_ties_everywhere():
    same = np.linspace(0.1, 0.9, 10)
    same_text(sentence({"one": same, "other": same}))


@pytest.mark.parametrize(("k", "n", "needed"), [(2, 5, 6), (2, 2, 6), (3, 6, 7), (8, 10, 11)])
def test_too_few_sets_are_said_to_be_too_few(k, n, needed):
    columns = {f"m{i}": np.linspace(0.1, 0.2, n) - i for i in range(k)}
    pairs = k * (k - 1) // 2
    whom = "two monitors" if k == 2 else f"any two of {k} monitors"
    told = sentence(columns)
    assert told.startswith(
        f"On noise, n = {n} sets are too few to tell {whom} apart, which takes at least {needed}; m0 has the "
        "best mean rank ("
    )
    assert pairs * 2 * 0.5**n >= 0.05 > pairs * 2 * 0.5**needed
    enough = {name: np.linspace(0.1, 0.2, needed) - i for i, name in enumerate(columns)}
    assert "m0 is better than" in sentence(enough), "and with that many it can be"


def test_alpha_decides():
    columns = {"a": np.arange(1, 7) / 10, "b": np.zeros(6)}
    same_text(sentence(columns))
    same_text(sentence(columns, alpha=0.01))


def test_many_monitors_are_counted():
    columns = {"best": np.full(25, 0.9)} | {f"m{i}": around(0.1 + i / 50, 25, i) for i in range(8)}
    told = sentence(columns | {"rival": around(0.9, 25, 9, 0.1)})
    same_text(told)


@pytest.mark.parametrize(
    ("category", "begins"),
    [
        ("shift", "On shift,"),
        ("no fault", "Without faults,"),
        ("all sets", "Over all sets,"),
        ("no category", "On faults of no category,"),
    ],
)
def test_how_a_sentence_begins(category, begins):
    assert sentence({"a": np.arange(6), "b": np.arange(6)}, category).startswith(begins)


def streams(standings, n_sets=1, n=5066):
    return Section("noise", tuple("abcdef"[:n_sets]), n_sets, n, 100, tuple(standings), ())


def stands(monitor, value=0.5, p=None, gap=None):
    if gap:
        return Standing(monitor, *[undefined(gap)] * 4, None, gap)
    end = Measure(0.5)
    known = undefined("nothing varies") if p is None else Measure(p)
    return Standing(monitor, Measure(value), end, end, known, None if p is None else p >= 0.05)


BEST = stands("oob", 0.9)


@pytest.mark.parametrize(
    ("standings", "told"),
    [
        ([BEST, stands("odin", p=0.001)], "oob comes first; odin is worse (p = 0.001)"),
        ([BEST, stands("odin", p=0.41)], "oob comes first; odin cannot be told from it (p = 0.41)"),
        (
            [
                BEST,
                stands("pca", p=0.41),
                stands("max", p=0.07),
                stands("odin", p=0.012),
                stands("x", p=1e-9),
            ],
            "oob comes first; pca and max cannot be told from it (smallest p = 0.070); odin and x are worse "
            "(largest p = 0.012)",
        ),
        (
            [BEST, stands("odin", p=0.001), stands("never")],
            "oob comes first; odin is worse (p = 0.001); how surely never is worse is not known",
        ),
        (
            [BEST, stands("odin", p=0.001), stands("never", gap="undefined"), stands("x", gap="failed")],
            "oob comes first; odin is worse (p = 0.001); never and x have no value",
        ),
        (
            [BEST, stands("odin"), stands("x", gap="failed")],
            "oob comes first, but how surely is not known (nothing varies); x has no value",
        ),
    ],
)
def test_a_single_set_is_decided_by_its_instances(standings, told):
    found = of_streams("noise", streams(standings), 0.05)
    assert found == f"On noise, there is one set, so that its instances decide (n = 5,066): {told}."


def test_sets_that_cannot_be_ranked_leave_it_to_their_instances():
    told = of_streams("shift", streams([BEST, stands("odin", p=0.5)], n_sets=3), 0.05)
    same_text(told)


def beside(standings, control="soft"):
    return of_streams("noise", replace(streams(standings), control=control), 0.05)


def test_beside_a_control_the_instances_tell_who_is_better():
    soft = stands("soft", 0.5)
    better, worse, like = stands("oob", 0.7, p=0.01), stands("odin", 0.2, p=0.02), stands("pca", 0.6, p=0.3)
    same_text(beside([better, like, soft, worse]))
    same_text(beside([better, soft, stands("x", 0.4), stands("never", gap="undefined")]))
    same_text(beside([stands("x", 0.6), soft]))
    same_text(beside([better, stands("soft", gap="failed"), worse]))
    same_text(beside([soft]))


def test_nothing_to_compare():
    same_text(of_streams("noise", streams([stands("x", gap="failed")]), 0.05))
    same_text(of_streams("noise", streams([BEST, stands("x", gap="failed")]), 0.05))


def concluded(sets, measure=MCC, how="zero", monitors=("good", "poor", "never"), n_sets=None, control=None):
    section = replace(streams([BEST, stands("odin", p=0.5)], n_sets or len(sets)), control=control)
    asked = {"alpha": 0.05, "undefined": how, "control": control}
    return conclude("noise", sets, measure, monitors, streams=lambda: section, **asked)


def test_a_control_that_has_no_part_in_ranks_leaves_none():
    sets = [hand_made_set(f"s{i}", {"good": 0.5 + i / 50, "poor": 0.1}) for i in range(8)]
    found = concluded(sets, monitors=("good", "poor", "gone"), control="gone")
    assert isinstance(found.ranks, Undefined)
    same_text(found.ranks.reason)
    same_text(found.sentence)
    same_text(found.left_out)
    there = concluded(sets, monitors=("good", "poor", "gone"), control="poor")
    same_text(there.sentence)


def sets_with_gaps(n=8, gaps=3):
    return [
        hand_made_set(
            f"s{i}", {"good": 0.5 + i / 50, "poor": 0.1 - i / 50, "never": None if i < gaps else -0.5}
        )
        for i in range(n)
    ]


def test_undefined_counts_as_zero_and_is_counted():
    found = concluded(sets_with_gaps())
    same_text(found.zeroed)
    assert found.left_out == ()
    assert found.ranks.n_sets == 8
    # By hand: 0 against 0.10, 0.08 and 0.06 is last on all sets.
    assert found.ranks.mean_ranks == (1.0, 2.0, 3.0)
    same_text(found.sentence)


def test_several_that_count_as_zero_share_a_sentence():
    values = {"good": 0.5, "never": None, "always": None}
    found = concluded([hand_made_set(f"s{i}", values) for i in range(6)], monitors=tuple(values))
    same_text(found.zeroed)


def test_undefined_is_left_out_where_asked_for():
    found = concluded(sets_with_gaps(), how="drop")
    assert found.ranks.n_sets == 5
    assert found.zeroed == ()
    (told,) = found.left_out
    same_text(told)
    found = concluded(sets_with_gaps(gaps=7), how="drop", n_sets=6)
    assert isinstance(found.ranks, Undefined)
    same_text(found.sentence)
    assert len(found.left_out) == 1


def test_undefined_is_an_error_where_asked_for():
    with refused(DataError):
        concluded(sets_with_gaps(), how="error")
    assert concluded(sets_with_gaps(gaps=0), how="error").ranks.n_sets == 8


def test_where_lower_is_better_undefined_never_counts_as_zero():
    values = [{"good": 0.1 + i / 50, "never": None if i < 2 else 0.9} for i in range(8)]
    sets = [hand_made_set(f"s{i}", each, measure="fnr") for i, each in enumerate(values)]
    found = concluded(sets, HAZARD, monitors=("good", "never"))
    assert found.ranks.n_sets == 6
    same_text(found.left_out[-1])
    same_text(found.sentence)
    assert concluded(sets[2:], HAZARD, monitors=("good", "never")).left_out == ()


def test_a_missing_cell_leaves_its_set_out_and_a_missing_monitor_itself():
    sets = sets_with_gaps(gaps=0)
    sets[3] = hand_made_set("s3", {"good": 0.5, "poor": 0.1})
    sets[4] = hand_made_set("s4", {"good": 0.5, "poor": 0.1, "never": 0.0}, failures=["poor"])
    found = concluded(sets, monitors=("good", "poor", "never", "gone"))
    assert found.ranks.n_sets == 6
    assert found.ranks.monitors == ("good", "poor", "never")
    same_text(found.left_out)


def test_a_single_set_is_not_ranked_and_nothing_in_it_counts_as_zero():
    found = concluded(sets_with_gaps(n=1))
    assert isinstance(found.ranks, Undefined)
    assert (found.left_out, found.zeroed) == ((), ())
    same_text(found.sentence)


def test_resampling_is_not_asked_for_where_ranks_tell():
    def never():
        raise AssertionError

    found = conclude(
        "noise", sets_with_gaps(), MCC, ["good", "poor"], alpha=0.05, undefined="zero", streams=never
    )
    assert not isinstance(found.ranks, Undefined)
