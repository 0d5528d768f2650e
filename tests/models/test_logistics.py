"""The mixture of logistics: each bin is an integral of the density, and the 256 sum to 1."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import logsumexp

from models._logistics import draw, log_masses, log_probabilities, mixture, n_parameters

VALUES = np.arange(256)
EDGES = np.concatenate([[-np.inf], (VALUES[1:] - 0.5) / 127.5 - 1, [np.inf]])
PARTS = 4


def parameters(channels: int, n: int = 3, spread: float = 2.0) -> torch.Tensor:
    rng = np.random.default_rng(0)
    numbers = rng.normal(0, spread, (n, n_parameters(channels, PARTS), 2, 2))
    return torch.from_numpy(numbers.astype(np.float32))


def parts_of(numbers: np.ndarray, channels: int):
    """Read a pixel's numbers: weights, means, scales and coefficients, a row a part."""
    rows = numbers.astype(np.float64).reshape(PARTS, -1)
    log_weights = rows[:, 0] - logsumexp(rows[:, 0])
    means, scales = rows[:, 1 : 1 + channels], rows[:, 1 + channels : 1 + 2 * channels]
    return log_weights, means, np.exp(np.clip(scales, -7, 7)), np.tanh(rows[:, 1 + 2 * channels :])


def test_each_bin_has_the_integral_of_the_density_over_it() -> None:
    given = parameters(1)
    numbers = given[0, :, 1, 0].numpy()
    log_weights, means, scales, _ = parts_of(numbers, 1)
    found = np.exp([_one(given, value)[0, 0, 1, 0] for value in VALUES])

    def density(x: float) -> float:
        return float(np.exp(log_weights) @ stats.logistic.pdf(x, means[:, 0], scales[:, 0]))

    for value in (0, 1, 17, 128, 254, 255):
        # The tails apart: a sharp part would be lost in an infinite range.
        low, high = max(EDGES[value], -9), min(EDGES[value + 1], 9)
        points = [x for x in means[:, 0] if low < x < high]
        expected, _ = integrate.quad(density, low, high, points=points or None, limit=500, epsabs=1e-13)
        expected += integrate.quad(density, -np.inf, -9)[0] if value == 0 else 0
        expected += integrate.quad(density, 9, np.inf)[0] if value == 255 else 0
        assert found[value] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    cdf = np.exp(log_weights) @ stats.logistic.cdf(EDGES[None], means, scales)
    np.testing.assert_allclose(found, np.diff(cdf), rtol=1e-6, atol=1e-12)


def _one(given: torch.Tensor, value: int) -> np.ndarray:
    pixels = torch.full((len(given), 1, 2, 2), float(value))
    return log_probabilities(mixture(given, 1, PARTS), pixels).numpy()


@pytest.mark.parametrize("spread", [0.5, 2.0, 8.0])
def test_the_256_probabilities_of_a_grey_pixel_sum_to_1(spread) -> None:
    given = parameters(1, spread=spread)
    total = sum(np.exp(_one(given, value)) for value in VALUES)
    np.testing.assert_allclose(total, 1, atol=1e-9)


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_those_of_each_channel_given_the_ones_before_it_sum_to_1(channel) -> None:
    given = mixture(parameters(3), 3, PARTS)
    pixels = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (3, 3, 2, 2))).double()
    total = 0.0
    for value in VALUES:
        pixels[:, channel] = float(value)
        total = total + log_probabilities(given, pixels)[:, channel].exp().numpy()
    np.testing.assert_allclose(total, 1, atol=1e-9)


def test_three_channels_follow_one_another_as_in_the_paper() -> None:
    given = parameters(3)
    pixels = np.random.default_rng(2).integers(0, 256, (3, 3, 2, 2))
    pixels[0, :, 0, 0] = (0, 255, 128)
    found = log_probabilities(mixture(given, 3, PARTS), torch.from_numpy(pixels)).numpy()
    for image, row, column in np.ndindex(3, 2, 2):
        log_weights, means, scales, by = parts_of(given[image, :, row, column].numpy(), 3)
        values = pixels[image, :, row, column]
        red, green, _ = values / 127.5 - 1
        centres = [means[:, 0], means[:, 1] + by[:, 0] * red]
        centres += [means[:, 2] + by[:, 1] * red + by[:, 2] * green]
        joint, before = log_weights, 0.0
        for channel, centre in enumerate(centres):
            at = values[channel]
            joint = joint + _log_mass(at, centre, scales[:, channel])
            now = logsumexp(joint)
            assert found[image, channel, row, column] == pytest.approx(now - before, rel=1e-6, abs=1e-6)
            before = now


def _log_mass(value: int, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    low, high = EDGES[value], EDGES[value + 1]
    # On the side where both are small, so that the difference has digits left.
    left = stats.logistic.cdf(high, centre, scale) - stats.logistic.cdf(low, centre, scale)
    right = stats.logistic.sf(low, centre, scale) - stats.logistic.sf(high, centre, scale)
    with np.errstate(divide="ignore"):  # the reference has no digits for what is further away
        return np.log(np.where(low > centre, right, left))


def test_bins_far_from_the_mean_keep_their_digits_and_their_gradient() -> None:
    means = torch.tensor([-1.0], dtype=torch.float64, requires_grad=True)
    scales = torch.tensor([-7.0], dtype=torch.float64)
    far = log_masses(torch.tensor([200.0], dtype=torch.float64), means, scales)
    far.backward()
    # A logistic distribution falls off as exp(-distance / scale): about -1720 here, where exp gives 0.
    assert far.item() == pytest.approx(-(200 - 0.5) / 127.5 * np.exp(7) + np.log1p(-np.exp(-8.6)), rel=1e-3)
    assert means.grad.item() == pytest.approx(np.exp(7), rel=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_drawn_is_as_frequent_as_it_is_probable(channels) -> None:
    # Wide enough to meet both tails, narrow enough that a bin has some draws.
    one = parameters(channels, n=1, spread=1.0)[:, :, :1, :1]
    n = 8_000
    given = mixture(one.expand(n, -1, 1, 1), channels, PARTS)
    pixels = draw(given, torch.Generator().manual_seed(0))
    assert set(np.unique(pixels.numpy())) <= set(VALUES)
    first = pixels[:, 0, 0, 0].numpy().astype(int)
    p = np.array([_first(one, channels, value) for value in VALUES])
    assert np.abs(np.cumsum(np.bincount(first, minlength=256) / n) - np.cumsum(p)).max() < 1.63 / np.sqrt(n)
    # Of the last channel: its distribution's own function of a draw is uniform, but for the bins' width.
    if channels == 3:
        below = _at_most(given, pixels)
        assert stats.kstest(below, "uniform").statistic < 0.02


def _first(one: torch.Tensor, channels: int, value: int) -> float:
    pixels = torch.full((1, channels, 1, 1), float(value))
    return log_probabilities(mixture(one, channels, PARTS), pixels)[0, 0, 0, 0].exp().item()


def _at_most(given, pixels) -> np.ndarray:
    """Return how probable a last value below the drawn one is, and a random share of its own bin."""
    rng, total = np.random.default_rng(0), np.zeros(len(pixels))
    drawn = pixels[:, 2, 0, 0].numpy()
    u = rng.random(len(pixels))
    for value in VALUES:
        tried = pixels.clone()
        tried[:, 2] = float(value)
        p = log_probabilities(given, tried)[:, 2, 0, 0].exp().numpy()
        total += np.where(value < drawn, p, np.where(value == drawn, u * p, 0))
    return total
