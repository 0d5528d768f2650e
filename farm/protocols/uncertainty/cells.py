"""Values of an evaluation of uncertainty as cells of its tables."""

from __future__ import annotations

from farm.judging.inspection import LookCell
from farm.measures.measure import Bounded
from farm.protocols.uncertainty.compared import DRAWN, Kind, Place
from farm.protocols.uncertainty.measured import Task
from farm.protocols.uncertainty.results import Results

DIGITS = 3
"""Behind the point, of values that have an interval."""


def mean_cell(results: Results, kind: Kind, shift: str, task: Task, measure: str) -> LookCell:
    """Return a value, averaged over repetitions."""
    return results.mean(kind, shift, task, measure)


def bounded_cell(results: Results, kind: Kind, shift: str, task: Task, measure: str) -> LookCell:
    """Return a value, with its interval where it is a mean over instances."""
    value = results.mean(kind, shift, task, measure)
    if value is None or measure not in DRAWN[task] or measure == "ece":
        return value
    return Bounded(*results.draws(task, measure).bounded([Place(kind, shift)]))


def begun(text: str) -> str:
    """Return a text as the beginning of a sentence."""
    return text[0].upper() + text[1:]
