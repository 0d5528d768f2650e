import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score

from farm.errors import DataError
from farm.judging import judge
from farm.judging.record import MEASURED
from farm.measures.calibration import ece
from farm.measures.certainty import CERTAINTY, CONFIDENCE_AUROC
from farm.measures.probability_sums import CLASSIFIER_ECE
from farm.testing import make_readouts
from tests.wording import refused, same_text

CLASSES = 3

OF_CONFIDENCE = (CONFIDENCE_AUROC, CLASSIFIER_ECE)


def simulate(seed=0, n=300, monitors=("odin", "oob"), *, ood_share=0.4, novel_share=0.5):
    """Make readouts in which everything occurs."""
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < ood_share
    label = rng.integers(0, CLASSES, n)
    predicted = np.where(rng.random(n) < 0.7, label, rng.integers(0, CLASSES, n))
    novel = is_ood & (rng.random(n) < novel_share)
    severity = np.where(is_ood & ~novel, rng.choice([2.0, 5.0], n), np.nan)
    faults = {
        "faultload": np.where(novel, "btsc", np.where(is_ood, "snow", None)),
        "category": np.where(novel, "novelty", np.where(is_ood, "shift", None)),
        "severity": severity,
    }
    classifier_time = rng.random(n) * 100
    probabilities = np.random.default_rng([seed, 1]).dirichlet(np.ones(CLASSES), n)
    truth = np.where(novel[:, None], np.nan, np.eye(CLASSES)[label])
    sureness = {
        "confidence": probabilities.max(axis=1).round(2),
        "brier": ((probabilities - truth) ** 2).sum(axis=1),
        "label_probability": np.where(novel, np.nan, probabilities[np.arange(n), label]),
    }
    said = {}
    for name in monitors:
        score = rng.normal(size=n).round(1) + is_ood
        alarm = score > 1
        cancelled = alarm & (rng.random(n) < 0.9)
        said[name] = {
            "score": score,
            "alarm": alarm,
            "cancelled": cancelled,
            "monitor_time_us": rng.random(n),
        }
    noted = {"nbytes": 1000, "calibration": {"asked_acceptance": 0.95}, "ranked": True, "failure": None}
    made = make_readouts(
        said,
        id=[f"i{i}" for i in range(n)],
        label=pd.array(np.where(novel, -1, label), dtype="Int64"),
        predicted=predicted,
        is_ood=is_ood,
        classifier_time_us=classifier_time,
        **sureness,
        **faults,
        run={
            "classes": [*"abc"],
            "workload": {"name": "gtsrb"},
            "classifier": {"name": "lenet"},
            "monitors": [{"name": name, **noted} for name in monitors],
        },
    )
    return made.instances, made.alarms, made.run


def pick(records, **fields):
    found = [r for r in records if all(r[name] == value for name, value in fields.items())]
    assert len(found) == 1, f"{len(found)} records with {fields}"
    return found[0]


def in_part(instances, record):
    """Say which instances a record is about, the slow way."""
    severity = (
        instances["severity"].isna()
        if record["severity"] is None
        else instances["severity"] == record["severity"]
    )
    own = instances["is_ood"] & (instances["faultload"] == record["faultload"]) & severity
    return {"id": ~instances["is_ood"], "ood": own, "all": own | ~instances["is_ood"]}[record["part"]]


def close(value, reference):
    return value == pytest.approx(reference, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_record_agrees_with_references_computed_row_by_row(seed):
    instances, alarms, run = simulate(seed)
    records = judge(instances, alarms, run)
    assert len(records) == 3 * 3 * 3
    for record in records:
        if record["monitor"] == "oracle":
            continue
        chosen = in_part(instances, record)
        rows = instances[chosen]
        said = alarms[alarms["monitor"] == record["monitor"]].set_index("position").loc[rows["position"]]
        label, predicted = rows["label"].to_numpy(int), rows["predicted"].to_numpy()
        is_ood, alarm, cancelled = (
            rows["is_ood"].to_numpy(),
            said["alarm"].to_numpy(),
            said["cancelled"].to_numpy(),
        )
        wrong = label != predicted
        assert (record["n"], record["n_ood"]) == (len(rows), is_ood.sum())
        assert close(record["ood_share"], is_ood.mean())
        assert close(record["alarm_rate"], alarm.mean())
        assert close(record["coverage"], 1 - cancelled.mean())
        assert close(record["accepted_accuracy"], (~wrong)[~cancelled].mean())
        assert close(record["classifier_accuracy"], (~wrong).mean())
        right_answer = label != -1
        if right_answer.any():
            brier = rows["brier"].to_numpy()[right_answer].mean()
            assert close(record["classifier_brier_sum"], brier)
            assert close(record["classifier_brier_mean"], brier / CLASSES)
            sure, hits = rows["confidence"].to_numpy()[right_answer], ~wrong[right_answer]
            assert close(record["classifier_confidence_auroc"], roc_auc_score(hits, sure))
            assert close(record["classifier_ece"], ece(sure, hits).value)
            likely = rows["label_probability"].to_numpy()[right_answer]
            assert close(record["classifier_nll"], -np.log(likely).mean())
        else:
            why = f"none of the {len(rows)} instances has a right answer"
            assert {record["undefined"][name] for name in CERTAINTY} == {why}
        assert close(record["safety_gain"], (wrong & cancelled).mean())
        assert close(record["residual_hazard"], (wrong & ~cancelled).mean())
        assert close(record["availability_cost"], (~wrong & cancelled).mean())
        assert close(record["overall"]["error"], (wrong != cancelled).mean())
        assert close(record["overall"]["weighted_f1"], f1_score(wrong, cancelled, average="weighted"))
        if len(set(wrong)) == 2:
            assert close(record["overall"]["mcc"], matthews_corrcoef(wrong, cancelled))
        if record["part"] == "all":
            assert close(record["specific"]["mcc"], matthews_corrcoef(is_ood, alarm))
            assert close(record["auroc"], roc_auc_score(is_ood, said["score"]))
        else:
            assert record["specific"]["mcc"] is None
            assert record["auroc"] is None
        if len(set(label)) > 1:
            alone = matthews_corrcoef(label, predicted)
            system = matthews_corrcoef(label, np.where(cancelled, -1, predicted))
            assert close(record["classifier_mcc"], alone)
            assert close(record["system_mcc"], system)
            assert record["relative_change"] is None or close(
                record["relative_change"], 100 * (system / alone - 1)
            )
        assert close(record["monitor_time_us"]["p95"], np.quantile(said["monitor_time_us"], 0.95))
        assert close(record["classifier_time_us"]["median"], rows["classifier_time_us"].median())
        id_alarms = alarms[
            (alarms["monitor"] == record["monitor"]) & ~instances["is_ood"].to_numpy()[alarms["position"]]
        ]
        assert close(record["realised_acceptance"], 1 - id_alarms["alarm"].mean())
        assert (record["asked_acceptance"], record["monitor_bytes"]) == (0.95, 1000)


@pytest.mark.parametrize(
    ("columns", "run", "reasons"),
    [
        ({}, {}, {"classifier_brier_mean": "the number of classes was not given"}),
        # A log tells those classes that occur in it.
        ({}, {"classes": ["a"], "log": {}}, {"classifier_brier_mean": "the number of classes was not given"}),
        (
            {"brier": None},
            {"classes": ["a", "b"]},
            dict.fromkeys(CERTAINTY[:2], "no probabilities were given"),
        ),
        (
            {"label_probability": None},
            {"classes": ["a", "b"]},
            {"classifier_nll": "no probabilities were given"},
        ),
        (
            {"label_probability": [0.9, np.nan, 0.2, np.nan]},
            {"classes": ["a", "b"]},
            {"classifier_nll": "the probability is missing for 1 of 3 instances"},
        ),
        (
            {"label_probability": [0.9, 0.0, 0.2, np.nan]},
            {"classes": ["a", "b"]},
            {"classifier_nll": "infinite: the right class has probability 0 for 1 of 3 instances"},
        ),
        (
            {"confidence": [0.9, 3.2, 0.8, np.nan]},
            {"classes": ["a", "b"]},
            {"classifier_ece": "the confidence is no probability for 1 of 3 instances"},
        ),
        (
            {"brier": [0.5, np.nan, 0.1, np.nan]},
            {"classes": ["a", "b"]},
            dict.fromkeys(CERTAINTY[:2], "the Brier score is missing for 1 of 3 instances"),
        ),
        (
            {"confidence": None},
            {"classes": ["a", "b"]},
            dict.fromkeys(OF_CONFIDENCE, "no confidence was given"),
        ),
        (
            {"confidence": [np.nan, 0.9, 0.9, np.nan]},
            {"classes": ["a", "b"]},
            dict.fromkeys(OF_CONFIDENCE, "the confidence is missing for 1 of 3 instances"),
        ),
        (
            {"predicted": [0, 1, 1, 1]},
            {"classes": ["a", "b"]},
            {"classifier_confidence_auroc": "each of the 3 predictions is right"},
        ),
        (
            {"predicted": [1, 0, 0, 1]},
            {"classes": ["a", "b"]},
            {"classifier_confidence_auroc": "none of the 3 predictions is right"},
        ),
        (
            {"label": None},
            {"classes": ["a", "b"]},
            dict.fromkeys(CERTAINTY, "no labels were given"),
        ),
    ],
)
def test_what_the_classifiers_probabilities_are_worth_is_undefined_for_a_reason(columns, run, reasons):
    given = {"label": [0, 1, 1, -1], "predicted": [0, 1, 0, 1], "confidence": [0.9, 0.8, 0.8, 0.7]}
    given |= {"brier": [0.02, 0.08, 1.28, np.nan], "label_probability": [0.9, 0.8, 0.2, np.nan]}
    given |= {"is_ood": [False, False, True, True], **columns}
    made = make_readouts({"odin": [True, False, False, True]}, category="", run=run, **given)
    for record in judge(made.instances, made.alarms, {**made.run, **run}):
        if record["part"] == "all":
            assert {n: record["undefined"].get(n) for n in CERTAINTY} == {
                **dict.fromkeys(CERTAINTY),
                **reasons,
            }
            if "classifier_brier_sum" not in reasons:
                assert close(record["classifier_brier_sum"], 1.38 / 3)
            if not reasons:
                assert close(record["classifier_nll"], -np.log([0.9, 0.8, 0.2]).mean())
            if "confidence" not in columns and "predicted" not in columns and "label" not in columns:
                assert record["classifier_confidence_auroc"] == 0.75
                # In the bin up to 0.8 one of two is right, in that up to 0.9 one of one.
                assert close(record["classifier_ece"], (abs(1 - 1.6) + abs(1 - 0.9)) / 3)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([0.0, 1.0])
)
def test_records_are_json_whatever_happens(seed, n, ood_share, novel_share):
    instances, alarms, run = simulate(seed, n, ood_share=ood_share, novel_share=novel_share)
    records = judge(instances, alarms, run)
    assert json.loads(json.dumps(records, allow_nan=False)) == records
    for record in records:
        for block in (record, record["specific"], record["overall"]):
            missing = {name for name, value in block.items() if value is None} - {
                "run",
                "faultload",
                "category",
                "severity",
                "severity_range",
                "failure",
                "policy",
                "fallback",
                "n_tracks",
                "image_size",
            }
            assert missing == set(block["undefined"]), "null and the reasons go together"
            assert all(block["undefined"].values())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_order_of_rows_does_not_matter(seed):
    instances, alarms, run = simulate(seed, 60)
    shuffled = judge(
        instances.sample(frac=1, random_state=seed), alarms.sample(frac=1, random_state=seed), run
    )
    # Means of floating-point numbers that are added in another order may differ in the last bit.
    for record, other in zip(judge(instances, alarms, run), shuffled, strict=True):
        for name in ("specific", "overall", "system_mcc", "auroc", "undefined", "monitor_time_us", "part"):
            assert record[name] == other[name]
        assert record["aupr"] == pytest.approx(other["aupr"])


def test_order_of_records_groups_then_parts_then_monitors():
    records = judge(*simulate(monitors=("zz", "aa")))
    order = [(r["faultload"], r["severity"], r["part"], r["monitor"]) for r in records]
    assert order[:9] == [("btsc", None, p, m) for p in ("all", "id", "ood") for m in ("zz", "aa", "oracle")]
    assert [o[:2] for o in order[9::9]] == [("snow", 2.0), ("snow", 5.0)]


def test_oracle_is_perfect_and_not_ranked():
    for record in judge(*simulate()):
        if record["monitor"] != "oracle":
            continue
        assert record["ranked"] is False
        for task in ("specific", "overall"):
            assert (record[task]["fp"], record[task]["fn"], record[task]["error"]) == (0, 0, 0.0)
        assert record["residual_hazard"] == record["availability_cost"] == 0.0
        assert record["monitor_time_us"] is record["auroc"] is record["monitor_bytes"] is None
        if record["part"] == "all":
            assert record["specific"]["mcc"] == record["overall"]["mcc"] == 1.0


def test_stream_without_ood_has_one_group_and_no_ood_record():
    records = judge(*simulate(ood_share=0.0))
    assert [(r["part"], r["faultload"], r["category"], r["severity"]) for r in records[::3]] == [
        ("all", None, None, None),
        ("id", None, None, None),
    ]
    same_text(records[0]["specific"]["undefined"]["mcc"])
    assert records[0]["specific"]["fpr"] is not None


def test_never_alarming_monitor_has_no_mcc():
    n = 5000
    instances = pd.DataFrame(
        {"position": range(n), "label": [0, 1] * (n // 2), "predicted": [0, 1] * (n // 2)}
    )
    instances["is_ood"] = instances["position"] == n - 1
    alarms = pd.DataFrame({"position": range(n), "monitor": "never", "alarm": False})
    record = pick(judge(instances, alarms, {}), part="all", monitor="never")
    assert record["specific"]["mcc"] is None
    same_text(record["specific"]["undefined"]["mcc"])


def test_a_log_with_alarms_and_predictions_only():
    alarms = pd.DataFrame({"position": range(4), "monitor": "mine", "alarm": [True, False, False, False]})
    records = judge(pd.DataFrame({"position": range(4), "predicted": [0, 1, 1, 0]}), alarms, {})
    assert [(r["part"], r["monitor"]) for r in records] == [("all", "mine"), ("all", "oracle")]
    mine, oracle = records
    assert (mine["n"], mine["n_ood"], mine["ood_share"]) == (4, None, None)
    assert (mine["alarm_rate"], mine["coverage"]) == (0.25, 0.75)
    assert mine["specific"] is mine["overall"] is mine["accepted_accuracy"] is None
    same_text(mine["undefined"]["specific"])
    assert mine["undefined"]["overall"] == mine["undefined"]["safety_gain"] == "no labels were given"
    assert mine["undefined"]["auroc"] == mine["undefined"]["fpr_at_95_tpr"] == "no scores were given"
    same_text(mine["undefined"]["monitor_time_us"])
    assert mine["undefined"]["realised_acceptance"] == "no calibration"
    assert oracle["alarm_rate"] is oracle["coverage"] is None


def test_partly_missing_labels_are_counted_where_they_matter():
    instances, alarms, run = simulate()
    instances.loc[instances["faultload"] == "btsc", "label"] = pd.NA
    n_novel = int((instances["faultload"] == "btsc").sum())
    records = judge(instances, alarms, run)
    whole = pick(records, part="all", monitor="odin", faultload="btsc")
    assert whole["overall"] is None
    assert whole["undefined"]["overall"] == f"the label is missing for {n_novel} of {whole['n']} instances"
    assert whole["specific"]["mcc"] is not None
    assert pick(records, part="id", monitor="odin", faultload="btsc")["overall"]["mcc"] is not None
    assert pick(records, part="all", monitor="odin", severity=5.0)["overall"]["mcc"] is not None


def test_missing_scores_are_counted():
    instances, alarms, run = simulate(n=50)
    alarms.loc[0, "score"] = np.nan
    instances["faultload"] = instances["category"] = instances["severity"] = None
    record = pick(judge(instances, alarms, run), part="all", monitor="odin")
    same_text(record["undefined"]["aupr"])


def test_times_are_of_what_was_timed():
    instances, alarms, run = simulate(n=50)
    instances["classifier_time_us"] = [np.nan] * 49 + [7.0]
    instances["is_ood"] = False
    times = pick(judge(instances, alarms, run), part="all", monitor="odin")["classifier_time_us"]
    assert times == {"n": 1, "median": 7.0, "p95": 7.0, "p99": 7.0}


def test_a_failed_monitor_has_a_record_in_every_part_and_no_measures():
    instances, alarms, run = simulate(monitors=("odin", "oob"))
    run["monitors"][1] |= {"failure": "out of memory", "calibration": None}
    half = alarms[(alarms["monitor"] == "odin") | (alarms["position"] < 10)]
    records = judge(instances, half, run)
    failed = [record for record in records if record["monitor"] == "oob"]
    assert len(failed) == 9
    for record in failed:
        assert record["failure"] == "out of memory"
        assert record["n"] > 0
        assert all(record[name] is None for name in MEASURED)
        assert record["undefined"] == dict.fromkeys(MEASURED, "failed: out of memory")
    assert all(record["failure"] is None for record in records if record["monitor"] != "oob")


def test_a_monitor_that_left_nothing_has_failed():
    instances, alarms, run = simulate()
    run["monitors"].append({"name": "gone"})
    same_text(pick(judge(instances, alarms, run), monitor="gone", part="id", faultload="btsc")["failure"])


def test_a_monitor_that_nobody_noted_is_judged_all_the_same():
    instances, alarms, _ = simulate()
    monitors = [record["monitor"] for record in judge(instances, alarms, {})[:3]]
    assert monitors == ["odin", "oob", "oracle"]


def test_a_threshold_without_a_goal_still_has_its_acceptance():
    instances, alarms, run = simulate()
    run["monitors"][0]["calibration"] = {"method": "fixed", "asked_acceptance": None}
    record = judge(instances, alarms, run)[0]
    assert record["asked_acceptance"] is None
    same_text(record["undefined"]["asked_acceptance"])
    assert 0 < record["realised_acceptance"] < 1


def test_a_ramp_is_one_group_with_its_range():
    instances, alarms, run = simulate(ood_share=0.5, novel_share=0.0)
    instances["severity"] = np.where(instances["is_ood"], instances["position"] / 300, np.nan)
    ood = instances[instances["is_ood"]]
    records = judge(instances, alarms, run)
    assert len(records) == 9
    for record in records:
        assert record["severity"] is None
        assert record["severity_range"] == [ood["severity"].min(), ood["severity"].max()]
    assert pick(records, part="ood", monitor="odin")["n"] == len(ood)
    assert json.loads(json.dumps(records)) == records


# Decisions acted upon -----------------------------------------------------------------------------------


def with_fallback(seed=0, **arguments):
    """Let something take the place of most cancelled decisions; of a class that occurs nowhere else, too."""
    instances, alarms, run = simulate(seed, **arguments)
    rng = np.random.default_rng(seed + 1)
    predicted = instances["predicted"].to_numpy()[alarms["position"]]
    instead = rng.choice([-1, 0, 1, 2, 77], len(alarms))
    return instances, alarms.assign(decision=np.where(alarms["cancelled"], instead, predicted)), run


def test_coverage_and_accuracy_by_hand():
    instances = pd.DataFrame(
        {"position": range(6), "label": [0, 1, 1, 2, -1, -1], "predicted": [0, 1, 0, 0, 2, 2]}
    )
    alarms = pd.DataFrame(
        {
            "position": range(6),
            "monitor": "m",
            "alarm": [False, True, True, True, True, True],
            "cancelled": [False, True, True, True, True, True],
            # accepted and right; none; saved; wrong again; none, rightly; wrongly a class
            "decision": [0, -1, 1, 0, -1, 2],
        }
    )
    mine, oracle = judge(instances, alarms, {"monitors": [{"name": "m", "fallback": {"name": "last"}}]})
    assert mine["coverage"] == 4 / 6
    assert mine["accepted_accuracy"] == 2 / 4
    # The cancelling is judged as such: all but the second were rightly cancelled or kept.
    assert [mine["overall"][k] for k in ("tp", "fp", "tn", "fn")] == [4, 1, 1, 0]
    assert mine["residual_hazard"] == 2 / 6  # two of the four decisions acted upon are wrong
    assert mine["system_mcc"] == pytest.approx(
        matthews_corrcoef([0, 1, 1, 2, -1, -1], [0, -1, 1, 0, -1, 2]), abs=1e-12
    )
    assert mine["fallback"] == "last"
    assert (oracle["coverage"], oracle["accepted_accuracy"]) == (2 / 6, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_every_record_is_of_the_decisions_acted_upon(seed):
    instances, alarms, run = with_fallback(seed)
    for record in judge(instances, alarms, run):
        if record["monitor"] == "oracle":
            continue
        rows = instances[in_part(instances, record)]
        said = alarms[alarms["monitor"] == record["monitor"]].set_index("position").loc[rows["position"]]
        label, decision = rows["label"].to_numpy(int), said["decision"].to_numpy()
        decided = decision != -1
        assert close(record["coverage"], decided.mean())
        assert close(record["accepted_accuracy"], (decision == label)[decided].mean())
        wrong = label != rows["predicted"].to_numpy()
        assert close(record["overall"]["error"], (wrong != said["cancelled"].to_numpy()).mean())
        if len(set(label)) > 1:
            assert close(record["system_mcc"], matthews_corrcoef(label, decision))


def test_without_a_fallback_records_are_as_without_the_column():
    instances, alarms, run = simulate()
    predicted = instances["predicted"].to_numpy()[alarms["position"]]
    told = alarms.assign(decision=np.where(alarms["cancelled"], -1, predicted))
    assert judge(instances, told, run) == judge(instances, alarms, run)


def test_the_oracle_does_not_depend_on_fallbacks():
    instances, alarms, run = with_fallback()
    both = (judge(instances, table, run) for table in (alarms, alarms.drop(columns="decision")))
    mine, other = ([record for record in records if record["monitor"] == "oracle"] for records in both)
    assert mine == other


def test_a_monitor_whose_every_decision_is_replaced_has_an_accuracy():
    instances, alarms, run = simulate(monitors=("odin",))
    replaced = alarms.assign(alarm=True, cancelled=True, decision=1)
    record = judge(instances, replaced, run)[0]
    assert record["coverage"] == 1.0
    assert 0 < record["accepted_accuracy"] < 1
    gone = judge(instances, replaced.assign(decision=-1), run)[0]
    assert gone["coverage"] == 0.0
    n = gone["n"]
    assert gone["undefined"]["accepted_accuracy"] == f"each of the {n} instances was cancelled"


def test_what_is_not_cancelled_is_what_was_predicted():
    instances, alarms, run = simulate(monitors=("odin",))
    told = alarms.assign(decision=instances["predicted"].where(~alarms["cancelled"], -1))
    at = int((~told["cancelled"]).to_numpy().nonzero()[0][5])
    told.loc[at, "decision"] = 99
    with refused(DataError):
        judge(instances, told, run)


def test_a_missing_decision_is_told_unless_its_monitor_failed():
    instances, alarms, run = with_fallback()
    alarms["decision"] = alarms["decision"].astype("Int64")
    alarms.loc[alarms.index[alarms["monitor"] == "oob"][:2], "decision"] = pd.NA
    with refused(DataError):
        judge(instances, alarms, run)
    run["monitors"][1]["failure"] = "out of memory"
    assert judge(instances, alarms, run)[0]["coverage"] > 0


def test_records_name_policy_and_fallback_in_a_line():
    instances, alarms, run = with_fallback()
    run["monitors"][0] |= {
        "policy": {"name": "m-of-n", "m": 2, "n": 5, "within": "track"},
        "fallback": {"name": "reserve", "recipe": {"name": "lenet", "hidden": 32}, "digest": "ab"},
    }
    odin, oob, oracle = judge(instances, alarms, run)[:3]
    assert odin["policy"] == "m-of-n (m 2, n 5, within track)"
    assert odin["fallback"] == "reserve (hidden 32)"
    assert {r["policy"] for r in (oob, oracle)} == {r["fallback"] for r in (oob, oracle)} == {None}


def test_nobody_else_is_called_oracle():
    with refused(DataError):
        judge(*simulate(monitors=("oracle",)))
