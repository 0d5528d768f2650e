"""How verdicts, and the evidence for them, read: the same words in a terminal, in XML and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from farm.gate.measures import PART
from farm.gate.scanner import exact_percent
from farm.gate.selection import IS
from farm.measures import Measure
from farm.report.cells import DASH
from farm.report.output import visible
from farm.statistics.wording import listed

if TYPE_CHECKING:
    from farm.gate.criterion import Criterion
    from farm.gate.verdict import CriterionVerdict
    from farm.report.checked import Checked, NotRun

VERDICTS = {"error": "ERROR", "fail": "FAIL", "undecided": "not enough data", "pass": "pass"}
_COUNTED = {"error": "not judged", "fail": "failed", "undecided": "not decided", "pass": "passed"}
_OF_ONSETS = ("delay", "misses")
REPORTED_N = "what its method counts, such as images"
"""What stands in the place of instances beside what a protocol finds."""
_MOST_DIGITS = 7
INFINITE = "\N{INFINITY}"


def plain(text: str) -> str:
    r"""Write in one line, and as can be shown everywhere, in XML too.

    Examples
    --------
    >>> plain("overall.mcc  >= 0.4\n on \x1b[31mfog\x00")
    'overall.mcc >= 0.4 on \\x1b[31mfog\\x00'
    """
    return visible(" ".join(text.split()))


def criterion_words(judged: CriterionVerdict) -> str:
    """Return a criterion as it was written."""
    return plain(judged.criterion.text or str(judged.criterion))


def where_words(judged: CriterionVerdict) -> str:
    """Return what a verdict is about and its criterion does not say: the value of `each`, the one part."""
    selection = judged.criterion.selection
    key = PART if is_reported(judged) and not selection.conditions else selection.each
    if key is None:
        return ""
    side = () if selection.side is None else (selection.side,)
    before = " ".join((*side, f"{key}{IS}"))
    after = "".join(f" {condition}" for condition in selection.conditions)
    return plain(judged.where.removeprefix(before).removesuffix(after))


def is_reported(judged: CriterionVerdict) -> bool:
    """Whether it is about what a protocol found over a whole campaign."""
    return judged.criterion.gated.kind == "reported"


def title_words(judged: CriterionVerdict) -> str:
    """Name a verdict: no other of a criteria file has this name."""
    where = where_words(judged)
    return f"{criterion_words(judged)} [{plain(judged.monitor)}{f', {where}' if where else ''}]"


def value_words(judged: CriterionVerdict) -> str:
    """Return the value; beside a baseline, by how much it differs from that."""
    return _measure_words(judged, judged.evidence.value)


def bound_words(judged: CriterionVerdict) -> str:
    """Return the bound that decided, or the two between which nothing is decided."""
    low, high = judged.evidence.low, judged.evidence.high
    if judged.verdict == "undecided":
        known = low.defined or high.defined
        return f"{_measure_words(judged, low)} to {_measure_words(judged, high)}" if known else DASH
    from_below = judged.criterion.gated.higher_is_better == (judged.verdict == "pass")
    end = low if from_below else high
    return f"{'>=' if from_below else '<='} {_measure_words(judged, end)}" if end.defined else DASH


def level_words(judged: CriterionVerdict) -> str:
    """Return how sure the bound is."""
    return exact_percent(judged.criterion.level)


def size_words(judged: CriterionVerdict) -> str:
    """Return how many instances there are, and in how many tracks (of times: measurements) they come."""
    n, tracks = judged.evidence.n, judged.evidence.n_groups
    if judged.verdict == "error":
        return DASH
    if _counted(judged) == "onsets":
        return f"{n:,} onsets"
    return f"{n:,}" if tracks >= n else f"{n:,} in {tracks:,}"


def row_words(judged: CriterionVerdict) -> tuple[str, ...]:
    """Return what a row of a table says after the verdict: who, where, value, bound, level and size."""
    return (
        plain(judged.monitor),
        where_words(judged),
        value_words(judged),
        bound_words(judged),
        level_words(judged),
        size_words(judged),
    )


def sentence(judged: CriterionVerdict) -> str:
    """Say why a monitor does not meet a criterion, or may not, and what would decide it."""
    where = where_words(judged)
    said = f"{plain(judged.monitor)}{f' on {where}' if where else ''}: {plain(judged.reason)}"
    return f"{said}; {told}" if (told := needed_words(judged)) else said


def needed_words(judged: CriterionVerdict) -> str:
    """Say how many instances would decide it; nothing where none would, or where it is decided."""
    if judged.verdict != "undecided" or judged.needed is None:
        return ""
    value = value_words(judged)
    return (
        f"some {_rounded_up(judged.needed):,} {_counted(judged)} instead of {judged.evidence.n:,} would "
        f"decide it with a chance of {exact_percent(judged.power)}, if {value} is the true value"
    )


def evidence_lines(judged: CriterionVerdict) -> Iterator[str]:
    """Return all that a verdict rests on, line by line."""
    evidence = judged.evidence
    yield f"criterion: {criterion_words(judged)}"
    yield f"monitor: {plain(judged.monitor)}"
    yield f"on: {plain(judged.where)}"
    if judged.verdict != "error":  # of what was not judged there is nothing to tell, and the reason says why
        yield from _measured_lines(judged)
    if evidence.sets:
        yield f"benchmark sets: {plain(listed(evidence.sets))}"
    if evidence.counts:
        yield f"counts: {', '.join(f'{name} {count:,}' for name, count in evidence.counts.items())}"
    if evidence.anytime and str(evidence.anytime):
        yield f"moments: {evidence.anytime}"
    if evidence.method:
        yield f"bounds: {plain(evidence.method)}"


def _measured_lines(judged: CriterionVerdict) -> Iterator[str]:
    evidence = judged.evidence
    value = evidence.value
    yield f"value: {value_words(judged) if value.defined else f'undefined: {plain(str(value.reason))}'}"
    for name, end in (("lower", evidence.low), ("upper", evidence.high)):
        told = _measure_words(judged, end) if end.defined else f"none: {plain(str(end.reason))}"
        yield f"{name} bound: {told} ({exact_percent(evidence.level)})"
    counted = _counted(judged)
    of = f", {evidence.n_ood:,} of them OOD" if evidence.n_ood and counted == "instances" else ""
    groups = "measurements" if judged.criterion.gated.kind == "time" else "tracks"
    within = f", in {evidence.n_groups:,} {groups}" if evidence.n_groups < evidence.n else ""
    yield f"{counted}: {evidence.n:,}{of}{within}"


def _counted(judged: CriterionVerdict) -> str:
    if is_reported(judged):
        return "n"
    return "onsets" if judged.criterion.gated.kind in _OF_ONSETS else "instances"


def counts_words(checked: Checked) -> str:
    """Say how many verdicts there are of each kind; those that matter most come first."""
    parts = [f"{n:,} {_COUNTED[verdict]}" for verdict, n in checked.counts.items() if n]
    told = ", ".join(parts) or "nothing judged"
    return f"{told}; {broken_words(checked)}" if checked.broken else told


def broken_words(checked: Checked) -> str:
    """Say how much was to be run and was not."""
    n = len(checked.broken)
    return f"{n:,} {'part' if n == 1 else 'parts'} of the runs failed or {'is' if n == 1 else 'are'} missing"


def broken_sentence(broken: NotRun) -> str:
    """Say what did not run, where and why."""
    return plain(f"{broken.what} in {broken.where}: {broken.reason}")


def consequence(checked: Checked) -> str:
    """Say what becomes of what is undecided; nothing where all is decided."""
    n = checked.counts["undecided"]
    if not n:
        return ""
    return f"What is not decided {_CONSEQUENCES[checked.undecided]}."


_CONSEQUENCES = {
    "report": "is no failure (exit code 3 if nothing failed; --undecided pass or fail to choose)",
    "pass": "counts as passed here (undecided: pass)",
    "fail": "counts as failed here (undecided: fail)",
}


def figure(value: float, criterion: Criterion) -> str:
    """Write a value with as many digits as it takes to see on which side of the bound it is."""
    if math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    known = criterion.gated
    bounded = math.isfinite(known.highest - known.lowest) and known.highest <= 1
    sign = "+" if criterion.baseline is not None else ""
    if not bounded and value == round(value):
        return f"{value:{sign},.0f}"
    digits = 3 if bounded or value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    marks = _marks(criterion)
    for some in range(digits, max(digits, _MOST_DIGITS) + 1):
        text = f"{value:{sign},.{some}f}"
        shown = float(text.replace(",", ""))
        if all((shown > mark) == (value > mark) and (shown < mark) == (value < mark) for mark in marks):
            return text
    return f"{value:{sign}.2e}"


def _marks(criterion: Criterion) -> Sequence[float]:
    """Return the values that a reader must not mistake another one for."""
    known = criterion.gated
    if criterion.margin is not None:
        return (0.0, -criterion.margin if known.higher_is_better else criterion.margin)
    bound = () if criterion.bound is None else (criterion.bound,)
    return (*bound, *(end for end in (known.lowest, known.highest) if math.isfinite(end)))


def _measure_words(judged: CriterionVerdict, measure: Measure) -> str:
    return figure(measure.value, judged.criterion) if measure.defined else DASH


def _rounded_up(n: int) -> int:
    """Keep two digits: more would claim too much.

    Examples
    --------
    >>> _rounded_up(2213), _rounded_up(77), _rounded_up(100001)
    (2300, 77, 110000)
    """
    step = int(10 ** max(len(str(n)) - 2, 0))
    return -(-n // step) * step
