"""How a person names a class to a fault."""

from __future__ import annotations

from farm.api import NO_ANSWER, OODImages, Workload
from farm.errors import ParameterError, suggestion


def class_number(workload: Workload | OODImages, key: str | int, parameter: str) -> int:
    """Find a class by number, or by name; text that is no name may be a number, as on a command line."""
    classes = workload.classes
    found = classes.index(key) if key in classes else NO_ANSWER
    if found == NO_ANSWER and str(key).isdigit() and int(key) < len(classes):
        found = int(key)
    if found == NO_ANSWER:
        hint = suggestion(str(key), classes)
        raise ParameterError(f"{parameter}: workload '{workload.name}' has no class '{key}'; {hint}")
    return found
