"""Every registered faultload keeps the rules of `farm.testing`, and is what it is said to be here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.api import NO_ANSWER
from farm.errors import DataError
from farm.testing import check_faultloads
from tests.faultloads.worlds import NAMES, World, made

# What a fault is said to be here, and by itself: where the two differ, the test fails.
KINDS = {
    "adversarial": {"deepfool", "fgsm", "pgd", "square-attack"},
    "novelty": {
        *("colour-swap", "mixed-halves", "novelty", "pure-noise", "shuffled-pixels", "swirl", "textures"),
        *("gan-lee", "gan-sricharan"),
    },
    "anomaly": {
        *("bit-flips", "black-frame", "dead-columns", "dead-rows", "dropped-channel", "pixel-trap"),
        *("row-add-logic", "shifted-pixel", "stuck-frame", "torn-frame", "dirty-lens", "fading-sensor"),
        *("frozen-frame", "delayed-frame", "dropped-frame"),
    },
    "noise": {
        *("compose", "defocus-blur", "elastic-transform", "gaussian-blur", "gaussian-noise", "glass-blur"),
        *("impulse-noise", "shot-noise", "spatter", "speckle-noise", "uniform-blend", "zoom-blur"),
    },
    "shift": {
        *("brightness", "contrast", "crop", "fog", "frost", "greyscale", "jpeg-compression", "motion-blur"),
        *("perspective", "pixelate", "rain", "reflection", "rotation", "saturate", "scale", "snow"),
        *("robustness-blur", "robustness-crop", "robustness-fog", "robustness-grey", "robustness-noise"),
        *("robustness-perspective", "robustness-rain", "robustness-reflection", "robustness-rotation"),
        *("robustness-snow", "translation", "night", "overexposure"),
    },
}
TRAINED = {"gan-lee", "gan-sricharan"}
"""Faults that learn from the training images what they show, where there is something to learn."""
BRING = {"novelty"} | TRAINED
"""Faults that show other images than the instances'."""
LAG = {"frozen-frame", "delayed-frame", "dropped-frame"}
"""Faults that show other instants of a stream."""
NO_SEVERITY = KINDS["adversarial"] | KINDS["novelty"]
NO_SEVERITY |= {"black-frame", "dropped-channel", "stuck-frame", "frozen-frame"}
THREE_SEVERITIES = {"pixel-trap", "row-add-logic", "shifted-pixel"}
WITHOUT_CHANCE = {
    *("novelty", "fgsm", "deepfool", "swirl", "row-add-logic", "black-frame", "stuck-frame", "torn-frame"),
    *("defocus-blur", "gaussian-blur", "zoom-blur", "robustness-blur", "pixelate", "jpeg-compression"),
    *("brightness", "contrast", "saturate", "greyscale", "robustness-grey"),
    *LAG,
    *TRAINED,  # in these tests, by a seed of their own
}
"""Faults that make the same of the same pixels, whatever the seed and the id."""
NEED_COLOURS = {"colour-swap", "dropped-channel", "greyscale", "robustness-grey", "saturate"}
"""Faults that grey images are refused by, since they would stay as they are."""
SHOW_OTHERS = {"mixed-halves", "stuck-frame", "torn-frame"}
OUTCOMES = {"colour-swap": 2, "dropped-channel": 3}
"""Faults that draw one of so few that instances meet."""
MAY_MEET = {"motion-blur": 23}
"""It moves by whole pixels, so that two angles which are close do the same."""
NOT_MONOTONE = {
    *("elastic-transform", "spatter", "glass-blur", "frost", "snow", "saturate", "zoom-blur"),
    *("jpeg-compression", "pixelate"),
}
ROWS = np.arange(0, 48, 2)
SQUARE = World()


@pytest.fixture(scope="module")
def reports():
    """Have all checked in one go, which starts one process; and an attack on a model trained for it."""
    surrogate = made("fgsm", surrogate={"name": "lenet", "epochs": 1})
    surrogate.name = "a surrogate"
    return {report.name: report for report in check_faultloads([*map(made, NAMES), surrogate])}


@pytest.mark.parametrize("name", [*NAMES, "a surrogate"])
def test_a_fault_keeps_every_rule(reports, name):
    report = reports[name]
    assert report.passed, str(report)
    assert report["is-the-same-in-a-new-process"].outcome == "passed"
    brought = "it brings images from elsewhere"
    lags = "it shows earlier instants" if name in LAG else "24 of 24 images change"
    expected = brought if name in BRING else lags
    assert report["changes-something"].detail == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_what_it_is_said_to_be(reports, name):
    ready, report = SQUARE.prepare(name), reports[name]
    fault, targets = ready
    assert [kind for kind, names in KINDS.items() if name in names] == [fault.category]
    highest = 0 if name in NO_SEVERITY else 3 if name in THREE_SEVERITIES else 5
    assert tuple(fault.severities) == tuple(range(1, highest + 1))
    assert fault.uses_classifier == (name in KINDS["adversarial"])
    assert fault.reads_other_instances == (name in SHOW_OTHERS)
    assert fault.origin or name == "novelty"
    assert bool(fault.not_monotone) == (name in NOT_MONOTONE)
    measured = {"linf", "l2", "success"} if name in KINDS["adversarial"] else {"linf", "l2"}
    assert set(ready.apply(ROWS).measured) == (set() if name in BRING else measured)
    split = SQUARE.elsewhere.test if name == "novelty" else SQUARE.workload.test
    if name not in TRAINED:
        assert targets.split is split
    assert targets.workload == (name if name in TRAINED else "elsewhere" if name == "novelty" else "here")
    assert targets.indices.tolist() == list(range(48))
    answers = np.full(48, NO_ANSWER) if name in KINDS["novelty"] else split.labels
    assert targets.labels.tolist() == answers.tolist()
    refused = "it refuses grey and high grey images" if name in NEED_COLOURS else ""
    assert report["takes-any-shape"].detail == refused


@pytest.mark.parametrize("name", sorted(set(NAMES) - SHOW_OTHERS))
def test_chance_hangs_on_the_seed_and_on_the_id(reports, name):
    detail = reports[name]["the-seed-matters-where-it-draws"].detail
    n = OUTCOMES.get(name, MAY_MEET.get(name, 24))
    drawn = f"of 24 that look alike {n} come out different"
    if name == "pgd":  # its steps go further than its ball is wide: wherever two begin, they may end alike
        assert "alike" in detail
    else:
        assert detail == ("what looks alike comes out alike" if name in WITHOUT_CHANCE else drawn)
    first, second = (SQUARE.prepare(name, seed=seed).apply(ROWS).images for seed in (0, 99))
    differ = (first != second).any(axis=(1, 2, 3))
    assert not differ.any() if name in WITHOUT_CHANCE else differ.mean() > 0.3


def test_the_lists_of_this_file_name_registered_faults_alone():
    assert sorted(name for names in KINDS.values() for name in names) == NAMES
    lists = (WITHOUT_CHANCE, NEED_COLOURS, SHOW_OTHERS, THREE_SEVERITIES, OUTCOMES, MAY_MEET, NOT_MONOTONE)
    assert set().union(*lists) <= set(NAMES)


SIZES = st.sampled_from([1, 2, 3, 7, 20, 29, 40])


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([1, 3]), SIZES, SIZES)
def test_any_image_of_any_size_stays_an_image(seed, channels, high, wide):
    """Noise, black, white; as small as a pixel. Refused are grey images alone, by what needs colours."""
    rng, shape = np.random.default_rng(seed), (channels, high, wide)
    kinds = [
        rng.random(shape),
        np.zeros(shape),
        np.ones(shape),
        rng.random((channels, 1, 1)) + np.zeros(shape),
    ]
    world = World(images=np.stack(kinds * 4).astype(np.float32))
    wrong = []
    for name in sorted(set(NAMES) - TRAINED):
        ready, rows = world.prepare(name), np.arange(4)
        level = rng.uniform(0.1, ready.highest) if ready.fault.severities else None
        try:
            images = ready.apply(rows, level).images
        except DataError as error:
            if channels == 3 or name not in NEED_COLOURS:
                wrong.append(f"{name} refuses: {error}")
            continue
        if channels == 1 and name in NEED_COLOURS:
            wrong.append(f"{name} takes grey images")
        if images.shape != (4, *shape) or not ((images >= 0) & (images <= 1)).all():
            wrong.append(f"{name} makes no image")
    assert wrong == []
