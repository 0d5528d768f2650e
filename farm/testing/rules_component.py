"""Rules about what any component says of itself."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

from farm import registry
from farm.api import parameters_of
from farm.errors import ExperimentError, ParameterError, one_line
from farm.testing.rules import Breach, NotApplicable, rule
from farm.testing.trial import ComponentTrial


class Nothing:
    """A value that no parameter can take."""

    def __repr__(self) -> str:
        return "an object of no use"


@rule()
def says_what_it_is(trial: ComponentTrial[Any]) -> None:
    """Its docstring says what it is and shows an example; its reference is text."""
    cls = type(trial.given)
    text = inspect.getdoc(cls) if cls.__doc__ else ""
    if not text:
        raise Breach("its class has no docstring; expected one that says what the method is")
    if ">>> " not in text:
        raise Breach("its docstring has no example; expected a section 'Examples' with '>>> '")
    if not isinstance(cls.reference, str):
        raise Breach(f"its reference is {cls.reference!r}; expected text, '' where nothing is published")


@rule()
def parameters_by_keyword(trial: ComponentTrial[Any]) -> None:
    """The constructor takes every parameter by its keyword, and no others."""
    cls = type(trial.given)
    if cls.__init__ is object.__init__:
        return
    _, *parameters = inspect.signature(cls.__init__).parameters.values()
    for parameter in parameters:
        if parameter.kind is not parameter.KEYWORD_ONLY:
            told = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
            raise Breach(f"the constructor takes '{told}'; expected keyword-only ones: put a '*' first")


@rule()
def parameters_documented(trial: ComponentTrial[Any]) -> None:
    """The docstring's section 'Parameters' explains each parameter, and no others."""
    cls = type(trial.given)
    known, told = set(parameters_of(cls)), _documented(inspect.getdoc(cls) or "")
    if missing := known - told:
        raise Breach(f"the docstring does not explain the parameter '{min(missing)}'")
    if surplus := told - known:
        raise Breach(f"the docstring explains '{min(surplus)}', which is no parameter")


@rule()
def parameters_plain(trial: ComponentTrial[Any]) -> None:
    """Its parameters, defaults included, can be written as JSON, for provenance and to be made anew."""
    for name, value in trial.make().parameters.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Breach(f"parameter '{name}' is {value!r}, which is no JSON ({error})") from None


@rule()
def parameters_checked(trial: ComponentTrial[Any]) -> str | None:
    """A value of a wrong type is refused when the monitor is made, by the parameter's name."""
    cls = type(trial.given)
    if not parameters_of(cls):
        return "it has no parameters"
    try:
        registry.component_class(trial.kind, trial.target)
    except ExperimentError:
        why = f"'{trial.target}' cannot be imported, so that no experiment can name it"
        raise NotApplicable(why) from None
    for name in parameters_of(cls):
        try:
            registry.make(trial.kind, trial.target, {**trial.arguments, name: Nothing()})
        except ParameterError as error:
            if name not in str(error):
                raise Breach(f"the refusal of a wrong '{name}' does not name it: {error}") from None
        except Exception as error:  # noqa: BLE001 - whatever it is, a user would see it
            raise Breach(f"a wrong '{name}' raises {one_line(error)}; expected a ParameterError") from None
        else:
            raise Breach(f"parameter '{name}' took {Nothing()!r}; annotate it with a type, or check it")
    return None


def _documented(docstring: str) -> set[str]:
    """Return the names that a NumPy-style section 'Parameters' explains."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = found.group(1).splitlines() if found else []
    entries = [line.partition(":")[0] for line in lines if line and not line[0].isspace()]
    return {name.strip() for entry in entries for name in entry.split(",")}
