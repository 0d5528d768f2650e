"""A matplotlib figure that belongs to no window, and that a notebook shows by itself."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Drawn(Figure):
    """A figure of ours."""

    beyond = False
    """Whether something stands outside its borders, which move outwards then when it is written."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """Return a picture, which IPython asks for by this name."""
        picture = io.BytesIO()
        self.savefig(picture, format="png", bbox_inches="tight")
        return picture.getvalue()
