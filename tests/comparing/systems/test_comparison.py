"""Whole systems compared: by hand, by an independent reader, and how often what is alike is told apart."""

import numpy as np
import pytest
import scipy

from farm.comparing.systems import compare_systems
from farm.comparing.systems.designs import ALONE
from farm.comparing.systems.wording import notes, sentence
from farm.errors import DataError, ExperimentError
from farm.measures.cost import Costs
from farm.testing import make_readouts
from tests.comparing.systems.made_systems import CLASSES, NOTES, make_run
from tests.wording import refused, same_text

PRICES = Costs(wrong=100, cancelled_right=1, cancelled_wrong=2, by_pair={"pedestrian": {"car": 300}})


def by_name(found):
    return {one.design.name: one for one in found.systems}


def test_an_example_by_hand():
    # Two instances without a fault, four under one. Of these the third and the last are predicted wrongly.
    made = make_readouts(
        {
            "mine": {
                "alarm": [False, True, True, True, False, True],
                "decision": [0, -1, 2, -1, 0, 1],
            }
        },
        is_ood=[0, 0, 1, 1, 1, 1],
        label=[0, 1, 0, 1, 0, 2],
        predicted=[0, 1, 2, 1, 0, 0],
        run={"classes": CLASSES, "monitors": [{"name": "mine", "fallback": {"name": "last"}}]},
    )
    found = by_name(compare_systems([made], costs=PRICES, prevalence=0.1))
    # ID: one right and acted upon, one right and cancelled (1). Under the fault: a wrong decision in place of
    # a wrong one (100), a right one cancelled (1), a right one, and a pedestrian taken for a bicycle (100).
    mine, alone = found["mine"], found[ALONE]
    assert mine.hazard.value.value == pytest.approx(1000 * (0.9 * 0 + 0.1 * 2 / 4))
    assert mine.acted.value.value == pytest.approx(1000 * (0.9 * 1 / 2 + 0.1 * 3 / 4))
    assert mine.fallback.value.value == pytest.approx(1000 * 0.1 * 2 / 4)
    assert mine.cost.value.value == pytest.approx(1000 * (0.9 * 1 / 2 + 0.1 * 201 / 4))
    # Alone: a car taken for a pedestrian (100), and a pedestrian taken for a car (300).
    assert alone.hazard.value.value == pytest.approx(1000 * 0.1 * 2 / 4)
    assert (alone.acted.value.value, alone.fallback.value.value) == (pytest.approx(1000), 0)
    assert alone.cost.value.value == pytest.approx(1000 * 0.1 * 400 / 4)
    (pair,) = (each for each in compare_systems([made], costs=PRICES).pairs if each.measure == "cost")
    assert {pair.first, pair.second} == {"mine", ALONE}
    assert abs(pair.difference.value.value) == pytest.approx(1000 * (400 - 202) / 6)
    assert pair.p.reason == "the instances of 'no fault' are of 2 tracks; an interval needs at least 5"


def recomputed(runs, monitor, prevalence):
    """Read hazards, availability, fallback use and costs off readouts row by row."""
    rows = []
    for number, run in enumerate(runs):
        said = run.alarms[run.alarms["monitor"] == monitor].set_index("position")
        for one in run.instances.to_dict("records"):
            act = one["predicted"] if monitor is None else int(said.loc[one["position"], "decision"])
            cancelled = monitor is not None and bool(said.loc[one["position"], "cancelled"])
            label = CLASSES[one["label"]]
            if act == -1:
                cost = 1 if one["predicted"] == one["label"] else 2
            elif act == one["label"]:
                cost = 0
            else:
                cost = 300 if (label, CLASSES[act]) == ("pedestrian", "car") else 100
            values = (act not in (-1, one["label"]), act != -1, cancelled and act != -1, cost)
            rows.append((number, one["faultload"] if one["is_ood"] else None, values))

    def mean(of):
        return np.mean([values for number, fault, values in rows if of(number, fault)], axis=0)

    numbers = range(len(runs))
    if prevalence is None:
        return 1000 * np.mean([mean(lambda run, fault, own=own: run == own) for own in numbers], axis=0)
    without = np.mean(
        [mean(lambda run, fault, own=own: run == own and fault is None) for own in numbers], axis=0
    )
    by_fault = {}
    for number, fault in dict.fromkeys((number, fault) for number, fault, _ in rows if fault is not None):
        own = mean(lambda run, name, pair=(number, fault): (run, name) == pair)
        by_fault.setdefault(fault, []).append(own)
    under = np.mean([np.mean(own, axis=0) for own in by_fault.values()], axis=0)
    return 1000 * ((1 - prevalence) * without + prevalence * under)


@pytest.mark.parametrize("prevalence", [None, 0.0, 0.01, 1.0])
def test_an_independent_reader_of_the_readouts_finds_the_same(prevalence):
    runs = [make_run(0), make_run(1, ("fog",)), make_run(2, ("fog", "rain", "snow"), n_ood=30)]
    found = compare_systems(runs, costs=PRICES, prevalence=prevalence, replicates=50)
    assert [one.design.name for one in found.systems][-1] == max(
        found.systems, key=lambda one: one.cost.value.value
    ).design.name
    for one in found.systems:
        told = [one.value(name).value.value for name in ("hazard", "acted", "fallback", "cost")]
        assert told == pytest.approx(recomputed(runs, one.design.monitor, prevalence))
    for each in found.pairs:
        first, second = (by_name(found)[name].value(each.measure) for name in (each.first, each.second))
        assert each.difference.value.value == pytest.approx(first.value.value - second.value.value)


def test_at_no_prevalence_there_are_no_faults_and_at_all_nothing_else():
    runs = [make_run(0), make_run(1)]
    for prevalence, only in ((0.0, ["no fault"]), (1.0, ["fog 3", "snow 3"])):
        for one in compare_systems(runs, costs=PRICES, prevalence=prevalence, replicates=50).systems:
            for name in ("hazard", "cost"):
                alone = [one.by_fault[fault][name].value.value for fault in only]
                assert one.value(name).value.value == pytest.approx(np.mean(alone))


def test_each_fault_s_share_follows_from_its_instances_alone():
    (run,) = runs = [make_run(0)]
    found = by_name(compare_systems(runs, replicates=50))
    said = run.alarms[run.alarms["monitor"] == "boxes"]["decision"].to_numpy()
    wrong = (said != -1) & (said != run.instances["label"].to_numpy())
    fog = (run.instances["faultload"] == "fog").to_numpy()
    assert found["boxes"].by_fault["fog 3"]["hazard"].value.value == pytest.approx(1000 * wrong[fog].mean())


def test_single_instances_have_the_intervals_and_p_of_exact_tests():
    n, wrong = 200, np.zeros(200, dtype=bool)
    wrong[:12] = True
    run = make_readouts({"one": wrong & (np.arange(n) >= 2), "other": np.arange(n) == 5}, wrong=wrong)
    found = compare_systems([run], replicates=20_000)
    first, other = by_name(found)["one"], by_name(found)["other"]
    # Three systems: the intervals hold together.
    exact = scipy.stats.binomtest(2, n).proportion_ci(1 - 0.05 / 3, "exact")
    assert (first.hazard.low.value, first.hazard.high.value) == pytest.approx(
        (1000 * exact.low, 1000 * exact.high), rel=0.06
    )
    # Other is wrong where one is not at 9 instances, and the other way round nowhere.
    raw = scipy.stats.binomtest(0, 9, 0.5).pvalue
    pair = found.pair("hazard", "one", "other")
    assert other.hazard.value.value == 1000 * 11 / n
    assert pair.p.value == pytest.approx(2 * raw, rel=0.6)  # 78 of 20,000 draws; second of three p values
    assert pair.p.value < 0.05


def test_what_is_certain_has_no_width_and_what_was_not_seen_has():
    run = make_readouts(
        {"mine": np.zeros(100, dtype=bool)},
        run={"monitors": [{"name": "mine", "fallback": {"name": "none"}}]},
    )
    found = by_name(compare_systems([run]))
    alone, mine = found[ALONE], found["mine"]
    assert [alone.acted.low.value, alone.acted.high.value] == [1000, 1000]
    assert mine.fallback.high.value == 0
    assert (mine.hazard.value.value, mine.acted.low.value < 975, mine.hazard.high.value > 30) == (
        0,
        True,
        True,
    )


def test_where_no_decisions_are_kept_there_is_no_fallback():
    mine = by_name(compare_systems([make_readouts({"mine": np.arange(100) % 9 == 0})]))["mine"]
    assert (mine.design.policy, mine.design.fallback, mine.fallback.high.value) == (None, "none", 0)


def test_one_name_with_two_policies_is_two_systems_and_with_two_classifiers_as_well():
    latched = [NOTES[0], {**NOTES[1], "policy": {"name": "latching", "within": "track"}}]
    found = compare_systems([make_run(0), make_run(1, notes=latched)], replicates=50)
    assert [name for name in sorted(by_name(found)) if "knn" in name] == [
        "knn (policy cancel)",
        "knn (policy latching (within track))",
    ]
    assert not any("knn" in warning for warning in found.warnings)
    other = make_run(1, classifier={"name": "vgg"})
    found = compare_systems([make_run(0), other], replicates=50)
    assert {name for name in by_name(found) if ALONE in name} == {f"{ALONE} (lenet)", f"{ALONE} (vgg)"}
    assert found.pair("hazard", "boxes (lenet)", "boxes (vgg)").p.defined


def test_systems_without_all_faults_or_that_failed_have_no_value_and_are_told():
    elsewhere = make_run(1, ("rain",), notes=NOTES[:1])
    found = compare_systems([make_run(0), elsewhere], replicates=50)
    knn = by_name(found)["knn"]
    assert found.systems[-1] is knn
    assert (knn.hazard.value.reason, knn.by_fault) == ("not run on rain 3", {})
    assert "knn: not run on rain 3" in found.warnings
    failed = [NOTES[0], {**NOTES[1], "failure": "singular"}]
    found = compare_systems([make_run(0, notes=failed)], replicates=50)
    assert "knn: failed (singular)" in found.warnings
    found = compare_systems([make_run(0), make_run(1, ("fog",), classifier={"name": "vgg"})])
    assert by_name(found)[f"{ALONE} (vgg)"].hazard.value.reason == "not run on snow 3"
    assert found.pair("hazard", "knn (lenet)", f"{ALONE} (lenet)").p.value < 0.05
    with refused(DataError):
        compare_systems([make_run(0, ("fog",)), make_run(1, ("rain",), classifier={"name": "vgg"})])


def test_only_those_named_are_compared_and_who_knows_nothing_only_if_named():
    found = compare_systems([make_run()], replicates=50)
    assert (set(by_name(found)), found.aside) == ({"boxes", "knn", ALONE}, ("never",))
    found = compare_systems([make_run()], only=["never"], replicates=2000)
    never = by_name(found)["never"]
    assert found.aside == ()
    assert never.hazard == by_name(found)[ALONE].hazard
    assert found.pairs[0].p.value == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"prevalence": 1.01},
        {"prevalence": -0.1},
        {"prevalence": float("nan")},
        {"alpha": 1.0},
        {"only": ["bxoes"]},
        {"replicates": 0},
    ],
    ids=str,
)
def test_refuses(options):
    with refused(ExperimentError):
        compare_systems([make_run()], **options)


def test_refuses_what_is_in_none_of_the_runs():
    right = make_readouts({"mine": np.zeros(20, dtype=bool)})
    with refused(DataError):
        compare_systems([right], prevalence=0.5)
    with refused(DataError):
        compare_systems([make_readouts({"mine": np.zeros(20, dtype=bool)}, is_ood=True)], prevalence=0.5)
    assert compare_systems([right], prevalence=0).systems
    unranked = make_run(notes=[{**NOTES[0], "ranked": False}])
    (warning,) = compare_systems([unranked], replicates=50).warnings
    assert warning == "boxes is not ranked by the run itself and left out"
    with refused(ExperimentError):
        compare_systems([unranked], only=["boxes"])
    with refused(DataError):
        compare_systems([make_readouts({"mine": np.zeros(20, dtype=bool)}, label=None)])


def test_what_remembers_is_an_approximation_where_faults_come_between():
    found = compare_systems([make_run()], prevalence=0.01)
    assert found.approximate == ("boxes",)
    same_text("\n".join([sentence(found), *notes(found)]))
    assert not compare_systems([make_run()], replicates=50).approximate
    assert not compare_systems([make_run()], prevalence=0.01, only=["knn"], replicates=50).approximate
    last = make_readouts(
        {"boxes": np.zeros(40, dtype=bool)}, is_ood=np.arange(40) >= 20, run={"monitors": [NOTES[0]]}
    )
    assert not compare_systems([last], prevalence=0.01, replicates=50).approximate


def test_shares_of_faults_that_differ_are_told_unless_they_are_mixed():
    runs = [make_run(0), make_run(1, n_ood=30)]
    (warning,) = compare_systems(runs, replicates=50).warnings
    same_text(warning)
    assert len(compare_systems(runs, only=["knn"], prevalence=0.1, replicates=50).warnings) == 0


def test_frames_of_a_track_are_not_taken_for_new_evidence():
    def run(track):
        n = 600
        wrong = (np.arange(n) // 10) % 6 == 0
        return make_readouts({"mine": wrong & (np.arange(n) < 300)}, wrong=wrong, track=track)

    by_track, single = (
        compare_systems([run(track)]).pairs[0] for track in (np.arange(600) // 10, np.arange(600))
    )
    assert by_track.difference.value == single.difference.value
    assert (by_track.p.value > 0.05, single.p.value < 0.01) == (True, True)


def alike(seed, longest):
    """Make a stream of three systems that are worth the same, in tracks of which some are bad."""
    rng = np.random.default_rng(seed)
    track = np.repeat(np.arange(80), rng.integers(1, longest, 80))
    is_ood = track >= 40
    bad = rng.beta(0.4, 1.6, 80)[track]
    wrong = rng.random(len(track)) < np.where(is_ood, bad, bad / 4)
    said = {}
    for name in ("a", "b", "c"):
        keen = rng.beta(0.5, 0.5, 80)[track]
        said[name] = rng.random(len(track)) < np.where(wrong, keen, keen / 10)
    return make_readouts(said, wrong=wrong, is_ood=is_ood, track=track)


@pytest.mark.parametrize(("longest", "prevalence"), [(7, 0.1), (30, 0.5)])
def test_what_is_alike_is_rarely_called_cheaper(longest, prevalence):
    # The first would notice if no unseen track were weighed (20 %), the second if frames were (43 %).
    prices = Costs(wrong=20, cancelled_right=1, cancelled_wrong=2)
    told = 0
    for seed in range(100):
        run = alike(seed, longest)
        found = compare_systems([run], costs=prices, prevalence=prevalence, replicates=600, seed=seed)
        own = [one for one in found.pairs if one.measure == "cost" and ALONE not in (one.first, one.second)]
        told += any(each.p.value < 0.05 for each in own)
    # At a chance of 5 %, more than 10 of 100 are told apart once in a hundred times.
    assert told <= 10
