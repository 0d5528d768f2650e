"""Votes and fusions against counts of alarms and a plain-Python scale; most members here read off a pixel."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from farm import registry
from farm.api import (
    CalibrationRule,
    Explanation,
    FunctionClassifier,
    Labelled,
    Monitor,
    Needs,
    Observation,
    check_number,
)
from farm.errors import ComponentFailure, ParameterError, RequirementError, UnknownNameError
from farm.run.fitting import fit_monitors
from farm.store.cache import DiskCache
from monitors._members import union_of_needs
from monitors.fusion import Fusion
from monitors.tail_scale import KNOTS, LARGEST, TailScale
from monitors.vote import Vote
from tests.wording import refused, same_text

HERE = __name__
TRIO = ["max-softmax", {"name": "knn", "k": 5}, "oob"]


class Pixel(Monitor):
    """Scores by one pixel; may set its own threshold and break where it is told to."""

    def __init__(self, *, at: int = 0, threshold: float | None = None, breaks: str = "") -> None:
        check_number("at", at, low=0, whole=True)
        self._at, self._threshold, self._breaks = at, threshold, breaks
        self.seen_layers: set[str] = set()

    @property
    def fixed_threshold(self) -> float | None:
        return self._threshold

    def _fit(self, data):
        if self._breaks == "fit":
            raise ValueError("no plan")
        if self._breaks == "parameter":
            raise ParameterError("at is 9; this data has 0 to 3")
        return {"at": np.array(self._at)}

    def _load(self, state) -> None:
        self._column = int(state["at"])

    def _score(self, observation):
        self.seen_layers |= set(observation.activations)
        if self._breaks == "score":
            raise ValueError("no light")
        return observation.images[:, 0, 0, self._column].astype(np.float64)

    def notes(self):
        return {"at": self._at}

    def _explain(self, observation):
        return (
            Explanation(reason=f"bright at {self._at}", nearest=(f"image-{self._at}",))
            if self._at
            else Explanation()
        )


class Change(Pixel):
    """Scores by how far the pixel is from the one before it."""

    @property
    def needs(self) -> Needs:
        return Needs(order=True)

    _before = 0.0

    def reset(self) -> None:
        self._before = 0.0

    def _score(self, observation):
        now = super()._score(observation)
        before = np.append(self._before, now[:-1])
        self._before = now[-1] if len(now) else self._before
        return np.abs(now - before)


class Hungry(Pixel):
    """Needs a little of everything."""

    @property
    def needs(self) -> Needs:
        return Needs(
            layers=("conv2", "conv1"),
            logits=True,
            gradients=True,
            head=True,
            members=3,
            networks=("own",),
            outliers=True,
            order=True,
        )


CLASSIFIER = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("a", "b"))


def pixel(at: int, **parameters):
    return {"name": f"{HERE}:Pixel", "as": f"pixel-{at}", "at": at, **parameters}


def seen(rows) -> Observation:
    values = np.asarray(rows, dtype=np.float32)
    return CLASSIFIER.observe(values[:, None, None])


@dataclasses.dataclass
class Data:
    """Fit data whose validation images are rows of numbers."""

    rows: np.ndarray
    classes: tuple[str, ...] = ("a", "b")
    seed: int = 0
    outliers = None
    networks = {}  # noqa: RUF012

    @property
    def validation(self):
        halves = np.array_split(np.asarray(self.rows, dtype=np.float32), 2)
        return [Labelled(seen(half), np.zeros(len(half), np.int64)) for half in halves if len(half)]

    def __iter__(self):
        return iter(self.validation)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(400, 3))


def on(rows, monitor, accept: float = 0.95):
    """Fit and calibrate on rows of numbers."""
    data = Data(rows)
    monitor.fit(data, CLASSIFIER).calibrate(data.validation, CalibrationRule(accept=accept), 2)
    return monitor


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


# The scale ------------------------------------------------------------------------------------------------


def plain_level(known: list[float], score: float) -> float:
    """The definition, for a score that is among the known ones or above them all."""
    n = len(known)
    above = sum(other >= score for other in known)
    level = -math.log10((above + 1) / (n + 2))
    if above == 0:
        ordered = sorted(known)

        def quantile(share: float) -> float:
            place = share * (n - 1)
            low = math.floor(place)
            high = min(low + 1, n - 1)
            return ordered[low] + (place - low) * (ordered[high] - ordered[low])

        level += (score - ordered[-1]) / (quantile(0.95) - quantile(0.5))
    return level


def test_the_scale_is_its_definition_at_and_above_the_known_scores() -> None:
    known = np.random.default_rng(1).gamma(2.0, size=100)
    scale = TailScale.of(known)
    asked = [*known, known.max() + 0.1, known.max() + 50]
    expected = [plain_level(known.tolist(), float(s)) for s in asked]
    np.testing.assert_allclose(scale(np.array(asked)), expected, rtol=1e-12)


def test_between_two_known_scores_the_scale_goes_straight() -> None:
    scale = TailScale.of(np.array([0.0, 10.0, 11.0]))
    ends = scale(np.array([0.0, 10.0]))
    np.testing.assert_allclose(scale(np.array([2.5])), ends[0] + 0.25 * (ends[1] - ends[0]))


def test_a_level_of_two_rejects_one_percent_of_new_data() -> None:
    rng = np.random.default_rng(2)
    scale = TailScale.of(rng.exponential(size=100_000))
    assert (scale(rng.exponential(size=100_000)) > 2).mean() == pytest.approx(0.01, abs=0.001)


def test_the_line_above_goes_on_as_an_exponential_tail_does() -> None:
    scale = TailScale.of(np.random.default_rng(3).exponential(size=100_000))
    assert scale.spread == pytest.approx(math.log(10), rel=0.02)
    assert scale(np.array([40.0]))[0] == pytest.approx(40 / math.log(10), rel=0.05)


def test_what_is_kept_is_bounded_and_close_to_all() -> None:
    known = np.random.default_rng(4).normal(size=50_000)
    scale = TailScale.of(known)
    assert len(scale.values) <= KNOTS
    expected = [plain_level(known.tolist(), float(s)) for s in known[:200]]
    np.testing.assert_allclose(scale(known[:200]), expected, atol=0.01)
    top = np.sort(known)[-10:]
    np.testing.assert_allclose(scale(top), [plain_level(known.tolist(), float(s)) for s in top])


def test_equal_scores_share_the_level_that_counts_them_all() -> None:
    scale = TailScale.of(np.array([0.0] * 90 + [1.0] * 7 + [4.0]))
    np.testing.assert_allclose(scale(np.array([0.0, 1.0, 4.0])), -np.log10([0.99, 0.09, 0.02]))
    assert scale.spread == 1.0  # from the median 0 to the 95 % quantile 1
    np.testing.assert_allclose(scale(np.array([7.0])), 5.0)


@pytest.mark.parametrize(
    ("known", "spread"),
    [
        ([0.0] * 97 + [3.0], 3.0),  # the 95 % quantile is the median: to the largest
        ([1.0] + [5.0] * 97, 4.0),  # so is the largest: from the smallest
        ([2.0] * 98, 1.0),
        ([2.0, 2.0 + 1e-9] * 49, 1.0),  # nothing but rounding
    ],
)
def test_the_spread_of_scores_that_are_mostly_equal(known, spread) -> None:
    assert TailScale.of(np.array(known)).spread == pytest.approx(spread)


def test_a_constant_member_jumps_right_above_its_constant() -> None:
    scale = TailScale.of(np.full(98, 7.0))
    at, right_above, far = scale(np.array([7.0, np.nextafter(7.0, 8), 10.0]))
    assert at == pytest.approx(-math.log10(0.99))
    assert right_above == pytest.approx(2.0)
    assert far == pytest.approx(5.0)


def test_below_all_known_scores_it_sinks_but_not_under_zero() -> None:
    scale = TailScale.of(np.arange(10.0))
    levels = scale(np.array([-1e12, -100.0, -1.0, 0.0]))
    assert (np.diff(levels) > 0).all()
    assert levels[0] > 0


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
any_finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=200, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30), st.lists(numbers, min_size=2, max_size=30))
def test_the_scale_rises_strictly(known, asked) -> None:
    asked = np.unique(np.array(asked + known))
    assert (np.diff(TailScale.of(np.array(known))(asked)) > 0).all()


@settings(max_examples=300, deadline=None)
@given(st.lists(any_finite, min_size=1, max_size=20), st.lists(any_finite, min_size=1, max_size=20))
@example([0.0] * 7 + [-1.0] * 3 + [-2.0], [0.0])  # whose line passes its end by a last bit
def test_the_scale_is_finite_and_never_falls_for_any_numbers(known, asked) -> None:
    scale = TailScale.of(np.array(known))
    near = [math.nextafter(x, way) for x in known for way in (-math.inf, math.inf)]
    levels = scale(np.sort([x for x in asked + known + near if math.isfinite(x)]))
    assert np.isfinite(levels).all()
    assert (np.diff(levels) >= 0).all()
    assert levels.min() >= 0
    assert levels.max() <= LARGEST


@settings(max_examples=300, deadline=None)
@given(st.lists(any_finite, min_size=1, max_size=9), any_finite, st.lists(any_finite, min_size=1, max_size=9))
def test_a_margin_is_positive_exactly_above_the_threshold(known, threshold, asked) -> None:
    asked += [threshold, float(np.nextafter(threshold, 0)), float(np.nextafter(threshold, -threshold))]
    scores = np.sort(np.array(asked))
    margins = TailScale.of(np.array(known)).margins(scores, threshold)
    np.testing.assert_array_equal(margins > 0, scores > threshold)
    assert np.isfinite(margins).all()
    assert (np.diff(margins) >= 0).all()


# Votes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("atleast", ["any", 1, 2, 3, "all"])
def test_each_is_the_truth_table_of_k_of_n(atleast) -> None:
    members = [pixel(at, threshold=0.5) for at in range(3)]
    vote = on(np.zeros((50, 3)), Vote(members=members, atleast=atleast, calibrated="each"))
    table = np.array(list(product([0.0, 1.0], repeat=3)))
    k = {"any": 1, "all": 3}.get(atleast, atleast)
    assert vote.judge(seen(table)).alarms.tolist() == [sum(row) >= k for row in table.tolist()]


@pytest.mark.parametrize("atleast", ["any", 2, "all"])
@pytest.mark.parametrize("accept", [None, 0.8])
def test_each_counts_the_alarms_that_members_raise_alone(small, noise, fitted, atleast, accept) -> None:
    vote = fitted(Vote(members=TRIO, atleast=atleast, calibrated="each", accept=accept))
    vote.calibrate(small.material.validation, CalibrationRule(accept=0.5), 10)
    rule = CalibrationRule(accept=accept or 0.95)
    alone = [fitted(m) for m in (registry.monitor("max-softmax"), registry.monitor("knn", k=5))]
    alone.append(fitted(registry.monitor("oob")))
    k = {"any": 1, "all": 3}.get(atleast, atleast)
    for observation in (small.test, noise):
        counts = np.zeros(len(observation), int)
        for monitor in alone:
            monitor.calibrate(small.material.validation, rule, 10)
            counts += monitor.judge(observation).alarms
        alarms = vote.judge(observation).alarms
        np.testing.assert_array_equal(alarms, counts >= k)
        assert 0 < alarms.sum() < len(alarms)


def test_a_score_on_the_threshold_is_no_alarm_and_a_hair_above_is_one(rows) -> None:
    wide = np.asarray(rows) * 1e30
    vote = Vote(members=[pixel(0, threshold=0.0), pixel(1, threshold=0.0)], calibrated="each")
    hair = float(np.nextafter(np.float32(0), np.float32(1)))
    judged = on(wide, vote).judge(seen([[0, 0, 0], [hair, 0, 0], [-hair, 0, 0], [-1, hair, 0]]))
    assert judged.alarms.tolist() == [False, True, False, True]


def test_blind_members_do_as_they_do_alone(rows) -> None:
    def alarms(atleast, *blind):
        vote = Vote(members=[*blind, pixel(0)], atleast=atleast, calibrated="each")
        return on(rows, vote).judge(seen(rows)).alarms.mean()

    assert alarms("any", "always", "never") == 1
    assert alarms(2, "always", "never") == pytest.approx(0.05)
    assert alarms("all", "always", "never") == 0


def test_together_is_held_to_the_asked_share_of_id_data(rows) -> None:
    members = [pixel(0), pixel(1), pixel(2)]
    for k in (1, 2, 3):
        vote = on(rows, Vote(members=members, atleast=k), accept=0.9)
        # Instances that are equally rare to different members share a level: at most one a member.
        assert 0.9 <= vote.calibration.validation_acceptance <= 0.9 + 3 / len(rows)
        fresh = np.random.default_rng(9).normal(size=(4000, 3))
        assert vote.judge(seen(fresh)).alarms.mean() == pytest.approx(0.1, abs=0.03)


def test_together_the_score_is_the_kth_largest_level(rows) -> None:
    asked = seen(np.random.default_rng(5).normal(size=(40, 3)) * 3)
    levels = [TailScale.of(seen(rows).images[:, 0, 0, i].astype(float)) for i in range(3)]
    columns = asked.images[:, 0, 0].astype(float).T
    ordered = np.sort([level(column) for level, column in zip(levels, columns, strict=True)], axis=0)
    for k in (1, 2, 3):
        vote = on(rows, Vote(members=[pixel(0), pixel(1), pixel(2)], atleast=k))
        np.testing.assert_allclose(vote.score(asked), ordered[3 - k], rtol=1e-12)


def test_together_does_not_care_for_the_units_of_a_member(rows) -> None:
    members = [pixel(0), pixel(1)]
    plain, stretched = np.asarray(rows), np.asarray(rows) * [1, 1024, 1]
    alarms = on(plain, Vote(members=members)).judge(seen(plain)).alarms
    other = on(stretched, Vote(members=members)).judge(seen(stretched)).alarms
    np.testing.assert_array_equal(alarms, other)


def both_kinds(draw_from=(1, 2, 3)):
    for k in draw_from:
        yield Vote(members=[pixel(0), pixel(1), pixel(2)], atleast=k)
        yield Vote(members=[pixel(0), pixel(1), pixel(2)], atleast=k, calibrated="each")
    yield Fusion(members=[pixel(0), pixel(1), pixel(2)], weights=[1, 2, 3])
    yield Fusion(members=[pixel(0), pixel(1), pixel(2)], by="max")


@pytest.fixture(scope="module")
def every_kind(rows):
    return [on(rows, monitor) for monitor in both_kinds()]


floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(low=st.lists(floats32, min_size=3, max_size=3), at=st.integers(0, 2), higher=floats32)
def test_no_score_falls_where_a_members_rises(every_kind, low, at, higher) -> None:
    high = list(low)
    high[at] = max(higher, low[at])
    for monitor in every_kind:
        before, after = monitor.score(seen([low, high]))
        assert after >= before


# Fusions --------------------------------------------------------------------------------------------------


def test_the_mean_and_the_largest_of_the_levels(rows) -> None:
    members = [pixel(0), pixel(1)]
    asked = seen(np.random.default_rng(6).normal(size=(30, 3)) * 2)
    images = seen(rows).images
    columns = asked.images[:, 0, 0].astype(float).T
    first, second = (TailScale.of(images[:, 0, 0, i].astype(float))(columns[i]) for i in (0, 1))

    def score(**parameters):
        return on(rows, Fusion(members=members, **parameters)).score(asked)

    np.testing.assert_allclose(score(), (first + second) / 2)
    np.testing.assert_allclose(score(weights=[3, 1]), (3 * first + second) / 4)
    np.testing.assert_allclose(score(by="max"), np.maximum(first, second))
    np.testing.assert_allclose(score(by="max"), on(rows, Vote(members=members)).score(asked), rtol=1e-12)


def test_two_independent_witnesses_know_more_than_one(rows) -> None:
    rng = np.random.default_rng(7)
    ordinary, odd = rng.normal(size=(1000, 3)), rng.normal(1.5, size=(1000, 3))
    both, labels = seen(np.concatenate([ordinary, odd])), [0] * 1000 + [1] * 1000

    def auroc(monitor):
        return roc_auc_score(labels, on(rows, monitor).score(both))

    alone = max(auroc(Pixel(at=at)) for at in (0, 1))
    assert auroc(Fusion(members=[pixel(0), pixel(1)])) > alone + 0.03


def test_on_real_features_the_fusion_is_no_worse_than_its_worse_member(small, noise, fitted) -> None:
    labels = [0] * len(small.test) + [1] * len(noise)

    def auroc(monitor):
        return roc_auc_score(labels, [*fitted(monitor).score(small.test), *monitor.score(noise)])

    alone = [auroc(registry.monitor(name)) for name in ("energy", "knn")]
    for by in ("mean", "max"):
        assert auroc(Fusion(members=["energy", "knn"], by=by)) >= min(alone)


def test_a_member_that_finds_an_instance_impossible_is_not_talked_out_of_it(rows) -> None:
    monitor = on(rows, Fusion(members=[pixel(0), pixel(1)]))
    assert monitor.judge(seen([[1e6, -1e9, 0]])).alarms.all()


def test_a_threshold_that_plays_no_part_is_noted(rows) -> None:
    monitor = on(rows, Fusion(members=[pixel(0, threshold=3.0), pixel(1)]))
    assert monitor.notes()["thresholds_unused"] == ["pixel-0"]
    assert monitor.fixed_threshold is None


# Both -----------------------------------------------------------------------------------------------------


def test_needs_are_all_that_the_members_need() -> None:
    assert Vote(members=["knn", "odin"]).needs == Needs(layers=("last-hidden",), logits=True, gradients=True)
    hungry = {"name": f"{HERE}:Hungry"}
    assert Fusion(members=["knn", hungry, "max-softmax"]).needs == Needs(
        layers=("last-hidden", "conv2", "conv1"),
        logits=True,
        gradients=True,
        head=True,
        members=3,
        networks=("own",),
        outliers=True,
        order=True,
    )


def test_every_field_of_the_needs_is_merged() -> None:
    other = {"layers": ("x",), "networks": ("y",), "members": 2}
    for field in [field for field in dataclasses.fields(Needs) if field.name != "pool"]:
        one = Needs(**{field.name: other.get(field.name, True)})
        assert union_of_needs([Needs(), one]) == union_of_needs([one, Needs()]) == one


def test_a_member_sees_only_the_layers_that_it_declared(small, fitted) -> None:
    monitor = fitted(Fusion(members=["knn", pixel(0)]))
    monitor.score(small.test)
    assert monitor._members[1].seen_layers == set()


def test_members_with_a_memory_are_reset(rows) -> None:
    change = {"name": f"{HERE}:Change"}
    vote = Vote(members=[change, pixel(1)], atleast="all", calibrated="each")
    assert vote.needs.order
    on(rows, vote)
    stream = seen([[5.0, 9, 0], [5.0, 9, 0]])
    first = vote.score(stream)
    assert first[0] > first[1]
    assert vote.score(stream)[0] == first[1]
    vote.restart()
    np.testing.assert_array_equal(vote.score(stream), first)


@pytest.mark.parametrize("make", [Vote, Fusion])
def test_the_data_that_fitted_members_with_a_memory_is_not_remembered(rows, make) -> None:
    monitor = make(members=[{"name": f"{HERE}:Change"}, pixel(1)]).fit(Data(rows), CLASSIFIER)
    stream = seen([[5.0, 9, 0], [5.0, 9, 0]])
    first = monitor.score(stream)
    monitor.restart()
    np.testing.assert_array_equal(monitor.score(stream), first)


NESTED = {
    "name": "monitors.vote:Vote",
    "as": "pair",
    "members": ["max-softmax", {"name": "knn", "as": "near", "k": 3}],
    "atleast": "all",
    "calibrated": "each",
}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vote(members=TRIO, atleast=2),
        lambda: Vote(members=["never", *TRIO], atleast=2, calibrated="each"),
        lambda: Fusion(members=TRIO, weights=[1, 2, 3]),
        lambda: Vote(members=[NESTED, "oob"], calibrated="each"),
        lambda: Fusion(members=[NESTED, {"name": "knn", "as": "far", "k": 40}]),
    ],
)
def test_the_state_alone_gives_the_same_scores(small, fitted, make, tmp_path) -> None:
    monitor = fitted(make())
    cache = DiskCache(tmp_path)
    cache.arrays("monitor", {}, lambda: monitor.state)
    kept = cache.arrays("monitor", {}, dict)
    again = make().restore(kept, small.classifier)
    np.testing.assert_array_equal(again.score(small.test), monitor.score(small.test))
    assert again.nbytes == monitor.nbytes
    assert again.notes() == monitor.notes()
    remade = type(monitor)(**json.loads(json.dumps(monitor.parameters)))
    assert remade.parameters == monitor.parameters
    np.testing.assert_array_equal(
        remade.restore(kept, small.classifier).score(small.test), again.score(small.test)
    )


def test_a_nested_vote_counts_as_one_member(small, noise, fitted) -> None:
    whole = fitted(Vote(members=[NESTED, "oob"], calibrated="each"))
    inner = fitted(Vote(members=NESTED["members"], atleast="all", calibrated="each"))
    outer = fitted(registry.monitor("oob"))
    for monitor in (whole, inner, outer):
        monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    expected = inner.judge(noise).alarms | outer.judge(noise).alarms
    np.testing.assert_array_equal(whole.judge(noise).alarms, expected)


def test_an_explanation_says_what_each_member_contributes(rows) -> None:
    fusion = on(rows, Fusion(members=[pixel(0), pixel(1), pixel(2)], weights=[1, 1, 2]))
    instance = seen([[0.1, 4.0, 0.2]])
    (told,) = fusion.explain(instance)
    assert list(told.contributions) == ["pixel-1", "pixel-2", "pixel-0"]
    assert sum(told.contributions.values()) == pytest.approx(fusion.score(instance)[0])
    assert (told.reason, told.nearest) == ("most from 'pixel-1': bright at 1", ("image-1",))
    assert set(told.details["members"]) == {"pixel-1", "pixel-2"}
    (plain,) = on(rows, Fusion(members=[pixel(0), pixel(1)])).explain(seen([[4.0, 0.1, 0.2]]))
    assert (plain.reason, plain.nearest) == ("most from 'pixel-0'", ())
    json.dumps([told.record(), plain.record()])

    vote = on(rows, Vote(members=[pixel(0), pixel(1)], atleast=2, calibrated="each"))
    (told,) = vote.explain(instance)
    assert min(told.contributions.values()) == vote.score(instance)[0]


def test_explaining_does_not_disturb_a_member_with_a_memory(rows) -> None:
    change = {"name": f"{HERE}:Change", "as": "change"}
    vote = on(rows, Vote(members=[change, pixel(1)]))
    first, second = seen([[5.0, 1.0, 0]]), seen([[8.0, 1.0, 0]])
    expected = vote.score(first), vote.score(second)
    vote.restart()
    got = vote.score(first)
    parts = vote.explain(first)[0].contributions
    assert set(parts) == {"change", "pixel-1"}
    assert max(parts.values()) == got[0]
    np.testing.assert_array_equal((got, vote.score(second)), expected)


def test_members_with_a_memory_tell_their_part_of_the_batch_scored_last(rows) -> None:
    change = {"name": f"{HERE}:Change", "as": "change"}
    both = on(rows, Vote(members=[change, {**change, "as": "other", "at": 1}]))
    batch, later = seen([[5.0, 1.0, 0], [8.0, 9.0, 0], [8.0, 2.0, 0]]), seen([[1.0, 1.0, 0]])
    kept = "is kept for the latest batch only"
    unknown = f"which member decides is not known: what 'change' and 'other' adds {kept}"
    before = both.explain(batch)[0]
    assert (before.reason, before.contributions, before.nearest) == (unknown, {}, ())
    scores = both.score(batch)
    told = both.explain(batch)
    assert [max(e.contributions.values()) for e in told] == scores.tolist()
    same_text([e.reason for e in told[:2]])
    assert told[1].nearest == ("image-1",)
    both.score(dataclasses.replace(later, ids=np.array(["9"])))
    assert both.explain(batch)[1].reason == unknown
    both.score(batch)
    both.restart()
    assert both.explain(batch)[1].reason == unknown


def test_of_instances_that_cannot_be_told_apart_no_part_is_told(rows) -> None:
    change = {"name": f"{HERE}:Change", "as": "change"}
    vote = on(rows, Vote(members=[change, pixel(1)]))
    twins = dataclasses.replace(seen([[5.0, 1.0, 0], [5.0, 1.0, 0]]), ids=np.array(["x", "x"]))
    vote.score(twins)
    for told in vote.explain(twins):
        assert list(told.contributions) == ["pixel-1"]
        same_text(told.reason)


def test_a_part_is_not_told_of_another_instance_with_the_same_id(rows) -> None:
    change = {"name": f"{HERE}:Change", "as": "change"}
    vote = on(rows, Vote(members=[change, pixel(1)]))
    one = seen([[5.0, 1.0, 0]])
    vote.score(one)
    other = dataclasses.replace(one, probabilities=np.array([[0.25, 0.75]]))
    assert list(vote.explain(other)[0].contributions) == ["pixel-1"]


def test_what_was_kept_is_not_scored_again(rows) -> None:
    vote = on(rows, Vote(members=[pixel(0), pixel(1)]))
    one = seen([[5.0, 1.0, 0]])
    vote.score(one)
    for member in vote._members:
        member._breaks = "score"
    assert vote.explain(one)[0].contributions


def test_a_nested_combination_tells_of_its_members_with_a_memory(rows) -> None:
    change = {"name": f"{HERE}:Change", "as": "change"}
    inner = {"name": "monitors.fusion:Fusion", "as": "inner", "members": [change, pixel(2)], "by": "max"}
    vote = on(rows, Vote(members=[inner, pixel(1)]))
    one = seen([[50.0, 1.0, 0]])
    vote.score(one)
    same_text(vote.explain(one)[0].reason)


@pytest.mark.parametrize("calibrated", ["together", "each"])
@pytest.mark.parametrize("atleast", [1, 2, 3])
def test_a_vote_names_the_member_whose_part_is_its_score(rows, atleast, calibrated) -> None:
    vote = on(rows, Vote(members=[pixel(0), pixel(1), pixel(2)], atleast=atleast, calibrated=calibrated))
    instances = seen(np.random.default_rng(5).normal(size=(20, 3)) * 3)
    scores, named = vote.score(instances), set()
    for told, score in zip(vote.explain(instances), scores, strict=True):
        name = re.match(rf"it takes {atleast} of 3, decided by '(pixel-\d)'", told.reason).group(1)
        assert told.contributions[name] == score
        assert list(told.contributions)[atleast - 1] == name
        named.add(name)
    assert len(named) == 3


def test_passes_that_members_run_count_as_its_own(small, fitted) -> None:
    odin = {"name": "odin", "magnitude": 0.01}
    alone = fitted(registry.monitor(**odin))
    inner = {"name": "monitors.fusion:Fusion", "members": [odin, "energy"]}
    monitors = [alone, fitted(Vote(members=[odin, "energy"])), fitted(Vote(members=[inner, "energy"]))]
    for monitor in monitors:
        monitor.calibrate(small.material.validation, CalibrationRule(), 10)
        assert monitor.own_passes == 0
        for _ in range(3):
            monitor.judge(small.test)
    assert [monitor.own_passes for monitor in monitors] == [2, 2, 2]


def test_the_state_is_bounded_whatever_the_validation_data() -> None:
    many = np.random.default_rng(0).normal(size=(20_000, 3))
    monitor = on(many, Fusion(members=[pixel(0), pixel(1)]))
    assert monitor.nbytes < 2 * (2 * 8 * KNOTS + 100)


def test_parameters_tell_those_of_the_members_too() -> None:
    monitor = Vote(members=["max-softmax", {"name": "knn", "as": "near", "k": 3}], atleast=2)
    assert monitor.parameters == {
        "members": [
            {"name": "max-softmax"},
            {"name": "knn", "as": "near", "k": 3, "points": 10_000, "layer": "last-hidden", "pool": "mean"},
        ],
        "atleast": 2,
        "calibrated": "together",
        "accept": None,
    }


def test_notes_gather_those_of_the_members(rows) -> None:
    constant = np.column_stack([rows[:, 0], np.ones(len(rows))])
    vote = Vote(members=[pixel(0), pixel(1, threshold=2.0)], calibrated="each", accept=0.9)
    notes = on(constant, vote).notes()
    alone = on(constant, Pixel(at=0), accept=0.9).calibration.threshold
    assert notes == {
        "members": {"pixel-0": {"at": 0}, "pixel-1": {"at": 1}},
        "constant_on_id": ["pixel-1"],
        "thresholds": {"pixel-0": alone, "pixel-1": 2.0},
    }
    together = on(rows, Vote(members=[pixel(0), pixel(1)])).notes()
    assert together["thresholds"] == {}


@pytest.mark.parametrize(
    ("make", "changed"),
    [
        (Vote, {"members": [pixel(0), pixel(2)]}),
        (Vote, {"atleast": 2}),
        (Vote, {"calibrated": "each"}),
        (Vote, {"calibrated": "each", "accept": 0.6}),
        (Fusion, {"members": [pixel(0), pixel(2)]}),
        (Fusion, {"by": "max"}),
        (Fusion, {"weights": [1, 5]}),
    ],
)
def test_each_parameter_changes_the_scores(rows, make, changed) -> None:
    usual = {"members": [pixel(0), pixel(1)]}
    if "accept" in changed:
        usual["calibrated"] = "each"
    scores = [on(rows, make(**arguments)).score(seen(rows)) for arguments in (usual, usual | changed)]
    assert not np.allclose(*scores)


def test_a_single_instance_and_none_at_all_are_scored_alike(every_kind, rows) -> None:
    for monitor in every_kind:
        whole = monitor.score(seen(rows))
        np.testing.assert_allclose(monitor.score(seen(rows[:1])), whole[:1], rtol=1e-12)
        assert monitor.score(seen(np.empty((0, 3)))).shape == (0,)


def test_through_the_testbed_as_an_experiment_names_it(small) -> None:
    spec = {"name": "monitors.vote:Vote", "as": "two", "members": TRIO, "atleast": 2}
    (monitor,) = small.bed.fit([spec], small.classifier, small.workload)
    assert monitor.name == "two"
    assert monitor.calibration.validation_acceptance == pytest.approx(0.95, abs=0.01)


# What goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Vote, Fusion])
@pytest.mark.parametrize(
    ("members", "error"),
    [
        ([], ParameterError),
        (["knn"], ParameterError),
        ("knn", ParameterError),
        (["knn", 3], ParameterError),
        (["knn", {"k": 3}], ParameterError),
        (["knn", {"name": "oob", "as": 3}], ParameterError),
        (["knn", {"name": "knn", "k": 3}], ParameterError),
        (["knn", "ooob"], UnknownNameError),
        (["knn", {"name": "oob", "asd": "x"}], ParameterError),
        (["oob", {"name": "knn", "k": 0}], ParameterError),
    ],
)
def test_members_that_cannot_be_are_told(make, members, error) -> None:
    with refused(error):
        make(members=members)


OWN = "'never' sets its threshold itself (1), which a level for all members together would ignore; "
MIXED = "accept is 0.9, which means nothing where members are calibrated together: there the experiment's "


@pytest.mark.parametrize(
    ("make", "changed"),
    [
        (Vote, {"atleast": 0}),
        (Vote, {"atleast": 3}),
        (Vote, {"atleast": True}),
        (Vote, {"atleast": 1.0}),
        (Vote, {"atleast": "most"}),
        (Vote, {"calibrated": "alone"}),
        (Vote, {"accept": 0, "calibrated": "each"}),
        (Vote, {"accept": 0.9}),
        (Vote, {"members": ["knn", "never"]}),
        (Fusion, {"by": "min"}),
        (Fusion, {"weights": [1, 2, 3]}),
        (Fusion, {"weights": [1, 0]}),
        (Fusion, {"weights": [1, 1], "by": "max"}),
    ],
)
def test_parameters_that_make_no_sense_are_told(make, changed) -> None:
    with refused(ParameterError):
        make(**({"members": ["knn", "energy"]} | changed))


def test_a_vote_of_votes_with_thresholds_of_their_own_is_not_calibrated_together() -> None:
    with refused(ParameterError):
        Vote(members=[NESTED, "energy"])


@pytest.mark.parametrize(
    ("breaks", "error", "told"),
    [
        ("fit", ComponentFailure, "member 'pixel-1' failed in fit: ValueError: no plan"),
        ("parameter", ParameterError, "member 'pixel-1': at is 9; this data has 0 to 3"),
        ("score", ComponentFailure, "member 'pixel-1' failed in score: ValueError: no light"),
    ],
)
def test_a_failure_names_the_member_and_the_combination(rows, breaks, error, told) -> None:
    inner = {"name": "monitors.fusion:Fusion", "members": [pixel(0), pixel(1, breaks=breaks)]}
    vote = Vote(members=[inner, pixel(2)])
    with pytest.raises(error) as raised:
        vote.fit(Data(rows), CLASSIFIER)
    assert str(raised.value) == f"monitor 'vote': member 'monitors.fusion:Fusion': {told}"


def test_a_failing_member_fails_the_combination_and_nobody_else(small) -> None:
    broken, sound = Vote(members=["energy", pixel(0, breaks="fit")]), registry.monitor("energy")
    failures = fit_monitors([broken, sound], small.classifier, small.workload)
    assert failures == {"vote": "monitor 'vote': member 'pixel-0' failed in fit: ValueError: no plan"}


def test_needs_are_checked_before_anything_is_fitted(rows) -> None:
    with refused(RequirementError):
        Fusion(members=["knn", pixel(0, breaks="fit")]).fit(Data(rows), CLASSIFIER)


def test_without_validation_data_there_is_nothing_to_compare_with() -> None:
    with refused(ComponentFailure):
        Vote(members=[pixel(0), pixel(1)]).fit(Data(np.empty((0, 3))), CLASSIFIER)
