"""What testbeds of one process may share: workloads and classifiers, by all that decides what they are."""

from __future__ import annotations

import pytest

from farm.api import NoCache
from farm.run.shared import Recent
from farm.run.testbed import Testbed
from farm.testing.fakes import TinyModel, TinySource

TINY = {"name": "farm.testing.fakes:TinySource"}
MODEL = {"name": "farm.testing.fakes:TinyModel"}


class Other(TinySource):
    """Another class, with the same parameters."""


@pytest.fixture
def kept():
    return Recent(8)


@pytest.fixture
def bed(kept, tmp_path):
    def bed(**settings):
        return Testbed(**({"folder": tmp_path, "kept": kept, "cache": NoCache()} | settings))

    return bed


def test_the_next_testbed_is_given_the_same(bed) -> None:
    first, second = bed(), bed()
    workload = first.workload(TINY)
    assert second.workload(TINY) is workload
    assert workload.recipe["name"] == "farm.testing.fakes:TinySource"
    classifier = first.classifier(MODEL, workload)
    classifier.recipe = {"name": "as somebody called it"}
    assert second.classifier(MODEL, workload) is classifier
    assert classifier.recipe == {"name": "farm.testing.fakes:TinyModel"}


def test_without_kept_all_is_made_each_time(tmp_path) -> None:
    bed = Testbed(cache=NoCache())
    workload = bed.workload(TINY)
    assert bed.workload(TINY) is not workload
    assert bed.classifier(MODEL, workload) is not bed.classifier(MODEL, workload)


@pytest.mark.parametrize("change", ["seed", "threads", "folder", "where", "data"])
def test_other_surroundings_give_another(bed, tmp_path, monkeypatch, change) -> None:
    first = bed()
    workload = first.workload(TINY)
    classifier = first.classifier(MODEL, workload)
    settings = {"seed": {"seed": 1}, "threads": {"threads": 2}, "folder": {"folder": tmp_path / "x"}}
    if change == "where":
        monkeypatch.chdir(tmp_path)
    if change == "data":
        monkeypatch.setenv("FARM_DATA", str(tmp_path / "data"))
    second = bed(**settings.get(change, {}))
    assert second.workload(TINY) is not workload
    assert second.classifier(MODEL, workload) is not classifier


@pytest.mark.parametrize(
    "source",
    [{**TINY, "seed": 1}, {**TINY, "as": "other"}, Other(), TinySource(title="another")],
    ids=["parameter", "name", "class", "title"],
)
def test_another_recipe_gives_another_workload(bed, source) -> None:
    assert bed().workload(TINY) is not bed().workload(source)


def test_a_workload_whose_pixels_nobody_checked_is_not_taken_for_one_that_was(bed) -> None:
    unchecked = bed().workload(TINY, contents=False)
    assert bed().workload(TINY) is not unchecked
    assert bed().workload(TINY, contents=False) is unchecked


def test_another_workload_gives_another_classifier(bed) -> None:
    first, second = (bed().workload({**TINY, "seed": seed}) for seed in (0, 1))
    assert bed().classifier(MODEL, first) is not bed().classifier(MODEL, second)
    assert bed().classifier(MODEL, first) is not bed().classifier({**MODEL, "as": "other"}, first)


def test_what_is_made_with_what_cannot_be_written_down_is_made_each_time(bed) -> None:
    class Unwritten(TinyModel):
        def __init__(self, *, body=len) -> None:
            super().__init__()

    workload = bed().workload(TINY)
    assert bed().classifier(Unwritten(body=print), workload) is not bed().classifier(
        Unwritten(body=len), workload
    )
