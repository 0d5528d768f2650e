"""Small readouts made by hand, for tests of what judges them: no model, no monitor and no run is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm.errors import ParameterError
from farm.store.readouts import Readouts

Column: TypeAlias = Any
"""An array or a list with a value for each instance, or one value for all of them."""
OF_OOD = ("category", "faultload", "severity")
"""Columns of which one value is that of OOD instances alone."""


def make_readouts(
    monitors: Mapping[str, Column | Mapping[str, Column] | str],
    *,
    is_ood: Column | None = False,
    wrong: Column = False,
    label: Column | None = 0,
    predicted: Column | None = None,
    category: Column | None = "shift",
    faultload: Column | None = "fog",
    severity: Column | None = 3.0,
    run: Mapping[str, Any] | None = None,
    **columns: Column | None,
) -> Readouts:
    """Make readouts of a few columns: each is an array, or one value for all instances.

    Parameters
    ----------
    monitors
        What each said, by name: its alarms, or a mapping of columns as `Readouts.alarms` has them (`alarm`,
        `score`, `cancelled`, `decision`, `monitor_time_us`). A score above 0 is an alarm unless `alarm` is
        given. A text instead is why the monitor failed: then it said nothing.
    is_ood
        Which instances are OOD; None where nobody knows.
    wrong
        Which predictions are wrong, unless `predicted` is given. With the label -1 each is.
    label, predicted
        Classes. None as the label leaves it out.
    category, faultload, severity
        An array as it is; one value for each OOD instance, and none for the others.
    run
        The run's record; it names the monitors unless it has its own list of them.
    **columns
        More columns of instances, such as `id`, `track`, `episode` or `confidence`; None leaves one out.

    Examples
    --------
    >>> from farm.judging import judge
    >>> made = make_readouts({"oob": [True, False, True, True], "odin": "singular"}, is_ood=[0, 0, 1, 1])
    >>> oob, odin, oracle = judge(made.instances, made.alarms, made.run)[:3]
    >>> oob["specific"]["fpr"], oob["specific"]["recall"], odin["failure"]
    (0.5, 1.0, 'singular')
    """
    failures = {name: said for name, said in monitors.items() if isinstance(said, str)}
    told = {name: _columns(said) for name, said in monitors.items() if name not in failures}
    faults = {"category": category, "faultload": faultload, "severity": severity}
    given: dict[str, Any] = {**columns, "label": label, "predicted": predicted, "is_ood": is_ood, **faults}
    said = {f"{column} of {name}": values for name, own in told.items() for column, values in own.items()}
    n = _length({**given, "wrong": wrong, **said})
    if predicted is None:
        # With the label -1 any class is wrong: 0 is one.
        right = np.maximum(np.asarray(0 if label is None else label), 0)
        given["predicted"] = right + np.asarray(wrong, dtype=np.bool_)
    table: dict[str, Any] = {"position": np.arange(n)}
    for name, values in given.items():
        one_of_ood = name in OF_OOD and np.ndim(values) == 0
        if values is not None and not (one_of_ood and is_ood is None):
            table[name] = _full(values, n)
            if one_of_ood:
                table[name] = np.where(table["is_ood"], table[name], np.array(None))
    kinds = {"is_ood": np.bool_, "severity": np.float64}
    instances = pd.DataFrame(table).astype({name: kind for name, kind in kinds.items() if name in table})
    frames = [_alarms(name, own, instances["position"]) for name, own in told.items()]
    nothing = pd.DataFrame({"position": [0], "monitor": [""], "alarm": [False]}).iloc[:0]
    alarms = pd.concat(frames, ignore_index=True) if frames else nothing
    notes = [{"name": name, "failure": failures.get(name)} for name in monitors]
    return Readouts(instances, alarms, {"monitors": notes, **(run or {})})


def _columns(said: Column | Mapping[str, Column]) -> dict[str, Column]:
    """Return what a monitor said as columns, of which `alarm` is one."""
    own = dict(said) if isinstance(said, Mapping) else {"alarm": said}
    if "alarm" not in own and "score" not in own:
        raise ParameterError(f"make_readouts: a monitor's columns are {sorted(own)}; expected alarm or score")
    return own if "alarm" in own else {**own, "alarm": np.asarray(own["score"]) > 0}


def _length(given: Mapping[str, Column]) -> int:
    """Return the one length that all arrays have."""
    lengths = {name: len(values) for name, values in given.items() if np.ndim(values)}
    if len(set(lengths.values())) != 1:
        raise ParameterError(f"make_readouts: lengths are {lengths}; expected arrays, all of one length")
    return next(iter(lengths.values()))


def _full(values: Column, n: int) -> Any:
    """Return a column of n values; among texts, which stay objects, there may be None."""
    if isinstance(values, pd.Series | pd.api.extensions.ExtensionArray):
        return values.array if isinstance(values, pd.Series) else values
    array = np.asarray(values)
    array = array.astype(object) if array.dtype.kind == "U" else array
    return array if array.ndim else np.full(n, array)


def _alarms(monitor: str, own: Mapping[str, Column], position: Any) -> pd.DataFrame:
    """Return a monitor's rows of the table of alarms."""
    n = len(position)
    table = {"position": position, "monitor": monitor, **{name: _full(v, n) for name, v in own.items()}}
    return pd.DataFrame(table).astype({"alarm": np.bool_})
