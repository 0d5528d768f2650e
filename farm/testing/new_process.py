"""Restoring fitted monitors in a new process, from arrays saved without pickle, and scoring there.

One process serves all monitors that are on trial together: starting it takes longer than all the rest. What
it is told goes through a folder: a job as JSON, and a file of arrays for each monitor's state and scores.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import FloatArray, Monitor, State
from farm.errors import ComponentFailure, FarmError, one_line
from farm.testing.small_system import SmallSystem
from farm.testing.trial import Trial
from farm.threads import limited_threads

PATIENCE = 600.0
"""Seconds until a process that does not end is given up."""


@dataclass(frozen=True)
class Answer:
    """The scores of a restored monitor, and where it was restored."""

    scores: FloatArray
    where: str
    remark: str | None = None


class Elsewhere:
    """The new process. It is started when the first answer is asked for, with all trials known by then."""

    def __init__(self) -> None:
        self._trials: list[Trial] = []
        self._answers: dict[int, Answer | str] | None = None

    def add(self, trial: Trial) -> None:
        """Have a trial's monitor restored there, too."""
        self._trials.append(trial)

    def answer(self, trial: Trial) -> Answer:
        """Give the scores of this trial's monitor, or raise what went wrong with it."""
        if (reason := _not_found_there(trial)) is not None:
            return _in_this_process(trial, reason)
        if self._answers is None or self._trials.index(trial) not in self._answers:
            self._answers = self._run()
        answer = self._answers[self._trials.index(trial)]
        if isinstance(answer, str):
            raise ComponentFailure(f"in a new process: {answer}")
        return answer

    def _run(self) -> dict[int, Answer | str]:
        states = {i: _state(trial) for i, trial in enumerate(self._trials)}
        waiting = [i for i, state in states.items() if state is not None]
        answers: dict[int, Answer | str] = {}
        with tempfile.TemporaryDirectory(prefix="farm-monitors-") as name:
            folder = Path(name)
            for i in waiting:
                save_arrays(folder / f"state-{i}.npz", states[i] or {})
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
        job = {
            "path": sys.path,
            "system": system.recipe,
            "digest": system.classifier.digest,
            "monitors": {str(i): _description(self._trials[i]) for i in numbers},
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", __name__, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"it ended with code {done.returncode} ({last})"


def save_arrays(path: Path, arrays: State) -> None:
    """Save named arrays; their names may be any text."""
    np.savez(path, np.array(list(arrays), dtype=np.str_), *arrays.values())


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Load what was saved so."""
    with np.load(path, allow_pickle=False) as found:
        return {str(name): found[f"arr_{i}"] for i, name in enumerate(found["arr_0"], start=1)}


def _state(trial: Trial) -> State | None:
    """Give a trial's state; none where it cannot be fitted or made there, which is another rule's finding."""
    try:
        return trial.first.monitor.state if _not_found_there(trial) is None else None
    except Exception:  # noqa: BLE001
        return None


def _description(trial: Trial) -> dict[str, Any]:
    cls = type(trial.given)
    return {
        "module": cls.__module__,
        "class": cls.__qualname__,
        "name": trial.given.name,
        "arguments": trial.arguments,
    }


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


def _in_this_process(trial: Trial, reason: str) -> Answer:
    with tempfile.TemporaryDirectory(prefix="farm-monitors-") as name:
        path = Path(name) / "state.npz"
        save_arrays(path, trial.first.monitor.state)
        restored = trial.make().restore(load_arrays(path), trial.system.classifier)
    scores = trial.score(restored, trial.observed.sample)
    return Answer(scores, "from a file", f"restored in this process only, since {reason}")


def _read(folder: Path, i: int) -> Answer | str | None:
    if (failed := folder / f"failed-{i}.txt").exists():
        return failed.read_text(encoding="utf-8")
    if not (path := folder / f"scores-{i}.npz").exists():
        return None
    return Answer(load_arrays(path)["scores"], "in a new process")


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
            scores = _score(described, load_arrays(folder / f"state-{i}.npz"), system)
            save_arrays(folder / f"scores-{i}.npz", {"scores": scores})
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others from their scores
            told = str(error) if isinstance(error, FarmError) else one_line(error)
            (folder / f"failed-{i}.txt").write_text(told, encoding="utf-8")


def _score(described: Mapping[str, Any], state: State, system: SmallSystem) -> FloatArray:
    cls = getattr(importlib.import_module(described["module"]), described["class"])
    monitor: Monitor = cls(**described["arguments"])
    monitor.name = described["name"]
    monitor.restore(state, system.classifier)
    trial = Trial(monitor, system, Elsewhere())
    return trial.score(monitor, trial.observed.sample)


if __name__ == "__main__":
    with limited_threads(1):
        serve(Path(sys.argv[1]))
