"""What of an ONNX file the search for layers needs: read and added to as bytes, without the package onnx.

A file is one protobuf message. Two messages one after the other are the same as one that has the fields of
both; so a graph gets more outputs by what is put behind it, and its weights are never unpacked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

GRAPH, NODE, OUTPUT, NAME = 7, 1, 12, 1
"""The numbers of fields in a model, a graph (2) and the description of a value."""


@dataclass
class OnnxNode:
    """One operation: its kind, the values it takes and makes, and the attributes that are numbers."""

    kind: str = ""
    takes: list[str] = field(default_factory=list)
    makes: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)


def nodes(content: bytes) -> list[OnnxNode]:
    """Return the operations of a graph, in their order; raise a ValueError where that cannot be read.

    Examples
    --------
    >>> nodes(bytes.fromhex("3a 0d 0a 0b 0a 01 78 12 01 79 22 03 41 62 73"))
    [OnnxNode(kind='Abs', takes=['x'], makes=['y'], numbers={})]
    """
    try:
        graphs = [value for number, value in _fields(memoryview(content)) if number == GRAPH]
        return [_node(value) for graph in graphs for number, value in _fields(graph) if number == NODE]
    except (IndexError, KeyError, TypeError, struct.error) as error:
        raise ValueError("no protobuf message") from error


def with_outputs(content: bytes, names: Iterable[str]) -> bytes:
    """Return a file whose graph gives these values too.

    Examples
    --------
    >>> with_outputs(b"", ["y"]).hex(" ")
    '3a 05 62 03 0a 01 79'
    """
    outputs = b"".join(_field(OUTPUT, _field(NAME, name.encode())) for name in names)
    return content + _field(GRAPH, outputs)


def _node(message: memoryview) -> OnnxNode:
    node, domain = OnnxNode(), ""
    for number, value in _fields(message):
        if number == 1:
            node.takes.append(_text(value))
        elif number == 2:
            node.makes.append(_text(value))
        elif number == 4:
            node.kind = _text(value)
        elif number == 5:
            found = dict(_fields(value))
            # A whole number, or a float; of what is neither, only the name matters.
            told = found.get(3, found.get(2, 0))
            node.numbers[_text(found[1])] = told if isinstance(told, int) else struct.unpack("<f", told)[0]
        elif number == 7:
            domain = _text(value)
    if domain not in ("", "ai.onnx"):
        node.kind = f"{domain}:{node.kind}"  # somebody's own, whatever it is called
    return node


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of each field, with a whole number or a view of bytes."""
    at, end = 0, len(message)
    while at < end:
        key, at = _whole(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _whole(message, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, at = _whole(message, at)
        if (not size and kind != 2) or at + size > end:
            raise IndexError("a field is longer than the message, or of no known kind")
        yield key >> 3, message[at : at + size]
        at += size


def _whole(message: memoryview, at: int) -> tuple[int, int]:
    """Read a number that has seven bits in each byte, the lowest first; give where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _text(value: Any) -> str:
    return bytes(value).decode()


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
