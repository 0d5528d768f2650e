"""Random numbers without a global state.

Every random choice takes a generator that is derived from the experiment's seed and from the name (or
the instance's id) of what it drives. So no choice depends on how many others came before it.
"""

from __future__ import annotations

import hashlib

import numpy as np

from farm.api.arrays import FloatArray, StrArray


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Make the generator that belongs to these names.

    Examples
    --------
    >>> a, b = generator(0, "stream", "order"), generator(0, "stream", "order")
    >>> int(a.integers(1000)) == int(b.integers(1000))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(_digest(seed, *names)))


def derived_seed(seed: int, *names: str | int) -> int:
    """Make a 31-bit seed for a library that takes a whole number and no generator."""
    return _digest(seed, *names) % 2**31


def uniform_by_id(seed: int, name: str, ids: StrArray) -> FloatArray:
    """Draw one number in [0, 1) an instance, which depends on its id alone."""
    return np.array([(_digest(seed, name, str(i)) >> 64) / 2**64 for i in ids], dtype=np.float64)


def _digest(seed: int, *names: str | int) -> int:
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
