"""How much each part of some streams counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.comparing.sets import NO_FAULT
from farm.comparing.systems.weighing import Strata
from farm.judging import JudgedRun
from farm.testing import make_readouts

FAULTS = [None, "fog", "snow"]


def judged(fault, **options):
    is_ood = [one is not None for one in fault]
    made = make_readouts({}, is_ood=is_ood, faultload=np.array(fault, dtype=object), **options)
    return JudgedRun.of(made.instances, made.alarms, made.run)


def by_fault(strata, weights):
    return {
        (strata.each[i].run, strata.each[i].fault): pytest.approx(weight) for i, weight in weights.items()
    }


def test_as_in_the_streams_each_instance_counts_alike_and_each_run():
    runs = [judged([None] * 6 + ["fog"] * 2), judged([None] + ["fog"] + ["snow"] * 2)]
    strata = Strata.of(runs, ["signs", "signs"])
    assert by_fault(strata, strata.weights([0, 1], None)) == {
        (0, NO_FAULT): 6 / 16,
        (0, "fog 3"): 2 / 16,
        (1, NO_FAULT): 1 / 8,
        (1, "fog 3"): 1 / 8,
        (1, "snow 3"): 2 / 8,
    }
    assert strata.share == pytest.approx((2 / 8 + 3 / 4) / 2)


def test_at_a_prevalence_each_fault_counts_alike_and_each_workload():
    runs = [judged([None, "fog"]), judged([None, "fog", "snow"]), judged([None, "fog"])]
    strata = Strata.of(runs, ["signs", "signs", "digits"])
    assert strata.faults == ("fog 3 on signs", "snow 3 on signs", "fog 3 on digits")
    assert by_fault(strata, strata.weights([0, 1, 2], 0.3)) == {
        (0, NO_FAULT): 0.7 / 4,
        (1, NO_FAULT): 0.7 / 4,
        (2, NO_FAULT): 0.7 / 2,
        (0, "fog 3 on signs"): 0.1 / 2,
        (1, "fog 3 on signs"): 0.1 / 2,
        (1, "snow 3 on signs"): 0.1,
        (2, "fog 3 on digits"): 0.1,
    }
    assert strata.weights([0, 1], 0.3) == "not run on digits without a fault"
    assert strata.weights([0, 2], 0.3) == "not run on snow 3 on signs"
    assert by_fault(strata, strata.weights([0, 2], 0.0))[2, NO_FAULT] == 0.5


def test_faults_are_named_by_what_tells_them_apart():
    one = judged(
        [None, "fog", "fog", "fog"], severity=np.array([np.nan, 1, 2, 2]), category=[None, "a", "a", "b"]
    )
    assert Strata.of([one], ["signs"]).faults == ("fog 1", "fog 2 (a)", "fog 2 (b)")
    plain = judged([None, "fog"], severity=None)
    assert Strata.of([plain], ["signs"]).faults == ("fog",)


@given(
    st.lists(st.lists(st.sampled_from(FAULTS), min_size=1, max_size=9), min_size=1, max_size=4),
    st.one_of(st.none(), st.sampled_from([0.0, 0.2, 1.0])),
)
def test_weights_sum_to_one_and_faults_to_the_prevalence(streams, prevalence):
    strata = Strata.of([judged(stream) for stream in streams], ["signs"] * len(streams))
    weights = strata.weights(range(len(streams)), prevalence)
    some = {one.fault != NO_FAULT for one in strata.each}
    if prevalence is not None and some != {True, False}:
        return
    assert sum(weights.values()) == pytest.approx(1)
    under = sum(weight for i, weight in weights.items() if strata.each[i].fault != NO_FAULT)
    assert under == pytest.approx(strata.share if prevalence is None else prevalence)
