import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import DataError
from farm.judging import judge
from farm.judging.by_parts import ERRORS, ByParts, judge_by_parts, judge_folder
from farm.judging.reading import parts_of
from farm.store.readouts import Readouts
from tests.wording import refused

CLASSES = np.array([7, 3, 40, 1000])


def simulate(seed=0, n=300, monitors=("odin", "oob"), *, ood_share=0.4, severities=(2.0, 5.0)):
    """Make readouts in which everything occurs, decisions acted upon among it."""
    rng, sure = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    is_ood = rng.random(n) < ood_share
    label, other = rng.choice(CLASSES, n), rng.choice(CLASSES, n)
    novel = is_ood & (rng.random(n) < 0.4)
    instances = pd.DataFrame(
        {
            "position": np.arange(n),
            "label": pd.array(np.where(novel, -1, label), dtype="Int64"),
            "predicted": np.where(rng.random(n) < 0.7, label, other),
            "confidence": sure.random(n).round(2),
            "brier": np.where(novel, np.nan, 2 * sure.random(n)),
            "label_probability": np.where(novel, np.nan, 1 - sure.random(n)),
            "is_ood": is_ood,
            "faultload": np.where(novel, "btsc", np.where(is_ood, "snow", None)),
            "category": np.where(novel, "novelty", np.where(is_ood, "shift", None)),
            "severity": np.where(is_ood & ~novel, rng.choice(severities, n), np.nan),
            "episode": -1,
            "classifier_time_us": rng.lognormal(3, 1, n),
        }
    )
    frames = []
    for name in monitors:
        score = rng.normal(size=n).round(1) + is_ood
        alarm = score > 1
        table = {
            "position": np.arange(n),
            "monitor": name,
            "score": score,
            "alarm": alarm,
            "cancelled": alarm,
        }
        decision = np.where(alarm, rng.choice([-1, 77, *CLASSES], n), instances["predicted"])
        frames.append(
            pd.DataFrame({**table, "decision": decision, "monitor_time_us": rng.lognormal(1, 1, n)})
        )
    noted = {"nbytes": 1000, "calibration": {"asked_acceptance": 0.95}}
    run = {"workload": {"name": "gtsrb"}, "classes": list("abcdefg")}
    run["monitors"] = [{"name": name, **noted} for name in monitors]
    return instances, pd.concat(frames, ignore_index=True), run


def cut(instances, alarms, sizes):
    """Cut readouts into parts."""
    ends = np.cumsum([0, *sizes])
    for start, stop in zip(ends, [*ends[1:-1], len(instances)], strict=False):
        rows = instances.iloc[start:stop]
        if len(rows):
            yield rows, alarms[alarms["position"].isin(rows["position"])]


def flat(value, at=()):
    """Give what stands in dictionaries within dictionaries as one of them."""
    if not isinstance(value, dict):
        return {at: value}
    return {path: leaf for name, own in value.items() for path, leaf in flat(own, (*at, name)).items()}


def same_but_for_errors(found, expected):
    """Compare records by parts with those of the whole, where few distinct values leave nothing in doubt."""
    assert len(found) == len(expected)
    for mine, whole in zip(found, expected, strict=True):
        mine = json.loads(json.dumps(mine, allow_nan=False))
        for name, error in ERRORS.items():
            assert list(mine).index(error) == list(mine).index(name) + 1
            assert mine.pop(error) == (None if whole[name] is None else 0)
            assert mine["undefined"].pop(error, None) == whole["undefined"].get(name)
        for name in ("monitor_time_us", "classifier_time_us"):
            if mine[name]:
                assert mine[name].pop("relative_error") == 0
        assert list(mine) == list(whole)
        for name in whole:
            tolerance = 1e-12 if name in ("aupr", "monitor_time_us", "classifier_time_us") else 1e-15
            got, expected = flat(mine[name]), flat(whole[name])
            assert got.keys() == expected.keys(), name
            for path, value in expected.items():
                if isinstance(value, float):
                    value = pytest.approx(value, rel=tolerance, abs=tolerance)
                assert got[path] == value, (name, *path)


@settings(max_examples=12)
@given(
    st.integers(0, 999),
    st.integers(1, 120),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.lists(st.integers(1, 50), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_parts_in_any_order_give_the_records_of_the_whole(seed, n, ood_share, sizes, random):
    instances, alarms, run = simulate(seed, n, ood_share=ood_share)
    parts = list(cut(instances, alarms, sizes))
    random.shuffle(parts)
    expected = judge(instances, alarms, run)
    same_but_for_errors(judge_by_parts(parts, run), expected)
    found = []
    for part in parts:
        found.append(ByParts(run))
        found[-1].add(*part)
    while len(found) > 1:
        at = random.randrange(len(found) - 1)
        found[at : at + 2] = [found[at].merge(found[at + 1])]
    same_but_for_errors(found[0].records(), expected)


@settings(max_examples=8)
@given(st.integers(0, 999), st.lists(st.integers(1, 60), min_size=1, max_size=4))
def test_coarse_histograms_are_the_same_whatever_the_parts_and_bound_what_is_true(seed, sizes):
    instances, alarms, run = simulate(seed, 200)
    rng = np.random.default_rng(seed)
    alarms["score"] += rng.normal(size=len(alarms))
    instances["confidence"] = rng.random(len(instances))
    true = judge(instances, alarms, run)
    found = judge_by_parts(cut(instances, alarms, sizes), run, bins=8)
    assert found == judge_by_parts([(instances, alarms)], run, bins=8)
    errors = []
    for mine, whole in zip(found, true, strict=True):
        for name in ERRORS:
            if whole[name] is not None:
                errors.append(mine[ERRORS[name]])
                assert abs(mine[name] - whole[name]) <= errors[-1] + 1e-12
    assert max(errors) > 0


@pytest.mark.parametrize("distinct", [19, 20, 21, 200])
@pytest.mark.parametrize("sizes", [[300], [15] * 20, [100, 50]])
def test_a_ramp_turns_out_to_be_one(distinct, sizes):
    instances, alarms, run = simulate(1, 300, ("odin",), severities=np.arange(1, distinct + 1) / 8)
    instances.loc[instances.index[instances["is_ood"]][::7], "severity"] = np.nan
    parts = list(cut(instances, alarms, sizes))
    expected = judge(instances, alarms, run)
    assert any(record["severity_range"] for record in expected) == (distinct > 20)
    same_but_for_errors(judge_by_parts(parts, run), expected)
    first, second = ByParts(run), ByParts(run)
    for number, part in enumerate(parts):
        (first, second)[number % 2].add(*part)
    if len(parts) > 1:
        same_but_for_errors(second.merge(first).records(), expected)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda instances: instances.drop(columns="is_ood"),
        lambda instances: instances.assign(
            is_ood=instances["is_ood"].astype("boolean").mask(instances["position"] == 250)
        ),
        lambda instances: instances.drop(columns="label"),
        lambda instances: instances.assign(label=instances["label"].mask(instances["position"] > 250)),
        lambda instances: instances.drop(columns=["faultload", "category", "severity"]),
        lambda instances: instances.drop(columns="classifier_time_us"),
        lambda instances: instances.drop(columns=["confidence", "brier"]),
        lambda instances: instances.assign(confidence=np.nan, brier=np.nan),
        lambda instances: instances.assign(confidence=instances["confidence"].mask(instances["label"] == 40)),
        lambda instances: instances.assign(brier=instances["brier"].mask(instances["position"] > 150)),
        lambda instances: instances.drop(columns="label_probability"),
        lambda instances: instances.assign(label_probability=0.0),
        lambda instances: instances.assign(confidence=instances["confidence"] + 1),
        lambda instances: instances.assign(label=-1),
        lambda instances: instances.assign(label=instances["predicted"]),
    ],
)
def test_what_is_missing_is_told_as_of_the_whole(spoil):
    instances, alarms, run = simulate(2)
    instances = spoil(instances)
    expected = judge(instances, alarms, run)
    parts = list(cut(instances, alarms, [100, 100]))
    same_but_for_errors(judge_by_parts(parts, run), expected)
    both = ByParts(run)
    for part in parts:
        one = ByParts(run)
        one.add(*part)
        both = one.merge(both)
    same_but_for_errors(both.records(), expected)


@pytest.mark.parametrize(
    "columns", [{"score": np.nan}, {"monitor_time_us": np.nan}, {"score": "one"}, {"score": "half"}]
)
def test_missing_scores_and_times_are_told_as_of_the_whole(columns):
    instances, alarms, run = simulate(3)
    if columns.get("score") == "one":
        alarms.loc[7, "score"] = np.nan
    elif columns.get("score") == "half":  # some parts know no score at all
        alarms.loc[alarms["position"] >= 100, "score"] = np.nan
    else:
        alarms = alarms.assign(**columns)
    found = judge_by_parts(cut(instances, alarms, [100, 100]), run)
    same_but_for_errors(found, judge(instances, alarms, run))


def test_a_failed_monitor_has_its_records():
    instances, alarms, run = simulate()
    run["monitors"][1]["failure"] = "out of memory"
    run["monitors"].append({"name": "gone"})
    half = alarms[(alarms["monitor"] == "odin") | (alarms["position"] < 10)]
    found = judge_by_parts(cut(instances, half, [100]), run)
    same = [record for record in found if record["monitor"] in ("odin", "oracle")]
    whole = [r for r in judge(instances, half, run) if r["monitor"] in ("odin", "oracle")]
    same_but_for_errors(same, whole)
    failed = next(record for record in found if record["monitor"] == "oob")
    assert failed["failure"] == failed["undefined"]["auroc_error"].removeprefix("failed: ") == "out of memory"
    assert {r["failure"] for r in found if r["monitor"] == "gone"} == {"it left no alarms"}


def test_delays_are_not_told_and_why():
    instances, alarms, run = simulate()
    instances["episode"] = np.where(instances["position"] % 50 > 25, instances["position"] // 50, -1)
    found = judge_by_parts(cut(instances, alarms, [100]), run)
    for record in found:
        why = "not told where readouts are judged by parts" if record["part"] == "all" else "told of part all"
        assert record["undefined"]["detection_delay"] == record["undefined"]["false_alarms_per_1000"] == why


def test_refuses_what_judge_refuses():
    instances, alarms, run = simulate(monitors=("odin",))
    with refused(DataError):
        judge_by_parts([], run)
    with refused(DataError):
        judge_by_parts([(instances, alarms.assign(monitor="oracle"))], {})
    late = [(instances[:100], alarms[:100]), (instances[100:], alarms[100:].assign(monitor="oob"))]
    with refused(DataError):
        judge_by_parts(late, {})


# From a folder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "group"), [(17, 50), (100, 100), (64, 1000), (1000, 33), (300, 300)])
def test_a_folder_gives_the_records_of_the_whole(tmp_path, monkeypatch, rows, group):
    instances, alarms, run = simulate(4, monitors=("a", "b", "c"))
    # Row groups that end in the midst of monitors, and of stretches.
    plain = pd.DataFrame.to_parquet
    monkeypatch.setattr(
        pd.DataFrame, "to_parquet", lambda self, path, **how: plain(self, path, row_group_size=group, **how)
    )
    folder = Readouts(instances, alarms, run).save(tmp_path / "run")
    assert pq.ParquetFile(folder / "alarms.parquet").num_row_groups == -(-900 // group)
    assert [len(part) for part, _ in parts_of(folder, rows)] == [
        min(rows, 300 - start) for start in range(0, 300, rows)
    ]
    loaded = Readouts.load(folder)
    expected = judge(loaded.instances, loaded.alarms, {**loaded.run, "folder": str(folder)})
    same_but_for_errors(judge_folder(folder, rows=rows), expected)


def test_a_folder_without_any_monitor_is_judged(tmp_path):
    instances, alarms, _ = simulate(4)
    folder = Readouts(instances, alarms[:0], {}).save(tmp_path / "run")
    assert {record["monitor"] for record in judge_folder(folder, rows=100)} == {"oracle"}


def test_a_folder_that_was_changed_is_refused(tmp_path):
    instances, alarms, run = simulate(4, n=30)
    folder = Readouts(instances, alarms, run).save(tmp_path / "run")
    alarms.assign(alarm=True).to_parquet(folder / "alarms.parquet", index=False)
    with refused(DataError):
        judge_folder(folder)


def test_alarms_must_lie_monitor_after_monitor(tmp_path):
    instances, alarms, run = simulate(4, n=30)
    mixed = alarms.sort_values("position", kind="stable", ignore_index=True)
    folder = Readouts(instances, mixed, run).save(tmp_path / "mixed")
    with refused(DataError):
        judge_folder(folder)
    folder = Readouts(instances, alarms[:-1], run).save(tmp_path / "short")
    with refused(DataError):
        judge_folder(folder)
    turned = alarms.iloc[::-1].reset_index(drop=True)
    folder = Readouts(instances, turned, run).save(tmp_path / "turned")
    with refused(DataError):
        judge_folder(folder, rows=10)


@pytest.mark.parametrize(
    ("track", "unit"),
    [(None, "instances"), ([None] * 300, "instances"), ([None] * 299 + ["one"], None), (["a"] * 300, None)],
    ids=["no column", "an empty one", "one track", "tracks"],
)
def test_where_a_folder_has_tracks_there_are_no_intervals(tmp_path, track, unit):
    instances, alarms, run = simulate(4)
    if track is not None:
        instances = instances.assign(track=pd.array(track, dtype="string"))
    folder = Readouts(instances, alarms, run).save(tmp_path / "run")
    for record in judge_folder(folder, rows=100):
        assert record["intervals_by"] == unit
        assert (record["overall"]["error_low"] is None) == (unit is None)


def test_merged_parts_remember_that_one_had_tracks():
    instances, alarms, run = simulate(4)
    with_track = instances.assign(track="one")
    apart = []
    for rows, table in ((slice(0, 200), instances), (slice(200, 300), with_track)):
        part = ByParts(run)
        part.add(table[rows], alarms[alarms["position"].isin(table["position"][rows])])
        apart.append(part)
    first, second = apart
    for merged in (first.merge(second), second.merge(first)):
        assert {record["intervals_by"] for record in merged.records()} == {None}
    assert {record["intervals_by"] for record in first.records()} == {"instances"}
