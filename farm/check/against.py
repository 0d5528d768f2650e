"""The evidence for "not worse than": how much a measure differs from a baseline's on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from farm.baseline.baseline import Baseline, load_baseline
from farm.baseline.difference import PairedDifference, paired_differences
from farm.baseline.kept import Kept
from farm.baseline.pairing import before, both_sides, side_by_side
from farm.check.criterion import Criterion
from farm.check.evidence import Evidence
from farm.check.seen import counts_of, mean_over, size_of
from farm.check.selected import Selected, select
from farm.comparison import BenchmarkSet, measured
from farm.errors import UserError, suggestion
from farm.statistics.bootstrap import REPLICATES


@dataclass
class Baselines:
    """Baselines that were read, and what was drawn beside them."""

    replicates: int = REPLICATES
    seed: int = 0
    _read: dict[str, Baseline] = field(default_factory=dict, repr=False)

    def paired_evidence(self, selected: Selected, criterion: Criterion) -> dict[str, Evidence]:
        """Give the evidence for each monitor that did not fail: what is now, minus the baseline."""
        monitors = [name for name in selected.monitors if name not in selected.failures]
        if not monitors:
            return {}
        sets = self._beside(selected, replace(criterion, monitors=tuple(monitors)))
        names = [name for monitor in monitors for name in (monitor, before(monitor))]
        values = {name: mean_over(sets, criterion.measure, name) for name in names}
        found = paired_differences(
            sets,
            measured(criterion.measure),
            monitors,
            level=max(2 * criterion.level - 1, 1e-9),  # each end alone holds with the level
            replicates=self.replicates,
            seed=self.seed,
            values=values,
        )
        return {each.monitor: _evidence(each, sets, criterion, self.replicates) for each in found}

    def note(self, selected: Selected, criterion: Criterion) -> str:
        """Say what a monitor may not be to blame for: the classifier is another one than it was."""
        if (baseline := self._read.get(str(criterion.baseline))) is None:
            return ""
        for each in selected.runs:
            run = each.run.readouts
            then = baseline.of_run(run, alone=len(selected.runs) == 1).classifier["digest"]
            now = (run.run.get("classifier") or {}).get("digest")
            if None not in (then, now) and then != now:
                return "the classifier is another one than the baseline's"
        return ""

    def _beside(self, selected: Selected, criterion: Criterion) -> list[BenchmarkSet]:
        """Select from the runs and from the baseline alike, and put the two together."""
        path, runs = str(criterion.baseline), [each.run.readouts for each in selected.runs]
        try:
            if path not in self._read:
                self._read[path] = load_baseline(path)
            sides = both_sides(runs, self._read[path])
            kept = [self._read[path].of_run(run, alone=len(runs) == 1) for run in runs]
        except UserError as error:
            raise criterion.error(str(error)) from error
        _check_monitors(kept, criterion)
        now, then = (
            next(each for each in select(side, criterion) if each.name == selected.name) for side in sides
        )
        return side_by_side(now.sets, then.sets)


def _check_monitors(runs: Sequence[Kept], criterion: Criterion) -> None:
    """Check that the baseline has each monitor: what is new is no worse and no better than before."""
    for kept in runs:
        for monitor in criterion.monitors or ():
            if monitor in kept.failures:
                why = f"failed in the baseline of {kept.name} ({kept.failures[monitor]})"
            elif monitor not in kept.bits:
                why = f"is not in the baseline of {kept.name}; {suggestion(monitor, kept.bits)}"
            else:
                continue
            raise criterion.error(f"monitor '{monitor}' {why}; save it anew, or name others with 'for'")


def _evidence(
    found: PairedDifference, sets: Sequence[BenchmarkSet], criterion: Criterion, replicates: int
) -> Evidence:
    size, right = size_of(sets, criterion.measure), found.right
    return Evidence(
        found.difference.value,
        found.difference.low,
        found.difference.high,
        criterion.level,
        n=size.n,
        n_ood=size.n_ood,
        n_groups=size.n_tracks,
        sets=found.sets,
        method=(
            f"{replicates} draws of {size.n_tracks} tracks, now and before alike, and an unseen one; right "
            f"now alone on {right.first} instances, before alone on {right.second}"
        ),
        counts=counts_of(sets, criterion.measure, found.monitor),
    )
