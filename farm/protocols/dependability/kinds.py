"""The metrics by name: which attributes each serves, what it means, what would improve it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Attribute = Literal["robustness", "interpretability", "completeness", "correctness"]
ATTRIBUTES: tuple[Attribute, ...] = ("robustness", "interpretability", "completeness", "correctness")
SCENARIO = "scenario"
"""The metric of performance by scenario; its rows are called `scenario.MEASURE`, a measure each."""


@dataclass(frozen=True)
class MetricKind:
    """A metric, and what a reader has to know of it."""

    title: str
    attributes: tuple[Attribute, ...]
    higher_is_better: bool
    meaning: str
    improve: str


METRICS: Mapping[str, MetricKind] = {
    "scenario_coverage": MetricKind(
        "Scenario coverage",
        ("completeness", "correctness"),
        True,
        "The share of combinations of conditions that the data have, of those that are possible.",
        "Record what the plan proposes.",
    ),
    "neuron_activation": MetricKind(
        "Neuron k-activation",
        ("completeness", "correctness"),
        True,
        "The share of on and off patterns of any k neurons of a layer that the data bring about.",
        "Add images that switch on what never was, or off what always was on.",
    ),
    "neuron_pattern": MetricKind(
        "Neuron activation pattern",
        ("robustness", "interpretability", "completeness"),
        False,
        "The share of images that switch on far more or far fewer neurons than most of their scenario.",
        "Look at the images that lie apart: they are of another kind than their conditions say, or too few.",
    ),
    "adversarial_loss": MetricKind(
        "Adversarial confidence loss",
        ("robustness", "correctness"),
        True,
        "By how much the probability of the right class changes under the worst transformer of each image.",
        "Train with images that were changed by the worst transformers.",
    ),
    SCENARIO: MetricKind(
        "Performance by scenario",
        ("completeness", "correctness"),
        True,
        "How good decisions are in each scenario, weakest first; scenarios never recorded count as worst.",
        "Record and train more of the weakest scenarios.",
    ),
    "interpretation_precision": MetricKind(
        "Interpretation precision",
        ("interpretability", "correctness"),
        True,
        "Of the places that the decision hangs on, the share that hides a part of the object.",
        "Add images that show these classes in other surroundings.",
    ),
    "occlusion_covering": MetricKind(
        "Occlusion sensitivity covering",
        ("robustness", "interpretability"),
        False,
        "Of the places that hide a part of the object, the share at which a small patch upsets the decision.",
        "Train with images in which parts of the objects are hidden.",
    ),
    "weighted_confusion": MetricKind(
        "Weighted confusion",
        ("correctness",),
        False,
        "The mean severity of a decision: 0 where it is right, and what the mix-up weighs where it is wrong.",
        "Add examples of the costliest confusions, or let the loss weigh them.",
    ),
    "monitor_coverage": MetricKind(
        "Coverage of what the monitor was tried on",
        ("completeness", "robustness"),
        True,
        "The share of combinations of a cell of conditions and a fault that the monitor met.",
        "Try the faults on images of the conditions that saw none of them.",
    ),
}
"""The eight of the source, in its order, and what it has not: what the monitor was tried on."""


def kind_of(metric: str) -> MetricKind:
    """Return what is known of a metric by the name that results have.

    Examples
    --------
    >>> kind_of("scenario.residual_hazard").title
    'Performance by scenario'
    """
    return METRICS[metric.partition(".")[0]]
