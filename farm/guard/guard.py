"""A classifier with its monitor, policy and fallback, ready to decide on images one after another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import (
    Cache,
    Cancel,
    Classifier,
    EngineName,
    Explanation,
    Monitor,
    Observation,
    Policy,
    Progress,
    State,
    StrArray,
    check_choice,
)
from farm.api.component import another
from farm.errors import ExperimentError, FarmError
from farm.guard.images import AnyImage, Input, as_inputs, as_tracks
from farm.guard.own_code import OwnCode
from farm.run.fallback import (
    LAST,
    Fallback,
    LastAccepted,
    NoFallback,
    SecondClassifier,
    another_fallback,
    cancelled_by,
    labels_by,
    safely,
)
from farm.run.needs import check_engine_of
from farm.store.threads import ThreadLimit

if TYPE_CHECKING:
    from farm.config.experiment import Experiment

BATCH = 64
"""Of several images given at once, so many go through the classifier together."""
WARM_UP = 3


@dataclass(frozen=True)
class Decision:
    """What became of one image."""

    accepted: bool
    label: str | None
    """The class to act upon: the prediction, or where it is cancelled what the fallback says, if anything."""
    predicted: str
    confidence: float
    score: float
    threshold: float
    alarm: bool
    why: str
    """One line about a cancelled prediction or an alarm; empty where there is nothing to say."""
    explanation: Explanation
    classifier_time_us: float
    monitor_time_us: float
    notes: tuple[str, ...] = ()
    """What to know of the image itself, such as that it was stretched a lot to the classifier's size."""

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "explanation": self.explanation.record(), "notes": list(self.notes)}


class Guard:
    """Decides on images: accepts the classifier's prediction, or cancels it.

    Calls in sequence are a stream: a policy and a monitor that looks back remember what came before, until
    `restart`. What looks back within tracks (a policy with `within: track`, the fallback `last`, the monitor
    `flicker`) needs to be told which images show one object, as `track`; without it each image stands alone.
    A monitor that looks back sees images one at a time, any other up to 64 together. Calls from several
    threads come one after another; a stream of its own for each of them is a `session`.

    Parameters
    ----------
    classifier, monitor
        The monitor is fitted on this classifier, and calibrated.
    shape
        Channels, height and width of the classifier's images, as its workload has them.
    policy, fallback
        What follows an alarm, and what takes a cancelled prediction's place: nothing, if not given.
    threads
        How many threads numerical libraries may use while it decides.
    provenance
        What is to be kept with it: data, experiment, versions.
    code
        The user's own modules that the components come from.

    Examples
    --------
    >>> from farm.api import Context
    >>> from farm.run.fitting import fit_monitors
    >>> from farm.testing.fakes import FakeMonitor, TinyModel, tiny_workload
    >>> workload = tiny_workload()
    >>> classifier, monitor = TinyModel().classifier(workload, Context()), FakeMonitor(name="doubt")
    >>> fit_monitors([monitor], classifier, workload)
    {}
    >>> guard = Guard(classifier, monitor, shape=workload.shape)
    >>> black = guard(np.zeros((8, 8, 3), np.uint8))
    >>> black.accepted, black.score > black.threshold, black.why
    (False, True, 'the score is above the threshold')
    >>> [decision.accepted for decision in guard(np.zeros((2, *workload.shape), np.float32))]
    [False, False]
    >>> guard
    Guard(classifier='tiny-model', monitor='doubt', takes one image (3 x 8 x 8) or a batch (N x 3 x 8 x 8))
    """

    def __init__(
        self,
        classifier: Classifier,
        monitor: Monitor,
        *,
        shape: tuple[int, int, int],
        policy: Policy | None = None,
        fallback: Fallback | None = None,
        threads: int = 1,
        provenance: Mapping[str, Any] | None = None,
        code: OwnCode | None = None,
    ) -> None:
        self.classifier, self.monitor = classifier, monitor
        self.shape = (shape[0], shape[1], shape[2])
        self.policy = Cancel() if policy is None else policy
        self.fallback: Fallback = NoFallback() if fallback is None else fallback
        self.threads = threads
        self.provenance = dict(provenance or {})
        self.code = code or OwnCode(Path())
        self.notes: tuple[str, ...] = ()
        """What to know of its decisions: what differs between here and where it was fitted and may change
        scores, and after a call without a track, who missed it."""
        self.fitted_on: tuple[Mapping[str, Any], State] | None = None
        """Record and arrays of the engine on which the monitor was fitted, where it runs on another one."""
        self._needs = monitor.needs
        self._layers = self._needs.observed
        self._limit = ThreadLimit(threads)
        self._turn = RLock()
        """Whose turn it is, among all sessions too: they share the network's hooks and a limit of threads."""
        self._seen = 0
        self._noted = False
        self._check()

    @classmethod
    def fit(
        cls,
        experiment: Experiment | str | Path,
        *,
        monitor: str | None = None,
        overrides: Sequence[str] = (),
        folder: Path | str = ".",
        cache: Cache | None = None,
        progress: Progress | None = None,
        engine: EngineName | None = None,
    ) -> Guard:
        """Fit what an experiment says, up to one of its monitors; nothing of its stream is made.

        Parameters
        ----------
        experiment
            A file, the name of one that ships with the testbed, or an experiment made from values.
        monitor
            Which of its monitors; may be left out where there is one.
        overrides
            Keys of the file to set, such as `monitors.0.tau=0.1`.
        folder
            Where relative paths and the user's modules are looked for, if the experiment is no file.
        cache, progress
            As for `Testbed`.
        engine
            What runs the network: `onnx`, `compiled` or `eager`; without it what the experiment says, or
            else `auto`, which is onnx where that gives what the network gives.
        """
        # Here, because nobody who loads a guard fits one.
        from farm.guard.fitting import fit_guard

        return fit_guard(experiment, Path(folder), monitor, overrides, cache, progress, engine)

    @classmethod
    def load(cls, folder: Path | str, *, engine: EngineName = "auto") -> Guard:
        """Read a guard's folder, checking that it is complete and unchanged.

        Loading runs the Python files below the folder's `code/`, the own modules of whoever fitted it, and
        makes what `guard.json` names. Checksums find damage, not bad intent, since whoever changes a file
        can change them as well: load only guards that you trust.

        Its network runs on the engine on which the monitor was fitted, or eager where that is asked for or
        the other one cannot run here; then `notes` say so, since scores differ in their last digits.
        """
        from farm.guard.folder import load_guard

        return load_guard(Path(folder), engine)

    def save(self, folder: Path | str) -> Path:
        """Write everything to a new folder, whole or not at all."""
        from farm.guard.folder import save_guard

        return save_guard(self, Path(folder))

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.shape))
        names = f"classifier={self.classifier.name!r}, monitor={self.monitor.name!r}"
        return f"Guard({names}, takes one image ({size}) or a batch (N x {size}))"

    @overload
    def __call__(  # type: ignore[overload-overlap] # a text is one image, not many letters
        self, image: str | Path | Image.Image, track: str | None = None, *, explain: str = "all"
    ) -> Decision: ...

    @overload  # of an array only its dimensions tell which, and no type tells these
    def __call__(
        self, image: NDArray[Any], track: Sequence[str] | str | None = None, *, explain: str = "all"
    ) -> Any: ...

    @overload
    def __call__(
        self,
        image: Sequence[AnyImage] | Iterable[AnyImage],
        track: Sequence[str] | str | None = None,
        *,
        explain: str = "all",
    ) -> list[Decision]: ...

    def __call__(
        self,
        image: AnyImage | Iterable[AnyImage],
        track: Sequence[str] | str | None = None,
        *,
        explain: str = "all",
    ) -> Decision | list[Decision]:
        """Decide on one image, or on a batch, whose images are taken for consecutive ones of a stream.

        Parameters
        ----------
        image
            One image: a file, a Pillow image, a uint8 array H x W x C or H x W, or a float32 array C x H x W
            in [0, 1] of the classifier's own size. Or a batch: an array with one dimension more (N first),
            or a list or any iterable of images.
        track
            Which object is seen, for what looks back within tracks: a name for all these images, or one
            for each. A name that came before goes on where it ended. Without it each image stands alone.
        explain
            Which decisions are explained: `all`, those `cancelled` or with an alarm, or `none`. It takes
            time of its own.

        Returns
        -------
        Decision or list of Decision
            A `Decision` where one image was given; a list, with one for each in their order, where a batch
            was, though it be of one image or none.
        """
        check_choice("explain", explain, ("all", "cancelled", "none"))
        inputs, single = as_inputs(image, self.shape)
        tracks = as_tracks(track, len(inputs))
        size = 1 if self._needs.order else BATCH
        decisions: list[Decision] = []
        with self._turn, self._limit.held(), self.code:
            if track is None and not self._noted:
                self._noted = True
                self.notes += (self.untracked,) if self.untracked else ()
            for start in range(0, len(inputs), size):
                rows = slice(start, start + size)
                decisions += self._decide(inputs[rows], None if tracks is None else tracks[rows], explain)
        return decisions[0] if single else decisions

    @property
    def untracked(self) -> str:
        """What a call without `track` means here, in a sentence; empty where it makes no difference."""
        who = [f"policy '{self.policy.name}'"] if self.policy.parameters.get("within") == "track" else []
        if isinstance(self.fallback, LastAccepted):
            who.append(f"fallback '{LAST}'")
        if self.monitor.needs.order:  # which does not say whether it minds tracks: a frozen camera has none
            who.append(f"monitor '{self.monitor.name}' (if it goes by tracks)")
        return f"no track is given: each image stands alone for {', '.join(who)}" if who else ""

    def session(self) -> Guard:
        """Return a guard for another stream: over the same classifier and fitted arrays, it begins anew.

        It decides as a guard that was loaded for this stream alone. What remembers is its own: policy,
        fallback, and a monitor that looks back, with a copy of its arrays since it may write to them. Any
        other monitor is shared. Calls of all sessions come one after another.
        """
        own = copy(self)
        with self._turn, self._limit.held(), self.code:
            if self.monitor.needs.order:
                arrays = {name: array.copy() for name, array in self.monitor.state.items()}
                own.monitor = safely(f"monitor '{self.monitor.name}'", another, self.monitor)
                own.monitor.restore(arrays, self.monitor.classifier, self.monitor.calibration)
            own.policy = safely(f"policy '{self.policy.name}'", another, self.policy)
            own.fallback = safely("the fallback", another_fallback, self.fallback)
            own.notes = tuple(note for note in self.notes if note != self.untracked)
            own._noted = False
        own.restart()
        return own

    def restart(self) -> None:
        """Forget what came before: a new stream begins."""
        with self._turn, self.code:
            self.monitor.restart()
            safely(f"policy '{self.policy.name}'", self.policy.reset)
            safely("the fallback", self.fallback.reset)
            self._seen = 0

    def warm_up(self) -> None:
        """Decide on a black image and forget it, so that the first real decision is as fast as the next."""
        black = Input(np.zeros(self.shape, np.float32))
        with suppress(FarmError), self._turn, self._limit.held(), self.code:
            for _ in range(WARM_UP):
                self._decide([black], None, "all")
            # Nothing of it may be cancelled, and of a later image something.
            seen = self.classifier.observe(black.image[None])
            everything = np.ones(1, np.bool_)
            labels_by(self.fallback, everything, seen, everything)
        self.restart()

    def _decide(self, inputs: Sequence[Input], track: StrArray | None, explain: str) -> list[Decision]:
        images = np.array([one.image for one in inputs])  # a copy: what the caller has may change later
        n = len(images)
        ids = np.array([str(number) for number in range(self._seen, self._seen + n)])
        self._seen += n
        start = time.perf_counter_ns()
        members = self._needs.members
        seen = self.classifier.observe(images, self._layers, ids=ids, track=track, members=members)
        elapsed = time.perf_counter_ns() - start
        verdict = self.monitor.judge(seen)
        cancelled = cancelled_by(self.policy, verdict, seen)
        labels = labels_by(self.fallback, cancelled, seen, verdict.alarms)
        classes = self.classifier.classes
        given = verdict.thresholds
        thresholds = given.tolist() if isinstance(given, np.ndarray) else [given] * n
        columns = verdict.alarms, cancelled, labels, seen.predicted, seen.confidence, verdict.scores
        rows = zip(*(column.tolist() for column in columns), thresholds, strict=True)
        decisions = []
        for i, (alarm, off, decided, predicted, confidence, score, threshold) in enumerate(rows):
            told = explain == "all" or (explain == "cancelled" and (alarm or off))
            explanation = self._explain(seen, i) if told else Explanation()
            label = None if decided < 0 else classes[decided]
            decisions.append(
                Decision(
                    accepted=not off,
                    label=label,
                    predicted=classes[predicted],
                    confidence=confidence,
                    score=score,
                    threshold=threshold,
                    alarm=alarm,
                    why=self._why(alarm, off, label, explanation),
                    explanation=explanation,
                    classifier_time_us=elapsed / 1e3 / n,
                    monitor_time_us=verdict.nanoseconds / 1e3 / n,
                    notes=inputs[i].notes,
                )
            )
        return decisions

    def _explain(self, seen: Observation, i: int) -> Explanation:
        try:
            one = seen if len(seen) == 1 else seen.take(slice(i, i + 1))
            (explanation,) = self.monitor.explain(one)
        except FarmError as error:  # the decision stands, whether or not somebody can say why
            return Explanation(reason=f"not explained: {error}")
        return explanation

    def _why(self, alarm: bool, cancelled: bool, label: str | None, explanation: Explanation) -> str:
        if not alarm and not cancelled:
            return ""
        if alarm:
            told = explanation.reason or "the score is above the threshold"
            if not cancelled:
                told += f"; policy '{self.policy.name}' lets it pass"
        else:
            told = f"no alarm, but policy '{self.policy.name}' cancels after earlier ones"
        if cancelled and label is not None:
            told += f"; fallback: '{label}'"
        return told

    def _check(self) -> None:
        who = f"monitor '{self.monitor.name}'"
        _ = self.monitor.calibration  # raises where there is none
        fitted_on = self.monitor.classifier
        same = getattr(fitted_on, "inner", fitted_on) is self.classifier
        if not same and fitted_on.digest != self.classifier.digest:
            raise ExperimentError(
                f"{who} was fitted on a classifier '{fitted_on.name}' with the digest {fitted_on.digest}; "
                f"the '{self.classifier.name}' given has {self.classifier.digest}, so other weights or "
                "code: give the classifier it was fitted on, or fit it on this one"
            )
        check_engine_of(self.monitor, self.classifier)
        if isinstance(self.fallback, SecondClassifier):
            second = self.fallback.classifier
            if second.classes != self.classifier.classes:
                raise ExperimentError(
                    f"fallback '{second.name}' counts other classes than classifier "
                    f"'{self.classifier.name}'; expected the same, in the same order"
                )
