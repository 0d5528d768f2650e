"""Training a GAN beside a frozen surrogate: its losses, one step, the checks, and the sheet of its images."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from farm.api import JSON, Classifier, Context, IntArray, Split, State, derived_seed
from faultloads._gan_modules import Discriminator, Generator
from faultloads._gan_settings import GanSettings

CLIP = 0.01
"""So far may the weights of a critic's convolutions be from 0, as in the Wasserstein paper."""
PROBED = 960
"""So many generated images, always of the same noise, are looked at in each check."""
CHUNK = 240


def unsure_loss(logits: Tensor) -> Tensor:
    """Return KL(uniform || surrogate), averaged over images: 0 where the surrogate has no idea."""
    return -F.log_softmax(logits, dim=1).mean() - math.log(logits.shape[1])


def discriminator_loss(real: Tensor, drawn: Tensor, loss: str) -> Tensor:
    """Return what the discriminator, or the critic of a WGAN, makes small."""
    if loss == "wgan":
        return drawn.mean() - real.mean()
    return F.softplus(-real).mean() + F.softplus(drawn).mean()


def generator_loss(drawn: Tensor, loss: str, *, inverted: bool) -> Tensor:
    """Return what the generator makes small: to be taken for real or, inverted, to be told from real."""
    towards_real = -drawn if inverted else drawn
    return -towards_real.mean() if loss == "wgan" else F.softplus(-towards_real).mean()


class GanTrainer:
    """A generator, a discriminator and their optimisers, which the same seed trains to the same bits."""

    def __init__(
        self, settings: GanSettings, split: Split, classes: int, surrogate: Classifier | None, seed: int
    ) -> None:
        self._settings, self._split, self._surrogate = settings, split, surrogate
        self._classes, self._seed = classes, seed
        shape = split.images.shape
        # Of its own generator: torch's global one is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, settings.name, "weights"))
            self.generator = Generator(shape, classes, settings.width, settings.latent)
            self.discriminator = Discriminator(shape, classes, settings.width)
        self._adams = [
            torch.optim.Adam(module.parameters(), settings.learning_rate, betas=(0.5, 0.999))
            for module in (self.generator, self.discriminator)
        ]
        self._rng = self._random("training")

    def train(self, n: int, context: Context) -> State:
        """Train until the rule is met or the epochs are over.

        Return the `curve`, a row a check: epoch, what the rule looks at, mean losses of the generator and of
        the discriminator; the epoch in which it `diverged`, or 0; and n `images`, where it did not fail.
        """
        rule, curve = self._settings.rule, np.empty((0, 4))
        best = self.generator.state_dict()
        epochs = context.progress.track(range(self._settings.epochs), f"training {self._settings.name}")
        for at, rounds in ((e + share, part) for e in epochs for share, part in self._parts()):
            losses = np.mean([self.learn(one) for one in rounds], axis=0)
            row = [at, self.measured(), *losses]
            if not np.isfinite(row).all():
                return {"curve": curve, "diverged": np.array(math.ceil(at))}
            curve = np.vstack([curve, row])
            values = curve[:, 1].tolist()
            if rule.kept(values) == len(values) - 1:
                best = copy.deepcopy(self.generator.state_dict())
            if rule.is_over(values):
                break
        outcome = {"curve": curve, "diverged": np.array(0)}
        if rule.failure(values, curve[:, 0].tolist()) is None:
            self.generator.load_state_dict(best)
            outcome["images"] = self.sheet(n)
        return outcome

    def learn(self, batches: Sequence[IntArray]) -> tuple[float, float]:
        """Take a step of the discriminator on each of these batches, then one of the generator.

        Return the generator's loss and the mean of the discriminator's.
        """
        self.generator.train()
        self.discriminator.train()
        told = [self._learn_to_tell(batch) for batch in batches]
        return self._learn_to_draw(batches[-1]), float(np.mean(told))

    def _learn_to_tell(self, batch: IntArray) -> float:
        settings, labels = self._settings, self._labels(batch)
        images = torch.from_numpy(np.require(self._split.images.read(batch), requirements=["C", "W"]))
        with torch.no_grad():
            drawn = self.generator(self._noise(len(batch)), labels)
        loss = discriminator_loss(
            self.discriminator(images, labels), self.discriminator(drawn, labels), settings.loss
        )
        self._adams[1].zero_grad(set_to_none=True)
        loss.backward()
        self._adams[1].step()
        if settings.loss == "wgan":
            with torch.no_grad():
                for weights in self.discriminator.convolutions.parameters():
                    weights.clamp_(-CLIP, CLIP)
                # Less narrowly: else scores shrink to nothing beside the surrogate's term, layer by layer.
                for weights in self.discriminator.norms.parameters():
                    weights.clamp_(-1, 1)
        return float(loss.detach())

    def _learn_to_draw(self, batch: IntArray) -> float:
        settings, labels = self._settings, self._labels(batch)
        drawn = self.generator(self._noise(len(batch)), labels)
        score = self.discriminator(drawn, labels)
        loss = generator_loss(score, settings.loss, inverted=settings.inverted)
        if self._surrogate is not None:  # else this is to be timed, for a dry run
            logits = self._surrogate.differentiable(drawn)
            own = F.cross_entropy(logits, labels) if settings.inverted else unsure_loss(logits)
            loss = loss + settings.weight * own
        self._adams[0].zero_grad(set_to_none=True)
        loss.backward()
        self._adams[0].step()
        return float(loss.detach())

    def measured(self) -> float:
        """Return what the rule looks at, of images that are drawn anew from the same noise."""
        assert self._surrogate is not None, "without a surrogate nothing is trained"
        images, asked = self._drawn(PROBED, "probe")
        with torch.no_grad():
            parts = [self._surrogate.differentiable(part) for part in images.split(CHUNK)]
        logits = torch.cat(parts).double()
        if self._settings.rule.measure == "accuracy":
            # A comparison with what is no number is false, which would pass for an accuracy.
            right = (logits.argmax(dim=1) == asked).double().mean()
            return float(right) if bool(torch.isfinite(logits).all()) else math.nan
        return float(F.cross_entropy(logits, asked))

    def sheet(self, n: int) -> NDArray[np.uint8]:
        """Draw n images at 8 bits, the classes one after another."""
        images, _ = self._drawn(n, "sheet")
        return (images * 255).round().to(torch.uint8).numpy()

    def seconds(self) -> float:
        """Estimate how long a training takes at most: warmed up, two rounds are timed."""
        rounds = [one for _, part in self._parts() for one in part]
        self.learn(rounds[0])
        started = time.perf_counter()
        for number in range(2):
            self.learn(rounds[number % len(rounds)])
        return (time.perf_counter() - started) / 2 * len(rounds) * self._settings.epochs

    def _drawn(self, n: int, what: str) -> tuple[Tensor, Tensor]:
        self.generator.eval()
        rng, asked = self._random(what), torch.arange(n) % self._classes
        noise = torch.randn(n, self._settings.latent, generator=rng)
        parts = zip(noise.split(CHUNK), asked.split(CHUNK), strict=True)
        with torch.no_grad():
            return torch.cat([self.generator(*part) for part in parts]), asked

    def _parts(self) -> Iterator[tuple[float, list[list[IntArray]]]]:
        """Cut an epoch into the parts after which there is a check: rounds of batches in random order."""
        settings, n = self._settings, len(self._split)
        order = torch.randperm(n, generator=self._rng).numpy()
        size = min(settings.batch_size, n)
        # What is left of the last batch may be an image alone, which has no spread to normalise it by.
        batches = [order[start : start + size] for start in range(0, n - size + 1, size)]
        steps = settings.critic_steps if settings.loss == "wgan" else 1
        rounds = [batches[start : start + steps] for start in range(0, len(batches), steps)]
        checks = min(settings.checks, len(rounds))
        for check in range(checks):
            first, end = (len(rounds) * one // checks for one in (check, check + 1))
            yield (check + 1) / checks, rounds[first:end]

    def _labels(self, batch: IntArray) -> Tensor:
        return torch.from_numpy(self._split.labels[batch].astype(np.int64))

    def _noise(self, n: int) -> Tensor:
        return torch.randn(n, self._settings.latent, generator=self._rng)

    def _random(self, what: str) -> torch.Generator:
        return torch.Generator().manual_seed(derived_seed(self._seed, self._settings.name, what))


@contextmanager
def threads_held(threads: int) -> Iterator[None]:
    """Hold torch to the thread count that the images are kept under, whoever asks for them."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def versions() -> dict[str, JSON]:
    """Return what else decides the last bits of an image."""
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "arithmetic": torch.backends.cpu.get_cpu_capability(),
    }
