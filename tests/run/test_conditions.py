"""The conditions in which instances were taken: from splits, through faults, sets and runs, to who judges."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from farm.api import NO_ANSWER, Context, FaultContext, Split, Workload
from farm.cli import main
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.faults import Fault
from farm.run.schedules import Recurring
from farm.run.streams import BenchmarkStream
from farm.run.testbed import Testbed
from farm.run.timed import TimedStream
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel, tiny_workload
from tests.run.streamed import columns_of
from tests.wording import same_text

WEATHER, LUX = "condition weather", "condition lux"


def with_conditions(split: Split, **conditions: Any) -> Split:
    return replace(split, conditions=conditions)


def in_weather(seed: int = 0) -> Workload:
    """Make a workload of which words and numbers of the conditions are known, but not of all images."""
    made = tiny_workload(tracks=(4, 3, 6), frames=4)
    rng = np.random.default_rng(seed)

    def told(split: Split) -> Split:
        n = len(split)
        lux = np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(size=n), 3))
        return with_conditions(split, weather=rng.choice(["fog", "rain in the night", ""], n), lux=lux)

    return replace(made, train=told(made.train), validation=told(made.validation), test=told(made.test))


HERE = in_weather()


def fault(beside: Workload = HERE, source: Workload | None = None, name: str = "negative") -> Fault:
    """Change the test images of a workload, or bring those of another."""
    faultload = FakeFaultload(transform=lambda images: 1 - images, label=NO_ANSWER, name=name)
    context = FaultContext(beside, (source or beside).test, None, lambda spec: beside, Context())
    targets = faultload.prepare(context)
    return Fault(faultload, targets if source is None else replace(targets, workload=source.name))


def expected(ids: Sequence[str], name: str, *splits: Split) -> list[Any]:
    """Look up the condition of instances by what they are called without their faults and visits."""
    known = {
        str(own): value
        for split in splits
        for own, value in zip(split.ids, split.conditions[name].tolist(), strict=True)
    }
    return [known[one.partition("|")[0].partition("~")[0]] for one in ids]


def check(seen: Mapping[str, Any], *splits: Split) -> None:
    ids = [str(one) for one in seen["ids"]]
    assert seen[WEATHER].tolist() == expected(ids, "weather", *splits)
    np.testing.assert_array_equal(seen[LUX], expected(ids, "lux", *splits))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_each_instance_has_those_of_its_image_whatever_faults_do(size: int) -> None:
    stream = BenchmarkStream(HERE, fault(), everywhere=[fault(name="dim")], seed=3)
    seen = columns_of(*stream.batches(size))
    assert seen["is_ood"].any()
    check(seen, HERE.test)
    check(columns_of(stream.at(np.array([5, 0, 5]))), HERE.test)


@pytest.mark.parametrize("size", [1, 16])
def test_they_come_again_with_their_instances_in_a_stream_with_time(size: int) -> None:
    stream = TimedStream(HERE, fault(), schedule=Recurring(period=9, burst=4), length=120, seed=5)
    seen = columns_of(*stream.batches(size))
    assert any("~1" in one for one in seen["ids"].tolist())
    check(seen, HERE.test)


def test_what_another_workload_does_not_tell_is_not_known() -> None:
    other = tiny_workload(classes=("elm", "fir"), tracks=(2, 2, 3), frames=2, name="abroad")
    haze = np.arange(len(other.test)) * 0.5
    abroad = replace(other, test=with_conditions(other.test, haze=haze))
    stream = BenchmarkStream(HERE, fault(source=abroad), seed=1)
    seen = columns_of(*stream.batches(9))
    ours = ~seen["is_ood"]
    check({name: values[ours] for name, values in seen.items()}, HERE.test)
    assert set(seen[WEATHER][~ours]) == {""}
    assert np.isnan(seen[LUX][~ours]).all()
    assert np.isnan(seen["condition haze"][ours]).all()
    assert sorted(seen["condition haze"][~ours]) == sorted(haze)


def test_what_is_of_words_in_some_split_is_of_words() -> None:
    other = tiny_workload(classes=("elm", "fir"), tracks=(2, 2, 3), frames=2, name="abroad")
    numbers = np.where(np.arange(len(other.test)) == 0, np.nan, 3.0)
    abroad = replace(other, test=with_conditions(other.test, weather=numbers))
    seen = columns_of(*BenchmarkStream(HERE, fault(source=abroad)).batches(50))
    assert set(seen[WEATHER][seen["is_ood"]]) == {"", "3.0"}
    assert set(seen[WEATHER][~seen["is_ood"]]) == set(HERE.test.conditions["weather"].tolist())


@pytest.mark.parametrize("size", [1, 10])
def test_a_set_on_disk_keeps_them(tmp_path: Path, size: int) -> None:
    unknown = with_conditions(HERE.test, **HERE.test.conditions, dew=np.full(len(HERE.test), ""))
    stream = BenchmarkStream(replace(HERE, test=unknown), fault(), ood_share=0.3, seed=2)
    write_benchmark(stream, tmp_path / "set", batch_size=7)
    written, read = columns_of(*stream.batches(16)), columns_of(*StoredStream(tmp_path / "set").batches(size))
    for name in (WEATHER, LUX, "condition dew"):
        assert read[name].dtype.kind == written[name].dtype.kind
        np.testing.assert_array_equal(read[name], written[name])


def run(workload: Workload, *faults: Fault) -> Readouts:
    bed = Testbed()
    classifier = bed.classifier(TinyModel(), workload)
    monitors = [FakeMonitor(name="doubt")]
    bed.fit(monitors, classifier, workload)
    return bed.run(BenchmarkStream(workload, *faults), classifier, monitors, workload, pictures=None)


def test_readouts_have_them_as_logs_do(tmp_path: Path) -> None:
    made = run(HERE, fault())
    read = Readouts.load(made.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(read.instances, made.instances)
    ids = read.instances["id"].tolist()
    words = expected(ids, "weather", HERE.test)
    assert read.instances[WEATHER].isna().tolist() == [word == "" for word in words]
    assert read.instances[WEATHER].dropna().tolist() == [word for word in words if word]
    assert read.instances[LUX].dtype == np.float64
    np.testing.assert_array_equal(read.instances[LUX], expected(ids, "lux", HERE.test))
    without = replace(HERE, test=with_conditions(HERE.test))
    plain = run(without, fault(without))
    others = [column for column in plain.instances if column not in TIME_COLUMNS]
    pd.testing.assert_frame_equal(plain.instances[others], made.instances[others])
    assert [column for column in made.instances if column not in plain.instances] == [WEATHER, LUX]


def test_alarms_of_a_run_are_told_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run(HERE, fault())
    made.save(tmp_path / "run")
    assert main(["judge", "run", "--by", "weather", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    found = {r["of"]: (r["n"], r["alarm_rate"]) for r in records if r["part"] == "condition"}
    instances = made.instances.merge(made.alarms, on="position")
    parts = instances.groupby(instances[WEATHER].fillna("nothing"))["alarm"]
    assert found == {
        None if of == "nothing" else of: (len(alarms), pytest.approx(alarms.mean())) for of, alarms in parts
    }
    assert len(found) == 3
    for asked in ("wether", "lux"):
        assert main(["judge", "run", "--by", asked]) == 2
        same_text(capsys.readouterr().err)
