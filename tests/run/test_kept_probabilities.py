"""Probabilities of every class in readouts: what the classifier said, and nothing where nobody asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from farm.cli import main
from farm.config.experiment import parse_experiment
from farm.run.execution import assemble_stream, run_experiment
from farm.run.testbed import Testbed
from farm.store.class_probabilities import is_probability
from farm.store.readouts import TIME_COLUMNS, Readouts

SMALL: dict[str, Any] = {
    "name": "sure",
    "workload": {"name": "digits", "size": 16, "channels": 1},
    "classifier": {"name": "lenet", "epochs": 1},
    "faultload": {"name": "gaussian-noise", "severity": 3},
    "monitors": ["max-softmax"],
    "stream": {"length": 90, "ood_share": 0.4},
    "pictures": "none",
}
KEPT = {**SMALL, "readouts": {"probabilities": True}}
DIGITS = tuple(f"probability digit-{digit}" for digit in range(10))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run an experiment as a user does."""
    place = tmp_path_factory.mktemp("sure")
    (place / "sure.yaml").write_text(yaml.safe_dump(KEPT), encoding="utf-8")
    assert main(["run", str(place / "sure.yaml"), "--out", str(place / "run")]) == 0
    return place / "run"


def test_the_columns_are_what_the_classifier_says_of_each_image(folder: Path) -> None:
    readouts = Readouts.load(folder)
    assert [name for name in readouts.instances if is_probability(name)] == [*DIGITS]
    assert set(readouts.instances[[*DIGITS]].dtypes.astype(str)) == {"float32"}
    stream, workload, _ = assemble_stream(parse_experiment(KEPT, "sure"), folder)
    classifier = Testbed(seed=0).classifier(SMALL["classifier"], workload)
    assert classifier.digest == readouts.run["classifier"]["digest"]
    seen = [classifier.observe(batch.images) for batch in stream.batches(64)]
    said = np.concatenate([one.probabilities for one in seen])
    assert np.array_equal(readouts.probabilities, said.astype(np.float32))
    np.testing.assert_allclose(
        readouts.probabilities.max(axis=1), readouts.instances["confidence"], atol=1e-7
    )
    assert len(np.unique(readouts.probabilities, axis=0)) > 80, "no two images are alike"


@pytest.mark.parametrize("size", [1, 7])
def test_the_size_of_batches_does_not_matter(folder: Path, size: int) -> None:
    other = run_experiment(parse_experiment({**KEPT, "batch_size": size}, "sure"), folder)
    np.testing.assert_allclose(other.probabilities, Readouts.load(folder).probabilities, atol=1e-6)


def test_who_does_not_ask_gets_none_and_all_else_the_same(folder: Path) -> None:
    plain = run_experiment(parse_experiment(SMALL, "sure"), folder)
    with_them = Readouts.load(folder).instances
    assert list(plain.instances) == [name for name in with_them if not is_probability(name)]
    same = [name for name in plain.instances if name not in TIME_COLUMNS]
    assert plain.instances[same].equals(with_them[same])
    assert plain.run["experiment"]["readouts"] == {"probabilities": False}
