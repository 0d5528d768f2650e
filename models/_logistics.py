"""A mixture of logistic distributions over the 256 values of a pixel, whose channels follow one another.

As in Salimans et al. 2017: values lie in [-1, 1], each has the integral of the density over its bin, and the
lowest and the highest have the tails too, so that the 256 probabilities sum to 1. A channel's means depend
linearly on the channels before it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

HALF_BIN = 1 / 255
SHARPEST, WIDEST = -7.0, 7.0
"""Of the logarithm of a scale; the sharpest has 97 % of its mass in one bin."""


class Mixture(NamedTuple):
    """The distribution of each pixel; the second dimension is the part of the mixture."""

    log_weights: Tensor
    """n x parts x height x width; exp of them sums to 1."""
    means: Tensor
    """n x parts x channels x height x width."""
    log_scales: Tensor
    """As the means."""
    coefficients: Tensor
    """n x parts x pairs of channels x height x width: G by R, then B by R, B by G."""


def n_parameters(channels: int, parts: int) -> int:
    """Return how many numbers a pixel's mixture takes.

    Examples
    --------
    >>> n_parameters(1, 5), n_parameters(3, 5)
    (15, 50)
    """
    return parts * (1 + 2 * channels + channels * (channels - 1) // 2)


def mixture(parameters: Tensor, channels: int, parts: int) -> Mixture:
    """Make mixtures of what a network gives: n x `n_parameters` x height x width.

    In double precision, since a sharp part's argument is a thousand times a pixel's value.
    """
    of_part = parameters.double().unflatten(1, (parts, -1))
    weights, means, scales, coefficients = of_part.split(
        [1, channels, channels, of_part.shape[2] - 1 - 2 * channels], dim=2
    )
    return Mixture(
        F.log_softmax(weights[:, :, 0], dim=1),
        means,
        scales.clamp(SHARPEST, WIDEST),
        torch.tanh(coefficients),
    )


def spread_out(bias: Tensor | None, channels: int, parts: int) -> None:
    """Let the parts of a mixture begin over the whole range; those that begin alike are slow to part."""
    if bias is not None:
        of_part = bias.detach().unflatten(0, (parts, -1))
        of_part[:, 1 : 1 + channels] = torch.linspace(-1, 1, parts + 2)[1:-1, None]
        of_part[:, 1 + channels : 1 + 2 * channels] = -1


def scaled(pixels: Tensor) -> Tensor:
    """Bring values from 0..255 to [-1, 1]."""
    return pixels / 127.5 - 1


def conditional_mean(given: Mixture, earlier: Tensor, channel: int) -> Tensor:
    """Return a channel's means where the channels before it have these values in [-1, 1]."""
    first = channel * (channel - 1) // 2
    by = given.coefficients[:, :, first : first + channel]
    return given.means[:, :, channel] + (by * earlier[:, None, :channel]).sum(dim=2)


def log_masses(pixels: Tensor, means: Tensor, log_scales: Tensor) -> Tensor:
    """Return the logarithm of what a logistic distribution has in the bin of a value from 0 to 255.

    With logistic function S it is S(a) - S(b) = S(a) S(-b) (1 - exp(b - a)): no difference of near values.
    """
    sharpness = torch.exp(-log_scales)
    centred = scaled(pixels) - means
    below_upper = F.logsigmoid((centred + HALF_BIN) * sharpness)
    above_lower = F.logsigmoid((HALF_BIN - centred) * sharpness)
    both = below_upper + above_lower + torch.log(-torch.expm1(-2 * HALF_BIN * sharpness))
    return torch.where(pixels <= 0, below_upper, torch.where(pixels >= 255, above_lower, both))


def log_probabilities(given: Mixture, pixels: Tensor) -> Tensor:
    """Return each value's log-probability given what came before it: the pixels', and its own channels'.

    `pixels` are whole numbers from 0 to 255, n x channels x height x width; so is what is returned.
    """
    pixels = pixels.double()
    values = scaled(pixels)
    joint = given.log_weights
    before = torch.zeros_like(pixels[:, 0])  # the parts' weights sum to 1
    terms = []
    for channel in range(pixels.shape[1]):
        means = conditional_mean(given, values, channel)
        joint = joint + log_masses(pixels[:, None, channel], means, given.log_scales[:, :, channel])
        now = joint.logsumexp(dim=1)
        terms.append(now - before)
        before = now
    return torch.stack(terms, dim=1)


def draw(given: Mixture, rng: torch.Generator) -> Tensor:
    """Draw each pixel: a part of the mixture, then channel by channel, rounded to 0..255."""
    n, parts, channels, height, width = given.means.shape
    weights = given.log_weights.exp().permute(0, 2, 3, 1).reshape(-1, parts)
    part = torch.multinomial(weights, 1, generator=rng).view(n, 1, height, width)
    pixels = torch.zeros(n, channels, height, width, dtype=torch.float64)
    for channel in range(channels):
        mean = conditional_mean(given, scaled(pixels), channel).gather(1, part)[:, 0]
        scale = given.log_scales[:, :, channel].gather(1, part)[:, 0].exp()
        chance = torch.rand(mean.shape, generator=rng, dtype=torch.float64).clamp(1e-12, 1 - 1e-12)
        value = mean + scale * torch.logit(chance)
        pixels[:, channel] = ((value + 1) * 127.5).round().clamp(0, 255)
    return pixels
