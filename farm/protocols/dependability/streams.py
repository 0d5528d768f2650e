"""What a campaign's cells left: the test data as they are, the training data, and each fault's stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from farm.api import IntArray
from farm.config.files import find_domain
from farm.config.scenario_domain import codes_of
from farm.config.specs import NO_FAULT
from farm.errors import DataError, ExperimentError, suggestion
from farm.judging.readouts import load_run
from farm.measures.scenarios import Domain
from farm.protocols.dependability.spec import TRAINING, Dependability
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.logs import CONDITION, condition_columns
from farm.store.occlusion import load_occlusion
from farm.store.readouts import Readouts

MISSING = -1
MOST_WORDS = 50
"""A condition of more different words than these is no condition, such as a name of a file."""


@dataclass(frozen=True, eq=False)
class Streams:
    """The readouts of a dependability evaluation, by what they are of."""

    spec: Dependability
    place: Path
    home: Path
    """Where the file's paths are looked for."""
    plain: Readouts
    """The test data as they are."""
    training: Readouts | None
    faulted: Mapping[str, Readouts]
    """By the name of the fault, in the order of the file."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why a stream is not there, by its name."""
    missing: tuple[str, ...] = ()
    """Streams that are still to be made."""

    @classmethod
    def of(cls, folder: Path | str) -> Streams:
        """Read what is there of a campaign's folder."""
        place = CampaignFolder(folder)
        record = place.record()
        spec = Dependability.model_validate(record["campaign"]["protocol"])
        found: dict[str, Readouts] = {}
        failures: dict[str, str] = {}
        missing = []
        for cell, path in planned_cells(place):
            name = str(cell["label"]["faultload"])
            if path is not None:
                run = load_run(path)
                found[name] = replace(run, occlusion=load_occlusion(path)) if name == NO_FAULT else run
            elif failure := place.failure(cell["id"]):
                failures[name] = failure["reason"]
            else:
                missing.append(name)
        if NO_FAULT not in found:
            why = failures.get(NO_FAULT, "it is not there yet; `farm run` goes on with it")
            raise DataError(
                f"{place.path} has no stream of the test data as they are, which all metrics need: {why}"
            )
        return cls(
            spec,
            place.path,
            Path(record["home"]),
            found[NO_FAULT],
            found.get(TRAINING),
            {name: found[name] for name in spec.fault_names if name in found},
            failures,
            tuple(missing),
        )

    @property
    def data(self) -> dict[str, Readouts]:
        """The data that coverage is told of, those asked for first."""
        there = {"train": self.training, "test": self.plain}
        return {name: one for name in self.spec.data if (one := there[name]) is not None}

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions that instances have."""
        return tuple(condition_columns(map(str, self.plain.instances.columns)))

    @cached_property
    def scenarios(self) -> ScenarioCodes | str:
        """The domain, and the data's scenarios in it; or why there is none."""
        if not self.conditions:
            return (
                "the images have no conditions, such as weather or light; a workload `table` takes every "
                "further column for one"
            )
        said = self.spec.domain(self.home)
        if said is None:
            return ScenarioCodes.derived(self)
        for name in said.names:
            if name not in self.conditions:
                raise ExperimentError(
                    f"scenarios.domain has the condition '{name}', which the images do not have; "
                    f"{suggestion(name, self.conditions)}"
                )
        return ScenarioCodes(said, self._domain_name, {})

    @property
    def _domain_name(self) -> str:
        said = self.spec.scenarios.domain
        return str(find_domain(said, self.home)) if isinstance(said, str) else "scenarios.domain"


@dataclass(frozen=True, eq=False)
class ScenarioCodes:
    """A domain, where it is from, and which conditions of the images are not in it, and why."""

    domain: Domain
    source: str
    left_out: Mapping[str, str]

    @classmethod
    def derived(cls, streams: Streams) -> ScenarioCodes | str:
        """Make a domain of the words that the data have, where nobody said which there could be."""
        conditions: dict[str, tuple[str, ...]] = {}
        left_out: dict[str, str] = {}
        every = [streams.plain, *([] if streams.training is None else [streams.training])]
        for name in streams.conditions:
            values = pd.concat(
                [column for one in every if (column := _column(one, name)) is not None]
            ).dropna()
            if pd.api.types.is_numeric_dtype(values):
                left_out[name] = (
                    "it has numbers; name ranges in scenarios.domain, such as [..15, 15..30, 30..]"
                )
            elif not 2 <= (n := values.nunique()) <= MOST_WORDS:
                left_out[name] = f"it has {n} different words; expected from 2 to {MOST_WORDS}"
            else:
                conditions[name] = tuple(sorted(values.unique()))
        if not conditions:
            told = "; ".join(f"{name}: {why}" for name, why in left_out.items())
            return f"no condition of the images can be counted: {told}"
        return cls(Domain(conditions), "the words that the data have", left_out)

    def codes(self, readouts: Readouts) -> IntArray:
        """Return each instance's scenario, a row an instance; -1 where a condition is not told.

        A value that the domain lacks is an error with its place.
        """
        found = np.full((len(readouts.instances), len(self.domain.names)), MISSING, dtype=np.int64)
        for number, name in enumerate(self.domain.names):
            column = _column(readouts, name)
            if column is None:
                continue
            known = column.notna().to_numpy()
            coded, words = pd.factorize(column[known])
            values = self.domain.conditions[name]
            codes = codes_of(values, [str(word) for word in words.tolist()])[coded]
            if (codes < 0).any():
                row = np.flatnonzero(known)[int(np.argmax(codes < 0))]
                raise DataError(
                    f"{readouts.run.get('folder', 'the run')}, instance "
                    f"'{readouts.instances['id'].iloc[row]}', condition '{name}': {str(column.iloc[row])!r}; "
                    f"expected a value of that condition in {self.source}; "
                    f"{suggestion(str(column.iloc[row]), values)}"
                )
            found[known, number] = codes
        return found

    def told(self, names: tuple[str, ...] | list[str], codes: IntArray) -> str:
        """Return a cell in words."""
        values = [self.domain.conditions[name][code] for name, code in zip(names, codes, strict=True)]
        return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))


def _column(readouts: Readouts, name: str) -> pd.Series | None:
    return readouts.instances.get(CONDITION.format(name))


def track_codes(readouts: Readouts) -> IntArray:
    """Return the number of each instance's track; one without a track is a track of its own."""
    track = readouts.instances["track"]
    alone = "instance " + readouts.instances["position"].astype(str)
    return np.asarray(pd.factorize(track.where(track.notna(), alone))[0], dtype=np.int64)
