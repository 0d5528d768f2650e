"""Texts that people read, kept apart from behaviour in golden files that `pytest --renew` writes anew.

A test says what happens (`refused(DataError)`, `same_text(printed)`); how it is worded stands in
`tests/golden/`, a file for each file of tests. In these, `<*>` stands for any text: put it by hand where
another library speaks, and it stays as long as the rest is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
ANY = "<*>"
HEADING = "## "
INDENT = "    "
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*\d)")
PASSING = [
    (re.compile(r"\b[0-9a-f]{12,}\b"), "<digest>"),
    (re.compile(r"0x[0-9a-f]+"), "<address>"),
    (re.compile(r"(?<=_time_us\": )\d[\d.]*"), "<time>"),
    (re.compile(r"\bin \d+ s\b"), "in <time>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]
"""What differs between two runs though they say the same."""
OF_MEASURED_TIMES = [
    (re.compile(r"(?<![\w.])\d[\d.]* (?:ns|µs|ms)(?!\w)"), "<time>"),
    (re.compile(r"[+<]\d[\d.]* %"), "<overhead>"),
    (re.compile(r"─{3,}"), "───"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
]
"""Columns of a table are as wide as the times in it want them to be."""


class Golden:
    """The texts of one file of tests: as they were kept, and as they are now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = parse(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.now: dict[str, str] = {}

    def renew(self, collected: set[str] | None) -> None:
        """Write the texts that were seen; those of tests that are gone go too, where all were collected."""
        texts = {key: renewed(self.kept.get(key, ""), text) for key, text in self.now.items()}
        ran = {test_of(key) for key in self.now}
        for key, text in self.kept.items():
            if test_of(key) not in ran and (collected is None or test_of(key) in collected):
                texts[key] = text
        if not texts:
            self.path.unlink(missing_ok=True)
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(render(texts), encoding="utf-8")


class Wording:
    """What the session has seen so far, and in which test it is."""

    def __init__(self) -> None:
        self.renewing = False
        self.folder = ""
        self.files: dict[str, Golden] = {}
        self.test: tuple[str, str] | None = None
        self.count = 0

    def begin(self, item: pytest.Item) -> None:
        """Note which test runs now."""
        self.test, self.count = (module_of(item), name_of(item)), 0
        # Read before the test, which may make files unreadable.
        if (module := self.test[0]) not in self.files:
            self.files[module] = Golden(GOLDEN / Path(module).with_suffix(".txt"))

    def check(self, text: str) -> None:
        """Compare a text with the one that is kept for this place of this test."""
        assert self.test is not None, "texts are compared in tests alone"
        module, name = self.test
        golden = self.files[module]
        self.count += 1
        key = name if self.count == 1 else f"{name} ({self.count})"
        seen = lasting(text)
        golden.now[key] = seen
        if self.renewing:
            return
        if key not in golden.kept:
            pytest.fail(f"no text is kept for '{key}'; write it by `pytest --renew` and read it:\n{seen}")
        if not agree(golden.kept[key], seen):
            assert seen == golden.kept[key], "where this is meant: `pytest --renew`"


WORDING = Wording()


@contextmanager
def refused(*kinds: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error of one of these kinds, in the words that are kept for it."""
    with pytest.raises(kinds) as caught:
        yield caught
    same_text(str(caught.value))


def same_text(text: object, *, measured: bool = False) -> None:
    """Expect the text, or the lines, that are kept for this place of the test.

    Where a table has times that the test measured, they are left out, and with them its layout.
    """
    if not isinstance(text, str) and isinstance(text, Iterable):
        text = "\n".join(str(line) for line in text)
    text = str(text)
    for pattern, name in OF_MEASURED_TIMES if measured else ():
        text = pattern.sub(name, text)
    WORDING.check(text)


def lasting(text: str) -> str:
    """Leave out what differs between two runs though they say the same."""
    if WORDING.folder:
        text = re.sub(re.escape(WORDING.folder) + r"(/[\w.-]+)?", "<tmp>", text)
    for pattern, name in PASSING:
        text = pattern.sub(name, text)
    return text.replace(str(ROOT), "<project>").strip("\n")


def agree(kept: str, seen: str) -> bool:
    """Say whether two texts are the same, numbers with decimals to one in their last digit.

    >>> agree("mcc 0.312 of <*>", "mcc 0.313 of oob"), agree("n = 5, 0.31", "n = 6, 0.31")
    (True, False)
    """
    pattern = NUMBER.sub("\0", kept)
    shape = re.escape(pattern).replace(re.escape(ANY), ".*?").replace(re.escape("\0"), f"({NUMBER.pattern})")
    found = re.fullmatch(shape, seen, flags=re.DOTALL)
    if found is None:
        return False
    pairs = zip(NUMBER.findall(kept), found.groups(), strict=True)
    return all(abs(float(a) - float(b)) <= 1.001 * max(last_place(a), last_place(b)) for a, b in pairs)


def renewed(kept: str, seen: str) -> str:
    """Return what is seen now, but of what was kept the lines that are true still, since they may have `<*>`.

    >>> renewed("a = <*>\\nb = 1", "a = 7\\nc = 2")
    'a = <*>\\nc = 2'
    """
    if agree(kept, seen):
        return kept
    old = kept.split("\n")
    return "\n".join(next((one for one in old if agree(one, line)), line) for line in seen.split("\n"))


def last_place(number: str) -> float:
    """Return what one in the last digit of a number is worth.

    >>> last_place("0.25"), last_place("1.5e-03")
    (0.01, 0.0001)
    """
    mantissa, _, exponent = number.partition("e")
    return float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")


def parse(text: str) -> dict[str, str]:
    """Read a golden file: a heading for each text, and the text indented."""
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(HEADING):
            lines = texts.setdefault(line.removeprefix(HEADING), [])
        else:
            lines.append(line.removeprefix(INDENT))
    return {key: "\n".join(lines).strip("\n") for key, lines in texts.items()}


def render(texts: dict[str, str]) -> str:
    """Write texts as a golden file."""
    parts = []
    for key in sorted(texts):
        body = "\n".join((INDENT + line).rstrip() for line in texts[key].split("\n"))
        parts.append(f"{HEADING}{key}\n{body}\n")
    return "\n".join(parts)


def module_of(item: pytest.Item) -> str:
    """Return the file that a test stands in, from the folder of tests."""
    path = item.path
    return str(path.relative_to(ROOT / "tests")) if path.is_relative_to(ROOT / "tests") else path.name


def name_of(item: pytest.Item) -> str:
    """Return a test's name within its file, on one line."""
    return item.nodeid.partition("::")[2].replace("\n", " ")


def test_of(key: str) -> str:
    """Return the test that a kept text belongs to."""
    return re.sub(r" \(\d+\)$", "", key)
