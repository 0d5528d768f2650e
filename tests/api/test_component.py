"""Components remember what they were made with, and check it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farm.api import Component, check_choice, check_number, parameters_of
from farm.errors import ParameterError


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
    message = "TwoKnobs takes its parameters by keyword only; got (0.5,)"
    with pytest.raises(ParameterError, match=re.escape(message)):
        TwoKnobs(0.5)


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ParameterError, match=r"^TwoKnobs has no parameter 'colour'; known: depth, rate$"):
        TwoKnobs(rate=1, colour="red")


def test_a_misspelt_parameter_gets_a_suggestion():
    with pytest.raises(ParameterError, match=r"has no parameter 'ratte'; did you mean 'rate'\?$"):
        TwoKnobs(ratte=1)


def test_an_unknown_parameter_is_refused_by_a_component_that_takes_none():
    with pytest.raises(ParameterError, match=r"^Plain has no parameter 'colour'; none is known$"):
        Plain(colour="red")


@pytest.mark.parametrize(
    ("value", "rule", "message"),
    [
        (1.5, {"low": 0, "high": 1}, "x is 1.5; expected a number from 0 to 1"),
        (-1, {"low": 0}, "x is -1; expected a number of at least 0"),
        (0, {"above": 0}, "x is 0; expected a number above 0"),
        (2, {"above": 0, "high": 1}, "x is 2; expected a number above 0 and at most 1"),
        (1.0, {"low": 0, "whole": True}, "x is 1.0; expected a whole number of at least 0"),
        ("1", {}, "x is '1'; expected a number"),
        (True, {}, "x is True; expected a number"),
        (None, {}, "x is None; expected a number"),
        (float("nan"), {}, "x is nan; expected a number"),
    ],
)
def test_a_wrong_number_is_told_with_its_rule(value, rule, message):
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        check_number("x", value, **rule)


@pytest.mark.parametrize(
    ("value", "rule"),
    [(0, {"low": 0}), (1, {"high": 1}), (1e-9, {"above": 0}), (3, {"whole": True}), (np.float64(0.5), {})],
)
def test_the_borders_of_a_range_are_inside(value, rule):
    check_number("x", value, **rule)


def test_an_upper_bound_alone_is_told():
    with pytest.raises(ParameterError, match="at most 3"):
        check_number("x", 5, high=3)


def test_infinity_is_no_number_in_a_range():
    with pytest.raises(ParameterError, match="x is inf"):
        check_number("x", float("inf"), above=0)


def test_a_wrong_word_is_told_with_the_choices():
    with pytest.raises(ParameterError, match=re.escape("order is 'up'; expected one of: left, right")):
        check_choice("order", "up", ("left", "right"))
