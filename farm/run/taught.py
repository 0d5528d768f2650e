"""Streams of what was learned from: to look at its activations and conditions, and to judge nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from farm.api import JSON, Monitor, Workload, check_choice
from farm.config.specs import TAUGHT, TEST
from farm.errors import ExperimentError
from farm.run.streams import BenchmarkStream


class TaughtStream(BenchmarkStream):
    """The instances of a workload's training or validation split, without any fault.

    Parameters
    ----------
    workload
        Gives the split.
    split
        `train` or `validation`.
    order, length, seed
        As for a stream of test instances.
    """

    def __init__(
        self,
        workload: Workload,
        split: str,
        *,
        order: str = "shuffled",
        length: int | None = None,
        seed: int = 0,
    ) -> None:
        check_choice("stream.split", split, TAUGHT)
        self._split = split
        own = workload.train if split == workload.train.name else workload.validation
        super().__init__(replace(workload, test=own), order=order, length=length, seed=seed)

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream, and that nobody is to be judged by it."""
        return {**super().provenance, "split": self._split}

    def guard(self, workload: Workload) -> None:
        """Let all images pass: whoever asks for them knows that they were learned from."""


def check_yardsticks(split: str, monitors: Iterable[Monitor]) -> None:
    """Raise where a monitor is to watch what it may have learned from."""
    for monitor in monitors:
        if split != TEST and not monitor.is_yardstick:
            raise ExperimentError(
                f"stream.split is '{split}', and monitor '{monitor.name}' is no yardstick: images that were "
                "learned from show nothing of a monitor; expected never, always or random alone (a campaign "
                "leaves others out of such cells with exclude: [{faultload: ..., monitor: ...}])"
            )
