"""Errors name what is wrong, and say who can mend it by their exit code."""

from __future__ import annotations

import pytest

from farm import errors
from farm.errors import (
    ComponentFailure,
    DataError,
    ExperimentError,
    Failure,
    FarmError,
    ParameterError,
    RequirementError,
    StorageError,
    UnknownNameError,
    UserError,
    one_line,
    suggestion,
)
from tests.wording import same_text


@pytest.mark.parametrize(
    "kind", [ExperimentError, UnknownNameError, ParameterError, RequirementError, DataError]
)
def test_the_users_mistakes_exit_with_2(kind):
    assert issubclass(kind, UserError)
    assert kind("x").exit_code == 2


@pytest.mark.parametrize("kind", [ComponentFailure, StorageError])
def test_failures_while_running_exit_with_1(kind):
    assert issubclass(kind, Failure)
    assert not issubclass(kind, UserError)
    assert kind("x").exit_code == 1


def test_the_tree_at_the_top_of_the_file_shows_every_error():
    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, FarmError)]
    assert [kind.__name__ for kind in kinds if kind.__name__ not in (errors.__doc__ or "")] == []


def test_a_close_name_is_suggested():
    same_text(suggestion("od1n", ["oob", "odin"]))


def test_a_far_name_gets_the_sorted_list():
    same_text(suggestion("xyz", ["odin", "oob", "always"]))


def test_nothing_known_is_said():
    assert suggestion("x", []) == "none is known"


def test_a_record_of_a_foreign_error_tells_its_type_on_one_line():
    assert one_line(ValueError("bad\n  shape")) == "ValueError: bad shape"


def test_a_record_of_our_own_error_is_its_message():
    assert one_line(DataError("x.npz is\nempty")) == "x.npz is empty"
