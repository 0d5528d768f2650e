"""YAML is read safely, and settings of the command line go on top of it."""

from __future__ import annotations

import pytest

from farm.config.yaml_reading import DEEPEST, MOST, override, parse_yaml
from farm.errors import ExperimentError
from tests.wording import refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 100000.0),
        ("-2e+4", -20000.0),
        (".5e1", 5.0),
        ("1.5e3", 1500.0),
        ("0.25", 0.25),
        ("3", 3),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ("'1e-3'", "1e-3"),
        ("e3", "e3"),
        ("1e", "1e"),
        ("v1e3", "v1e3"),
        ("2020-02-29", "2020-02-29"),
        ("2020-02-30", "2020-02-30"),
        ("2020-02-29 10:03:16", "2020-02-29 10:03:16"),
    ],
)
def test_a_value_is_what_everybody_expects(text, value):
    parsed = parse_yaml(f"key: {text}", "x.yaml")["key"]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3", "b: {a: 1, a: 1}", "- a: 1\n  a: 2"])
def test_a_repeated_key_is_told_with_its_line(text):
    with refused(ExperimentError):
        parse_yaml(text, "x.yaml")


def test_the_same_key_in_two_places_is_no_repetition():
    assert parse_yaml("a: {x: 1}\nb: {x: 2}", "x.yaml") == {"a": {"x": 1}, "b": {"x": 2}}


@pytest.mark.parametrize(
    "text", ["a: [1, 2", "a: b: c", "\tx: 1", "a: 'open", "a: 1\n---\nb: 2", "a: *nobody"]
)
def test_malformed_yaml_is_told_on_one_line_with_its_place(text):
    with refused(ExperimentError) as caught:
        parse_yaml(text, "x.yaml")
    assert "\n" not in str(caught.value)


def test_yaml_makes_no_python_objects():
    with refused(ExperimentError):
        parse_yaml("!!python/object/apply:os.getcwd []", "x.yaml")


def test_aliases_stand_for_what_they_name():
    text = "a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}"
    assert parse_yaml(text, "x.yaml") == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}}


def test_values_are_counted_only_where_aliases_stand_for_some():
    many = f"[{', '.join('1' * MOST)}]"
    assert len(parse_yaml(many, "x.yaml")) == MOST
    with refused(ExperimentError):
        parse_yaml(f"[&a {many}, *a]", "x.yaml")


def test_values_may_be_nested_as_deep_as_is_said_and_no_deeper():
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert parse_yaml(deepest, "x.yaml")
    for text in (f"[{deepest}]", f"[&a {deepest[1:-1]}, [*a]]", "[" * 3000):
        with refused(ExperimentError):
            parse_yaml(text, "x.yaml")


@pytest.mark.parametrize(
    "text", ["0x_", "!!int x", "!!float x", "!!bool x", "!!map x", "!!set {a}", "&a [*a]", "!!binary x"]
)
def test_what_is_no_value_is_told_with_its_place(text):
    with refused(ExperimentError):
        parse_yaml(f"key: {text}", "x.yaml")


@pytest.mark.parametrize("text", ["name: {{ title }}", "? [1, 2]\n: x"])
def test_a_key_that_is_no_plain_value_is_told(text):
    with refused(ExperimentError):
        parse_yaml(text, "x.yaml")


def settled(setting, **values):
    override(values, setting)
    return values


def test_a_setting_replaces_a_value():
    assert settled("seed=3", seed=0) == {"seed": 3}


def test_a_setting_adds_what_is_not_there():
    assert settled("stream.ood_share=0.2") == {"stream": {"ood_share": 0.2}}
    assert settled("stream.ood_share=0.2", stream=None) == {"stream": {"ood_share": 0.2}}


def test_a_setting_leaves_the_neighbours_alone():
    values = settled("stream.length=5", stream={"order": "sequential"})
    assert values == {"stream": {"order": "sequential", "length": 5}}


def test_list_items_go_by_number():
    values = settled("monitors.1.tau=1e-2", monitors=["odin", {"name": "oob"}])
    assert values == {"monitors": ["odin", {"name": "oob", "tau": 0.01}]}


def test_a_whole_item_can_be_replaced():
    assert settled("monitors.0=never", monitors=["odin", "oob"]) == {"monitors": ["never", "oob"]}


def test_a_component_by_its_bare_name_gains_a_parameter():
    assert settled("monitors.0.tau=1", monitors=["oob"]) == {"monitors": [{"name": "oob", "tau": 1}]}
    assert settled("classifier.epochs=2", classifier="lenet") == {
        "classifier": {"name": "lenet", "epochs": 2}
    }


def test_a_value_may_be_any_yaml():
    assert settled("x.y=[1, {a: b}]") == {"x": {"y": [1, {"a": "b"}]}}
    assert settled("x=a=b") == {"x": "a=b"}
    assert settled("x=") == {"x": None}


@pytest.mark.parametrize(
    "setting",
    [
        "seed",
        "=3",
        "monitors.2.tau=1",
        "monitors.-1.tau=1",
        "monitors.first=1",
        "seed.x=1",
        "seed=[1",
    ],
)
def test_a_setting_that_cannot_be_made_is_told(setting):
    with refused(ExperimentError):
        settled(setting, seed=7, monitors=["odin", "oob"])
