"""Every error the testbed raises on purpose.

::

    FarmError
    ├── UserError               the user can mend it; exit code 2
    │   ├── ExperimentError     a key, type or value in an experiment file or on the command line
    │   ├── UnknownNameError    a name that nobody registered
    │   ├── ParameterError      a component's parameter
    │   ├── RequirementError    a component needs what is not there
    │   └── DataError           a file, an image, a label, a split
    └── Failure                 something broke while it ran; exit code 1
        ├── ComponentFailure    a monitor, classifier or faultload raised or returned rubbish
        └── StorageError        the disk is full, read-only or gone

A message is one line: what, where, which value, what was expected, what to try.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class FarmError(Exception):
    """Base of all errors raised on purpose; printed as one line, without a traceback."""

    exit_code: ClassVar[int] = 1


class UserError(FarmError):
    """What was asked for cannot be done as asked; the user can mend it."""

    exit_code = 2


class ExperimentError(UserError):
    """A key, a type or a value in an experiment or on the command line."""


class UnknownNameError(UserError):
    """A name that nobody registered."""


class ParameterError(UserError):
    """A component's parameter has a value that it cannot take."""


class RequirementError(UserError):
    """A component needs something that is not there."""


class DataError(UserError):
    """A file, an image, a label or a split is not as it must be."""


class Failure(FarmError):  # noqa: N818 - a failure is a result too: it is recorded and shown
    """Something broke while it ran."""


class ComponentFailure(Failure):
    """A monitor, a classifier or a faultload raised, or returned rubbish."""


class StorageError(Failure):
    """Something could not be written or read for the machine's sake."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, or list what there is.

    Examples
    --------
    >>> suggestion("od1n", ["odin", "oob"])
    "did you mean 'odin'?"
    >>> suggestion("xyz", ["odin", "oob"])
    'known: odin, oob'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known: {', '.join(names)}" if names else "none is known"


def one_line(error: BaseException) -> str:
    """Give an exception's type and message on one line, for a record of what failed."""
    message = " ".join(str(error).split())
    return message if isinstance(error, FarmError) else f"{type(error).__name__}: {message}"
