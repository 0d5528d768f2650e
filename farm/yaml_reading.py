"""Reading YAML safely, and settings of the command line on top of it."""

from __future__ import annotations

import re
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


class _Loader(yaml.SafeLoader):
    """Safe YAML in which 1e-3 is a number, as everybody expects, and a repeated key is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping, refusing a key that stands there twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                mark = key.start_mark
                raise yaml.constructor.ConstructorError(None, None, "a key must be a plain value", mark)
            if key.value in seen:
                mark = key.start_mark
                raise yaml.constructor.ConstructorError(None, None, f"key '{key.value}' stands twice", mark)
            seen.add(key.value)
        return cast(dict[Any, Any], super().construct_mapping(node, deep))


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
