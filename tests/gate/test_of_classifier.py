"""Criteria on what the classifier itself is worth: values, bounds that hold, and what cannot be judged."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

from farm.comparing.measures import CLASSIFIER, OF_CLASSIFIER
from farm.errors import ExperimentError
from farm.gate.bounds import redrawn
from farm.gate.criteria_file import parse_criteria
from farm.gate.criterion import parse_criterion
from farm.gate.evidence import Drawing, evidence
from farm.gate.observed import mean_over, size_of
from farm.gate.selected import select
from farm.gate.verdict import judge_criteria
from farm.judging import judge
from farm.measures.probability_sums import CLASSIFIER_ECE
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.gate.made_streams import MadeClassifier, classified, make_set, make_stream
from tests.wording import same_text

ACCURACY, BRIER_MEAN, BRIER_SUM, AUROC = [*OF_CLASSIFIER][:4]
OF_CLASSES = {name: OF_CLASSIFIER[name] for name in (ACCURACY, BRIER_MEAN, BRIER_SUM, AUROC, CLASSIFIER_ECE)}
CLASSES = 5


def bounded(sets, name, level=0.95, *, monitor=CLASSIFIER, replicates=2000):
    sets = sets if isinstance(sets, list) else [sets]
    made = redrawn(sets, [(name, monitor)], replicates=replicates, seed=0)
    found = made.bounds((name, monitor), mean_over(sets, name, monitor), level)
    return found.low.value, found.value.value, found.high.value


def run_of(seed=0, *, n_id=200, n_ood=200, novel=0, monitors=("odin", "oob"), tracks=80, **record):
    """A run of fog, and of a novel class where asked for, with all that a classifier said."""
    random = np.random.default_rng(seed)
    n = n_id + n_ood + novel
    is_ood = np.arange(n) >= n_id
    is_novel = np.arange(n) >= n_id + n_ood
    probabilities = random.dirichlet(np.full(CLASSES, 0.3), n)
    label = (probabilities.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    brier = np.square(probabilities - np.eye(CLASSES)[label]).sum(axis=1)
    return make_readouts(
        {name: random.random(n) < 0.1 for name in monitors},
        is_ood=is_ood,
        label=np.where(is_novel, -1, label),
        predicted=probabilities.argmax(axis=1),
        confidence=probabilities.max(axis=1),
        brier=np.where(is_novel, np.nan, brier),
        faultload=np.where(is_novel, "btsc", np.where(is_ood, "fog", None)),
        category=np.where(is_novel, "novelty", np.where(is_ood, "shift", None)),
        severity=np.where(is_ood & ~is_novel, 3.0, np.nan),
        track=[f"t{i}" for i in random.integers(0, tracks, n)],
        run={
            "folder": f"runs/{seed}",
            "workload": {"name": "signs"},
            "classifier": {"name": "lenet"},
            "classes": list("abcde"),
            "monitors": [{"name": name} for name in monitors],
            **record,
        },
    )


def found(runs, text, **options):
    criterion = parse_criterion(text)
    (selected,) = select(runs if isinstance(runs, list) else [runs], criterion)
    (monitor,) = selected.monitors
    assert monitor == CLASSIFIER
    return evidence(selected, criterion, monitor, Drawing(**options))


def problem(runs, text):
    with pytest.raises(ExperimentError) as raised:
        found(runs, text)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def asks(name):
    """A criterion that can be met and fail, whatever the measure."""
    highest = {BRIER_SUM: 0.9, CLASSIFIER_ECE: 0.4}.get(name, 0.2)
    return f"{name} >= 0.5" if OF_CLASSES[name] else f"{name} <= {highest}"


class TestValues:
    @pytest.mark.parametrize("name", OF_CLASSES)
    @pytest.mark.parametrize(("on", "part"), [("", "all"), (" on id", "id"), (" on ood", "ood")])
    def test_they_are_those_of_the_records(self, name, on, part):
        run = run_of()
        (record,) = (
            r
            for r in judge(run.instances, run.alarms, run.run)
            if (r["part"], r["monitor"]) == (part, "odin")
        )
        own = found(run, asks(name) + on)
        assert own.value.value == pytest.approx(record[name], abs=1e-12)
        assert own.low.value < own.value.value < own.high.value
        assert (own.n, own.n_ood) == (record["n"], record["n_ood"])

    @pytest.mark.parametrize("name", OF_CLASSES)
    def test_runs_of_one_set_are_repetitions(self, name):
        runs = [run_of(seed) for seed in range(3)]
        each = [found(run, asks(name) + " on faultload:fog severity:3").value.value for run in runs]
        own = found(runs, asks(name) + " on faultload:fog severity:3")
        assert own.value.value == pytest.approx(np.mean(each), abs=1e-12)
        assert len(own.sets) == 1
        assert own.n == 1200

    def test_what_has_no_right_answer_is_wrong_and_counts_for_accuracy_alone(self):
        run = run_of(novel=100)
        instances = run.instances[run.instances["faultload"] != "fog"]
        right = instances["label"] == instances["predicted"]
        own = found(run, "classifier_accuracy >= 0.5 on faultload:btsc")
        assert (own.value.value, own.n, own.n_ood) == (right.mean(), 300, 100)
        assert own.counts == {"right": right.sum(), "wrong": 300 - right.sum()}
        known = instances[instances["label"] >= 0]
        brier = found(run, "classifier_brier_sum <= 0.5 on faultload:btsc")
        assert brier.value.value == pytest.approx(known["brier"].mean())
        assert (brier.n, brier.n_ood) == (200, 0)
        auroc = found(run, "classifier_confidence_auroc >= 0.5 on faultload:btsc")
        assert auroc.value.value == pytest.approx(
            roc_auc_score(known["label"] == known["predicted"], known["confidence"])
        )
        assert (auroc.n, auroc.n_ood, sum(auroc.counts.values())) == (200, 0, 200)
        for name in OF_CLASSES:
            assert "'label' is -1 for all 100 instances" in problem(
                run, f"{asks(name)} on ood faultload:btsc"
            )

    def test_a_mean_over_classes_of_sets_with_other_numbers_of_them(self):
        streams = [classified([0] * 9, brier=np.full(9, 0.6), n_classes=k, track=range(9)) for k in (2, 6)]
        sets = [make_set(stream, name=f"f{i}") for i, stream in enumerate(streams)]
        assert mean_over(sets, BRIER_MEAN, CLASSIFIER).value == pytest.approx((0.3 + 0.1) / 2)
        assert mean_over(sets, BRIER_SUM, CLASSIFIER).value == pytest.approx(0.6)


class TestBounds:
    @pytest.mark.parametrize("k", [0, 1, 7, 59])
    def test_accuracy_of_single_tracks_has_clopper_and_pearsons(self, k):
        low, value, high = bounded(make_set(classified(np.arange(59) >= k)), ACCURACY)
        assert value == pytest.approx(k / 59)
        assert low == pytest.approx(beta.ppf(0.05, k, 60 - k) if k else 0.0)
        assert high == pytest.approx(beta.ppf(0.95, k + 1, 59 - k) if k < 59 else 1.0)

    def test_and_of_tracks_that_are_alike_in_themselves(self):
        track = np.arange(400) // 20
        low, value, high = bounded(make_set(classified(track < 3, track=track)), ACCURACY)
        assert value == 0.85
        assert (low, high) == pytest.approx((beta.ppf(0.05, 17, 4), beta.ppf(0.95, 18, 3)))

    @pytest.mark.parametrize("frames", [1, 4])
    def test_the_brier_score_has_those_of_a_bounded_mean(self, frames):
        """Weights by hand: the unseen track has the worst score, or the best one."""
        random, n = np.random.default_rng(3), 60
        brier = np.repeat(random.beta(0.5, 4, n // frames) * 2, frames)
        stream = classified(np.zeros(n), brier=brier, track=np.arange(n) // frames)
        low, value, high = bounded(make_set(stream), BRIER_SUM, replicates=40_000)
        weights = random.exponential(size=(40_000, n // frames + 1))
        seen = weights[:, :-1] @ brier[::frames]
        ends = [(seen + weights[:, -1] * end) / weights.sum(axis=1) for end in (0.0, 2.0)]
        assert value == pytest.approx(brier.mean())
        assert (low, high) == pytest.approx(
            (np.quantile(ends[0], 0.05), np.quantile(ends[1], 0.95)), rel=0.02
        )

    def test_perfect_scores_are_not_surely_perfect(self):
        low, value, high = bounded(make_set(classified(np.zeros(50), brier=np.zeros(50))), BRIER_SUM)
        assert (low, value) == (0.0, 0.0)
        assert high == pytest.approx(2 * (1 - 0.05 ** (1 / 50)), rel=0.1)

    def test_a_mean_over_classes_is_the_sum_divided(self):
        random = np.random.default_rng(1)
        one = make_set(classified(np.zeros(80), brier=random.random(80), n_classes=7))
        assert np.array(bounded(one, BRIER_MEAN)) * 7 == pytest.approx(np.array(bounded(one, BRIER_SUM)))

    @pytest.mark.parametrize("frames", [1, 5])
    def test_the_auroc_of_confidence_is_that_of_scores_with_wrong_ones_as_ood(self, frames):
        random, n = np.random.default_rng(5), 200
        wrong, track = random.random(n) < 0.3, np.arange(n) // frames
        confidence = np.where(wrong, random.random(n), random.beta(4, 1, n)).round(2)
        own = make_set(classified(wrong, confidence=confidence, track=track))
        other = make_set(make_stream(np.zeros(n), is_ood=wrong, score=-confidence, track=track))
        assert bounded(own, AUROC) == pytest.approx(bounded(other, "auroc", monitor="m"), abs=1e-12)

    @settings(max_examples=10)
    @given(st.integers(0, 10**6), st.integers(10, 60), st.integers(1, 40))
    def test_what_has_no_right_answer_changes_nothing(self, seed, n, unanswered):
        """Its instances are of tracks that have others, so that the draws are the same."""
        random = np.random.default_rng(seed)
        wrong = np.append([True, False], random.random(n - 2) < 0.4)
        said = {"confidence": random.random(n).round(1), "brier": 2 * random.random(n), "track": np.arange(n)}
        more = random.integers(0, n, unanswered)
        with_more = {name: np.append(values, values[more]) for name, values in said.items()}
        with_more["confidence"][n:] = with_more["brier"][n:] = np.nan
        known = make_set(classified(wrong, **said))
        answered = np.arange(n + unanswered) < n
        both = make_set(classified(np.append(wrong, wrong[more]), answered=answered, **with_more))
        assert bounded(both, AUROC, replicates=100) == pytest.approx(bounded(known, AUROC, replicates=100))
        brier = [bounded(one, BRIER_SUM, replicates=100) for one in (known, both)]
        assert brier[0][1] == pytest.approx(brier[1][1])
        assert size_of([both], AUROC).n == size_of([both], BRIER_SUM).n == n

    def test_the_share_of_ood_instances_stays(self):
        """All ID predictions are right and all OOD ones wrong: nothing else is seen of either."""
        is_ood = np.arange(800) >= 600
        low, value, high = bounded(make_set(classified(is_ood, is_ood=is_ood)), ACCURACY)
        assert value == 0.75
        assert low == pytest.approx(0.75 * 0.05 ** (1 / 600), rel=0.001)
        assert high == pytest.approx(0.75 + 0.25 * (1 - 0.05 ** (1 / 200)), rel=0.001)

    def test_what_is_novel_cannot_turn_out_right(self):
        is_ood = np.arange(800) >= 600
        stream = classified(is_ood, is_ood=is_ood, answered=~is_ood, brier=np.where(is_ood, np.nan, 0.0))
        assert bounded(make_set(stream, category="novelty"), ACCURACY)[2] == pytest.approx(0.75)
        high = bounded(make_set(stream, category="novelty"), BRIER_SUM)[2]
        assert high == pytest.approx(2 * (1 - 0.05 ** (1 / 600)), rel=0.1)

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            (np.arange(40) < 3, "the wrong predictions are of 3 tracks; a bound needs at least 5"),
            (np.arange(40) >= 1, "the right predictions are of 1 track; a bound needs at least 5"),
        ],
    )
    def test_a_side_of_few_tracks_has_no_bound(self, wrong, why):
        stream = classified(wrong, confidence=np.linspace(0, 1, 40))
        assert size_of([make_set(stream)], AUROC).too_few == f"fog 3 on signs with lenet: {why}"
        assert size_of([make_set(stream)], ACCURACY).too_few is None


HARD, EASY = MadeClassifier(3.0, 2.0, 0.0), MadeClassifier(7.0, 2.0, 0.0)
ALIKE = MadeClassifier(3.0, 2.0, 0.8)


def coverage(classifier, tracks, frames, streams):
    """In which shares of streams lower bounds are no higher than the truth, and upper ones no lower."""
    truth, random = classifier.truth(frames), np.random.default_rng([11, tracks, frames])
    held = {name: [] for name in OF_CLASSES}
    for seed in range(streams):
        one = [make_set(classifier.stream(random, tracks, frames))]
        values = {(name, CLASSIFIER): mean_over(one, name, CLASSIFIER) for name in OF_CLASSES}
        known = [c for c, v in values.items() if v.defined and size_of(one, c[0]).too_few is None]
        made = redrawn(one, known, replicates=400, seed=seed)
        for column in known:
            end, at = made.bounds(column, values[column], 0.95), truth[column[0]]
            held[column[0]].append((end.low.value <= at + 1e-12, end.high.value >= at - 1e-12))
    # Where few predictions are wrong, next to no stream has enough of them for a bound of the AUROC.
    return {name: np.mean(each, axis=0) for name, each in held.items() if len(each) >= streams / 10}


@pytest.mark.parametrize(
    ("classifier", "tracks", "frames", "streams"),
    [
        (HARD, 40, 1, 250),
        (ALIKE, 40, 10, 250),
        (EASY, 200, 1, 250),
        *(
            pytest.param(MadeClassifier(margin, 2.0, alike), tracks, frames, 2000, marks=pytest.mark.slow)
            for margin in (3.0, 7.0)
            for frames, alike in ((1, 0.0), (10, 0.8))
            for tracks in (30, 100, 300)
        ),
    ],
)
def test_bounds_at_95_percent_hold(classifier, tracks, frames, streams):
    found = coverage(classifier, tracks, frames, streams)
    assert min(min(each) for each in found.values()) >= 0.93, found


def test_a_rare_disaster_that_was_not_seen_is_allowed_for():
    """One instance in a hundred has a bad score, all others small ones: 37 % of streams of 100 show none."""
    random, truth = np.random.default_rng(4), 0.99 * 0.02 + 0.01 * 1.9
    highs = []
    for seed in range(300):
        brier = np.where(random.random(100) < 0.01, 1.9, 0.02 + 0.01 * (random.random(100) - 0.5))
        one = [make_set(classified(np.zeros(100), brier=brier))]
        made = redrawn(one, [(BRIER_SUM, CLASSIFIER)], replicates=400, seed=seed)
        highs.append(
            made.bounds((BRIER_SUM, CLASSIFIER), mean_over(one, BRIER_SUM, CLASSIFIER), 0.95).high.value
        )
    assert np.mean(np.array(highs) >= truth) >= 0.95


class TestVerdicts:
    def criteria(self, *texts, **more):
        return parse_criteria({"criteria": [*texts], **more}, "gate.yaml")

    def test_of_the_classifier_there_is_one_whatever_the_monitors(self):
        texts = ["classifier_accuracy >= 0.5", "classifier_brier_mean <= 0.2", "specific.fpr <= 30 %"]
        texts += ["classifier_confidence_auroc >= 0.99", "residual_hazard <= 0.9", "alarm_rate <= 99 %"]
        verdicts = judge_criteria([run_of()], self.criteria(*texts, monitors=["oob"]))
        told = [(one.criterion.measure, one.monitor, one.verdict) for one in verdicts]
        assert told == [
            ("classifier_accuracy", CLASSIFIER, "pass"),
            ("classifier_brier_mean", CLASSIFIER, "pass"),
            ("specific.fpr", "oob", "pass"),
            ("classifier_confidence_auroc", CLASSIFIER, "fail"),
            ("residual_hazard", "oob", "pass"),
            ("alarm_rate", "oob", "pass"),
        ]

    def test_too_few_instances_leave_it_undecided_and_say_how_many_would_do(self):
        run = run_of(n_id=0, n_ood=90, tracks=60)
        for name, higher in OF_CLASSES.items():
            value = found(run, asks(name)).value.value
            text = f"{name} {'>=' if higher else '<='} {value * (0.97 if higher else 1.03)}"
            (one,) = judge_criteria([run], self.criteria(text))
            assert one.verdict == "undecided"
            assert one.needed > 90

    @pytest.mark.parametrize("text", [asks(name) for name in OF_CLASSES])
    def test_what_else_is_drawn_changes_nothing(self, text):
        alone = judge_criteria([run_of()], self.criteria(text))
        among = judge_criteria([run_of()], self.criteria("overall.mcc >= 0.5", text, "coverage >= 0.5"))
        (own,) = (one for one in among if one.monitor == CLASSIFIER)
        assert own.evidence.low.value == pytest.approx(alone[0].evidence.low.value, abs=1e-12)
        assert own.evidence.high.value == pytest.approx(alone[0].evidence.high.value, abs=1e-12)

    @pytest.mark.parametrize("monitors", [("max-softmax",), ("never",), ()])
    @pytest.mark.parametrize("text", [asks(name) for name in OF_CLASSES])
    def test_a_run_of_faulted_instances_alone_with_any_monitors_or_none(self, text, monitors):
        run = run_of(n_id=0, n_ood=300, monitors=monitors)
        for on in ("", " on ood", " on faultload:fog severity:3"):
            (one,) = judge_criteria([run], self.criteria(text + on))
            assert (one.verdict, one.evidence.n) == ("pass", 300)
        assert "there is no ID instance" in problem(run, text + " on id")

    def test_a_failed_monitor_is_no_matter(self):
        run = run_of(monitors=("odin",))
        run = Readouts(
            run.instances, run.alarms[:0], {**run.run, "monitors": [{"name": "odin", "failure": "singular"}]}
        )
        (one,) = judge_criteria([run], self.criteria("classifier_accuracy >= 0.5"))
        assert one.verdict == "pass"

    def test_a_log_that_does_not_tell_what_is_ood(self, tmp_path):
        run = run_of(monitors=("odin",))
        log = run.instances.merge(run.alarms, on="position")
        log[["label", "predicted", "confidence", "brier", "alarm"]].to_csv(tmp_path / "log.csv", index=False)
        read = Readouts.load(tmp_path / "log.csv")
        for name in (ACCURACY, BRIER_SUM, AUROC):
            own = found(read, asks(name))
            assert own.value.value == pytest.approx(found(run, asks(name)).value.value)
        same_text(problem(read, asks(BRIER_MEAN)).replace(str(tmp_path), "."))

    def test_where_each_prediction_is_right_nothing_was_shown(self):
        run = run_of()
        run = Readouts(run.instances.assign(predicted=run.instances["label"]), run.alarms, run.run)
        (one,) = judge_criteria([run], self.criteria("classifier_confidence_auroc >= 0.5"))
        assert (one.verdict, one.reason) == ("fail", "undefined: each of the 400 predictions is right")


class TestWhatCannotBeJudged:
    @pytest.mark.parametrize(
        ("text", "columns", "record"),
        [
            ("classifier_accuracy >= 0.5 for odin", {}, {}),
            ("classifier_accuracy not worse than baseline:a by 0.1", {}, {}),
            ("classifier_brier_sum not worse than baseline:a by 0.1", {}, {}),
            ("classifier_accuracy <= 0.5", {}, {}),
            ("classifier_brier_sum <= 20 %", {}, {}),
            ("classifier_brier_mean <= 2 %", {}, {}),
            ("classifier_brier_sum <= 2", {}, {}),
            ("classifier_brier_mean <= 0.4", {}, {}),
            ("classifier_brier_mean <= 0.1", {}, {"classes": None}),
            ("classifier_brier_sum <= 0.1", {"brier": np.nan}, {}),
            ("classifier_brier_sum <= 0.1", {"brier": "some"}, {}),
            ("classifier_confidence_auroc >= 0.9", {"confidence": np.nan}, {}),
            ("classifier_accuracy >= 0.9", {"label": pd.NA}, {}),
        ],
    )
    def test_it_is_told_why(self, text, columns, record):
        run = run_of(**record)
        if columns.get("brier") == "some":
            columns = {"brier": run.instances["brier"].mask(run.instances["position"] > 350)}
        with pytest.raises(ExperimentError) as raised:
            found(Readouts(run.instances.assign(**columns), run.alarms, run.run), text)
        same_text(str(raised.value))

    def test_columns_that_an_old_run_does_not_have(self):
        run = run_of()
        old = Readouts(run.instances.drop(columns=["brier", "confidence"]), run.alarms, run.run)
        same_text(problem(old, "classifier_brier_mean <= 0.1"))
        same_text(problem(old, "classifier_confidence_auroc >= 0.9"))
        assert found(old, "classifier_accuracy >= 0.1").value.defined


def test_the_plain_test_set_is_asked_for_as_an_experiment_says_it():
    runs = [run_of(0), run_of(1, n_ood=0, n_id=300)]
    plain = found(runs, "classifier_accuracy >= 0.5 on faultload:none")
    assert plain.n == 300
    with_each = parse_criterion("classifier_accuracy >= 0.5 on each faultload")
    assert ["fog" in one.name for one in select(runs, with_each)] == [True]
