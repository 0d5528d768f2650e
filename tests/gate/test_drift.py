"""Criteria of logs without labels: alarm rates, and drift against a reference."""

import numpy as np
import pytest
from scipy.stats import norm

from farm.errors import DataError, ExperimentError
from farm.gate.criteria_file import load_criteria, parse_criteria
from farm.gate.drift import Reference
from farm.gate.verdict import judge_criteria
from farm.testing import make_readouts
from tests.wording import refused, same_text


def fleet(by=0.0, *, seed=0, drives=60, frames=10, alike=0.2, folder="fleet.csv", **options):
    """A log of drives with normal scores, those of `odin` moved by so much; above 1.5 there is an alarm."""
    random = np.random.default_rng(seed)
    said = {}
    for name, own in {"odin": by, "oob": 0.0}.items():
        shared = np.repeat(random.normal(0, np.sqrt(alike), drives), frames)
        score = shared + random.normal(own, np.sqrt(1 - alike), drives * frames)
        said[name] = {"score": score, "alarm": score > 1.5}
    track = [f"{folder} drive {i}" for i in np.repeat(np.arange(drives), frames)]
    return make_readouts(
        said,
        **{"is_ood": None, "label": None, "predicted": 0, "track": track, **options},
        run={"folder": folder, "monitors": [{"name": name} for name in said]},
    )


def judged(log, *criteria, reference=None, **options):
    file = parse_criteria({"criteria": list(criteria), **options}, "gate.yaml")
    return {
        (one.criterion.measure, one.monitor): one
        for one in judge_criteria([log], file, reference=reference and Reference.of(reference, "may"))
    }


def test_criteria_pass_fail_and_are_not_decided():
    found = judged(fleet(1.0), "alarm_rate <= 0.12", "drift <= 0.25", reference=fleet(seed=1))
    assert {key: one.verdict for key, one in found.items()} == {
        ("alarm_rate", "odin"): "fail",
        ("alarm_rate", "oob"): "pass",
        ("drift", "odin"): "fail",
        ("drift", "oob"): "pass",
    }
    assert all(one.evidence.n_ood is None for one in found.values())
    close = judged(fleet(0.3), "drift <= 0.2", reference=fleet(seed=1, drives=600))["drift", "odin"]
    assert close.verdict == "undecided"
    assert close.needed > 600
    same_text("\n".join(one.reason for one in (*found.values(), close)))


def test_the_alarm_rate_is_of_all_instances():
    log = fleet(is_ood=np.arange(600) >= 200, label=0)
    own = judged(log, "alarm_rate <= 0.2")["alarm_rate", "oob"].evidence
    alarm = log.alarms.loc[log.alarms["monitor"] == "oob", "alarm"]
    assert own.value.value == pytest.approx(alarm.mean())
    assert (own.n, own.n_ood, own.counts) == (600, 400, {"alarms": alarm.sum()})
    assert own.low.value < own.value.value < own.high.value


def test_drift_is_of_the_selected_instances():
    is_ood = np.arange(600) >= 300
    log = fleet(np.where(is_ood, 5.0, 0.0), is_ood=is_ood, label=0)
    whole, own = (
        judged(log, f"drift <= 0.3{on}", reference=fleet(seed=1))["drift", "odin"] for on in ("", " on id")
    )
    assert (whole.verdict, own.verdict) == ("fail", "pass")
    assert own.evidence.n == 300


def test_a_track_that_runs_share_counts_once():
    """As it does for an alarm rate: frames seen again make nothing surer; other workloads have others."""
    file = parse_criteria({"criteria": ["alarm_rate <= 0.1 for odin", "drift <= 0.25 for odin"]}, "gate.yaml")
    reference = Reference.of(fleet(seed=1), "may")

    def judged_together(*workloads):
        runs = [fleet(0.4, drives=30) for _ in workloads]
        for run, name in zip(runs, workloads, strict=True):
            run.run["workload"] = {"name": name}
        return [one.evidence for one in judge_criteria(runs, file, reference=reference)]

    (_, once), (rate, repeated), both = (
        judged_together(*workloads) for workloads in (["signs"], ["signs"] * 4, ["signs", "roads"])
    )
    assert rate.n_groups == repeated.n_groups == once.n_groups == 30
    assert [each.n_groups for each in both] == [60, 60]
    assert (repeated.low.value, repeated.high.value) == pytest.approx((once.low.value, once.high.value))
    assert "of 30 tracks" in repeated.method


def test_too_few_tracks_decide_nothing():
    found = judged(fleet(3.0, drives=4), "alarm_rate <= 0.5", "drift <= 0.2", reference=fleet(seed=1))
    assert {one.verdict for one in found.values()} == {"undecided"}
    same_text("\n".join(one.reason for one in found.values()))


def test_no_number_decides_beside_too_small_a_reference():
    (odin, _) = judged(fleet(0.4), "drift <= 0.2", reference=fleet(seed=1, drives=8)).values()
    assert (odin.verdict, odin.needed) == ("undecided", None)
    same_text(odin.reason)


def test_the_number_told_decides():
    """With a chance of 80 %, were what was seen the truth: so it is read off logs that are near to that."""
    truth = 2 * norm.cdf(0.15) - 1
    text = f"drift <= {truth + 0.05} for odin"

    def odin(seed, drives=40):
        log, reference = fleet(0.3, seed=seed, drives=drives), fleet(seed=1000 + seed, drives=800)
        (one,) = judged(log, text, reference=reference, replicates=300).values()
        return one

    near = [one for seed in range(30) if abs((one := odin(seed)).evidence.value.value - truth) < 0.01]
    drives = int(np.median([one.needed for one in near])) // 10
    assert drives > 80
    assert 0.65 <= np.mean([odin(100 + seed, drives).verdict == "pass" for seed in range(30)]) < 1


@pytest.mark.parametrize(
    "case", ["no reference", "no scores", "not there", "asked for and not there", "with a baseline"]
)
def test_what_makes_no_sense(case):
    log, criterion, reference = fleet(), "drift <= 0.1", fleet(seed=1)
    if case == "no reference":
        reference = None
    elif case == "no scores":
        log.alarms["score"] = np.nan
    elif case.endswith("not there"):
        criterion += " for odin" if case.startswith("asked for") else ""
        reference = make_readouts({"oob": {"score": np.linspace(-1, 1, 90)}}, is_ood=None, label=None)
    else:
        criterion = "drift not worse than baseline:b.yaml by 0.1"
    with refused(ExperimentError):
        judged(log, criterion, reference=reference)


def test_the_reference_lies_beside_the_file_of_criteria(tmp_path):
    def write(run, name):
        table = run.alarms.merge(run.instances, on="position").drop(columns="position")
        table.to_csv(tmp_path / name, index=False)

    write(fleet(seed=1), "may.csv")
    (tmp_path / "gate.yaml").write_text("reference: may.csv\ncriteria: [drift <= 0.2]")
    file = load_criteria(tmp_path / "gate.yaml")
    assert [one.verdict for one in judge_criteria([fleet()], file)] == ["pass", "pass"]


def test_a_log_is_not_its_own_reference(tmp_path):
    log = fleet()
    log.run["log"] = {"digest": "abc"}
    with refused(DataError):
        Reference.of(log, "fleet.csv").check([log])
