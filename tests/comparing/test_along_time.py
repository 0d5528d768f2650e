"""Delays and false alarms compared: onsets in one table, draws of episodes and tracks, equal rates."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.cli import main
from farm.comparing.comparison import compare
from farm.comparing.equal_alarms import at_false_alarms
from farm.errors import DataError, ExperimentError
from farm.statistics.resampling import quantile_by_weight
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import refused, same_text


def stream(delays, *, quiet=20, lasting=10, seed=0, fault="fog", views=1, alarms=()):
    """Give each monitor a delay an onset, None where it misses it, and false alarms at some places."""
    n_onsets = len(next(iter(delays.values())))
    place = np.arange(n_onsets * (quiet + lasting) + quiet)
    since = place % (quiet + lasting) - quiet
    is_ood = since >= 0
    episode = np.where(is_ood, place // (quiet + lasting), -1)
    said = {}
    for name, own in delays.items():
        at = [i * (quiet + lasting) + quiet + late for i, late in enumerate(own) if late is not None]
        alarm = np.isin(place, [*at, *alarms])
        score = np.random.default_rng([seed, *name.encode()]).random(len(place)) + 3 * alarm
        said[name] = {"alarm": alarm, "cancelled": alarm, "score": score}
    return make_readouts(
        said,
        is_ood=is_ood,
        wrong=is_ood,
        episode=episode,
        track=[f"t{i // views}" for i in place],
        faultload=np.where(is_ood, fault, None),
        category=np.where(is_ood, "shift", None),
        severity=None,
        run={"folder": f"runs/{seed}", "workload": {"name": "signs"}, "classifier": {"name": "lenet"}},
    )


def values(found):
    return {row["monitor"]: row for row in found.values.to_dict("records")}


def test_sixteen_cells_of_one_onset_are_one_table_of_sixteen():
    runs = [stream({"soon": [i % 4], "late": [i // 4 + 4]}, seed=i) for i in range(16)]
    found = compare(*runs, measure="detection_delay", replicates=500)
    (section,) = found.sections
    assert (section.n, section.unit, section.n_groups) == (16, "onsets", 16)
    rows = values(found)
    # The median of 0, 1, 2, 3, each four times, is the eighth.
    assert (rows["soon"]["value"], rows["late"]["value"]) == (1.0, 5.0)
    assert rows["soon"]["high"] <= 3 < 4 <= rows["late"]["low"]
    assert rows["late"]["p"] < 0.05
    assert found.conclusions[0].sentence.startswith(
        "On shift, there is one set, so that its onsets decide (n = 16)"
    )


def test_missed_onsets_are_a_share_of_those_with_a_delay():
    run = stream({"half": [0, None] * 10, "all": [1] * 20})
    rows = values(compare(run, measure="missed_onsets", replicates=500))
    assert (rows["half"]["value"], rows["all"]["value"]) == (0.5, 0.0)
    # Of 20 draws of a half: 1.96 times the root of a quarter of a twentieth is 0.22.
    assert rows["half"]["low"] == pytest.approx(0.28, abs=0.06)
    assert rows["half"]["high"] == pytest.approx(0.72, abs=0.06)
    delays = compare(run, measure="detection_delay", replicates=500)
    assert values(delays)["half"]["value"] == 0.0
    assert math.isnan(values(delays)["half"]["high"]), "in half of the draws it is infinite"


def test_faults_of_one_stream_have_onsets_of_their_own():
    run = stream({"mine": [0] * 8 + [5] * 8})
    late = run.instances["position"] >= 8 * 30
    named = run.instances["faultload"].where(~(late & run.instances["is_ood"]), "night")
    run = Readouts(run.instances.assign(faultload=named), run.alarms, run.run)
    found = compare(run, measure="detection_delay", replicates=200)
    assert {one.name: (one.n, one.standings[0].value.value) for one in found.sections} == {
        "fog": (8, 0.0),
        "night": (8, 5.0),
    }
    (false,) = {
        (one.n, one.unit) for one in compare(run, measure="false_alarms_per_1000", replicates=200).sections
    }
    assert false == (17 * 20, "quiet instances")


def test_false_alarms_are_drawn_by_tracks():
    alarms = [place for place in range(15) if place < 5 or place > 9]  # five views each of two objects
    each, views = (
        values(compare(stream({"mine": [0] * 20}, views=v, alarms=alarms), measure="false_alarms_per_1000"))[
            "mine"
        ]
        for v in (1, 5)
    )
    assert each["value"] == views["value"] == pytest.approx(1000 * 10 / 420)
    # Two objects of 84 in place of ten instances of 420: the normal interval is the root of five as wide.
    half = [(row["high"] - row["low"]) / 2 for row in (each, views)]
    assert half[0] == pytest.approx(1000 * 1.96 * np.sqrt(10 / 420 * (1 - 10 / 420) / 420), rel=0.15)
    assert half[1] == pytest.approx(np.sqrt(5) * half[0], rel=0.2)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=12),
    st.sampled_from([0.25, 0.5, 0.95]),
)
def test_a_weighted_quantile_is_that_of_the_repeated_values(rows, q):
    numbers, times = (np.array(column) for column in zip(*rows, strict=True))
    (got,) = quantile_by_weight(numbers.astype(float), q, np.arange(len(rows)))(times[None].astype(float))
    if times.sum() == 0:
        assert np.isnan(got)
    else:
        assert got == np.quantile(np.repeat(numbers, times), q, method="inverted_cdf")


def test_at_equal_false_alarms_thresholds_decide_and_policies_do_not():
    run = stream({"soon": [0] * 20, "late": [4] * 20})
    changed = at_false_alarms(run, 10)
    for name, own in changed.alarms.groupby("monitor"):
        quiet = ~run.instances["is_ood"].to_numpy()
        assert own["alarm"].to_numpy()[quiet].sum() == 4, f"{name}: 10 a thousand of 420"
        assert (own["alarm"] == own["cancelled"]).all()
    found = compare(run, measure="detection_delay", false_alarms=0.0, replicates=200)
    assert {name: row["value"] for name, row in values(found).items()} == {"soon": 0.0, "late": 4.0}
    assert found.notes[0].startswith("each monitor has 0 false alarms a thousand quiet instances")


def test_what_cannot_be_compared_so_is_told():
    run = stream({"mine": [0] * 6})
    unscored = Readouts(run.instances, run.alarms.drop(columns="score"), run.run)
    faulty = run.instances["is_ood"]
    never_quiet = Readouts(run.instances[faulty], run.alarms[faulty.to_numpy()], run.run)
    for wrong, rate in ((unscored, 5.0), (never_quiet, 5.0)):
        with refused(DataError):
            at_false_alarms(wrong, rate)
    with refused(ExperimentError):
        at_false_alarms(run, 1000.0)
    timeless = Readouts(run.instances.drop(columns="episode"), run.alarms, run.run)
    (section,) = compare(timeless, measure="detection_delay").sections
    assert section.standings[0].value.reason == "the stream has no episodes"
    same_text(compare(stream({"mine": [0] * 3}), measure="detection_delay").sections[0].notes[0])


def test_the_command_takes_them(tmp_path, capsys):
    run = str(stream({"soon": [0] * 20, "late": [4] * 20}).save(tmp_path / "run"))
    options = ["--measure", "detection_delay", "--false-alarms", "0", "--replicates", "200"]
    assert main(["compare", run, *options, "--format", "json"]) == 0
    (section,) = json.loads(capsys.readouterr().out)["sections"]
    assert [(each["monitor"], each["value"]) for each in section["monitors"]] == [
        ("soon", 0.0),
        ("late", 4.0),
    ]
    assert main(["compare", run, *options]) == 0
    assert "n = 20 onsets" in capsys.readouterr().out
