"""The data card: right numbers, in the record of each run too."""

from __future__ import annotations

import json
from dataclasses import replace

from farm.run.data_card import data_card
from farm.run.testbed import Testbed
from farm.testing.fakes import TinyModel, TinySource
from tests.run.made_workload import workload


def test_the_card_counts_right() -> None:
    made = workload()
    card = data_card(made)
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    assert card["content_hash"] == made.content_hash
    assert card["splits"][0] == {
        "name": "train",
        "images": 48,
        "groups": 24,
        "classes": 3,
        "identical": 0,
        "content_hash": made.train.content_hash,
    }
    assert card["classes"][1] == {"name": "class-1", "train": 16, "validation": 4, "test": 4}
    assert card["conditions"]["weather"] == {"rain": 24, "fog": 24, "(empty)": 24}
    assert card["conditions"]["lux"] == {"min": 0.0, "median": 11.5, "max": 47.0}
    assert (card["boxes"], card["masks"], card["notes"]) == (False, False, {"copies_dropped": 2})


def test_images_that_stand_twice_in_a_split_are_counted() -> None:
    made = workload()
    images = made.train.images._array
    images[5] = images[8] = images[2]
    assert data_card(made)["splits"][0]["identical"] == 2


def test_a_condition_that_only_some_splits_have_is_told_of_these() -> None:
    made = workload()
    without = replace(made, test=replace(made.test, conditions={}))
    assert data_card(without)["conditions"]["weather"] == {"rain": 20, "fog": 20, "(empty)": 20}


def test_the_record_of_a_run_has_the_card_of_its_workload() -> None:
    bed = Testbed(seed=0)
    tiny = bed.workload(TinySource())
    classifier = bed.classifier(TinyModel(), tiny)
    run = bed.run(bed.stream(tiny, classifier, length=8), classifier, [], tiny).run
    assert run["workload"]["card"] == data_card(tiny)
