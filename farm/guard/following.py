"""What follows a verdict in a guard: policy and fallback, anybody's, called so that a mistake has a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api import BoolArray, IntArray, Observation, Policy, Verdict
from farm.errors import ComponentFailure, FarmError, one_line
from farm.fallback import Fallback

P = ParamSpec("P")
R = TypeVar("R")


def cancelled_by(policy: Policy, verdict: Verdict, observation: Observation) -> BoolArray:
    """Give what a policy cancels: one truth value an image."""
    who = f"policy '{policy.name}'"
    found = safely(who, policy.decide, verdict, observation)
    return _checked(who, found, "b", "truth value", len(observation))


def labels_by(
    fallback: Fallback, cancelled: BoolArray, observation: Observation, alarms: BoolArray
) -> IntArray:
    """Give the class that is acted upon, -1 where there is none: one number an image."""
    found = safely("the fallback", fallback.decide, cancelled, observation, alarms)
    return _checked("the fallback", found, "iu", "class number", len(observation))


def safely(who: str, hook: Callable[P, R], *arguments: P.args, **more: P.kwargs) -> R:
    """Call a hook, and turn whatever it raises into a failure that names whose it is."""
    try:
        return hook(*arguments, **more)
    except FarmError:
        raise
    except Exception as error:
        raise ComponentFailure(f"{who} failed: {one_line(error)}") from error


def _checked(who: str, found: object, kinds: str, what: str, n: int) -> NDArray[Any]:
    if isinstance(found, np.ndarray) and found.shape == (n,) and found.dtype.kind in kinds:
        return found
    told = f"of the type {type(found).__name__}"
    if isinstance(found, np.ndarray):
        told = f"an array of {found.dtype} and the shape {found.shape}"
    raise ComponentFailure(f"{who} gave what is {told}; expected an array with one {what} an image, here {n}")
