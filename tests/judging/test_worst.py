"""Which instances a person should look at first, worked out by hand."""

from __future__ import annotations

import pytest

from farm.errors import DataError, ExperimentError
from farm.judging.worst import worst
from farm.testing import make_readouts
from tests.wording import refused, same_text

MADE = make_readouts(
    {"oob": {"score": [-3.0, -1.0, -3.0, 0.5, 2.0, -2.0]}, "odin": [False] * 6, "never": [False] * 6},
    id=list("abcdef"),
    is_ood=[0, 0, 1, 0, 0, 1],
    label=[0, 0, -1, 1, 1, 0],
    predicted=[0, 1, 0, 1, 1, 1],
    confidence=[0.9, 0.6, 0.7, 0.8, 0.5, 0.6],
    severity=[None, None, 3.0, None, None, None],
)


@pytest.mark.parametrize(
    ("shown", "ids"),
    [
        ("missed", "cfb"),  # b, c and f are wrong, and none is cancelled: least score first
        ("cancelled", "ed"),  # d and e are right and cancelled: greatest score first
        ("ood", "cf"),
        ("id", "edba"),
    ],
)
def test_the_worst_come_first(shown, ids):
    found = worst(MADE, shown, 10, "oob")
    assert ("".join(found.ids), found.number) == (ids, len(ids))
    assert "".join(worst(MADE, shown, 2, "oob").ids) == ids[:2]
    assert worst(MADE, shown, 2, "oob").number == len(ids)


def test_of_equal_scores_the_surest_come_first_and_without_scores_these_alone():
    assert "".join(worst(MADE, "missed", 10, "odin").ids) == "cbf"
    scores = make_readouts({"one": {"score": [0.0, 0.0]}}, id=["a", "b"], wrong=True, confidence=[0.3, 0.4])
    assert worst(scores, "missed", 1).ids == ("b",)


def test_where_classes_have_thresholds_of_their_own_these_count():
    """a is 1 below its class's threshold, b is 3 below: b is trusted most, though its score is greater."""
    calibration = {
        "method": "per-class",
        "threshold": 9.0,
        "n": 3,
        "asked_acceptance": 0.9,
        "validation_acceptance": 0.9,
        "per_class": [2.0, 5.0],
        "classes_without_own_threshold": 0,
    }
    made = make_readouts(
        {"one": {"score": [1.0, 2.0], "alarm": [False, False]}},
        id=["a", "b"],
        label=-1,
        predicted=[0, 1],
        run={"monitors": [{"name": "one", "failure": None, "calibration": calibration}]},
    )
    found = worst(made, "missed", 2)
    assert (found.ids, found.threshold) == (("b", "a"), None)


def test_captions_say_what_is_to_be_known():
    same_text(" | ".join(caption) for caption in worst(MADE, "missed", 10, "oob").captions)


def test_what_cannot_be_chosen_is_told():
    with refused(ExperimentError):
        worst(MADE, "missed", 1)
    with refused(ExperimentError):
        worst(MADE, "missed", 1, "obo")
    with refused(DataError):
        worst(make_readouts({"one": [True]}, is_ood=None, label=None, predicted=[1]), "missed", 1)
