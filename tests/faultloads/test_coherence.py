"""How long a draw lasts, by pixels: every registered fault upon one picture that comes again and again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import DrawKeys
from farm.run.faults import Fault
from farm.run.rows import Rows
from farm.run.sources import Sources
from farm.testing.fault_trial import FEW, STEP
from farm.testing.fault_world import pictures
from tests.faultloads.worlds import NAMES, World, made

WORLD = World(images=np.concatenate([np.repeat(pictures(1, seed=5), 48, axis=0), pictures(48)]))
"""Its test images are one and the same picture: only what a fault draws tells its instances apart."""
ONE_CLASS = np.array([0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41])
"""Instances of one label, to which attacks do the same."""
TAKES = {"compose": {"faults": ["fog", {"name": "pixel-trap", "severity": 1}]}}
READY = {name: WORLD.prepare(name, **TAKES.get(name, {})) for name in NAMES}
CHANGES_PIXELS = [
    name
    for name, ready in READY.items()
    if ready.targets.split is WORLD.workload.test and not ready.fault.reads_other_instances
]
DRIFT = 16
NEW_IN_EVERY_FRAME = {
    *("bit-flips", "gaussian-noise", "impulse-noise", "robustness-noise", "shot-noise", "speckle-noise"),
    *("uniform-blend", "night", "overexposure", "deepfool", "fgsm", "pgd", "square-attack"),
}
FOR_A_TRACK = {
    *("colour-swap", "mixed-halves", "novelty", "pure-noise", "shuffled-pixels", "swirl", "textures"),
    *("gan-lee", "gan-sricharan"),
}
FEW_OUTCOMES = {"colour-swap", "dropped-channel"}
"""Faults that draw one of so few that two draws meet."""
FINE = {"frost", "glass-blur", "rain", "robustness-rain", "robustness-snow", "shuffled-pixels"}
"""Faults with details so fine that a small step moves them by more than their width."""


def rows(n, coming=0):
    """Return so many instances in a row, two of each object, during these comings of the fault."""
    place, ones = np.arange(n), np.ones(n, dtype=np.int64)
    plain = Rows.plain(ones, np.zeros_like(ones), ONE_CLASS[place % 12])
    return replace(plain, whole=None, coming=(coming * ones)[:, None], object=place // 2)


def severity_of(name):
    ready = READY[name]
    return min(3, ready.highest) if ready.fault.severities else None


def applied(name, coherence, rows):
    """Apply a fault to instances as a stream with time does."""
    ready = READY[name]
    fault = Fault(ready.fault, ready.targets, severity_of(name), coherence=coherence, drift=DRIFT)
    return Sources(WORLD.workload, [fault], timed=True).batch(rows).images


def plain(name, rows, keys=None):
    """Apply it to the same instances as nobody but a test does."""
    n, ready = len(rows), READY[name]
    severity = np.full(n, severity_of(name) or np.nan)
    split = WORLD.workload.test
    images, ids = split.images.read(rows.index), split.ids[rows.index]
    return ready.fault.apply(images, ready.targets.labels[rows.index], ids, severity, keys).images


def check_same(name, found, expected):
    if READY[name].fault.uses_classifier:  # gradients are sums, whose last bits the processor decides
        assert (np.abs(found - expected) > STEP).mean() <= FEW
    else:
        np.testing.assert_array_equal(found, expected)


def check_draws(name, coherence, rows, size):
    """Check that each run of so many instances has one draw, and that runs have different ones."""
    images = applied(name, coherence, rows)
    runs = images.reshape(-1, size, *images.shape[1:])
    check_same(name, runs, np.repeat(runs[:, :1], size, axis=1))
    if draws(name):
        n = len({run.tobytes() for run in runs[:, 0]})
        assert 1 < n <= len(runs) if name in FEW_OUTCOMES else n == len(runs)
    else:
        check_same(name, runs, np.broadcast_to(runs[:1, :1], runs.shape))


def draws(name):
    """Say whether it makes different images of one picture."""
    first, *others = plain(name, rows(8))
    if READY[name].fault.uses_classifier:
        return any((np.abs(other - first) > STEP).mean() > FEW for other in others)
    return any(not np.array_equal(other, first) for other in others)


@pytest.mark.parametrize("name", CHANGES_PIXELS)
def test_a_draw_lasts_as_long_as_it_is_told_to(name):
    alone = rows(12)
    check_same(name, applied(name, "instance", alone), plain(name, alone))
    check_draws(name, "track", alone, 2)
    check_draws(name, "episode", rows(12, np.arange(12) // 3), 3)


@pytest.mark.parametrize("name", CHANGES_PIXELS)
def test_a_drifting_draw_moves_slowly_from_one_to_the_next(name):
    course = rows(6 * DRIFT + 1)
    images = applied(name, "drifting", course)
    some = course.at(np.array([0, 5, 15, 16, 40, 96]))
    now, later = (np.array([f"time 0:{step + more}" for step in (0, 0, 0, 1, 2, 6)]) for more in (0, 1))
    way = np.array([0, 5 / 16, 15 / 16, 0, 0.5, 0])
    check_same(name, applied(name, "drifting", some), images[some.position])
    check_same(name, plain(name, some, DrawKeys(now, later, way)), images[some.position])
    staying = some.at(np.flatnonzero(way == 0))
    check_same(name, plain(name, staying, DrawKeys(now[way == 0])), images[staying.position])
    near, far = (np.abs(images[step:] - images[:-step]).mean() for step in (1, DRIFT))
    if draws(name):
        assert near < (1.0 if name in FINE else 0.4) * far


def test_how_long_draws_last_where_nobody_says_it():
    lasting = {name: made(name).coherence for name in NAMES}
    assert {name for name, told in lasting.items() if told == "instance"} == NEW_IN_EVERY_FRAME
    assert {name for name, told in lasting.items() if told == "track"} == FOR_A_TRACK
    assert set(lasting.values()) == {"instance", "track", "episode"}


def test_without_time_every_instance_has_a_draw_of_its_own_unless_a_track_is_asked_for():
    ready, split = READY["fog"], WORLD.workload.test
    seen = {}
    for asked in (None, "track"):
        fault = Fault(ready.fault, ready.targets, 3, coherence=asked)
        seen[asked] = Sources(WORLD.workload, [fault]).batch(rows(12)).images
    np.testing.assert_array_equal(seen[None], plain("fog", rows(12)))
    tracks = split.groups[ONE_CLASS]
    assert len({image.tobytes() for image in seen["track"]}) == len(set(tracks))
    for track in set(tracks):
        assert len({image.tobytes() for image in seen["track"][tracks == track]}) == 1


def test_noise_in_a_composition_is_new_in_every_frame_and_the_rest_of_it_stays():
    ready = WORLD.prepare("compose", faults=["gaussian-noise", {"name": "dead-columns", "value": 0.0}])
    fault = Fault(ready.fault, ready.targets, 3)
    images = Sources(WORLD.workload, [fault], timed=True).batch(rows(12, np.arange(12) // 6)).images
    assert len({image.tobytes() for image in images}) == 12
    dead = [tuple(column) for column in (images == 0).all(axis=(1, 2)).tolist()]
    assert [len(set(dead[:6])), len(set(dead[6:])), len(set(dead))] == [1, 1, 2]
    assert any(dead[0])
