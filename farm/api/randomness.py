"""Random numbers without a global state.

Every random choice takes a generator that is derived from the experiment's seed and from the name (or
the instance's id) of what it drives. So no choice depends on how many others came before it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray, StrArray


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


@dataclass(frozen=True)
class DrawKeys:
    """What the random numbers of each instance are keyed by: instances of one key draw the same.

    Where a draw drifts, it is on its `way` (0 to 1) from what `now` draws to what `later` does.
    """

    now: StrArray
    later: StrArray | None = None
    way: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.now)

    def __getitem__(self, rows: IntArray | BoolArray | slice) -> DrawKeys:
        """Return the keys of some instances."""
        if self.later is None or self.way is None:
            return DrawKeys(self.now[rows])
        return DrawKeys(self.now[rows], self.later[rows], self.way[rows])


class PerInstance:
    """Random numbers for a batch, row i of each answer from the i-th instance's key alone.

    As a rule that is its id. So what an instance gets does not depend on which others are in its batch. Each
    call draws anew.

    Examples
    --------
    >>> together = PerInstance(0, "noise", np.array(["a", "b"])).normal(3)
    >>> alone = PerInstance(0, "noise", np.array(["b"])).normal(3)
    >>> bool((together[1] == alone[0]).all())
    True
    """

    def __init__(self, seed: int, name: str, keys: StrArray | DrawKeys) -> None:
        keys = keys if isinstance(keys, DrawKeys) else DrawKeys(keys)
        self._now = _encoded(seed, name, keys.now)
        self._later = None if keys.later is None else _encoded(seed, name, keys.later)
        self._way = None if keys.way is None else keys.way.astype(np.float32)
        self._calls = 0

    def __len__(self) -> int:
        return len(self._now)

    def bits(self, *shape: int) -> NDArray[np.uint16]:
        """Draw 16 random bits for each place of the shape."""
        if self._later is None:
            return self._drawn(self._now, *shape)
        places = np.searchsorted(_normal_quantiles(), self.normal(*shape))
        return np.minimum(places, 2**16 - 1).astype(np.uint16)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> NDArray[np.float32]:
        """Draw from [low, high), in 65,536 steps."""
        unit = (self.bits(*shape).astype(np.float32) + np.float32(0.5)) / np.float32(2**16)
        return np.float32(low) + unit * np.float32(high - low)

    def normal(self, *shape: int) -> NDArray[np.float32]:
        """Draw from the standard normal distribution, by its quantiles at 65,536 steps.

        A table is several times as fast as exact sampling and the same on every machine; it ends at 4.2
        standard deviations, and no step is wider than a grey level of 8 bits makes visible.
        """
        calls = self._calls
        now = _normal(self._drawn(self._now, *shape))
        if self._later is None or self._way is None:
            return now
        # What is drifted to is what stands there afterwards: the same draw of another key.
        self._calls = calls
        later = _normal(self._drawn(self._later, *shape))
        way = self._way.reshape(-1, *(1 for _ in shape))
        # Any mixture is normal, too; divided by its spread it is standard normal at each instant.
        mixed: NDArray[np.float32] = (1 - way) * now + way * later
        mixed /= np.sqrt((1 - way) ** 2 + way**2)
        return mixed

    def _drawn(self, keys: Sequence[bytes], *shape: int) -> NDArray[np.uint16]:
        count = int(np.prod(shape))
        words = -(-count // 4)
        drawn = np.empty((len(self), words), dtype=np.uint64)
        source, state = _OWN.source, _OWN.state
        call = str(self._calls).encode()
        # 256 bits of a digest fill the generator's whole state: no seeding is faster.
        digests = [hashlib.blake2b(key + call, digest_size=32).digest() for key in keys]
        for row, digest in enumerate(np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, 4)):
            state["state"]["state"] = digest
            source.state = state
            drawn[row] = source.random_raw(words)
        self._calls += 1
        return drawn.view(np.uint16)[:, :count].reshape(len(self), *shape)

    def integers(self, low: int, high: int, *shape: int) -> IntArray:
        """Draw whole numbers from low to high, both included."""
        spread = high - low + 1
        return low + (self.bits(*shape).astype(np.int64) * spread >> 16)


class _Own(threading.local):
    """A thread's own generator: to make one takes longer than to set its state for an instance."""

    def __init__(self) -> None:
        self.source = np.random.SFC64(0)
        self.state: Any = self.source.state


_OWN = _Own()


def _encoded(seed: int, name: str, keys: StrArray) -> list[bytes]:
    return [f"{seed}\x1f{name}\x1f{key}\x1f".encode() for key in keys.tolist()]


def _normal(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    # Every index is in range: `wrap` saves the check, which is half of the time.
    return np.take(_normal_quantiles(), bits, mode="wrap")


@cache
def _normal_quantiles() -> NDArray[np.float32]:
    # Only here: readouts are judged without it, and loading takes as long as judging some.
    from scipy.special import ndtri

    quantiles: NDArray[np.float32] = ndtri((np.arange(2**16) + 0.5) / 2**16).astype(np.float32)
    return quantiles


def _digest(seed: int, *names: str | int) -> int:
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
