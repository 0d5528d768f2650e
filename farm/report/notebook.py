"""A run as a notebook shows it: its answer, table and figures, in a frame of their own."""

from __future__ import annotations

from farm.report.page import findings_of, page
from farm.report.page.html import tag
from farm.report.page.sections.answer import answer
from farm.report.page.sections.cells import cells
from farm.report.page.sections.ranks import ranks
from farm.report.page.sections.trade import trade
from farm.store.readouts import Readouts

SHOWN = (answer, cells, ranks, trade)
HEIGHT = 640


def as_html(readouts: Readouts) -> str:
    """Return a run as HTML: a frame, so that its style touches nothing of the notebook's.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> made = make_readouts({"oob": [True, False, True, False]}, is_ood=[1, 1, 0, 0], wrong=[1, 0, 1, 0])
    >>> as_html(made)[:51]
    '<iframe srcdoc="&lt;!DOCTYPE html&gt;\\n&lt;html lang'
    """
    whole = page(findings_of([readouts], [readouts.pictures]), makers=SHOWN)
    # Scripts may run in it, but as a stranger: it can reach nothing of the notebook.
    look = {"width": "100%", "height": HEIGHT, "style": "border:0", "title": "run"}
    return str(tag("iframe", srcdoc=whole, sandbox="allow-scripts", **look))
