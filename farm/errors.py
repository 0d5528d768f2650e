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

A component may raise anything, and that is its failure, but for one thing: a person's Ctrl-C, which may come
while it is at work. `noting_ctrl_c` and `pass_on_ctrl_c` tell the two apart.
"""

from __future__ import annotations

import difflib
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar

MOST, NEAREST = 60, 8
"""Of more names than this, an error tells only the nearest few."""
_CTRL_C: list[int] = []
"""A signal of each Ctrl-C that was noted."""


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
    >>> suggestion("conv_9", [f"/layer{i}/conv_{i}/output" for i in range(300)])
    'nearest of 300: /layer9/conv_9/output, /layer90/conv_90/output, /layer91/conv_91/output, ...'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    if len(names) > MOST:
        likeness = {one: difflib.SequenceMatcher(None, one, name).ratio() for one in names}
        nearest = sorted(names, key=lambda one: (name not in one, -likeness[one]))
        return f"nearest of {len(names)}: {', '.join(nearest[:NEAREST])}, ..."
    return f"known: {', '.join(names)}" if names else "none is known"


def one_line(error: BaseException) -> str:
    """Return an exception's type and message on one line, for a record of what failed."""
    message = " ".join(str(error).split())
    if isinstance(error, FarmError):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


@contextmanager
def noting_ctrl_c() -> Iterator[None]:
    """Take a note of every Ctrl-C while this is entered, and interrupt as Python does."""
    # Somebody else's handler, or none, is left as it is; and only the main thread may set one.
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _note_ctrl_c)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _CTRL_C.clear()


def pass_on_ctrl_c(error: BaseException) -> None:
    """Raise KeyboardInterrupt where a person asked to stop; return where what a component raised is its own.

    Ctrl-C is the signal SIGINT, for which Python calls a handler in the main thread; the handler raises. Code
    that raises KeyboardInterrupt by itself calls no handler. So where the handler is ours, its note decides,
    whatever the component made of the exception on its way. In another thread, or where SIGINT is ignored, as
    in a campaign's workers, Ctrl-C raises nothing. With anybody else's handler nobody knows: then a
    KeyboardInterrupt is taken for the person's.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handler is signal.SIG_IGN:
        return
    interrupted = isinstance(error, KeyboardInterrupt)
    if not (_CTRL_C if handler is _note_ctrl_c else interrupted):
        return
    if interrupted:
        raise error  # with its message
    raise KeyboardInterrupt from error


def _note_ctrl_c(number: int, frame: FrameType | None) -> None:
    _CTRL_C.append(number)
    signal.default_int_handler(number, frame)
