"""What a classifier cannot give: which monitors that costs, why, and what works in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm import registry
from farm.api import Capabilities, FunctionClassifier, Needs
from farm.config.experiment import parse_experiment
from farm.errors import RequirementError
from farm.run.execution import run_experiment
from farm.run.needs import suitable, unmet
from farm.testing.fakes import FakeClassifier, FakeMonitor, TinySource
from tests.wording import refused, same_text


def white_box(*layers: str) -> FakeClassifier:
    return FakeClassifier(
        lambda images: np.full((len(images), 2), 0.5),
        classes=("a", "b"),
        layers={layer: lambda images: images.mean(axis=(2, 3)) for layer in layers},
        logits=lambda images: np.zeros((len(images), 2)),
    )


def test_what_works_on_a_black_box_needs_nothing_of_it() -> None:
    box = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("a", "b"))
    found = suitable(box)
    assert "max-softmax" in found
    assert not {"never", "energy", "oob", "vote"} & set(found)
    assert {"energy", "knn", "oob"} <= set(suitable(white_box("last-hidden")))
    assert "vim" not in suitable(white_box("last-hidden")), "there is no head"


def test_the_experiments_own_monitors_are_named_first_and_a_mere_slip_gets_no_list() -> None:
    monitors = [
        FakeMonitor(name="grad", needs=Needs(gradients=True)),
        FakeMonitor(name="mine"),
        registry.monitor("max-softmax"),
        registry.monitor("knn", layer="conv7"),
    ]
    same_text(unmet(monitors, white_box("conv2", "last-hidden")).values())


def test_what_nobody_can_give_is_told_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: Any) -> None:
        raise AssertionError("it was loaded")

    monkeypatch.setattr(TinySource, "_load", never)
    values = {
        "name": "vain",
        "workload": "farm.testing.fakes:TinySource",
        "classifier": "farm.testing.fakes:TinyModel",
        "monitors": ["tests.run.test_needs:Vain"],
    }
    with refused(RequirementError):
        run_experiment(parse_experiment(values, "vain"), tmp_path)


def test_a_classifier_says_why_it_lacks_something() -> None:
    box = white_box("conv2")
    box.lacks = {"last-hidden": "it ends in no linear layer", "gradients": "it is frozen"}
    same_text(
        unmet([FakeMonitor(name="m", needs=n) for n in (Needs(layers=("last-hidden",)),)], box).values()
    )
    box.capabilities = Capabilities(logits=True)
    box.lacks |= {"layers": "export it by torch.export"}
    same_text(unmet([FakeMonitor(name="m", needs=Needs(layers=("conv2",)))], box).values())
    same_text(unmet([FakeMonitor(name="m", needs=Needs(gradients=True))], box).values())


class Vain(FakeMonitor):
    """Asks for what no experiment has."""

    def __init__(self) -> None:
        super().__init__(needs=Needs(outliers=True))
