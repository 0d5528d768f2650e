"""Why an instance is outside of all boxes of its class, or inside of one, in words."""

from __future__ import annotations

import math

from farm.api import Explanation
from monitors._layer_boxes import NearestBox


def reason_of(box: NearestBox | None, name: str, *, in_widths: bool) -> Explanation:
    """Explain one score; `name` is the predicted class."""
    if box is None:
        return Explanation(reason=f"class '{name}' has no box, so that nothing is inside")
    if not math.isfinite(box.outside):
        return Explanation(reason=f"too far outside of all boxes of class '{name}' to be measured")
    unit = " widths" if in_widths else ""
    if box.outside > 0:
        where = f"{box.outside:.3g}{unit} outside of the nearest box of class '{name}'"
    else:
        where = f"inside a box of class '{name}', {abs(box.outside):.3g}{unit} from its nearest side"
    return Explanation(
        reason=f"{where}: {box.place} is {box.value:.4g}, the box from {box.low:.4g} to {box.high:.4g}",
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
