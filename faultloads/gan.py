"""Novelty that a conditional GAN draws, after it was trained beside a surrogate of the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from farm.api import check_choice, check_number
from faultloads._gan_faultload import GanFaultload
from faultloads._gan_settings import LOSSES, GanSettings, StoppingRule

LEE_WEIGHTS = {"gan": 0.03, "wgan": 0.003}


class GanLee(GanFaultload):
    """Images that look a bit like in-distribution ones, but of which a surrogate classifier is unsure.

    The generator's loss is that of a GAN plus `weight` times KL(uniform || surrogate). Training stops when
    the surrogate takes so many of the images as `accuracy` says for the class asked for, and the best
    generator below that is kept.

    A WGAN's critic is kept smooth by clipping the weights of its convolutions to 0.01, and those of its
    normalisations to 1. The source names no device; this is that of the Wasserstein paper, which it cites,
    and it goes together with batch normalisation, as a gradient penalty, which looks at images one by one,
    does not.

    Parameters
    ----------
    loss
        `gan`, or `wgan`, the Wasserstein loss.
    accuracy
        Training stops when the surrogate's accuracy on generated images reaches this; None trains all epochs.
    epochs
        At most so many passes over the training data; where the accuracy is not reached then, it failed. It
        is steps that count: 1,800 signs of 30 classes took 2,200 of batch_size 32, learning_rate 5e-4.
    checks
        How often an epoch the surrogate is asked.
    width
        Filters of the generator's last hidden convolution and of the discriminator's first, others have up
        to 8 times as many; the source has 64.
    latent
        Numbers of noise that an image is drawn from; as many stand for its class.
    batch_size, learning_rate
        The optimisers' settings (Adam).
    weight
        Of the surrogate's term in the generator's loss. None takes 0.03 with a GAN, and 0.003 with a WGAN,
        whose scores are as small as its weights: with more, no image comes to look like anything.
    critic_steps
        Of a WGAN: steps of the critic for one of the generator; the Wasserstein paper has 5.
    surrogate
        The classifier to train beside: a model's name, or a mapping with its name and parameters.
    seed
        Of the training of GAN and surrogate; None takes the experiment's.
    n
        How many images; None makes as many as the split has.

    Examples
    --------
    >>> GanLee(loss="wgan").parameters["accuracy"]
    0.3
    """

    reference = (
        "Lee, Lee, Lee, Shin: Training confidence-calibrated classifiers for detecting OOD samples, 2018"
    )

    def __init__(
        self,
        *,
        loss: str = "gan",
        accuracy: float | None = 0.3,
        epochs: int = 60,
        checks: int = 1,
        width: int = 16,
        latent: int = 64,
        batch_size: int = 96,
        learning_rate: float = 2e-4,
        weight: float | None = None,
        critic_steps: int = 1,
        surrogate: str | Mapping[str, Any] = "four-convolutions",
        seed: int | None = None,
        n: int | None = None,
    ) -> None:
        if accuracy is not None:
            check_number("accuracy", accuracy, above=0, high=1)
        check_choice("loss", loss, LOSSES)
        chosen = LEE_WEIGHTS[loss] if weight is None else weight
        sizes = (epochs, checks, width, latent, batch_size, learning_rate, chosen, critic_steps)
        rule = StoppingRule("accuracy", accuracy)
        self._keep(GanSettings("gan-lee", rule, False, loss, *sizes), surrogate, seed, n)


class GanSricharan(GanFaultload):
    """Images that look like nothing known, but of which a surrogate classifier is sure.

    The generator's loss is that of a GAN inverted, so that it wants to be told from real images, plus
    `weight` times the cross-entropy of the surrogate with the class asked for, which goes to 0. Training
    stops when that is down to `classifier_loss`. A WGAN's critic has its weights clipped, as in `GanLee`.

    Parameters
    ----------
    loss
        `gan`, or `wgan`, the Wasserstein loss.
    classifier_loss
        Training stops when the surrogate's cross-entropy on generated images is no more than this; None
        trains all epochs.
    epochs
        At most so many passes over the training data; where the loss is not reached then, it failed.
    checks
        How often an epoch the surrogate is asked.
    width
        Filters of the generator's last hidden convolution and of the discriminator's first, others have up
        to 8 times as many; the source has 64.
    latent
        Numbers of noise that an image is drawn from; as many stand for its class.
    batch_size, learning_rate
        The optimisers' settings (Adam).
    weight
        Of the surrogate's term in the generator's loss.
    critic_steps
        Of a WGAN: steps of the critic for one of the generator; the Wasserstein paper has 5.
    surrogate
        The classifier to train beside: a model's name, or a mapping with its name and parameters.
    seed
        Of the training of GAN and surrogate; None takes the experiment's.
    n
        How many images; None makes as many as the split has.

    Examples
    --------
    >>> GanSricharan(loss="wgan", classifier_loss=None, epochs=2).parameters["classifier_loss"] is None
    True
    """

    reference = (
        "Sricharan, Srivastava: Building robust classifiers through generation of confident out of "
        "distribution examples, 2018"
    )

    def __init__(
        self,
        *,
        loss: str = "gan",
        classifier_loss: float | None = 0.005,
        epochs: int = 40,
        checks: int = 1,
        width: int = 16,
        latent: int = 64,
        batch_size: int = 96,
        learning_rate: float = 2e-4,
        weight: float = 1.0,
        critic_steps: int = 1,
        surrogate: str | Mapping[str, Any] = "four-convolutions",
        seed: int | None = None,
        n: int | None = None,
    ) -> None:
        if classifier_loss is not None:
            check_number("classifier_loss", classifier_loss, above=0)
        sizes = (epochs, checks, width, latent, batch_size, learning_rate, weight, critic_steps)
        rule = StoppingRule("classifier_loss", classifier_loss)
        self._keep(GanSettings("gan-sricharan", rule, True, loss, *sizes), surrogate, seed, n)
