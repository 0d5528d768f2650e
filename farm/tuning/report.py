"""What a search found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from farm.judging.inspection import Look
from farm.measures import Measure, undefined
from farm.tuning.search import FoundStep, words

COLUMNS = ("step", "measure", "value", "ahead by", "trials", "failed", "found")
OPTIMISTIC = (
    "Each value is the best of its trials on the same validation data, and so better than on new data. Test "
    "data were not looked at."
)
CHOSE_EPOCH = (
    "These validation data also said when training was to stop, which flatters the values once more."
)
ALONE = undefined("no other parameters were measured")


def looks(found: Sequence[FoundStep]) -> list[Look]:
    """Return the table of what is best, and what to think of it."""
    rows: list[tuple[Any, ...]] = []
    notes = [OPTIMISTIC]
    if any(trial.chose_epoch for step in found for trial in step.trials):
        notes.append(CHOSE_EPOCH)
    for step in found:
        for best in step.best:
            lead = ALONE if best.lead is None else Measure(best.lead)
            told = (len(step.trials), len(step.failed), words(best.parameters))
            rows.append((step.name, best.measure, Measure(best.value), lead, *told))
        if step.failed:
            (number, reason), *others = step.failed
            more = f", and {len(others)} more" if others else ""
            notes.append(f"Trial {number} of step '{step.name}' failed{more}: {reason}")
    n = max(trial.n for step in found for trial in step.trials)
    return [Look(f"The best parameters by {n:,} validation images", COLUMNS, rows, tuple(notes))]


def as_json(found: Sequence[FoundStep], folder: Path) -> dict[str, Any]:
    """Return all of it, every trial too, as JSON."""
    steps = [step.model_dump(mode="json") for step in found]
    return {"folder": str(folder), "optimistic": OPTIMISTIC, "steps": steps}
