"""Whose verdict is another than before, counted."""

from __future__ import annotations

from farm.baseline.changed import Changed, changed


def test_where_no_run_has_the_monitor_nothing_changed():
    nothing = dict.fromkeys(
        ("newly_missed", "no_longer_missed", "new_false_alarms", "no_longer_false_alarms"), 0
    )
    expected = [Changed("oob", task, missed_ids=(), **nothing) for task in ("specific", "overall")]
    assert changed([], "oob") == expected
