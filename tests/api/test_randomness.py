"""Random choices depend on a seed and a name, and on nothing else."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from farm.api import DrawKeys, PerInstance, derived_seed, generator, uniform_by_id


def first(*names):
    return generator(*names).integers(2**60)


def test_the_same_seed_and_names_give_the_same_numbers():
    assert first(3, "stream", "id") == first(3, "stream", "id")


def test_another_seed_or_name_gives_other_numbers():
    several = [
        first(3, "stream", "id"),
        first(4, "stream", "id"),
        first(3, "stream", "ood"),
        first(3, "stream"),
    ]
    assert len(set(several)) == 4


def test_names_are_not_glued_together():
    assert first(0, "ab", "c") != first(0, "a", "bc")


def test_numpys_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - that nobody uses it is the point
    generator(0, "x").random(10)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_derived_seeds_are_31_bit_numbers_and_stay_what_they_are():
    # Pinned: what an earlier version made must be found again.
    assert derived_seed(0, "lenet", "weights") == 842418560
    assert all(0 <= derived_seed(seed, "x") < 2**31 for seed in range(200))


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=8),
    st.randoms(),
)
def test_a_number_by_id_does_not_depend_on_its_place_in_the_batch(ids, random):
    alone = {i: uniform_by_id(0, "noise", np.array([i]))[0] for i in ids}
    mixed = random.sample(ids, len(ids))
    drawn = uniform_by_id(0, "noise", np.array(mixed, dtype=object))
    assert drawn.tolist() == [alone[i] for i in mixed]
    assert ((drawn >= 0) & (drawn < 1)).all()


def test_numbers_by_id_look_uniform():
    drawn = uniform_by_id(7, "noise", np.arange(4000).astype(str))
    assert abs(drawn.mean() - 0.5) < 0.02
    assert abs(drawn.std() - 12**-0.5) < 0.01


# Numbers by keys, which may drift -----------------------------------------------------------------------


def drifting(ways, now="now", later="later"):
    """Return keys on their ways from one draw to another."""
    n = len(ways)
    return DrawKeys(np.full(n, now), np.full(n, later), np.array(ways, dtype=float))


def numbers(keys):
    """Return draws of each kind, one after another, by their names."""
    random = PerInstance(3, "fault", keys)
    return {
        "normal": random.normal(3, 4),
        "uniform": random.uniform(5, low=-1.0, high=2.0),
        "integers": random.integers(2, 9, 6),
        "bits": random.bits(7),
        "last": random.normal(2),
    }


def test_bits_are_a_generators_whose_whole_state_is_a_digest_of_seed_name_key_and_draw():
    random = PerInstance(7, "noise", np.array(["a", "b"]))
    for call, count in enumerate((6, 2, 9)):
        drawn = random.bits(count)
        for row, key in enumerate("ab"):
            text = f"7\x1fnoise\x1f{key}\x1f{call}".encode()
            source = np.random.SFC64()
            state = np.frombuffer(hashlib.blake2b(text, digest_size=32).digest(), np.uint64)
            source.state = source.state | {"state": {"state": state}}
            assert drawn[row].tolist() == source.random_raw(3).view(np.uint16)[:count].tolist()


def test_threads_do_not_disturb_each_others_draws():
    def drawn(key):
        return PerInstance(0, "noise", np.full(50, key)).bits(400)

    alone = [drawn(key) for key in "abcd"]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(drawn, "abcd" * 10))
    for i, bits in enumerate(together):
        assert np.array_equal(bits, alone[i % 4])


def test_instances_of_one_key_draw_the_same_and_others_do_not():
    for name, drawn in numbers(DrawKeys(np.array(["a", "b", "a"]))).items():
        assert np.array_equal(drawn[0], drawn[2]), name
        assert not np.array_equal(drawn[0], drawn[1]), name


def test_a_key_is_what_its_text_says_whether_it_is_one_of_draws_or_an_id():
    for name, drawn in numbers(np.array(["a", "b"])).items():
        assert np.array_equal(drawn, numbers(DrawKeys(np.array(["a", "b"])))[name]), name


def test_a_drift_begins_at_one_draw_and_ends_at_the_other():
    at_ends = numbers(drifting([0.0, 1.0]))
    for name, drawn in numbers(DrawKeys(np.array(["now", "later"]))).items():
        assert np.array_equal(at_ends[name], drawn), name


@pytest.mark.parametrize("way", [0.0, 0.1, 0.37, 0.5, 0.75, 0.99])
def test_numbers_on_their_way_are_spread_as_those_that_stay(way):
    """By 200,000 numbers: within four standard deviations of what independent ones have."""
    n = 200_000
    random = PerInstance(0, "fault", drifting([way]))
    normal, uniform = random.normal(n)[0].astype(float), random.uniform(n)[0].astype(float)
    assert abs(normal.mean()) < 4 / n**0.5
    assert abs(normal.var() - 1) < 4 * (2 / n) ** 0.5
    assert kstest(normal[:20_000], "norm").pvalue > 1e-3
    assert kstest(uniform[:20_000], "uniform").pvalue > 1e-3
    whole = random.integers(1, 6, n)[0]
    assert np.abs(np.bincount(whole, minlength=7)[1:] / n - 1 / 6).max() < 4 * (5 / 36 / n) ** 0.5


def test_the_nearer_two_instants_are_the_more_alike_are_their_numbers():
    ways = [0.0, 0.25, 0.5, 0.75]
    drawn = PerInstance(0, "fault", drifting(ways)).normal(50_000)
    # Of mixtures (1 - w) x + w y, each divided by its spread.
    spread = [np.hypot(1 - way, way) for way in ways]
    for at, way in enumerate(ways):
        assert np.corrcoef(drawn[0], drawn[at])[0, 1] == pytest.approx((1 - way) / spread[at], abs=0.02)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 0.999)), min_size=1, max_size=6), st.randoms())
def test_what_drifts_is_the_same_in_any_batch(instances, random):
    def keys(chosen):
        now, ways = zip(*chosen, strict=True)
        return DrawKeys(np.array(now), np.array([f"{key}+" for key in now]), np.array(ways))

    alone = {one: numbers(keys([one])) for one in instances}
    mixed = random.sample(instances, len(instances))
    together = keys(mixed)
    for name, drawn in numbers(together).items():
        assert drawn.tolist() == [alone[one][name][0].tolist() for one in mixed], name
        part = numbers(together[: len(mixed) // 2 + 1])[name]
        assert np.array_equal(part, drawn[: len(mixed) // 2 + 1]), name
    assert len(together[np.arange(len(mixed)) > 0]) == len(mixed) - 1
