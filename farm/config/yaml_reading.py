"""Reading YAML safely, and settings of the command line on top of it."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from itertools import chain
from typing import Any, cast

import yaml

from farm.errors import ExperimentError


def override(values: dict[str, Any], setting: str) -> None:
    """Apply one `path.to.key=value` of the command line; list items go by number."""
    path, equals, text = setting.partition("=")
    if not equals or not path:
        raise ExperimentError(f"--set {setting}: expected path.to.key=value")
    at: Any = values
    parts = path.split(".")
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if isinstance(at, list):
            if not part.isdigit() or int(part) >= len(at):
                raise ExperimentError(f"--set {path}: '{part}' is no item from 0 to {len(at) - 1}")
            key: Any = int(part)
        else:
            key = part
        if last:
            at[key] = parse_yaml(text, f"--set {path}")
            return
        inside = at[key] if isinstance(at, list) else at.get(key)
        if isinstance(inside, str):
            inside = {"name": inside}  # a component by its bare name, about to get a parameter
        elif inside is None:
            inside = {}
        elif not isinstance(inside, (dict, list)):
            raise ExperimentError(f"--set {path}: '{part}' is {inside!r}, which has no keys of its own")
        at[key] = inside
        at = inside


DEEPEST = 50
"""How deep values may be nested."""
MOST = 100_000
"""How many values there may be where aliases stand for some of them: few lines can stand for billions."""
_WORDS = {"int": "whole number", "float": "number", "bool": "true or false", "null": "null"}


class _Loader(yaml.SafeLoader):
    """Safe YAML of the values that JSON has too.

    1e-3 is a number, as everybody expects, and a date is text. A repeated key is an error.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth, self._has_aliases = 0, False
        self._extents: dict[int, tuple[int, int]] = {}
        """By a node's id: how many values it stands for, and how deep they are nested."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a value, refusing one that is too deep, or that stands for too many by its aliases."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._depth += 1
        node = self._depth <= DEEPEST and super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            self._has_aliases = True
            if id(node) not in self._extents:
                raise _problem(f"'*{event.anchor}' stands for a value that it is in itself", event.start_mark)
        elif node:
            inside = [self._extents[id(each)] for each in _inside(node)]
            values, depths = zip(*inside, strict=True) if inside else ((), ())
            self._extents[id(node)] = 1 + sum(values), 1 + max(depths, default=0)
        size, depth = self._extents[id(node)] if node else (1, DEEPEST + 1)
        if depth > DEEPEST:
            raise _problem(f"values are nested more than {DEEPEST} deep", event.start_mark)
        if size > MOST and self._has_aliases:
            raise _problem(f"its aliases stand for more than {MOST:,} values", event.start_mark)
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Make a value, and say where one cannot be made: `0x_` looks like a number."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            value = reprlib.repr(node.value) if isinstance(node, yaml.ScalarNode) else "this"
            raise _problem(f"{value} is no {_WORDS.get(kind, kind)}", node.start_mark) from None

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping, refusing a key that stands there twice."""
        if not isinstance(node, yaml.MappingNode):
            raise _problem("this has no keys and values", node.start_mark)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _problem("a key must be a plain value", key.start_mark)
            if key.value in seen:
                raise _problem(f"key '{key.value}' stands twice", key.start_mark)
            seen.add(key.value)
        return cast(dict[Any, Any], super().construct_mapping(node, deep))


def _problem(what: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, what, mark)


def _inside(node: Any) -> Iterable[Any]:
    if isinstance(node, yaml.MappingNode):
        return chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


_OF_JSON = {"null", "bool", "int", "float", "str", "seq", "map"}
_Loader.yaml_constructors = {
    tag: make
    for tag, make in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in _OF_JSON
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def parse_yaml(text: str, where: str) -> Any:
    """Parse YAML safely; say where it is malformed."""
    try:
        return _Loader(text).get_single_data()
    except yaml.YAMLError as error:
        raise ExperimentError(f"{where}: malformed YAML: {' '.join(str(error).split())}") from None


def named(text: str) -> str | dict[str, Any]:
    """Read a name, or a mapping in YAML's short form: `{name: novelty, workload: digits}`."""
    value = parse_yaml(text, text)
    if not isinstance(value, str | dict):
        raise ExperimentError(f"'{text}' is neither a name nor a mapping with a name")
    return value
