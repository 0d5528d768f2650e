"""The residual hazard of logs of which few instances are labelled, and how often its bounds are wrong."""

import numpy as np
import pytest
from scipy.stats import binom

from farm.gate.alarm_rates import alarm_records
from farm.gate.drift import Reference
from farm.gate.few_labels import CHOSEN, NO_CHANCE, FewLabels
from farm.report.tables import render
from farm.statistics.anytime import BettingSequence, PredictionPowered
from farm.store.logs import read_log
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import same_text


def field(random, n, *, chance=0.2, track=None, told=False, confident=True, **options):
    """A log with a monitor that alarms on some of what is wrong; labels of some, drawn with these chances."""
    wrong = random.random(n) < 0.15
    alarm = random.random(n) < np.where(wrong, 0.4, 0.05)
    chance = np.broadcast_to(chance(wrong, alarm) if callable(chance) else chance, n)
    sure = np.where(wrong, random.beta(3, 3, n), random.beta(20, 1, n))
    columns = {
        "label": np.where(random.random(n) < chance, 0.0, np.nan),
        "predicted": wrong.astype(int),
        "confidence": sure if confident else None,
        "label_chance": chance if told else None,
        "track": None if track is None else [f"t{i}" for i in track],
        **options,
    }
    made = make_readouts({"odin": {"score": random.normal(size=n), "alarm": alarm}}, is_ood=None, **columns)
    return made, float((wrong & ~alarm).mean())


def ends(bounded):
    return bounded.low.value, bounded.high.value


def test_guesses_stand_for_those_without_a_label_and_labels_mend_them():
    made, _ = field(np.random.default_rng(0), 500, told=True)
    few = FewLabels.of(made)
    alarms, instances = made.alarms["alarm"].to_numpy(), made.instances
    known = instances["label"].notna().to_numpy()
    hazard = ((instances["predicted"] == 1) & ~alarms).to_numpy(dtype=float)
    expected = PredictionPowered(0.2)
    doubt = np.where(alarms, 0.0, 1 - instances["confidence"])
    expected.add(doubt, np.where(known | alarms, hazard, np.nan), np.full(500, 0.2))
    alone = BettingSequence()
    alone.add(hazard[known])
    found = few.hazard("odin", 0.95)
    assert [ends(each) for each in found] == [(expected.low, expected.high), (alone.low, alone.high)]
    assert found[0].value.value == pytest.approx(expected.mean)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("frames", [1, 5])
def test_bounds_hold(told, frames):
    """In 120 logs a fifth is labelled; where it is not told, the chance is what was seen."""
    random, missed = np.random.default_rng(3), np.zeros(2)
    track = None if frames == 1 else np.repeat(np.arange(400 // frames), frames)
    truth = 0.15 * 0.6
    for _ in range(120):
        made, _ = field(random, 400, told=told, track=track)
        for way, each in enumerate(FewLabels.of(made).hazard("odin", 0.9)):
            low, high = ends(each)
            missed[way] += not low <= truth <= high
    assert missed.max() <= binom.ppf(0.999, 120, 0.1)


def test_bounds_hold_where_tracks_are_of_unequal_length_and_short_ones_seldom_have_a_label():
    """Of 2 decisions in long tracks one is wrong, of short ones none; frames of a track are asked apart."""
    random, missed, times = np.random.default_rng(8), np.zeros(2), 80
    for _ in range(times):
        lengths = np.where(random.random(120) < 0.5, 20, 1)
        wrong = random.random(lengths.sum()) < np.repeat(np.where(lengths == 20, 0.5, 0.0), lengths)
        label = np.where(random.random(len(wrong)) < 0.2, 0.0, np.nan)
        track = [f"t{i}" for i in np.arange(120).repeat(lengths)]
        known = {"label": label, "predicted": 1 * wrong, "confidence": np.where(wrong, 0.6, 0.9)}
        made = make_readouts({"never": np.zeros(len(wrong), dtype=bool)}, is_ood=None, track=track, **known)
        for way, each in enumerate(FewLabels.of(made).hazard("never", 0.9)):
            low, high = ends(each)
            missed[way] += not low <= 0.5 * 20 / 21 <= high
    assert missed.max() <= binom.ppf(0.999, times, 0.1)


@pytest.mark.parametrize(
    "confidence", [np.full(300, np.nan), np.linspace(-3, 8, 300), np.linspace(0, 1.01, 300)]
)
def test_confidence_that_cannot_be_one_guesses_nothing_and_that_is_said(confidence):
    made, _ = field(np.random.default_rng(9), 300, confidence=confidence)
    blind, _ = field(np.random.default_rng(9), 300, confidence=None)
    few = FewLabels.of(made)
    assert few.hazard("odin", 0.9) == FewLabels.of(blind).hazard("odin", 0.9)
    assert few.record("odin", 0.9)["guessed_by"] is None
    same_text(few.sentence("odin", 0.9))


def test_who_asks_where_it_is_doubtful_must_tell_the_chance():
    """Labels are drawn most where it is wrong: with the chances bounds hold, and without they fail."""
    random, missed = np.random.default_rng(4), {True: 0, False: 0}

    def doubtful(wrong, alarm):
        return np.where(wrong, 0.9, 0.1)

    for _ in range(60):
        for told in missed:
            made, _ = field(random, 400, told=told, chance=doubtful)
            found, alone = FewLabels.of(made).hazard("odin", 0.9)
            low, high = ends(found)
            missed[told] += not low <= 0.09 <= high
            assert (alone.low.reason == CHOSEN) == told
    assert missed[True] <= binom.ppf(0.999, 60, 0.1) < missed[False]


def test_good_guesses_make_bounds_narrower():
    random = np.random.default_rng(5)
    made, truth = field(random, 6000, chance=0.1)
    width = [np.diff(ends(each)) for each in FewLabels.of(made).hazard("odin", 0.95)]
    assert width[0] < 0.9 * width[1]
    blind, _ = field(np.random.default_rng(5), 6000, chance=0.1, confident=False)
    low, high = ends(FewLabels.of(blind).hazard("odin", 0.95)[0])
    assert low <= truth <= high


def test_what_is_unknown_has_a_reason():
    made, _ = field(np.random.default_rng(6), 50)
    assert FewLabels.of(Readouts(made.instances.drop(columns="label"), made.alarms, made.run)) is None
    assert FewLabels.of(Readouts(made.instances.assign(label=np.nan), made.alarms, made.run)) is None
    assert FewLabels.of(Readouts(made.instances.assign(label=0), made.alarms, made.run)) is None
    gap = made.instances.assign(label_chance=np.where(np.arange(50) == 3, np.nan, 0.2))
    few = FewLabels.of(Readouts(gap, made.alarms, made.run))
    assert [each.value.reason for each in few.hazard("odin", 0.95)] == [NO_CHANCE, NO_CHANCE]
    same_text(few.sentence("odin", 0.95))


def test_a_log_tells_labels_chances_and_records_the_hazard(tmp_path):
    random = np.random.default_rng(7)
    lines = ["predicted,alarm,score,label,label_chance,confidence"]
    for _ in range(600):
        wrong, asked = random.random() < 0.1, random.random() < 0.3
        label = "0" if asked else ""
        lines.append(f"{int(wrong)},0,{random.normal():.3f},{label},0.3,{0.4 if wrong else 0.97}")
    path = tmp_path / "june.csv"
    path.write_text("\n".join(lines) + "\n")
    log = Readouts(*read_log(path))
    before = make_readouts({"monitor": {"score": random.normal(size=100)}}, is_ood=None, label=None)
    name = log.run["monitors"][0]["name"]
    before.alarms["monitor"] = name
    records = alarm_records(log, reference=Reference.of(before, "may"))
    hazard = records[0]["anytime"]["residual_hazard"]
    assert hazard["low"] <= 0.1 <= hazard["high"] < 0.2
    assert hazard["n_labelled"] == log.instances["label"].notna().sum()
    shown = render(records, width=100)
    assert shown.count("Taken for granted") == 1
    same_text("\n".join([hazard["sentence"], hazard["assumption"]]))
    unlabelled = alarm_records(before, reference=Reference.of(log, "june"))
    assert unlabelled[0]["anytime"]["residual_hazard"] is None


def test_what_is_taken_for_granted_of_tracks_is_told():
    made, _ = field(np.random.default_rng(10), 60, track=np.repeat(np.arange(12), 5))
    same_text(FewLabels.of(made).assumption)
