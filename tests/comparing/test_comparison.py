import pytest

from farm.comparing import BY, MEASURES, compare_runs
from farm.errors import DataError, ExperimentError
from farm.statistics.table import Undefined
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, NOISE, NOVEL, RATES, SHOT, make_run
from tests.wording import refused, same_text

FAULTS = [NOISE, SHOT, ("noise", "gaussian-noise", 10.0), FOG, NOVEL]
USUAL = make_run(faults=FAULTS)


def compare(*runs, **options):
    return compare_runs(runs or [USUAL], **{"replicates": 200, **options})


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("faultload", ["btsc", "fog", "gaussian-noise", "shot-noise"]),
        ("category", ["noise", "novelty", "shift"]),
        ("severity", ["3", "5", "10", "no severity"]),
        ("workload", ["signs"]),
    ],
)
def test_sections_by_what_is_asked_for(by, names):
    found = compare(by=by)
    assert [one.name for one in found.sections] == names
    assert sum(len(one.sets) for one in found.sections) == 5
    assert by in BY


def test_workloads_are_sections_and_conclusions_stay_by_category():
    found = compare(make_run(), make_run(workload="digits"), by="workload")
    assert [one.name for one in found.sections] == ["digits", "signs"]
    assert [one.category for one in found.conclusions] == ["noise", "shift", "all sets"]
    assert found.conclusions[-1].ranks.n_sets == 6


def test_a_sentence_a_category_and_one_over_all():
    found = compare(by="severity")
    assert [one.category for one in found.conclusions] == ["noise", "novelty", "shift", "all sets"]
    assert [isinstance(one.ranks, Undefined) for one in found.conclusions] == [False, True, True, False]
    (only,) = compare(make_run(faults=[NOISE, SHOT])).conclusions
    assert only.category == "noise"


def test_repetitions_do_not_add_sets():
    runs = [make_run(seed, faults=[NOISE, SHOT]) for seed in range(4)]
    found = compare(*runs)
    assert found.conclusions[0].ranks.n_sets == 2
    same_text(found.notes)


def test_enough_sets_tell_the_better_monitor():
    faults = [("noise", f"noise-{i}", 3.0) for i in range(9)]
    found = compare(make_run(faults=faults))
    same_text(found.conclusions[0].sentence)


def test_only_some_monitors():
    found = compare(only=["poor", "good"])
    assert found.monitors == ("good", "poor")
    assert {s.monitor for one in found.sections for s in one.standings} == {"good", "poor"}
    assert "two monitors" in found.conclusions[0].sentence
    (alone,) = compare(make_run(faults=[FOG, ("shift", "rain", 1.0)]), only=["good"]).conclusions
    same_text(alone.sentence)


def test_a_control_is_compared_with_all_others():
    faults = [("noise", f"noise-{i}", 3.0) for i in range(9)]
    found = compare(make_run(faults=[*faults, FOG]), control="middling", by="category")
    assert found.control == "middling"
    assert [one.control for one in found.sections] == ["middling", "middling"]
    assert found.conclusions[0].ranks.control == "middling"
    same_text(one.sentence for one in found.conclusions)
    only = compare(control="middling", only=["good"])
    assert only.monitors == ("good", "middling")


def test_a_run_without_faults():
    found = compare(make_run(faults=()), measure="overall.error")
    (only,) = found.conclusions
    same_text(only.sentence)
    assert [one.name for one in found.sections] == ["no fault"]


def test_the_same_question_has_the_same_answer():
    assert compare() == compare()
    assert compare(seed=1) != compare()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "fault"}, "--by 'fault' is not known; did you mean 'faultload'"),
        ({"undefined": "0"}, "--undefined '0' is not known; known: drop, error, zero"),
        ({"measure": "mcc"}, "--measure 'mcc' is not known; "),
        ({"alpha": 0.0}, "--alpha is 0.0; expected a number between 0 and 1"),
        ({"alpha": 1.0}, "--alpha is 1.0; expected"),
        ({"alpha": float("nan")}, "--alpha is nan; expected"),
        ({"replicates": 0}, "--replicates is 0; expected 1 to 1,000,000"),
        ({"control": "god"}, "--control 'god' is in none of the runs; did you mean 'good'"),
        ({"only": ["god"]}, "--monitor 'god' is in none of the runs; did you mean 'good'"),
    ],
)
def test_mistakes_are_told_with_the_options_name(options, message):
    with pytest.raises(ExperimentError) as error:
        compare(**options)
    assert str(error.value).startswith(message)


def test_mistakes_in_options_are_told_before_anything_is_read():
    with refused(ExperimentError):
        compare_runs([], alpha=2)


def test_monitors_that_the_run_does_not_rank_are_left_out_and_told():
    run = make_run(unranked=["poor"])
    same_text(compare(run).notes)
    with refused(ExperimentError):
        compare(run, only=["poor"])
    with refused(DataError):
        compare(make_run(unranked=list(RATES)))


def test_monitors_that_some_runs_lack_are_named_with_those_runs_and_what_helps():
    runs = [make_run(i, RATES if i else {"good": RATES["good"]}, [NOISE]) for i in range(4)]
    found = compare(*runs)
    same_text(found.conclusions[0].sentence)
    same_text(found.notes)
    assert "comes first" in compare(*runs[1:]).conclusions[0].sentence, "what helps does"
    others = {name: RATES[name] for name in ("good", "poor")}
    runs = [make_run(i, RATES if i else others, [NOISE]) for i in range(4)]
    same_text(compare(*runs).notes)
    assert "comes first" in compare(*runs, only=["good", "poor"]).conclusions[0].sentence


def test_yardsticks_that_some_runs_lack_cost_no_sets_unless_they_are_asked_for():
    rates = {**RATES, "random": (0.2, 0.2)}
    runs = [make_run(i, RATES if i else rates, [NOISE], workload=f"w{i}") for i in range(7)]
    found = compare(*runs)
    (only,) = found.conclusions
    assert (only.ranks.n_sets, set(only.ranks.monitors)) == (7, set(RATES))
    same_text(only.left_out)
    assert found.notes == ()
    for asked in ({"only": list(rates)}, {"control": "random"}):
        assert isinstance(compare(*runs, **asked).conclusions[0].ranks, Undefined)


def test_settings_that_changed_are_told():
    runs = []
    for seed, tau in ((0, 0.1), (1, 0.2)):
        run = make_run(seed)
        noted = [{**note, "parameters": {"tau": tau}} for note in run.run["monitors"][:1]]
        runs.append(Readouts(run.instances, run.alarms, {**run.run, "monitors": noted}))
    assert any(
        note.startswith("good is not the same in all runs, which differ in its tau")
        for note in compare(*runs).notes
    )


def test_shares_that_differ_are_told_where_they_matter():
    runs = make_run(0, faults=[NOISE]), make_run(1, faults=[SHOT], n_ood=300)
    (told,) = [note for note in compare(*runs).notes if "share" in note]
    same_text(told)
    assert compare(*runs, measure="specific.fnr").notes == ()
    assert compare(measure="overall.mcc").notes == ()


@pytest.fixture(scope="module")
def with_gaps():
    """Give runs in which monitors failed, or have no value of many a measure."""
    rates = {**RATES, "never": (0.0, 0.0), "always": (1.0, 1.0)}
    return make_run(rates=rates, failed=["middling"]), make_run(1, rates=rates)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("how", ["zero", "drop"])
def test_every_measure_gives_a_sentence_a_category(with_gaps, measure, how):
    found = compare(*with_gaps, measure=measure, undefined=how, replicates=50)
    assert len(found.conclusions) == 3
    for one in found.conclusions:
        assert one.sentence.endswith(".")
        assert "nan" not in one.sentence


def test_a_monitor_that_is_in_one_run_only():
    less = {name: rate for name, rate in RATES.items() if name != "poor"}
    faults = [("noise", f"noise-{i}", 3.0) for i in range(7)]
    found = compare(make_run(0, faults=faults), make_run(1, rates=less, faults=faults[:1]))
    (only,) = found.conclusions
    assert only.ranks.n_sets == 6
    same_text(only.left_out)


def test_fewer_alarms_are_not_called_better_without_a_word():
    found = compare_runs([make_run()], measure="alarm_rate", replicates=50)
    assert found.notes == (
        "fewer alarms cost less; whether they were the right ones, their number does not tell",
    )
    assert found.sections[0].best == "poor"
