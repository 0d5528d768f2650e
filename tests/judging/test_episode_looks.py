"""Episodes of runs as one table, by hand: planted alarms, cancellations, deadlines, equal false alarms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farm.cli import main
from farm.errors import DataError, ExperimentError
from farm.judging.episode_looks import Deadline, delays_at_false_alarms, episodes
from farm.judging.inspection import InspectedRun
from farm.judging.readouts import judged_records
from farm.judging.whole_stream import FALSE_ALARMS
from farm.report.looks import render_looks
from farm.testing import make_readouts
from tests.wording import refused, same_text

FAULTS = ("fog", "fog", "night", "fog", "night", "fog", "night", "night")
EVERY, LASTING = 20, 6
"""Every so often an episode begins and lasts for so long, after as many quiet instances."""
ALARMS = {0: 0, 1: 1, 2: 3, 3: "on ID", 4: "standing", 5: "after", 6: "missed", 7: "open"}
"""What is planted in each episode: fog 0, 1, on ID, after; night 3, standing, missed, open."""


def planted(**run):
    """A stream that ends in its eighth episode; a ninth one planned before the first has no OOD instance."""
    n = (len(FAULTS) - 1) * EVERY + LASTING + 10
    place = np.arange(n)
    since = (place - 10) % EVERY
    number = np.where((place >= 10) & (since < LASTING), (place - 10) // EVERY, -1)
    number[2:5] = 100
    is_ood = (number != -1) & (number != 100)
    is_ood[10 + 3 * EVERY + 2] = False
    alarm = np.zeros(n, dtype=bool)
    alarm[4] = True
    for episode, planned in ALARMS.items():
        onset = 10 + episode * EVERY
        at = {"on ID": [2], "standing": [-1, 0, 1], "after": [6]}.get(planned, [])
        alarm[onset + np.array([planned] if isinstance(planned, int) else at, dtype=int)] = True
    named = np.array([FAULTS[i] if 0 <= i < len(FAULTS) else None for i in number], dtype=object)
    said = {"alarm": alarm, "cancelled": alarm & np.roll(alarm, 1), "score": alarm + place / n}
    options = {"faultload": np.where(is_ood, named, None), "category": np.where(is_ood, "shift", None)}
    return make_readouts(
        {"mine": said}, is_ood=is_ood, wrong=is_ood, episode=number, severity=None, run=run, **options
    )


def rows_of(look):
    return [dict(zip(look.columns, row, strict=True)) for row in look.rows]


def test_planted_alarms_come_out_to_the_digit():
    fog, night, both, each = episodes([InspectedRun.of(planted())])
    assert [look.title.split(",")[0] for look in (fog, night, both)] == [
        "fog: 4 onsets",
        "night: 4 onsets",
        "all faults: 8 onsets",
    ]
    counts = ("at once", "1 late", "later", "standing", "on ID", "missed", "after", "open")
    by_hand = ((1, 1, 0, 0, 1, 1, 1, 0), (0, 0, 1, 1, 0, 1, 0, 1), (1, 1, 1, 1, 1, 2, 1, 1))
    for look, expected, median in zip((fog, night, both), by_hand, (1.0, 3.0, 3.0), strict=True):
        row = rows_of(look)[0]
        assert tuple(row[name] for name in counts) == expected
        assert row["median"].value == median
        assert "planned episodes without any OOD instance: 1" in look.notes[1]
    told = [
        (row["episode"], row["fault"], row["onset"], row["lasts"], row["alarm after"])
        for row in rows_of(each)
    ]
    assert told == [(i, FAULTS[i], 10 + EVERY * i, LASTING, ALARMS[i]) for i in range(8)]


def test_the_records_of_a_fault_tell_of_its_own_episodes():
    delays = {
        record["faultload"]: record["detection_delay"]
        for record in judged_records(planted())
        if record["part"] == "all" and record["monitor"] == "mine"
    }
    names = ("n", "found", "standing", "on_id", "missed", "after", "open", "empty", "median")
    assert [delays["fog"][name] for name in names] == [4, 2, 0, 1, 1, 1, 0, 1, 1.0]
    assert [delays["night"][name] for name in names] == [4, 1, 1, 0, 1, 0, 1, 1, 3.0]


def test_what_is_cancelled_has_delays_of_its_own():
    night = rows_of(list(episodes([InspectedRun.of(planted())]))[1])
    assert [row["monitor"] for row in night] == ["mine", "mine, cancelled"]
    # Two alarms in a row cancel: at the onset of the one at which an alarm stood, and nowhere else.
    assert [night[1][name] for name in ("at once", "standing", "missed", "open")] == [1, 0, 2, 1]
    record = next(r for r in judged_records(planted()) if (r["faultload"], r["part"]) == ("night", "all"))
    assert (record["cancellation_delay"]["found"], record["cancellation_delay"]["median"]) == (1, None)


@pytest.mark.parametrize(("deadline", "share"), [("1", 2 / 8), ("3", 3 / 8), ("6", 3 / 7), ("0.1s", 2 / 8)])
def test_a_deadline_is_in_instances_or_seconds(deadline, share):
    run = planted(stream={"frame_rate": 10.0})
    both = list(episodes([InspectedRun.of(run)], Deadline.parse(deadline)))[2]
    row = rows_of(both)[0]
    # The last episode was open for six instances: it counts for any deadline that is shorter.
    assert row[both.columns[-1]].value.value == share
    assert row["seconds"].value == 0.3


def test_sixteen_streams_of_one_onset_are_one_table_of_sixteen():
    runs = []
    for late in range(16):
        place = np.arange(60)
        alarm = place == 30 + late
        made = make_readouts(
            {"mine": alarm}, is_ood=place >= 30, wrong=place >= 30, episode=np.where(place >= 30, 0, -1)
        )
        runs.append(InspectedRun.of(made))
    (look, each) = episodes(runs)
    (row,) = rows_of(look)
    assert look.title.endswith(": 16 onsets, instances until noticed")
    assert (row["median"].value, row["missed"], row["later"]) == (7.0, 0, 14)
    assert 3 <= row["low"].value < 7 < row["high"].value <= 12
    assert len(each.rows) == 16


def test_at_equal_false_alarms_monitors_have_the_same_rate():
    rng = np.random.default_rng(0)
    place = np.arange(4000)
    episode = np.where(place % 40 >= 30, place // 40, -1)
    score = rng.normal(size=4000) + 2 * (episode >= 0)
    said = {
        "plain": {"score": score, "alarm": score > 1},
        "squashed": {"score": np.tanh(score), "alarm": False},
    }
    run = make_readouts(said, is_ood=episode >= 0, wrong=episode >= 0, episode=episode)
    looks = list(delays_at_false_alarms([InspectedRun.of(run)]))
    assert len(looks) == len(FALSE_ALARMS)
    found = []
    for look, asked in zip(looks, FALSE_ALARMS, strict=True):
        plain, high = look.rows
        assert plain[1:] == high[1:], "they rank instances alike"
        assert asked - 1 < plain[1].value <= asked
        found.append(plain[2])
    assert found[-1] > found[0]


def test_what_is_missing_is_told(tmp_path):
    quiet = InspectedRun.of(make_readouts({"mine": [False, True]}, is_ood=[False, True]))
    unscored = planted()
    unscored = InspectedRun.of(type(unscored)(unscored.instances, unscored.alarms.drop(columns="score"), {}))
    with refused(DataError):
        list(episodes([quiet]))
    with refused(DataError):
        list(delays_at_false_alarms([unscored]))
    for wrong in ("soon", "-1", "1m", "nan"):
        with refused(ExperimentError):
            Deadline.parse(wrong)
    with refused(ExperimentError):
        list(episodes([InspectedRun.of(planted())], Deadline.parse("1s")))


def test_the_command_prints_them(tmp_path, capsys):
    run = str(planted(stream={"frame_rate": 10.0}).save(tmp_path / "run"))
    main(
        ["inspect", str(run), "--look", "episodes", "--deadline", "3", "--look", "delays", "--format", "json"]
    )
    titles = [look["title"] for look in json.loads(capsys.readouterr().out)]
    assert len(titles) == 4 + len(FALSE_ALARMS)
    assert main(["inspect", run, "--look", "time", "--deadline", "3"]) == 2
    same_text(capsys.readouterr().err)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_number_is_cut(width):
    shown = render_looks(list(episodes([InspectedRun.of(planted())])), "table", width=width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert max(map(len, shown.splitlines())) <= width
