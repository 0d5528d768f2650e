"""The probability of every class in readouts: whatever classes are called, and only where it is wanted."""

from __future__ import annotations

import numpy as np
import pytest

from farm.errors import DataError
from farm.store.class_probabilities import (
    class_probabilities,
    is_probability,
    probability_frame,
)
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import refused

STRANGE = ("a.b", "a", "", "probability a", "condition x", "time_us", 'Tür "7"\n`', "标志")


def kept(classes=STRANGE, n=5):
    """Readouts of somebody's sum-to-one numbers."""
    values = np.random.default_rng(0).dirichlet(np.ones(len(classes)), n).astype(np.float32)
    columns = probability_frame(values, classes)
    made = make_readouts({"odin": [False] * n}, run={"classes": list(classes)}, **columns)
    return made, values


def test_classes_may_be_called_as_they_like(tmp_path):
    made, values = kept()
    read = Readouts.load(made.save(tmp_path / "run"))
    assert np.array_equal(read.probabilities, values)
    assert read.probabilities.dtype == np.float32
    assert read.probabilities.flags.c_contiguous
    assert [name for name in read.instances if is_probability(name)] == [f"probability {n}" for n in STRANGE]


def test_what_judges_reads_them_only_where_it_wants_them(tmp_path):
    made, values = kept()
    folder = made.save(tmp_path / "run")
    lean = Readouts.load(folder, to_judge=True)
    assert list(lean.instances) == [name for name in made.instances if not is_probability(name)]
    assert lean.instances.equals(made.instances[list(lean.instances)])
    with refused(DataError):
        _ = lean.probabilities
    assert np.array_equal(Readouts.load(folder, to_judge=True, probabilities=True).probabilities, values)


def test_their_order_is_that_of_the_classes_and_not_of_the_columns():
    made, values = kept(("a", "b", "c"))
    turned = made.instances[list(made.instances)[::-1]]
    assert np.array_equal(class_probabilities(turned, ["c", "a", "b"]), values[:, [2, 0, 1]])


@pytest.mark.parametrize("classes", [("a", "b", "more"), ()])
def test_those_that_are_not_there_are_told(classes):
    made, _ = kept(("a", "b"))
    with refused(DataError):
        class_probabilities(made.instances, classes)


def test_an_instance_without_any_is_told():
    made, _ = kept(("a", "b"))
    made.instances.loc[[1, 3], "probability b"] = np.nan
    with refused(DataError):
        class_probabilities(made.instances, ("a", "b"))
