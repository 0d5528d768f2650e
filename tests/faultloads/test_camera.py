"""What befalls a camera: strength by hand, patterns that stay, and instants that are shown again."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import HELD, DrawKeys
from farm.testing.fault_world import pictures
from faultloads.camera import DirtyLens, FadingSensor, Night, Overexposure
from faultloads.lagging import DelayedFrame, DroppedFrame, FrozenFrame
from tests.faultloads.applying import apply, change, check_contract, names

ALL = [Night(), Overexposure(), DirtyLens(), FadingSensor()]


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: type(fault).__name__)
def test_it_keeps_the_contract_and_grows_with_its_severity(fault):
    check_contract(fault)
    changes = [change(fault, pictures(30), severity).mean() for severity in (0.5, 1, 2, 3, 4, 5)]
    assert changes == sorted(changes)
    assert changes[0] > 0


@pytest.mark.parametrize(("severity", "light"), [(1, 0.6), (3, 0.28), (5, 0.1)])
def test_night_leaves_its_share_of_the_light_and_noise_by_its_formula(severity, light):
    grey = np.full((4, 1, 64, 64), 0.5, np.float32)
    dark = apply(Night(), grey, severity)
    always = {1: 0.01, 3: 0.02, 5: 0.05}[severity]
    spread = np.sqrt(0.005 * 0.5 * light + always**2)
    if light * 0.5 > 4 * spread:  # else some of it is cut at black
        assert dark.std() == pytest.approx(spread, rel=0.05)
    assert dark.mean() == pytest.approx(0.5 * light, abs=0.01)


def test_overexposure_multiplies_and_is_cut_at_white():
    grey = np.full((2, 1, 64, 64), 0.3, np.float32)
    assert apply(Overexposure(), grey, 3).mean() == pytest.approx(0.6, abs=0.002)
    assert apply(Overexposure(), grey, 3).std() == pytest.approx(0.02, rel=0.05)
    assert (apply(Overexposure(), grey, 5) > 0.99).mean() > 0.6


def test_noise_is_new_in_every_frame_and_dirt_stays():
    white = np.ones((3, 1, 32, 32), np.float32)
    labels, ids, severity = np.zeros(3, dtype=np.int64), names(3), np.full(3, 3.0)
    keys = DrawKeys(np.array(["one", "one", "other"]))
    for fault in (DirtyLens(), FadingSensor()):
        images = fault.apply(white, labels, ids, severity, keys).images
        assert np.array_equal(images[0], images[1])
        assert not np.array_equal(images[0], images[2])
        assert type(fault).coherence == "episode"
    assert Night.coherence == Overexposure.coherence == "instance"


def test_dirt_is_dark_in_its_middle_and_elsewhere_nothing_changes():
    white = np.ones((20, 1, 64, 64), np.float32)
    dirty = apply(DirtyLens(), white, 2)
    assert dirty.min() == pytest.approx(1 - 0.9 * 0.85, abs=0.15)
    assert (dirty == 1).mean() > 0.5


def test_a_fading_sensor_keeps_between_its_bounds():
    faded = apply(FadingSensor(), np.ones((20, 3, 40, 30), np.float32), 4)
    assert faded.min() >= 1 - 0.75
    assert faded.max() <= 1 - 0.375
    assert np.array_equal(faded[:, 0], faded[:, 1])


def test_how_far_a_camera_lags_is_worked_by_hand():
    delayed = [DelayedFrame().lag(level, 0.5) for level in (0, 1, 2, 2.5, 5)]
    assert delayed == [0, 1, 2, 3, 16]
    assert FrozenFrame().lag(np.nan, 0.5) == HELD
    assert [DroppedFrame().lag(3.0, chance) for chance in (0.34, 0.36)] == [HELD, 0]


@pytest.mark.parametrize(("severity", "share"), [(0, 0), (1, 0.1), (2.5, 0.275), (5, 0.7)])
def test_so_many_frames_are_dropped(severity, share):
    lags = [DroppedFrame().lag(severity, (place + 0.5) / 4000) for place in range(4000)]
    assert np.mean(np.array(lags) == HELD) == pytest.approx(share, abs=0.001)
