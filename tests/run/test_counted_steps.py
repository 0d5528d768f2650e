"""What a step of a stream takes, in counts that no machine changes: passes, copies, files, calls."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from farm.api import Batch, Monitor
from farm.run.fitting import fit_monitors
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from models.torch_classifier import TorchClassifier
from tests.monitors.making import make

OUTPUTS = ("max-softmax", "max-logit", "entropy", "margin", "energy", "gen", "temperature-scaling")
CALLS = {"max-softmax": 100, "energy": 100, "oob": 140, "patterns": 145, "knn": 140, "mahalanobis": 140}
"""So many Python functions, ours and others', a step of one image calls at most with one monitor."""


class Net(nn.Module):
    """Small beside its images, so that a copy of these shows."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.hidden, self.head = nn.Linear(64, 16), nn.Linear(16, 10)
        self.passes = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        return self.head(torch.relu(self.hidden(nn.functional.avg_pool2d(x, 8).flatten(1))))


@dataclass
class Counts:
    forward: int
    backward: int
    copies: int
    opened: int
    calls: Counter[str]
    allocated: int


class Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen[str(function)] += 1
        return function(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def made() -> tuple[Any, Net, TorchClassifier]:
    workload = Testbed(seed=0).workload({"name": "digits", "size": 64, "channels": 1})
    net = Net()
    return workload, net, TorchClassifier(net, workload.classes, name="net")


OPENED: list[str] = []
WATCHING: list[bool] = []
sys.addaudithook(lambda event, args: OPENED.append(str(args[0])) if event == "open" and WATCHING else None)


def counted(made, names: tuple[str, ...], n: int, engine: str = "eager") -> Counts:
    workload, net, network = made
    monitors: list[Monitor] = [make(name) for name in names]
    bed = Testbed(seed=0)
    classifier = bed.on_engine(network, workload, monitors, engine=engine)
    assert fit_monitors(monitors, classifier, workload) == {}
    system = SystemUnderTest(classifier, monitors)
    stream = bed.stream(workload, classifier, length=128)
    batch = next(iter(stream.batches(n)))
    for _ in range(3):
        system._step(batch)
    found = Counts(0, 0, 0, 0, Counter(), 0)

    passes = net.passes
    with Operations() as operations:
        system._step(batch)
    found.forward = net.passes - passes
    found.backward = sum(k for name, k in operations.seen.items() if "threshold_backward" in name)
    found.copies = operations.seen["aten.clone.default"] + operations.seen["aten._to_copy.default"]

    WATCHING.append(True)
    OPENED.clear()
    system._step(batch)
    WATCHING.clear()
    found.opened = len(OPENED)

    found.calls = calls_of(system, batch)
    tracemalloc.start()
    system._step(batch)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    step = system._step(batch)
    found.allocated = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert np.shares_memory(step.observation.images, batch.images)
    assert system.failures == {}
    return found


def calls_of(system: SystemUnderTest, batch: Batch) -> Counter[str]:
    calls: Counter[str] = Counter()

    def profile(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    sys.setprofile(profile)
    try:
        system._step(batch)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", [*CALLS, *OUTPUTS])
def test_a_step_is_one_pass_that_copies_no_image_and_opens_no_file(made, name) -> None:
    found = counted(made, (name,), 64)
    images = 64 * 64 * 64 * 4
    layers = 0 if name in OUTPUTS else 1
    assert (found.forward, found.backward, found.opened) == (1, 0, 0)
    assert found.copies <= layers  # a layer is copied, since what comes next may work in place
    assert found.allocated < images


def test_odin_takes_two_passes_of_its_own_and_one_back(made) -> None:
    found = counted(made, ("odin",), 64)
    assert (found.forward, found.backward) == (3, 1)


def test_monitors_together_take_no_pass_more(made) -> None:
    assert counted(made, (*CALLS, *OUTPUTS[1:4]), 64).forward == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_step_takes_few_calls(made, name) -> None:
    assert counted(made, (name,), 1).calls.total() <= CALLS[name]


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        (("max-softmax", "entropy", "energy", "gen", "vim", "nnguide"), "peak"),
        (("knn", "nnguide"), "directions"),
        (("patterns", "patterns-bdd"), "packed"),
        (("patterns", "patterns-bdd"), "by_class"),
    ],
)
def test_what_monitors_share_is_made_once(made, names, shared) -> None:
    if "patterns-bdd" in names:
        pytest.importorskip("dd", reason="the extra 'bdd' is not installed")
    assert counted(made, names, 64).calls[shared] == 1


def test_an_engine_runs_in_place_of_the_network(made) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript, of the extra 'fast', is not installed")
    found = counted(made, ("max-softmax", "knn"), 1, engine="onnx")
    assert (found.forward, found.copies, found.opened) == (0, 0, 0)
