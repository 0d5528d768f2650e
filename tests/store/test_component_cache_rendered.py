"""Rendered workloads are found again, bit for bit as rendered, and only where all is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import farm.store.identity.loaded
from farm.api import ArrayImages, Context, NoCache, Split, Workload, WorkloadSource
from farm.errors import ComponentFailure, DataError, RequirementError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.store.component_cache import KIND, load_workload
from tests.wording import refused

SMALL = {"train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 1}


class Stripes(WorkloadSource):
    """Renders stripes; counts how often, and leaves out images that the cache cannot hold if asked."""

    rendered = True
    renderings = 0
    copies = False

    def __init__(self, *, shade: float = 1.0) -> None:
        self._shade = shade

    def _load(self, context: Context) -> Workload:
        type(self).renderings += 1
        rng = np.random.default_rng(context.seed)
        return Workload("stripes", ("a", "b"), *(self._split(name, rng) for name in ("train", "val", "test")))

    def _split(self, name: str, rng: np.random.Generator) -> Split:
        images = (rng.random((4, 1, 4, 4)) * self._shade).astype(np.float32)
        if self.copies:
            images[:] = 0.5
        ids = np.array([f"{name}-é{i}" for i in range(4)])
        return Split(
            name,
            ArrayImages(images),
            labels=np.array([0, 1, 0, 1]),
            ids=ids,
            groups=ids,
            boxes=rng.random((4, 4)),
            conditions={"light": np.array(["day", "dusk", "day", "x" * 30]), "angle": rng.random(4)},
        )


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stripes, "renderings", 0)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(cache=DiskCache(tmp_path))


def with_seed(context: Context, seed: int) -> Context:
    return Context(seed=seed, cache=context.cache)


def test_what_is_found_is_what_was_rendered(context: Context) -> None:
    first, again = load_workload(Stripes(), context), load_workload(Stripes(), context)
    assert Stripes.renderings == 1
    assert again is not first
    assert (again.name, again.classes, again.notes) == (first.name, first.classes, first.notes)
    assert again.content_hash == first.content_hash
    for mine, its in zip(first.splits, again.splits, strict=True):
        assert its.name == mine.name
        assert isinstance(its.images, ArrayImages)
        assert isinstance(mine.images, ArrayImages)
        for one, other in (
            (mine.images.array, its.images.array),
            (mine.labels, its.labels),
            (mine.ids, its.ids),
            (mine.groups, its.groups),
            (mine.boxes, its.boxes),
            *((mine.conditions[name], its.conditions[name]) for name in ("light", "angle")),
        ):
            assert one is not None
            assert other is not None
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        assert its.masks is None


def test_what_is_found_is_not_hashed_image_by_image_again(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_workload(Stripes(), context)
    with monkeypatch.context() as patch:
        patch.setattr("farm.api.data.image_digests", None)
        again = load_workload(Stripes(), context)
        known = [split.hashes for split in again.splits]
    assert known == [split.hashes for split in first.splits]
    assert again.content_hash == first.content_hash
    assert replace(again.test, images=again.train.images).digests == first.train.digests


def test_signs_are_rendered_once_for_all_testbeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"name": "signs", **SMALL}
    rendered = Testbed(cache=NoCache()).workload(named)
    first = Testbed(cache=DiskCache(tmp_path)).workload(named)

    def never(*_: object) -> None:
        raise AssertionError("rendered again")

    monkeypatch.setattr("farm.workloads.signs._RenderedSigns._load", never)
    again = Testbed(cache=DiskCache(tmp_path)).workload(named)
    assert rendered.content_hash == first.content_hash == again.content_hash
    assert again.recipe == first.recipe
    for split, its in zip(rendered.splits, again.splits, strict=True):
        np.testing.assert_array_equal(split.masks, its.masks)
        np.testing.assert_array_equal(split.conditions["pose_degrees"], its.conditions["pose_degrees"])


def test_another_seed_or_parameter_is_another_workload(context: Context) -> None:
    hashes = {
        load_workload(source, with_seed(context, seed)).content_hash
        for source, seed in ((Stripes(), 0), (Stripes(), 1), (Stripes(shade=0.5), 0), (Stripes(), 0))
    }
    assert (len(hashes), Stripes.renderings) == (3, 3)


def test_other_code_or_another_machine_renders_anew(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_workload(Stripes(), context)
    with monkeypatch.context() as patch:
        patch.setattr("farm.store.component_cache.loaded_identity", lambda *_: {"code": "other"})
        load_workload(Stripes(), context)
    monkeypatch.setattr("farm.store.identity.loaded.provenance.versions", lambda: {"numpy": "0.1"})
    load_workload(Stripes(), context)
    assert Stripes.renderings == 3


def test_what_cannot_be_told_is_not_kept(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise RequirementError("workload 'stripes': its class was typed in")

    monkeypatch.setattr("farm.store.component_cache.loaded_identity", unknown)
    load_workload(Stripes(), context)
    load_workload(Stripes(), context)
    assert Stripes.renderings == 2
    assert not (tmp_path / KIND).exists()


def test_images_that_are_not_in_memory_are_rendered_each_time(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.store.component_cache.ArrayImages", str)
    assert load_workload(Stripes(), context).name == "stripes"
    load_workload(Stripes(), context)
    assert Stripes.renderings == 2


def test_other_workloads_are_left_alone(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stripes, "rendered", False)
    load_workload(Stripes(), context)
    load_workload(Stripes(), context)
    assert Stripes.renderings == 2


def test_what_was_kept_unseen_is_checked_where_contents_matter(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stripes, "copies", True)
    load_workload(Stripes(), context, contents=False)
    with refused(DataError):
        load_workload(Stripes(), context)
    assert Stripes.renderings == 1


def test_a_failing_renderer_keeps_nothing(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no paint")

    monkeypatch.setattr(Stripes, "_load", failing)
    with refused(ComponentFailure):
        load_workload(Stripes(), context)
    assert not list((tmp_path / KIND).glob("[!.]*"))


def test_a_changed_module_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm.store.identity.loaded, "in_memory_is_current", lambda _: False)
    load_workload(Stripes(), context)
    load_workload(Stripes(), context)
    assert Stripes.renderings == 2
