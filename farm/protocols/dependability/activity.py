"""What the data bring about in the network: patterns of neurons, and images that lie apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from farm.api import Features, IntArray, StrArray, generator, plain_name
from farm.errors import DataError, FarmError, ParameterError, one_line
from farm.measures.measure import Bounded, Measure, undefined
from farm.measures.neuron_activation import NeuronCoverage, neuron_coverage, switched_on
from farm.measures.neuron_pattern import ActivationGroups, activation_groups, pattern_curve
from farm.protocols.dependability.rows import BY_TRACKS, MetricRow, how_many, read_off, share_of
from farm.protocols.dependability.streams import MISSING, ScenarioCodes, Streams, track_codes
from farm.store.readouts import Readouts

ACTIVATION, PATTERN = "neuron_activation", "neuron_pattern"
ALL = "all images"
"""What stands for the scenario where there are no conditions."""
_ROWS = 4096
"""Instances whose values are looked at together."""


@dataclass(frozen=True, eq=False)
class ScenarioPatterns:
    """How many neurons of a layer images switch on, scenario by scenario."""

    groups: Mapping[str, ActivationGroups]
    rows: Mapping[str, IntArray]
    """The images of each scenario, by their numbers."""
    ids: StrArray
    track: IntArray
    """The number of each image's track."""
    left_out: int
    """How many images lack a condition."""
    curve: tuple[tuple[int, float], ...]
    """The metric of growing random parts of the images."""

    def row(self, part: str, level: float, scenario: str | None = None) -> MetricRow:
        """Return the share of images that lie apart in their scenario, or in one."""
        named = list(self.groups) if scenario is None else [scenario]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(self.rows[one] for one in named)])
        apart = [self.rows[one][list(self.groups[one].outlying)] for one in named]
        hit = np.isin(rows, np.concatenate([rows[:0], *apart]))
        track, detail = self.track[rows], scenario is not None
        value = share_of(hit, track, level)
        return MetricRow(PATTERN, part, value, len(rows), BY_TRACKS, detail, how_many(track))

    def outlying(self, scenario: str) -> list[str]:
        """Return the images that lie apart in a scenario, the farthest first, by their ids."""
        return [str(name) for name in self.ids[self.rows[scenario][list(self.groups[scenario].outlying)]]]


@dataclass(frozen=True, eq=False)
class LayerFindings:
    """What a layer tells of some data; where it does not, the reason."""

    data: str
    layer: str
    n: int
    coverage: Mapping[int, NeuronCoverage | str]
    """By k."""
    patterns: ScenarioPatterns | str


@dataclass(frozen=True, eq=False)
class NeuronFindings:
    """What each layer tells of each of the data."""

    found: tuple[LayerFindings, ...]

    @classmethod
    def of_streams(cls, streams: Streams) -> NeuronFindings:
        """Look at each layer."""
        made = [
            _looked_at(streams, data, readouts, layer)
            for data, readouts in streams.data.items()
            for layer in streams.spec.layers
        ]
        return cls(tuple(made))

    def rows(self, level: float) -> list[MetricRow]:
        """Return k-activation of each layer, and the share of images that lie apart, also by scenario."""
        rows = []
        for one in self.found:
            where = f"{one.data} {one.layer}"
            for k, made in one.coverage.items():
                value = _bounded(made.share) if isinstance(made, NeuronCoverage) else _nowhere(made)
                rows.append(MetricRow(ACTIVATION, f"{where} k={k}", value, one.n))
            if isinstance(one.patterns, str):
                rows.append(MetricRow(PATTERN, where, _nowhere(one.patterns), one.n))
                continue
            rows.append(one.patterns.row(where, level))
            rows += [one.patterns.row(f"{where}, {of}", level, of) for of in one.patterns.groups if of != ALL]
        return rows


def _bounded(value: Measure) -> Bounded:
    return read_off(value.value) if value.defined else Bounded.nowhere(value)


def _nowhere(why: str) -> Bounded:
    return Bounded.nowhere(undefined(why))


def _looked_at(streams: Streams, data: str, readouts: Readouts, layer: str) -> LayerFindings:
    spec, name, n = streams.spec.neurons, plain_name(layer), len(readouts.instances)
    values = readouts.layers.get(layer)
    if values is None:
        why = (readouts.run.get("missing_layers") or {}).get(layer, f"layer '{name}' was not kept by the run")
        return LayerFindings(data, name, n, dict.fromkeys(spec.k, why), why)
    if values.ndim != 2:
        raise DataError(f"layer '{name}' has values of shape {values.shape}; expected instances x neurons")
    coverage: dict[int, NeuronCoverage | str] = {}
    for k in spec.k:
        try:
            coverage[k] = neuron_coverage(values, k, spec.threshold, name)
        except ParameterError as error:  # such as more neurons than can be counted: the others are told
            coverage[k] = one_line(error)
    try:
        patterns: ScenarioPatterns | str = _patterns(streams, readouts, values, name)
    except FarmError as error:
        patterns = one_line(error)
    return LayerFindings(data, name, n, coverage, patterns)


def _patterns(streams: Streams, readouts: Readouts, values: Features, layer: str) -> ScenarioPatterns:
    spec, (n, neurons) = streams.spec.neurons, values.shape
    counts = np.concatenate(
        [
            switched_on(values[start : start + _ROWS], spec.threshold, f"layer '{layer}'").sum(axis=1)
            for start in range(0, n, _ROWS)
        ]
    )
    rows = scenario_rows(streams, readouts)
    if spec.groups > neurons + 1:
        raise ParameterError(
            f"neurons.groups is {spec.groups}, and layer '{layer}' has {neurons} neurons; expected at most "
            "one group more than that"
        )
    groups = {of: activation_groups(counts[own], neurons, spec.groups) for of, own in rows.items()}
    known = np.concatenate([*rows.values(), np.empty(0, dtype=np.int64)])
    scenario = np.repeat(np.arange(len(rows)), [len(own) for own in rows.values()])
    rng = generator(streams.spec.seed, "dependability", "patterns")
    curve = pattern_curve(counts[known], neurons, spec.groups, rng=rng, scenario=scenario)
    ids = readouts.instances["id"].to_numpy(dtype=np.str_)
    return ScenarioPatterns(groups, rows, ids, track_codes(readouts), n - len(known), tuple(curve))


def scenario_rows(streams: Streams, readouts: Readouts) -> dict[str, IntArray]:
    """Return the images of each scenario by the conditions that tell parts apart; else all as one."""
    scenarios = streams.scenarios
    if isinstance(scenarios, str):
        return {ALL: np.arange(len(readouts.instances))}
    names = told_by(streams, scenarios)
    codes = scenarios.codes(readouts)[:, [scenarios.domain.names.index(name) for name in names]]
    known = np.flatnonzero((codes != MISSING).all(axis=1))
    if not len(known):
        return {}
    different, which = np.unique(codes[known], axis=0, return_inverse=True)
    return {
        scenarios.told(names, one): known[which.ravel() == number] for number, one in enumerate(different)
    }


def told_by(streams: Streams, scenarios: ScenarioCodes) -> list[str]:
    """Return the conditions that patterns and performance are told by: those asked for, or the first two."""
    asked = streams.spec.scenarios.by
    if asked is None:
        return scenarios.domain.names[:2]
    for name in asked:
        if name not in scenarios.domain.names:
            raise ParameterError(
                f"scenarios.by has '{name}', which is no condition of the domain; expected some of "
                f"{', '.join(scenarios.domain.names)}"
            )
    return list(asked)
