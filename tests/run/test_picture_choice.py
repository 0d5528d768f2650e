"""Which instances are shown: by hand, the worst first, and no more than a run keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.measures.parts import MOST_SEVERITIES, Group
from farm.run import picture_choice
from farm.run.picture_choice import IN_PLANE, Verdicts, planes, shown_instances
from farm.store import pictures

ID: tuple[Any, ...] = (None, None, np.nan)
SNOW, DEEP = ("snow", "shift", 2.0), ("snow", "shift", 5.0)


def frame(*rows: tuple[int, int, tuple[Any, ...]]) -> pd.DataFrame:
    """Return instances: label, prediction, and the fault with its category and severity."""
    columns = ["label", "predicted", "faultload", "category", "severity"]
    made = pd.DataFrame([(label, predicted, *fault) for label, predicted, fault in rows], columns=columns)
    return made.assign(is_ood=[fault is not ID for _, _, fault in rows])


def verdicts(trust: Sequence[float], cancelled: Sequence[int], name: str = "m", **more: Any) -> Verdicts:
    return Verdicts(name, np.array(trust, float), np.isin(np.arange(len(trust)), cancelled), **more)


def listed(shown: pd.DataFrame, why: str, monitor: str | None = "m") -> list[int]:
    """Return the positions that are shown for one reason, in their order, whose ranks count from 0."""
    own = shown[np.array([name == monitor for name in shown["monitor"]]) & (shown["why"] == why)]
    starts = (own["rank"].to_numpy() == 0).cumsum()
    for _, one in own.groupby(starts):
        assert one["rank"].tolist() == list(range(len(one)))
    return own["position"].tolist()


def test_the_wrong_decisions_that_it_trusted_most_come_first() -> None:
    rows = [(0, 1, ID), (0, 1, ID), (0, 0, ID), (0, 1, ID), (-1, 0, SNOW), (0, 1, SNOW), (0, 0, SNOW)]
    own = verdicts([0.1, 0.9, 5.0, 0.5, 0.2, 0.3, 7.0], cancelled=[0])
    shown = shown_instances(frame(*rows), [own], 6)
    assert listed(shown, "missed") == [1, 3, 5, 4], "of ID instances, then of OOD ones"
    assert listed(shown_instances(frame(*rows), [own], 1), "missed") == [1, 5]


def test_the_right_decisions_that_it_trusted_least_come_first() -> None:
    rows = [(0, 0, ID), (1, 1, ID), (1, 0, ID), (1, 1, ID), (0, 0, SNOW), (-1, 0, SNOW)]
    own = verdicts([-0.5, -2.0, -9.0, 0.3, -1.0, -5.0], cancelled=[0, 1, 2, 3, 4, 5])
    shown = shown_instances(frame(*rows), [own], 6)
    assert listed(shown, "cancelled") == [1, 0, 3, 4], "a policy may cancel without an alarm"
    assert listed(shown, "missed") == []


def test_of_equals_the_first_in_the_stream_comes_first() -> None:
    rows = [(0, 1, ID)] * 5 + [(0, 0, ID)] * 4
    own = verdicts([1.0, 2.0, 1.0, 2.0, 1.0, -3.0, -3.0, -3.0, -3.0], cancelled=[5, 6, 7, 8])
    shown = shown_instances(frame(*rows), [own], 4)
    assert listed(shown, "missed") == [1, 3, 0, 2]
    assert listed(shown, "cancelled") == [5, 6, 7, 8]


def test_each_group_of_ood_instances_has_its_own() -> None:
    rows = [(0, 1, DEEP), (0, 1, SNOW), (0, 1, DEEP), (0, 1, SNOW), (0, 1, ("fog", "shift", 1.0))]
    shown = shown_instances(frame(*rows), [verdicts([1, 2, 3, 4, 5], [])], 1)
    assert listed(shown, "missed") == [4, 3, 2], "fog, then snow by its severity"


def test_a_ramp_is_one_group() -> None:
    ramp = [(0, 1, ("snow", "shift", (i + 1) / 10)) for i in range(MOST_SEVERITIES + 1)]
    shown = shown_instances(frame(*ramp), [verdicts(range(len(ramp)), [])], 2)
    assert listed(shown, "missed") == [MOST_SEVERITIES, MOST_SEVERITIES - 1]


def test_samples_are_the_first_of_each_label_and_of_each_group() -> None:
    rows = [(2, 0, ID), (1, 1, SNOW), (0, 0, ID), (2, 2, ID), (1, 0, ID), *[(0, 0, SNOW)] * 7, (0, 0, DEEP)]
    shown = shown_instances(frame(*rows), [], 6)
    assert listed(shown, "id", None) == [2, 4, 0]
    assert listed(shown, "ood", None) == [1, 5, 6, 7, 8, 9, 12]
    many = frame(*((label, 0, ID) for label in range(30)))
    assert listed(shown_instances(many, [], 6), "id", None) == list(range(24))


def test_none_of_each_leaves_the_samples() -> None:
    shown = shown_instances(frame((0, 1, ID), (0, 1, SNOW)), [verdicts([1, 2], [])], 0)
    assert shown["monitor"].tolist() == [None, None]


def test_where_there_is_no_room_for_all_each_list_has_its_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two samples, then of each monitor's lists the first, before any list has a second."""
    monkeypatch.setattr(pictures, "MOST", 6)
    rows = [(0, 1, ID)] * 6 + [(0, 1, SNOW)] * 6
    one = verdicts([1, 2, 3, 4, 5, 6] * 2, [], "one")
    other = verdicts([0, 9, 8, 5, 4, 3] * 2, [], "other")
    shown = shown_instances(frame(*rows), [one, other], 3)
    assert listed(shown, "missed", "one") == [5, 11]
    assert listed(shown, "missed", "other") == [1, 7]
    assert set(shown["position"]) == {0, 6, 5, 11, 1, 7}
    monkeypatch.setattr(pictures, "MOST", 7)
    assert len(set(shown_instances(frame(*rows), [one, other], 3)["position"])) == 7


@given(st.data())
def test_whatever_there_is_all_that_is_shown_is_what_it_is_shown_for(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    draw = data.draw
    faults = st.sampled_from([ID, SNOW, DEEP])
    rows = [(draw(st.integers(-1, 2)), draw(st.integers(0, 2)), draw(faults)) for _ in range(n)]
    rows = [(max(label, 0) if fault is ID else label, at, fault) for label, at, fault in rows]
    own = verdicts(
        draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), draw(st.lists(st.integers(0, n)))
    )
    instances, k = frame(*rows), draw(st.integers(0, 5))
    shown = shown_instances(instances, [own], k)
    wrong = (instances["label"] == -1) | (instances["label"] != instances["predicted"])
    for row in shown.itertuples():
        ood = bool(instances["is_ood"][row.position])
        if row.monitor is None:
            assert row.why == ("ood" if ood else "id")
            continue
        assert row.rank < k
        assert (row.why == "missed") == bool(wrong[row.position]) == (not own.cancelled[row.position])
    of_monitor = shown[shown["monitor"].notna()]
    assert not of_monitor.duplicated(["position"]).any()
    # Whatever is left out of a list that is full is no worse than what is in it.
    for _, of_fault in instances.groupby(instances["severity"].fillna(0.0)):
        for why, worse in (("missed", 1), ("cancelled", -1)):
            mine = (wrong & ~own.cancelled) if why == "missed" else (~wrong & own.cancelled)
            all_of = of_fault.index[mine[of_fault.index]]
            kept = of_monitor["position"][of_monitor["position"].isin(all_of)]
            assert len(kept) == min(k, len(all_of))
            left = all_of.difference(pd.Index(kept))
            if len(left) and len(kept):
                assert (worse * own.trust[left]).max() <= (worse * own.trust[kept]).min()


# Planes ---------------------------------------------------------------------------------------------------


def test_a_plane_is_of_the_class_that_missed_instances_are_most_often_taken_for() -> None:
    rows = [
        (0, 2, SNOW),
        (0, 2, SNOW),
        (0, 1, SNOW),
        (0, 1, SNOW),
        (1, 1, SNOW),
        (1, 1, ID),
        (2, 2, ID),
        (0, 2, ID),
    ]
    own = verdicts([1.0] * 8, cancelled=[3], has_plane=True)
    (plane,) = planes(frame(*rows), [own], shown_instances(frame(*rows), [own], 6))
    assert (plane.monitor, plane.group, plane.predicted) == ("m", Group("snow", "shift", 2.0), 2)
    assert plane.positions.tolist() == [0, 1, 6, 7]
    # Where it missed nothing, all of the group count.
    sure = verdicts([1.0] * 8, cancelled=range(8), has_plane=True)
    (plane,) = planes(frame(*rows), [sure], shown_instances(frame(*rows), [sure], 6))
    assert (plane.predicted, plane.positions.tolist()) == (1, [2, 3, 4, 5])


def test_each_group_has_a_plane_of_each_monitor_that_has_any() -> None:
    rows = [(0, 0, ID), (0, 1, SNOW), (0, 1, DEEP)]
    some = [verdicts([1, 1, 1], [], name, has_plane=name != "without") for name in ("a", "without", "b")]
    found = planes(frame(*rows), some, shown_instances(frame(*rows), some, 6))
    assert [(one.monitor, one.group.severity) for one in found] == [
        *(("a", 2.0), ("a", 5.0)),
        *(("b", 2.0), ("b", 5.0)),
    ]
    assert (
        planes(frame((0, 0, ID)), [verdicts([1], [], has_plane=True)], shown_instances(frame(*rows), [], 6))
        == []
    )


def test_of_many_instances_a_plane_has_some_and_all_that_are_shown() -> None:
    rows = [(1, 1, ID)] * 300 + [(0, 1, SNOW)] * 300
    own = verdicts(np.arange(600).tolist(), [], has_plane=True)
    shown = shown_instances(frame(*rows), [own], 50)
    (plane,) = planes(frame(*rows), [own], shown)
    assert (plane.positions < 300).sum() == (plane.positions >= 300).sum() == IN_PLANE
    assert set(range(550, 600)) <= set(plane.positions)
    familiar = plane.positions[plane.positions < 300]
    assert np.diff(familiar).max() < 40, "drawn from everywhere, not from the beginning"
    (again,) = planes(frame(*rows), [own], shown)
    assert again.positions.tolist() == plane.positions.tolist()


def test_all_planes_together_ask_for_no_more_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_choice, "IN_PLANES_ALONE", 10)
    rows = [(1, 1, ID)] * 50 + [(0, 0, SNOW)] * 50 + [(2, 2, DEEP)] * 50
    some = [verdicts([1.0] * 150, [], name, has_plane=True) for name in ("a", "b")]
    shown = shown_instances(frame(*rows), some, 6)
    found = planes(frame(*rows), some, shown)
    asked = set(np.concatenate([one.positions for one in found])) - set(shown["position"])
    assert len(asked) == 10
    assert found[0].positions.tolist() == found[2].positions.tolist(), "both monitors have the same instances"
    by_group = [len(set(one.positions) - set(shown["position"])) for one in found[:2]]
    assert by_group == [5, 5], "no group takes the room of another"
