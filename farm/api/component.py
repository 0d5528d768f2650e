"""What every named component shares: it remembers what it was made with, and checks it.

A component is a class whose constructor takes keyword-only parameters. The registry makes it by name;
a person may as well call the class. Either way `parameters` tells all of its settings, defaults
included, which is what provenance, caches and `farm describe` read.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from farm.errors import ParameterError, suggestion

C = TypeVar("C", bound="Component")


class Component:
    """Base of workloads, models, faultloads and monitors."""

    reference: ClassVar[str] = ""
    """Where the method is published, for `farm describe` and reports."""

    name: str
    """What tables call it: the registered name, or the alias that the experiment gives it."""
    alias: str | None = None
    """The alias alone."""

    _arguments: dict[str, Any]

    def __new__(cls, *args: Any, **arguments: Any) -> Self:
        """Remember the arguments, so that no subclass has to."""
        self = super().__new__(cls)
        if args:
            raise ParameterError(f"{cls.__name__} takes its parameters by keyword only; got {args!r}")
        # A class without a constructor of its own would swallow a keyword in silence.
        if unknown := [name for name in arguments if not _takes(cls, name)]:
            hint = suggestion(unknown[0], parameters_of(cls))
            raise ParameterError(f"{cls.__name__} has no parameter '{unknown[0]}'; {hint}")
        self._arguments = arguments
        self.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with the value it has, defaults included."""
        return {name: p.default for name, p in parameters_of(type(self)).items()} | self._arguments

    @property
    def recipe(self) -> dict[str, Any]:
        """Its name and every parameter: what provenance keeps."""
        return {"name": self.name, **self.parameters}

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self._arguments.items())
        return f"{type(self).__name__}({inside})"


def another(component: C) -> C:
    """Return a new one with the same arguments and name, which shares nothing that it learned."""
    made = type(component)(**component._arguments)
    made.name = component.name
    return made


def parameters_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that a component's constructor takes, in order."""
    signature = inspect.signature(cls).parameters
    return {n: p for n, p in signature.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def _takes(cls: type[Any], name: str) -> bool:
    if cls.__init__ is object.__init__:
        return False  # its signature would be that of `__new__`, which takes everything
    signature = inspect.signature(cls.__init__).parameters
    return name in signature or any(p.kind is p.VAR_KEYWORD for p in signature.values())


def check_number(
    name: str,
    value: Any,
    *,
    low: float = float("-inf"),
    high: float = float("inf"),
    above: float = float("-inf"),
    whole: bool = False,
) -> None:
    """Check that a parameter is a number in its range; the message names the parameter and the rule.

    Examples
    --------
    >>> check_number("rate", 1.5, low=0, high=1)
    Traceback (most recent call last):
    farm.errors.ParameterError: rate is 1.5; expected a number from 0 to 1
    """
    right_type = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    finite = right_type and (isinstance(value, int) or math.isfinite(value))
    if finite and low <= value <= high and value > above:
        return
    what = "a whole number" if whole else "a number"
    if above > float("-inf"):
        what += f" above {above:g}" + (f" and at most {high:g}" if high < float("inf") else "")
    elif low > float("-inf"):
        what += f" from {low:g} to {high:g}" if high < float("inf") else f" of at least {low:g}"
    elif high < float("inf"):
        what += f" of at most {high:g}"
    raise ParameterError(f"{name} is {value!r}; expected {what}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check that a parameter is one of the listed words."""
    if value not in choices:
        raise ParameterError(f"{name} is {value!r}; expected one of: {', '.join(choices)}")
