"""Noise: the distributions are the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm, poisson

from farm.errors import ParameterError
from faultloads.noise import GaussianNoise, ImpulseNoise, ShotNoise, SpeckleNoise, UniformBlend, _poisson
from tests.faultloads.applying import apply, check_contract, check_grows, pictures
from tests.wording import refused

ALL = [GaussianNoise, ShotNoise, ImpulseNoise, SpeckleNoise, UniformBlend]


def plain(value, n=8):
    return np.full((n, 3, 32, 32), value, dtype=np.float32)


@pytest.mark.parametrize("kind", ALL)
def test_noise_keeps_the_contract(kind):
    check_contract(kind())


@pytest.mark.parametrize("kind", ALL)
def test_noise_grows_with_severity(kind):
    check_grows(kind(), pictures())
    if kind is not UniformBlend:
        check_grows(kind(levels="cifar-10-c"), pictures())


@pytest.mark.parametrize("kind", ALL)
def test_each_image_and_each_channel_has_noise_of_its_own(kind):
    result = apply(kind(), plain(0.5), 3) - np.float32(0.5)
    rows = result.reshape(24, -1)
    assert np.abs(np.corrcoef(rows) - np.eye(24)).max() < 0.2


@pytest.mark.parametrize("kind", [GaussianNoise, SpeckleNoise])
def test_noise_has_the_same_pattern_at_every_severity(kind):
    weak, strong = (apply(kind(), plain(0.5), severity) - 0.5 for severity in (1, 2))
    inside = np.abs(strong) < 0.49
    assert np.corrcoef(weak[inside], strong[inside])[0, 1] > 0.9999


IMAGENET_C = [(0.5, 0.04), (1, 0.08), (2, 0.12), (2.5, 0.15), (3, 0.18)]
CIFAR_10_C = [(0.5, 0.02), (1, 0.04), (2, 0.06), (3, 0.08), (4, 0.09), (5, 0.1)]


@pytest.mark.parametrize(
    ("levels", "severity", "deviation"),
    [("imagenet-c", *one) for one in IMAGENET_C] + [("cifar-10-c", *one) for one in CIFAR_10_C],
)
def test_gaussian_noise_is_normal(levels, severity, deviation):
    noise = (apply(GaussianNoise(levels=levels), plain(0.5), severity) - 0.5).ravel()
    inside = np.abs(noise) < 0.49
    assert inside.mean() > 0.99
    assert kstest(noise[inside], norm(scale=deviation).cdf).statistic < 0.01


def test_speckle_noise_is_in_proportion_to_the_pixel():
    dark, bright = (apply(SpeckleNoise(), plain(value), 1) for value in (0.2, 0.4))
    assert np.allclose(bright, 2 * dark, atol=1e-6)
    assert (dark / 0.2 - 1).std() == pytest.approx(0.15, rel=0.02)
    assert np.array_equal(apply(SpeckleNoise(), plain(0), 5), plain(0))


@pytest.mark.parametrize(("severity", "deviation"), [*enumerate([0.06, 0.1, 0.12, 0.16, 0.2], start=1)])
def test_speckle_noise_of_cifar_10_c(severity, deviation):
    noise = apply(SpeckleNoise(levels="cifar-10-c"), plain(0.5), severity) / 0.5 - 1
    assert noise.std() == pytest.approx(deviation, rel=0.02)


SHOTS = [*enumerate([60, 25, 12, 5, 3], start=1)]
CIFAR_SHOTS = [*enumerate([500, 250, 100, 75, 50], start=1)]


@pytest.mark.parametrize(
    ("levels", "severity", "photons"),
    [("imagenet-c", *one) for one in SHOTS] + [("cifar-10-c", *one) for one in CIFAR_SHOTS],
)
@pytest.mark.parametrize("grey", [13, 51, 128])
def test_shot_noise_counts_photons(levels, severity, photons, grey):
    result = apply(ShotNoise(levels=levels), plain(grey / 255, n=16), severity)
    counts = result.ravel() * photons
    assert np.allclose(counts, np.rint(counts), atol=1e-4)
    law = poisson(grey / 255 * photons)
    usual = np.arange(int(law.ppf(0.001)), int(law.ppf(0.999)) + 1)
    usual = usual[(usual < photons) & (law.pmf(usual) * counts.size > 5)]
    seen = np.array([(np.rint(counts) == k).sum() for k in usual])
    expected = law.pmf(usual) * counts.size
    rest = counts.size - seen.sum(), counts.size - expected.sum()
    assert chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 1e-4


@pytest.mark.parametrize("photons", [500.0, 60.0, 3.0, 17.3])
def test_counts_are_the_quantiles_of_the_poisson_distribution(photons):
    rng = np.random.default_rng(0)
    greys = np.append(rng.integers(0, 256, 3000), [0, 0, 255, 255])
    bits = np.append(rng.integers(0, 2**16, 3000), [0, 65535, 0, 65535]).astype(np.uint16)
    ours = _poisson(photons).counts(greys, bits)
    theirs = poisson.ppf((bits + 0.5) / 2**16, greys / 255 * photons)
    # The two may differ where a bound lies within one step of the random bits.
    lower = poisson.ppf(np.maximum(bits - 0.5, 0.01) / 2**16, greys / 255 * photons)
    upper = poisson.ppf(np.minimum(bits + 1.5, 65535.9) / 2**16, greys / 255 * photons)
    assert np.mean(ours == theirs) > 0.998
    assert ((lower <= ours) & (ours <= upper)).all()


def test_black_has_no_photons():
    assert np.array_equal(apply(ShotNoise(), plain(0), 5), plain(0))


@pytest.mark.parametrize(
    ("levels", "severity", "share"),
    [
        *(("imagenet-c", *one) for one in enumerate([0.03, 0.06, 0.09, 0.17, 0.27], start=1)),
        *(("cifar-10-c", *one) for one in enumerate([0.01, 0.02, 0.03, 0.05, 0.07], start=1)),
    ],
)
def test_impulse_noise_sets_its_share_to_black_and_white(levels, severity, share):
    result = apply(ImpulseNoise(levels=levels), plain(0.5, n=32), severity)
    assert set(np.unique(result)) == {0, 0.5, 1}
    n = result.size
    for value in (0, 1):
        count = (result == value).sum()
        assert abs(count - n * share / 2) < 4 * np.sqrt(n * share / 2)


def test_impulses_stay_where_they_are_when_severity_rises():
    weak, strong = (apply(ImpulseNoise(), plain(0.5), severity) for severity in (1, 5))
    hit = weak != 0.5
    assert np.array_equal(strong[hit], weak[hit])


def test_uniform_blend_is_a_mixture():
    images = pictures()
    noise = apply(UniformBlend(weight=1), images, 5)
    assert kstest(noise.ravel(), "uniform").statistic < 0.01
    half = apply(UniformBlend(weight=0.5), images, 5)
    assert np.allclose(half, (images + noise) / 2, atol=1e-6)
    assert np.allclose(apply(UniformBlend(weight=0.5), images, 2), 0.8 * images + 0.2 * noise, atol=1e-6)


@pytest.mark.parametrize("weight", [0, 1.1, "much"])
def test_a_wrong_weight_is_told(weight):
    with refused(ParameterError):
        UniformBlend(weight=weight)
