"""The scanned digits: real pixels, fair shares, no scan twice."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from farm.api import Context, check_workload
from farm.errors import ParameterError
from farm.workloads.digits import Digits
from tests.wording import refused


@pytest.fixture(scope="module")
def scans():
    from sklearn.datasets import load_digits

    return load_digits()


@pytest.fixture(scope="module")
def digits():
    return Digits(size=8, channels=1).load(Context(seed=3))


def place(ids):
    return np.array([int(i.removeprefix("digits/")) for i in ids.tolist()])


def test_every_scan_is_in_exactly_one_split(digits, scans):
    places = np.concatenate([place(split.ids) for split in digits.splits])
    assert sorted(places) == list(range(len(scans.target)))


def test_keeps_the_rules_of_every_workload(digits):
    check_workload(digits)
    assert digits.classes == tuple(f"digit-{i}" for i in range(10))


def test_no_two_scans_are_identical_so_each_is_its_own_group(digits):
    digests = [digest for split in digits.splits for digest in split.digests]
    assert len(set(digests)) == len(digests) == 1797
    for split in digits.splits:
        assert np.array_equal(split.groups, split.ids)


def test_each_class_is_shared_out_60_20_20(digits, scans):
    totals = np.bincount(scans.target)
    for split, share in zip(digits.splits, (0.6, 0.2, 0.2), strict=True):
        assert np.abs(np.bincount(split.labels) - share * totals).max() <= 1


def test_at_its_own_size_the_pixels_and_labels_are_the_scans(digits, scans):
    for split in digits.splits:
        images = split.images.read(np.arange(len(split)))
        assert images.shape[1:] == (1, 8, 8)
        originals = scans.images[place(split.ids)]
        assert np.array_equal(np.rint(images[:, 0] * 16), originals)
        assert np.array_equal(split.labels, scans.target[place(split.ids)])


def test_the_full_range_is_used(digits):
    images = digits.train.images.read(np.arange(50))
    assert images.min() == 0.0
    assert images.max() == 1.0


def test_by_default_a_colour_classifier_of_32_pixels_can_read_them(digits):
    enlarged = Digits().load(Context(seed=3))
    assert enlarged.shape == (3, 32, 32)
    assert np.array_equal(enlarged.test.ids, digits.test.ids)
    large = enlarged.test.images.read(np.arange(20))
    assert np.array_equal(large[:, 0], large[:, 1])
    assert np.array_equal(large[:, 0], large[:, 2])
    # Averaged back over 4 x 4 pixels, an enlargement resembles what it was made from.
    small = large[:, 0].reshape(20, 8, 4, 8, 4).mean(axis=(2, 4))
    original = digits.test.images.read(np.arange(20))[:, 0]
    assert np.corrcoef(small.ravel(), original.ravel())[0, 1] > 0.97


def test_the_seed_decides_who_is_where(digits):
    again = Digits(size=8, channels=1).load(Context(seed=3))
    other = Digits(size=8, channels=1).load(Context(seed=4))
    assert again.content_hash == digits.content_hash
    assert set(other.test.ids) != set(digits.test.ids)


@pytest.mark.parametrize("value", [7, 0, 8.5, "32", True])
def test_a_bad_size_is_named(value):
    with refused(ParameterError):
        Digits(size=value)


@pytest.mark.parametrize("value", [0, 2, 4, 3.0, "3", True])
def test_a_bad_number_of_channels_is_named(value):
    with refused(ParameterError):
        Digits(channels=value)


def test_importing_the_module_does_not_import_scikit_learn():
    code = "import sys, farm.workloads.digits; print('sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
