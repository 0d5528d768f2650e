"""KL matching against scipy's entropy and a transcription of the templates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from farm.errors import ParameterError
from monitors.kl_matching import KLMatching, least_divergence
from tests.wording import refused


def templates(data) -> dict[int, np.ndarray]:
    by_class: dict[int, list[np.ndarray]] = {}
    for seen, _ in data:
        for row in seen.probabilities:
            by_class.setdefault(int(row.argmax()), []).append(row)
    return {label: np.mean(rows, axis=0) for label, rows in by_class.items()}


@pytest.mark.parametrize("source", ["validation", "training"])
def test_scores_equal_scipy_on_templates_made_by_hand(small, fitted, source: str) -> None:
    found = templates(small.material.validation if source == "validation" else small.material)
    score = fitted(KLMatching(source=source)).score(small.test)
    rows = small.test.probabilities
    expected = [min(stats.entropy(row, q) for q in found.values()) for row in rows]
    # scipy makes every row sum to 1, which float32 probabilities do to a few parts in 10 million.
    np.testing.assert_allclose(score, expected, rtol=1e-4, atol=1e-6)


def test_the_source_changes_scores(small, fitted) -> None:
    one, other = (fitted(KLMatching(source=s)).score(small.test) for s in ("validation", "training"))
    assert np.abs(one - other).max() > 1e-3


def test_a_template_itself_is_at_no_distance() -> None:
    known = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    np.testing.assert_allclose(least_divergence(known, np.log(known)), 0.0, atol=1e-15)


def test_a_class_that_is_never_predicted_has_no_template(small, fitted) -> None:
    class WithoutClass3:
        classes, seed, outliers, networks = small.workload.classes, 0, None, {}

        @property
        def validation(self):
            for seen, labels in small.material.validation:
                keep = seen.predicted != 3
                yield (
                    dataclasses.replace(
                        seen, probabilities=seen.probabilities[keep], predicted=seen.predicted[keep]
                    ),
                    labels[keep],
                )

    monitor = KLMatching().fit(WithoutClass3(), small.classifier)
    assert monitor.notes() == {"classes_without_template": 1}
    assert fitted(KLMatching()).notes() == {"classes_without_template": 0}
    threes = small.test.predicted == 3
    with_all = fitted(KLMatching()).score(small.test)
    assert np.all(monitor.score(small.test) >= with_all)
    assert monitor.score(small.test)[threes].mean() > with_all[threes].mean() + 0.5


def test_probabilities_of_0_give_finite_scores(small, fitted) -> None:
    certain = dataclasses.replace(small.test, probabilities=np.eye(10)[small.test.predicted])
    assert np.isfinite(fitted(KLMatching()).score(certain)).all()
    certain_templates = np.log(np.maximum(np.eye(2), 1e-300))
    assert np.isfinite(least_divergence(np.array([[0.5, 0.5]]), certain_templates)).all()


def test_it_serves_a_black_box(small, fitted) -> None:
    blind = dataclasses.replace(small.test, logits=None, activations={})
    monitor = fitted(KLMatching())
    np.testing.assert_array_equal(monitor.score(blind), monitor.score(small.test))


def test_noise_scores_higher_than_id_data(small, fitted) -> None:
    noise = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    monitor = fitted(KLMatching())
    assert monitor.score(small.classifier.observe(noise)).mean() > monitor.score(small.test).mean() + 0.05


def test_wrong_parameters_are_named() -> None:
    with refused(ParameterError):
        KLMatching(source="test")
