"""Box spread: how far passes or networks are apart in where they see the object."""

from __future__ import annotations

import numpy as np

from farm.api import BOX, BOX_SPREAD, Explanation, Features, FloatArray, Needs, Observation, check_choice
from farm.api.boxes import SIDES
from farm.errors import RequirementError
from monitors._unlearned import Unlearned

RELATIVE, PIXELS = "relative", "pixels"


class BoxSpread(Unlearned):
    """The standard deviation of the classifier's box, as the mean of its four sides.

    Parameters
    ----------
    unit
        `relative`: left and right as shares of the box's width, top and bottom of its height, so that small
        objects count as large ones do; `pixels`: as it is.

    Examples
    --------
    >>> box, spread = np.array([[10.0, 10.0, 20.0, 50.0]]), np.array([[1.0, 4.0, 1.0, 4.0]])
    >>> relative_spread(box, spread)
    array([[0.1, 0.1, 0.1, 0.1]])
    """

    reference = (
        "Kassem Sbeyti, Karg, Wirth, Nowzad, Albayrak: Overcoming the limitations of localization "
        "uncertainty, ECML PKDD 2023"
    )

    def __init__(self, *, unit: str = RELATIVE) -> None:
        check_choice("unit", unit, (RELATIVE, PIXELS))
        self._unit = unit

    @property
    def needs(self) -> Needs:
        """Boxes and their spread."""
        return Needs(boxes=True, box_spread=True)

    def _score(self, observation: Observation) -> Features:
        return np.asarray(self._sides(observation).mean(axis=1))

    def _explain(self, observation: Observation) -> Explanation:
        sides = dict(zip(SIDES, self._sides(observation)[0].tolist(), strict=True))
        ranked = dict(sorted(sides.items(), key=lambda side: -side[1]))
        widest, spread = next(iter(ranked.items()))
        unit = "of the box's size" if self._unit == RELATIVE else "pixels"
        return Explanation(f"the least sure side is {widest}, with a spread of {spread:.3g} {unit}", ranked)

    def _sides(self, observation: Observation) -> FloatArray:
        if BOX_SPREAD not in observation.outputs:
            raise RequirementError("no spread of boxes was observed; declare it in the monitor's needs")
        box, spread = (observation.outputs[name].astype(np.float64) for name in (BOX, BOX_SPREAD))
        return spread if self._unit == PIXELS else relative_spread(box, spread)


def relative_spread(box: FloatArray, spread: FloatArray) -> FloatArray:
    """Return each side's spread as a share of the box's width or height, which count as a pixel at least."""
    sizes = np.maximum(np.abs(box[:, 2:] - box[:, :2]), 1.0)
    return np.asarray(spread / np.hstack([sizes, sizes]))
