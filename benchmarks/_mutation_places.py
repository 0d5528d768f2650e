"""Where a source file can be changed for the worse, one small mistake at a time.

Places are found in the syntax tree and changed in the text by exact positions, so that the rest of a file
stays as it is. What only informs is left alone: docstrings, annotations, f-strings, the text of errors.
"""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

COMPARE = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*"}
SETS = {"&": "|", "|": "&"}
"""On arrays of booleans `&` and `|` are what `and` and `or` are elsewhere."""
OPPOSITES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
}
FLIPPED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""A test of one of these is negated by its changed operator."""
TYPING = {"Literal", "Annotated", "TypeVar", "NewType"}
DECLARED = {"frozen", "slots", "kw_only", "strict", "help", "metavar", "stacklevel"}
"""Arguments that promise (of a dataclass, of `zip`) or inform (of a parser), and compute nothing."""


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    file: str
    operator: str
    start: int
    """Where in the text it begins, in characters."""
    end: int
    new: str
    """What stands there instead."""
    line: int
    text: str
    """The lines it changes, as they are, without the indentation."""
    change: str
    """The same lines after the change."""

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def as_diff(self) -> str:
        """Show the change as a diff does."""
        lines = [f"- {line}" for line in self.text.splitlines()]
        lines += [f"+ {line}" for line in self.change.splitlines()]
        return "\n".join([f"{self.file}:{self.line} ({self.operator})", *lines])


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of its text.

    Examples
    --------
    >>> [one.change for one in mutants_of("x.py", "small = n < 3\\n")]
    ['small = n <= 3', 'small = n < 4']
    """
    finder = _Finder(file, text)
    finder.visit(ast.parse(text))
    found = {(one.start, one.end, one.new): one for one in finder.found}
    return sorted(found.values(), key=lambda one: (one.start, one.end, one.operator, one.new))


def mutants_in(root: Path, packages: list[str], only: str = "") -> list[Mutant]:
    """Return every mutant of all packages' files whose paths begin with `only`."""
    files = sorted(path for package in packages for path in (root / package).rglob("*.py"))
    found: list[Mutant] = []
    for path in files:
        file = path.relative_to(root).as_posix()
        if file.startswith(only):
            found += mutants_of(file, path.read_text(encoding="utf-8"))
    return found


class _Text:
    """A source text, its tokens, and the places of its syntax tree's nodes in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.tokens = [
            (self.starts[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
        ]

    def place(self, line: int, column: int) -> int:
        """Turn a line and its column in bytes, as syntax trees have them, into a place."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = self.place(node.end_lineno, node.end_col_offset)
        return self.place(node.lineno, node.col_offset), end

    def between(self, start: int, end: int) -> list[tuple[int, str]]:
        """Return the tokens between two places, without parentheses."""
        tokens = self.tokens[self.first(start) : self.first(end)]
        return [(at, string) for at, string in tokens if string not in "()"]

    def first(self, place: int) -> int:
        """Return the number of the first token from a place on."""
        return bisect_left(self.tokens, (place, ""))

    def next_token(self, place: int) -> tuple[int, str]:
        """Return the first token from a place on."""
        return self.tokens[self.first(place)]

    def last_token(self, place: int) -> tuple[int, str]:
        """Return the last token before a place."""
        return self.tokens[self.first(place) - 1]

    def line_of(self, place: int) -> int:
        """Return the number of the line, from one, that a place is on."""
        return self.text.count("\n", 0, place) + 1


class _Finder(ast.NodeVisitor):
    """Collects the mutants of one file while it walks through the file's tree."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text, self.found = file, _Text(text), list[Mutant]()

    def add(self, operator: str, start: int, end: int, new: str) -> None:
        text = self.text.text
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", max(end - 1, start))
        last = len(text) if last < 0 else last
        changed = text[first:start] + new + text[end:last]
        one = Mutant(
            self.file,
            operator,
            start,
            end,
            new,
            self.text.line_of(start),
            text[first:last].strip(),
            changed.strip(),
        )
        self.found.append(one)

    def visit(self, node: ast.AST) -> None:
        """Look at a node unless nobody's result depends on it, then below it."""
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Assign | ast.AnnAssign) and _names_all(node):
            return
        if isinstance(node, ast.If) and _only_for_checkers(node):
            for below in node.orelse:
                self.visit(below)
            return
        if isinstance(node, ast.Subscript | ast.Call) and _last_name(node) in TYPING:
            return
        if isinstance(node, ast.keyword) and node.arg in DECLARED:
            return
        special = getattr(self, f"on_{type(node).__name__}", None)
        if special is not None:
            special(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            for below in value if isinstance(value, list) else [value]:
                if isinstance(below, ast.AST):
                    self.visit(below)

    def swap(self, operator: str, table: dict[str, str], left: ast.expr, right: ast.expr) -> None:
        """Change the operator between two operands."""
        between = self.text.between(self.text.span(left)[1], self.text.span(right)[0])
        old = " ".join(string for _, string in between)
        if old in table:
            start = between[0][0]
            self.add(operator, start, between[-1][0] + len(between[-1][1]), table[old])

    def on_Compare(self, node: ast.Compare) -> None:  # noqa: N802
        for left, right in pairwise([node.left, *node.comparators]):
            self.swap("compare", COMPARE, left, right)

    def on_BinOp(self, node: ast.BinOp) -> None:  # noqa: N802
        if any(_is_text(side) or _is_type(side) for side in (node.left, node.right)):
            return
        table = SETS if isinstance(node.op, ast.BitAnd | ast.BitOr) else ARITHMETIC
        self.swap("boolean" if table is SETS else "arithmetic", table, node.left, node.right)

    def on_BoolOp(self, node: ast.BoolOp) -> None:  # noqa: N802
        for left, right in pairwise(node.values):
            self.swap("boolean", {"and": "or", "or": "and"}, left, right)

    def on_UnaryOp(self, node: ast.UnaryOp) -> None:  # noqa: N802
        if isinstance(node.op, ast.Not | ast.Invert):
            start = self.text.span(node)[0]
            self.add("boolean", start, self.text.next_token(start + 1)[0], "")

    def on_Constant(self, node: ast.Constant) -> None:  # noqa: N802
        start, end = self.text.span(node)
        if isinstance(node.value, bool):
            self.add("constant", start, end, str(not node.value))
        elif isinstance(node.value, int | float):
            new = node.value + 1
            if new != node.value:
                self.add("constant", start, end, repr(new))

    def on_Call(self, node: ast.Call) -> None:  # noqa: N802
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in DECLARED and not _is_message(keyword.value):
                self.drop_item("keyword", *self.text.span(keyword))
        name = _last_name(node)
        if name in OPPOSITES:
            end = self.text.span(node.func)[1]
            self.add("min-max", end - len(name), end, OPPOSITES[name])

    def on_Dict(self, node: ast.Dict) -> None:  # noqa: N802
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.drop_item("entry", self.text.span(key)[0], self._closed(value))

    def _closed(self, node: ast.expr) -> int:
        """Return where an item of a literal ends, parentheses around it and all."""
        end = self.text.span(node)[1]
        at, string = self.text.next_token(end)
        while string == ")":
            end = at + 1
            at, string = self.text.next_token(end)
        return end

    def drop_item(self, operator: str, start: int, end: int) -> None:
        """Drop one of several items between commas, and one comma."""
        at, string = self.text.next_token(end)
        before, opened = self.text.last_token(start)
        if string == ",":
            after = at + 1
            following = self.text.next_token(after)[0]
            blank = self.text.text[after:following]
            self.add(operator, start, after if "\n" in blank or "#" in blank else following, "")
        elif opened == ",":
            self.add(operator, before, end, "")
        else:
            self.add(operator, start, end, "")

    def on_Return(self, node: ast.Return) -> None:  # noqa: N802
        if node.value is not None and getattr(node.value, "value", "") not in (None, False, True):
            self.add("return", *self.text.span(node), "return None")

    def negate(self, test: ast.expr) -> None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return  # without its `not` it is negated
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], FLIPPED):
            return
        start, end = self.text.span(test)
        self.add("condition", start, end, f"not ({self.text.text[start:end]})")

    def on_If(self, node: ast.If) -> None:  # noqa: N802
        self.negate(node.test)

    def on_IfExp(self, node: ast.IfExp) -> None:  # noqa: N802
        self.negate(node.test)

    def on_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.negate(test)

    def on_Slice(self, node: ast.Slice) -> None:  # noqa: N802
        for bound in (node.lower, node.upper):
            constant = bound.operand if isinstance(bound, ast.UnaryOp) else bound
            if bound is not None and not isinstance(constant, ast.Constant):
                start, end = self.text.span(bound)
                self.add("slice", start, end, f"({self.text.text[start:end]}) + 1")

    def on_Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if isinstance(node.value, ast.Call):
            self.add("statement", *self.text.span(node), "pass")

    def on_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self.add("statement", *self.text.span(node), "pass")
        start, end = self.text.span(node.target)[1], self.text.span(node.value)[0]
        for at, string in self.text.between(start, end):
            new = {**ARITHMETIC, **SETS}.get(string[:-1])
            if new is not None and string.endswith("="):
                self.add("arithmetic", at, at + len(string), f"{new}=")

    def on_Break(self, node: ast.Break) -> None:  # noqa: N802
        self.add("loop", *self.text.span(node), "continue")

    def on_Continue(self, node: ast.Continue) -> None:  # noqa: N802
        self.add("loop", *self.text.span(node), "break")


def _names_all(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _only_for_checkers(node: ast.If) -> bool:
    """Tell `if TYPE_CHECKING`, and what only a module that is run itself does."""
    named = {each.id for each in _names(node.test)}
    return bool(named & {"TYPE_CHECKING"}) or named == {"__name__"}


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


def _last_name(node: ast.Subscript | ast.Call) -> str:
    """Return the last name of what is called or looked into: `maximum` of `np.maximum(a, b)`."""
    called = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_type(node: ast.expr) -> bool:
    """Tell a part of a union of types, as far as its name tells: `None`, `str`, `Path`, `dict[str, int]`."""
    if isinstance(node, ast.Subscript):
        return _is_type(node.value)
    if isinstance(node, ast.Constant):
        return node.value is None
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return isinstance(getattr(builtins, name, None), type) or (name[:1].isupper() and not name.isupper())


def _is_message(node: ast.expr) -> bool:
    """Tell words for a reader: an f-string, or a text with spaces."""
    if isinstance(node, ast.BinOp):
        return _is_message(node.left)
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(node, ast.JoinedStr) or (isinstance(text, str) and " " in text)
