"""Files that merge and drop classes: `{bike: [bicycle, motorcycle], car: car, drop: [train, rider]}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from farm.api import read_text
from farm.config.yaml_reading import parse_yaml
from farm.errors import DataError, ExperimentError

DROP = "drop"
"""The key of those classes that are left out."""
_EXPECTED = "expected 'bike: [bicycle, motorcycle]', 'car: car', or 'drop: [train, rider]'"


@dataclass(frozen=True)
class ClassMap:
    """What each class of the annotations becomes; those that are dropped become nothing."""

    where: str
    named: Mapping[str, str | None]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that there are, in the file's order."""
        return tuple(dict.fromkeys(name for name in self.named.values() if name is not None))

    def of(self, label: str, place: str) -> str | None:
        """Return what a class becomes; `place` is where an object of it stands."""
        if label not in self.named:
            raise DataError(
                f"{place}: class {label!r} is missing from {self.where}; expected each class in it: merge "
                f"it, keep it by '{label}: {label}', or add it to {DROP}"
            )
        return self.named[label]


def load_class_map(path: Path) -> ClassMap:
    """Read such a file."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}; {_EXPECTED}") from None
    return parse_class_map(parse_yaml(text, str(path)), str(path))


def parse_class_map(values: object, where: str) -> ClassMap:
    """Turn plain values into a mapping of classes.

    Examples
    --------
    >>> written = {"bike": ["bicycle", "motorcycle"], "car": "car", "drop": ["rider"]}
    >>> found = parse_class_map(written, "c.yaml")
    >>> found.classes, found.of("motorcycle", ""), found.of("rider", "")
    (('bike', 'car'), 'bike', None)
    """
    if not isinstance(values, dict) or not values:
        raise ExperimentError(f"{where} has no classes; {_EXPECTED}")
    named: dict[str, str | None] = {}
    for name, merged in values.items():
        labels = merged if isinstance(merged, list) else [merged]
        for text in (name, *labels):
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                told = f"{where}: '{name}' has {text!r} in it, which is no class's name"
                raise ExperimentError(
                    f"{told}; {_EXPECTED} (in quotes where YAML takes it for something else)"
                )
        for label in map(str.strip, labels):
            if label in named:
                raise ExperimentError(f"{where}: class '{label}' stands twice; expected each once")
            named[label] = None if name == DROP else name.strip()
    found = ClassMap(where, named)
    if not found.classes:
        raise ExperimentError(f"{where} drops every class; {_EXPECTED}")
    return found
