"""Accuracies without labels of runs and logs: what is told by whom, and how far off it was under faults."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from farm.errors import DataError
from farm.judging.label_free import MOST_CLASSES, SampledRun, estimate, features
from farm.judging.label_free_errors import FaultErrors, fault_errors, mean_error, sentences, uneven_means
from farm.judging.label_free_looks import errors_look, label_free_looks
from farm.measures import Bounded, Measure, undefined
from farm.report.looks import render_looks
from farm.statistics.label_free.estimates import METHODS, label_free
from farm.statistics.label_free.samples import Signals
from farm.store.class_probabilities import probability_frame
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import refused, same_text

CLASSES = ["stop", "yield", "give way"]


def signs(
    seed=0,
    fault=None,
    *,
    n=600,
    share=0.4,
    by=0.4,
    kept=True,
    folder=None,
    digest="d1",
    classes=CLASSES,
    stream=None,
    **columns,
) -> Readouts:
    """Make a run of tracks of 4; under a fault the right class is less likely, or there is none."""
    random = np.random.default_rng(seed)
    is_ood = np.arange(n) < share * n if fault else np.zeros(n, dtype=np.bool_)
    label = random.integers(0, len(classes), n)
    logits = random.normal(0, 1, (n, len(classes)))
    logits[np.arange(n), label] += 1.8 - by * is_ood + np.repeat(random.normal(0, 0.4, n // 4), 4)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    novel = fault == "strangers"
    made = make_readouts(
        {
            "odin": {"score": -logits.max(axis=1)},
            "random": {"score": random.random(n)},
            "gaps": {"score": np.where(np.arange(n) == 3, np.nan, 0.0), "alarm": False},
            "broken": "singular",
        },
        **{
            "label": np.where(is_ood & novel, -1, label),
            "predicted": p.argmax(axis=1),
            "confidence": p.max(axis=1),
            "is_ood": is_ood,
            "faultload": fault,
            "category": "novelty" if novel else "shift",
            "severity": None if novel else 3.0,
            "track": [f"track {i}" for i in np.arange(n) // 4],
            **columns,
        },
        run={
            "folder": folder or f"runs/{fault}-{seed}",
            "classes": list(classes),
            "workload": {"name": "signs"},
            "classifier": {"name": "lenet", "digest": digest},
            "monitors": [
                {"name": "odin"},
                {"name": "random", "yardstick": True},
                {"name": "gaps"},
                {"name": "broken", "failure": "singular"},
            ],
            "stream": stream or {},
        },
    )
    if not kept:
        return made
    frame = probability_frame(p.astype(np.float32), classes)
    return replace(made, instances=pd.concat([made.instances, frame], axis=1))


def log(seed=5, **columns) -> Readouts:
    """Make a log without labels, of which nobody kept the probabilities of all classes."""
    return signs(seed, kept=False, folder="june.csv", digest=None, label=None, is_ood=None, **columns)


def sampled(*runs):
    return [SampledRun.of(each) for each in runs]


def test_all_methods_are_near_where_nothing_changed():
    reference, target = sampled(signs(0), signs(1))
    found = estimate(reference, target, with_truth=True)
    for name in METHODS:
        assert found.errors[name].low.value < 0 < found.errors[name].high.value, name
    right = (target.table.label == target.table.predicted).mean()
    assert found.truth.value.value == pytest.approx(right)


def test_a_log_has_what_needs_no_probabilities_of_all_classes():
    found = estimate(*sampled(signs(0), log()))
    assert {name for name, one in found.accuracy.items() if one.value.defined} == {*METHODS} - {"atc_entropy"}
    same_text(found.accuracy["atc_entropy"].value.reason)


@pytest.mark.parametrize(
    "columns",
    [
        {"confidence": None},
        {"confidence": np.where(np.arange(600) < 2, np.nan, 0.7)},
        {"confidence": 3.0 + np.arange(600) / 600},
        {"confidence": 0.7},
    ],
    ids=["none", "some missing", "no probabilities", "all the same"],
)
def test_what_confidences_lack_costs_only_what_needs_them(columns):
    found = estimate(*sampled(signs(0, kept=False), log(**columns)))
    told = (
        f"{name}: {one.value.reason or one.value.value.__round__(2)}" for name, one in found.accuracy.items()
    )
    same_text(told)


def test_confidences_of_a_reference_that_are_all_the_same_tell_nothing():
    found = estimate(*sampled(signs(0, kept=False, confidence=0.7), log()))
    same_text(f"{name}: {one.value.reason}" for name, one in found.accuracy.items() if name != "reference")


def test_features_are_of_what_both_have_and_know_something():
    """Of a yardstick, of a monitor that failed and of one without all scores there is none."""
    reference, other, field = sampled(signs(0), signs(1), log())
    here, there = features(reference, other)
    assert (here.shape, there.shape) == ((600, 4), (600, 4))  # three classes and odin's score
    assert here[:, :3] == pytest.approx(np.log(reference.readouts.probabilities), abs=1e-6)
    assert here[:, 3].tolist() == reference.table.said["odin"].score.tolist()
    sure, _ = features(reference, field)
    p = reference.table.confidence
    assert sure[:, 0] == pytest.approx(np.log(p / (1 - p)))
    assert sure.shape == (600, 2)


def test_of_many_classes_confidence_and_entropy_stand_for_all():
    many = [f"class {i}" for i in range(MOST_CLASSES + 1)]
    (own,) = sampled(signs(0, classes=many))
    here, _ = features(own, own)
    p = own.readouts.probabilities.astype(np.float64)
    assert here.shape == (600, 3)
    assert here[:, 1] == pytest.approx((p * np.log(p)).sum(axis=1), abs=1e-4)


def test_other_classes_have_nothing_in_common_but_confidence():
    first, second = sampled(signs(0), signs(1, classes=["stop", "yield", "halt"]))
    assert features(first, second)[0].shape == (600, 2)


def test_nothing_in_common_is_a_reason():
    bare = replace(log(confidence=None), alarms=log().alarms.drop(columns="score"))
    found = estimate(*sampled(signs(0), bare))
    assert found.accuracy["reference"].value.defined
    same_text(found.accuracy["weighting"].value.reason)


def test_a_probability_of_0_breaks_nothing():
    made = signs(0)
    columns = [name for name in made.instances if name.startswith("probability ")]
    made.instances.loc[:9, columns] = np.array([1, 0, 0], dtype=np.float32)
    found = estimate(*sampled(made, signs(1)))
    assert found.accuracy["atc_entropy"].low.defined
    assert found.accuracy["weighting"].low.defined


def test_validation_data_serve_as_a_reference():
    own = signs(0, stream={"split": "validation"})
    plain = estimate(*sampled(signs(0), log()))
    assert estimate(*sampled(own, log())).accuracy == plain.accuracy
    with refused(DataError):
        SampledRun.of(signs(0, stream={"split": "train"}))


def test_only_labelled_id_instances_are_a_reference():
    fog = signs(0, "fog")
    (run,) = sampled(fog)
    assert run.reference.tolist() == list(range(240, 600))
    few = np.where(np.arange(600) % 3 == 0, fog.instances["label"].astype(float), np.nan)
    partly, unknown, none = sampled(
        signs(0, "fog", label=pd.array(few, dtype="Float64").astype("Int64")),
        signs(0, is_ood=None),
        signs(0, label=None),
    )
    assert partly.reference.tolist() == list(range(240, 600, 3))
    assert len(unknown.reference) == 600
    found = estimate(none, unknown)
    same_text({str(one.value.reason) for one in found.accuracy.values()})


def test_another_classifier_is_no_reference():
    found = estimate(*sampled(signs(0), signs(1, digest="d2")))
    same_text({str(one.value.reason) for one in found.accuracy.values()})


def test_errors_are_of_the_faults_instances_from_the_id_ones():
    (run,) = runs = sampled(signs(0, "fog", by=1.0))
    (found,) = fault_errors(runs)
    ood = run.table.is_ood
    right = run.table.label == run.table.predicted
    assert (found.name, found.category, found.n) == ("fog 3", "shift", 240)
    assert found.truth.value.value == pytest.approx(right[ood].mean())
    assert found.errors["reference"].value.value == pytest.approx(right[~ood].mean() - right[ood].mean())
    sure = run.table.confidence
    doc = right[~ood].mean() + sure[ood].mean() - sure[~ood].mean()
    assert found.errors["doc"].value.value == pytest.approx(doc - right[ood].mean())


def test_instances_without_a_label_are_no_part_of_an_error():
    fog = signs(0, "fog")
    hidden = fog.instances["label"].astype("Int64").mask(np.arange(600) < 100)
    some, left = sampled(
        replace(fog, instances=fog.instances.assign(label=hidden)),
        fog,
    )
    (found,) = fault_errors([some])
    assert found.n == 140
    rest = estimate(left, left, np.arange(100, 240), with_truth=True)
    assert found.errors["doc"].value == rest.errors["doc"].value


def test_a_track_half_of_which_is_under_a_fault_is_drawn_whole():
    """Where tracks differ much, both halves of one err together, and the error varies less."""
    random = np.random.default_rng(0)
    hard = np.repeat(random.random(150) < 0.5, 4)
    widths = []
    for track in (np.arange(600) // 4, np.arange(600) // 4 + 150 * (np.arange(600) % 2)):
        made = make_readouts(
            {"odin": False},
            is_ood=np.arange(600) % 2 == 1,
            wrong=hard,
            track=[f"track {i}" for i in track],
        )
        error = fault_errors(sampled(made))[0].errors["reference"]
        widths.append(error.high.value - error.low.value if error.low.defined else 0.0)
    assert widths[0] < 0.1 * widths[1]


def test_images_without_a_right_answer_count_as_wrong():
    (found,) = fault_errors(sampled(signs(0, "strangers")))
    assert found.truth.value.value == 0
    assert found.surely_off
    assert found.errors["reference"].value.value > 0.5


def test_a_run_without_id_instances_has_those_of_another_of_its_classifier():
    alone = signs(1, "fog", share=1.0)
    (nowhere,) = fault_errors(sampled(alone, signs(0, digest="d2")))
    assert {one.value.defined for one in nowhere.errors.values()} == {False}
    (found,) = fault_errors(sampled(alone, signs(0, digest="d2"), signs(0)))
    whole = estimate(*sampled(signs(0), alone), with_truth=True)
    assert found.errors == whole.errors


def test_runs_of_one_fault_are_averaged_and_workloads_told_apart():
    one, two = sampled(signs(0, "fog"), signs(1, "fog", digest="d2"))
    (alone,), (other,), (both,) = fault_errors([one]), fault_errors([two]), fault_errors([one, two])
    assert both.n == 480
    for end in ("value", "low", "high"):
        ends = [getattr(each.errors["doc"], end).value for each in (alone, other, both)]
        assert ends[2] == pytest.approx((ends[0] + ends[1]) / 2)
    elsewhere = replace(two.readouts, run={**two.readouts.run, "workload": {"name": "digits"}})
    names = [each.name for each in fault_errors([one, SampledRun.of(elsewhere)])]
    assert names == ["signs · lenet · fog 3", "digits · lenet · fog 3"]


def test_severities_of_a_ramp_are_one_fault():
    (found,) = fault_errors(sampled(signs(0, "fog", severity=1 + np.arange(600) / 100)))
    assert found.name == "fog 1 to 3.39"


def fault(name, category, *errors):
    """Make a fault of which ATC, and then DoC, is off by so much; None where it has no estimate."""
    ends = [
        Bounded.nowhere(undefined("no confidence was given"))
        if error is None
        else Bounded(*(Measure(error + by) for by in (0, -0.02, 0.02)))
        for error in errors
    ]
    unknown = dict.fromkeys(METHODS, Bounded.nowhere(undefined("no confidence was given")))
    errors_of = unknown | dict(zip(("atc", "doc"), ends, strict=True))
    return FaultErrors(name, category, 100, Bounded.nowhere(undefined("unknown")), errors_of)


def test_sentences_count_faults_and_name_those_where_none_is_to_be_trusted():
    faults = [
        fault("fog 3", "shift", 0.01, -0.04),
        fault("rain 3", "shift", -0.3, 0.2),
        fault("pixels", "novelty", 0.3, None),
        fault("strangers", "novelty", 0.5, 0.5),
        fault("snow 3", "shift", 0.06, 0.5),  # ATC's may be within 5 points
    ]
    same_text(sentences(faults))
    assert mean_error(faults, "doc").value == pytest.approx((0.04 + 0.2 + 0.5 + 0.5) / 4)
    assert not mean_error(faults, "weighting").defined
    same_text(uneven_means(faults))
    assert uneven_means(faults[:2]) == []
    assert sentences([fault("fog", "shift", None, None)]) == []


def test_an_interval_that_is_not_known_makes_nothing_sure():
    unsure = Bounded(Measure(0.5), undefined("few tracks"), undefined("few tracks"))
    one = replace(fault("fog", "shift", 0.5, 0.5), errors={"atc": unsure, "doc": unsure})
    assert not one.surely_off
    assert not replace(one, errors={"atc": replace(unsure, value=Measure(0.0))}).surely_close("atc")


def test_sure_words_are_seldom_wrong():
    """Of 200 faults whose error is 5 points, at the edge, one of the two is said in 5 %, each time wrongly.

    In 3,600 such faults "surely" within was said of 2.9 %, and beyond of 2.7 %; that both together are said
    of more than 21 in 200 then comes once in 500 such tests.
    """
    random, close, off = np.random.default_rng(0), 0, 0
    samples = [Signals(np.arange(900) // 3, *["nothing was kept"] * 3) for _ in range(2)]
    for seed in range(200):
        right, hits = (random.random(900) < share for share in (0.98, 0.93))
        made = label_free(samples[0], right, samples[1], truth=hits, replicates=400, seed=seed)
        found = FaultErrors("fog", "shift", 900, made.truth, made.errors)
        close += found.surely_close("reference")
        off += found.surely_off
    assert close >= 1
    assert off >= 1
    assert close + off <= 21


def test_the_look_at_a_campaign():
    runs = [signs(0, "fog", by=1.2), signs(1, "strangers"), signs(2, "rain", by=0.0)]
    (look,) = label_free_looks(runs)
    assert [row[0] for row in look.rows] == ["fog 3", "strangers", "rain 3", "mean, whichever way"]
    same_text(render_looks([look], "table", width=100))


def test_the_look_needs_labelled_faults():
    with refused(DataError):
        list(label_free_looks([signs(0), signs(1, is_ood=None)]))


def test_one_fault_has_no_mean():
    assert len(errors_look(fault_errors(sampled(signs(0, "fog")))).rows) == 1
