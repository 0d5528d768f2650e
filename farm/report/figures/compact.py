"""Make matplotlib's SVG one for a page: small, in the page's letters and colours, its ids its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from farm.report.figures.path_data import relative, tenth
from farm.report.figures.style import SMALL, VARIABLES
from farm.report.output import visible

PIXELS = 96 / 72
"""CSS pixels to a point: matplotlib counts in points."""
_COLOURS = {colour: f"var({name}, {colour})" for name, colour in VARIABLES.items()}
_COLOURS["#000000"] = _COLOURS[VARIABLES["--ink"]]
_PAPER = _COLOURS[VARIABLES["--paper"]]
_KEPT = re.compile(r"fill|stroke|opacity|image-rendering|font-(size|weight|style)|text-anchor")
_DEFAULT = {
    ("fill", _COLOURS["#000000"]),
    ("font-size", f"{SMALL}"),
    ("text-anchor", "start"),
    ("stroke-dashoffset", "0"),
    ("stroke-linecap", "butt"),
    ("stroke-linecap", "square"),
    ("stroke-linejoin", "miter"),
    ("stroke-linejoin", "round"),
}
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#(.+?)\)")

Style = tuple[tuple[str, str], ...]


def compact(svg: bytes, title: str, description: str, prefix: str) -> str:
    """Return an SVG of matplotlib's as one element, with what it shows told in words."""
    source = fromstring(svg)
    reader = _Reader(prefix)
    drawn = list(_grouped(reader.leaves(source)))
    box = [tenth(round(10 * float(length))) for length in source.attrib["viewBox"].split()]
    label = f"{prefix}-title" + (f" {prefix}-desc" if description else "")
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": " ".join(box), "role": "img"})
    root.set("aria-labelledby", label)
    root.set("width", "100%")
    root.set("style", f"max-width:{float(box[2]) * PIXELS:.0f}px;height:auto;font-family:inherit")
    root.attrib |= {"font-size": f"{SMALL}", "fill": _COLOURS["#000000"], "stroke-linejoin": "round"}
    for name, words in (("title", title), ("desc", description)):
        if words:
            SubElement(root, name, {"id": f"{prefix}-{name}"}).text = visible(words)
    if reader.used:
        SubElement(root, "defs").extend(reader.used.values())
    root.extend(drawn)
    return tostring(root, encoding="unicode").replace(" />", "/>")


class _Reader:
    """What is drawn, in order and without groups; what is referred to is kept apart, under a new name."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._defined: dict[str, Element] = {}
        self._names: dict[str, str] = {}
        self.used: dict[str, Element] = {}

    def leaves(self, source: Element) -> Iterator[tuple[Style, Element]]:
        # Clip paths are defined at the end, and referred to before.
        for defs in source.iter():
            if _tag(defs) == "defs":
                self._defined |= {one.attrib["id"]: one for one in defs if "id" in one.attrib}
        yield from self._leaves(source, None)

    def _leaves(self, source: Element, clip: str | None) -> Iterator[tuple[Style, Element]]:
        for child in source:
            tag = _tag(child)
            if tag == "g":
                inner = self._leaves(child, child.get("clip-path", clip))
                if child.get("id", "").startswith("matplotlib.axis"):
                    # Lines of the grid together, and texts together.
                    inner = iter(sorted(inner, key=lambda leaf: leaf[1].tag == "text"))
                yield from inner
            elif tag in ("path", "text", "use", "rect", "image"):
                drawn = self._leaf(child, tag, child.get("clip-path", clip))
                if drawn is not None:
                    yield drawn

    def _leaf(self, child: Element, tag: str, clip: str | None) -> tuple[Style, Element] | None:
        style = dict(_style(child.get("style", "")))
        if tag in ("path", "use") and "stroke" not in style and style.get("fill") in ("none", _PAPER):
            return None  # paper on paper
        if clip:
            style["clip-path"] = clip
        style = {name: _REFERENCE.sub(self._renamed, value) for name, value in style.items()}
        if tag == "text":
            return tuple(style.items()), _text(child)
        if tag == "image":
            kept = {name: child.attrib[name] for name in (*_RECT, "transform") if name in child.attrib}
            return tuple(style.items()), Element("image", {"href": _link(child), **kept})
        if tag == "rect":
            return tuple(style.items()), Element("rect", {k: _rounded(child.attrib[k]) for k in _RECT})
        shift = (0.0, 0.0)
        if tag == "use":
            shift = float(child.attrib["x"]), float(child.attrib["y"])
            child = self._defined[_link(child)[1:]]
        path = relative(child.get("d", ""), *shift)
        return (tuple(style.items()), Element("path", {"d": path})) if path else None

    def _renamed(self, found: re.Match[str]) -> str:
        """Keep what is referred to, under an id of this figure."""
        old = found[1]
        if old not in self._names:
            self._names[old] = f"{self._prefix}-{len(self._names) + 1}"
            definition = self._defined[old]
            kept = {k: v for k, v in definition.attrib.items() if k not in ("id", "style")}
            new = Element(_tag(definition), {"id": self._names[old], **kept})
            for style, leaf in self._leaves(definition, None):
                leaf.attrib |= dict(style)
                new.append(leaf)
            self.used[old] = new
        return f"url(#{self._names[old]})"


_RECT = ("x", "y", "width", "height")


def _link(child: Element) -> str:
    (link,) = (value for key, value in child.attrib.items() if key.endswith("href"))
    return "".join(link.split())  # base64 comes in lines


def _text(child: Element) -> Element:
    turned = child.get("transform", "")
    place = {name: _rounded(value) for name, value in child.attrib.items() if name in ("x", "y")}
    if not place:
        # Of several lines each is moved there.
        place = dict(zip("xy", map(_rounded, re.findall(r"-?[\d.]+", turned)), strict=False))
        turned = ""
    element = Element("text", place)
    if turned and not turned.startswith("rotate(-0 "):
        element.set("transform", _rounded(turned))
    element.text = child.text
    return element


def _grouped(leaves: Iterable[tuple[Style, Element]]) -> Iterator[Element]:
    """Write once how neighbours of one style look, and make lines of one style a single path."""
    for style, run in groupby(leaves, key=lambda leaf: leaf[0]):
        elements = [element for _, element in run]
        shown = dict(style)
        if all(one.tag == "path" for one in elements) and not any("opacity" in name for name in shown):
            elements = [Element("path", {"d": "".join(one.attrib["d"] for one in elements)})]
        if len(elements) == 1:
            elements[0].attrib |= shown
            yield elements[0]
        else:
            group = Element("g", shown)
            group.extend(elements)
            yield group


def _style(css: str) -> Iterator[tuple[str, str]]:
    for declaration in filter(None, css.split(";")):
        name, value = (part.strip() for part in declaration.split(":", 1))
        if name == "font":
            # So older versions write it: '700 9px "DejaVu Sans", ...'.
            size = re.search(r"([\d.]+)px", value)
            weight = re.match(r"bold|[1-9]00", value)
            yield from [("font-weight", weight[0])] if weight else []
            name, value = "font-size", size[1] if size else f"{SMALL}"
        value = value.removesuffix("px")
        value = _COLOURS.get(value, value) if name in ("fill", "stroke") else _rounded(value, 2)
        if _KEPT.match(name) and (name, value) not in _DEFAULT:
            yield name, value


def _rounded(text: str, digits: int = 1) -> str:
    return _NUMBER.sub(lambda found: f"{round(float(found[0]), digits):g}", text)


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]
