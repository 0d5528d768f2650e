"""All metrics of a dependability evaluation, each found when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from farm.comparing.between_failures import MTBF
from farm.errors import UserError, one_line
from farm.gate.reported import ReportedMeasure
from farm.protocols.dependability.activity import NeuronFindings
from farm.protocols.dependability.confused import ConfusionFindings
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.kinds import METRICS, SCENARIO, kind_of
from farm.protocols.dependability.occluded import OcclusionFindings
from farm.protocols.dependability.performance import ScenarioPerformance
from farm.protocols.dependability.perturbed import LossFindings
from farm.protocols.dependability.rows import ONE_SIDED, Lacking, MetricFinding, MetricRow
from farm.protocols.dependability.streams import Streams
from farm.protocols.dependability.watched import WatchedCells
from farm.store.files import write_text

F = TypeVar("F", covariant=True)
FILE = "results.csv"
COLUMNS = ("metric", "part", "value", "n", "low", "high", "attributes")


@dataclass(frozen=True, eq=False)
class Results:
    """What a campaign's folder says of each metric; one that lacks something is `Lacking`."""

    streams: Streams
    _rows: dict[float, list[MetricRow]] = field(default_factory=dict, init=False, repr=False)
    """By level: tables, the file and the page ask for the same."""

    @classmethod
    def of(cls, folder: Path | str) -> Results:
        """Read the streams of a campaign's folder."""
        return cls(Streams.of(folder))

    @cached_property
    def coverage(self) -> ScenarioCoverage | Lacking:
        """Scenario coverage, and what to record next."""
        return _found(ScenarioCoverage, self.streams, ("scenario_coverage",))

    @cached_property
    def neurons(self) -> NeuronFindings | Lacking:
        """Which patterns of neurons the data bring about, and which images lie apart."""
        return _found(NeuronFindings, self.streams, ("neuron_activation", "neuron_pattern"))

    @cached_property
    def loss(self) -> LossFindings | Lacking:
        """What transformers cost."""
        return _found(LossFindings, self.streams, ("adversarial_loss",))

    @cached_property
    def performance(self) -> ScenarioPerformance | Lacking:
        """What decisions are worth, scenario by scenario."""
        return _found(ScenarioPerformance, self.streams, self._of_scenarios)

    @cached_property
    def occlusion(self) -> OcclusionFindings | Lacking:
        """Where the network looks."""
        return _found(OcclusionFindings, self.streams, ("interpretation_precision", "occlusion_covering"))

    @cached_property
    def confusion(self) -> ConfusionFindings | Lacking:
        """What mix-ups weigh."""
        return _found(ConfusionFindings, self.streams, ("weighted_confusion",))

    @cached_property
    def watched(self) -> WatchedCells | Lacking:
        """What monitors were tried on."""
        return _found(WatchedCells, self.streams, ("monitor_coverage",))

    @property
    def _of_scenarios(self) -> tuple[str, ...]:
        """What performance by scenario is called, a name a measure."""
        return tuple(f"{SCENARIO}.{one}" for one in (*self.streams.spec.performance.measures, MTBF))

    @property
    def findings(self) -> list[MetricFinding]:
        """What was asked for, in the order of the metrics."""
        of: dict[str, Callable[[], MetricFinding]] = {
            "scenario_coverage": lambda: self.coverage,
            "neuron_activation": lambda: self.neurons,
            "neuron_pattern": lambda: self.neurons,
            "adversarial_loss": lambda: self.loss,
            SCENARIO: lambda: self.performance,
            "interpretation_precision": lambda: self.occlusion,
            "occlusion_covering": lambda: self.occlusion,
            "weighted_confusion": lambda: self.confusion,
            "monitor_coverage": lambda: self.watched,
        }
        asked = [name for name in METRICS if self.streams.spec.asks(name)]
        return list(dict.fromkeys(of[name]() for name in asked))

    def rows(self, level: float = ONE_SIDED) -> list[MetricRow]:
        """Return all results; each end holds with this level."""
        if level not in self._rows:
            every = [row for finding in self.findings for row in finding.rows(level)]
            asks = self.streams.spec.asks
            self._rows[level] = [row for row in every if asks(row.metric.partition(".")[0])]
        return self._rows[level]

    @property
    def problems(self) -> list[str]:
        """What is wrong with data or files, so that metrics could not be found."""
        wrong: dict[str, list[str]] = {}
        for one in self.findings:
            if isinstance(one, Lacking) and one.wrong:
                wrong.setdefault(one.why, []).extend(one.metrics)
        return [f"{', '.join(names)}: {why}" for why, names in wrong.items()]

    def reported(self, level: float) -> list[ReportedMeasure]:
        """Return what criteria may ask for.

        Where nothing failed there is no mean time between failures: what it is at least stands for it.
        """
        found = []
        for row in self.rows(level):
            value = row.value.value
            if not value.defined and row.value.low.defined:
                value = row.value.low
            ends = (value, row.value.low, row.value.high)
            tracks = row.n if row.tracks is None else row.tracks
            found.append(ReportedMeasure(row.metric, row.part, *ends, row.n, tracks, row.method, row.about))
        return found

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All results as `results.csv` has them."""
        return pd.DataFrame([_record(row) for row in self.rows()], columns=list(COLUMNS))

    def write(self, folder: Path) -> Path:
        """Write all results as CSV beside the cells."""
        target = folder / FILE
        text: str = self.frame.to_csv(index=False, lineterminator="\n")
        write_text(target, text)
        return target


class _FromStreams(Protocol[F]):
    """What finds some metrics."""

    def of_streams(self, streams: Streams) -> F | Lacking: ...


def _found(what: _FromStreams[F], streams: Streams, metrics: tuple[str, ...]) -> F | Lacking:
    """Find some metrics; what is wrong with their data or files costs no others."""
    try:
        return what.of_streams(streams)
    except UserError as error:
        return Lacking(metrics, one_line(error), wrong=True)


def _record(row: MetricRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "part": row.part,
        "value": row.value.value.value,
        "n": row.n,
        "low": row.value.low.value,
        "high": row.value.high.value,
        "attributes": " ".join(kind_of(row.metric).attributes),
    }
