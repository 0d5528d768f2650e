"""The search itself: step by step and trial by trial, each trial kept before the next begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from farm.api import Progress, Silent
from farm.campaign.keys import KeyMaker
from farm.comparing.measures import OF_CLASSIFIER
from farm.config.experiment import Experiment, MonitorSpec, StreamSpec
from farm.config.specs import ClassifierSpec, Strict
from farm.errors import ComponentFailure, DataError, StorageError, UserError
from farm.run.loading import importable
from farm.store.files import check_free, write_text
from farm.store.lock import locked
from farm.tuning.history import JOURNAL, TABLE, History, StepHistory, optuna
from farm.tuning.measuring import Trial, ValidationMeasurer
from farm.tuning.spec import Tuning

BEST = "best.yaml"
HEADER = """\
# Written by `farm tune`: by step, parameters to paste beside the classifier's name.
# They were chosen on validation data: measure what they are worth on test data.
"""


class Best(Strict):
    """The best trial of a step by one of its measures."""

    measure: str
    number: int
    """Of the trial, from 1."""
    value: float
    lead: float | None
    """How far the best trial with other parameters is behind; None where there is none."""
    parameters: dict[str, Any]
    """Those that were chosen by this measure."""


class FoundStep(Strict):
    """What a step found."""

    name: str
    parameters: dict[str, Any]
    """All that the experiment does not say: what was set and kept, and what was found."""
    best: list[Best]
    trials: list[Trial]

    @property
    def failed(self) -> list[tuple[int, str]]:
        """The numbers of the trials that failed, from 1, and why they did."""
        return [(number, one.reason) for number, one in enumerate(self.trials, start=1) if one.reason]


def search(
    tuning: Tuning, experiment: Experiment, home: Path, out: Path, *, progress: Progress | None = None
) -> list[FoundStep]:
    """Search step by step; go on where a search in the same folder ended; write what is best.

    Parameters
    ----------
    tuning
        What to search.
    experiment
        Has the workload, the classifier, the seed, the threads and the batch size.
    home
        The folder for the experiment's paths and the user's own modules.
    out
        The folder of the search.
    progress
        Is told of each trial.
    """
    progress = progress or Silent()
    optuna()  # before anything else takes time
    if not (out / JOURNAL).is_file():
        check_free(out)
    measurer = ValidationMeasurer(experiment, home, progress)
    with importable(home):
        _check(tuning, measurer)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
        with locked(out / "lock", lambda: False) as alone:
            if not alone:
                raise DataError(f"{out} is in use by another search; wait for it, or choose another --out")
            found = list(_searched(tuning, experiment, measurer, home, History(out), progress))
        write_text(out / BEST, HEADER + yaml.safe_dump(nested(found), sort_keys=False, allow_unicode=True))
    return found


def _check(tuning: Tuning, measurer: ValidationMeasurer) -> None:
    """Look whether each step's classifier can be made, by the first values of all that is searched."""
    kept: dict[str, Any] = {}
    for name, step in tuning.steps.items():
        first = {key: values.first for key, values in step.values.items()}
        try:
            measurer.check({**tuning.set, **kept, **step.set, **first})
        except UserError as error:
            raise type(error)(f"steps.{name}: {error}") from error
        kept |= first


def _searched(
    tuning: Tuning,
    experiment: Experiment,
    measurer: ValidationMeasurer,
    home: Path,
    history: History,
    progress: Progress,
) -> Iterator[FoundStep]:
    kept: dict[str, Any] = {}
    for name, step in tuning.steps.items():
        base = {**tuning.set, **kept, **step.set}
        made_of = {"parameters": base, "code, data or settings": _key(experiment, measurer.spec(base), home)}
        own = history.step(name, step, experiment.seed, made_of)
        n = tuning.trials_of(name)
        if own.trials:
            progress.note(f"step '{name}': {len(own.trials)} of {n} trials were there")
        while len(own.trials) < n:
            found = own.suggested()
            progress.note(f"step '{name}', trial {len(own.trials) + 1} of {n}: {words(found)}")
            trial = measurer.measure({**base, **found}, list(step.search))
            own.add(trial.model_copy(update={"parameters": found}))
            history.write_table()
            progress.note(f"  {trial.reason or words(trial.values)} ({trial.seconds:.1f} s)")
        history.write_table()
        best = [best_of(own, measure) for measure in step.search]
        chosen = {key: value for one in best for key, value in one.parameters.items()}
        kept |= chosen
        yield FoundStep(name=name, parameters={**base, **chosen}, best=best, trials=own.trials)


def _key(experiment: Experiment, classifier: ClassifierSpec, home: Path) -> str:
    """Return the key of all that decides what is measured in a step, but what it searches."""
    said = {name: getattr(experiment, name) for name in ("name", "seed", "threads", "batch_size", "workload")}
    monitors, stream = [MonitorSpec(name="never")], StreamSpec(split="validation")
    whole = Experiment(**said, classifier=classifier, monitors=monitors, stream=stream)
    return KeyMaker(home).keys(whole).cell


def best_of(history: StepHistory, measure: str) -> Best:
    """Return the best trial by a measure, the earliest of equals."""
    own = [(n, one) for n, one in enumerate(history.trials, start=1) if not one.reason]
    if not own:
        raise ComponentFailure(
            f"no trial of step '{history.name}' worked; the first of {len(history.trials)} failed since: "
            f"{history.trials[0].reason}; all reasons are in {TABLE}"
        )
    sign = -1 if OF_CLASSIFIER[measure] else 1
    searched = history.step.search[measure]

    def chosen(trial: Trial) -> dict[str, Any]:
        return {name: trial.parameters[name] for name in searched}

    number, best = min(own, key=lambda one: sign * one[1].values[measure])
    others = [sign * one.values[measure] for _, one in own if chosen(one) != chosen(best)]
    value = best.values[measure]
    lead = min(others) - sign * value if others else None
    return Best(measure=measure, number=number, value=value, lead=lead, parameters=chosen(best))


def nested(found: list[FoundStep]) -> dict[str, Any]:
    """Return the parameters by steps, in levels where slashes are in their names.

    Examples
    --------
    >>> found = {"cnn/head": {"dropout": 0.1}, "cnn/vanilla": {"neurons": 64}}
    >>> nested([FoundStep(name=n, parameters=p, best=[], trials=[]) for n, p in found.items()])
    {'cnn': {'head': {'dropout': 0.1}, 'vanilla': {'neurons': 64}}}
    """
    levels: dict[str, Any] = {}
    for step in found:
        *above, last = step.name.split("/")
        place = levels
        for name in above:
            place = place.setdefault(name, {})
        place[last] = dict(step.parameters)
    return levels


def words(values: Mapping[str, Any]) -> str:
    """Write names and values on a line.

    Examples
    --------
    >>> words({"dropout": 0.15000001, "variant": "head"})
    'dropout 0.15, variant head'
    """
    return ", ".join(f"{k} {v:.4g}" if type(v) is float else f"{k} {v}" for k, v in values.items())
