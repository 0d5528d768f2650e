"""Importance weighting: against scikit-learn, known ratios, and draws against whole fits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from farm.errors import DataError
from farm.statistics.label_free.samples import SampleGroups
from farm.statistics.label_free.weighting import DensityRatio, effective_tracks, weighted
from tests.wording import refused, same_text


def shifted(seed, n=400, m=300, by=0.7):
    random = np.random.default_rng(seed)
    mixed = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 30.0]])
    here, there = random.normal(size=(n, 3)) @ mixed + 5, (random.normal(size=(m, 3)) + by) @ mixed + 5
    return here, there


@pytest.mark.parametrize("ridge", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("by", [0.0, 0.7, 20.0])  # at 20 a plane parts the two
def test_the_regression_is_that_of_scikit_learn(ridge, by):
    here, there = shifted(0, by=by)
    found = DensityRatio.fit(here, there, ridge=ridge)
    scaled = (np.vstack([here, there]) - here.mean(axis=0)) / here.std(axis=0)
    theirs = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    theirs.fit(scaled, np.arange(700) >= 400)
    assert found.coefficients == pytest.approx(np.append(theirs.intercept_, theirs.coef_), rel=1e-4, abs=1e-6)
    chance = theirs.predict_proba(scaled)[:, 1]
    assert found.weights(here) == pytest.approx((chance / (1 - chance))[:400] * 400 / 300, rel=1e-3)


def test_weights_are_the_known_ratio_of_two_normal_densities():
    random = np.random.default_rng(0)
    here, there = random.normal(size=(40_000, 1)), random.normal(0.8, 1, size=(30_000, 1))
    at = np.array([[-1.0], [0.0], [1.0], [2.0]])
    ratio = np.exp(0.8 * at[:, 0] - 0.8**2 / 2)
    assert DensityRatio.fit(here, there).weights(at) == pytest.approx(ratio, rel=0.08)


def test_scales_do_not_matter_and_constants_are_left_out():
    here, there = shifted(1)
    plain = DensityRatio.fit(here, there).weights(here)
    moved = [np.column_stack([each * [1e-9, 1, 1e9] - 7, np.full(len(each), 3.0)]) for each in (here, there)]
    assert DensityRatio.fit(*moved).weights(moved[0]) == pytest.approx(plain, rel=1e-5)


def test_tracks_of_one_weight_count_as_they_are():
    track = np.repeat(np.arange(20), 5)
    assert effective_tracks(np.full(100, 0.3), track) == pytest.approx(20)
    assert effective_tracks(np.where(track == 3, 1.0, 0.0), track) == pytest.approx(1)


def test_where_the_log_lies_beyond_the_reference_there_is_no_estimate():
    """Where a plane parts the two the ridge leaves weights nearly alike, and their spread says nothing."""
    here, there = shifted(0, by=5.0)
    ratio = DensityRatio.fit(here, there)
    track, right = np.arange(400), np.arange(400) % 3 > 0
    assert effective_tracks(ratio.weights(here), track) > 40
    groups = SampleGroups.of(track, np.arange(300))
    found = weighted(here, right, there, groups, track)[0]
    assert not found.value.defined
    alike, none = (
        weighted(one, right, there, groups, track)[0] for one in (np.ones((400, 3)), "no features were kept")
    )
    same_text(str(one.value.reason) for one in (found, alike, none))


def test_where_few_carry_all_of_the_weight_there_is_no_estimate():
    track = np.arange(200)
    here, there = np.array([0.0] * 196 + [1.0] * 4)[:, None], np.ones((100, 1))
    found, tracks = weighted(here, here[:, 0] > 0, there, SampleGroups.of(track, track[:100]), track)
    assert (found.value.defined, tracks.defined) == (False, False)
    same_text(found.value.reason)


def test_draws_of_one_step_are_as_those_of_whole_fits():
    here, there = shifted(2, n=240, m=200)
    track, others = np.arange(240) // 6, np.arange(200) // 5
    right = np.random.default_rng(3).random(240) < 1 / (1 + np.exp(here[:, 0] - 6))
    groups = SampleGroups.of(track, others)
    found, _ = weighted(here, right, there, groups, track)
    weights = next(groups.resampling().weights(200, seed=0))
    drawn = found.draw(weights)
    fitted = []
    for row in weights.astype(int):
        again, rights = (
            np.repeat(here, row[groups.reference], axis=0),
            np.repeat(right, row[groups.reference]),
        )
        ratio = DensityRatio.fit(again, np.repeat(there, row[groups.target], axis=0)).weights(again)
        fitted.append(ratio @ rights / ratio.sum())
    assert found.draw(np.ones((1, groups.n)))[0] == pytest.approx(found.value.value, abs=1e-9)
    assert np.corrcoef(drawn, fitted)[0, 1] > 0.98
    assert drawn.std() == pytest.approx(np.std(fitted), rel=0.1)


def test_an_empty_sample_is_refused():
    with refused(DataError):
        DensityRatio.fit(np.ones((0, 2)), np.ones((3, 2)))
