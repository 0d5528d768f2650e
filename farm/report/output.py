"""What the command line prints: control characters in it are shown, so that no name moves the cursor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Control characters but the newline, marks of direction, separators of lines, and what is no character.
_CONTROLS = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def with_descriptions(commands: Iterable[tuple[str, str]]) -> str:
    """Write commands below each other, and beside them, in one column, what they are for.

    Examples
    --------
    >>> print(with_descriptions([("farm judge a", "every measure"), ("farm verify a", "is all whole")]))
      farm judge a   every measure
      farm verify a  is all whole
    """
    told = list(commands)
    width = max((len(command) for command, _ in told), default=0)
    return "\n".join(f"  {command:<{width}}  {what}" for command, what in told)


def visible(text: str) -> str:
    r"""Show control characters as escapes. JSON stays the same: what is `\x..` here it escapes by itself.

    Examples
    --------
    >>> visible("\x1b[31mfog\u202e")
    '\\x1b[31mfog\\u202e'
    """
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < ord(" ") else f"\\u{code:04x}"


class Styled(str):
    """Visible text with rich's own escape codes. What is put together of it with other text is no such."""

    __slots__ = ()


class VisibleStream:
    """A stream that shows control characters. Rich finds the one below, for codes of its own."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text; a bar that somebody's code draws may go back to the beginning of its line."""
        start = text if isinstance(text, Styled) else "\r" * text.startswith("\r")
        self.rich_proxied_file.write(start + visible(text[len(start) :]))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them one by one."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def visible_streams() -> Iterator[None]:
    """Show control characters in all that is written; after an error too, of which the interpreter tells."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        one if isinstance(one, VisibleStream) else cast(TextIO, VisibleStream(one)) for one in streams
    )
    yield
    sys.stdout, sys.stderr = streams


@contextmanager
def visible_layouts() -> Iterator[None]:
    """Show control characters in all texts that rich lays out; by itself it drops some and keeps most."""
    import rich.text  # not before: help does without

    names = vars(rich.text)
    before = names["strip_control_codes"]
    names["strip_control_codes"] = visible
    try:
        yield
    finally:
        names["strip_control_codes"] = before
