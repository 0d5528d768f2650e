"""Why an instance is outside of all boxes of its class, or inside of one, in words."""

from __future__ import annotations

import math

from farm.api import Explanation
from monitors._layer_boxes import NearestBox


def reason_of(
    box: NearestBox | None, name: str, *, in_widths: bool, outside_from: float | None = None
) -> Explanation:
    """Explain one score; `name` is the predicted class.

    Where a face counts as outside, `outside_from` is how far from the box that face is: tau.
    """
    if box is None:
        return Explanation(reason=f"class '{name}' has no box, so that nothing is inside")
    if not math.isfinite(box.outside):
        return Explanation(reason=f"too far outside of all boxes of class '{name}' to be measured")
    unit = " widths" if in_widths else ""
    if box.outside == outside_from:
        wider = f" when it is enlarged by {outside_from:.4g}{unit}" if outside_from else ""
        where = f"on a face of the nearest box of class '{name}'{wider}, which counts as outside"
    elif box.outside > 0:
        where = f"{box.outside:.3g}{unit} outside of the nearest box of class '{name}'"
    else:
        where = f"inside a box of class '{name}', {abs(box.outside):.3g}{unit} from its nearest side"
    # A box has no width where its training data never vary: neurons that are always 0, above all.
    sides = f"the box from {box.low:.4g} to {box.high:.4g}"
    if box.value == box.low == box.high:
        sides = "as it was in all training data of that box"
    return Explanation(
        reason=f"{where}: {box.place} is {box.value:.4g}, {sides}",
        contributions=box.parts,
        details={
            "class": name,
            "box": box.cluster,
            "dimension": box.place,
            "value": box.value,
            "low": box.low,
            "high": box.high,
        },
    )
