from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from farm.comparing import MEASURES, benchmark_sets, measured
from farm.errors import ExperimentError
from farm.gate.criterion import parse_criterion
from farm.gate.evidence import REFUSED, Drawing, evidence
from farm.gate.population import Population
from farm.gate.selected import select
from farm.judging import judge
from farm.measures.episodes import Episodes
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.comparing.made_runs import FOG, NOISE, NOVEL, SHOT, make_run
from tests.wording import same_text

FAULTS = (NOISE, SHOT, FOG, NOVEL)
RATES = {"good": (0.05, 0.8), "never": (0.0, 0.0), "always": (1.0, 1.0)}


@pytest.fixture(scope="module")
def run():
    return make_run(faults=FAULTS)


@pytest.fixture(scope="module")
def two_runs(run):
    runs = [run, make_run(1, faults=FAULTS)]
    return Population.of(runs), benchmark_sets(runs)


def found(runs, text, monitor="good", **options):
    runs = runs if isinstance(runs, list) else [runs]
    criterion = parse_criterion(text)
    (selected,) = select(runs, criterion)
    return evidence(selected, criterion, monitor, Drawing(**options))


def ends(one):
    return one.low.value, one.value.value, one.high.value


def problem(runs, text, monitor="good"):
    with pytest.raises(ExperimentError) as raised:
        found(runs, text, monitor)
    told = str(raised.value)
    assert "\n" not in told
    assert told.startswith(f"criterion '{text}': ")
    return told.removeprefix(f"criterion '{text}': ")


def asks(name):
    """A criterion that can be met and fail, whatever the measure."""
    return f"{name} {'>=' if MEASURES[name] else '<='} 0.5"


class TestValues:
    @pytest.mark.parametrize("name", [name for name in MEASURES if name not in REFUSED])
    def test_they_are_those_of_farm_compare(self, two_runs, name):
        ground, sets = two_runs
        criterion = parse_criterion(f"{asks(name)} on each category")
        drawing = Drawing(replicates=50)
        for selected in select(ground, criterion):
            own = [one for one in sets if selected.name == f"category:{one.category}"]
            for monitor in selected.monitors:
                cells = [one.cell(measured(name), monitor).value for one in own]
                got = evidence(selected, criterion, monitor, drawing)
                assert got.value.value == pytest.approx(np.mean(cells), abs=1e-12)
                assert got.low.value <= got.value.value <= got.high.value

    def test_over_all_sets_it_is_the_mean_of_the_sets(self, run):
        means = [one.cell(measured("overall.mcc"), "good").value for one in benchmark_sets([run])]
        own = found(run, "overall.mcc >= 0.5")
        assert len(means) == 4
        assert own.value.value == pytest.approx(np.mean(means), abs=1e-12)
        assert own.sets == tuple(one.name for one in benchmark_sets([run]))
        assert own.method == "mean over 4 sets; 2000 draws of 100 tracks and an unseen one"

    @pytest.mark.parametrize("side", ["id", "ood"])
    @pytest.mark.parametrize("name", ["overall.mcc", "overall.error", "coverage", "residual_hazard"])
    def test_on_one_side_they_are_those_of_a_record_of_that_side(self, run, side, name):
        records = judge(run.instances, run.alarms, run.run)
        own = [r for r in records if (r["part"], r["monitor"], r["category"]) == (side, "good", "noise")]
        values = [measured(name).of(record).value for record in own]
        got = found(run, f"{asks(name)} on {side} category:noise").value.value
        assert got == pytest.approx(np.mean(values))

    def test_counts_and_sizes_have_each_instance_once(self, run):
        own = found(run, "overall.mcc >= 0.5")
        assert (own.n, own.n_ood, own.n_groups) == (300 + 4 * 120, 480, 100)
        assert sum(own.counts.values()) == own.n
        specific = found(run, "specific.mcc >= 0.5").counts
        alarm = run.alarms[run.alarms["monitor"] == "good"]["alarm"].to_numpy()
        is_ood = run.instances["is_ood"].to_numpy()
        assert specific["tp"] == (alarm & is_ood).sum()
        assert specific["fp"] == (alarm & ~is_ood).sum()

    def test_a_share_of_one_side_is_of_that_side_and_no_more(self, run):
        for text in ("specific.fpr <= 0.5", "specific.fpr <= 0.5 on id"):
            own = found(run, text)
            assert (own.n, own.n_ood) == (300, 0)
        own = found(run, "specific.fnr <= 0.5 on category:noise")
        assert (own.n, own.n_ood) == (240, 240)

    def test_a_monitor_that_the_run_does_not_rank_can_be_judged(self):
        own = found(make_run(unranked=("good",)), "overall.mcc >= 0.5 for good")
        assert own.value.defined

    def test_what_is_undefined_has_its_reason(self):
        own = found(make_run(rates=RATES, faults=(FOG,)), "overall.mcc >= 0.5", "never")
        same_text(own.value.reason)
        assert own.low.reason == own.high.reason == own.value.reason
        own = found(make_run(rates=RATES, faults=(FOG,)), "accepted_accuracy >= 0.5", "always")
        same_text(own.value.reason)
        several = found(make_run(rates=RATES), "overall.mcc >= 0.5", "never")
        same_text(several.value.reason)


class TestBounds:
    def test_independent_false_alarms_have_clopper_and_pearsons(self):
        own = found(make_run(faults=(FOG,), tracks=0), "specific.fpr <= 0.5")
        k = own.counts["fp"]
        assert ends(own) == pytest.approx(
            (beta.ppf(0.05, k, 301 - k), k / 300, beta.ppf(0.95, k + 1, 300 - k))
        )
        assert own.method == f"Clopper and Pearson, {k} of 300 tracks"
        assert (own.trials.seen, own.trials.n, own.trials.at) == (k, 300, 0.5)

    def test_the_level_is_that_of_one_side(self):
        run = make_run(faults=(FOG,), tracks=0)
        own = found(run, "specific.fpr <= 0.5 at 99 %")
        k = own.counts["fp"]
        assert own.level == 0.99
        assert own.high.value == pytest.approx(beta.ppf(0.99, k + 1, 300 - k))

    def test_fewer_tracks_than_it_takes_have_no_bounds(self):
        run = make_run(faults=(FOG,), tracks=4)
        own = found(run, "overall.mcc >= 0.5")
        assert own.value.defined
        assert own.low.reason == own.high.reason
        same_text(own.low.reason)
        assert own.method == "no bounds"

    def test_few_tracks_of_the_other_side_are_no_matter(self):
        run = make_run(faults=(FOG,), tracks=0)
        track = np.where(run.instances["is_ood"], "one", run.instances["track"])
        run = Readouts(run.instances.assign(track=track), run.alarms, run.run)
        assert found(run, "specific.fpr <= 0.5").low.defined
        same_text(found(run, "specific.fnr <= 0.5").low.reason)
        assert not found(run, "overall.mcc >= 0.5").low.defined

    def test_more_instances_never_widen(self):
        for name in ("overall.mcc", "specific.fpr", "residual_hazard", "auroc"):
            few, many = (
                found(make_run(7, faults=(FOG,), n_id=n, n_ood=n, tracks=0), asks(name)) for n in (100, 1600)
            )
            assert many.high.value - many.low.value < 0.5 * (few.high.value - few.low.value)

    def test_drawing_all_at_once_changes_nothing(self, run):
        criteria = [parse_criterion(asks(name)) for name in ("overall.mcc", "coverage", "auroc")]
        drawing = Drawing(replicates=200)
        drawing.announce("all sets", [(one.measure, m) for one in criteria for m in ("good", "poor")])
        for criterion in criteria:
            (selected,) = select([run], criterion)
            for monitor in ("good", "poor"):
                together = evidence(selected, criterion, monitor, drawing)
                alone = evidence(selected, criterion, monitor, Drawing(replicates=200))
                assert ends(together) == pytest.approx(ends(alone), abs=1e-12)


class TestRefused:
    @pytest.mark.parametrize("name", [name for name in REFUSED if name in MEASURES])
    def test_what_has_no_bound(self, run, name):
        text = f"{name} {'>=' if MEASURES[name] else '<='} 0.4"
        told = problem(run, text)
        assert (
            told == f"{name} has no confidence bound, so that nothing would be sure; ask for {REFUSED[name]}"
        )

    def test_what_to_ask_for_instead_can_be_judged(self, run):
        for told in (told for name, told in REFUSED.items() if name in MEASURES):
            names = [word.strip(",") for word in told.split() if word.strip(",") in MEASURES]
            assert names
            assert all(found(run, asks(name), replicates=20).value.defined for name in names)

    def test_a_maximum(self):
        told = problem(timed(np.ones(420)), "monitor_time_us.max <= 500")
        same_text(told)


def timed(times, batch=1, **options):
    """A run in which each batch of instances has its times, those of the classifier 10 us more."""
    run = make_run(faults=(FOG,), **options)
    n = len(run.instances)
    each = np.repeat(times, batch)[:n]
    alarms = run.alarms.assign(monitor_time_us=each[run.alarms["position"]])
    instances = run.instances.assign(classifier_time_us=each[run.instances["position"]] + 10)
    return Readouts(instances, alarms, run.run)


class TestTimes:
    def test_a_quantile_lies_between_two_of_the_times(self):
        times = np.random.default_rng(0).permutation(420).astype(float)
        own = found(timed(times), "monitor_time_us.p95 <= 500")
        assert own.value.value == pytest.approx(np.quantile(times, 0.95))
        # The ranks that R's qbinom gives: 391 and 406 of 420; times begin with 0.
        assert (own.low.value, own.high.value) == (391 - 1, 407 - 1)
        assert own.method == "order statistics of 420 measurements, taken for independent"
        assert (own.n, own.n_ood, own.n_groups, own.counts) == (420, 120, 420, None)

    def test_the_value_is_that_of_the_record(self):
        run = timed(np.random.default_rng(0).exponential(100, 420))
        record = next(r for r in judge(run.instances, run.alarms, run.run) if r["monitor"] == "good")
        assert found(run, "monitor_time_us.p99 <= 500").value.value == pytest.approx(
            record["monitor_time_us"]["p99"]
        )

    def test_those_of_the_classifier_are_of_no_monitor(self):
        own = found(timed(np.arange(420.0)), "classifier_time_us.p50 <= 500", "the classifier")
        assert own.value.value == 209.5 + 10

    def test_instances_of_a_batch_are_one_measurement(self):
        run = timed(np.random.default_rng(0).random(14), batch=30)
        own = found(run, "monitor_time_us.p50 <= 500")
        assert (own.n, own.n_groups) == (420, 14)
        assert own.method == (
            "order statistics of 14 measurements, taken for independent (instances of a batch are timed "
            "together)"
        )
        own = found(run, "monitor_time_us.p99 <= 500")
        same_text(own.high.reason)

    def test_a_batch_is_one_measurement_also_where_tables_are_not_in_order(self):
        run = timed(np.random.default_rng(0).random(14), batch=30, shuffled=True)
        assert found(run, "monitor_time_us.p50 <= 500").n_groups == 14

    def test_the_mean_is_sure_by_its_measurements(self):
        times = np.random.default_rng(3).normal(100, 10, 60)
        own, apart = (
            found(timed(t, batch=b), "monitor_time_us.mean <= 500")
            for t, b in ((times, 7), (np.repeat(times, 7) + np.random.default_rng(4).normal(0, 1e-6, 420), 1))
        )
        half = 1.671 * times.std(ddof=1) / np.sqrt(60)
        assert own.value.value == pytest.approx(times.mean())
        assert own.high.value - own.value.value == pytest.approx(half, rel=0.1)
        assert own.value.value - own.low.value == pytest.approx(half, rel=0.1)
        assert apart.high.value - apart.value.value < 0.5 * half
        assert own.method.startswith("2000 resamplings of 60 measurements")

    def test_missing_times_are_left_out(self):
        times = np.arange(420.0)
        times[::2] = np.nan
        own = found(timed(times), "monitor_time_us.p50 <= 500")
        assert (own.n, own.value.value) == (210, 210.0)

    def test_only_the_times_of_what_was_selected_count(self):
        own = found(timed(np.arange(420.0)), "monitor_time_us.p50 <= 500 on id")
        assert (own.n, own.n_ood, own.value.value) == (300, 0, 149.5)


def along(alarmed, *, onsets=40, lasting=3, every=10, seed=0, track=None):
    """A stream in which every so often an episode begins; `alarmed` are places along it."""
    n = onsets * every
    place = np.arange(n)
    inside = place % every >= every - lasting
    return make_readouts(
        {"good": np.isin(place, alarmed)},
        track=[f"t{i}" for i in place] if track is None else track,
        is_ood=inside,
        episode=np.where(inside, place // every, -1),
        run={
            "folder": f"runs/{seed}",
            "workload": {"name": "signs"},
            "stream": {"order": {"name": "bursts"}},
        },
    )


class TestOnsets:
    def test_a_delay_is_counted_from_the_onset_and_a_missed_one_is_infinite(self):
        late = [10 * i + 7 + (i % 2) for i in range(40)]
        own = found(along(late), "detection_delay.p50 <= 10")
        assert own.value.value == 0.0
        assert (own.low.value, own.high.value) == (0.0, 1.0)
        assert own.counts == {"onsets": 40, "missed": 0}
        assert (own.n, own.n_groups) == (40, 40)
        own = found(along(late[:20]), "detection_delay.p90 <= 10")
        assert own.value.value == own.low.value == np.inf
        assert own.counts == {"onsets": 39, "missed": 19}, "the stream's end leaves the last one open"

    @pytest.mark.parametrize(("percent", "delay"), [(50, 0.0), (52, 1.0), (71, 1.0), (72, np.inf)])
    def test_a_quantile_is_the_least_delay_that_the_share_of_onsets_does_not_exceed(self, percent, delay):
        late = [10 * i + 7 for i in range(20)] + [10 * i + 8 for i in range(20, 28)]
        assert found(along(late), f"detection_delay.p{percent} <= 10").value.value == delay

    def test_too_few_onsets_have_no_upper_bound(self):
        own = found(along([10 * i + 7 for i in range(40)]), "detection_delay.p95 <= 10")
        same_text(own.high.reason)
        assert own.low.value == 0.0

    def test_onsets_of_several_runs_are_taken_together(self):
        runs = [along([10 * i + 7 for i in range(40)], seed=seed) for seed in range(2)]
        own = found(runs, "detection_delay.p95 <= 10")
        assert (own.n, own.high.value) == (80, 0.0)

    def test_missed_onsets_are_a_share_of_onsets(self):
        own = found(along([10 * i + 8 for i in range(37)]), "missed_onsets <= 0.5")
        assert ends(own) == pytest.approx((beta.ppf(0.05, 2, 38), 2 / 39, beta.ppf(0.95, 3, 37)))
        told = "39 onsets, taken for independent; 1 without a delay (standing, on ID or open)"
        assert own.method == f"Clopper and Pearson, {told}"

    def test_what_the_end_left_open_later_than_was_granted_is_too_late(self):
        run = along([10 * i + 7 for i in range(39)])
        late, early = (found(run, f"detection_delay.p95 <= {granted}") for granted in (2, 3))
        assert (late.counts, early.counts) == ({"onsets": 40, "missed": 1}, {"onsets": 39, "missed": 0})

    def test_without_any_delay_there_is_no_evidence(self):
        own = found(along(range(400)), "missed_onsets <= 0.5")
        assert (own.n, own.value.reason) == (0, "no onset has a delay: 40 standing")

    def test_false_alarms_are_those_before_and_between_faults(self):
        alarmed = [10 * i + 8 for i in range(40)] + [3, 33, 105]
        run = along(alarmed)
        own = found(run, "false_alarms_per_1000 <= 50")
        rows = run.instances
        episodes = Episodes(rows["episode"].to_numpy(), rows["is_ood"].to_numpy())
        seen = episodes.false_alarms(run.alarms["alarm"].to_numpy())
        assert (seen.alarms, seen.quiet) == (3, 280)
        k, n = 3, 280
        exact = (1000 * beta.ppf(0.05, k, n + 1 - k), 1000 * k / n, 1000 * beta.ppf(0.95, k + 1, n - k))
        assert ends(own) == pytest.approx(exact)
        assert (own.n, own.n_ood, own.trials.at) == (280, 0, 0.05)

    def test_an_alarm_on_id_instances_of_an_episode_that_began_is_no_false_one(self):
        run = along([8, 9, 3])
        is_ood = run.instances["is_ood"] & (run.instances["position"] % 10 == 7)
        run = Readouts(run.instances.assign(is_ood=is_ood), run.alarms, run.run)
        own = found(run, "false_alarms_per_1000 <= 50")
        assert own.value.value == pytest.approx(1000 / 280)
        assert own.n == 280

    def test_an_ood_instance_between_episodes_is_not_quiet(self):
        run = along([3, 8, 13, 14])
        is_ood = run.instances["is_ood"] | run.instances["position"].isin([13, 14, 15, 16])
        run = replace(run, instances=run.instances.assign(is_ood=is_ood))
        own = found(run, "false_alarms_per_1000 <= 50")
        assert own.value.value == pytest.approx(1000 / 276), "of 280 four are OOD, and one alarm is left"
        assert (own.n, own.n_ood, own.counts["fp"]) == (276, 0, 1)

    def test_false_alarms_count_by_tracks(self):
        track = [f"t{i // 50}" for i in range(400)]
        alone, tracks = (
            found(along([3, 4, 5, 6, 13], track=t), "false_alarms_per_1000 <= 50") for t in (None, track)
        )
        assert tracks.high.value > 2 * alone.high.value
        assert tracks.n_groups == 8

    def test_a_stream_that_is_never_quiet_has_no_false_alarms(self):
        run = along([8], every=3, lasting=3)
        same_text(problem(run, "false_alarms_per_1000 <= 50"))


class TestBytes:
    def sized(self, seed, size):
        run = make_run(seed)
        notes = [{**note, "nbytes": size} for note in run.run["monitors"]]
        return Readouts(run.instances, run.alarms, {**run.run, "monitors": notes})

    def test_a_size_is_what_it_is(self):
        own = found(self.sized(0, 512), "monitor_bytes <= 500")
        assert ends(own) == (512.0, 512.0, 512.0)
        assert own.method == "as noted in the run"

    def test_of_several_runs_the_largest_counts(self):
        own = found([self.sized(0, 512), self.sized(1, 640)], "monitor_bytes <= 500")
        assert (own.value.value, own.method) == (640.0, "the largest of 2 runs, as noted")
