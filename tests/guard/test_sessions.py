"""One guard and many threads: calls come one after another, and each session is a stream of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.api import Monitor, Needs, Policy
from farm.config.experiment import parse_experiment
from farm.errors import ComponentFailure
from farm.guard import Decision, Guard
from farm.run.fallback import LastAccepted, SecondClassifier
from farm.run.fitting import fit_monitors
from farm.testing.fakes import FakeMonitor, TinyModel, tiny_workload
from tests.wording import refused

SHAPE = (3, 8, 8)
THREADS = 8
NET = """
import torch

def make_net():
    torch.manual_seed(4)
    hidden = torch.nn.Linear(192, 16)
    return torch.nn.Sequential(torch.nn.Flatten(), hidden, torch.nn.ReLU(), torch.nn.Linear(16, 4))
"""
MONITORS: dict[str, Any] = {
    "patterns": "patterns",
    "knn": {"name": "knn", "k": 3, "calibration": {"method": "per-class", "accept": 0.6}},
    "flicker": {"name": "flicker", "window": 3},
    "vote": {"name": "vote", "members": ["flicker", "patterns"], "calibrated": "each"},
}
SECOND = {"name": "module", "factory": "my_net:make_net", "std": [0.5]}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], Path]:
    """Fit and save a guard of one of these monitors."""
    place = tmp_path_factory.mktemp("place")
    (place / "my_net.py").write_text(NET)

    def saved(monitor: str, fallback: Any) -> Path:
        values = {
            "name": "mine",
            "workload": "farm.testing.fakes:TinySource",
            "classifier": {"name": "module", "factory": "my_net:make_net"},
            "monitors": [MONITORS[monitor]],
            "policy": {"name": "m-of-n", "m": 1, "n": 2},
            "fallback": fallback,
        }
        guard = Guard.fit(parse_experiment(values, "x.yaml"), folder=place)
        return guard.save(tmp_path_factory.mktemp("guards") / monitor)

    return saved


def in_threads(*work: Callable[[], Any]) -> list[Any]:
    """Call all at once, each in a thread of its own; give what they return, or raised."""
    found: list[Any] = [None] * len(work)
    ready = threading.Barrier(len(work))

    def one(i: int) -> None:
        ready.wait()
        try:
            found[i] = work[i]()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            found[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def stream_of(guard: Guard, number: int) -> list[dict[str, Any]]:
    """Decide on a stream that is another for each number, single images and several; times are left out."""
    test = tiny_workload().test
    order = np.random.default_rng(number).permutation(40)
    pixels = test.images.read(order)
    tracks = [f"track {i // 4}" for i in range(len(pixels))]
    told: list[Decision] = []
    for i in range(20):
        told.append(guard(pixels[i], tracks[i]))
    told += guard(pixels[20:], tracks[20:])
    return [{k: v for k, v in one.record().items() if not k.endswith("_time_us")} for one in told]


@pytest.mark.parametrize(
    ("monitor", "fallback"), [("patterns", "last"), ("knn", SECOND), ("flicker", "none"), ("vote", "last")]
)
def test_each_session_answers_as_a_guard_that_was_loaded_for_it_alone(folders, monitor, fallback) -> None:
    folder = folders(monitor, fallback)
    alone = [stream_of(Guard.load(folder), i) for i in range(THREADS)]
    guard = Guard.load(folder)
    guard(tiny_workload().test.images.read(np.arange(5)), "track 0")  # which no session knows of
    found = in_threads(*(lambda i=i: stream_of(guard.session(), i) for i in range(THREADS)))
    assert found == alone
    assert len({str(answers) for answers in alone}) == THREADS, "the streams differ"


def test_threads_that_share_one_guard_are_one_stream(folders) -> None:
    guard = Guard.load(folders("patterns", "none"))
    pixels = tiny_workload().test.images.read(np.arange(40))
    alone = [guard(one).score for one in pixels]
    guard.restart()
    found = in_threads(*(lambda: [guard(one).score for one in pixels] for _ in range(THREADS)))
    assert found == [alone] * THREADS
    assert guard._seen == THREADS * 40


def test_what_was_loaded_is_there_once(folders) -> None:
    guard = Guard.load(folders("knn", SECOND))
    session = guard.session()
    assert session.classifier is guard.classifier
    assert session.monitor is guard.monitor
    assert session.fallback.classifier is guard.fallback.classifier  # type: ignore[attr-defined]
    assert session.policy is not guard.policy
    assert session.fallback is not guard.fallback
    assert session.session().save(folders("knn", SECOND).parent / "again").is_dir()


class Writes(Monitor):
    """Remembers in the very array that it was given, which alone is no mistake."""

    @property
    def needs(self) -> Needs:
        return Needs(order=True)

    def _fit(self, data):
        return {"count": np.zeros(1)}

    def _load(self, state):
        self._count = state["count"]

    def reset(self):
        self._count[:] = 0

    def _score(self, observation):
        self._count += len(observation)
        return np.full(len(observation), self._count[0])


def test_sessions_take_no_notice_of_each_other(tiny, classifier) -> None:
    monitor = Writes()
    fit_monitors([monitor], classifier, tiny)
    image = np.zeros(SHAPE, np.float32)
    guard = Guard(classifier, monitor, shape=SHAPE, fallback=LastAccepted())
    assert [guard(image).score for _ in range(3)] == [1, 2, 3]
    assert guard.notes
    one, other = guard.session(), guard.session()
    assert one.notes == (), "whether it is told of tracks is its own affair"
    assert [s(image).score for s in (one, other, one, guard)] == [1, 1, 2, 4]
    one.restart()
    assert [s(image).score for s in (one, other, guard)] == [1, 2, 5]
    assert one.notes == guard.notes


def test_a_second_classifier_counts_for_each_session(tiny, classifier) -> None:
    monitor = FakeMonitor(fixed_threshold=-1.0, name="never")
    fit_monitors([monitor], classifier, tiny)
    second = SecondClassifier(TinyModel().classifier(tiny, None))  # type: ignore[arg-type]
    guard = Guard(classifier, monitor, shape=SHAPE, fallback=second)
    guard(np.zeros(SHAPE, np.float32))
    session = guard.session()
    assert (second.instances, session.fallback.record()["instances"]) == (1, 0)


def test_a_policy_that_cannot_begin_anew_is_named(tiny, classifier) -> None:
    class Once(Policy):
        made = 0

        def __init__(self) -> None:
            Once.made += 1
            if Once.made > 1:
                raise KeyError("only one")

        def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
            return alarm

        def reset(self) -> None: ...

    monitor = FakeMonitor(name="doubt")
    fit_monitors([monitor], classifier, tiny)
    guard = Guard(classifier, monitor, shape=SHAPE, policy=Once())
    with refused(ComponentFailure):
        guard.session()
