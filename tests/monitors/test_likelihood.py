"""PixelCNN++: what its network says is the score."""

from __future__ import annotations

import numpy as np

from farm.api import OwnNetwork
from farm.errors import ParameterError
from monitors.likelihood import PixelCnn
from tests.monitors.own_networks import (
    ID_QUANTILE,
    WATCHED,
    given,
    images,
    restored_as_fitted,
    trained_network,
)
from tests.wording import refused, same_text


def test_the_score_is_the_bits() -> None:
    need = OwnNetwork("pixelcnn", (("epochs", 3),))
    data = given({need: trained_network(bits=2.5)})
    monitor = PixelCnn(network={"epochs": 3}).fit(data, WATCHED)
    seen = WATCHED.observe(images(20, 7))
    basis = trained_network().state["basis"]
    flat = seen.images.reshape(20, -1).astype(np.float64)
    np.testing.assert_allclose(
        monitor.score(seen), 3 * ((flat - flat @ basis @ basis.T) ** 2).mean(axis=1), rtol=1e-12
    )
    assert (monitor.needs.networks, monitor.needs.outliers) == ((need,), False)
    assert monitor.calibrate(data.validation, ID_QUANTILE, 3).method == "id-quantile"
    assert monitor.notes() == {"networks": [{"bits": 2.5}]}
    same_text(monitor.explain(seen.take([0]))[0].reason)
    assert restored_as_fitted(monitor, PixelCnn(network={"epochs": 3}), seen)


def test_wrong_parameters_are_named() -> None:
    with refused(ParameterError):
        PixelCnn(network=[])
