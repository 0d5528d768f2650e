"""What a criterion selects of some runs: benchmark sets, their streams and rows, and the monitors on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from farm.check.criterion import Criterion
from farm.check.ground import Ground, Piece, Run, RunRows
from farm.check.matching import grouped, matching
from farm.check.measures import ALONG_TIME, CLASSIFIER, Side
from farm.check.needing import Found, check_needs
from farm.comparison import BenchmarkSet
from farm.comparison.sets import NO_CATEGORY, NO_SEVERITY
from farm.errors import suggestion
from farm.readouts import Readouts

ID = "ID"
"""What stands in a fault's place where only ID instances are selected, which all faults of a run share."""


@dataclass(frozen=True, eq=False)
class Selected:
    """What one verdict on each of some monitors is about."""

    name: str
    """Such as `category:noise`."""
    side: Side | None
    """The side of each stream that was selected; None stands for both."""
    sets: tuple[BenchmarkSet, ...]
    """Their streams have the selected instances alone. Records are of whole streams: of one side there are
    none."""
    runs: tuple[RunRows, ...]
    """The same instances run by run, as rows of the readouts."""
    monitors: tuple[str, ...]
    """Those to judge; of a measure that is not of monitors, `CLASSIFIER` alone."""
    failures: Mapping[str, str]
    """Why monitors failed, by name: their streams have nothing of them."""


def select(runs: Sequence[Readouts] | Ground, criterion: Criterion) -> list[Selected]:
    """Select what a criterion is about: one, or one for each value of its `each`. Nothing is an error.

    Parameters
    ----------
    runs
        Those on one workload and classifier with one fault are repetitions of one set. For several criteria
        make a `Ground` of them first: it has all that does not depend on a criterion.
    criterion
        What is to be judged.

    Examples
    --------
    >>> import pandas as pd
    >>> from farm.check.criterion import parse_criterion
    >>> instances = pd.DataFrame({"position": range(4), "label": 0, "predicted": 0, "category": "shift"})
    >>> instances = instances.assign(is_ood=[False, False, True, True], faultload="fog")
    >>> alarms = pd.DataFrame({"position": range(4), "monitor": "odin", "alarm": [True, False, True, True]})
    >>> runs = [Readouts(instances, alarms)]
    >>> (found,) = select(runs, parse_criterion("specific.fpr <= 5 % on id"))
    >>> found.name, found.monitors, len(found.sets[0].streams[0]), found.runs[0].alarms("odin").shape
    ('id', ('odin',), 2, (2, 3))
    >>> select(runs, parse_criterion("specific.fpr <= 5 % on category:shif"))
    Traceback (most recent call last):
    farm.errors.ExperimentError: criterion 'specific.fpr <= 5 % on category:shif': nothing has category:shif;
        did you mean 'shift'? there is shift
    """
    ground = runs if isinstance(runs, Ground) else Ground.of(runs)
    selection = criterion.selection
    found = []
    for apart, pieces in grouped(matching(ground.pieces, criterion), criterion):
        if criterion.gated.kind in ALONG_TIME:
            _check_whole(pieces, ground, criterion)
        name = replace(selection, each=None, conditions=(*apart, *selection.conditions)).name
        found.append(_selected(name, pieces, criterion))
    return found


def _selected(name: str, pieces: Sequence[Piece], criterion: Criterion) -> Selected:
    side = criterion.selection.side
    own = _of_side(pieces, side)
    if not own:
        what = "OOD" if side == "ood" else "ID"
        raise criterion.error(
            f"there is no {what} instance: 'is_ood' is {str(side == 'id').lower()} for all of {name}"
        )
    by_run = {piece.run.number: piece.run for piece in own}
    runs = tuple(RunRows.of(own, run) for run in by_run.values())
    monitors = _monitors(list(by_run.values()), criterion)
    failures = {m: why for m in monitors if (why := _failure(m, list(by_run.values())))}
    check_needs(criterion, Found(own, runs, [m for m in monitors if m not in failures]))
    return Selected(name, side, _sets(own), runs, monitors, failures)


def _of_side(pieces: Sequence[Piece], side: Side | None) -> list[Piece]:
    """Leave one side of each stream; where it has none, nothing of it."""
    if side is None:
        return list(pieces)
    if side == "ood":
        return [piece.only(piece.stream.is_ood) for piece in pieces if piece.stream.is_ood.any()]
    found: dict[int, Piece] = {}
    for piece in pieces:
        if piece.run.number not in found and not piece.stream.is_ood.all():
            of = BenchmarkSet(piece.of.workload, piece.of.classifier, ID, NO_CATEGORY, NO_SEVERITY)
            found[piece.run.number] = replace(piece.only(~piece.stream.is_ood), of=of)
    return list(found.values())


def _sets(pieces: Sequence[Piece]) -> tuple[BenchmarkSet, ...]:
    """Sort pieces into sets again."""
    found: dict[BenchmarkSet, BenchmarkSet] = {}
    for piece in pieces:
        of = found.setdefault(piece.of, replace(piece.of, records=[], streams=[]))
        of.records.append(dict(piece.records))
        of.streams.append(piece.stream)
    return tuple(found.values())


def _check_whole(pieces: Sequence[Piece], ground: Ground, criterion: Criterion) -> None:
    """Check that each run is selected with all of its faults: a delay counts every instance that passes."""
    kept = {(piece.run.number, piece.of) for piece in pieces}
    runs = {number for number, _ in kept}
    for piece in ground.pieces:
        if piece.run.number in runs and (piece.run.number, piece.of) not in kept:
            raise criterion.error(
                f"{criterion.measure} is measured along whole streams, and that of {piece.run.name} also has "
                f"{piece.of.name}, which is not selected; select all of its faults, or run them apart"
            )


def _monitors(runs: Sequence[Run], criterion: Criterion) -> tuple[str, ...]:
    """Name those to judge, each of which has to be in all runs that are selected."""
    if not criterion.gated.of_monitors:
        return (CLASSIFIER,)
    known = {name: each for run in runs for name, each in run.monitors.items()}
    asked = criterion.monitors
    if asked is None:
        blind = {name for run in runs for name in run.yardsticks}
        asked = tuple(name for name, each in known.items() if each.ranked and name not in blind)
        if not asked:
            raise criterion.error(
                "no run has a monitor that it ranks, but for those that know nothing; name one with 'for'"
            )
    for name in asked:
        if name not in known:
            raise criterion.error(
                f"monitor '{name}' is in no run that is selected; {suggestion(name, known)}"
            )
        if without := [run.name for run in runs if name not in run.monitors]:
            raise criterion.error(
                f"monitor '{name}' is not in {without[0]}; expected it in each of the {len(runs)} runs that "
                "are selected: name others with 'for'"
            )
    return asked


def _failure(monitor: str, runs: Sequence[Run]) -> str | None:
    """Say in a clause that a monitor failed and why, and in which run where there are several."""
    if monitor == CLASSIFIER:
        return None
    whys = [(run.name, why) for run in runs if (why := run.monitors[monitor].failure)]
    if not whys:
        return None
    name, why = whys[0]
    # Whoever tells of it has named the monitor already, and a failure's own words mostly begin with it.
    bare = why.removeprefix(f"monitor '{monitor}'")
    is_named = bare != why and bare.startswith((" ", ": its "))
    if len(runs) > 1:
        told = bare.lstrip(": ") if is_named else why
        return f"the monitor failed in {len(whys)} of {len(runs)} runs ({name}: {told})"
    if not is_named:
        return f"the monitor failed: {why}"
    return f"the monitor{bare}" if bare.startswith(" ") else f"the monitor's {bare.removeprefix(': its ')}"
