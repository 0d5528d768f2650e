"""A workload that a seed of its own draws: the same images, whatever the experiment's seed."""

from __future__ import annotations

import pytest

from farm.api import Context, WorkloadSource
from farm.errors import FarmError, ParameterError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.testing.fakes import tiny_workload
from farm.workloads.fixed import Fixed
from tests.wording import refused

DIGITS = {"name": "digits", "size": 8, "channels": 1}
SIGNS = {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 1}


def hashes(recipe, seed, **more):
    return [split.content_hash for split in Testbed(seed, **more).workload(recipe).splits]


def test_the_seed_of_the_experiment_does_not_matter():
    fixed = {"name": "fixed", "of": DIGITS}
    assert hashes(fixed, 1) == hashes(fixed, 2) == hashes(DIGITS, 0)
    other = {**fixed, "seed": 1}
    assert hashes(other, 2) == hashes(DIGITS, 1) != hashes(fixed, 1)


def test_name_and_recipe():
    made = Testbed(5).workload({"name": "fixed", "of": DIGITS})
    assert made.name == "digits"
    assert made.recipe == {"name": "fixed", "of": DIGITS, "seed": 0}
    assert Fixed(of="digits").load(Context(seed=3)).shape == (3, 32, 32)


@pytest.mark.parametrize("seed", [0, 7])
def test_what_is_kept_of_the_other_one_with_that_seed_is_found(tmp_path, monkeypatch, seed):
    alone = Testbed(seed, cache=DiskCache(tmp_path)).workload(SIGNS)
    monkeypatch.setattr("farm.workloads.signs.photograph", None)
    fixed = {"name": "fixed", "of": SIGNS, "seed": seed}
    assert hashes(fixed, 3, cache=DiskCache(tmp_path)) == [split.content_hash for split in alone.splits]


class Told(WorkloadSource):
    """Says what it was asked with."""

    def _load(self, context):
        raise AssertionError("it has no splits")

    def _load_ood(self, context, like):
        self.asked = context.seed, like
        return tiny_workload()


def test_as_ood_images_it_is_the_other_one():
    source = Fixed(of=f"{__name__}:Told", seed=8)
    images = source.load_ood(Context(seed=1), (3, 8, 8)).images
    assert images.content_hash == tiny_workload().test.content_hash
    assert source._of.asked == (8, (3, 8, 8))


def test_as_ood_images_what_is_rendered_is_its_test_split(tmp_path):
    made = [
        Testbed(seed, cache=DiskCache(tmp_path)).ood_images({"name": "fixed", "of": SIGNS}) for seed in (0, 1)
    ]
    expected = Testbed(0, cache=DiskCache(tmp_path)).workload(SIGNS).test.content_hash
    assert [one.images.content_hash for one in made] == [expected, expected]


def test_what_is_made_beside_a_workload_fits_it():
    workload = tiny_workload(size=9)
    bed = Testbed(3)
    noise = bed.ood_images({"name": "fixed", "of": "noise-uniform", "seed": 2}, beside=workload)
    assert noise.images.images.shape == (3, 9, 9)
    expected = Testbed(2).ood_images("noise-uniform", beside=workload)
    assert noise.images.content_hash == expected.images.content_hash
    made = Fixed(of={"name": "noise-uniform", "n": 20}, seed=2).for_workload(workload)
    assert made.parameters == {
        "of": {"name": "noise-uniform", "n": 20, "size": [9, 9], "channels": 3},
        "seed": 2,
    }
    digits = Fixed(of="digits")
    assert digits.for_workload(workload) is digits


@pytest.mark.parametrize(
    "parameters",
    [
        {"of": 3},
        {"of": {"size": 8}},
        {"of": "digit"},
        {"of": {"name": "digits", "size": 3}},
        {"of": "digits", "seed": -1},
        {"of": "digits", "seed": 0.5},
    ],
)
def test_mistakes_are_told(parameters):
    with refused(ParameterError, FarmError):
        Fixed(**parameters)
