import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from farm.comparing import measured
from farm.errors import ExperimentError
from farm.gate.baseline.baseline import load_baseline, paired_sets
from farm.gate.baseline.difference import paired_differences
from farm.gate.baseline.saving import save_baseline
from farm.gate.binomial import Trials
from farm.gate.criteria_file import parse_criteria
from farm.gate.criterion import parse_criterion
from farm.gate.demand import NO_NUMBER, Demand, Evidence
from farm.gate.verdict import judge_criteria
from farm.measures import Measure, undefined
from farm.statistics.clopper_pearson import high_of_share
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.comparing.made_runs import FOG, NOISE, RATES, make_run
from tests.gate.baseline.kept_runs import seldom_drawn
from tests.gate.made_streams import alike
from tests.wording import same_text

ORDER = {"fail": 0, "undecided": 1, "pass": 2}


def judged(runs, *texts, seed=0, replicates=300, path="gate.yaml", **options):
    file = parse_criteria({"criteria": list(texts), **options}, path)
    runs = runs if isinstance(runs, list) else [runs]
    return judge_criteria(runs, file, seed=seed, replicates=replicates)


def problem(runs, text, **options):
    with pytest.raises(ExperimentError) as raised:
        judged(runs, text, **options)
    told = str(raised.value)
    assert "\n" not in told
    assert f"criterion 1 '{text}': " in told
    return told.partition(f"criterion 1 '{text}': ")[2]


def made(alarm, is_ood, *, track=None, wrong=None, seed=0):
    """A run on one fault, of one monitor, or of several: a dictionary of their alarms."""
    said = alarm if isinstance(alarm, dict) else {"m": alarm}
    alarm = next(iter(said.values()))
    track = (np.arange(len(alarm)) if track is None else np.asarray(track)).astype(str)
    record = {"folder": f"runs/{seed}", "workload": {"name": "signs"}}
    return make_readouts(
        said,
        is_ood=is_ood,
        wrong=False if wrong is None else wrong,
        track=track,
        severity=None,
        run=record,
    )


def verdicts(text, draw, is_ood, times, *, at_once=20, **options):
    """Judge so many monitors whose alarms are drawn, some in a run together, as that takes less time."""
    found = []
    for seed in range(times // at_once):
        run = made({f"m{i}": draw() for i in range(at_once)}, is_ood, **options)
        found += [one.verdict for one in judged(run, text, seed=seed)]
    assert len(found) == times
    return found


def quiet(k, n):
    """A run with k false alarms on n independent ID instances."""
    return made(np.arange(n + 10) < k, np.arange(n + 10) >= n)


def seen(value, low, high, *, n=100, trials=None, counts=None):
    """Evidence; what is text is the reason why there is no number."""
    ends = [undefined(x) if isinstance(x, str) else Measure(float(x)) for x in (value, low, high)]
    return Evidence(*ends, 0.95, n, 50, n, (), "", counts, trials)


def verdict(text, *ends, **options):
    return Demand.of(parse_criterion(text)).judge(seen(*ends, **options))


class TestRule:
    @pytest.mark.parametrize(
        ("text", "ends", "expected", "reason"),
        [
            ("overall.mcc >= 0.4", (0.5, 0.4, 0.6), "pass", "at least 0.4"),
            (
                "overall.mcc >= 0.4",
                (0.5, 0.3999, 0.6),
                "undecided",
                "between 0.3999 and 0.6, and 0.4 is within",
            ),
            ("overall.mcc >= 0.4", (0.3, 0.2, 0.4), "undecided", "between 0.2 and 0.4, and 0.4 is within"),
            ("overall.mcc >= 0.4", (0.3, 0.2, 0.39), "fail", "at most 0.39, which is below 0.4"),
            ("overall.mcc > 0.4", (0.5, 0.4, 0.6), "undecided", "between 0.4 and 0.6, and 0.4 is within"),
            ("overall.mcc > 0.4", (0.3, 0.2, 0.4), "fail", "at most 0.4, which is not above 0.4"),
            ("specific.fpr <= 0.05", (0.02, 0.01, 0.05), "pass", "at most 0.05"),
            (
                "specific.fpr <= 0.05",
                (0.07, 0.05, 0.1),
                "undecided",
                "between 0.05 and 0.1, and 0.05 is within",
            ),
            ("specific.fpr <= 0.05", (0.07, 0.0501, 0.1), "fail", "at least 0.0501, which is above 0.05"),
            (
                "specific.fpr < 0.05",
                (0.02, 0.01, 0.05),
                "undecided",
                "between 0.01 and 0.05, and 0.05 is within",
            ),
            ("specific.fpr < 0.05", (0.07, 0.05, 0.1), "fail", "at least 0.05, which is not below 0.05"),
            ("monitor_time_us.p99 <= 500", (300, 200, "few"), "undecided", "few"),
            ("monitor_time_us.p99 <= 500", (600, 501, "few"), "fail", "at least 501, which is above 500"),
            ("overall.mcc >= 0.4", (0.9, "few", "few"), "undecided", "few"),
            ("overall.mcc >= 0.4", (-0.9, "few", "few"), "undecided", "few"),
        ],
    )
    def test_the_bound_on_the_worse_side_passes_and_the_better_one_fails(self, text, ends, expected, reason):
        found = verdict(text, *ends)
        assert found[0] == expected
        assert found[2].removesuffix(f"; {NO_NUMBER}") == reason
        if expected != "undecided":
            assert found[1] is None

    @pytest.mark.parametrize(
        ("measure", "ends", "expected", "reason"),
        [
            ("overall.mcc", (0.0, -0.02, 0.02), "pass", "worse by at most 0.02, and 0.02 is allowed"),
            ("overall.mcc", (0.1, 0.05, 0.15), "pass", "better by at least 0.05"),
            ("overall.mcc", (-0.01, -0.03, 0.01), "undecided", "worse by -0.01 to 0.03, and 0.02 is allowed"),
            ("overall.mcc", (-0.08, -0.11, -0.052), "fail", "worse by at least 0.052, and 0.02 is allowed"),
            ("specific.fpr", (0.0, -0.02, 0.02), "pass", "worse by at most 0.02, and 0.02 is allowed"),
            ("specific.fpr", (-0.1, -0.15, -0.05), "pass", "better by at least 0.05"),
            ("specific.fpr", (0.01, -0.01, 0.03), "undecided", "worse by -0.01 to 0.03, and 0.02 is allowed"),
            ("specific.fpr", (0.08, 0.052, 0.11), "fail", "worse by at least 0.052, and 0.02 is allowed"),
        ],
    )
    def test_not_worse_turns_with_the_good_end(self, measure, ends, expected, reason):
        found = verdict(f"{measure} not worse than baseline:main by 0.02", *ends)
        assert (found[0], found[2]) == (expected, reason)

    def test_missed_onsets_are_told_of(self):
        counts, trials = {"onsets": 80, "missed": 9}, Trials(71, 80, 0.95)
        found = verdict("detection_delay.p95 <= 10", np.inf, 3, np.inf, n=80, counts=counts, trials=trials)
        assert found[1] > 80
        same_text(found[2])
        found = verdict("detection_delay.p95 <= 10", np.inf, np.inf, np.inf, n=80, counts=counts)
        same_text(found[2])

    @given(
        st.tuples(*[st.floats(0, 1)] * 3).map(sorted),
        st.floats(0.01, 0.99),
        st.floats(0.01, 0.99),
        st.sampled_from([">=", ">", "<=", "<"]),
    )
    def test_a_stricter_bound_is_never_easier(self, ends, one, other, relation):
        measure = "specific.recall" if ">" in relation else "specific.fnr"
        low, value, high = ends
        lax, strict = sorted([one, other], reverse="<" in relation)
        first, second = (verdict(f"{measure} {relation} {b!r}", value, low, high)[0] for b in (lax, strict))
        assert ORDER[second] <= ORDER[first]


class TestNeeded:
    def test_bounds_draw_near_with_the_root_of_the_number(self):
        # A bound at 95 % lies 1.645 standard errors off; to decide in 80 % it takes 0.842 of them more.
        more = (1 + 0.841621 / 1.644854) ** 2
        for needed, *seen in (
            (400, "overall.mcc >= 0.4", 0.5, 0.3, 0.65),
            (900, "overall.mcc >= 0.4", 0.35, 0.2, 0.5),
            (400, "residual_hazard <= 0.2", 0.1, 0.05, 0.3),
            (400, "overall.mcc not worse than baseline:a by 0.02", 0.01, -0.05, 0.07),
        ):
            assert verdict(*seen)[1] == pytest.approx(needed * more, abs=1)

    def test_but_with_the_number_itself_where_nothing_varies(self):
        assert verdict("overall.mcc >= 0.9", 1.0, 0.8, 1.0)[1] == 200
        assert verdict("overall.mcc not worse than baseline:a by 0.02", 0.0, -0.05, 0.05)[1] == 250

    def test_no_number_decides_what_is_the_bound_itself(self):
        found = verdict("overall.mcc >= 0.4", 0.4, 0.3, 0.5)
        assert found == ("undecided", None, f"between 0.3 and 0.5, and 0.4 is within; {NO_NUMBER}")

    def test_what_has_no_bounds_has_no_number(self):
        assert verdict("overall.mcc >= 0.4", 0.5, "few tracks", "few tracks") == (
            "undecided",
            None,
            "few tracks",
        )

    def test_shares_are_searched_for(self):
        (found,) = judged(quiet(5, 200), "specific.fpr <= 0.05")
        assert found.verdict == "undecided"

        def chance(n):
            """Return how probable so few alarms are that the bound is met, where 5 in 200 is true."""
            few = next(k for k in range(n) if high_of_share(k, n, 0.95) > 0.05)
            return binom.cdf(few - 1, n, 5 / 200)

        assert chance(found.needed) >= 0.8 > chance(found.needed - 1)
        (surer,) = judged(quiet(5, 200), "specific.fpr <= 0.05", power=0.95)
        assert surer.needed > 1.3 * found.needed
        assert (found.power, surer.power) == (0.8, 0.95)

    def test_tracks_are_told_as_instances(self):
        alarm = np.zeros(310)
        run = made(alarm, np.arange(310) >= 300, track=np.arange(310) // 10)
        (found,) = judged(run, "specific.fpr <= 0.05")
        assert found.verdict == "undecided"
        # 59 quiet tracks show 5 %, and each is of 10 instances.
        assert (found.needed, found.evidence.n) == (590, 300)

    def test_it_is_more_than_there_are(self):
        trials = Trials(0, 58.99, 0.05)
        assert verdict("specific.fpr <= 0.05", 0.0, 0.0, 0.0501, n=59, trials=trials)[1] == 60

    @pytest.mark.parametrize(
        "text", ["specific.mcc >= 0.68", "specific.error <= 0.16", "specific.fpr <= 0.16"]
    )
    def test_it_does_decide(self, text):
        """Of so many instances four of five streams; of a quarter, less than half."""
        random = np.random.default_rng(1)

        is_ood = np.arange(200) >= 100
        (first,) = judged(made(is_ood ^ (np.arange(200) % 8 == 0), is_ood), text)
        assert first.verdict == "undecided"
        per = 2 if "fpr" in text else 1
        decided = []
        for n in (per * first.needed // 4, per * first.needed):
            is_ood = np.arange(n) >= n // 2
            found = verdicts(
                text, lambda is_ood=is_ood: is_ood ^ (random.random(len(is_ood)) < 0.125), is_ood, 40
            )
            decided.append(found.count("pass") / 40)
        assert decided[0] < 0.5
        # 40 streams: 0.8 give or take two and a half times 0.063.
        assert 0.64 <= decided[1] <= 0.96


class TestErrorRate:
    """Where the truth is the bound itself, whichever verdict there is but `undecided` is wrong."""

    def test_of_a_rate_of_instances(self):
        random = np.random.default_rng(3)
        is_ood = np.arange(310) >= 300
        found = verdicts("specific.fpr <= 0.05", lambda: random.random(310) < 0.05, is_ood, 300)
        assert 0.01 <= found.count("pass") / 300 <= 0.075
        assert 0.01 <= found.count("fail") / 300 <= 0.075

    def test_of_mcc_by_tracks(self):
        random = np.random.default_rng(4)

        def draw():
            id_alarm, ood_alarm = alike(random, 40, 5, 0.1, 0.4), alike(random, 40, 5, 0.8, 0.4)
            return np.concatenate([id_alarm.ravel(), ood_alarm.ravel()])

        truth = (0.9 * 0.8 - 0.1 * 0.2) / math.sqrt(0.9 * 1.1)
        text, is_ood = f"specific.mcc >= {truth!r}", np.arange(400) >= 200
        found = verdicts(text, draw, is_ood, 200, track=np.arange(400) // 5)
        passed, failed = found.count("pass") / 200, found.count("fail") / 200
        assert passed <= 0.08
        assert failed <= 0.09
        assert passed + failed > 0


class TestMonotone:
    @given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0.02, 0.05, 0.2, 0.5]))
    @settings(max_examples=20)
    def test_fewer_false_alarms_never_make_a_pass_a_fail(self, one, other, bound):
        fewer, more = sorted((one, other))
        better, worse = (judged(quiet(k, 120), f"specific.fpr <= {bound}")[0].verdict for k in (fewer, more))
        assert ORDER[better] >= ORDER[worse]

    @given(st.integers(0, 2**20), st.sampled_from(["overall.mcc >= 0.5", "residual_hazard <= 0.2"]))
    @settings(max_examples=15)
    def test_a_monitor_that_makes_fewer_mistakes_never_fails_where_the_other_passes(self, seed, text):
        random = np.random.default_rng(seed)
        is_ood, track = np.arange(120) >= 60, random.integers(0, 30, 120)
        wrong = is_ood & (random.random(120) < 0.9)
        mistaken = random.random(120) < random.choice([0.05, 0.2, 0.4])
        less = mistaken & (random.random(120) < 0.6)
        better, worse = (
            judged(made(wrong ^ each, is_ood, track=track, wrong=wrong), text)[0].verdict
            for each in (less, mistaken)
        )
        assert (better, worse) != ("fail", "pass")


class TestFile:
    def test_verdicts_come_in_the_order_of_the_file_and_of_the_run(self):
        run = make_run(faults=(NOISE, FOG))
        texts = ("coverage >= 0.1 for poor, good", "overall.mcc >= 0.2 on each faultload")
        found = [(str(one.criterion.measure), one.where, one.monitor) for one in judged(run, *texts)]
        assert found == [
            ("coverage", "all sets", "good"),
            ("coverage", "all sets", "poor"),
            *(
                ("overall.mcc", f"faultload:{fault}", monitor)
                for fault in ("fog", "gaussian-noise")
                for monitor in RATES
            ),
        ]

    def test_good_monitors_pass_and_poor_ones_fail(self):
        run = make_run(faults=(NOISE,), n_id=2000, n_ood=2000, tracks=0)
        found = judged(run, "specific.mcc >= 0.6", "specific.fpr <= 0.1 on id", "specific.fnr <= 0.3 on ood")
        assert [(one.monitor, one.verdict) for one in found] == [
            *(("good", "pass"), ("middling", "fail"), ("poor", "fail")),
            *((monitor, "pass") for monitor in RATES),
            *(("good", "pass"), ("middling", "fail"), ("poor", "fail")),
        ]

    def test_a_monitor_that_failed_cannot_be_judged(self):
        found = judged(make_run(failed=("middling",)), "coverage >= 0.1")
        (failed,) = [one for one in found if one.monitor == "middling"]
        told = "could not be judged, because the monitor failed: singular"
        assert (failed.verdict, failed.needed, failed.reason) == ("error", None, told)
        same_text(failed.evidence.value.reason)
        assert failed.evidence.n == 0
        assert {one.verdict for one in found if one is not failed} == {"pass"}

    @pytest.mark.parametrize(
        ("failure", "told"),
        [
            ("monitor 'poor' failed in score: ValueError: no", "the monitor failed in score: ValueError: no"),
            ("monitor 'poor' returned the score nan", "the monitor returned the score nan"),
            ("monitor 'poor': its policy failed: KeyError: 1", "the monitor's policy failed: KeyError: 1"),
            ("monitor 'poorer' is gone", "the monitor failed: monitor 'poorer' is gone"),
            ("monitor 'poor'", "the monitor failed: monitor 'poor'"),
        ],
    )
    def test_who_failed_is_told_once(self, failure, told):
        run = make_run(failed=("poor",))
        (note,) = [one for one in run.run["monitors"] if one["name"] == "poor"]
        note["failure"] = failure
        (found,) = judged(run, "coverage >= 0.1 for poor")
        assert found.reason == f"could not be judged, because {told}"

    @pytest.mark.parametrize(
        ("failure", "told"),
        [
            ("monitor 'poor' failed in score: no", "failed in score: no"),
            ("monitor 'poor': its policy failed: no", "its policy failed: no"),
            ("singular", "singular"),
        ],
    )
    def test_of_several_runs_the_first_that_failed_is_named(self, failure, told):
        runs = [make_run(), make_run(failed=("poor",))]
        (note,) = [one for one in runs[1].run["monitors"] if one["name"] == "poor"]
        note["failure"] = failure
        (found,) = judged(runs, "coverage >= 0.1 for poor")
        same_text(found.reason)
        assert found.reason.endswith(f": {told})")

    def test_all_monitors_may_have_failed(self):
        found = judged(make_run(failed=tuple(RATES)), "coverage >= 0.1")
        assert [one.verdict for one in found] == ["error"] * 3

    def test_no_value_meets_nothing(self):
        run = made(np.zeros(60), np.arange(60) >= 30)
        (found,) = judged(run, "specific.mcc >= 0.1")
        assert (found.verdict, found.needed) == ("fail", None)
        same_text(found.reason)
        told = problem(run, "specific.mcc >= 0.1", undefined="error")
        same_text(told)

    def test_too_few_tracks_are_undecided_however_good_the_value(self):
        is_ood = np.arange(400) >= 200
        (found,) = judged(made(is_ood, is_ood, track=np.arange(400) // 100), "specific.mcc >= 0.1")
        assert (found.verdict, found.needed) == ("undecided", None)
        same_text(found.reason)

    def test_what_cannot_be_judged_is_an_error_before_anything_is_drawn(self):
        same_text(problem(make_run(), "aupr >= 0.4"))
        assert problem(make_run(), "overall.mcc >= 0.4 on category:nois").startswith(
            "nothing has category:nois"
        )

    def test_what_has_no_bound_is_refused_first(self):
        """Before a criterion that stands above it is found to have no value, and where nobody is judged."""
        never = make_run(rates={"never": (0.0, 0.0)}, faults=(FOG,))
        with pytest.raises(ExperimentError) as raised:
            judged(never, "overall.mcc >= 0.4", "aupr >= 0.4", undefined="error")
        assert "criterion 2 'aupr >= 0.4'" in str(raised.value)
        for text in ("aupr >= 0.4", "monitor_time_us.max <= 500"):
            assert "bound" in problem(make_run(failed=tuple(RATES)), text)

    def test_seed_and_replicates_are_the_files_unless_they_are_told(self):
        run, text = make_run(faults=(FOG,)), "overall.mcc >= 0.4"
        file = parse_criteria({"criteria": [text], "seed": 5, "replicates": 150}, "gate.yaml")
        by_file = judge_criteria([run], file)
        assert by_file == judge_criteria([run], replace(file, seed=0), seed=5, replicates=150)
        assert by_file != judge_criteria([run], file, seed=6)
        assert "150 draws" in by_file[0].evidence.method

    def test_the_rows_order_is_no_matter(self):
        one, other = (
            judged(make_run(shuffled=s), "overall.mcc >= 0.4", "auroc >= 0.6") for s in (False, True)
        )
        for a, b in zip(one, other, strict=True):
            assert (a.verdict, a.needed) == (b.verdict, b.needed)
            assert a.evidence.low.value == pytest.approx(b.evidence.low.value, abs=1e-12)


@pytest.fixture(scope="module", autouse=True)
def few_draws():
    with seldom_drawn():
        yield


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run, and where it is saved as a baseline."""
    run, folder = make_run(faults=(NOISE, FOG), n_id=600, n_ood=400), tmp_path_factory.mktemp("kept")
    save_baseline(run, folder / "main.yaml")
    return run, folder


def other(run, monitor, share, seed=0):
    """The same run, but that a monitor now misses this share of what it found."""
    lost = (run.alarms["monitor"] == monitor) & (np.random.default_rng(seed).random(len(run.alarms)) < share)
    return Readouts(run.instances, run.alarms.assign(alarm=run.alarms["alarm"] & ~lost), run.run)


class TestBaseline:
    TEXT = "specific.fnr not worse than baseline:main.yaml by 0.05"

    def test_the_same_passes_and_what_misses_more_fails(self, kept):
        run, folder = kept
        found = judged(other(run, "good", 0.3), self.TEXT, path=folder / "gate.yaml")
        assert [(one.monitor, one.verdict) for one in found] == [
            ("good", "fail"),
            ("middling", "pass"),
            ("poor", "pass"),
        ]
        good, same, _ = found
        assert good.evidence.value.value == pytest.approx(0.8 * 0.3, abs=0.05)
        assert good.evidence.low.value < good.evidence.value.value < good.evidence.high.value
        same_text(good.reason)
        assert (same.evidence.value.value, same.reason[:9]) == (0.0, "worse by ")
        assert (good.evidence.n, good.evidence.n_ood) == (800, 800)
        assert "before alone on" in good.evidence.method

    def test_one_side_and_each_value_are_those_of_the_run(self, kept):
        run, folder = kept
        now = other(run, "good", 0.3)
        texts = (
            "overall.error not worse than baseline:main.yaml by 0.02 on ood each faultload for good",
            "specific.fpr not worse than baseline:main.yaml by 0.02 on id for good",
        )
        found = judged(now, *texts, path=folder / "gate.yaml")
        assert [one.where for one in found] == ["ood faultload:fog", "ood faultload:gaussian-noise", "id"]
        for one, fault in zip(found[:2], ("fog", "gaussian-noise"), strict=True):
            rows = (run.instances["faultload"] == fault).to_numpy()
            wrong = (run.instances["predicted"] != run.instances["label"]).to_numpy()[rows]
            errors = [
                np.mean(each.alarms[each.alarms["monitor"] == "good"]["alarm"].to_numpy()[rows] != wrong)
                for each in (run, now)
            ]
            assert one.evidence.value.value == pytest.approx(errors[1] - errors[0], abs=1e-12)
            assert one.evidence.n == one.evidence.n_ood == 400
        assert found[2].evidence.value.value < 0
        assert found[2].verdict == "pass"

    def test_a_runs_folder_is_a_baseline_too(self, kept):
        run, folder = kept
        record = {key: value for key, value in run.run.items() if key != "folder"}
        Readouts(run.instances, run.alarms, record).save(folder / "main")
        text = "specific.fnr not worse than baseline:main by 0.05"
        assert {one.verdict for one in judged(run, text, path=folder / "gate.yaml")} == {"pass"}

    def test_bounds_are_those_of_the_paired_difference_each_at_the_level(self, kept):
        run, folder = kept
        now = other(run, "good", 0.1)
        (found,) = judged(now, f"{self.TEXT} for good at 90 %", path=folder / "gate.yaml", seed=3)
        sets = paired_sets([now], load_baseline(folder / "main.yaml"))
        measure = measured("specific.fnr")
        (own,) = paired_differences(sets, measure, ["good"], level=0.8, replicates=300, seed=3)
        expected = (own.difference.low.value, own.difference.value.value, own.difference.high.value)
        evidence = found.evidence
        got = (evidence.low.value, evidence.value.value, evidence.high.value)
        assert got == pytest.approx(expected, abs=1e-12)
        assert evidence.level == 0.9

    def test_another_classifier_is_noted_where_a_monitor_does_not_pass(self, tmp_path):
        def of(run, digest, name="demo"):
            return replace(run, run={**run.run, "name": name, "classifier": {"digest": digest}})

        def noted(*runs):
            (found,) = judged(list(runs), f"{self.TEXT} for good", path=tmp_path / "gate.yaml")
            assert found.verdict == ("pass" if runs[0].alarms is first.alarms else "fail")
            return "classifier is another one" in found.reason

        rates, size = {"good": RATES["good"]}, {"n_id": 50, "n_ood": 400, "tracks": 0}
        first, second = (make_run(i, rates, (FOG,), folder=f"{i}", **size) for i in range(2))
        worse = [other(run, "good", 0.3) for run in (first, second)]
        for then, digests in {"0a": ("0a", "0b", None), None: ("0b", None)}.items():
            save_baseline(of(first, then), tmp_path / "main.yaml")
            for now in digests:
                # A single run goes by any name.
                assert noted(of(worse[0], now, "renamed")) == ((then, now) == ("0a", "0b")), (then, now)
        assert not noted(of(first, "0b"))
        save_baseline([of(first, "0a", "x"), of(second, "0a", "y")], tmp_path / "main.yaml")
        for digests in (("0a", "0a"), ("0b", "0a"), ("0a", "0b")):
            runs = [
                of(run, *which) for run, which in zip(worse, zip(digests, "xy", strict=True), strict=True)
            ]
            assert noted(*runs) == ("0b" in digests)

    def test_few_instances_are_undecided_with_a_number(self, tmp_path):
        run = make_run(faults=(FOG,), n_id=40, n_ood=40, tracks=0)
        save_baseline(run, tmp_path / "main.yaml")
        (found,) = judged(run, self.TEXT + " for good", path=tmp_path / "gate.yaml")
        assert found.verdict == "undecided"
        high = found.evidence.high.value
        # Nothing differs: what may differ unseen gets less as instances get more.
        assert found.needed == pytest.approx(40 * high / 0.05, abs=1)

    def test_a_monitor_that_the_baseline_has_not_is_an_error(self, tmp_path):
        save_baseline(make_run(faults=(FOG,), rates={"good": RATES["good"]}), tmp_path / "main.yaml")
        told = problem(make_run(faults=(FOG,)), self.TEXT, path=tmp_path / "gate.yaml")
        same_text(told)

    def test_a_monitor_that_failed_in_the_baseline_is_an_error(self, tmp_path):
        save_baseline(make_run(faults=(FOG,), failed=("poor",)), tmp_path / "main.yaml")
        told = problem(make_run(faults=(FOG,)), self.TEXT, path=tmp_path / "gate.yaml")
        same_text(told)
        assert "(singular)" in told

    def test_a_monitor_that_fails_now_cannot_be_judged(self, tmp_path):
        save_baseline(make_run(faults=(FOG,)), tmp_path / "main.yaml")
        found = judged(make_run(faults=(FOG,), failed=tuple(RATES)), self.TEXT, path=tmp_path / "gate.yaml")
        assert [one.verdict for one in found] == ["error"] * 3
        told = "could not be judged, because the monitor failed: singular"
        assert [one.reason for one in found] == [told] * 3

    def test_another_stream_is_an_error(self, kept):
        _, folder = kept
        told = problem(
            make_run(1, faults=(NOISE, FOG), n_id=600, n_ood=400), self.TEXT, path=folder / "gate.yaml"
        )
        same_text(told)

    def test_a_baseline_that_is_not_there_is_an_error(self, kept):
        run, folder = kept
        text = "specific.fnr not worse than baseline:mian.yaml by 0.05"
        assert "mian.yaml" in problem(run, text, path=folder / "gate.yaml")

    def test_no_value_before_meets_nothing(self, tmp_path):
        run = make_run(faults=(FOG,), rates={"good": (0.0, 0.0)})
        save_baseline(run, tmp_path / "main.yaml")
        text = "specific.mcc not worse than baseline:main.yaml by 0.05"
        now = make_run(faults=(FOG,), rates={"good": RATES["good"]})
        (found,) = judged(now, text, path=tmp_path / "gate.yaml")
        assert found.verdict == "fail"
        same_text(found.reason)
        told = problem(now, text, path=tmp_path / "gate.yaml", undefined="error")
        same_text(told)
