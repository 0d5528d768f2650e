"""Random choices depend on a seed and a name, and on nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farm.api import derived_seed, generator, uniform_by_id


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
