"""A run's pictures are its stream's images, with what the monitors say of them; and nothing else changes."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from farm.api import LAST_HIDDEN, Explanation, FunctionClassifier, Needs, Plane, Stream
from farm.cli import main
from farm.errors import ParameterError, noting_ctrl_c
from farm.run.pictures import LONGEST, small
from farm.run.testbed import Testbed
from farm.store.pictures import LARGEST, Pictures
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing.fakes import FakeClassifier, FakeMonitor, TinyModel, TinySource
from tests.one_thread import one_thread  # noqa: F401 - a fixture of this file
from tests.wording import refused, same_text

NOISE = {"name": "gaussian-noise", "severity": 4}
FAULTS = [NOISE, {"name": "fog", "severity": 2, "share": 2}]


class Notes:
    """A progress that remembers what was noted."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def track(self, items: Any, description: str, total: int | None = None) -> Any:
        yield from items

    def note(self, message: str) -> None:
        self.notes.append(message)


class Telling(FakeMonitor):
    """Says what it is asked about."""

    def _explain(self, observation: Any) -> Explanation:
        return Explanation(
            f"{observation.ids[0]}\n of {observation.track[0]}: {observation.confidence[0]:.6f}"
        )


class System:
    """A small system, and runs of it."""

    def __init__(self, notes: Notes | None = None) -> None:
        self.bed = Testbed(seed=1, progress=notes)
        self.tiny = self.bed.workload(TinySource(tracks=(4, 3, 6), frames=2))
        self.means = self.bed.classifier(TinyModel(), self.tiny)

    def stream(self, faultload: Any = FAULTS, **asked: Any) -> Stream:
        return self.bed.stream(self.tiny, self.means, faultload, **asked)

    def run(self, monitors: Sequence[Any], stream: Stream | None = None, **settings: Any) -> Readouts:
        fitted = self.bed.fit(monitors, self.means, self.tiny)
        stream = stream or self.stream()
        return self.bed.run(stream, self.means, fitted, self.tiny, **{"batch_size": 16, **settings})

    def kept(self, monitors: Sequence[Any], stream: Stream | None = None, **settings: Any) -> Pictures:
        kept = self.run(monitors, stream, **settings).pictures
        assert kept is not None
        return kept


@pytest.fixture
def system() -> System:
    return System()


def explanations(kept: Pictures, monitor: str) -> list[str]:
    own = kept.shown[[name == monitor for name in kept.shown["monitor"]]]
    assert len(own)
    return own["explanation"].tolist()


@pytest.mark.parametrize("order", ["shuffled", {"name": "sequence", "views": 3, "share": 0.4}])
def test_the_images_are_those_of_the_stream(system: System, order: Any) -> None:
    length = None if order == "shuffled" else 120
    stream = system.stream(order=order, length=length)
    run = system.run(["max-softmax", "energy"], stream)
    kept, (whole,) = run.pictures, list(stream.batches(1000))
    assert kept is not None
    assert len(kept.images) == kept.shown["position"].nunique()
    shown = kept.images[kept.shown["picture"]].astype(float).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(shown, whole.images[kept.shown["position"]] * 255, atol=0.5001)
    assert set(kept.shown["monitor"]) == {None, "max-softmax", "energy"}
    for row in kept.shown.itertuples():
        instance = run.instances.loc[row.position]
        assert instance["is_ood"] == whole.is_ood[row.position]
        if row.monitor is None:
            continue
        own = run.alarms[run.alarms["monitor"] == row.monitor].set_index("position").loc[row.position]
        wrong = instance["label"] != instance["predicted"]
        assert (wrong, own["cancelled"]) == ((True, False) if row.why == "missed" else (False, True))


def test_the_same_run_has_the_same_pictures_bit_for_bit(system: System) -> None:
    monitors = [{"name": "oob"}, {"name": "knn"}, "max-softmax"]
    first, second = system.kept(monitors), System().kept(monitors)
    np.testing.assert_array_equal(first.images, second.images)
    pd.testing.assert_frame_equal(first.shown, second.shown, check_exact=True)
    assert first.planes == second.planes
    assert first.planes
    assert all(explanations(first, name) != [""] for name in ("oob", "knn", "max-softmax"))


def test_nothing_else_of_a_run_depends_on_its_pictures(system: System) -> None:
    class Reentering(Telling):
        def _explain(self, observation: Any) -> Explanation:
            self.classifier.observe(observation.images)
            return Explanation("it looked again")

    with_, without = (system.run([Reentering(name="a")], pictures=n) for n in (6, None))
    assert with_.pictures is not None
    assert without.pictures is None
    for one, other in ((with_.instances, without.instances), (with_.alarms, without.alarms)):
        kept = [name for name in one if name not in TIME_COLUMNS]
        pd.testing.assert_frame_equal(one[kept], other[kept], check_exact=True)
    assert with_.run["monitors"] == without.run["monitors"], "nor do explanations count as passes of its own"
    assert with_.run["monitors"][0]["own_forward_passes"] == 0


# How images are made small --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 32, 32), (32, 32, 3)),
        ((1, 128, 128), (128, 128, 1)),
        ((3, 129, 64), (128, 64, 3)),
        ((1, 64, 256), (32, 128, 1)),
        ((3, 2, 1000), (1, 128, 3)),
        ((4, 8, 8), (8, 8, 3)),
        ((2, 8, 300), (3, 128, 1)),
    ],
)
def test_no_side_is_longer_than_a_page_shows(shape: Any, expected: Any) -> None:
    images = np.random.default_rng(0).random((2, *shape), dtype=np.float32)
    made = small(images)
    assert (made.shape, made.dtype) == ((2, *expected), np.uint8)
    channels = expected[2]
    np.testing.assert_allclose(made.mean(axis=(1, 2)), 255 * images[:, :channels].mean(axis=(2, 3)), atol=12)
    if expected[:2] == shape[1:]:
        exact = np.rint(images[:, :channels] * 255).transpose(0, 2, 3, 1)
        np.testing.assert_array_equal(made, exact)


def test_what_is_shrunk_is_still_the_right_way_up() -> None:
    image = np.zeros((1, 3, 200, 400), np.float32)
    image[0, 0, :100, :200] = 1.0  # red, in the upper left quarter
    (made,) = small(image)
    assert made.shape == (64, LARGEST, 3)
    assert made[10, 10].tolist() == [255, 0, 0]
    assert made[10, 100].tolist() == made[50, 10].tolist() == [0, 0, 0]


# What monitors say ----------------------------------------------------------------------------------------


def test_monitors_see_the_names_and_the_values_that_they_saw_in_the_stream(system: System) -> None:
    seen: dict[str, str] = {}

    def score(observation: Any) -> Any:
        for i in range(len(observation)):
            name = observation.ids[i]
            seen[name] = f"{name} of {observation.track[i]}: {observation.confidence[i]:.6f}"
        return 1 - observation.confidence

    stream = system.stream(order={"name": "sequence", "views": 3, "share": 0.4}, length=120)
    (monitor,) = system.bed.fit([Telling(name="a", score=score)], system.means, system.tiny)
    seen.clear()
    kept = system.bed.run(stream, system.means, [monitor], system.tiny, batch_size=7).pictures
    assert kept is not None
    told = explanations(kept, "a")
    assert len({one.split()[2] for one in told}) > 1, "of several tracks"
    assert set(told) <= set(seen.values())


def test_a_monitor_that_has_nothing_to_say_is_shown_without_a_word(system: System) -> None:
    assert set(explanations(system.kept([FakeMonitor(name="mute")]), "mute")) == {""}


def interrupt_itself(observation: Any) -> None:
    raise KeyboardInterrupt


def test_whatever_an_explanation_raises_is_what_is_told_of_it(system: System) -> None:
    class Odd(Telling):
        def _explain(self, observation: Any) -> Any:
            return self.says(observation)

    kinds = {
        "raises": lambda o: 1 / 0,
        "exits": lambda o: exit(3),
        "none": lambda o: None,
        "interrupts": interrupt_itself,
        "number": lambda o: Explanation(7),  # type: ignore[arg-type]
        "long": lambda o: Explanation("word " * 200),
    }
    monitors = []
    for name, says in kinds.items():
        monitor = Odd(name=name)
        monitor.says = says
        monitors.append(monitor)
    with noting_ctrl_c():
        run = system.run(monitors)
    assert run.pictures is not None
    assert [record["failure"] for record in run.run["monitors"]] == [None] * len(kinds)
    told = {name: set(explanations(run.pictures, name)) for name in kinds}
    assert {len(texts) for texts in told.values()} == {1}
    assert max(len(text) for text in told["long"]) == LONGEST
    same_text(f"{name}: {text}" for name, texts in told.items() for text in texts)


@pytest.mark.parametrize("hook", ["_explain", "_plane"])
def test_ctrl_c_passes_on(system: System, hook: str) -> None:
    def interrupted(self: Any, observation: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    kind = type("Interrupted", (FakeMonitor,), {hook: interrupted})
    with noting_ctrl_c(), pytest.raises(KeyboardInterrupt):
        system.run([kind(name="a")])


def test_one_whose_memory_is_gone_is_shown_and_not_asked(system: System) -> None:
    needs = Needs(order=True)
    kept = system.kept([Telling(name="looks back", needs=needs), Telling(name="other")])
    assert set(explanations(kept, "looks back")) == {""}
    assert "" not in explanations(kept, "other")


def test_yardsticks_and_what_failed_are_not_shown(system: System) -> None:
    class Failing(Telling):
        calls = 0

        def _score(self, observation: Any) -> Any:
            Failing.calls += 1
            return np.full(len(observation), np.nan if Failing.calls > 8 else 0.0)

    run = system.run(["never", "always", "random", Failing(name="failing"), "max-softmax"])
    assert run.run["monitors"][3]["failure"]
    assert run.pictures is not None
    assert set(run.pictures.shown["monitor"]) == {None, "max-softmax"}


def test_layers_and_members_are_those_that_monitors_need(system: System) -> None:
    class Deep(Telling):
        def _explain(self, observation: Any) -> Explanation:
            return Explanation(f"{sorted(observation.activations)} {observation.members}")

    kept = system.kept([Deep(name="deep", needs=Needs(layers=(LAST_HIDDEN,))), Deep(name="flat")])
    assert set(explanations(kept, "deep")) == {f"['{LAST_HIDDEN}'] None"}
    assert set(explanations(kept, "flat")) == {"[] None"}


def test_where_the_classifier_fails_by_then_the_readouts_are_kept_without(tiny: Any) -> None:
    class Tired(FakeClassifier):
        def _forward(self, images: Any, layers: Any, members: int) -> Any:
            if self.calls >= self.most:
                raise ConnectionError("the service is gone")
            return super()._forward(images, layers, members)

    notes = Notes()
    bed = Testbed(seed=1, progress=notes)
    classifier = Tired(lambda images: np.full((len(images), 4), 0.25), tiny.classes)
    classifier.most = 10**6
    (monitor,) = bed.fit([FakeMonitor(name="a")], classifier, tiny)
    classifier.calls, classifier.most = 0, 3 + 3 + 3 + 2  # to warm up and to be timed, then two batches
    run = bed.run(bed.stream(tiny, classifier, length=20), classifier, [monitor], tiny, batch_size=10)
    assert len(run.instances) == 20
    assert run.pictures is None
    same_text(notes.notes)


@pytest.mark.parametrize("n", [-1, 51, 1.5, True, "none"])
def test_how_many_is_checked_before_anything_runs(system: System, n: Any) -> None:
    with refused(ParameterError):
        system.run(["max-softmax"], pictures=n)


# Planes ---------------------------------------------------------------------------------------------------


class Placing(FakeMonitor):
    """Puts each instance where its first two pixels say, but for those in the dark; one box has no end."""

    def _plane(self, observation: Any) -> Plane | None:
        assert len(set(observation.predicted)) == 1
        points = observation.images[:, 0, 0, :2].astype(float)
        points[observation.images.mean(axis=(1, 2, 3)) < 0.5] = np.nan
        return Plane(points, [(0.0, 1 / 3, 0.0, 1.0), (-np.inf, 0.0, 0.0, 1.0)], ("left", "right"))


def test_a_plane_has_the_points_of_one_class_of_each_group(system: System) -> None:
    stream = system.stream()
    run = system.run([Placing(name="a")], stream)
    assert run.pictures is not None
    (whole,) = list(stream.batches(1000))
    assert [(plane["faultload"], plane["severity"]) for plane in run.pictures.planes] == [
        ("fog", 2.0),
        ("gaussian-noise", 4.0),
    ]
    for plane in run.pictures.planes:
        assert (plane["monitor"], plane["axes"]) == ("a", ["left", "right"])
        assert plane["boxes"] == [[0.0, 0.333333, 0.0, 1.0]], "of six digits, without what has no end"
        at = np.array(plane["positions"])
        assert set(run.instances["predicted"][at]) == {plane["predicted"]}
        assert set(whole.faultload[at]) == {"", plane["faultload"]}
        assert (whole.images[at].mean(axis=(1, 2, 3)) >= 0.5).all(), "of those in the dark nothing is known"
        np.testing.assert_allclose(plane["points"], whole.images[at, 0, 0, :2], rtol=1e-5)


def test_a_plane_that_comes_in_parts_is_whole(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = {"name": "oob", "neurons": "all"}
    at_once = system.kept([monitor])
    monkeypatch.setattr("farm.run.pictures.chunk_size", lambda shape: 5)
    in_parts = system.kept([monitor])
    np.testing.assert_array_equal(at_once.images, in_parts.images)
    for one, other in zip(at_once.planes, in_parts.planes, strict=True):
        assert {**one, "points": None} == {**other, "points": None}
        np.testing.assert_allclose(one["points"], other["points"], rtol=1e-5)
        assert len(one["points"]) > 5


@pytest.mark.parametrize("how", ["none", "raises", "raises later", "nowhere"])
def test_a_plane_that_is_none_is_left_out(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr("farm.run.pictures.chunk_size", lambda shape: 20)
    asked: list[int] = []

    class Without(FakeMonitor):
        def _plane(self, observation: Any) -> Plane | None:
            asked.append(len(observation))
            if how == "raises" or (how == "raises later" and len(asked) > 2):
                raise ValueError("no axes")
            if how == "none":
                return None
            place = np.nan if how == "nowhere" else 0.5
            return Plane(np.full((len(observation), 2), place), [], ("x", "y"))

    notes = Notes()
    run = System(notes).run([Without(name="without")])
    assert asked
    assert run.pictures is not None
    assert run.pictures.planes == []
    assert run.run["monitors"][0]["failure"] is None
    if how.startswith("raises"):
        assert set(notes.notes) == {"monitor 'without' failed in plane: ValueError: no axes"}


def test_what_is_predicted_otherwise_by_then_is_in_no_plane(tiny: Any) -> None:
    """Two likely classes may change places in another batch; boxes are of one class."""

    class Fickle(Notes):
        def track(self, items: Any, description: str, total: int | None = None) -> Any:
            self.late = description == "keeping pictures"
            yield from items

    fickle = Fickle()

    def probabilities(images: Any) -> Any:
        bright = images.mean(axis=(1, 2, 3)) > 0.5
        return np.eye(4)[np.where(bright & fickle.late, 1, 0)]

    bed = Testbed(seed=1, progress=fickle)
    fickle.late = False
    classifier = FunctionClassifier(probabilities, tiny.classes)
    (monitor,) = bed.fit([Placing(name="a")], classifier, tiny)
    run = bed.run(bed.stream(tiny, classifier, NOISE), classifier, [monitor], tiny)
    assert run.pictures is not None
    # Only the bright ones have a place, and these are of another class by now.
    assert (run.pictures.planes, fickle.notes) == ([], [])


def test_one_that_looks_back_has_no_plane(system: System) -> None:
    assert system.kept([Placing(name="a", needs=Needs(order=True))]).planes == []


# Privacy --------------------------------------------------------------------------------------------------


EXPERIMENT = """
name: mine
workload: farm.testing.fakes:TinySource
classifier: farm.testing.fakes:TinyModel
faultload: {name: gaussian-noise, severity: 2}
monitors: [max-softmax, {name: oob, neurons: all}]
batch_size: 16
"""


@pytest.mark.parametrize("arguments", [["--pictures", "none"], ["--set", "pictures=none"], None])
def test_without_pictures_no_pixel_is_written(tmp_path: Path, monkeypatch: Any, arguments: Any) -> None:
    monkeypatch.chdir(tmp_path)
    key = "pictures: none\n" if arguments is None else ""
    Path("mine.yaml").write_text(EXPERIMENT + key, encoding="utf-8")
    assert main(["run", "mine.yaml", "--quiet", "--out", "out", *(arguments or [])]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *("alarms.parquet", "instances.parquet", "run.json")
    ]
    assert Readouts.load("out").run["experiment"]["pictures"] == "none"
    # Repeated, nothing is kept either, and the readouts are the same.
    assert main(["run", "out/run.json", "--quiet", "--out", "again"]) == 0
    assert not list(Path("again").glob("pictures*"))


def test_so_many_are_kept_as_are_asked_for_and_a_run_is_repeated_with_its_pictures(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(EXPERIMENT, encoding="utf-8")
    for name, n in (("two", "2"), ("six", None)):
        asked = [] if n is None else ["--pictures", n]
        assert main(["run", "mine.yaml", "--quiet", "--out", name, *asked]) == 0
        kept = Readouts.load(name).pictures
        assert kept is not None
        assert kept.shown.loc[kept.shown["monitor"].notna(), "rank"].max() + 1 == int(n or 6)
    assert main(["run", "two/run.json", "--quiet", "--out", "again"]) == 0
    for file in ("pictures.npy", "pictures.json"):
        assert Path("two", file).read_bytes() == Path("again", file).read_bytes()
    assert main(["run", "two/run.json", "--quiet", "--pictures", "none", "--out", "without"]) == 0
    assert "The readouts are those of two bit for bit" in capsys.readouterr().out
    for command in (["verify", "six"], ["export", "six", "--format", "csv"], ["judge", "six"]):
        assert main(command) == 0


@pytest.mark.parametrize("asked", ["51", "-1", "1.5", "true", "null", "all", "'6'"])
def test_what_is_no_number_of_pictures_is_told(
    tmp_path: Path, monkeypatch: Any, capsys: Any, asked: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(EXPERIMENT, encoding="utf-8")
    assert main(["run", "mine.yaml", "--quiet", f"--pictures={asked}"]) == 2
    same_text(capsys.readouterr().err)
