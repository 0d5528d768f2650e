"""From names to components.

There is one door: entry points. What ships with the testbed is listed in its own `pyproject.toml`, and
another package's components get in by the same groups, so that nothing is kept by hand in two places
and listing names imports no component. `module:attribute` names a component that nobody registered.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any, Literal, cast, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from farm import api
from farm.errors import ExperimentError, FarmError, ParameterError, UnknownNameError, one_line, suggestion

Kind = Literal["workload", "model", "network", "faultload", "schedule", "monitor", "policy"]
BASES: Mapping[Kind, type[api.Component]] = {
    "workload": api.WorkloadSource,
    "model": api.ModelSource,
    "network": api.NetworkSource,
    "faultload": api.Faultload,
    "schedule": api.Schedule,
    "monitor": api.Monitor,
    "policy": api.Policy,
}
PLAIN: Mapping[Kind, str] = {
    "monitor": "; a function that gives scores: {{name: callable, function: {0}}}",
    "model": "; a torch module: {{name: module, factory: {0}}}; a function from images to probabilities: "
    "{{name: function, function: {0}}}",
}
"""How to say what is no plug-in, but will do."""
OURS = "farm-testbed"
OUR_PACKAGES = ("farm", "monitors", "models", "faultloads")
FORMS = {
    "Sequence[str | Mapping[str, Any]]": "a list of names or mappings",
    "Mapping[str, Any]": "a mapping",
    "Sequence[int]": "a list of whole numbers",
    "Sequence[float]": "a list of numbers",
    "Sequence[str]": "a list of names",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    " | None": "",
    " | ": " or ",
}
"""What messages call the types of parameters; None is what they are without being set."""
_FORM = re.compile("|".join([*(re.escape(form) for form in FORMS if not form.isalpha()), r"\w+"]))
HOME = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Entry:
    """A registered name: what it is called, where its class lies, and which package owns it."""

    kind: Kind
    name: str
    target: str
    owner: str


def entries(kind: Kind) -> dict[str, Entry]:
    """Return all registered names of a kind, sorted; two owners of one name are an error."""
    return dict(_entries(kind, entry_points, installed()))


@lru_cache(maxsize=64)
def _entries(kind: Kind, points: Callable[..., EntryPoints], records: object) -> Mapping[str, Entry]:
    """Read the records of all distributions, which takes longer than making a component."""
    del records
    found: dict[str, Entry] = {}
    owners: dict[int, str] = {}
    """By the distribution: each time its name is asked for, it reads all of its metadata again."""
    group = "farm.policies" if kind == "policy" else f"farm.{kind}s"
    for point in sorted(points(group=group), key=lambda p: p.name):
        owner = "unknown"
        if point.dist:
            owner = owners.get(id(point.dist)) or owners.setdefault(id(point.dist), point.dist.name)
        entry = Entry(kind, point.name, point.value, owner)
        other = found.setdefault(entry.name, entry)
        if (other.target, other.owner) != (entry.target, entry.owner):
            raise ExperimentError(
                f"{kind} '{entry.name}' has two owners: {other.owner} ({other.target}) and "
                f"{entry.owner} ({entry.target}); uninstall one of them"
            )
    return found


def installed() -> tuple[tuple[tuple[str, int], ...], ...]:
    """Return the names and times of all distributions' records: they tell what is installed from before."""
    found = []
    for folder in sys.path:
        try:
            found.append(_records(os.path.abspath(folder), os.stat(folder or ".").st_mtime_ns))  # noqa: PTH100, PTH116
        except OSError:
            continue
    return tuple(found)


@lru_cache(maxsize=256)
def _records(folder: str, modified: int) -> tuple[tuple[str, int], ...]:
    del modified
    with os.scandir(folder) as inside:
        records = [entry for entry in inside if entry.name.endswith((".dist-info", ".egg-info"))]
        return tuple(sorted([(entry.name, entry.stat().st_mtime_ns) for entry in records]))


def component_class(kind: Kind, name: str) -> type[api.Component]:
    """Import the class behind a registered name or behind `module:attribute`."""
    if ":" in name:
        target, ours = name, False
    else:
        known = entries(kind)
        name = canonical(kind, name)
        if name not in known:
            hint = suggestion(name, known)
            if kind == "workload" and Path(name).exists():
                hint = f"that is a path: {{name: folder, path: {name}}}, or npz or table in place of folder"
            raise UnknownNameError(f"{kind} '{name}' is not known; {hint}")
        target, ours = known[name].target, known[name].owner == OURS
    found = import_target(target, f"{kind} '{name}'", ours=ours)
    if not (isinstance(found, type) and issubclass(found, BASES[kind])):
        what = "a function" if inspect.isroutine(found) else repr(found)
        plain = callable(found) and not (isinstance(found, type) and issubclass(found, api.Component))
        hint = PLAIN.get(kind, "").format(name) if plain else ""
        base = BASES[kind].__name__
        raise ExperimentError(f"{kind} '{name}' is {what}; expected a subclass of farm.api.{base}{hint}")
    return found


def canonical(kind: Kind, name: str) -> str:
    """Return the registered spelling of a name: other tools write `gaussian_noise`."""
    spelt = name.replace("_", "-")
    return spelt if ":" not in name and name not in (known := entries(kind)) and spelt in known else name


def import_target(target: str, what: str, *, ours: bool = False) -> Any:
    """Import `module:attribute`, and say in one line why that does not work."""
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        before, dot, last = target.rpartition(".")
        hint = f": did you mean '{before}:{last}'?" if dot and ":" not in target else ""
        raise ExperimentError(f"{what}: '{target}' is no import target; expected 'module:attribute'{hint}")
    if module_name.endswith(".py"):
        meant = module_name.removesuffix(".py").replace("/", ".")
        raise ExperimentError(f"{what}: '{target}' names a file; expected a module: '{meant}:{attribute}'")
    if ours:
        _check_not_shadowed(module_name.partition(".")[0])
    try:
        module = importlib.import_module(module_name)
    except FarmError:
        raise
    except Exception as error:
        why = one_line(error)
        if isinstance(error, ModuleNotFoundError) and error.name == (first := module_name.partition(".")[0]):
            own = _own_modules()
            put = suggestion(first, own) if own else f"put {first}.py here or beside the experiment"
            hint = lies_below(first) or f"; {put}"
            why = f"there is no such module{hint}"
        raise ExperimentError(f"{what}: cannot import '{module_name}': {why}") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        if not ours and module_name in OUR_PACKAGES:
            hint = f"'{module_name}' is the testbed's own package: give your module another name"
        else:
            hint = suggestion(attribute, [n for n in vars(module) if not n.startswith("_")])
        raise ExperimentError(f"{what}: module '{module_name}' has no '{attribute}'; {hint}") from None


def lies_below(package: str) -> str:
    """Say how to reach a package in a folder below this one, as `farm new` writes them; '' where none is."""
    folders = sorted(path.parts[0] for path in Path().glob(f"*/{package}/__init__.py"))
    if not folders:
        return ""
    return f"; one lies in {folders[0]}: run from there, or `python -m pip install -e {folders[0]}`"


def _own_modules() -> set[str]:
    """Return the user's own modules: those on the path that are neither installed nor the testbed's."""
    others = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix, HOME)}
    places = [Path(place).resolve() for place in sys.path if not place.endswith("-packages")]
    own = [str(place) for place in places if not others & {place, *place.parents}]
    return {module.name for module in pkgutil.iter_modules(own)}


def _check_not_shadowed(package: str) -> None:
    """A user's own `models.py` comes first on the path; say so instead of failing in a riddle."""
    loaded = sys.modules.get(package)
    spec = loaded.__spec__ if loaded else importlib.util.find_spec(package)
    origin = Path(spec.origin).resolve() if spec and spec.origin else None
    if origin != HOME / package / "__init__.py":
        raise ExperimentError(
            f"package '{package}' was found at {origin}, which hides the testbed's own at {HOME / package}; "
            "rename yours or run from another folder"
        )


def make(
    kind: Kind,
    name: str,
    parameters: Mapping[str, Any],
    alias: str | None = None,
    other_keys: Sequence[str] = (),
) -> api.Component:
    """Make a component by name; it remembers what it was made with.

    `other_keys` are what an experiment may say beside parameters, for a better suggestion.
    """
    cls = component_class(kind, name)
    known = api.parameters_of(cls)
    for parameter in parameters:
        if parameter not in known:
            hint = suggestion(parameter, [*known, *other_keys])
            if parameter == "path" and "workload" in known:
                hint = f"it is the workload's: workload: {{name: folder, path: {parameters[parameter]}}}"
            raise ParameterError(f"{kind} '{name}' has no parameter '{parameter}'; {hint}")
    missing = [n for n, p in known.items() if p.default is inspect.Parameter.empty and n not in parameters]
    if missing:
        raise ParameterError(f"{kind} '{name}' needs the parameter '{missing[0]}', which has no default")
    _check_types(cls, parameters, f"{kind} '{name}'")
    try:
        component = cls(**parameters)
    except ParameterError as error:
        raise ParameterError(f"{kind} '{name}': {error}") from None
    except FarmError:
        raise
    except Exception as error:
        raise ParameterError(f"{kind} '{name}' cannot be made: {one_line(error)}") from error
    component.name, component.alias = alias or canonical(kind, name), alias
    return component


def _check_types(cls: type[api.Component], parameters: Mapping[str, Any], what: str) -> None:
    """Compare what a file says with the constructor's own annotations."""
    try:
        hints = get_type_hints(cls.__init__)
    except NameError:
        return  # names that only a type checker imports
    for name, value in parameters.items():
        if name not in hints:
            continue
        try:
            TypeAdapter(hints[name]).validate_python(value, strict=True)
        except PydanticUserError:
            continue  # a class of somebody's own, which no file can hold
        except ValidationError:
            told = re.sub(r"\b(?:\w+\.)+|<class '|'>", "", str(hints[name]))
            told = _FORM.sub(lambda form: FORMS.get(form[0], form[0]), told)
            raise ParameterError(f"{what}: {name} is {value!r}; expected {told}") from None


def workload(name: str, **parameters: Any) -> api.WorkloadSource:
    """Make a workload's recipe by name."""
    return cast(api.WorkloadSource, make("workload", name, parameters))


def model(name: str, **parameters: Any) -> api.ModelSource:
    """Make a model's recipe by name."""
    return cast(api.ModelSource, make("model", name, parameters))


def network(name: str, **parameters: Any) -> api.NetworkSource:
    """Make a network's recipe by name."""
    return cast(api.NetworkSource, make("network", name, parameters))


def restored(trained: api.TrainedNetwork) -> api.Network | api.Classifier:
    """Make a trained network again from its recipe and its arrays."""
    source = make(trained.kind, trained.name, trained.parameters)
    if isinstance(source, api.NetworkSource):
        return source.restore(trained.state, trained.shape)
    saved = api.SavedClassifier(trained.name, trained.classes, trained.shape, trained.state)
    return cast(api.ModelSource, source).restore(saved)


def faultload(name: str, **parameters: Any) -> api.Faultload:
    """Make a faultload by name."""
    return cast(api.Faultload, make("faultload", name, parameters))


def monitor(name: str, **parameters: Any) -> api.Monitor:
    """Make a monitor by name."""
    return cast(api.Monitor, make("monitor", name, parameters))


def policy(name: str, **parameters: Any) -> api.Policy:
    """Make a policy by name."""
    return cast(api.Policy, make("policy", name, parameters))
