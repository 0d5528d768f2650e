"""Restoring fitted monitors in a new process, from arrays saved without pickle, and scoring there.

One process serves all monitors that are on trial together: starting it takes longer than all the rest. What
it is told goes through a folder: a job as JSON, and a file of arrays for each monitor's state and scores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farm import registry
from farm.api import FloatArray, Monitor, State
from farm.errors import ComponentFailure, FarmError, one_line
from farm.guard.arrays import write_arrays
from farm.store.plain_arrays import read_npz
from farm.store.threads import limited_threads
from farm.testing.small_system import SmallSystem
from farm.testing.trial import Trial

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
        self._trials: list[Trial] = []
        self._answers: dict[int, RestoredScores | str] = {}

    def add(self, trial: Trial) -> None:
        """Have a trial's monitor restored there, too."""
        self._trials.append(trial)

    def answer(self, trial: Trial) -> RestoredScores:
        """Return the scores of this trial's monitor, or raise what went wrong with it."""
        if (reason := _not_found_there(trial)) is not None:
            return _in_this_process(trial, reason)
        number = self._trials.index(trial)
        if number not in self._answers:
            self._answers = self._run()
        answer = self._answers[number]
        if isinstance(answer, str):
            raise ComponentFailure(f"in a new process: {answer}")
        return answer

    def _run(self) -> dict[int, RestoredScores | str]:
        states = {i: _state(trial) for i, trial in enumerate(self._trials)}
        waiting = [i for i, state in states.items() if state is not None]
        answers: dict[int, RestoredScores | str] = {}
        with tempfile.TemporaryDirectory(prefix="farm-monitors-") as name:
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
        system = self._trials[0].system
        described = {
            str(i): {"target": one.target, "name": one.given.name, "arguments": one.arguments}
            for i, one in enumerate(self._trials)
            if i in numbers
        }
        job = {
            "path": sys.path,
            "system": system.recipe,
            "digest": system.classifier.digest,
            "monitors": described,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", __name__, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"it ended with code {done.returncode} ({last})"


def _state(trial: Trial) -> State | None:
    """Return a trial's state; none where it cannot be made there, which is another rule's finding."""
    try:
        return trial.first.monitor.state if _not_found_there(trial) is None else None
    except Exception:  # noqa: BLE001
        return None


def _not_found_there(trial: Trial) -> str | None:
    """Say why a new process could not make this monitor."""
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


def _read(folder: Path, i: int) -> RestoredScores | str | None:
    if not (path := folder / f"answer-{i}.npz").exists():
        return None
    told = read_npz(path)
    if "failure" in told:
        return str(told["failure"])
    return RestoredScores(told["scores"].astype(np.float64, copy=False), "in a new process")


def serve(folder: Path) -> None:
    """Do the job in a folder: restore each monitor, score, and write the scores, or why there are none."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    sys.path[:] = job["path"]
    system = SmallSystem(**job["system"])
    same = system.classifier.digest == job["digest"]
    for i, described in job["monitors"].items():
        try:
            if not same:
                raise ComponentFailure("the small system's classifier came out otherwise")
            told = {"scores": _score(described, read_npz(folder / f"state-{i}.npz"), system)}
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others from their scores
            told = {"failure": np.array(str(error) if isinstance(error, FarmError) else one_line(error))}
        write_arrays(folder / f"answer-{i}.npz", told)


def _score(described: Mapping[str, Any], state: State, system: SmallSystem) -> FloatArray:
    cls = registry.import_target(described["target"], f"monitor '{described['name']}'")
    monitor: Monitor = cls(**described["arguments"])
    monitor.name = described["name"]
    monitor.restore(state, system.classifier)
    trial = Trial(monitor, system, Elsewhere())
    return trial.score(monitor, trial.observed.sample)


if __name__ == "__main__":
    with limited_threads(1):
        serve(Path(sys.argv[1]))
