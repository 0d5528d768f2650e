"""One network of an ensemble: the same bits as in the ensemble, and trained once for all that ask for it."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from farm import registry
from farm.api import derived_seed
from farm.errors import FarmError, ParameterError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from models import training
from tests.models.boxed import with_boxes
from tests.wording import refused

PLAIN = {"name": "cnn", "epochs": 1, "filters": 3, "hidden": 8}
BOTH = {"name": "what-and-where", "epochs": 1, "neurons": 8, "networks": "one"}
HEAD = {**BOTH, "variant": "head", "passes": 3}


def member(of, number):
    return {"name": "ensemble-member", "of": of, "number": number}


def ensemble(of, size):
    return {"name": "ensemble", "of": of, "size": size}


@pytest.fixture
def bed(tmp_path) -> Testbed:
    return Testbed(seed=4, cache=DiskCache(tmp_path / "cache"))


@pytest.fixture(scope="module")
def digits():
    return with_boxes(Testbed().workload({"name": "digits", "size": 8, "channels": 1}))


@pytest.fixture
def trained(monkeypatch) -> list[int]:
    """Return the seeds by which networks are trained meanwhile."""
    seeds, train = [], training.train

    def noted(module, workload, recipe, context, *others):
        seeds.append(context.seed)
        return train(module, workload, recipe, context, *others)

    monkeypatch.setattr(training, "train", noted)
    return seeds


@pytest.mark.parametrize("of", [PLAIN, BOTH, HEAD], ids=["cnn", "vanilla", "passes"])
def test_an_ensemble_finds_its_members_where_they_were_trained_one_by_one(bed, digits, trained, of) -> None:
    alone = [bed.classifier(member(of, number), digits) for number in (3, 1, 2)]
    assert trained == [derived_seed(4, "member", number) for number in (3, 1, 2)]
    third, first, second = alone
    for size in (2, 3):
        whole = bed.classifier(ensemble(of, size), digits)
        assert [part.digest for part in whole._parts] == [one.digest for one in (first, second, third)[:size]]
    assert len(trained) == 3
    images, ids = digits.test.images.read(np.arange(20)), digits.test.ids[:20]
    for one, part in zip((first, second, third), whole._parts, strict=True):
        seen, expected = one.observe(images, ids=ids), part.observe(images, ids=ids)
        assert seen.probabilities.tobytes() == expected.probabilities.tobytes()
        assert {name: values.tobytes() for name, values in seen.outputs.items()} == {
            name: values.tobytes() for name, values in expected.outputs.items()
        }
    assert len({one.digest for one in alone}) == 3
    assert whole.notes["members"] == [dict(one.notes) for one in (first, second, third)]


def test_a_member_is_found_where_the_ensemble_trained_it(bed, digits, trained) -> None:
    whole = bed.classifier(ensemble(PLAIN, 2), digits)
    second, third = (bed.classifier(member(PLAIN, number), digits) for number in (2, 3))
    assert len(trained) == 3
    assert second.digest == whole._parts[1].digest
    larger = bed.classifier(ensemble(PLAIN, 4), digits)
    assert [part.digest for part in larger._parts[:3]] == [
        *(one.digest for one in whole._parts),
        third.digest,
    ]
    assert len(trained) == 4


def test_recipes_seeds_and_data_tell_members_apart(bed, digits, trained) -> None:
    bed.classifier(member(PLAIN, 1), digits)
    fewer = replace(digits, train=digits.train.rows(np.arange(len(digits.train) - 20)))
    others = [
        bed.classifier(member({**PLAIN, "filters": 4}, 1), digits),
        bed.with_seed(5).classifier(member(PLAIN, 1), digits),
        bed.classifier(member(PLAIN, 1), fewer),
    ]
    assert len(trained) == 4
    assert len({one.digest for one in others}) == 3


def test_it_is_the_recipes_own_network_by_another_seed(bed, digits, trained) -> None:
    found = bed.classifier({**member(PLAIN, 2), "as": "second"}, digits)
    alone = bed.with_seed(derived_seed(4, "member", 2)).classifier(PLAIN, digits)
    assert len(trained) == 1
    assert (found.name, alone.name, found.digest) == ("second", "cnn", alone.digest)
    assert found.notes == alone.notes
    assert found.recipe == {"name": "second", "of": PLAIN, "number": 2}


def test_passes_of_one_network_are_of_one_training(bed, digits, trained) -> None:
    dropping = {**PLAIN, "dropout": 0.5}
    bed.classifier(dropping, digits)
    for passes in (3, 5):
        bed.classifier({"name": "mc-dropout", "of": dropping, "passes": passes}, digits)
    assert len(trained) == 1


def test_who_wants_a_member_that_another_trains_waits_for_it(bed, digits, monkeypatch) -> None:
    """In threads, which stand for a campaign's processes: the cache's locks hold for both alike."""
    begun, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    trainings, found = [], {}

    def train(module, workload, recipe, context, *others):
        trainings.append(context.seed)
        begun.set()
        assert go_on.wait(60)
        return {"loss": "none"}

    class Telling:
        def track(self, items, description, total=None):
            return iter(items)

        def note(self, message):
            assert "which another process is making" in message
            waiting.set()

    monkeypatch.setattr(training, "train", train)
    other = Testbed(seed=4, cache=DiskCache(bed.context.cache.folder, Telling()))
    asked = {"first": (bed, member(PLAIN, 1)), "second": (other, ensemble(PLAIN, 2))}

    def ask(who):
        its_bed, recipe = asked[who]
        found[who] = its_bed.classifier(recipe, digits)

    threads = [threading.Thread(target=ask, args=[who], daemon=True) for who in asked]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    assert waiting.wait(60)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert trainings == [derived_seed(4, "member", number) for number in (1, 2)]
    assert found["second"]._parts[0].digest == found["first"].digest


def test_what_is_trained_for_it_is_one_network() -> None:
    source = registry.model(**member({"name": "ensemble", "of": "lenet", "size": 3}, 1))
    assert [one.name for one in source.trainings()] == ["lenet"] * 3
    assert [one.name for one in registry.model(**member("lenet", 7)).trainings()] == ["lenet"]


def test_untrained_it_differs_by_its_number(bed, digits, trained) -> None:
    made = [bed.untrained(registry.model(**member(PLAIN, number)), digits) for number in (1, 2, 1)]
    assert made[0].digest == made[2].digest != made[1].digest
    assert {one.name for one in made} == {"ensemble-member"}
    assert trained == []


@pytest.mark.parametrize("number", [0, 1.5, -1])
def test_numbers_begin_at_one(number) -> None:
    with refused(ParameterError):
        registry.model(**member("cnn", number))


@pytest.mark.parametrize("of", ["cnnn", {"epochs": 3}, {"name": "module", "factory": "their_nets:plain"}])
def test_mistakes_in_the_recipe_name_the_key(of) -> None:
    with refused(FarmError) as told:
        registry.model(**member(of, 1))
    assert "of" in str(told.value)
