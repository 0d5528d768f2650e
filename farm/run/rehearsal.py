"""A dry run of an experiment: all data opened, all components made, nothing trained and nothing kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from farm.api import Cache, Classifier, ModelSource, Progress, Stream, Workload
from farm.config.experiment import Experiment
from farm.errors import ComponentFailure, ExperimentError
from farm.run.builder import BuildMistakes, Components, build
from farm.run.execution import NoClassifier, layers_there, stream_of
from farm.run.fallback import check_second
from farm.run.fitting import batch_size, kept_in, union_of_layers
from farm.run.loading import importable
from farm.run.needs import Given, check_some_run, unmet
from farm.run.outliers import check_rules
from farm.run.testbed import Testbed, finite_length
from farm.store.threads import limited_threads

P = ParamSpec("P")
R = TypeVar("R")


def rehearse(
    experiment: Experiment, folder: Path, *, cache: Cache | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Do all of an experiment that needs no training, and return what is known of the rest, as JSON.

    All mistakes are told at once. A classifier that is trained here is made untrained, where its model can
    do that: layers, gradients and shapes are there, and only its answers mean nothing. `not_told` says what
    remains to be seen.
    """
    bed = Testbed(
        experiment.seed,
        threads=experiment.threads,
        folder=folder,
        cache=cache,
        progress=progress,
        untrained=True,
    )
    with importable(folder), limited_threads(experiment.threads):
        components = build(experiment, bed.context)
        mistakes = BuildMistakes()
        workload = _made(mistakes, "workload", bed.workload, components.workload)
        if workload is None:
            mistakes.tell()
            raise AssertionError("a workload that was not made is a mistake")
        classifier = _made(mistakes, "classifier", bed.untrained, components.classifier, workload)
        mistakes.tell()  # whatever follows looks at the classifier
        return _Rehearsal(experiment, components, bed, workload, classifier, mistakes).told()


def _made(
    mistakes: BuildMistakes, place: str, make: Callable[P, R], *arguments: P.args, **more: P.kwargs
) -> R | None:
    """Make something; what fails of a user's code would end the run, and so is a mistake here."""

    def made() -> R:
        try:
            return make(*arguments, **more)
        except ComponentFailure as failure:
            raise ExperimentError(str(failure)) from failure

    return mistakes.made(place, made)


class _Rehearsal:
    def __init__(
        self,
        experiment: Experiment,
        components: Components,
        bed: Testbed,
        workload: Workload,
        classifier: Classifier | None,
        mistakes: BuildMistakes,
    ) -> None:
        self._experiment, self._components, self._bed = experiment, components, bed
        self._workload, self._classifier, self._mistakes = workload, classifier, mistakes
        self._not_told: list[str] = []
        self._left_out: dict[str, str] = {}

    def told(self) -> dict[str, Any]:
        """Check what can be checked; return what there is, and what it takes."""
        source = self._components.classifier
        if source.trained_here:
            self._not_told.append(f"how long '{source.name}' takes to train, unless it is in the cache")
        if self._classifier is None:
            self._not_told.append(
                f"whether '{source.name}' gives what monitors need: only its training shows"
            )
        else:
            self._check_monitors(self._classifier)
        stream = self._stream()
        estimate = self._estimate(stream)
        self._mistakes.tell()
        self._not_told.append(
            "how long monitors take to fit and to score, and the memory that they need for it"
        )
        workload = self._workload
        return {
            "name": self._experiment.name,
            "workload": {
                "name": workload.name,
                "classes": list(workload.classes),
                "shape": list(workload.shape),
                "images": {split.name: len(split) for split in workload.splits},
                "notes": dict(workload.notes),
            },
            "classifier": {"name": source.name, "trained_here": source.trained_here},
            "monitors": [
                {"name": one.name, "layers": list(one.monitor.needs.layers)}
                for one in self._components.monitors
                if one.name not in self._left_out
            ],
            "left_out": self._left_out,
            "stream": stream and {**stream.provenance, "length": stream.length},
            "estimate": estimate,
            "not_told": self._not_told,
        }

    def _check_monitors(self, classifier: Classifier) -> None:
        _made(self._mistakes, "layers", layers_there, self._experiment, classifier)
        monitors = [one.monitor for one in self._components.monitors]
        learns_from = self._components.validation_fault
        model = self._components.classifier
        self._left_out = unmet(monitors, classifier, Given(learns_from is not None, model))
        rules = {one.name: one.calibration for one in self._components.monitors}
        conditions = self._workload.validation.conditions
        _made(self._mistakes, "calibration", check_rules, rules, learns_from is not None, conditions)
        if learns_from is not None:
            _made(
                self._mistakes,
                "validation_fault",
                self._bed.outliers,
                learns_from,
                self._workload,
                classifier,
            )
        _made(self._mistakes, "monitors", check_some_run, monitors, self._left_out)
        for number, one in enumerate(self._components.monitors):
            if isinstance(one.fallback, ModelSource):
                _made(self._mistakes, f"monitors.{number}", self._check_fallback, one.fallback, classifier)

    def _check_fallback(self, source: ModelSource, first: Classifier) -> None:
        if (second := self._bed.untrained(source, self._workload)) is not None:
            check_second(second, first, f"fallback '{source.name}'")

    def _stream(self) -> Stream | None:
        """Make the stream; None, and the reason, where that needs what is not there yet."""
        components, classifier = self._components, self._classifier
        if classifier is None:
            asking = [fault.rule.name for fault in components.faults if fault.rule.uses_classifier]
            if asking:
                self._not_told.append(f"what stream there is: {', '.join(asking)} asks the classifier")
                components = replace(
                    components, faults=[one for one in components.faults if not one.rule.uses_classifier]
                )
            stream = self._made_stream(components, NoClassifier(self._workload))
            return None if asking else stream
        return self._made_stream(components, classifier)

    def _made_stream(self, components: Components, classifier: Classifier) -> Stream | None:
        def make() -> Stream:
            made = stream_of(self._experiment, components, self._bed, self._workload, classifier)
            finite_length(made)
            made.guard(self._workload)
            return made

        return _made(self._mistakes, "stream", make)

    def _estimate(self, stream: Stream | None) -> dict[str, Any]:
        """Tell what the classifier's passes take, by one over a few training images.

        Monitors are fitted on one pass over training and validation data, of which outputs and layers are
        kept; then the stream comes, batch by batch.
        """
        nothing = {"seconds": None, "nbytes": None, "folder": None}
        if self._classifier is None or stream is None or stream.length is None:
            return nothing
        train, fitted_on = self._workload.train, len(self._workload.train) + len(self._workload.validation)
        layers = union_of_layers(
            one.monitor for one in self._components.monitors if one.name not in self._left_out
        )
        per_image, nbytes = _pass(self._classifier, train.images.read, batch_size(train), layers)
        n = min(len(train), self._experiment.batch_size)
        in_stream, _ = _pass(self._classifier, train.images.read, n, layers)
        kept = round(nbytes * fitted_on)
        folder = _made(self._mistakes, "layers", kept_in, fitted_on, kept)
        return {
            "seconds": round(per_image * fitted_on + in_stream * stream.length, 3),
            "nbytes": kept,
            "folder": None if folder is None else str(folder),
        }


def _pass(
    classifier: Classifier, read: Callable[[Any], Any], n: int, layers: Sequence[str]
) -> tuple[float, float]:
    """Return the seconds an image that a pass takes, and the bytes an image that are kept of it."""
    images = read(np.arange(n))
    classifier.observe(images[:1], layers)  # warmed up
    started = time.perf_counter()
    seen = classifier.observe(images, layers)
    seconds = time.perf_counter() - started
    kept = [seen.probabilities, seen.logits, *seen.activations.values()]
    return seconds / n, sum(array.nbytes for array in kept if array is not None) / n
