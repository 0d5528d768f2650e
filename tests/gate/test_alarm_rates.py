"""How often monitors alarm where nothing else is known: intervals against scipy, and by simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest

from farm.errors import DataError, ExperimentError
from farm.gate.alarm_rates import MOST_VALUES, alarm_rates, alarm_records
from farm.gate.drift import Reference
from farm.judging import JudgedRun
from farm.statistics.by_track import share_by_track
from farm.store.logs import CONDITION
from farm.testing import make_readouts
from tests.wording import refused, same_text


def fleet(alarm, track=None, predicted=0, *, is_ood=None, label=None, **columns):
    alarm = alarm if isinstance(alarm, dict) else {"odin": alarm}
    run = {
        "workload": {"name": "fleet"},
        "folder": "fleet.csv",
        "monitors": [{"name": name} for name in alarm],
    }
    return make_readouts(
        alarm, is_ood=is_ood, label=label, predicted=predicted, track=track, run=run, **columns
    )


def judged(*arguments, **columns):
    made = fleet(*arguments, **columns)
    return JudgedRun.of(made.instances, made.alarms, made.run)


def ends(rate):
    return rate.low.value, rate.high.value


def test_single_instances_have_wilsons_interval():
    rate = alarm_rates(judged(np.arange(500) < 7).table)["odin"]
    reference = binomtest(7, 500).proportion_ci(0.95, "wilson")
    assert rate.value.value == 7 / 500
    assert ends(rate) == pytest.approx((reference.low, reference.high))


def test_a_track_for_each_instance_leaves_them_alone():
    alarm, own = np.arange(500) < 7, [f"t{i}" for i in range(500)]
    rate, alone = (alarm_rates(judged(alarm, track=track).table)["odin"] for track in (own, None))
    assert ends(rate) == pytest.approx(ends(alone))


def test_tracks_that_alarm_wholly_or_not_count_as_one_each():
    track = np.arange(600) // 20
    rate = alarm_rates(judged(track < 4, track=[f"t{i}" for i in track]).table)["odin"]
    reference = binomtest(4, 30).proportion_ci(0.95, "exact")
    assert ends(rate) == pytest.approx((reference.low, reference.high))


def test_the_interval_of_tracks_holds():
    """In each of 120 fleets 40 drives of 15 frames alarm each at a rate of its own; the mean rate is 0.1."""
    random, held = np.random.default_rng(0), []
    track = [f"t{i}" for i in np.repeat(np.arange(40), 15)]
    for _ in range(120):
        alarm = random.random(600) < np.repeat(random.beta(0.5, 4.5, 40), 15)
        low, high = ends(alarm_rates(judged(alarm, track=track).table)["odin"])
        held.append(low <= 0.1 <= high)
    assert np.mean(held) >= 0.93
    assert high - low > 0.05  # Wilson's, of 600 instances alone, is half as wide


@pytest.mark.parametrize("tracks", [40, 5000])
def test_where_tracks_are_shared_ends_are_those_of_farm_inspect(tracks):
    random, track = np.random.default_rng(0), np.arange(3 * tracks) // 3
    said = {name: random.random(3 * tracks) < share for name, share in (("odin", 0.1), ("oob", 0.4))}
    table = judged(said, track=[f"t{i}" for i in track]).table
    for name, rate in alarm_rates(table).items():
        alone = share_by_track(said[name], table.track_code)
        assert ends(rate) == pytest.approx([end.value for end in alone])


def test_too_few_tracks_have_a_rate_and_no_interval():
    rate = alarm_rates(judged([True, False] * 4, track=list("aabbccdd")).table)["odin"]
    assert rate.value.value == 0.5
    assert "of 4 tracks; an interval needs at least 5" in rate.low.reason


def test_by_class_and_along_time():
    alarm = np.array([1, 0, 0, 0, 0, 0, 1, 1], dtype=bool)
    run = fleet(alarm, predicted=[3, 3, 3, 3, 9, 9, 9, 9])
    rows = [r for r in alarm_records(run) if r["monitor"] == "odin"]
    assert [(r["part"], r["of"], r["n"], r["alarm_rate"]) for r in rows] == [
        ("all", None, 8, 0.375),
        ("class", "3", 4, 0.25),
        ("class", "9", 4, 0.5),
        ("time", "instances 1 to 2", 2, 0.5),
        ("time", "instances 3 to 4", 2, 0.0),
        ("time", "instances 5 to 6", 2, 0.0),
        ("time", "instances 7 to 8", 2, 1.0),
    ]
    assert all(r["low"] <= r["alarm_rate"] <= r["high"] for r in rows)


def test_a_short_log_has_as_many_stretches_as_instances():
    rows = alarm_records(fleet([True, False]))
    assert [r["of"] for r in rows if r["part"] == "time"] == ["instances 1 to 1", "instances 2 to 2"]


def test_a_monitor_that_failed_keeps_its_record():
    made = make_readouts({"odin": [True, False], "knn": "singular"}, is_ood=None, label=None, predicted=0)
    records = alarm_records(made)
    assert [r["failure"] for r in records if r["monitor"] == "knn"] == ["singular"]


def parts(records, *names, monitor="odin"):
    return [tuple(r[name] for name in names) for r in records if r["monitor"] == monitor]


def test_by_a_condition():
    weather = {CONDITION.format("weather"): ["fog", "clear", None, "fog"]}
    records = alarm_records(fleet([True, False, False, False], **weather), ["weather"])
    assert parts(records, "part", "of", "n", "alarm_rate") == [
        ("all", None, 4, 0.25),
        ("condition", "clear", 1, 0.0),
        ("condition", "fog", 2, 0.5),
        ("condition", None, 1, 0.0),
    ]
    assert {r["by"] for r in records if r["part"] == "condition"} == {"weather"}


def test_what_is_no_condition_is_refused():
    many = {CONDITION.format("speed"): [f"{i} km/h" for i in range(MOST_VALUES + 1)]}
    made = fleet(np.ones(MOST_VALUES + 1, dtype=bool), **many)
    for name in ("speed", "tme"):
        with refused(ExperimentError):
            alarm_records(made, [name])


@pytest.mark.parametrize(
    ("hours", "told"),
    [
        ([9, 10, 26, 50], ["2026-11-19 09:00:00 to 10:00:00", "2026-11-20 02:00 to 2026-11-21 02:00"]),
        ([50, 26, 10, 9], ["2026-11-21 02:00 to 2026-11-20 02:00", "2026-11-19 10:00:00 to 09:00:00"]),
    ],
)
def test_stretches_have_the_times_of_their_ends(monkeypatch, hours, told):
    monkeypatch.setattr("farm.gate.alarm_rates.STRETCHES", 2)
    moments = np.datetime64("2026-11-19") + np.array(hours, dtype="timedelta64[h]")
    records = alarm_records(fleet([True] * 4, timestamp=moments), ["time"])
    assert parts(records, "of")[1:] == [(each,) for each in told]


def test_numbers_are_no_dates():
    records = alarm_records(fleet([True] * 2, timestamp=np.array([0.5, 7.25])), ["time"])
    assert parts(records, "of")[1:] == [("instances 1 to 1",), ("instances 2 to 2",)]


def moved(by, seed=0, n=400, **columns):
    random = np.random.default_rng(seed)
    scores = {"odin": by, "oob": 0.0}
    said = {name: {"score": random.normal(each - 1, 1, n)} for name, each in scores.items()}
    return fleet(said, track=[f"drive {i}" for i in np.arange(n) // 8], **columns)


def test_drift_against_a_reference():
    records = alarm_records(moved(1.0), [], Reference.of(moved(0.0, seed=1), "may.csv"))
    odin, oob = (next(r for r in records if r["monitor"] == name) for name in ("odin", "oob"))
    assert (odin["against"]["moved"], oob["against"]["moved"]) == (True, False)
    truth = 0.3829  # 2 * Phi(1 / 2) - 1
    assert odin["against"]["low"] <= truth <= odin["against"]["high"]
    of = {side: odin["against"][side] for side in ("above", "above_reference")}
    assert abs(of["above"] - of["above_reference"]) == pytest.approx(odin["drift"])
    assert odin["against"]["change"] == pytest.approx(odin["alarm_rate"] - odin["against"]["alarm_rate"])
    assert odin["against"]["change_low"] > 0 > oob["against"]["change_low"]
    same_text("\n".join(r["against"]["sentence"] for r in (odin, oob)))


def test_without_a_reference_drift_is_null_with_a_reason():
    (record,) = (r for r in alarm_records(moved(1.0), []) if r["monitor"] == "odin")
    assert record["drift"] is None
    assert record["undefined"]["drift"] == "no reference was given"


def test_a_reference_has_its_id_instances_where_they_are_known():
    is_ood = np.arange(400) >= 200
    reference = Reference.of(moved(np.where(is_ood, 9.0, 0.0), seed=1, is_ood=is_ood), "gate run")
    assert (reference.kind, len(reference.table)) == ("ID", 200)
    records = alarm_records(moved(0.0), [], reference)
    assert [r["against"]["moved"] for r in records if r.get("against")] == [False, False]


@pytest.mark.parametrize("case", ["few tracks", "no scores", "not there"])
def test_what_cannot_be_told_is_said_to_be_so(case):
    log, reference = moved(1.0), moved(0.0, seed=1)
    if case == "few tracks":
        log = moved(1.0, n=24)
    elif case == "no scores":
        log = fleet({"odin": [True, False], "oob": {"score": [0.5, -0.5]}})
    else:
        reference = fleet({"oob": {"score": np.linspace(-1, 1, 90)}})
    records = [r for r in alarm_records(log, [], Reference.of(reference, "may.csv")) if r.get("against")]
    odin = records[0]["against"]
    assert (odin["moved"], odin["p"]) == (None, None)
    assert "chance" not in odin["sentence"]
    assert odin["needed"] == (6 if case == "few tracks" else None)
    same_text("\n".join(r["against"]["sentence"] for r in records))


def test_a_yardstick_is_not_asked_about_and_costs_the_others_nothing():
    scores = {"odin": np.arange(90) % 7, "random": np.arange(90) % 5, "never": np.zeros(90)}
    told = {}
    for names in (["odin"], ["odin", "random", "never"], ["random"]):
        log, other = (fleet({name: {"score": scores[name] + by} for name in names}) for by in (0.0, 0.5))
        records = alarm_records(log, [], Reference.of(other, "may.csv"))
        told[len(names), names[0]] = {r["monitor"]: r for r in records if r["monitor"] != "oracle"}
    beside = told[3, "odin"]
    assert beside["odin"]["against"]["p"] == told[1, "odin"]["odin"]["against"]["p"]
    assert {name: record["against"] for name, record in beside.items() if name != "odin"} == {
        "random": None,
        "never": None,
    }
    assert beside["random"]["undefined"]["drift"] == "it is a yardstick"
    assert told[1, "random"]["random"]["against"]["p"] is not None


def test_a_reference_that_tells_nothing_is_refused():
    log = moved(0.0)
    for other in (fleet({"knn": [True, False]}), moved(0.0, seed=1, is_ood=True)):
        with refused(DataError):
            alarm_records(log, [], Reference.of(other, "may.csv"))


def test_with_labels_too_it_tells_alarms_alone():
    made = fleet([True, False] * 40, is_ood=[True, False] * 40, label=0)
    (record,) = (r for r in alarm_records(made, []) if r["monitor"] == "odin")
    assert (record["alarm_rate"], record["n_ood"], record["ood_share"]) == (0.5, 40, 0.5)
    assert "specific" not in record
    assert set(record["undefined"]) == {"drift"}
