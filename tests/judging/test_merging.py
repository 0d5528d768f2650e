"""Classes put together: what plain Python counts, what a hand works out, and nothing else changed."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from farm.api.boxes import OF_BOXES, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.errors import DataError, ParameterError
from farm.judging import JudgedRun, judge
from farm.judging.inspection import InspectedRun, per_class
from farm.judging.merging import merged
from farm.judging.readouts import judged_records
from farm.judging.worst import worst
from farm.measures.boxes import LOCALIZATION
from farm.store.class_probabilities import probability_frame
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import refused

CLASSES = ("pedestrian", "sign", "light", "bike", "car", "truck", "bus")
KNOWN_ABROAD = {"pedestrian": ["pedestrian"], "vehicle": ["car", "truck", "bus"]}
"""What the source's smaller sets know."""


def readouts_of(probabilities, label, *, classes=CLASSES, run=None, **columns):
    """Readouts of a classifier that says this, and of a monitor that cancels every third decision."""
    said = np.asarray(probabilities, dtype=np.float64)
    label = np.asarray(label)
    n, predicted = len(said), said.argmax(axis=1)
    truth = np.eye(said.shape[1])[label]
    brier = ((said - truth) ** 2).sum(axis=1)
    alarm = np.arange(n) % 3 == 0
    fallback = np.where(np.arange(n) % 2 == 0, -1, (predicted + 1) % said.shape[1])
    odin = {"alarm": alarm, "score": np.arange(n) * 1.0, "decision": np.where(alarm, fallback, predicted)}
    return make_readouts(
        {"odin": odin},
        label=label,
        predicted=predicted,
        confidence=said.max(axis=1),
        label_probability=np.where(label < 0, np.nan, said[np.arange(n), label]),
        brier=np.where(label < 0, np.nan, brier),
        is_ood=columns.pop("is_ood", np.arange(n) % 4 == 1),
        id=[f"image {i}" for i in range(n)],
        run={"classes": list(classes), "monitors": [{"name": "odin"}], **(run or {})},
        **columns,
        **probability_frame(said.astype(np.float32), classes),
    )


def drawn(seed, n=40, classes=CLASSES, **columns):
    random = np.random.default_rng(seed)
    said = random.dirichlet(np.full(len(classes), 0.5), n)
    return readouts_of(said, random.integers(-1, len(classes), n), classes=classes, **columns)


def boxed(seed, n=40):
    random = np.random.default_rng(seed)
    target = np.sort(random.uniform(0, 60, (n, 2, 2)), axis=1).reshape(n, 4)
    values = (target, target + random.normal(0, 3, (n, 4)), random.uniform(0.5, 5, (n, 4)))
    columns = {}
    for names, four in zip((TRUE_BOX, PREDICTED_BOX, SPREAD_OF_BOX), values, strict=True):
        columns |= dict(zip(names, four.T, strict=True))
    return drawn(seed, n, **columns)


def records(readouts):
    """All that is told, but for intervals, which take long."""
    return JudgedRun.of(readouts.instances, readouts.alarms, readouts.run).points


def of_all(readouts, monitor="odin"):
    return next(r for r in records(readouts) if (r["part"], r["monitor"]) == ("all", monitor))


@st.composite
def groupings(draw):
    """Some of the classes in some groups, by their names."""
    owner = draw(st.lists(st.integers(-1, 3), min_size=len(CLASSES), max_size=len(CLASSES)))
    groups = {}
    for name, number in zip(CLASSES, owner, strict=True):
        if number >= 0:
            groups.setdefault(f"group {number}", []).append(name)
    return groups or {"all": [*CLASSES]}


def by_hand(readouts, groups, summed):
    """Work out row by row, in words of classes alone, what is left."""
    group_of = {name: group for group, own in groups.items() for name in own}
    found = []
    for _, row in readouts.instances.iterrows():
        of_class = {name: float(row[f"probability {name}"]) for name in CLASSES}
        label = None if row["label"] < 0 else CLASSES[int(row["label"])]
        if label is not None and label not in group_of:
            continue
        shares = dict.fromkeys([*groups, "other"], 0.0)
        for name, value in of_class.items():
            group = group_of.get(name, "other")
            shares[group] = shares[group] + value if summed else max(shares[group], value)
        likeliest = max(of_class, key=of_class.get)
        predicted = max(shares, key=shares.get) if summed else group_of.get(likeliest, "other")
        right = None if label is None else group_of[label]
        brier = None if right is None else sum((v - (g == right)) ** 2 for g, v in shares.items())
        found.append((row["id"], right, predicted, shares[predicted], shares.get(right), brier))
    return found


@given(st.integers(0, 10**6), groupings(), st.booleans())
def test_rows_are_those_worked_out_one_by_one(seed, groups, summed):
    readouts = drawn(seed)
    wanted = by_hand(readouts, groups, summed)
    if not wanted:
        with pytest.raises(DataError, match="none of the 40 instances has a label"):
            merged(readouts, groups, summed=summed)
        return
    found = merged(readouts, groups, summed=summed)
    rows, classes = found.instances, found.run["classes"]
    assert classes == [*groups, *(["other"] if sum(map(len, groups.values())) < len(CLASSES) else [])]
    names = [*classes, None]
    assert rows["id"].tolist() == [one[0] for one in wanted]
    assert [names[label] for label in rows["label"]] == [one[1] for one in wanted]
    assert [names[label] for label in rows["predicted"]] == [one[2] for one in wanted]
    for column, place in (("confidence", 3), ("label_probability", 4), ("brier", 5)):
        values = np.array([one[place] for one in wanted], dtype=np.float64)
        np.testing.assert_allclose(rows[column], values, atol=1e-6)
    assert found.probabilities.shape == (len(rows), len(classes))
    if summed:
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-6)
    assert [name for name in rows if name.startswith("probability ")] == [
        f"probability {name}" for name in classes
    ]


@given(st.integers(0, 10**6), groupings(), st.booleans())
def test_records_count_what_is_right_now(seed, groups, summed):
    readouts = drawn(seed)
    wanted = by_hand(readouts, groups, summed)
    if not wanted:
        return
    record = of_all(merged(readouts, groups, summed=summed))
    number = [int(name.removeprefix("image ")) for name, *_ in wanted]
    cancelled = np.array([place % 3 == 0 for place in number])
    wrong = np.array([right is None or right != predicted for _, right, predicted, *_ in wanted])
    counted = {"tp": wrong & cancelled, "fp": ~wrong & cancelled, "fn": wrong & ~cancelled}
    assert {name: record["overall"][name] for name in counted} == {k: v.sum() for k, v in counted.items()}
    assert record["classifier_accuracy"] == pytest.approx(1 - wrong.mean())
    # What is acted upon where it is cancelled: the fallback's class by its group, which may be right.
    group_of = {name: group for group, own in groups.items() for name in own}
    before = readouts.instances["predicted"].to_numpy()
    acted = ~wrong
    for i, place in enumerate(number):
        if place % 3 == 0:
            second = CLASSES[(before[place] + 1) % len(CLASSES)]
            acted[i] = place % 2 == 1 and group_of.get(second, "other") == wanted[i][1]
    alarms = merged(readouts, groups, summed=summed).alarms
    label = merged(readouts, groups, summed=summed).instances["label"].to_numpy()
    assert ((alarms["decision"].to_numpy() == label) & (label >= 0)).tolist() == acted.tolist()
    assert alarms["position"].tolist() == number
    assert alarms["score"].tolist() == number, "scores stay"


def test_a_worked_example():
    """Of the source's kind: a lorry that three classes share is a vehicle if these are added up."""
    said = [
        [0.30, 0.0, 0.0, 0.0, 0.25, 0.25, 0.20],  # a truck: 0.7 of it a vehicle
        [0.05, 0.60, 0.0, 0.0, 0.35, 0.00, 0.00],  # a car that is taken for a sign
        [0.80, 0.10, 0.1, 0.0, 0.00, 0.00, 0.00],  # a pedestrian
        [0.00, 0.00, 0.9, 0.1, 0.00, 0.00, 0.00],  # a light, which such a set does not know
        [0.10, 0.10, 0.1, 0.1, 0.20, 0.20, 0.20],  # nothing that has a class
    ]
    readouts = readouts_of(said, [5, 4, 0, 2, -1])
    added = merged(readouts, KNOWN_ABROAD)
    first = merged(readouts, KNOWN_ABROAD, summed=False)
    assert added.run["classes"] == ["pedestrian", "vehicle", "other"]
    assert added.instances["label"].tolist() == first.instances["label"].tolist() == [1, 1, 0, -1]
    assert added.instances["predicted"].tolist() == [1, 2, 0, 1]
    assert first.instances["predicted"].tolist() == [0, 2, 0, 1]
    assert added.instances["confidence"].tolist() == pytest.approx([0.7, 0.6, 0.8, 0.6])
    assert first.instances["confidence"].tolist() == pytest.approx([0.3, 0.6, 0.8, 0.2])
    of_label = {True: [0.7, 0.35, 0.8, np.nan], False: [0.25, 0.35, 0.8, np.nan]}
    # (0.3, 0.7, 0); (0.05, 0.35, 0.6); (0.8, 0, 0.2) less the truth, and the same of the greatest.
    brier = {True: [0.09 + 0.09, 0.0025 + 0.4225 + 0.36, 0.04 + 0.04, np.nan]}
    brier[False] = [0.09 + 0.5625, 0.0025 + 0.4225 + 0.36, 0.04 + 0.01, np.nan]
    for summed, found in ((True, added), (False, first)):
        assert found.instances["label_probability"].tolist() == pytest.approx(of_label[summed], nan_ok=True)
        assert found.instances["brier"].tolist() == pytest.approx(brier[summed], nan_ok=True)
    assert of_all(added)["classifier_accuracy"] == 2 / 4
    assert of_all(first)["classifier_accuracy"] == 1 / 4


def test_measures_are_those_of_scikit_learn():
    random = np.random.default_rng(3)
    said = random.dirichlet(np.ones(7), 300)
    readouts = readouts_of(said, random.integers(0, 7, 300))
    groups = {"person": ["pedestrian"], "shown": ["sign", "light"], "wheels": ["bike", "car", "truck", "bus"]}
    found = merged(readouts, groups)
    of_groups = np.stack([said[:, :1].sum(1), said[:, 1:3].sum(1), said[:, 3:].sum(1)], axis=1)
    truth = np.array([0, 1, 1, 2, 2, 2, 2])[readouts.instances["label"]]
    record = of_all(found)
    assert record["classifier_nll"] == pytest.approx(log_loss(truth, of_groups), abs=1e-6)
    assert record["classifier_brier_sum"] == pytest.approx(
        ((of_groups - np.eye(3)[truth]) ** 2).sum(axis=1).mean(), abs=1e-6
    )
    assert record["classifier_brier_mean"] == pytest.approx(record["classifier_brier_sum"] / 3)
    assert record["classifier_accuracy"] == np.mean(of_groups.argmax(axis=1) == truth)


@given(st.integers(0, 10**6), st.permutations(CLASSES), st.booleans())
def test_a_group_for_each_class_changes_nothing_but_names_and_their_order(seed, order, summed):
    readouts = boxed(seed)
    same = merged(readouts, {name: [name] for name in CLASSES}, summed=summed)
    assert same.instances.equals(readouts.instances[[*same.instances]])
    assert len(same.instances.columns) == len(readouts.instances.columns)
    assert same.alarms.equals(readouts.alarms)
    assert records(same) == records(readouts)
    turned = merged(readouts, {f"a {name}": [name] for name in order}, summed=summed)
    assert records(turned) == records(readouts)
    assert np.array_equal(turned.probabilities, readouts.probabilities[:, [*map(CLASSES.index, order)]])


@given(st.integers(0, 10**6), groupings(), st.booleans())
def test_merging_never_changes_what_is_found_of_boxes(seed, groups, summed):
    readouts = boxed(seed)
    names = {name for own in groups.values() for name in own}
    label = readouts.instances["label"]
    # Those that the set does not know are not part of it: take them out beforehand.
    part = readouts.instances[[i < 0 or CLASSES[i] in names for i in label]]
    if part.empty:
        return
    alarms = readouts.alarms[readouts.alarms["position"].isin(part["position"])]
    found = merged(readouts, groups, summed=summed)
    boxes = [name for name in OF_BOXES if name in readouts.instances]
    assert np.array_equal(found.instances[boxes], part[boxes])
    before = records(replace(readouts, instances=part, alarms=alarms))
    assert [{name: one[name] for name in LOCALIZATION} for one in records(found)] == [
        {name: one[name] for name in LOCALIZATION} for one in before
    ]


@given(st.integers(0, 10**6))
def test_to_merge_twice_is_to_merge_at_once(seed):
    readouts = drawn(seed)
    first = merged(readouts, {"lorry": ["truck", "bus"], "car": ["car"], "walker": ["pedestrian"]})
    twice = merged(first, {"walker": ["walker"], "vehicle": ["car", "lorry"]})
    once = merged(readouts, {"walker": ["pedestrian"], "vehicle": ["car", "truck", "bus"]})
    np.testing.assert_allclose(twice.probabilities, once.probabilities, atol=1e-6)
    assert twice.instances["label"].tolist() == once.instances["label"].tolist()
    assert twice.instances["predicted"].tolist() == once.instances["predicted"].tolist()


def test_what_was_given_stays_as_it_was():
    readouts = drawn(1)
    before = copy.deepcopy(readouts)
    merged(readouts, KNOWN_ABROAD)
    assert readouts.instances.equals(before.instances)
    assert readouts.alarms.equals(before.alarms)
    assert readouts.run == before.run


def test_merged_readouts_are_kept_and_judged_as_any_others(tmp_path):
    found = merged(drawn(2, n=200), KNOWN_ABROAD)
    folder = found.save(tmp_path / "merged")
    kept = Readouts.load(folder)
    assert kept.run["merged"] == {"groups": KNOWN_ABROAD, "summed": True}
    assert np.array_equal(kept.probabilities, found.probabilities)
    saved = [{**record, "run": None} for record in judged_records(folder)]
    assert saved == judge(found.instances, found.alarms, found.run)


def test_tables_of_classes_have_the_new_ones():
    found = merged(drawn(4, n=200), KNOWN_ABROAD)
    (look,) = per_class(InspectedRun.of(found))
    label = found.instances["label"]
    assert {row[0]: row[1] for row in look.rows} == {
        "no right answer": (label == -1).sum(),
        "pedestrian": (label == 0).sum(),
        "vehicle": (label == 1).sum(),
    }


THRESHOLDS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def with_thresholds(per_class):
    record = {"method": "per-class", "threshold": 9.0, "n": 5, "asked_acceptance": 0.9}
    record |= {"validation_acceptance": None, "classes_without_own_threshold": 0, "per_class": per_class}
    return drawn(5, run={"monitors": [{"name": "odin", "calibration": record}]})


def test_thresholds_of_classes_go_with_them_or_are_not_told():
    readouts = with_thresholds(THRESHOLDS)
    turned = merged(readouts, {name: [name] for name in CLASSES[::-1]})
    (note,) = turned.run["monitors"]
    assert note["calibration"]["per_class"] == THRESHOLDS[::-1]
    assert worst(turned, "ood", 5).ids == worst(readouts, "ood", 5).ids
    (note,) = merged(readouts, KNOWN_ABROAD).run["monitors"]
    assert note["calibration"] is None
    (note,) = merged(with_thresholds(None), KNOWN_ABROAD).run["monitors"]
    assert note["calibration"]["threshold"] == 9.0


def test_what_is_left_of_a_stream_has_no_episodes():
    readouts = drawn(6, episode=np.where(np.arange(40) % 4 == 1, 0, -1))
    assert "episode" not in merged(readouts, KNOWN_ABROAD).instances
    whole = merged(readouts, {"thing": [*CLASSES]})
    assert whole.instances["episode"].equals(readouts.instances["episode"])
    assert of_all(whole)["detection_delay"] == of_all(readouts)["detection_delay"]


def test_a_label_in_no_group_may_be_an_error():
    readouts = drawn(7)
    with refused(DataError):
        merged(readouts, KNOWN_ABROAD, complete=True)
    known = readouts.instances["label"].isin([-1, 0, 4, 5, 6])
    few = replace(
        readouts, instances=readouts.instances[known], run={**readouts.run, "folder": "runs/abroad"}
    )
    assert len(merged(few, KNOWN_ABROAD, complete=True).instances) == known.sum()
    with refused(DataError):
        merged(few, {"vehicle": ["car", "truck", "bus"]}, complete=True)


@pytest.mark.parametrize(
    "groups",
    [
        {},
        {"vehicle": []},
        {"vehicle": "car"},
        {"vehicle": None},
        {"vehicle": ["car", "truk"]},
        {"vehicle": [4]},
        {"vehicle": ["car"], "heavy": ["truck", "car"]},
        {"vehicle": ["car", "car"]},
        {"other": ["sign"]},
        {3: ["sign"]},
    ],
    ids=str,
)
def test_what_are_no_groups_is_told(groups):
    with refused(ParameterError):
        merged(drawn(0), groups)


def test_without_probabilities_there_is_nothing_to_merge():
    readouts = drawn(0)
    bare = readouts.instances.drop(columns=[f"probability {name}" for name in CLASSES])
    with refused(DataError):
        merged(replace(readouts, instances=bare), KNOWN_ABROAD)


def test_data_of_which_no_label_is_known_are_told():
    signs = drawn(0)
    signs = replace(signs, instances=signs.instances[signs.instances["label"] == 1])
    with refused(DataError):
        merged(signs, KNOWN_ABROAD)
