"""Rules that every registered faultload keeps; the list is the registry's own.

A test goes through all rules for one fault, and tells every rule that it breaks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.api import CATEGORIES, NO_ANSWER
from farm.errors import DataError, FarmError, ParameterError
from tests.faultloads.worlds import NAMES, World, made_anew
from tests.wording import ROOT

# What a fault is said to be here, and by itself: where the two differ, the test fails.
KINDS = {
    "adversarial": {"deepfool", "fgsm", "pgd", "square-attack"},
    "novelty": {
        *("colour-swap", "mixed-halves", "novelty", "pure-noise", "shuffled-pixels", "swirl", "textures"),
    },
    "anomaly": {
        *("bit-flips", "black-frame", "dead-columns", "dead-rows", "dropped-channel", "pixel-trap"),
        *("row-add-logic", "shifted-pixel", "stuck-frame", "torn-frame"),
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
        *("robustness-snow", "translation"),
    },
}
NO_SEVERITY = KINDS["adversarial"] | KINDS["novelty"] | {"black-frame", "dropped-channel", "stuck-frame"}
THREE_SEVERITIES = {"pixel-trap", "row-add-logic", "shifted-pixel"}
WITHOUT_CHANCE = {
    *("novelty", "fgsm", "deepfool", "swirl", "row-add-logic", "black-frame", "stuck-frame", "torn-frame"),
    *("defocus-blur", "gaussian-blur", "zoom-blur", "robustness-blur", "pixelate", "jpeg-compression"),
    *("brightness", "contrast", "saturate", "greyscale", "robustness-grey"),
}
"""Faults that make the same of the same pixels, whatever the seed and the id."""
NEED_COLOURS = {"colour-swap", "dropped-channel", "greyscale", "robustness-grey", "saturate"}
"""Faults that grey images are refused by, since they would stay as they are."""
SHOW_OTHERS = {"mixed-halves", "stuck-frame", "torn-frame"}
OUTCOMES = {"colour-swap": 2, "dropped-channel": 3}
"""Faults that draw one of so few that instances meet."""
MAY_MEET = {
    "motion-blur": "it moves by whole pixels, so that two angles which are close do the same",
    "pgd": "its steps go further than its ball is wide: from wherever two begin, both may end in one corner",
}
"""Faults whose outcome two instances may share though each draws for itself: why."""
GROWING = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
NOT_GROWING = {
    "spatter": ((1, 2, 3), "water brightens and mud darkens: levels 4 and 5 are another substance"),
    "glass-blur": ((1, 3, 5), "its published levels trade reach, repetitions and blur"),
    "frost": (
        (0.5, 1),
        "its published levels weigh picture against frost: the more of it, the less of the other",
    ),
    "snow": ((0.3, 0.6, 1, 5), "its published flakes get larger, then smaller"),
    "saturate": ((0.5, 1, 1.5, 2), "its first two published levels take colour away, the others add some"),
    "zoom-blur": ((0.5, 1, 3, 5), "its published steps need not make each level stronger than the last"),
    "jpeg-compression": ((0.5, 1, 3, 4, 5), "qualities of 18 and 15 differ too little"),
    "pixelate": ((1, 3, 5), "which pixels share a block changes"),
}
"""Faults that do not change more at each half severity: at which they do, and why."""

ROWS = np.arange(0, 48, 2)
SQUARE, WIDE, GREY = World(), World((3, 20, 29), n=10), World((1, 31, 24), n=10)


class Case:
    """A fault to be judged, prepared for square colour images."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = SQUARE.prepare(name)
        self.fault, self.targets = self.ready
        self.has_chance = name not in WITHOUT_CHANCE
        self.faulted = self.ready.apply(ROWS)

    def same(self, one: np.ndarray, other: np.ndarray) -> None:
        """Compare images whose batches differed."""
        if self.fault.uses_classifier:
            # Gradients are sums whose last bits depend on the batch, and a sign turns a bit into a step.
            assert (np.abs(one - other) > 1e-4).mean() < 0.02
        else:
            assert np.array_equal(one, other)


def says_what_it_is(case):
    assert [kind for kind, names in KINDS.items() if case.name in names] == [case.fault.category]
    assert case.fault.category in CATEGORIES
    highest = 0 if case.name in NO_SEVERITY else 3 if case.name in THREE_SEVERITIES else 5
    assert tuple(case.fault.severities) == tuple(range(1, highest + 1))
    assert case.fault.uses_classifier == (case.name in KINDS["adversarial"])
    assert case.fault.reads_other_instances == (case.name in SHOW_OTHERS)
    assert case.fault.__doc__
    assert case.fault.origin or case.name == "novelty"
    assert json.loads(json.dumps(case.fault.parameters)) == case.fault.parameters


def acts_on_the_whole_split(case):
    split = SQUARE.elsewhere.test if case.name == "novelty" else SQUARE.workload.test
    assert case.targets.split is split
    assert case.targets.workload == ("elsewhere" if case.name == "novelty" else "here")
    assert case.targets.indices.tolist() == list(range(48))
    answers = np.full(48, NO_ANSWER) if case.name in KINDS["novelty"] else split.labels
    assert case.targets.labels.tolist() == answers.tolist()
    assert case.targets.category.tolist() == [case.fault.category] * 48
    json.dumps(dict(case.targets.notes))


def images_stay_images(case):
    before, images = case.ready.images(ROWS), case.faulted.images
    assert (images.dtype, images.shape) == (np.float32, before.shape)
    assert images.min() >= 0
    assert images.max() <= 1
    assert case.faulted.labels.tolist() == case.targets.labels[ROWS].tolist()
    moved = np.abs(images - before).mean(axis=(1, 2, 3))
    # The fault of novelty is where images come from.
    assert (moved == 0).all() if case.name == "novelty" else (moved > 1e-4).all()


def measures_what_changed(case):
    change = case.faulted.images.astype(float) - case.ready.images(ROWS).astype(float)
    if case.name == "novelty":
        assert case.faulted.measured == {}
        return
    linf, l2 = (case.faulted.measured[name] for name in ("linf", "l2"))
    assert np.allclose(linf, np.abs(change).max(axis=(1, 2, 3)), rtol=1e-5)
    assert np.allclose(l2, np.sqrt((change**2).sum(axis=(1, 2, 3))), rtol=1e-5)
    assert ("success" in case.faulted.measured) == (case.name in KINDS["adversarial"])


def leaves_what_it_is_given(case):
    images, labels = case.ready.images(ROWS), case.targets.labels[ROWS]
    ids = case.targets.split.ids[case.targets.indices[ROWS]]
    kept = images.copy(), labels.copy(), ids.copy()
    case.ready.apply(ROWS, images=images, labels=labels, ids=ids)
    for now, before in zip((images, labels, ids), kept, strict=True):
        assert np.array_equal(now, before)


def is_the_same_again(case):
    assert np.array_equal(case.ready.apply(ROWS).images, case.faulted.images)
    assert np.array_equal(SQUARE.prepare(case.name).apply(ROWS).images, case.faulted.images)


def is_the_same_in_every_batch(case):
    for size in (1, 7):
        parts = [case.ready.apply(ROWS[i : i + size]).images for i in range(0, len(ROWS), size)]
        case.same(np.concatenate(parts), case.faulted.images)
    case.same(case.ready.apply(ROWS[::-1]).images[::-1], case.faulted.images)


def chance_hangs_on_the_seed(case):
    other = SQUARE.prepare(case.name, seed=99).apply(ROWS).images
    differ = (other != case.faulted.images).any(axis=(1, 2, 3))
    assert differ.mean() > 0.3 if case.has_chance else not differ.any()


def chance_hangs_on_the_id(case):
    if case.fault.reads_other_instances:
        return  # what it shows hangs on the id as well
    images = np.repeat(case.ready.images(ROWS[:1]), len(ROWS), axis=0)
    labels = np.repeat(case.targets.labels[ROWS[:1]], len(ROWS))
    found = case.ready.apply(ROWS, images=images, labels=labels).images
    different = len({image.tobytes() for image in found})
    if case.name in MAY_MEET:
        assert different > len(ROWS) / 4
    elif case.has_chance:
        assert different == OUTCOMES.get(case.name, len(ROWS))
    else:
        case.same(found, np.repeat(found[:1], len(ROWS), axis=0))


def severities_are_checked(case):
    wrong = (0, 1) if case.name in NO_SEVERITY else (-0.1, case.ready.highest + 0.1, float("nan"), None)
    for severity in wrong:
        with pytest.raises(ParameterError):
            case.fault.check_severity(severity)
    if case.name in NO_SEVERITY:
        assert np.isnan(case.fault.check_severity(None))
    else:
        assert [case.fault.check_severity(level) for level in (0, 1.5)] == [0, 1.5]


def severities_may_differ_within_a_batch(case):
    if case.name in NO_SEVERITY:
        return
    levels = np.array([0, 1, case.ready.highest, 0.5, 1])
    mixed = case.ready.apply(ROWS[:5], levels).images
    for i, level in enumerate(levels):
        assert np.array_equal(mixed[i], case.ready.apply(ROWS[i : i + 1], level).images[0]), level
    assert np.array_equal(mixed[0], case.ready.images(ROWS[:1])[0])


def a_higher_severity_changes_more(case):
    if case.name in NO_SEVERITY:
        return
    levels = NOT_GROWING[case.name][0] if case.name in NOT_GROWING else GROWING
    rows, levels = np.arange(32), [level for level in levels if level <= case.ready.highest]
    clean = case.ready.images(rows)
    means = [np.abs(case.ready.apply(rows, level).images - clean).mean() for level in levels]
    assert 0 < means[0] < means[-1], means
    assert means == sorted(means), means


def shapes_and_channels_are_any(case):
    for world in (WIDE, GREY):
        if case.name in NEED_COLOURS and world is GREY:
            with pytest.raises(DataError):
                world.prepare(case.name).apply(np.arange(2))
            continue
        ready, rows = world.prepare(case.name), np.arange(10)
        for severity in [None] if case.name in NO_SEVERITY else [0.3, 1, 2.5]:
            whole = ready.apply(rows, severity).images
            assert (whole.dtype, whole.shape) == (np.float32, (10, *world.workload.shape))
            parts = [
                ready.apply(rows[part], severity).images for part in (slice(1), slice(1, 8), slice(8, 10))
            ]
            case.same(np.concatenate(parts), whole)


RULES = (
    says_what_it_is,
    acts_on_the_whole_split,
    images_stay_images,
    measures_what_changed,
    leaves_what_it_is_given,
    is_the_same_again,
    is_the_same_in_every_batch,
    chance_hangs_on_the_seed,
    chance_hangs_on_the_id,
    severities_are_checked,
    severities_may_differ_within_a_batch,
    a_higher_severity_changes_more,
    shapes_and_channels_are_any,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_keeps_every_rule(name):
    case, broken = Case(name), []
    for rule in RULES:
        try:
            rule(case)
        except (AssertionError, FarmError, pytest.fail.Exception) as error:
            broken.append(f"{rule.__name__}: {str(error) or 'it does not hold'}")
    assert not broken, "\n\n".join(broken)


def test_the_lists_of_this_file_name_registered_faults_alone():
    assert sorted(name for names in KINDS.values() for name in names) == NAMES
    lists = (WITHOUT_CHANCE, NEED_COLOURS, SHOW_OTHERS, THREE_SEVERITIES, OUTCOMES, MAY_MEET, NOT_GROWING)
    assert set().union(*lists) <= set(NAMES)


def test_every_fault_made_in_another_process_is_the_same_bit_for_bit(tmp_path):
    path = tmp_path / "made.npz"
    command = [sys.executable, "-m", "tests.faultloads.worlds", str(path)]
    environment = os.environ | {"PYTHONHASHSEED": "7", "FARM_CACHE": str(tmp_path / "nothing")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    here = made_anew()
    with np.load(path) as there:
        assert set(there) == set(here) == {*NAMES, "a surrogate"}
        assert [name for name in here if there[name].tobytes() != here[name].tobytes()] == []
    assert not (tmp_path / "nothing").exists()


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
    for name in NAMES:
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
