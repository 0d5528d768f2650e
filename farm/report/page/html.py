"""HTML from Python, in which every text is escaped unless it was made here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from farm.report.output import visible

_VOID = {"br", "img", "input", "link", "meta"}


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element; what is no markup is escaped, in attributes too.

    A trailing underscore makes a name that Python allows (`class_`), and others stand for hyphens. True is
    an attribute without a value; None and False leave it out. Children may be lists of children.

    Examples
    --------
    >>> print(tag("p", "a < b ", [tag("b", "&"), None], class_="note", data_low=0.5, hidden=True))
    <p class="note" data-low="0.5" hidden>a &lt; b <b>&amp;</b></p>
    """
    inside = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{inside}>")
    return Markup(f"<{name}{inside}>{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Return elements and texts one after the other."""
    return Markup("".join(_flat(children)))


def slug(text: str) -> str:
    """Return a text as an id that a link can end in.

    Examples
    --------
    >>> slug("fog 5 on npz (path a.npz)")
    'fog-5-on-npz-path-a-npz'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{_escaped(value)}"'


def _escaped(value: object) -> Markup:
    """Return a text as text, in which nothing turns the page round or cannot be written to a file."""
    return escape(value if hasattr(value, "__html__") else visible(str(value)))


def _flat(children: Iterable[object]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, str) or not isinstance(child, Iterable):
            yield _escaped(child)
        else:
            yield from _flat(child)
