"""What faultloads that draw by a GAN share: they train it once, keep what it drew, and tell how that went."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import (
    JSON,
    NO_ANSWER,
    ArrayImages,
    Classifier,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    Split,
    State,
    StrArray,
    check_number,
)
from farm.errors import ComponentFailure, DataError
from faultloads._gan_settings import GanSettings, in_short
from faultloads._gan_surrogate import accuracy_of, check_recipe, trained_surrogate

SAMPLES = 8
"""So many images are kept in the notes, for people to look at."""


class GanFaultload(Faultload):
    """Images that a GAN draws. It learns from the training split and from a frozen surrogate alone.

    What it draws is made once, and kept in the cache under all that made it; so is how a training failed.
    """

    category = "novelty"
    coherence = "track"  # what it is stays the same for as long as it is seen
    objects = "hidden"
    origin = "framework for robustness (Heindrich, 2020)"

    def _keep(
        self, settings: GanSettings, surrogate: str | Mapping[str, Any], seed: int | None, n: int | None
    ) -> None:
        if seed is not None:
            check_number("seed", seed, low=0, whole=True)
        if n is not None:
            check_number("n", n, low=1, whole=True)
        check_recipe(surrogate)
        self._settings, self._surrogate = settings, surrogate
        self._own_seed, self._n = seed, n

    def _prepare(self, context: FaultContext) -> FaultTargets:
        who, workload = f"faultload '{self.name}'", context.workload
        counts = np.bincount(workload.train.labels, minlength=len(workload.classes))
        if not counts.all():
            name = workload.classes[int(counts.argmin())]
            raise DataError(f"{who}: class '{name}' has no training image; expected some to learn it from")
        seed = context.base.seed if self._own_seed is None else self._own_seed
        n = len(context.split) if self._n is None else self._n
        surrogate = trained_surrogate(self._surrogate, context, seed, who)
        if context.base.untrained:
            images, notes = self._rehearsed(context, surrogate, seed, n)
        else:
            assert surrogate is not None, "only a dry run goes without"
            images, notes = self._drawn(context, surrogate, seed, n)
        ids = np.array([f"{self.name}/{number:05d}" for number in range(n)])
        labels = np.full(n, NO_ANSWER)
        return FaultTargets(
            split=Split(self.name, ArrayImages(images), labels, ids, ids),
            workload=self.name,
            indices=np.arange(n),
            labels=labels,
            category=np.full(n, self.category),
            notes={
                **notes,
                "sheet": hashlib.blake2b(images.tobytes(), digest_size=16).hexdigest(),
                "size": list(images.shape[2:]),
                "samples": _as_png(images[:SAMPLES]),
            },
        )

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids, severity, keys  # the fault is where the image comes from
        return Faulted(images, labels)

    def _drawn(
        self, context: FaultContext, surrogate: Classifier, seed: int, n: int
    ) -> tuple[NDArray[np.uint8], dict[str, JSON]]:
        """Train and draw, or find what was drawn; raise where the training failed, now or then."""
        from faultloads._gan_training import GanTrainer, threads_held, versions

        workload, base, settings = context.workload, context.base, self._settings
        who, rule = f"faultload '{self.name}'", settings.rule
        accuracy = accuracy_of(surrogate, workload, who)

        def make() -> State:
            with threads_held(base.threads):
                gan = GanTrainer(settings, workload.train, len(workload.classes), surrogate, seed)
                return gan.train(n, base)

        key: dict[str, JSON] = {
            "train": workload.train.content_hash,
            "classes": list(workload.classes),
            "settings": asdict(settings),
            "surrogate": surrogate.digest,
            "n": n,
            "seed": seed,
            "threads": base.threads,
            **versions(),
        }
        kept = base.cache.arrays(settings.name, key, make)
        curve, diverged = kept["curve"], int(kept["diverged"])
        values, epochs = curve[:, 1].tolist(), curve[:, 0].tolist()
        if diverged:
            raise ComponentFailure(
                f"{who}: its training diverged in epoch {diverged}, since when losses are no numbers "
                f"{in_short(values, epochs)}; set a learning_rate below {settings.learning_rate:g}"
            )
        if (failure := rule.failure(values, epochs)) is not None:
            raise ComponentFailure(f"{who}: {failure}")
        columns = ("epoch", rule.measure, "generator_loss", "discriminator_loss")
        chosen = rule.kept(values)
        notes: dict[str, JSON] = {
            "rule": {"measure": rule.measure, "limit": rule.limit},
            "curve": [dict(zip(columns, map(float, row), strict=True)) for row in curve.round(6)],
            "epochs": epochs[-1],
            "kept_check": chosen,
            f"kept_{rule.measure}": values[chosen],
            "seed": seed,
            "surrogate": surrogate.name,
            "surrogate_digest": surrogate.digest,
            "surrogate_accuracy": accuracy,
        }
        return np.asarray(kept["images"]), notes

    def _rehearsed(
        self, context: FaultContext, surrogate: Classifier | None, seed: int, n: int
    ) -> tuple[NDArray[np.uint8], dict[str, JSON]]:
        """Draw by weights that nobody trained, and estimate what training them takes at most."""
        from faultloads._gan_training import GanTrainer, threads_held

        workload, base = context.workload, context.base
        with threads_held(base.threads):
            gan = GanTrainer(self._settings, workload.train, len(workload.classes), surrogate, seed)
            images = gan.sheet(n)
            return images, {"untrained": True, "seconds": round(gan.seconds(), 3)}


def _as_png(images: NDArray[np.uint8]) -> str:
    """Return images, one below the other, as the text of a PNG file."""
    rows = images.transpose(0, 2, 3, 1).reshape(-1, images.shape[3], images.shape[1])
    file = io.BytesIO()
    Image.fromarray(rows[:, :, 0] if images.shape[1] == 1 else rows).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
