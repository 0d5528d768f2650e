import pytest

from farm.comparing import MEASURES, compare_runs, measured
from farm.comparing.measures import OF_CLASSIFIER
from farm.errors import ExperimentError
from farm.judging import judge
from tests.comparing.made_runs import make_run
from tests.wording import refused

LOWER = {
    *("overall.error", "overall.fpr", "overall.fnr", "specific.error", "specific.fpr", "specific.fnr"),
    *("fpr_at_95_tpr", "residual_hazard", "availability_cost", "alarm_rate", "risk"),
}


def test_the_good_end_of_every_measure():
    assert {name for name, higher in MEASURES.items() if not higher} == LOWER


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_in_every_record(name):
    run = make_run()
    for record in judge(run.instances, run.alarms, run.run):
        found = measured(name).of(record)
        task, _, inner = name.rpartition(".")
        value = (record[task] or {}).get(inner) if task else record[inner]
        assert found.json == value
        assert found.defined or found.reason


def test_a_perfect_monitor_is_at_the_good_end():
    # Of a stream on which all OOD instances and no ID one are mistaken, so that both tasks are one.
    run = make_run(rates={"perfect": (0.0, 1.0), "wrong": (1.0, 0.0)}, n_ood=200)
    right = run.instances.assign(predicted=run.instances["label"] + run.instances["is_ood"])
    for record in judge(right, run.alarms, run.run):
        if record["part"] == "all" and record["monitor"] == "perfect":
            best = record
        if record["part"] == "all" and record["monitor"] == "wrong":
            worst = record
    for name, higher in MEASURES.items():
        perfect, wrong = measured(name).of(best), measured(name).of(worst)
        if perfect.defined and wrong.defined and name not in ("coverage", "alarm_rate"):
            assert (perfect.value >= wrong.value) if higher else (perfect.value <= wrong.value), name


@pytest.mark.parametrize("name", OF_CLASSIFIER)
def test_what_the_classifier_is_worth_is_in_the_record_of_each_monitor_and_compares_none(name):
    run = make_run()
    assert measured(name).of_classifier
    found = {measured(name).of(record).json for record in judge(run.instances, run.alarms, run.run)[:4]}
    assert len(found) == 1
    with refused(ExperimentError):
        compare_runs([run], measure=name)


def test_an_unknown_measure_is_suggested_for():
    with refused(ExperimentError):
        measured("specific.mc")


@pytest.mark.parametrize(
    ("name", "depends"),
    [
        ("specific.fpr", False),
        ("specific.fnr", False),
        ("specific.recall", False),
        ("auroc", False),
        ("fpr_at_95_tpr", False),
        ("specific.mcc", True),
        ("specific.precision", True),
        # Of what should be cancelled, which is among ID and OOD instances alike.
        ("overall.fpr", True),
        ("overall.fnr", True),
        ("aupr", True),
        ("residual_hazard", True),
    ],
)
def test_which_measures_depend_on_the_share_of_ood(name, depends):
    assert measured(name).depends_on_share is depends
