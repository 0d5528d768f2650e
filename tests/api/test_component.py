"""Components remember what they were made with, and check it."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Component, check_choice, check_number, parameters_of
from farm.errors import ParameterError
from tests.wording import refused


class TwoKnobs(Component):
    def __init__(self, *, rate: float, depth: int = 3) -> None:
        self.rate, self.depth = rate, depth


class Plain(Component):
    pass


class Inherits(TwoKnobs):
    pass


def test_parameters_tell_the_defaults_too():
    assert TwoKnobs(rate=0.5).parameters == {"rate": 0.5, "depth": 3}


def test_a_subclass_without_constructor_keeps_its_bases_parameters():
    assert Inherits(rate=1, depth=2).parameters == {"rate": 1, "depth": 2}
    assert list(parameters_of(Inherits)) == ["rate", "depth"]


def test_a_component_without_parameters_has_none():
    assert Plain().parameters == {}


def test_the_name_follows_from_the_class():
    assert (TwoKnobs(rate=1).name, Plain().name) == ("two-knobs", "plain")


def test_repr_shows_what_was_given():
    assert repr(TwoKnobs(rate=0.5)) == "TwoKnobs(rate=0.5)"


def test_positional_arguments_are_refused_with_their_values():
    with refused(ParameterError):
        TwoKnobs(0.5)


def test_an_unknown_parameter_is_refused():
    with refused(ParameterError):
        TwoKnobs(rate=1, colour="red")


def test_a_misspelt_parameter_gets_a_suggestion():
    with refused(ParameterError):
        TwoKnobs(ratte=1)


def test_an_unknown_parameter_is_refused_by_a_component_that_takes_none():
    with refused(ParameterError):
        Plain(colour="red")


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (1.5, {"low": 0, "high": 1}),
        (-1, {"low": 0}),
        (0, {"above": 0}),
        (2, {"above": 0, "high": 1}),
        (1.0, {"low": 0, "whole": True}),
        ("1", {}),
        (True, {}),
        (None, {}),
        (float("nan"), {}),
    ],
)
def test_a_wrong_number_is_told_with_its_rule(value, rule):
    with refused(ParameterError):
        check_number("x", value, **rule)


@pytest.mark.parametrize(
    ("value", "rule"),
    [(0, {"low": 0}), (1, {"high": 1}), (1e-9, {"above": 0}), (3, {"whole": True}), (np.float64(0.5), {})],
)
def test_the_borders_of_a_range_are_inside(value, rule):
    check_number("x", value, **rule)


def test_an_upper_bound_alone_is_told():
    with refused(ParameterError):
        check_number("x", 5, high=3)


def test_infinity_is_no_number_in_a_range():
    with refused(ParameterError):
        check_number("x", float("inf"), above=0)


def test_a_wrong_word_is_told_with_the_choices():
    with refused(ParameterError):
        check_choice("order", "up", ("left", "right"))
