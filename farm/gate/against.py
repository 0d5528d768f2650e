"""The evidence for "not worse than": how much a measure differs from a baseline's on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from farm.comparing import BenchmarkSet, measured
from farm.errors import UserError, suggestion
from farm.gate.baseline.baseline import Baseline, before, load_baseline, side_by_side
from farm.gate.baseline.difference import paired_differences
from farm.gate.baseline.entry import BaselineRun, another_classifier, classifier_noted
from farm.gate.criterion import Criterion
from farm.gate.demand import Evidence
from farm.gate.observed import counts_of, mean_over, size_of
from farm.gate.selected import Selected
from farm.judging import VerdictTable
from farm.statistics.resolution import REPLICATES


@dataclass
class Baselines:
    """Baselines that were read, and what was drawn beside them."""

    replicates: int = REPLICATES
    seed: int = 0
    _read: dict[str, Baseline] = field(default_factory=dict, repr=False)
    _beside_runs: dict[tuple[str, int, bool], VerdictTable] = field(default_factory=dict, repr=False)

    def paired_evidence(self, selected: Selected, criterion: Criterion) -> dict[str, Evidence]:
        """Return the evidence for each monitor that did not fail: what is now, minus the baseline."""
        monitors = selected.sound
        if not monitors:
            return {}
        sets = self._beside(selected, replace(criterion, monitors=tuple(monitors)))
        names = [name for monitor in monitors for name in (monitor, before(monitor))]
        size = size_of(sets, criterion.measure)
        differences = paired_differences(
            sets,
            measured(criterion.measure),
            monitors,
            level=max(2 * criterion.level - 1, 1e-9),  # each end alone holds with the level
            replicates=self.replicates,
            seed=self.seed,
            values={name: mean_over(sets, criterion.measure, name) for name in names},
        )
        return {
            each.monitor: Evidence(
                each.difference.value,
                each.difference.low,
                each.difference.high,
                criterion.level,
                n=size.n,
                n_ood=size.n_ood,
                n_groups=size.n_tracks,
                sets=each.sets,
                method=(
                    f"{self.replicates} draws of {size.n_tracks} tracks, now and before alike, and an unseen "
                    f"one; right now alone on {each.right.first} instances, before alone on "
                    f"{each.right.second}"
                ),
                counts=counts_of(sets, criterion.measure, each.monitor),
            )
            for each in differences
        }

    def note(self, selected: Selected, criterion: Criterion) -> str:
        """Say what a monitor may not be to blame for: the classifier is another one than it was."""
        if (baseline := self._read.get(str(criterion.baseline))) is None:
            return ""
        for each in selected.runs:
            then = baseline.of_run(each.run.judged, alone=len(selected.runs) == 1)
            if differs := another_classifier(then.classifier, classifier_noted(each.run.notes)):
                return differs
        return ""

    def _beside(self, selected: Selected, criterion: Criterion) -> list[BenchmarkSet]:
        """Put what the baseline said beside what is selected of the runs."""
        path, alone = str(criterion.baseline), len(selected.runs) == 1
        try:
            if path not in self._read:
                self._read[path] = load_baseline(path)
            earlier = [self._read[path].of_run(each.run.judged, alone=alone) for each in selected.runs]
            for run, each in zip(earlier, selected.runs, strict=True):
                if (path, each.run.number, alone) not in self._beside_runs:
                    self._beside_runs[path, each.run.number, alone] = run.beside(each.run.judged).table
        except UserError as error:
            raise criterion.error(str(error)) from error
        _check_monitors(earlier, criterion)
        then = {each.run.number: self._beside_runs[path, each.run.number, alone] for each in selected.runs}
        return [
            replace(
                one,
                records=[],
                streams=[side_by_side(now, then[now.run].take(now.row)) for now in one.streams],
            )
            for one in selected.sets
        ]


def _check_monitors(runs: Sequence[BaselineRun], criterion: Criterion) -> None:
    """Check that the baseline has each monitor: what is new is no worse and no better than before."""
    for run in runs:
        for monitor in criterion.monitors or ():
            if monitor in run.failures:
                why = f"failed in the baseline of {run.name} ({run.failures[monitor]})"
            elif monitor not in run.bits:
                why = f"is not in the baseline of {run.name}; {suggestion(monitor, run.bits)}"
            else:
                continue
            raise criterion.error(f"monitor '{monitor}' {why}; save it anew, or name others with 'for'")
