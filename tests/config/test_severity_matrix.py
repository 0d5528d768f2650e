"""Files of severities: the shipped ones, groups and levels, and what is refused."""

import numpy as np
import pytest
import yaml

from farm.config.files import find_severities
from farm.config.severity_matrix import load_severities, parse_severities
from farm.errors import ExperimentError
from farm.workloads.sign_catalogue import HOME
from tests.wording import refused

TRAFFIC = ("pedestrian", "vehicle", "background")


def parsed(text, classes=TRAFFIC):
    return parse_severities(yaml.safe_load(text), classes, "own.yaml")


def test_the_published_table(tmp_path):
    """Table I, in the order of another classifier's classes."""
    found = load_severities(find_severities("traffic", tmp_path), ["background", "pedestrian", "vehicle"])
    assert found.classes == ("background", "pedestrian", "vehicle")
    assert found.weights.tolist() == [[0, 1, 1], [4, 0, 2], [3, 1, 0]]
    assert found.heaviest == 4


def test_signs(tmp_path):
    found = load_severities(find_severities("signs", tmp_path), HOME.classes)
    place = {name: number for number, name in enumerate(HOME.classes)}
    off = ~np.eye(30, dtype=bool)
    assert set(found.weights[off]) == {1, 2, 3, 4}
    for label, predicted, weight in (
        ("stop", "priority-road", 4),
        ("stop", "give-way", 1),
        ("priority-road", "stop", 2),
        ("speed-limit-30", "speed-limit-100", 4),
        ("speed-limit-100", "speed-limit-30", 1),
        ("turn-left", "turn-right", 3),
        ("parking", "stop", 1),
    ):
        assert found.weights[place[label], place[predicted]] == weight
    # To take a sign for a stricter one is never worse than the other way round.
    for strict, mild in (("halt", "go"), ("people", "go"), ("closed", "direction")):
        groups = yaml.safe_load(find_severities("signs", tmp_path).read_text())["groups"]
        one, other = ([place[name] for name in groups[group]] for group in (strict, mild))
        assert (found.weights[np.ix_(one, other)] > found.weights[np.ix_(other, one)].T).all()


def test_a_file_beside_the_experiment_comes_first(tmp_path):
    (tmp_path / "traffic").write_text("{weights: {}, default: 1}")
    assert find_severities("traffic", tmp_path) == tmp_path / "traffic"
    with refused(ExperimentError):
        find_severities("trafic", tmp_path)


def test_groups_levels_and_a_default():
    found = parsed(
        """
        levels: {mild: 0.5, grave: 10}
        groups: {there: [pedestrian, vehicle]}
        default: mild
        weights: {there: {background: grave}, vehicle: {background: 7, vehicle: 0}}
        """
    )
    assert found.weights.tolist() == [[0, 0.5, 10], [0.5, 0, 7], [0.5, 0.5, 0]]


def test_digits_may_be_called_by_number():
    assert parsed('{weights: {0: {1: 3}, "1": {"0": 2}}}', ["0", "1"]).weights.tolist() == [[0, 3], [2, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{weights: {pedestrian: 4}}",
        "{weight: {}}",
        "{weights: {}, default: 0}",
        "{weights: {pedestrian: {vehicle: -1}}, default: 1}",
        "{weights: {pedestrian: {vehicle: .nan}}, default: 1}",
        "{weights: {pedestrian: {vehicle: .inf}}, default: 1}",
        "{weights: {pedestrian: {vehicle: true}}, default: 1}",
        "{weights: {pedestrian: {vehicle: +++++}}, default: 1}",
        "{weights: {pedestrian: {pedestrian: 1}}, default: 1}",
        "{weights: {pedestrain: {vehicle: 1}}, default: 1}",
        "{weights: {pedestrian: {vehicel: 1}}, default: 1}",
        "{weights: {-1: {vehicle: 1}}, default: 1}",
        "{weights: {pedestrian: {vehicle: 1}, vehicle: {pedestrian: 1}}}",
        "{weights: {pedestrian: {vehicle: 1}, vehicle: {background: 1}}}",
        "{weights: {}, default: -2}",
        "{weights: {}, default: 1, levels: {mild: -1}}",
        "{weights: {}, default: 1, groups: {a: [vehicle], b: [vehicle]}}",
        "{weights: {}, default: 1, groups: {vehicle: [pedestrian]}}",
    ],
)
def test_what_is_refused(text):
    with refused(ExperimentError):
        parsed(text)
