"""These tests compute on one thread."""

from tests.one_thread import one_thread  # noqa: F401 - a fixture of this folder
