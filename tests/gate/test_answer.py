"""Which monitor helps: what is said first, of made streams of which the truth is known."""

import numpy as np
import pytest

from farm import registry
from farm.commands.run_report import RunReport
from farm.comparing import benchmark_sets, compare_runs, measured
from farm.gate.answer import ITS_CLASS, MCC, PLAIN_CONFIDENCE, answers
from farm.gate.bounds import redrawn
from farm.measures import Measure
from farm.testing import make_readouts
from tests.wording import same_text

N = 1200
OOD = np.arange(N) % 4 == 0
WRONG = OOD | (np.arange(N) % 20 == 1)
"""All of the OOD instances, which are novel, and 5 in 75 of the others."""


def alarms(seed, of_right, of_wrong, wrong=WRONG):
    """Alarm by chance at these rates."""
    return np.random.default_rng(seed).random(len(wrong)) < np.where(wrong, of_wrong, of_right)


def asked(monitors, *, needs="overall.mcc", only=(), alpha=0.05, replicates=None, **columns):
    """Return what is answered of a stream of novel instances."""
    columns = {"is_ood": OOD, "wrong": WRONG, "category": "novelty", "faultload": "btsc"} | columns
    sets = benchmark_sets([make_readouts(monitors, **columns)], measured(needs))
    return answers(sets, only=only, alpha=alpha, replicates=replicates)


def one(monitors, **options):
    (answer,) = asked(monitors, **options)
    return answer


GOOD, BETTER, USELESS = alarms(0, 0.05, 0.4), alarms(1, 0.05, 0.8), alarms(2, 0.05, 0.05)


def test_a_monitor_that_helps_is_told_with_what_it_catches_at_what_price():
    answer = one({"odin": GOOD, "oob": USELESS})
    assert (answer.category, answer.monitor, answer.helps, answer.sure) == ("novelty", "odin", True, True)
    same_text(answer.sentence)
    shares = [
        GOOD[OOD].mean(),
        GOOD[~OOD].mean(),
        (~WRONG)[~GOOD].mean(),
        (~GOOD).mean(),
        (~WRONG).mean(),
    ]
    told = [int(word) for word in answer.sentence.split() if word.isdigit()]
    assert told == [round(100 * share) for share in shares]


def test_shares_that_would_look_alike_have_a_digit_more():
    wrong = np.arange(N) % 100 == 0
    answer = one({"odin": alarms(3, 0.02, 0.3, wrong)}, is_ood=False, wrong=wrong, category=None)
    same_text(answer.sentence)
    assert "99.3 %" in answer.sentence
    assert "99.0 %" in answer.sentence


def test_yardsticks_are_never_the_answer_whatever_they_do():
    answer = one({"random": BETTER, "odin": GOOD, "never": False, "always": True})
    assert answer.monitor == "odin"
    noted = {"monitors": [{"name": "coin", "yardstick": True}, {"name": "random", "yardstick": False}]}
    assert one({"coin": BETTER, "random": GOOD}, run=noted).monitor == "random"
    alone = one({"random": BETTER, "never": False})
    assert (alone.monitor, alone.helps, alone.sure) == (None, None, False)
    same_text(alone.sentence)


NO_HELP = np.arange(40) % 20 == 2


@pytest.mark.parametrize("others", [{}, {"oob": alarms(5, 0.06, 0.03)}])
def test_a_monitor_that_does_not_help_is_said_not_to(others):
    answer = one({"odin": alarms(4, 0.06, 0.02), **others})
    assert (answer.helps, answer.sure) == (False, True)
    same_text(answer.sentence)


def test_three_mistakes_tell_nothing_of_what_a_monitor_would_cancel():
    """Whose overall MCC is surely next to 0, whatever it cancels of so few."""
    wrong = np.arange(4000) % 1600 == 5
    answer = one({"odin": alarms(8, 0.05, 0.0, wrong)}, is_ood=False, wrong=wrong, category=None)
    assert (answer.helps, answer.sure) == (False, False)
    same_text(answer.sentence)


@pytest.mark.parametrize("options", [{"replicates": 15}, {"alpha": 1e-5}])
def test_too_few_draws_are_said_to_be(options):
    answer = one({"odin": WRONG}, **options)
    assert (answer.helps, answer.sure) == (True, False)
    same_text(answer.sentence)


def test_a_rate_of_instances_that_are_not_there_is_left_out():
    wrong = np.arange(N) % 2 == 0
    answer = one({"odin": alarms(7, 0.05, 0.6, wrong)}, is_ood=True, wrong=wrong)
    assert answer.sure
    same_text(answer.sentence)


@pytest.mark.parametrize(
    ("monitors", "helps"),
    [
        ({"odin": GOOD[:40]}, True),
        ({"odin": NO_HELP}, False),
        ({"odin": NO_HELP, "oob": np.roll(NO_HELP, 1)}, False),
    ],
)
def test_too_few_instances_are_said_to_be(monitors, helps):
    answer = one(monitors, is_ood=OOD[:40], wrong=WRONG[:40])
    assert (answer.helps, answer.sure) == (helps, False)
    same_text(answer.sentence)


def test_tracks_count_and_not_the_instances_in_them():
    track = [f"t{4 * (i // 300) + i % 4}" for i in range(N)]
    answer = one({"odin": GOOD}, track=track)
    assert (answer.helps, answer.sure) == (True, False)
    same_text(answer.sentence)


@pytest.mark.parametrize(("tracks", "sure"), [(4, False), (40, True)])
def test_nothing_is_sure_of_fewer_tracks_than_any_bound_needs(tracks, sure):
    track = [f"t{OOD[i]}{i // 4 % tracks}" for i in range(N)]
    answer = one({"odin": WRONG}, track=track)
    assert (answer.helps, answer.sure) == (True, sure)
    same_text(answer.sentence)


def test_what_never_cancels_or_always_does_does_not_help():
    for said in (False, True):
        answer = one({"odin": said, "oob": said})
        assert (answer.monitor, answer.helps, answer.sure) == (None, False, False)
        same_text(answer.sentence)


def test_where_nothing_tells_the_reason_is_given():
    right = {"wrong": False, "is_ood": False, "category": None}
    for columns in ({"label": None, "needs": "specific.mcc"}, right):
        answer = one({"odin": GOOD}, **columns)
        assert (answer.monitor, answer.helps, answer.sure) == (None, None, False)
        same_text(answer.sentence)
    failed = one({"odin": "singular"})
    assert failed.helps is None
    same_text(failed.sentence)


def test_monitors_that_may_be_better_and_have_no_value_are_named():
    answer = one({"odin": GOOD, "oob": "singular", "vim": False})
    assert (answer.monitor, answer.sure) == ("odin", True)
    same_text(answer.sentence)


def test_each_category_has_its_answer_by_the_mean_of_its_sets():
    kind = np.where(OOD, np.arange(N) // 4 % 3, -1)
    names = np.array(["fog", "snow", "shot", None], dtype=object)
    categories = np.array(["shift", "shift", "noise", None], dtype=object)
    monitors = {"odin": GOOD, "oob": np.where(kind == 2, BETTER, USELESS)}
    shift = asked(monitors, faultload=names[kind], category=categories[kind])
    assert [answer.category for answer in shift] == ["noise", "shift"]
    assert [answer.monitor for answer in shift] == ["oob", "odin"]
    same_text([answer.sentence for answer in shift])


def test_without_ood_instances_it_tells_of_decisions():
    for is_ood in (None, False, True):
        answer = one({"odin": GOOD}, is_ood=is_ood, category=None, faultload=None)
        assert answer.sure
        same_text(answer.sentence)


@pytest.mark.parametrize(
    ("confidence", "told"),
    [
        (GOOD, "Its overall MCC is higher than that of the plain confidence (max-softmax): p = 0.001."),
        (
            alarms(9, 0.06, 0.76),
            "Its overall MCC cannot be told from that of the plain confidence (max-softmax): p = 0.57.",
        ),
        (alarms(9, 0.0, 0.95), "It is the plain confidence: no other monitor has a higher overall MCC."),
    ],
)
def test_the_plain_confidence_is_what_it_has_to_beat(confidence, told):
    monitors = {"odin": BETTER, PLAIN_CONFIDENCE: confidence}
    assert one(monitors).sentence.endswith(f"without it. {told}")
    assert "plain" not in one(monitors, only=["odin"]).sentence, "it was not asked for"


def test_monitors_that_some_runs_lack_have_no_value_over_all_and_are_not_beaten():
    columns = {"is_ood": OOD, "wrong": WRONG, "category": "novelty", "faultload": "btsc"}
    every = {PLAIN_CONFIDENCE: GOOD, "odin": BETTER, "oob": BETTER}
    runs = [make_readouts(said, **columns) for said in ({PLAIN_CONFIDENCE: GOOD}, every, every)]
    (answer,) = answers(benchmark_sets(runs))
    assert answer.monitor == PLAIN_CONFIDENCE
    assert "no other monitor" not in answer.sentence
    same_text(answer.sentence)
    assert answers(benchmark_sets(runs[1:]))[0].monitor == "odin"


def test_the_plain_confidence_is_known_by_what_it_is(tmp_path):
    made = registry.make("monitor", PLAIN_CONFIDENCE, {})
    assert f"{type(made).__module__}:{type(made).__qualname__}" == ITS_CLASS
    notes = [{"name": "plain", "class": ITS_CLASS}, {"name": "odin", "class": "monitors.odin:Odin"}]
    run = make_readouts({"plain": BETTER, "odin": GOOD}, is_ood=OOD, wrong=WRONG, run={"monitors": notes})
    (answer,) = RunReport.of(run, tmp_path).answers
    assert answer.sentence.endswith("It is the plain confidence: no other monitor has a higher overall MCC.")
    notes[0]["class"] = "theirs:Other"
    (answer,) = RunReport.of(run, tmp_path).answers
    assert "plain confidence" not in answer.sentence


def test_what_a_monitor_warns_of_in_its_notes_is_told(tmp_path):
    notes = [{"name": "odin", "notes": {"warning": "k is large"}}, {"name": "oob", "notes": {"boxes": 3}}]
    run = make_readouts({"odin": BETTER, "oob": GOOD}, is_ood=OOD, wrong=WRONG, run={"monitors": notes})
    assert RunReport.of(run, tmp_path).warnings[-1:] == ["odin: k is large"]


@pytest.mark.parametrize(
    ("control", "replicates"), [(None, None), (None, 200), (PLAIN_CONFIDENCE, None), ("oob", None)]
)
def test_the_confidence_is_compared_by_the_table_of_a_comparison(control, replicates):
    """Over streams that are near to the border."""
    told = set()
    for seed in range(8):
        monitors = {"odin": alarms([seed, 0], 0.05, 0.56), PLAIN_CONFIDENCE: alarms([seed, 1], 0.05, 0.46)}
        monitors |= {f"m{i}": alarms([seed, 2, i], 0.1, 0.3) for i in range(3)} | {"oob": USELESS}
        run = make_readouts(monitors, is_ood=OOD, wrong=WRONG, category="novelty", faultload="btsc")
        options = {"seed": seed, "replicates": replicates, "control": control}
        (part,) = compare_runs([run], **options).sections
        (answer,) = answers(benchmark_sets([run]), **options)
        stands = {each.monitor: each for each in part.standings}
        than = stands["odin" if control else PLAIN_CONFIDENCE]
        like = than.like_control if control else than.like_best
        words = {True: "cannot be told from", False: "is higher than", None: "differs from"}
        said = [each for each in words.values() if each in answer.sentence]
        assert said == ([words[like]] if control != "oob" else [])
        told.update(said)
    expected = {"differs from"} if replicates else {"cannot be told from", "is higher than"}
    assert told == (set() if control == "oob" else expected)


@pytest.mark.parametrize("categories", [1, 3])
def test_it_is_sure_where_the_bound_of_the_gate_allows_for_the_choice(categories):
    """The same bound as a criterion's, at the level that so many monitors and categories ask for."""
    agreed = set()
    names = np.array([f"c{i}" for i in range(categories)])[np.arange(300) // 4 % categories]
    for seed in range(12):
        monitors = {f"m{i}": alarms([seed, i], 0.2, 0.22 + 0.02 * i, WRONG[:300]) for i in range(6)}
        run = make_readouts(monitors, is_ood=OOD[:300], wrong=WRONG[:300], category=names, faultload=names)
        sets = benchmark_sets([run])
        for one_set, answer in zip(sets, answers(sets, seed=seed), strict=True):
            asked_for = [(MCC, answer.monitor)]
            drawn = redrawn([one_set], asked_for, replicates=max(2000, 1200 * categories), seed=seed)
            value = Measure(one_set.records[0][answer.monitor]["overall"]["mcc"])
            low = drawn.bounds(asked_for[0], value, 1 - 0.05 / 6 / categories).low.value
            assert (answer.helps and answer.sure) == (low > 0)
            agreed.add(low > 0)
    assert agreed == {True, False}


# How often it is wrong. benchmarks/answer_errors.py is the long version. ----------------------------------


def made(random, monitors, *, tracks, frames, alike, helpful=False):
    """Draw a stream: errors and alarms are chances of which the frames of a track share a part."""

    def chance():
        of_track, of_frame = (
            random.standard_normal((2 * tracks, 1)),
            random.standard_normal((2 * tracks, frames)),
        )
        return (np.sqrt(alike) * of_track + np.sqrt(1 - alike) * of_frame).ravel()

    side = np.repeat([False, True], tracks * frames)
    wrong = chance() < np.where(side, 0.25, -1.6)
    said = {f"m{i}": chance() < -1.2 for i in range(monitors)}
    if helpful:
        said["helpful"] = chance() < np.where(wrong, 0.0, -1.6)
    track = [f"t{i}" for i in np.arange(len(side)) // frames]
    return make_readouts(said, is_ood=side, wrong=wrong, track=track)


@pytest.mark.parametrize(
    ("monitors", "tracks", "frames", "alike"), [(1, 40, 1, 0.0), (20, 40, 1, 0.0), (6, 15, 20, 0.2)]
)
def test_at_most_one_stream_in_twenty_is_said_to_have_what_it_has_not(monitors, tracks, frames, alike):
    random = np.random.default_rng(5)
    streams = [made(random, monitors, tracks=tracks, frames=frames, alike=alike) for _ in range(60)]
    found = [answers(benchmark_sets([each]), seed=i)[0] for i, each in enumerate(streams)]
    # Of 60 streams with a chance of one in twenty there are more than 7 in one of 190 cases.
    assert sum(answer.sure and answer.helps for answer in found) <= 7


def test_what_helps_is_found():
    random = np.random.default_rng(6)
    streams = [made(random, 5, tracks=40, frames=10, alike=0.2, helpful=True) for _ in range(20)]
    found = [answers(benchmark_sets([each]), seed=i)[0] for i, each in enumerate(streams)]
    assert [answer.monitor for answer in found] == ["helpful"] * 20
    assert sum(answer.sure and answer.helps for answer in found) >= 19
