"""Fitted monitors are found again, bit for bit as if they were fitted, and only where all is the same."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import farm.store.fitted
import farm.store.identity.component
import farm.store.identity.loaded
from farm.api import CalibrationRule, NoCache
from farm.errors import RequirementError
from farm.run.fitting import fit_monitors
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.store.files import json_digest
from farm.store.fitted import KIND
from farm.store.plain_arrays import RECORD
from farm.testing.fakes import FakeClassifier, TinyModel, TinySource
from farm.testing.small_system import OUTLIERS
from tests.monitors.making import NAMES, make, wants_what_lenet_lacks
from tests.testing.counted_fits import Body, Forgetful, Hidden, Mean, Watching
from tests.wording import same_text


class Notes:
    """A progress that remembers what it was told."""

    def __init__(self):
        self.said, self.tracked = [], []

    def track(self, items, description, total=None):
        self.tracked.append(description)
        return iter(items)

    def note(self, message):
        self.said.append(message)


@pytest.fixture(autouse=True)
def counted():
    Mean.fits = Mean.refusals = 0


@pytest.fixture(autouse=True)
def unchanged(monkeypatch):
    """Take the files for those that were imported: whoever works on them may just have written one."""
    monkeypatch.setattr(farm.store.identity.loaded, "in_memory_is_current", lambda code: True)


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return the folder beside which users have their modules: one, so that it is looked through once."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "own_of_fits.py").write_text(OWN)
    (folder / "pictures").mkdir()
    return folder


@pytest.fixture
def bed(tmp_path, notes, home):
    def bed(seed=0, *, threads=1, model=None, source=None, cache=None):
        cache = cache or DiskCache(tmp_path / "cache", notes)
        made = Testbed(seed, threads=threads, folder=home, cache=cache, progress=notes)
        workload = made.workload(source or TinySource())
        return made, made.classifier(model or TinyModel(), workload), workload

    return bed


def fitted(bed, *monitors, rules=None, **settings):
    """Fit monitors with a new testbed, workload and classifier, as another process would."""
    made, classifier, workload = bed(**settings)
    chosen = {m.name: CalibrationRule() for m in monitors} | (rules or {})
    assert made.fit_all(monitors, classifier, workload, chosen) == {}
    return classifier, workload


def entries(folder):
    return sorted(path.parent.name for path in (folder / "cache").glob(f"{KIND}/*/entry.json"))


def same(one, other):
    assert one.state.keys() == other.state.keys()
    for name, array in one.state.items():
        again = other.state[name]
        assert (array.dtype, array.shape, array.tobytes()) == (again.dtype, again.shape, again.tobytes())
        assert array.flags.c_contiguous == again.flags.c_contiguous
        assert again.flags.writeable
        assert again.flags.aligned
    assert json.dumps(dict(one.notes())) == json.dumps(dict(other.notes()))
    assert one.calibration.record() == other.calibration.record()
    assert one.nbytes == other.nbytes


def test_a_fitted_monitor_is_found_again_and_is_the_same(bed, notes, tmp_path) -> None:
    first, second = Mean(), Mean()
    fitted(bed, first)
    assert (Mean.fits, notes.said) == (1, [])
    notes.tracked.clear()
    classifier, workload = fitted(bed, second)
    assert Mean.fits == 1
    assert classifier.calls == 0
    same_text(notes.said)
    assert notes.tracked == []
    same(first, second)
    seen = classifier.observe(workload.test.images.read(np.arange(50)))
    assert first.score(seen).tobytes() == second.score(seen).tobytes()
    assert second.classifier.inner is classifier
    assert len(entries(tmp_path)) == 1


def test_every_registered_monitor_is_found_as_it_would_be_fitted(tmp_path, notes) -> None:
    made = {}
    for name in NAMES:
        try:
            if not wants_what_lenet_lacks(make(name)):
                made[name] = [make(name) for _ in range(3)]
        except RequirementError:
            continue  # an extra that is not installed
    assert len(made) > 30
    cache = DiskCache(tmp_path / "cache")
    fresh, _, found = columns = [[monitors[i] for monitors in made.values()] for i in range(3)]
    for monitors, where in zip(columns, (NoCache(), cache, cache), strict=True):
        bed = Testbed(cache=where, progress=notes, folder=tmp_path)
        workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
        classifier = bed.classifier({"name": "lenet", "epochs": 2, "hidden": 24}, workload)
        rules = {m.name: CalibrationRule() for m in monitors}
        outliers = bed.outliers(OUTLIERS, workload, classifier)
        assert bed.fit_all(monitors, classifier, workload, rules, outliers) == {}
    assert notes.said == [f"{len(made)} fitted monitors found in the cache"]
    test = workload.test
    for monitor, again in zip(fresh, found, strict=True):
        same(monitor, again)
        for images in (test.images.read(np.arange(100)), 1 - test.images.read(np.arange(100, 150))):
            n = len(images)
            needs = monitor.needs
            seen = classifier.observe(
                images, needs.layers, ids=test.ids[:n], track=test.groups[:n], members=needs.members
            )
            assert monitor.score(seen).tobytes() == again.score(seen).tobytes(), monitor.name


@pytest.mark.parametrize(
    ("changed", "settings"),
    [
        ({"shift": 0.5}, {}),
        ({}, {"seed": 1}),
        ({}, {"threads": 2}),
        ({}, {"source": TinySource(seed=1)}),
        ({}, {"source": TinySource(classes=("elm", "fir", "oak", "yew"))}),
        ({}, {"rules": {"mean": CalibrationRule(accept=0.9)}}),
        ({}, {"rules": {"mean": CalibrationRule("per-class")}}),
        ({"name": "other"}, {}),
    ],
    ids=["parameter", "seed", "threads", "data", "classes", "share", "rule", "name"],
)
def test_what_was_made_otherwise_is_fitted(bed, tmp_path, changed, settings) -> None:
    fitted(bed, Mean())
    name = changed.pop("name", "mean")
    monitor = Mean(**changed)
    monitor.name = name
    fitted(bed, monitor, **settings)
    assert Mean.fits == 2
    assert len(entries(tmp_path)) == 2


def test_a_guarantee_is_kept_and_goes_with_its_condition(bed) -> None:
    made, classifier, workload = bed()
    n = len(workload.validation)

    def fitted_in(weather):
        split = replace(workload.validation, conditions={"weather": np.array(weather)})
        monitor, rule = Mean(), CalibrationRule("conformal", accept=0.5, by="weather")
        changed = replace(workload, validation=split)
        assert made.fit_all([monitor], classifier, changed, {"mean": rule}) == {}
        return monitor

    first, again = fitted_in(["dry"] * n), fitted_in(["dry"] * n)
    same(first, again)
    assert again.calibration.guarantee.by == "weather"
    assert Mean.fits == 1
    fitted_in(["dry", "fog"] * (n // 2))
    assert Mean.fits == 2


@pytest.mark.parametrize("what", ["train", "validation", "classes", "test"])
def test_other_data_are_fitted_and_test_data_have_no_part_in_it(bed, what) -> None:
    fitted(bed, Mean())
    made, classifier, workload = bed()
    other = TinySource(seed=1).load(made.context)
    new = ("w", "x", "y", "z") if what == "classes" else getattr(other, what)
    changed = replace(workload, **{what: new})
    assert made.fit_all([Mean()], classifier, changed, {"mean": CalibrationRule()}) == {}
    assert Mean.fits == (1 if what == "test" else 2)


@pytest.mark.parametrize("what", ["code", "testbed", "versions", "processor", "classifier"])
def test_what_the_code_or_the_machine_would_make_otherwise_is_fitted(bed, monkeypatch, what) -> None:
    fitted(bed, Mean())
    if what == "code":
        real = farm.store.identity.component.code_digest

        def changed(modules, folder, **more):
            code = real(modules, folder, **more)
            return replace(code, digest="other") if Mean.__module__ in modules else code

        monkeypatch.setattr(farm.store.identity.component, "code_digest", changed)
    elif what == "testbed":
        other = replace(farm.store.identity.loaded.testbed_digest(), digest="other")
        monkeypatch.setattr(farm.store.identity.loaded, "testbed_digest", lambda: other)
    elif what == "versions":
        monkeypatch.setattr("farm.store.provenance.versions", lambda: {"numpy": "0.1"})
    elif what == "processor":
        machine = {"machine": "m", "system": "s", "processor": "another", "cores": 2}
        monkeypatch.setattr("farm.store.provenance.hardware", lambda: machine)
    else:
        monkeypatch.setattr(FakeClassifier, "digest", "other")
    fitted(bed, Mean())
    assert Mean.fits == 2


def test_the_number_of_cores_does_not_matter(bed, monkeypatch) -> None:
    fitted(bed, Mean())
    monkeypatch.setattr("os.cpu_count", lambda: 77)
    fitted(bed, Mean())
    assert Mean.fits == 1


def test_only_those_that_are_not_found_are_fitted_and_only_what_they_need_is_observed(bed, notes) -> None:
    fitted(bed, Hidden())
    notes.tracked.clear()
    seen = []
    fitted(bed, Hidden(), Watching(seen=seen, name="watching"))  # which needs no layer
    same_text(notes.said)
    assert notes.tracked == ["observing train data", "observing validation data", "fitting monitors"]
    assert Mean.fits == 1
    assert seen == [()]


@pytest.mark.parametrize("make", [Forgetful, lambda: Body(body=len)], ids=["state", "arguments"])
def test_what_could_not_be_restored_is_fitted_each_time_without_a_word(bed, notes, tmp_path, make) -> None:
    first, second = make(), make()
    fitted(bed, first)
    classifier, workload = fitted(bed, second)
    assert (Mean.fits, notes.said, entries(tmp_path)) == (2, [], [])
    seen = classifier.observe(workload.test.images.read(np.arange(50)))
    assert first.score(seen).tobytes() == second.score(seen).tobytes()
    assert first.calibration == second.calibration


def test_a_monitor_that_lies_in_no_file_is_fitted_each_time(bed, tmp_path, monkeypatch) -> None:
    class Local(Mean):
        pass

    notebook = ModuleType("notebook")
    exec("from tests.testing.counted_fits import Mean\nclass Typed(Mean): pass", vars(notebook))
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    for cls in (Local, notebook.Typed):
        cls.__module__ = "notebook" if cls is not Local else __name__
        for _ in range(2):
            fitted(bed, cls())
    assert Mean.fits == 4
    assert entries(tmp_path) == []


def test_code_that_is_newer_than_the_process_is_fitted_each_time(tmp_path, notes, monkeypatch, bed) -> None:
    monkeypatch.undo()
    code = "from tests.testing.counted_fits import Mean\nclass Mine(Mean): pass\n"
    (tmp_path / "mine_of_today.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from importlib import import_module

    mine = import_module("mine_of_today")
    for _ in range(2):
        fitted(bed, mine.Mine())
    assert Mean.fits == 2
    assert entries(tmp_path) == []


@pytest.mark.parametrize("where", ["monitor", "classifier"])
def test_where_the_code_in_memory_may_be_older_all_are_fitted(bed, monkeypatch, tmp_path, where) -> None:
    fitted(bed, Mean())
    file = Path(inspect.getfile(Mean if where == "monitor" else FakeClassifier))
    monkeypatch.setattr(
        farm.store.identity.loaded, "in_memory_is_current", lambda code: file not in code.files
    )
    fitted(bed, Mean())
    assert Mean.fits == 2


def test_on_a_classifier_that_no_recipe_made_all_are_fitted(bed, tmp_path) -> None:
    for _ in range(2):
        made, _, workload = bed()
        box = FakeClassifier(lambda images: np.full((len(images), 4), 0.25), workload.classes)
        assert made.fit_all([Mean()], box, workload, {"mean": CalibrationRule()}) == {}
    assert Mean.fits == 2
    assert entries(tmp_path) == []


def test_without_a_cache_all_are_fitted(bed, tmp_path, notes) -> None:
    for _ in range(2):
        fitted(bed, Mean(), cache=NoCache())
    assert (Mean.fits, notes.said) == (2, [])


def test_without_a_testbed_nothing_is_kept(tiny, classifier) -> None:
    for _ in range(2):
        assert fit_monitors([Mean()], classifier, tiny) == {}
    assert Mean.fits == 2


def test_a_damaged_entry_is_said_and_fitted_anew(bed, notes, tmp_path) -> None:
    first, second = Mean(), Mean()
    fitted(bed, first)
    (file,) = (tmp_path / "cache").glob(f"{KIND}/*/arrays.safetensors")
    file.write_bytes(file.read_bytes()[:-1])
    fitted(bed, second)
    assert Mean.fits == 2
    (note,) = notes.said
    assert (
        note
        == f"cache: {file} was changed or truncated: its checksum differs from the record; making it again"
    )
    same(first, second)
    fitted(bed, Mean())
    assert Mean.fits == 2


def test_a_state_that_a_monitor_refuses_is_said_and_fitted_anew_and_replaced(bed, notes, tmp_path) -> None:
    fitted(bed, Mean())
    Mean.refusals = 1
    fitted(bed, Mean())
    same_text(notes.said)
    fitted(bed, Mean())
    assert Mean.fits == 2
    assert len(entries(tmp_path)) == 1


def test_other_notes_than_were_kept_are_said_and_it_is_fitted_anew(bed, notes, monkeypatch) -> None:
    fitted(bed, Mean())
    with monkeypatch.context() as patch:
        patch.setattr(Mean, "notes", lambda self: {"library": "2.0"})
        fitted(bed, Mean())
    assert Mean.fits == 2
    same_text(notes.said[0])
    fitted(bed, Mean())  # and what was kept then is not what is found now
    assert Mean.fits == 3


def test_a_record_without_its_parts_is_said_and_fitted_anew(bed, notes, tmp_path) -> None:
    fitted(bed, Mean())
    (folder,) = (tmp_path / "cache" / KIND).iterdir()
    key = json.loads((folder / "entry.json").read_text())["key"]
    assert json_digest({"schema": 1, "key": key}) == folder.name
    cache = DiskCache(tmp_path / "cache")
    cache.forget(KIND, key)
    cache.arrays(KIND, key, lambda: {RECORD: np.frombuffer(b"{}", np.uint8)})
    fitted(bed, Mean())
    assert Mean.fits == 2
    same_text(notes.said[0])


def test_a_monitor_that_fails_is_not_kept_and_fails_again(bed, tmp_path) -> None:
    for _ in range(2):
        made, classifier, workload = bed()
        bad = Mean(shift=1e400)
        bad.name = "bad"
        rules = {"bad": CalibrationRule(), "mean": CalibrationRule()}
        failures = made.fit_all([bad, Mean()], classifier, workload, rules)
        assert list(failures) == ["bad"]
        assert len(entries(tmp_path)) == 1
    assert Mean.fits == 3


def test_what_another_process_fits_meanwhile_is_waited_for_and_taken(bed, tmp_path, monkeypatch) -> None:
    first, second = Mean(), Mean()
    fitted(bed, first)
    # As it is for who looked before the other was done.
    looked = []
    real = DiskCache.find

    def too_early(self, kind, key):
        looked.append(kind)
        return None if kind == KIND else real(self, kind, key)

    monkeypatch.setattr(DiskCache, "find", too_early)
    fitted(bed, second)
    assert looked == [KIND]
    assert Mean.fits == 1
    same(first, second)


class Told:
    """A watch that remembers."""

    def __init__(self):
        self.said = []

    def begin(self, monitor, doing):
        self.said.append((monitor, doing))

    def end(self):
        self.said.append("end")


def test_the_watch_is_told_of_fits_and_restorings(tmp_path, tiny) -> None:
    for turn in range(2):
        watch = Told()
        bed = Testbed(cache=DiskCache(tmp_path / "cache"), folder=tmp_path, watch=watch)
        classifier = bed.classifier(TinyModel(), tiny)
        bed.fit_all([Mean()], classifier, tiny, {"mean": CalibrationRule()})
        one = [("mean", "fitting"), "end"]
        assert watch.said == (one if turn else one * 2)
    assert Mean.fits == 1


# Data that no parameter names -----------------------------------------------------------------------------

OWN = """
from functools import lru_cache
from pathlib import Path
from threading import Thread
import numpy as np
from farm.testing.fakes import FakeMonitor, TinyModel, TinySource
from tests.testing.counted_fits import Mean
HERE = Path(__file__).parent
FITS = []

def shift(n):
    return float((HERE / f"shift_{n}.csv").read_text())

class Reading(Mean):
    def _shifted(self): return 0.0
    def _fit(self, data):
        FITS.append(self.name)
        self._shift = self._shifted()
        return super()._fit(data)

class InFit(Reading):
    def _shifted(self): return shift(1)

class Named(Reading):
    def __init__(self, *, path: str) -> None:
        self._path = path
    def _shifted(self): return float((HERE / self._path).read_text())

class Among(Reading):
    def _shifted(self): return float((HERE / "pictures" / f"shift_{9}").read_text())

class Images:
    def __init__(self, inside, path):
        self.inside, self.path, self.shape = inside, path, inside.shape
    def __len__(self): return len(self.inside)
    def read(self, indices):
        self.path.read_bytes()
        return self.inside.read(indices)

class Source(TinySource):
    def __init__(self, *, folder: str) -> None:
        super().__init__()
        self._folder = folder
    def load(self, context, *, contents=True):
        from dataclasses import replace
        made = super().load(context)
        lazy = Images(made.train.images, HERE / self._folder / "images")
        return replace(made, train=replace(made.train, images=lazy))

class Model(TinyModel):
    def classifier(self, workload, context):
        shift(2)
        return super().classifier(workload, context)
"""


@pytest.fixture
def own(home, monkeypatch):
    """Return somebody's own module, with data beside it that another process wrote."""
    for name in ("shift_1.csv", "shift_2", "pictures/images"):
        (home / name).write_text("0.5")
    monkeypatch.syspath_prepend(home)
    name = "_".join(["own", "of", "fits"])  # a name that stands here would make it code of this module's
    yield import_module(name)
    del sys.modules[name]


def test_a_fit_is_not_found_once_data_beside_its_module_changed(bed, home, own) -> None:
    first, again, second = own.InFit(), own.InFit(), own.InFit()
    fitted(bed, first)
    fitted(bed, again)
    assert len(own.FITS) == 1
    (home / "shift_1.csv").write_text("0.75")
    fitted(bed, second)
    np.testing.assert_allclose(second.state["mean"], first.state["mean"] + 0.25, rtol=1e-6)


def test_a_file_that_a_parameter_names_is_no_reason(bed, notes, home, own) -> None:
    for _ in range(2):
        fitted(bed, own.Named(path="shift_2"))
    assert own.FITS == ["named"]
    same_text(notes.said)
    (home / "shift_2").write_text("0.75")
    fitted(bed, own.Named(path="shift_2"))
    assert own.FITS == ["named"] * 2


def test_training_images_that_are_read_in_a_fit_are_no_reason(bed, notes, own) -> None:
    for _ in range(2):
        fitted(bed, own.Reading(), source=own.Source(folder="pictures"))
    assert own.FITS == ["reading"], "though one module has both"
    same_text(notes.said)


def test_a_file_among_the_images_is_in_the_key(bed, home, own) -> None:
    monitors = [own.Among(), own.Among()]
    for monitor, shift in zip(monitors, ("0.25", "0.75"), strict=True):
        (home / "pictures" / "shift_9").write_text(shift)
        fitted(bed, monitor, source=own.Source(folder="pictures"))
    first, second = (monitor.state["mean"] for monitor in monitors)
    np.testing.assert_allclose(second, first + 0.5, rtol=1e-6)
