"""What components do in a new process: monitors are restored from arrays and score, faultloads are made anew.

One process serves all that are on trial together: starting it takes longer than all the rest. What
it is told goes through a folder: a job as JSON, and a file of arrays for each monitor's state and scores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farm import registry
from farm.api import FloatArray, Images, Monitor, State
from farm.errors import ComponentFailure, FarmError, one_line
from farm.guard.arrays import write_arrays
from farm.store.plain_arrays import read_npz
from farm.store.threads import limited_threads
from farm.testing.fault_trial import FaultTrial
from farm.testing.rules import NotApplicable
from farm.testing.small_system import SmallSystem
from farm.testing.trial import ComponentTrial, Trial

PATIENCE = 600.0
"""Seconds until a process that does not end is given up."""


@dataclass(frozen=True)
class RestoredScores:
    """The scores of a restored monitor, and where it was restored."""

    scores: FloatArray
    where: str
    remark: str | None = None


class Elsewhere:
    """The new process. It is started when the first answer is asked for, with all trials known by then."""

    def __init__(self) -> None:
        self._trials: list[ComponentTrial[Any]] = []
        self._answers: dict[int, State | str] = {}

    def add(self, trial: ComponentTrial[Any]) -> None:
        """Have a trial's component made there, too."""
        self._trials.append(trial)

    def scores(self, trial: Trial) -> RestoredScores:
        """Return the scores of this trial's monitor, or raise what went wrong with it."""
        if (reason := _not_found_there(trial)) is not None:
            return _in_this_process(trial, reason)
        scores = self._answer(trial)["scores"].astype(np.float64, copy=False)
        return RestoredScores(scores, "in a new process")

    def images(self, trial: FaultTrial) -> Images:
        """Return what this trial's faultload makes there, or raise what went wrong with it."""
        if (reason := _not_found_there(trial)) is not None:
            raise NotApplicable(reason)
        images: Images = self._answer(trial)["images"].astype(np.float32, copy=False)
        return images

    def _answer(self, trial: ComponentTrial[Any]) -> State:
        number = self._trials.index(trial)
        if number not in self._answers:
            self._answers = self._run()
        answer = self._answers[number]
        if isinstance(answer, str):
            raise ComponentFailure(f"in a new process: {answer}")
        return answer

    def _run(self) -> dict[int, State | str]:
        states = {i: _state(trial) for i, trial in enumerate(self._trials)}
        waiting = [i for i, state in states.items() if state is not None]
        answers: dict[int, State | str] = {}
        with tempfile.TemporaryDirectory(prefix="farm-components-") as name:
            folder = Path(name)
            for i in waiting:
                write_arrays(folder / f"state-{i}.npz", states[i] or {})
            # One that ends its process is the first without an answer; the others get a new process.
            while waiting:
                told = self._start(folder, waiting)
                answers |= {i: answer for i in waiting if (answer := _read(folder, i)) is not None}
                if unanswered := [i for i in waiting if i not in answers]:
                    answers[unanswered[0]] = told
                waiting = unanswered[1:]
        return answers

    def _start(self, folder: Path, numbers: Sequence[int]) -> str:
        """Run the process to its end, and say how it ended."""
        job = {"path": sys.path, "components": {str(i): self._trials[i].job for i in numbers}}
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", __name__, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"it ended with code {done.returncode} ({last})"


def _state(trial: ComponentTrial[Any]) -> State | None:
    """Return what a trial sends; none where it cannot be made there, which is another rule's finding."""
    try:
        return trial.sent if _not_found_there(trial) is None else None
    except Exception:  # noqa: BLE001
        return None


def _not_found_there(trial: ComponentTrial[Any]) -> str | None:
    """Say why a new process could not make this component."""
    cls = type(trial.given)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        return f"its class {cls.__qualname__} is defined where no other process can import it"
    try:
        json.dumps(trial.arguments, allow_nan=False)
    except (TypeError, ValueError):
        return "what it was made with is no JSON"
    return None


def _in_this_process(trial: Trial, reason: str) -> RestoredScores:
    with tempfile.TemporaryDirectory(prefix="farm-monitors-") as name:
        path = Path(name) / "state.npz"
        write_arrays(path, trial.first.monitor.state)
        restored = trial.make().restore(read_npz(path), trial.system.classifier)
    scores = trial.score(restored, trial.observed.sample)
    return RestoredScores(scores, "from a file", f"restored in this process only, since {reason}")


def _read(folder: Path, i: int) -> State | str | None:
    if not (path := folder / f"answer-{i}.npz").exists():
        return None
    told = read_npz(path)
    return str(told["failure"]) if "failure" in told else told


def serve(folder: Path) -> None:
    """Do the job in a folder: make each component, and write what it gives, or why there is nothing."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    sys.path[:] = job["path"]
    systems: dict[str, SmallSystem] = {}
    told: State
    for i, described in job["components"].items():
        try:
            cls = registry.import_target(described["target"], f"{described['kind']} '{described['name']}'")
            made = cls(**described["arguments"])
            made.name = described["name"]
            if described["kind"] == "faultload":
                told = {"images": FaultTrial(made, Elsewhere()).faulted.images}
            else:
                system = systems.setdefault(str(described["system"]), SmallSystem(**described["system"]))
                if system.classifier.digest != described["digest"]:
                    raise ComponentFailure("the small system's classifier came out otherwise")
                told = {"scores": _score(made, read_npz(folder / f"state-{i}.npz"), system)}
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others from their scores
            told = {"failure": np.array(str(error) if isinstance(error, FarmError) else one_line(error))}
        write_arrays(folder / f"answer-{i}.npz", told)


def _score(monitor: Monitor, state: State, system: SmallSystem) -> FloatArray:
    monitor.restore(state, system.classifier)
    trial = Trial(monitor, system, Elsewhere())
    return trial.score(monitor, trial.observed.sample)


if __name__ == "__main__":
    with limited_threads(1):
        serve(Path(sys.argv[1]))
