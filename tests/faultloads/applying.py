"""What tests of pixel-changing faults share: images, and a fault applied to them as a stream applies it."""

from __future__ import annotations

import numpy as np

from farm.testing.fault_world import pictures as pictures


def names(n, start=0):
    return np.array([f"picture-{i}" for i in range(start, start + n)])


def apply(fault, images, severity, ids=None):
    fault.name = type(fault).__name__
    ids = names(len(images)) if ids is None else ids
    n = len(images)
    return fault.apply(images, np.zeros(n, dtype=np.int64), ids, np.full(n, float(severity))).images


def change(fault, images, severity):
    """Return the mean absolute change of each image."""
    return np.abs(apply(fault, images, severity) - images).mean(axis=(1, 2, 3))


def check_contract(fault, grey=True):
    """Check type, range, determinism and independence from the batch, in colour, grey and out of square."""
    for channels in (1, 3) if grey else (3,):
        images = pictures(9, channels)[:, :, :, :27]
        before = images.copy()
        for severity in (0.3, 1, 2.5, 3.4, 5):
            together = apply(fault, images, severity)
            assert together.dtype == np.float32
            assert together.shape == images.shape
            assert together.min() >= 0
            assert together.max() <= 1
            assert np.array_equal(together, apply(fault, images, severity))
            for start, stop in ((0, 1), (1, 8), (8, 9)):
                part = apply(fault, images[start:stop], severity, names(stop - start, start))
                assert np.array_equal(part, together[start:stop])
        assert np.array_equal(images, before)
        assert np.array_equal(apply(fault, images, 0), images)


def check_grows(fault, images, severities=(0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)):
    """Check that a higher severity, also between whole ones, changes images more on average."""
    means = [change(fault, images, severity).mean() for severity in severities]
    assert means == sorted(means), means
    assert means[0] > 0
