"""Two runs as one stream: what a hand counts, and what one stream of both gives."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from farm.errors import DataError
from farm.judging import judge
from farm.judging.frames import records_frame
from farm.judging.joining import joined
from farm.judging.merging import merged
from farm.run.testbed import Testbed
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing import make_readouts
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel, TinySource
from tests.judging.test_merging import drawn
from tests.wording import refused

NOTES = [
    {
        "name": name,
        "failure": None,
        "parameters": {"k": 3},
        "rows_near_threshold": 7,
        "calibration": {"method": "id-quantile", "threshold": 0.25, "held_out_acceptance": 0.9},
    }
    for name in ("odin", "oob")
]
RUN = {"name": "one", "seed": 3, "classes": ["a", "b"], "classifier": {"name": "lenet", "digest": "d1"}}


def run_of(is_ood, wrong, score, **changes):
    said = {
        name: {"score": np.asarray(score) * sign, "monitor_time_us": np.arange(len(wrong)) + 0.5}
        for name, sign in (("odin", 1.0), ("oob", -1.0))
    }
    return make_readouts(
        said,
        is_ood=is_ood,
        wrong=wrong,
        id=[f"i{i}" for i in range(len(wrong))],
        track=[f"t{i // 2}" for i in range(len(wrong))],
        classifier_time_us=np.arange(len(wrong)) + 0.25,
        run={**RUN, "monitors": copy.deepcopy(NOTES), **changes},
    )


def pair(n=6, **changes):
    yes = np.arange(n) % 2 == 0
    return run_of(False, yes, np.linspace(-1, 1, n)), run_of(True, yes, np.linspace(-1, 1, n), **changes)


rows = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(-5, 5).filter(bool)), min_size=1, max_size=25
)


@given(rows, rows)
def test_records_are_counted_by_hand(first, second):
    """Of each its ID rows or its OOD rows, which are (is_ood, wrong, score); a score above 0 cancels."""
    counted = [row for row in first if not row[0]] + [row for row in second if row[0]]
    runs = [run_of(*map(list, zip(*each, strict=True))) for each in (first, second)]
    if not any(not row[0] for row in first) or not any(row[0] for row in second):
        with pytest.raises(DataError, match="expected some"):
            joined(*runs)
        return
    both = joined(*runs)
    found = {r["monitor"]: r for r in judge(both.instances, both.alarms, both.run) if r["part"] == "all"}
    for name, sign in (("odin", 1), ("oob", -1)):
        record = found[name]
        assert record["n"] == len(counted)
        for task, place in (("specific", 0), ("overall", 1)):
            kinds = {"tp": (True, True), "fp": (False, True), "tn": (False, False), "fn": (True, False)}
            wanted = {
                kind: sum((bool(row[place]), row[2] * sign > 0) == pattern for row in counted)
                for kind, pattern in kinds.items()
            }
            assert {kind: record[task][kind] for kind in kinds} == wanted
        auroc = roc_auc_score([row[0] for row in counted], [row[2] * sign for row in counted])
        assert record["auroc"] == pytest.approx(auroc)


def tiny(*faults, **options):
    bed = Testbed(seed=4)
    workload = bed.workload(TinySource(tracks=(4, 3, 5), frames=3))
    classifier = bed.classifier(TinyModel(), workload)
    monitors = bed.fit([FakeMonitor(name="doubt")], classifier, workload)
    stream = bed.stream(workload, classifier, faults or None, **options)
    return bed.run(stream, classifier, monitors, workload, probabilities=True)


def darker():
    return FakeFaultload(transform=lambda images: images * np.float32(0.6) + np.float32(0.1), name="dusk")


def told(readouts):
    """All that is told of readouts, but for times; floating-point sums may differ in their last bits."""
    frame = records_frame(judge(readouts.instances, readouts.alarms, readouts.run))
    return frame[[name for name in frame if "time_us" not in name]]


def same(one, other):
    pd.testing.assert_frame_equal(told(one), told(other), rtol=1e-9)
    return True


def test_both_together_are_what_one_stream_of_both_gives(tmp_path):
    plain, shifted, whole = tiny(), tiny(darker(), ood_share=1.0), tiny(darker())
    assert not plain.instances["is_ood"].any()
    assert shifted.instances["is_ood"].all()
    both = joined(plain, shifted)
    assert same(both, whole)
    assert set(told(both)["intervals_by"]) == {"tracks"}, "an image and what became of it are of one"
    columns = [name for name in whole.instances if name not in ("position", "episode", *TIME_COLUMNS)]
    one, other = (each.instances.set_index("id").sort_index() for each in (both, whole))
    pd.testing.assert_frame_equal(one[columns[1:]], other[columns[1:]], rtol=1e-6)
    kept = Readouts.load(both.save(tmp_path / "both"))
    assert same(kept, whole)
    assert [one["stream"]["n_ood"] for one in kept.run["joined"]] == [0, 60]


def test_a_run_joined_with_itself_is_itself():
    whole = tiny(darker())
    assert same(joined(whole, whole), whole)


def test_readouts_that_only_judge_are_joined_alike(tmp_path):
    """Without ids of alarms, and with monitors as categories."""
    runs = tiny(), tiny(darker(), ood_share=1.0)
    folders = [run.save(tmp_path / str(i)) for i, run in enumerate(runs)]
    assert same(joined(*(Readouts.load(one, to_judge=True) for one in folders)), joined(*runs))


def test_places_are_new_and_all_else_is_as_it_was():
    plain, shifted = pair()
    both = joined(plain, shifted)
    assert both.instances["position"].tolist() == list(range(12))
    assert both.instances["id"].tolist() == [f"i{i}" for i in range(6)] + [
        f"i{i} (shifted)" for i in range(6)
    ]
    assert both.instances["track"].tolist() == [f"t{i // 2}" for i in range(6)] * 2
    assert both.instances["classifier_time_us"].tolist() == [i + 0.25 for i in range(6)] * 2
    odin = both.alarms[both.alarms["monitor"] == "odin"]
    assert odin["position"].tolist() == list(range(12))
    assert odin["monitor_time_us"].tolist() == [i + 0.5 for i in range(6)] * 2
    assert both.alarms["monitor"].tolist() == ["odin"] * 12 + ["oob"] * 12, "monitor after monitor"
    assert both.instances.index.tolist() == list(range(12))
    assert both.alarms.index.tolist() == list(range(24))
    assert both.run["monitors"][0]["calibration"] == {"method": "id-quantile", "threshold": 0.25}


def test_alarms_have_the_ids_of_their_instances():
    plain, shifted = (
        replace(one, alarms=one.alarms.assign(id=[f"i{i}" for i in range(6)] * 2)) for one in pair()
    )
    both = joined(plain, shifted)
    names = dict(zip(both.instances["position"], both.instances["id"], strict=True))
    assert both.alarms["id"].tolist() == [names[place] for place in both.alarms["position"]]
    assert both.instances["id"].is_unique


def test_a_monitor_that_failed_in_either_has_failed():
    plain, shifted = pair()
    failing = replace(
        shifted,
        alarms=shifted.alarms[shifted.alarms["monitor"] == "odin"],
        run={**shifted.run, "monitors": [NOTES[0], {**NOTES[1], "failure": "singular", "calibration": None}]},
    )
    for both in (joined(plain, failing), joined(replace(plain, run=failing.run), shifted)):
        found = {r["monitor"]: r["failure"] for r in judge(both.instances, both.alarms, both.run)}
        assert found == {"odin": None, "oob": "singular", "oracle": None}
        assert set(both.alarms["monitor"]) == {"odin"}


def test_what_is_merged_may_be_joined_and_the_other_way_round():
    runs = [
        replace(one, run={**one.run, "seed": 0}) for one in (drawn(1, is_ood=False), drawn(2, is_ood=True))
    ]
    groups = {"walker": ["pedestrian"], "vehicle": ["car", "truck", "bus"]}
    first = joined(*(merged(one, groups) for one in runs))
    last = merged(joined(*runs), groups)
    assert judge(first.instances, first.alarms, first.run) == judge(last.instances, last.alarms, last.run)
    assert np.array_equal(first.probabilities, last.probabilities)


def test_probabilities_that_one_run_kept_are_left_out():
    plain, shifted = pair()
    kept = replace(plain, instances=plain.instances.assign(**{"probability a": 1.0, "probability b": 0.0}))
    assert list(joined(kept, shifted).instances) == list(joined(plain, shifted).instances)
    assert (
        "condition rain"
        in joined(
            replace(plain, instances=plain.instances.assign(**{"condition rain": "no"})), shifted
        ).instances
    )


def noted(**changes):
    """The notes of both monitors, the first of them otherwise."""
    return [{**NOTES[0], **changes}, NOTES[1]]


OTHERWISE = {
    "seed": {"seed": 4},
    "no seed": {"seed": None},
    "classes": {"classes": ["a", "c"]},
    "many classes": {"classes": [f"class {i}" for i in range(90)]},
    "name of classifier": {"classifier": {"name": "vgg", "digest": "d1"}},
    "weights": {"classifier": {"name": "lenet", "digest": "d2"}},
    "threshold": {"monitors": noted(calibration={**NOTES[0]["calibration"], "threshold": 0.5})},
    "method": {"monitors": noted(calibration={**NOTES[0]["calibration"], "method": "id-extreme"})},
    "parameters": {"monitors": noted(parameters={"k": 4})},
    "policy": {"monitors": noted(policy={"name": "latching"})},
    "monitors": {"monitors": NOTES[:1]},
    "merged": {"merged": {"groups": {"a": ["x", "y"], "b": ["z"]}, "summed": True}},
    "boxes": {"boxes": {"height": 32, "width": 32, "spread_ddof": None}},
    "split": {"stream": {"split": "validation"}, "folder": "cells/b"},
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_runs_that_do_not_belong_together_are_refused(what):
    with refused(DataError):
        joined(*pair(**OTHERWISE[what]))


def test_a_run_without_instances_of_its_side_is_refused():
    plain, shifted = pair()
    for runs in ((shifted, shifted), (plain, plain)):
        with refused(DataError):
            joined(*runs)


def test_what_came_of_other_streams_may_differ():
    plain, shifted = pair(
        monitors=noted(
            rows_near_threshold=1, calibration={**NOTES[0]["calibration"], "held_out_acceptance": 0.1}
        ),
        name="another",
        stream={"frame_rate": 3},
    )
    assert len(joined(plain, shifted).instances) == 12
