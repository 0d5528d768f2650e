"""The trials of a search on disk: optuna's journal, from which it goes on, and a table for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from farm.api import derived_seed
from farm.comparing.measures import OF_CLASSIFIER
from farm.errors import DataError, RequirementError, StorageError, one_line
from farm.report.cells import csv_cell
from farm.store.files import replace_text
from farm.tuning.measuring import Trial
from farm.tuning.spec import Step, Values

JOURNAL, TABLE = "optuna.log", "trials.csv"
STARTUP = 5
"""So many trials are drawn at random before what they told says where to look next."""


def optuna() -> Any:
    """Return the package `optuna`, or say how to get it."""
    try:
        found = import_module("optuna")
    except ImportError as error:
        raise RequirementError(
            f"farm tune needs the package optuna, which cannot be imported ({one_line(error)}); "
            "try: pip install 'farm-testbed[tune]'"
        ) from error
    found.logging.set_verbosity(found.logging.WARNING)
    return found


class History:
    """All trials of a search, step by step; those of an earlier one in the same folder are there."""

    def __init__(self, folder: Path) -> None:
        self._optuna, self._path = optuna(), folder / JOURNAL
        self.table = folder / TABLE
        self._steps: dict[str, StepHistory] = {}
        try:
            if self._path.exists():
                text = self._path.read_text(encoding="utf-8")
                if not text.endswith("\n"):  # killed while it was written
                    replace_text(self._path, text[: text.rfind("\n") + 1])
            journal = self._optuna.storages.journal.JournalFileBackend(str(self._path))
            self._storage = self._optuna.storages.JournalStorage(journal)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror or error}") from error
        except Exception as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> DataError:
        return DataError(
            f"{self._path} cannot be read as a journal of optuna ({one_line(error)}); was it edited? Remove "
            "its folder, or choose another with --out"
        )

    def step(self, name: str, step: Step, seed: int, made_of: Mapping[str, Any]) -> StepHistory:
        """Return the trials of a step so far, which all were of the same classifier, data and code."""
        try:
            study = self._optuna.create_study(
                study_name=name,
                storage=self._storage,
                directions=[_direction(measure) for measure in step.search],
                load_if_exists=True,
            )
            asked = json.loads(json.dumps({"search": step.model_dump(mode="json")["search"], **made_of}))
            if not study.trials:
                study.set_user_attr("made_of", asked)
            before = study.user_attrs["made_of"]
            other = next((key for key in asked if before.get(key) != asked[key]), None)
            if other is None:
                self._steps[name] = StepHistory(self._optuna, study, name, step, seed)
        except Exception as error:
            raise self._unreadable(error) from error
        if other is not None:
            raise DataError(
                f"{self._path.parent} has trials of step '{name}' with other {other}; choose "
                "another folder with --out (what was trained is found again), or remove it"
            )
        return self._steps[name]

    def write_table(self) -> None:
        """Write a row for each trial."""
        steps = self._steps.values()
        parameters = list(dict.fromkeys(name for one in steps for name in one.step.values))
        measures = list(dict.fromkeys(name for one in steps for name in one.step.search))
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        columns = ["step", "number", *parameters, *measures, "seconds", "state", "reason"]
        rows.writerow(map(csv_cell, columns))
        for one in steps:
            for number, trial in enumerate(one.trials, start=1):
                own = [trial.parameters.get(name, "") for name in parameters]
                values = [trial.values.get(name, "") for name in measures]
                state = "failed" if trial.reason else "complete"
                row = [one.name, number, *own, *values, round(trial.seconds, 3), state, trial.reason]
                rows.writerow(map(csv_cell, row))
        replace_text(self.table, out.getvalue())


class StepHistory:
    """The trials of one step, and what to try next."""

    def __init__(self, optuna: Any, study: Any, name: str, step: Step, seed: int) -> None:
        self.name, self.step = name, step
        self._optuna, self._study, self._seed = optuna, study, seed
        self._distributions = {key: _distribution(optuna, one) for key, one in step.values.items()}
        self.trials: list[Trial] = [self._read(one) for one in study.trials]

    def _read(self, kept: Any) -> Trial:
        values = dict(zip(self.step.search, kept.values or (), strict=kept.values is not None))
        trial = Trial(parameters=kept.params, values=values, **kept.user_attrs)
        self._frozen(trial, list(self.step.search))
        return trial

    def _frozen(self, trial: Trial, measures: Sequence[str], **more: Any) -> Any:
        """Return a trial as optuna has it, checked, as far as it is about some of the measures."""
        own = {name: self._distributions[name] for one in measures for name in self.step.search[one]}
        states = self._optuna.trial.TrialState
        return self._optuna.trial.create_trial(
            state=states.FAIL if trial.reason else states.COMPLETE,
            params={name: trial.parameters[name] for name in own},
            distributions=own,
            values=None if trial.reason else [trial.values[one] for one in measures],
            **more,
        )

    def add(self, trial: Trial) -> None:
        """Keep a trial: one line of the journal, which is there or not."""
        told = trial.model_dump(exclude={"parameters", "values"})
        try:
            self._study.add_trial(self._frozen(trial, list(self.step.search), user_attrs=told))
        except OSError as error:
            raise StorageError(f"cannot write the trials: {error.strerror or error}") from error
        self.trials.append(trial)

    def suggested(self) -> dict[str, Any]:
        """Return the next parameters: of each measure those that its own trials make likely to be good.

        They follow from the seed and the trials so far, so that a search that was interrupted goes on as if
        it had not been.
        """
        found: dict[str, Any] = {}
        for measure, searched in self.step.search.items():
            seed = derived_seed(self._seed, "tuning", self.name, measure, len(self.trials))
            sampler = self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            study = self._optuna.create_study(direction=_direction(measure), sampler=sampler)
            study.add_trials([self._frozen(trial, [measure]) for trial in self.trials])
            asked = study.ask({name: self._distributions[name] for name in searched}).params
            found |= {name: _short(asked[name], one) for name, one in searched.items()}
        return found


def _direction(measure: str) -> str:
    return "maximize" if OF_CLASSIFIER[measure] else "minimize"


def _distribution(optuna: Any, values: Values) -> Any:
    kinds = optuna.distributions
    if values.choices is not None:
        return kinds.CategoricalDistribution(values.choices)
    if values.whole:
        return kinds.IntDistribution(values.low, values.high, log=values.log, step=values.step or 1)
    return kinds.FloatDistribution(values.low, values.high, log=values.log, step=values.step)


def _short(value: Any, values: Values) -> Any:
    """Write a number with as few digits as tell it from others, so that people can write it down."""
    if type(value) is not float or values.choices is not None:
        return value
    short = float(f"{value:.12g}" if values.step is not None else f"{value:.4g}")
    return min(max(short, float(values.low)), float(values.high))
