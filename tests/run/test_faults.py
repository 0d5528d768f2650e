"""Dear faults: made once for a stream, the same at every batch size, found again by all that made them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import tracemalloc
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch

import farm.run.faults
import farm.store.identity.loaded
from farm.api import Context, FaultContext, FunctionClassifier, NoCache
from farm.config.experiment import parse_experiment
from farm.errors import ComponentFailure, ExperimentError
from farm.run.execution import assemble, run_experiment
from farm.run.faults import Fault, chunk_size, generate
from farm.run.loading import importable
from farm.run.schedules import Onset
from farm.run.streams import BenchmarkStream
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.run.timed import TimedStream
from farm.store.cache import DiskCache
from farm.store.readouts import TIME_COLUMNS
from farm.testing.fakes import TinyModel
from tests.run.streamed import columns_of
from tests.testing.leaning_attacks import Called, Darker, Leaning
from tests.wording import refused, same_text

ROOT = Path(__file__).resolve().parents[2]
WORKLOAD, MODEL = {"name": "farm.testing.fakes:TinySource"}, {"name": "farm.testing.fakes:TinyModel"}


class Notes:
    """A progress that remembers."""

    def __init__(self):
        self.notes, self.tracked = [], []

    def track(self, items, description, total=None):
        self.tracked.append((description, total))
        yield from items

    def note(self, message):
        self.notes.append(message)


@pytest.fixture(autouse=True)
def nothing_is_edited(monkeypatch):
    """Let a source file that somebody edits while tests run not seem newer than this process."""
    monkeypatch.setattr("farm.store.identity.loaded.STARTED", float("inf"))


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


class Small:
    """A bed with a cache of its own, and streams of an attack upon the tiny workload."""

    def __init__(self, folder, progress=None, seed=0, threads=1, workload=WORKLOAD, model=MODEL):
        cache = folder if isinstance(folder, NoCache) else DiskCache(folder, progress)
        self.bed = Testbed(seed, threads=threads, folder=ROOT, cache=cache, progress=progress)
        self.workload = self.bed.workload(workload)
        self.classifier = self.bed.classifier(model, self.workload)

    def stream(self, fault, severity=2, **asked):
        self.classifier.calls = 0
        return self.bed.stream(self.workload, self.classifier, fault, severity=severity, **asked)


def whole(stream, size=1000):
    """Return the columns of a whole stream."""
    return columns_of(*stream.batches(size))


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


# Made once ---------------------------------------------------------------------------------------------


def test_cold_warm_and_without_a_cache_give_the_same_bits_and_only_cold_and_without_run_the_attack(folder):
    made = []
    for cache in (folder, folder, NoCache()):
        fault = Leaning()
        system = Small(cache)
        made.append((whole(system.stream(fault, ood_share=0.4)), len(fault.applied), system.classifier.calls))
    (cold, n_cold, calls), (warm, n_warm, no_calls), (without, n_without, _) = made
    assert (n_cold, n_warm, n_without) == (1, 0, 1)
    assert (calls, no_calls) == (2, 0)
    assert_same(cold, warm)
    assert_same(cold, without)


def test_what_it_gives_is_what_the_fault_makes_of_the_drawn_targets_in_their_order(folder):
    fault, system = Leaning(), Small(folder)
    batch = whole(system.stream(fault, length=100), 7)
    (ids,) = fault.applied
    test = system.workload.test
    places = np.flatnonzero(np.isin(test.ids, ids))
    assert ids == test.ids[places].tolist()
    expected = fault.apply(
        test.images.read(places), test.labels[places], test.ids[places], np.full(len(places), 2.0)
    )
    row = {name: i for i, name in enumerate(batch["ids"])}
    rows = [row[f"{name}|leaning@2"] for name in ids]
    assert batch["is_ood"].sum() == len(ids) == 50
    np.testing.assert_array_equal(batch["images"][rows], expected.images)
    np.testing.assert_array_equal(batch["labels"][rows], expected.labels)
    np.testing.assert_array_equal(batch["fault_success"][rows], expected.measured["success"])
    assert np.isnan(batch["fault_linf"]).all()
    assert np.isnan(batch["fault_success"][~batch["is_ood"]]).all()


@pytest.mark.parametrize("size", [1, 64])
def test_pixels_do_not_depend_on_the_batch_size_bit_for_bit(size):
    streams = [Small(NoCache()).stream(Leaning(), ood_share=0.5) for _ in range(2)]
    assert_same(whole(streams[0], 13), whole(streams[1], size))


def test_order_does_not_change_pixels_and_a_shuffled_stream_finds_what_a_sequential_one_made(folder):
    one, other = Leaning(), Leaning()
    sequential = whole(Small(folder).stream(one, order="sequential"))
    shuffled = whole(Small(folder).stream(other, order="shuffled"), 5)
    assert other.applied == []
    places = [sequential["ids"].tolist().index(name) for name in shuffled["ids"]]
    assert_same({name: values[places] for name, values in sequential.items()}, shuffled)


def test_chunks_are_of_one_size_whatever_the_batches_are(monkeypatch):
    monkeypatch.setattr(farm.run.faults, "CHUNK", 40)
    fault = Leaning()
    whole(Small(NoCache()).stream(fault), 7)
    assert [len(ids) for ids in fault.applied] == [40, 40, 16]


def test_large_images_are_attacked_fewer_at_a_time():
    assert [chunk_size((3, side, side)) for side in (8, 32, 64, 224, 4000)] == [256, 256, 256, 27, 1]


@pytest.mark.parametrize(("size", "applied"), [(1, [32, 64]), (16, [32, 64]), (80, [64, 32])])
def test_cheap_faults_are_made_some_images_at_once_whatever_the_batches_and_not_kept(folder, size, applied):
    class Cheap(Leaning):
        uses_classifier = False

    fault = Cheap()
    stream = Small(folder).stream(fault, order="sequential")
    assert not stream.uses_classifier
    assert {len(batch) for batch in stream.batches(size)} <= {size, 32}
    assert [len(ids) for ids in fault.applied] == applied  # after 96 ID images, 64 or 80 at once
    assert not (folder / "faults").exists()


def test_an_attack_over_time_is_applied_batch_by_batch():
    fault = Leaning()
    stream = Small(NoCache()).stream(fault, order={"name": "onset", "at": 0}, length=12)
    assert [len(batch) for batch in stream.batches(5)] == [5, 5, 2]
    assert [len(ids) for ids in fault.applied] == [5, 5, 2]


def test_several_attacks_and_what_is_done_everywhere_keep_their_places(folder):
    asked = [
        {"name": "tests.testing.leaning_attacks:Leaning", "severity": 1},
        {"name": "tests.testing.leaning_attacks:Leaning", "as": "other", "severity": 3, "share": 2},
        {"name": "faultloads.anomaly:BitFlips", "severity": 1, "both": True},
    ]
    first, again = (whole(Small(folder).stream(asked, None, ood_share=0.5), size) for size in (1, 64))
    assert_same(first, again)
    assert len(list(folder.glob("faults/*/array.npy"))) == 2
    clean = whole(Small(folder).stream(asked[:2], None, ood_share=0.5))
    assert not np.array_equal(clean["images"], first["images"])
    assert sorted(set(first["severity"][first["is_ood"]])) == [1, 3]


# Only when it is needed --------------------------------------------------------------------------------


def test_nothing_is_made_before_the_first_batch_is_asked_for(folder, notes):
    fault = Leaning()
    stream = Small(folder, notes).stream(fault, order="sequential")
    assert stream.uses_classifier
    stream.guard(Small(folder).workload)
    assert (stream.length, stream.provenance["n_ood"]) == (192, 96)
    batches = stream.batches(8)
    assert fault.applied == notes.tracked == []
    next(batches)  # of ID instances alone: the attack is over before the classifier begins to work
    assert len(fault.applied) == 1
    assert notes.tracked == [("making leaning images", 1)]
    assert not stream.uses_classifier
    whole(stream)
    assert len(fault.applied) == 1


def test_what_is_found_is_not_announced_as_made(folder, notes):
    whole(Small(folder).stream(Leaning()))
    whole(Small(folder, notes).stream(Leaning()))
    assert notes.tracked == notes.notes == []


def test_no_attack_runs_while_the_classifier_works(folder):
    """Batches may be made ahead by a thread; all of the attack runs before, where the classifier does."""
    seen = []

    class Watched(Leaning):
        def _apply(self, *batch):
            seen.append(threading.current_thread().name)
            return super()._apply(*batch)

    small = Small(folder)
    stream = small.stream(Watched(), order="sequential")
    asked = []
    classifier = small.classifier
    forward = classifier._forward

    def noted(*arguments):
        asked.append((threading.current_thread().name, len(seen)))
        return forward(*arguments)

    classifier._forward = noted
    steps = list(SystemUnderTest(classifier, []).steps(stream, 8))
    assert len(steps) == 24
    main = threading.current_thread().name
    assert seen == [main]
    assert set(asked) == {(main, 1)}
    assert len(asked) > 24


def test_it_is_made_on_as_many_threads_as_the_experiment_says_whoever_asks(folder):
    seen = []

    class Watched(Leaning):
        def _apply(self, *batch):
            seen.append(torch.get_num_threads())
            return super()._apply(*batch)

    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(3)
        try:
            whole(Small(folder, threads=threads).stream(Watched()))
            assert torch.get_num_threads() == 3
        finally:
            torch.set_num_threads(before)
    assert seen == [1, 2]


def test_a_stream_whose_attack_draws_no_instance_runs_none(folder):
    fault = Leaning()
    stream = Small(folder).stream(fault, ood_share=0.0)
    assert not whole(stream)["is_ood"].any()
    assert fault.applied == []
    assert not stream.uses_classifier
    assert not (folder / "faults").exists()


def test_a_stream_with_time_applies_it_batch_by_batch(folder):
    fault, small = Leaning(), Small(folder)
    stream = small.stream(fault, order=Onset(at=4), length=30)
    assert isinstance(stream, TimedStream)
    for size in (10, 15):
        fault.applied.clear()
        list(stream.batches(size))
        assert len(fault.applied) == 30 // size
        assert stream.uses_classifier
    assert not (folder / "faults").exists()


def test_a_failure_of_the_attack_is_told_and_leaves_nothing(folder):
    stream = Small(folder).stream(Leaning(fails=True))
    with refused(ComponentFailure):
        next(stream.batches(4))
    assert stream.uses_classifier
    assert [path for path in folder.rglob("*") if path.is_file()] == []


# Found by all that made it -----------------------------------------------------------------------------


def runs_of_attack(folder, fault=None, severity=2, stream=None, **changed):
    fault = fault or Leaning()
    whole(Small(folder, **changed).stream(fault, severity, **(stream or {})))
    return len(fault.applied)


def named(fault, name):
    fault.name = name
    return fault


@pytest.mark.parametrize(
    "changed",
    [
        {"severity": 3},
        {"seed": 1},
        {"threads": 2},
        {"fault": lambda: Leaning(strength=0.2)},
        {"fault": lambda: named(Leaning(), "other")},
        {"stream": {"length": 100}},
        {"workload": {**WORKLOAD, "seed": 5}},
        {"model": {"name": "tests.testing.leaning_attacks:OtherModel", "as": MODEL["name"]}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_anything_makes_other_images(folder, changed):
    asked = {name: value() if callable(value) else value for name, value in changed.items()}
    assert runs_of_attack(folder) == 1
    assert runs_of_attack(folder) == 0
    assert runs_of_attack(folder, **asked) == 1
    assert runs_of_attack(folder) == 0


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("farm.store.identity.loaded.provenance.versions", {"torch": "0.0"}),
        (
            "farm.store.identity.loaded.provenance.hardware",
            {"machine": "x86_64", "system": "Linux", "processor": "another"},
        ),
        ("farm.store.identity.loaded._arithmetic", "another"),
        ("farm.testing.fakes.FakeClassifier.digest", "another"),
    ],
)
def test_another_machine_version_or_classifier_makes_other_images(folder, monkeypatch, where, what):
    assert runs_of_attack(folder) == 1
    with monkeypatch.context() as patch:
        patch.setattr(where, what if where.endswith("digest") else lambda: what)
        assert runs_of_attack(folder) == 1
    assert runs_of_attack(folder) == 0


def test_other_targets_of_the_same_labels_are_others(folder):
    small, fault = Small(folder), Darker()
    context = FaultContext(small.workload, small.workload.test, small.classifier, None, small.bed.context)
    targets = fault.prepare(context)
    at_work = Fault(fault, targets, context=context, model=TinyModel())
    for first in (0, 1, 0, 1):
        drawn = np.arange(first, first + 10)
        assert len(set(targets.labels[drawn])) == 1
        made = generate(at_work, drawn).read(drawn)
        np.testing.assert_array_equal(made.images, small.workload.test.images.read(drawn) / 2)
    assert [len(ids) for ids in fault.applied] == [10, 10]


def test_the_number_of_cores_makes_no_other_images(folder, monkeypatch):
    assert runs_of_attack(folder) == 1
    real = farm.store.identity.loaded.provenance.hardware()
    monkeypatch.setattr("farm.store.identity.loaded.provenance.hardware", lambda: {**real, "cores": 99})
    assert runs_of_attack(folder) == 0


def test_a_damaged_entry_is_said_and_made_anew(folder, notes):
    first = whole(Small(folder).stream(Leaning()))
    (file,) = folder.glob("faults/*/array.npy")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    fault = Leaning()
    again = whole(Small(folder, notes).stream(fault))
    assert len(fault.applied) == 1
    assert_same(first, again)
    assert notes.notes == [
        f"cache: {file} was changed or truncated: its checksum differs from the record; making it again"
    ]
    assert runs_of_attack(folder) == 0


def test_what_is_made_is_on_disk_and_not_in_memory(folder, monkeypatch):
    monkeypatch.setattr(farm.run.faults, "CHUNK", 16)
    small = Small(folder, workload={**WORKLOAD, "size": 64, "tracks": [8, 6, 50]})
    fault, n = Darker(), len(small.workload.test)
    context = FaultContext(small.workload, small.workload.test, small.classifier, None, small.bed.context)
    targets, everything = fault.prepare(context), 4 * 3 * 64 * 64 * n
    at_work = Fault(fault, targets, context=context, model=TinyModel())
    for _ in range(2):
        tracemalloc.start()
        made = generate(at_work, np.arange(n))
        for start in range(0, n, 40):
            assert made.read(np.arange(start, min(start + 40, n))).images.max() <= 0.5
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.3 * everything
        assert len(fault.applied) == -(-n // 16)


# Not kept where not all can be told ---------------------------------------------------------------------


def not_kept(folder, notes, fault, small=None):
    """Run a stream twice, and give why its images were not kept."""
    small = small or Small(folder, notes)
    first, again = (whole(small.stream(fault), size) for size in (64, 10))
    assert_same(first, again)
    assert len(fault.applied) == 2
    assert not (folder / "faults").exists()
    reason, other = notes.notes
    assert reason == other
    return reason


def test_a_class_that_no_name_finds_is_not_kept(folder, notes):
    class Local(Leaning):
        pass

    reason = not_kept(folder, notes, Local())
    assert reason.startswith(f"faultload 'local': its class {__name__}:test_a_class_")
    same_text(reason)


def test_a_class_whose_name_finds_another_is_not_kept(folder, notes):
    hidden = type("Darker", (Leaning,), {"__module__": __name__})
    assert f"its class {__name__}:Darker is not found in a file" in not_kept(folder, notes, hidden())


@pytest.mark.parametrize("name", ["builtins", "__main__", "typed_in"])
def test_a_class_that_was_typed_in_is_not_kept(folder, notes, monkeypatch, name):
    typed = type("Typed", (Leaning,), {"__module__": name})
    module = sys.modules[name] if name == "builtins" else ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(module, "Typed", typed, raising=False)
    same_text(not_kept(folder, notes, typed()))


def test_a_classifier_that_no_recipe_made_is_not_known_again(folder, notes):
    small = Small(folder, notes)
    model = small.classifier
    small.classifier = FunctionClassifier(lambda images: model.observe(images).probabilities, model.classes)
    message = "faultload 'leaning': classifier 'function' was not made by a recipe"
    assert not_kept(folder, notes, Leaning(), small).startswith(message)


def test_a_parameter_that_cannot_be_written_down_is_not_known_again(folder, notes):
    reason = not_kept(folder, notes, Leaning(strength=np.float32(0.1)))
    same_text(reason)


def test_a_function_among_the_parameters_is_not_kept_whatever_the_fault_calls_it(folder, notes):
    reason = not_kept(folder, notes, Called(change=lambda images: images / 2))
    same_text(reason)


def test_a_module_that_lies_elsewhere_than_it_was_loaded_from_is_not_kept(folder, notes, monkeypatch):
    monkeypatch.setattr(sys.modules[Leaning.__module__], "__file__", str(folder / "elsewhere.py"))
    same_text(not_kept(folder, notes, Leaning()))


def test_code_that_may_be_older_in_memory_than_in_its_file_is_not_kept(folder, notes, monkeypatch):
    monkeypatch.setattr("farm.store.identity.loaded.STARTED", 0.0)
    message = "faultload 'leaning': its code was changed since this process started"
    assert not_kept(folder, notes, Leaning()).startswith(message)


def test_a_fault_that_says_nothing_of_its_making_is_made_in_memory(folder):
    small, fault = Small(folder), Leaning()
    context = FaultContext(small.workload, small.workload.test, small.classifier, None, Context())
    stream = BenchmarkStream(small.workload, Fault(fault, fault.prepare(context), 2.0))
    small.classifier.calls = 0
    first, again = whole(stream, 64), whole(stream, 1)
    assert_same(first, again)
    assert len(fault.applied) == 1
    assert_same(first, whole(Small(NoCache()).stream(Leaning())))


OWN_DATA = """
from functools import lru_cache
from pathlib import Path
from tests.testing.leaning_attacks import Darker
HERE = Path(__file__).parent

@lru_cache
def factor(n):
    return float((HERE / f"factor_{n}.csv").read_text())

class Late(Darker):
    def _apply(self, images, labels, ids, severity, keys):
        made = super()._apply(images * factor(1), labels, ids, severity, keys)
        return made

class Named(Darker):
    def __init__(self, *, path):
        super().__init__()
        self._path = path
    def _apply(self, images, labels, ids, severity, keys):
        by = float((HERE / self._path).read_text())
        return super()._apply(images * by, labels, ids, severity, keys)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return somebody's own module, with data beside it that another process wrote."""
    (tmp_path / "own_of_faults.py").write_text(OWN_DATA)
    (tmp_path / "factor_1.csv").write_text("0.5")
    monkeypatch.syspath_prepend(tmp_path)
    name = "_".join(["own", "of", "faults"])  # a name that stands here would make it code of this module's
    yield import_module(name)
    del sys.modules[name]


def test_images_are_made_anew_once_data_beside_their_code_changed(folder, notes, own, tmp_path):
    first = whole(Small(folder, notes).stream(own.Late(), severity=None))
    again = own.Late()
    assert_same(first, whole(Small(folder, notes).stream(again, severity=None)))
    assert again.applied == []
    (tmp_path / "factor_1.csv").write_text("0.25")
    own.factor.cache_clear()
    other = whole(Small(folder, notes).stream(own.Late(), severity=None))
    np.testing.assert_array_equal(other["images"][other["is_ood"]], first["images"][first["is_ood"]] / 2)
    assert notes.notes == []


def test_images_that_were_made_with_what_a_parameter_names_are_kept(folder, notes, own, tmp_path):
    for _ in range(2):
        fault = own.Named(path=str(tmp_path / "factor_1.csv"))
        whole(Small(folder, notes).stream(fault, severity=None))
    assert fault.applied == []
    assert notes.notes == []


# Whole experiments --------------------------------------------------------------------------------------

EXPERIMENT = {
    "name": "small",
    "seed": 3,
    "workload": {"name": "digits", "size": 16, "channels": 1},
    "classifier": {"name": "lenet", "epochs": 2, "hidden": 24},
    "faultload": {"name": "pgd", "steps": 4},
    "stream": {"length": 120},
    "monitors": ["max-softmax"],
}


@pytest.fixture
def gradients(monkeypatch):
    """Return the sizes of the batches whose gradients were asked for."""
    from models.torch_classifier import TorchClassifier

    asked, differentiable = [], TorchClassifier.differentiable

    def counted(self, images):
        if images.requires_grad:
            asked.append(len(images))
        return differentiable(self, images)

    monkeypatch.setattr(TorchClassifier, "differentiable", counted)
    return asked


@pytest.fixture
def run(tmp_path):
    def now(cache, **changed):
        return run_experiment(parse_experiment(EXPERIMENT | changed, "test"), tmp_path, cache=cache)

    return now


def assert_same_run(first, second, monitor="max-softmax"):
    for mine, theirs in (
        (first.instances, second.instances),
        *((r.alarms[r.alarms["monitor"] == monitor].reset_index(drop=True) for r in (first, second)),),
    ):
        kept = [column for column in mine if column not in TIME_COLUMNS]
        pd.testing.assert_frame_equal(mine[kept], theirs[kept], check_exact=True)


def test_a_monitor_that_is_added_later_costs_no_attack(run, folder, gradients):
    cache = DiskCache(folder)
    cold = run(cache)
    assert gradients == [60] * 4
    warm, more = run(cache), run(cache, monitors=["max-softmax", "never"])
    assert gradients == [60] * 4
    without = run(NoCache())
    assert gradients == [60] * 8
    for other in (warm, more, without):
        assert_same_run(cold, other)
        assert cold.run["stream"] == other.run["stream"]
    assert cold.instances["fault_success"].sum() > 0


@pytest.mark.parametrize("name", ["fgsm", "pgd", "deepfool", "square-attack"])
def test_every_attack_gives_the_same_pixels_at_every_batch_size_bit_for_bit(name):
    small = Testbed(0, cache=NoCache())
    workload = small.workload(EXPERIMENT["workload"])
    classifier = small.classifier(EXPERIMENT["classifier"], workload)
    one, many = (whole(small.stream(workload, classifier, name, length=80), size) for size in (1, 64))
    assert_same(one, many)


def test_an_experiment_that_is_only_put_together_runs_no_attack(tmp_path, folder, gradients):
    experiment = parse_experiment(EXPERIMENT, "test")
    with importable(tmp_path):
        ready = assemble(experiment, tmp_path, cache=DiskCache(folder))
        assert ready.stream.uses_classifier
        assert gradients == []
        next(ready.stream.batches(1))
    assert gradients == [60] * 4


def test_a_composition_with_an_attack_is_made_once_as_a_whole(run, folder, gradients):
    parts = [{"name": "gaussian-noise", "severity": 2}, {"name": "pgd", "steps": 2}]
    both = {"name": "compose", "faults": parts}
    cache = DiskCache(folder)
    first, again = (run(cache, faultload=both, batch_size=size) for size in (64, 7))
    assert gradients == [60] * 2
    pd.testing.assert_series_equal(first.instances["fault_linf"], again.instances["fault_linf"])
    parts[1]["surrogate"] = {"name": "lenet", "epochs": 1, "hidden": 24}
    run(cache, faultload=both)
    assert gradients[:4] == [60] * 4
    run(cache, faultload=both | {"faults": [{"name": "gaussian-noise", "severity": 1}, parts[1]]})
    assert gradients.count(60) == 6


def test_what_changes_id_and_ood_alike_can_have_no_attack_in_it(run, folder):
    for fault in ({"name": "pgd"}, {"name": "compose", "faults": ["pgd"]}):
        with refused(ExperimentError):
            run(DiskCache(folder), faultload=[{"name": "fog", "severity": 1}, fault | {"both": True}])


IN_A_NEW_PROCESS = """
import sys
from pathlib import Path
from farm.config.experiment import parse_experiment
from farm.run.execution import assemble_stream
from farm.run.loading import importable
folder = Path(sys.argv[1])
asked = {
    "name": "own", "workload": "farm.testing.fakes:TinySource", "classifier": "farm.testing.fakes:TinyModel",
    "faultload": "own_attack:Own", "monitors": ["never"],
}
with importable(folder):
    stream, _, _ = assemble_stream(parse_experiment(asked, "test"), folder)
    pixels = sum(batch.images.sum(dtype=float) for batch in stream.batches(10))
    import own_attack
print(len(own_attack.APPLIED), pixels)
"""
OWN = """
from farm.api import Faulted, Faultload
from own_strength import STRENGTH
APPLIED = []

class Own(Faultload):
    category, uses_classifier = "adversarial", True
    def _prepare(self, context):
        return context.every_instance("adversarial")
    def _apply(self, images, labels, ids, severity, keys):
        APPLIED.append(ids)
        return Faulted(images * STRENGTH, labels)
"""


def test_images_are_found_in_another_process_until_the_users_own_code_changes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))

    def here():
        monkeypatch.setattr(sys, "argv", ["-c", str(tmp_path)])
        exec(IN_A_NEW_PROCESS, {})
        for name in ("own_attack", "own_strength"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return told(capsys.readouterr().out)

    def elsewhere():
        arguments = [sys.executable, "-c", IN_A_NEW_PROCESS, str(tmp_path)]
        return told(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)

    def told(printed):
        applied, pixels = printed.split()
        return int(applied), pixels

    def write(name, code):
        (tmp_path / name).write_text(code)
        time.sleep(0.2)  # clocks tick: what is written just before a process starts may seem newer

    write("own_attack.py", OWN)
    write("own_strength.py", "STRENGTH = 0.5")
    applied, first = here()
    assert applied == 1
    write("own_strength.py", "STRENGTH = 0.25")
    applied, other = elsewhere()
    assert applied == 1
    assert other != first
    write("own_strength.py", "STRENGTH = 0.5")
    assert elsewhere() == (0, first)
