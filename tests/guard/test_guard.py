"""Guards: what was fitted decides elsewhere, in a new process, as it did in a run."""

from __future__ import annotations

import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

import farm
from farm import registry
from farm.api import (
    Calibration,
    CalibrationRule,
    Explanation,
    FunctionClassifier,
    Monitor,
    Needs,
    Policy,
)
from farm.config.experiment import parse_experiment
from farm.errors import (
    ComponentFailure,
    DataError,
    ExperimentError,
    ParameterError,
    RequirementError,
)
from farm.guard import Decision, Guard
from farm.guard.arrays import write_arrays
from farm.guard.images import as_input
from farm.guard.own_code import OwnCode, needed_files
from farm.run.execution import run_experiment
from farm.run.fallback import LastAccepted, SecondClassifier
from farm.run.fitting import fit_monitors
from farm.run.loading import load_experiment
from farm.run.policies import MOutOfN
from farm.store.files import json_digest
from farm.store.plain_arrays import read_npz
from farm.testing.fakes import FakeMonitor, TinyModel, tiny_workload
from tests.wording import refused, same_text

SHAPE = (3, 8, 8)
FARM = [sys.executable, "-c", "from farm.cli import main; raise SystemExit(main())"]

MODELS = """
import torch
from my_layers import Hidden

def make_net():
    from my_pack.heads import head
    torch.manual_seed(4)
    return torch.nn.Sequential(torch.nn.Flatten(), Hidden(), head())
"""
LAYERS = """
import torch

class Hidden(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(192, 16)

    def forward(self, x):
        import my_gain
        return torch.relu(self.linear(x)) * my_gain.GAIN
"""
MONITORS = '''
import numpy as np
from farm.api import Monitor, Needs, Explanation

class Mine(Monitor):
    """Mean brightness, and how far an image is from it.

    Parameters
    ----------
    scale
        A factor.
    """
    def __init__(self, *, scale: float = 1.0) -> None:
        self._scale = scale

    def _fit(self, data):
        return {"mean": np.mean([float(i.mean()) for o, _ in data for i in o.images])}

    def _load(self, state):
        self._mean = float(state["mean"])

    def _score(self, observation):
        return self._scale * abs(observation.images.mean(axis=(1, 2, 3)) - self._mean)

    def _explain(self, observation):
        return Explanation(reason="unusually bright or dark")
'''
OWN = {
    "my_models.py": MODELS,
    "my_layers.py": LAYERS,
    "my_gain.py": "GAIN = 2.0\n\n\ndef bad(observation):\n    raise KeyError(1)\n",
    "my_pack/__init__.py": "",
    "my_pack/heads.py": "from .sizes import WIDTH\nimport torch\n\n\ndef head():\n"
    "    return torch.nn.Linear(WIDTH, 4)\n",
    "my_pack/sizes.py": "WIDTH = 16\n",
    "my_monitors.py": MONITORS,
    "unrelated.py": "raise RuntimeError('nobody asked for this')\n",
}
EXPERIMENT: dict[str, Any] = {
    "name": "mine",
    "workload": "farm.testing.fakes:TinySource",
    "classifier": {"name": "module", "factory": "my_models:make_net", "engine": "eager"},
    "monitors": [
        {"name": "my_monitors:Mine", "as": "mine", "scale": 2.0},
        {"name": "knn", "k": 3, "calibration": {"method": "per-class", "accept": 0.9}},
        "patterns",
    ],
    "faultload": {
        "name": "novelty",
        "workload": {"name": "farm.testing.fakes:TinySource", "title": "x", "classes": ["elm", "fir"]},
    },
    "batch_size": 1,
}
NO_FAULTS = {k: v for k, v in EXPERIMENT.items() if k != "faultload"}


def write_own(folder: Path, **changed: str) -> Path:
    for name, text in (OWN | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with an experiment, its own modules, and the test images as PNG."""
    folder = write_own(tmp_path_factory.mktemp("place"))
    (folder / "mine.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    test = tiny_workload().test
    (folder / "images").mkdir()
    for i, image in enumerate(test.images.read(np.arange(12))):
        pixels = np.rint(image * 255).astype(np.uint8).transpose(1, 2, 0)
        Image.fromarray(pixels).save(folder / "images" / f"{i:02d}.png")
    return folder


def fit(place: Path, monitor: str = "mine", **changed: Any) -> Guard:
    return Guard.fit(parse_experiment(NO_FAULTS | changed, "x.yaml"), folder=place, monitor=monitor)


@pytest.fixture(scope="module")
def saved(place) -> Path:
    """A guard's folder, moved away from where it was made; the modules there are gone from its sight."""
    fit(place).save(place / "made")
    moved = place.parent / "elsewhere" / "guard"
    moved.parent.mkdir(exist_ok=True)
    shutil.move(place / "made", moved)
    return moved


@pytest.fixture
def copy(saved, tmp_path) -> Path:
    shutil.copytree(saved, tmp_path / "guard")
    return tmp_path / "guard"


def images(place: Path) -> list[Path]:
    return sorted((place / "images").iterdir())


@pytest.fixture
def doubt(tiny, classifier) -> Guard:
    """A guard of fakes: no torch, no files."""
    monitor = FakeMonitor(name="doubt")
    fit_monitors([monitor], classifier, tiny, {"doubt": CalibrationRule(accept=0.8)})
    return Guard(classifier, monitor, shape=SHAPE)


def test_a_guard_keeps_what_its_threshold_promises(place, tmp_path) -> None:
    rule = {"method": "conformal", "accept": 0.5}
    made = fit(place, None, monitors=[{"name": "oob", "tau": None, "calibration": rule}])
    made.save(tmp_path / "guard")
    kept = Guard.load(tmp_path / "guard").monitor.calibration
    assert kept.guarantee == made.monitor.calibration.guarantee
    assert kept.guarantee.promises[0].at_most == 0.5


# Scores are those of a run ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("monitor", "engine"), [("mine", "eager"), ("knn", "eager"), ("knn", "onnx"), ("patterns", "onnx")]
)
def test_a_guard_decides_as_a_run_does(place, tmp_path, monitor, engine) -> None:
    on = {"classifier": {**EXPERIMENT["classifier"], "engine": engine}}
    experiment, folder = load_experiment(str(place / "mine.yaml"), [f"classifier.engine={engine}"])
    readouts = run_experiment(experiment, folder)
    rows = readouts.instances.reset_index()
    test = tiny_workload().test
    assert readouts.run["classifier"]["engine"]["name"] == engine
    fit(place, monitor, faultload=EXPERIMENT["faultload"], **on).save(tmp_path / "guard")
    guard = Guard.load(tmp_path / "guard")
    own = readouts.alarms[readouts.alarms["monitor"] == monitor].set_index("id")
    alike = 0
    for i, path in enumerate(images(place)):
        decision = guard(path)
        row = own.loc[test.ids[i]]
        alike += decision.score == row["score"]
        np.testing.assert_allclose(decision.score, row["score"], rtol=1e-12)
        assert decision.alarm == row["alarm"]
        assert decision.accepted == (not row["cancelled"])
        seen = rows[rows["id"] == test.ids[i]].iloc[0]
        assert decision.predicted == class_name(seen["predicted"])
        assert decision.confidence == pytest.approx(seen["confidence"], abs=1e-12)
    assert alike == 12, "one thread, one image at a time, the same machine: bit for bit"


def class_name(number: int) -> str:
    return tiny_workload().classes[number]


def test_in_a_new_process_it_gives_the_same(place, saved, tmp_path) -> None:
    guard = Guard.load(saved)
    expected = [guard(path).record() for path in images(place)]
    done = subprocess.run(
        [*FARM, "decide", str(saved), str(place / "images"), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    found = json.loads(done.stdout)
    assert [row.pop("image") for row in found] == [str(path) for path in images(place)]
    for row, wanted in zip(found, expected, strict=True):
        assert row.pop("error") is None
        for value in (row, wanted):
            assert value.pop("classifier_time_us") > 0
            assert value.pop("monitor_time_us") > 0
        assert row == wanted


def test_loading_imports_nothing_that_only_a_fit_or_a_report_needs(place, tmp_path) -> None:
    fit(place, None, monitors=["oob"]).save(tmp_path / "guard")
    heavy = ("sklearn", "scipy", "pandas", "pyarrow", "yaml", "farm.run.testbed", "farm.store.cache")
    code = (
        f"import sys; from farm import Guard; Guard.load({str(tmp_path / 'guard')!r}); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_nothing_of_stream_and_faults_is_made(place) -> None:
    ruined = {
        "faultload": {"name": "novelty", "workload": "no-such-workload"},
        "stream": {"ood_share": 0.5},
    }
    assert fit(place, **ruined).monitor.name == "mine"


# Which monitor -------------------------------------------------------------------------------------------


def test_one_of_several_monitors_is_chosen(place) -> None:
    with refused(ExperimentError):
        fit(place, None)
    with refused(ExperimentError):
        fit(place, "patern")
    assert fit(place, None, monitors=["max-softmax"]).monitor.name == "max-softmax"
    assert fit(place, "max_softmax", monitors=["knn", "max-softmax"]).monitor.name == "max-softmax"


def test_a_fit_that_fails_is_told(place) -> None:
    with refused(ComponentFailure):
        fit(place, "bad", monitors=[{"name": "callable", "as": "bad", "function": "my_gain:bad"}])


# What is kept --------------------------------------------------------------------------------------------


def test_everything_comes_back(place, tmp_path) -> None:
    second = {"name": "module", "factory": "my_models:make_net", "std": [0.5], "as": "other"}
    settings = {"policy": {"name": "m-of-n", "m": 1, "n": 2}, "fallback": second, "threads": 2}
    guard = fit(place, "knn", **settings)
    guard.save(tmp_path / "guard")
    again = Guard.load(tmp_path / "guard")
    assert again.monitor.recipe == guard.monitor.recipe
    assert (
        again.policy.recipe == guard.policy.recipe == {"name": "m-of-n", "m": 1, "n": 2, "within": "stream"}
    )
    assert again.threads == 2
    assert again.shape == SHAPE
    assert again.notes == ()
    for part in ("classifier", "monitor"):
        assert getattr(again, part).name == getattr(guard, part).name
    assert again.classifier.digest == guard.classifier.digest
    assert again.fallback.classifier.digest == guard.fallback.classifier.digest != guard.classifier.digest
    assert again.fallback.classifier.name == "other"
    assert again.monitor.calibration == guard.monitor.calibration
    np.testing.assert_array_equal(again.monitor.calibration.per_class, guard.monitor.calibration.per_class)
    assert again.monitor.state.keys() == guard.monitor.state.keys()
    for name, values in guard.monitor.state.items():
        assert again.monitor.state[name].dtype == values.dtype
        np.testing.assert_array_equal(again.monitor.state[name], values)
    record = json.loads((tmp_path / "guard" / "guard.json").read_text())
    assert record["monitor"]["component"] == "knn"
    assert record["monitor"]["owner"]["package"] == "farm-testbed"
    assert record["provenance"]["experiment"]["monitors"][1]["k"] == 3
    assert record["provenance"]["workload"]["hash"] == tiny_workload().content_hash
    assert set(record["files"]) >= {"classifier.npz", "monitor.npz", "second.npz", "code/my_models.py"}


def test_a_loaded_guard_can_be_saved_again(saved, place, tmp_path) -> None:
    Guard.load(saved).save(tmp_path / "again")
    again = Guard.load(tmp_path / "again")
    one, other = (json.loads((f / "guard.json").read_text()) for f in (saved, tmp_path / "again"))
    assert one == other
    assert again(images(place)[0]).score == Guard.load(saved)(images(place)[0]).score


def test_own_modules_come_along_and_nothing_else(saved) -> None:
    code = sorted(str(p.relative_to(saved / "code")) for p in (saved / "code").rglob("*") if p.is_file())
    assert code == sorted(set(OWN) - {"unrelated.py"})


def test_two_guards_with_modules_of_one_name_do_not_share_them(saved, place, tmp_path) -> None:
    other_place = write_own(tmp_path, **{"my_gain.py": "GAIN = 3.0\n"})
    one, other = Guard.load(saved), fit(other_place)
    assert "my_gain" not in sys.modules
    path = images(place)[0]
    first = one(path).confidence
    assert other(path).confidence != first
    assert one(path).confidence == first
    found: dict[int, set[float]] = {0: set(), 1: set()}

    def work(which: int) -> None:
        for _ in range(20):
            found[which].add((one, other)[which](path).confidence)

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(values) for values in found.values()] == [1, 1]
    assert "my_gain" not in sys.modules


def test_a_users_own_import_of_the_same_name_is_left_alone(saved, place, tmp_path, monkeypatch) -> None:
    (tmp_path / "my_gain.py").write_text("GAIN = 99.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_gain

    guard = Guard.load(saved)
    assert guard(images(place)[0]).confidence == Guard.load(saved)(images(place)[0]).confidence
    assert sys.modules["my_gain"] is my_gain
    assert my_gain.GAIN == 99.0
    del sys.modules["my_gain"]


def test_compiled_code_is_neither_left_in_the_folder_nor_used(copy, place, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    expected = Guard.load(copy)(images(place)[0]).confidence
    assert not list(copy.rglob("*.pyc"))
    # Compiled code that claims to be of this very source, and is of another of the same size and time.
    source = copy / "code" / "my_gain.py"
    whole, times = source.read_text(), (source.stat().st_atime, source.stat().st_mtime)
    source.write_text(whole.replace("2.0", "9.0"))
    os.utime(source, times)
    py_compile.compile(str(source), doraise=True)
    assert list(copy.rglob("*.pyc"))
    source.write_text(whole)
    os.utime(source, times)
    assert Guard.load(copy)(images(place)[0]).confidence == expected


def test_a_monitor_may_have_its_own_policy_and_fallback(place) -> None:
    own = {"name": "knn", "policy": {"name": "m-of-n", "m": 1, "n": 2}, "fallback": "last"}
    guard = fit(place, "knn", monitors=[own, "patterns"], policy="latching")
    assert (guard.policy.name, guard.fallback.record()) == ("m-of-n", {"name": "last"})
    other = fit(place, "patterns", monitors=[own, "patterns"], policy="latching")
    assert (other.policy.name, other.fallback.record()) == ("latching", {"name": "none"})


def test_a_fallback_that_is_the_classifier_itself_is_refused(place) -> None:
    with refused(ExperimentError):
        fit(place, "knn", fallback={"name": "module", "factory": "my_models:make_net"})


# Damage ----------------------------------------------------------------------------------------------------


def test_every_flipped_byte_is_found(copy) -> None:
    rng = np.random.default_rng(0)
    for path in sorted(p for p in copy.rglob("*") if p.is_file() and p.stat().st_size):
        whole = path.read_bytes()
        for at in {0, len(whole) - 1, *rng.integers(0, len(whole), 12).tolist()}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
            if path.name == "guard.json" and not whole[at : at + 1].strip():
                continue  # white space between the words of a record says nothing
            with pytest.raises(DataError) as caught:
                Guard.load(copy)
            assert "\n" not in str(caught.value)
        path.write_bytes(whole)
    Guard.load(copy)


@pytest.mark.parametrize("name", ["classifier.npz", "monitor.npz", "guard.json", "code/my_layers.py"])
def test_a_missing_or_truncated_file_is_told(copy, name) -> None:
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes(whole[: len(whole) // 2])
    with refused(DataError):
        Guard.load(copy)
    (copy / name).unlink()
    with refused(DataError):
        Guard.load(copy)


def change(copy: Path, act, *, sign: bool = True) -> None:
    path = copy / "guard.json"
    record = json.loads(path.read_text())
    checksum = record.pop("checksum")
    act(record)
    path.write_text(json.dumps({**record, "checksum": json_digest(record) if sign else checksum}))


def test_a_threshold_edited_by_hand_is_found(copy) -> None:
    change(copy, lambda r: r["monitor"]["calibration"].update(threshold=9.0), sign=False)
    with refused(DataError):
        Guard.load(copy)


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda r: r.update(schema=2), DataError),
        (lambda r: r.pop("policy"), DataError),
        (lambda r: r["files"].pop("monitor.npz"), DataError),
        (lambda r: r["files"].update({"../x": "0"}), DataError),
        (
            lambda r: r["monitor"].update(component="lost", owner={"package": "theirs", "version": "1.2"}),
            DataError,
        ),
        (lambda r: r["policy"].update(component="lost"), DataError),
        (lambda r: r["monitor"].update(component="gone_package:Monitor", owner=None), ExperimentError),
        (lambda r: r["classifier"].update(digest="0"), DataError),
        (lambda r: r["monitor"].update(parameters={"scale": "large"}), ParameterError),
    ],
)
def test_a_record_that_does_not_fit_is_told_in_one_line(copy, act, kind) -> None:
    change(copy, act)
    with refused(kind) as caught:
        Guard.load(copy)
    assert "\n" not in str(caught.value)


def test_what_is_no_guard_is_told(tmp_path) -> None:
    with refused(DataError):
        Guard.load(tmp_path / "nothing")
    with refused(DataError):
        Guard.load(tmp_path)


def test_without_torch_it_says_so_in_one_line(saved, place) -> None:
    code = "import sys; sys.modules['torch'] = None; from farm.cli import main; raise SystemExit(main())"
    arguments = ["decide", str(saved), str(images(place)[0])]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    same_text(line)
    assert "torch" in line


def test_other_versions_are_noted(copy) -> None:
    change(copy, lambda r: r["versions"].update(torch="0.0.1", scipy=None))
    (note,) = Guard.load(copy).notes
    assert re.fullmatch(r"torch is .* here, and was 0\.0\.1 when the guard was fitted", note)


# What cannot be saved --------------------------------------------------------------------------------------


def test_what_cannot_be_saved_is_told(doubt, tiny, tmp_path, place) -> None:
    with refused(RequirementError):
        doubt.save(tmp_path / "a")
    doubt.classifier.recipe = {"name": "farm.testing.fakes:TinyModel"}
    with refused(RequirementError):
        doubt.save(tmp_path / "a")
    guard = fit(place, "knn")

    class Local(Policy):
        def _cancels(self, alarm: bool, margin: float, track: str) -> bool:
            return alarm

        def reset(self) -> None: ...

    guard.policy = Local()
    with refused(RequirementError):
        guard.save(tmp_path / "b")
    guard = fit(place, "knn")
    guard.fallback = type("Theirs", (LastAccepted,), {})()
    with refused(RequirementError):
        guard.save(tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_a_classifier_that_no_recipe_made_is_told(tiny, tmp_path) -> None:
    class Saveable(FunctionClassifier):
        state: dict[str, Any] = {}  # type: ignore[assignment]  # noqa: RUF012

    even = Saveable(lambda images: np.full((len(images), 4), 0.25), tiny.classes)
    monitor = FakeMonitor(name="doubt")
    fit_monitors([monitor], even, tiny)
    guard = Guard(even, monitor, shape=SHAPE)
    with refused(RequirementError):
        guard.save(tmp_path / "guard")
    even.recipe = {"name": "nobody"}
    with refused(RequirementError):
        guard.save(tmp_path / "guard")


def test_nothing_is_overwritten(saved, place) -> None:
    with refused(DataError):
        fit(place).save(saved)


# Images ----------------------------------------------------------------------------------------------------


def test_every_form_of_an_image_gives_the_identical_tensor(place, tiny) -> None:
    path = images(place)[3]
    pixels = np.asarray(Image.open(path))
    exact = tiny.test.images.read(np.array([3]))[0]
    forms: list[Any] = [path, str(path), Image.open(path), pixels, exact, np.asfortranarray(exact)]
    for form in forms:
        given = as_input(form, SHAPE, "it").image
        assert given.dtype == np.float32
        assert given.flags.c_contiguous
        np.testing.assert_array_equal(given, exact)


def test_a_training_file_gives_what_the_folder_workload_gives(tmp_path) -> None:
    rng = np.random.default_rng(0)
    for i in range(30):
        place = tmp_path / "data" / ("stop" if i % 2 else "yield")
        place.mkdir(parents=True, exist_ok=True)
        size = (11 + i % 3, 9 + i % 4, 3) if i % 3 else (9, 12)
        name = f"{i}.{('png', 'jpg', 'bmp')[i % 3]}"
        Image.fromarray(rng.integers(0, 256, size, dtype=np.uint8)).save(place / name)
    for channels in (1, 3):
        source = {"name": "folder", "path": str(tmp_path / "data"), "size": [7, 6], "channels": channels}
        workload = farm.Testbed().workload(source)
        for split in workload.splits:
            expected = split.images.read(np.arange(len(split)))
            for name, wanted in zip(split.ids, expected, strict=True):
                file = tmp_path / name
                np.testing.assert_array_equal(as_input(file, workload.shape, "it").image, wanted)
                with Image.open(file) as opened:
                    np.testing.assert_array_equal(as_input(opened, workload.shape, "it").image, wanted)


@pytest.mark.parametrize(
    "image",
    [
        "nothing.png",
        np.zeros((8, 8, 4), np.uint8),
        np.zeros((3, 8, 8), np.uint8),
        np.zeros((5, 8, 8), np.uint8),
        np.zeros((5, 3, 9, 8), np.float32),
        np.zeros((5, 8, 8, 4), np.uint8),
        np.zeros((1, 5, *SHAPE), np.float32),
        np.zeros(192, np.float32),
        [np.zeros((5, *SHAPE), np.float32)],
        np.zeros((0, 8, 3), np.uint8),
        np.zeros((3, 9, 8), np.float32),
        np.zeros(SHAPE),
        np.zeros(SHAPE, np.int64),
        np.full(SHAPE, 2, np.float32),
        np.full(SHAPE, np.nan, np.float32),
        Image.new("RGBA", (8, 8)),
        Image.new("I;16", (8, 8)),
        Image.new("CMYK", (8, 8)),
    ],
)
def test_images_that_cannot_be_used(doubt, image) -> None:
    with refused(DataError) as caught:
        doubt(image)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "the image is None; expected a file's path, a Pillow image or an array, or several of them"),
        (3, "the image is 3; expected a file's path"),
        (b"\x89PNG", "the image is of the type bytes; expected a file's path"),
        ({"a.png": 1}, "the image is of the type dict; expected"),
        ([None], "image 0 of 1 is None; expected a file's path, a Pillow image or an array"),
        ([[1, 2], [3, 4]], "image 0 of 2 is of the type list; expected"),
    ],
)
def test_what_is_no_image_is_told_in_one_line(doubt, given, message) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}") as caught:
        doubt(given)
    assert "\n" not in str(caught.value)


def test_what_has_the_form_of_an_array_is_an_image(doubt) -> None:
    import torch

    image = np.full(SHAPE, 0.25, np.float32)
    assert doubt(torch.from_numpy(image)).score == doubt(image).score


def test_the_dimensions_say_whether_it_is_one_image_or_a_batch(doubt) -> None:
    rng = np.random.default_rng(0)
    floats = rng.random((3, *SHAPE), dtype=np.float32)
    colours, greys = rng.integers(0, 256, (3, 8, 8, 3), np.uint8), rng.integers(0, 256, (8, 8), np.uint8)
    for image in (floats[0], colours[0], greys):
        assert isinstance(doubt(image), Decision)
    for batch in (floats, colours, list(floats), iter(colours), [floats[0], greys, colours[1]]):
        decisions = doubt(batch)
        assert isinstance(decisions, list)
        assert len(decisions) == 3
    assert [each.score for each in doubt(floats)] == [doubt(one).score for one in floats]
    assert [type(each) for each in doubt(floats[:1])] == [Decision]
    assert doubt(floats[:0]) == doubt([]) == []
    assert repr(doubt).endswith("takes one image (3 x 8 x 8) or a batch (N x 3 x 8 x 8))")


@pytest.mark.parametrize("track", [3, [3], [None]])
def test_a_track_is_a_name(doubt, track) -> None:
    with refused(DataError):
        doubt(np.zeros(SHAPE, np.float32), track=track)


@pytest.mark.parametrize(
    ("height", "width", "notes"),
    [
        (8, 8, ()),
        (80, 80, ()),
        (8, 16, ()),
        (2, 2, ()),
        (8, 17, ("resized from 8 x 17 to 8 x 8 (height x width): its proportions changed 2.12 times",)),
        (17, 8, ("resized from 17 x 8 to 8 x 8 (height x width): its proportions changed 2.12 times",)),
        (1, 1, ("resized from 1 x 1 to 8 x 8 (height x width): a side was enlarged 8 times",)),
        (
            1,
            4,
            (
                "resized from 1 x 4 to 8 x 8 (height x width): its proportions changed 4 times and a side "
                "was enlarged 8 times",
            ),
        ),
    ],
)
def test_strong_resizing_is_noted(doubt, tmp_path, height, width, notes) -> None:
    pixels = np.zeros((height, width, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "it.png")
    for form in (pixels, Image.fromarray(pixels), tmp_path / "it.png"):
        decision = doubt(form)
        assert decision.notes == notes
        assert decision.record()["notes"] == list(notes)
    # Each has its own.
    assert [d.notes for d in doubt([pixels, np.zeros((8, 8), np.uint8)])] == [notes, ()]


@pytest.mark.parametrize(("side", "noted"), [(36, False), (37, True)])
def test_a_side_may_become_four_times_as_long_without_a_note(side, noted) -> None:
    made = as_input(np.zeros((9, 9), np.uint8), (3, side, side), "it")
    assert bool(made.notes) is noted


def test_grey_and_larger_images_are_turned_into_what_the_classifier_takes(doubt) -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    expected = as_input(np.dstack([grey] * 3), SHAPE, "it").image
    for form in (grey, grey[:, :, None], Image.fromarray(grey)):
        np.testing.assert_array_equal(as_input(form, SHAPE, "it").image, expected)
    assert doubt(grey).predicted == doubt(expected).predicted


# Deciding --------------------------------------------------------------------------------------------------


def test_decisions_are_those_of_monitor_and_calibration(doubt, tiny) -> None:
    pixels = tiny.test.images.read(np.arange(40))
    decisions = doubt(pixels)
    seen = doubt.classifier.observe(pixels)
    threshold = doubt.monitor.calibration.threshold
    np.testing.assert_allclose([d.score for d in decisions], 1 - seen.confidence, rtol=1e-9)
    assert {d.accepted for d in decisions} == {True, False}
    for decision, predicted in zip(decisions, seen.predicted, strict=True):
        assert decision.threshold == threshold
        assert decision.alarm == (decision.score > threshold) == (not decision.accepted)
        assert decision.predicted == tiny.classes[predicted]
        assert decision.label == (decision.predicted if decision.accepted else None)
        assert decision.why == ("the score is above the threshold" if decision.alarm else "")


def test_one_by_one_is_all_at_once(doubt, tiny) -> None:
    pixels = tiny.test.images.read(np.arange(70))
    together = doubt(list(pixels))
    doubt.restart()
    singly = [doubt(image) for image in pixels]
    np.testing.assert_allclose([d.score for d in together], [d.score for d in singly], rtol=1e-9)
    assert doubt([]) == []
    assert isinstance(singly[0], Decision)
    assert isinstance(doubt(pixels[:1]), list)


def test_a_policy_and_a_fallback_remember_until_restart(tiny, classifier) -> None:
    monitor = FakeMonitor(score=lambda o: o.images.mean(axis=(1, 2, 3)), fixed_threshold=0.5, name="bright")
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE, policy=MOutOfN(m=2, n=3), fallback=LastAccepted())
    dark, bright = np.zeros(SHAPE, np.float32), np.ones(SHAPE, np.float32)
    first = guard(dark, "a")
    assert first.label == first.predicted
    told = [guard(image, "a") for image in (bright, bright, dark, dark)]
    assert [d.alarm for d in told] == [True, True, False, False]
    assert [d.accepted for d in told] == [True, False, False, True]
    same_text(told[0].why)
    assert told[1].why == f"the score is above the threshold; fallback: '{first.predicted}'"
    same_text(told[2].why)
    # What passed with an alarm is not recalled.
    assert told[1].label == first.predicted
    assert guard.notes == ()
    guard([bright, bright])
    guard.restart()
    assert guard(bright).accepted
    guard.restart()
    both = guard([bright, bright])
    assert [d.accepted for d in both] == [True, False]
    # Forgotten with the rest: what was accepted before.
    guard = Guard(classifier, monitor, shape=SHAPE, fallback=LastAccepted())
    dark_class = guard(dark, "a").predicted
    assert guard(bright, "a").label == dark_class
    guard.restart()
    assert guard(bright, "a").label is None
    # Another object, or nobody knows which: nothing to fall back on.
    guard(dark, "a")
    assert guard(bright, "b").label is None
    assert guard.notes == ()
    assert guard(bright).label is None
    note = "no track is given: each image stands alone for fallback 'last'"
    assert guard.notes == (note,)
    guard(bright)
    assert guard.notes == (note,)


def test_who_looks_back_within_tracks_is_told(tiny, classifier) -> None:
    monitor = Looks(order=True)
    fit_monitors([monitor], classifier, tiny)
    policy = MOutOfN(m=1, n=2, within="track")
    guard = Guard(classifier, monitor, shape=SHAPE, policy=policy, fallback=LastAccepted())
    told = "no track is given: each image stands alone for "
    monitor_too = "monitor 'looks' (if it goes by tracks)"
    assert guard.untracked == f"{told}policy 'm-of-n', fallback 'last', {monitor_too}"
    plain = Guard(classifier, monitor, shape=SHAPE, policy=MOutOfN(m=1, n=2))
    assert plain.untracked == told + monitor_too


def test_without_a_track_nobody_is_missed_where_nothing_looks_back(doubt) -> None:
    doubt(np.zeros(SHAPE, np.float32))
    assert doubt.untracked == ""
    assert doubt.notes == ()


def test_a_second_classifier_takes_over(tiny, classifier) -> None:
    monitor = FakeMonitor(score=lambda o: o.images.mean(axis=(1, 2, 3)), fixed_threshold=0.5, name="bright")
    fit_monitors([monitor], classifier, tiny)
    second = FunctionClassifier(lambda images: np.tile([0.0, 0.0, 1.0, 0.0], (len(images), 1)), tiny.classes)
    guard = Guard(classifier, monitor, shape=SHAPE, fallback=SecondClassifier(second))
    assert guard(np.ones(SHAPE, np.float32)).label == tiny.classes[2]
    wrong = FunctionClassifier(lambda images: np.ones((len(images), 1)), ("only",))
    with refused(ExperimentError):
        Guard(classifier, monitor, shape=SHAPE, fallback=SecondClassifier(wrong))


class Looks(Monitor):
    """Remembers the tracks, ids and batch sizes that it sees."""

    def __init__(self, *, order: bool = False) -> None:
        self._order = order
        self.seen: list[tuple[list[str] | None, list[str]]] = []

    @property
    def needs(self) -> Needs:
        return Needs(order=self._order)

    def _fit(self, data):
        return {}

    def _load(self, state) -> None: ...

    def reset(self) -> None:
        self.seen = []

    def _score(self, observation):
        track = None if observation.track is None else observation.track.tolist()
        self.seen.append((track, observation.ids.tolist()))
        return np.zeros(len(observation))

    def _explain(self, observation):
        return Explanation(reason=f"image {observation.ids[0]} after {len(self.seen)} looks")


@pytest.mark.parametrize("order", [False, True])
def test_who_looks_back_sees_one_image_at_a_time(tiny, classifier, order) -> None:
    monitor = Looks(order=order)
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE)
    monitor.reset()
    decisions = guard(tiny.test.images.read(np.arange(3)), track=["a", "a", "b"])
    guard(np.zeros(SHAPE, np.float32), track="c")
    guard(np.zeros(SHAPE, np.float32))
    rest = [(["c"], ["3"]), (None, ["4"])]
    whole = [(["a", "a", "b"], ["0", "1", "2"])]
    assert monitor.seen == ([(["a"], ["0"]), (["a"], ["1"]), (["b"], ["2"])] if order else whole) + rest
    reasons = [d.explanation.reason for d in decisions]
    looks = (1, 2, 3) if order else (1, 1, 1)
    assert reasons == [f"image {i} after {n} looks" for i, n in enumerate(looks)]
    with refused(DataError):
        guard(tiny.test.images.read(np.arange(3)), track=["a", "b"])


def test_explanations_are_given_where_they_are_asked_for(tiny, classifier) -> None:
    asked: list[str] = []

    class Tells(FakeMonitor):
        def _explain(self, observation):
            asked.append(str(observation.ids[0]))
            return Explanation(reason="too bright", contributions={"sky": 1.5}, nearest=("a", "b"))

    monitor = Tells(score=lambda o: o.images.mean(axis=(1, 2, 3)), fixed_threshold=0.5, name="bright")
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE)
    both = [np.zeros(SHAPE, np.float32), np.ones(SHAPE, np.float32)]
    for explain, expected in (("all", ["0", "1"]), ("cancelled", ["3"]), ("none", [])):
        asked.clear()
        told = guard(both, explain=explain)
        assert asked == expected
        assert told[1].why == ("too bright" if expected else "the score is above the threshold")
    assert guard(both[1]).record()["explanation"]["contributions"] == {"sky": 1.5}
    with refused(ParameterError):
        guard(both, explain="some")


def test_a_decision_stands_even_where_its_explanation_fails(tiny, classifier) -> None:
    class Mute(FakeMonitor):
        def _explain(self, observation):
            raise KeyError("nothing")

    monitor = Mute(fixed_threshold=-1.0, name="mute")
    fit_monitors([monitor], classifier, tiny)
    decision = Guard(classifier, monitor, shape=SHAPE)(np.zeros(SHAPE, np.float32))
    assert not decision.accepted
    same_text(decision.why)


def test_a_monitor_must_be_ready_and_of_this_classifier(tiny, classifier) -> None:
    monitor = FakeMonitor(name="doubt")
    with refused(ComponentFailure):
        Guard(classifier, monitor, shape=SHAPE)
    fit_monitors([monitor], classifier, tiny)
    other = FunctionClassifier(lambda images: np.full((len(images), 4), 0.25), tiny.classes, name="other")
    with refused(ExperimentError):
        Guard(other, monitor, shape=SHAPE)
    same = TinyModel().classifier(tiny, None)  # type: ignore[arg-type]
    assert Guard(same, monitor, shape=SHAPE)


class Own(Policy):
    """A policy of somebody's, with a mistake to choose."""

    def __init__(self, *, mistake: str) -> None:
        self._mistake = mistake

    def decide(self, verdict, observation):
        if self._mistake == "raises":
            return verdict.alarm  # there is no such thing
        return [True] if self._mistake == "list" else np.ones(len(observation) + 1, np.bool_)

    def _cancels(self, alarm, margin, track):
        raise NotImplementedError

    def reset(self) -> None:
        if self._mistake == "reset":
            raise KeyError("memory")


def test_a_policy_with_a_mistake_is_named(tiny, classifier) -> None:
    monitor = FakeMonitor(name="doubt")
    fit_monitors([monitor], classifier, tiny)

    def guard(mistake: str) -> Guard:
        return Guard(classifier, monitor, shape=SHAPE, policy=Own(mistake=mistake))

    image = np.zeros(SHAPE, np.float32)
    for mistake in (
        "raises",
        "list",
        "long",
    ):
        with refused(ComponentFailure):
            guard(mistake)(image)
    with refused(ComponentFailure):
        guard("reset").restart()


def test_a_fallback_with_a_mistake_is_named(tiny, classifier) -> None:
    class Wrong(LastAccepted):
        def decide(self, cancelled, observation, alarms=None):
            return np.zeros(7)

    monitor = FakeMonitor(name="doubt")
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE, fallback=Wrong())
    with refused(ComponentFailure):
        guard(np.zeros(SHAPE, np.float32))


OWN_POLICY = """
from farm.api import Policy

class Late(Policy):
    def _cancels(self, alarm, margin, track):
        import my_gain
        return alarm and my_gain.GAIN > 0

    def reset(self):
        import my_gain
        self.gain = my_gain.GAIN
"""


def test_a_policy_of_ones_own_may_import_where_it_begins_anew(tmp_path) -> None:
    place = write_own(tmp_path, **{"my_policies.py": OWN_POLICY})
    fit(place, policy="my_policies:Late").save(tmp_path / "guard")
    guard = Guard.load(tmp_path / "guard")
    guard.restart()
    assert guard.policy.gain == 2.0
    assert isinstance(guard(np.zeros((8, 8, 3), np.uint8)), Decision)


def test_a_loaded_guard_has_decided_before_and_remembers_nothing_of_it(saved, monkeypatch) -> None:
    seen: list[int] = []
    decide = Guard._decide
    monkeypatch.setattr(Guard, "_decide", lambda self, *a: [seen.append(self._seen), *decide(self, *a)][1:])
    guard = Guard.load(saved)
    assert seen == [0, 1, 2]
    assert (guard._seen, guard.monitor.own_passes, guard.notes) == (0, 0.0, ())


def test_warming_up_forgets_and_bears_failures(tiny, classifier) -> None:
    monitor = FakeMonitor(score=lambda o: o.images.mean(axis=(1, 2, 3)) + 1, fixed_threshold=0.5, name="bad")
    fit_monitors([monitor], classifier, tiny)
    second = SecondClassifier(FunctionClassifier(lambda i: np.tile([0, 0, 1, 0], (len(i), 1)), tiny.classes))
    guard = Guard(classifier, monitor, shape=SHAPE, policy=MOutOfN(m=2, n=2), fallback=second)
    guard.warm_up()
    assert second.instances == 0
    assert guard(np.zeros(SHAPE, np.float32)).accepted, "the second alarm in a row would be cancelled"
    monitor._score_with = lambda observation: 1 / 0
    guard.warm_up()
    with refused(ComponentFailure):
        guard(np.zeros(SHAPE, np.float32))


def test_threads_are_limited_while_it_decides_and_given_back(tiny, classifier) -> None:
    import torch

    seen = []

    def count(observation):
        seen.append(torch.get_num_threads())
        return np.zeros(len(observation))

    monitor = FakeMonitor(score=count, name="counts")
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    seen.clear()
    guard(np.zeros(SHAPE, np.float32))
    guard(np.zeros(SHAPE, np.float32))
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


# The parts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([[1.5, -0.0, np.nan, np.inf]], dtype=np.float32),
        np.array(["größer", "a", ""]),
        np.array([b"ab", b""]),
        np.array("text"),
        np.array(7),
        np.empty((0, 3), dtype=np.float16),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::3],
        np.array([1 + 2j]),
        np.array([1], dtype=">i4"),
    ],
)
def test_arrays_come_back_as_they_were(tmp_path, array) -> None:
    names = ["file", "x.npy", "layer0.a/b", ""]
    write_arrays(tmp_path / "a.npz", dict.fromkeys(names, array))
    found = read_npz(tmp_path / "a.npz")
    assert list(found) == names
    for again in found.values():
        assert again.dtype == array.dtype
        assert again.shape == array.shape
        assert again.tobytes() == array.tobytes()
        assert (
            again.flags.f_contiguous == np.ascontiguousarray(array).flags.f_contiguous
            or array.flags.f_contiguous
        )
    np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["file"], array)


def test_arrays_of_objects_are_neither_written_nor_read(tmp_path) -> None:
    objects = np.array([{}], dtype=object)
    with refused(ComponentFailure):
        write_arrays(tmp_path / "a.npz", {"a": objects})
    np.savez(tmp_path / "b.npz", a=objects)
    with refused(DataError):
        read_npz(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(b"PK")
    with refused(DataError):
        read_npz(tmp_path / "c.npz")


@pytest.mark.parametrize("per_class", [None, np.array([0.1, 0.25])])
def test_a_calibration_comes_back_from_its_record(per_class) -> None:
    calibration = Calibration("per-class", 1 / 3, 7, 0.95, 0.9, per_class, 1)
    record = json.loads(json.dumps({**calibration.record(), "held_out_acceptance": 0.5}))
    again = Calibration.from_record(record)
    assert again == calibration
    if per_class is None:
        assert again.per_class is None
    else:
        np.testing.assert_array_equal(again.per_class, per_class)
        assert again.thresholds(np.array([1, 0])).tolist() == [0.25, 0.1]


def test_the_files_that_components_need(tmp_path, monkeypatch) -> None:
    write_own(tmp_path)
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "json.py").write_text("hides nothing, since it is found later\n")
    (tmp_path / "farm.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "my_pack" / "by_name.py").write_text("nobody imports it by a name that stands anywhere\n")
    of_net = ["my_gain.py", "my_layers.py", "my_models.py"] + [
        f"my_pack/{n}.py" for n in ("__init__", "by_name", "heads", "sizes")
    ]
    assert needed_files({"a": ["my_models:make_net"]}, tmp_path) == of_net
    assert needed_files(["my_gain:GAIN", {"x": "my_monitors:Mine"}], tmp_path) == [
        "my_gain.py",
        "my_monitors.py",
    ]
    assert (
        needed_files(["json:load", "farm.api:Cancel", "no.such:thing", "http://x", "my_gain"], tmp_path) == []
    )
    with refused(ExperimentError):
        needed_files("broken:x", tmp_path)


def test_own_code_is_there_only_while_it_is_entered(tmp_path) -> None:
    write_own(tmp_path)
    code = OwnCode(tmp_path, ["my_gain.py", "my_pack/__init__.py", "my_pack/sizes.py"])
    with code:
        import my_gain
        from my_pack import sizes

        assert (my_gain.GAIN, sizes.WIDTH) == (2.0, 16)
        with pytest.raises(ModuleNotFoundError):
            import my_layers  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import my_pack  # noqa: F401
    with code:
        import my_gain as again

        assert again is my_gain


def test_farm_exports_it() -> None:
    assert farm.Guard is Guard
    assert "Guard" in farm.__all__


def test_a_registered_name_is_found_by_its_class() -> None:
    from farm.guard.folder import component_record

    for kind, name in (("policy", "cancel"), ("monitor", "max-softmax"), ("model", "lenet")):
        component = registry.make(kind, name, {}, "alias")
        record = component_record(kind, component)
        assert (record["component"], record["name"]) == (name, "alias")
        assert record["owner"]["package"] == "farm-testbed"
