"""Tables of cases: one test goes through all of them, and tells each that fails."""

from __future__ import annotations

import pytest

from farm.errors import FarmError


def all_hold(check, cases):
    """Check every case, and tell all that fail; a case is what `check` is given, alone or in a tuple."""
    failed = []
    for case in cases:
        arguments = case if isinstance(case, tuple) else (case,)
        try:
            check(*arguments)
        except (AssertionError, FarmError, pytest.fail.Exception) as error:
            failed.append(f"{', '.join(map(told, arguments))}: {str(error) or 'it does not hold'}")
    assert not failed, "\n\n".join(failed)


def told(argument):
    return argument.__name__ if hasattr(argument, "__name__") else str(argument)
