"""Which tests belong to a source file: found by name and by what they import, from no list kept by hand."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FEWEST = 3
"""With fewer test files of its own, a module is given those of the modules that import it."""
BORROWED = 6
MOST = 12
"""Test files of one module that are thought of; the budget of time decides among them."""


@dataclass(frozen=True)
class Tests:
    """What pytest runs in one go: a file, or those of its tests that `chosen` names as `-k` does."""

    path: str
    chosen: str = ""

    @property
    def arguments(self) -> list[str]:
        """What to tell pytest."""
        return [self.path, "-k", self.chosen] if self.chosen else [self.path]

    def __str__(self) -> str:
        return f"{self.path} -k '{self.chosen}'" if self.chosen else self.path


class Project:
    """The packages of a project, its tests, and who names whom."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        shipped = self._told["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        self.packages = [name for name in shipped if any((root / name).rglob("*.py"))]
        files = [path for name in self.packages for path in sorted((root / name).rglob("*.py"))]
        self.modules = {_dotted(path.relative_to(root)): path for path in files}
        self.test_files = sorted((root / "tests").rglob("test_*.py"))

    @cached_property
    def components(self) -> Mapping[str, Mapping[str, str]]:
        """The module of every registered component: by kind, and by name."""
        groups = self._told["project"].get("entry-points", {})
        found = {group.rpartition(".")[2]: targets for group, targets in groups.items()}
        return {
            kind: {name: target.partition(":")[0] for name, target in targets.items()}
            for kind, targets in found.items()
        }

    @cached_property
    def third_party(self) -> list[str]:
        """Every module of others that sources and tests import, by its full name."""
        files = [*self.modules.values(), *sorted((self.root / "tests").rglob("*.py"))]
        named = {name for path in files for name in _imported(self._tree(path))}
        own = {*self.packages, *(path.name for path in self.root.iterdir() if path.is_dir())}
        tops = (name.partition(".")[0] for name in named)
        others = {top for top in tops if top not in own and top not in sys.stdlib_module_names}
        return sorted(name for name in named if name.partition(".")[0] in others)

    def tests_of(self, file: str) -> list[Tests]:
        """Return the tests of a source file, the closest first."""
        module = _dotted(Path(file))
        own = self._ranked(module)
        found = [Tests(path) for path in own]
        if len(own) < FEWEST:
            found += [Tests(path) for path in self._borrowed(module) if path not in own]
        if ">>>" in self.modules[module].read_text(encoding="utf-8"):
            found.insert(1, Tests(file))
        return [*found, *self._conformance(module)]

    def _ranked(self, module: str) -> list[str]:
        """Return the test files that have a module's name or name it themselves, the closest first."""
        named = {path: self._named_by_tests[path][module] for path in self.test_files}
        mirror = {path: self._mirrors(path, module, named[path]) for path in self.test_files}
        found = [path for path in self.test_files if mirror[path] or named[path]]
        found.sort(key=lambda path: (-mirror[path], -named[path], path))
        kept = [path.relative_to(self.root).as_posix() for path in found]
        return [path for path in kept if not path.endswith("test_conformance.py")][:MOST]

    def _mirrors(self, test: Path, module: str, named: int) -> int:
        """Say how well a test file's name is a module's: 2 in the folder of the same name, else 1 or 0."""
        source = self.modules[module]
        folder = source.parent.relative_to(self.root).parts
        stem = source.stem.lstrip("_") if source.stem != "__init__" else folder[-1]
        tests = self.root / "tests"
        mirrored = (
            tests.joinpath(*folder) if tests.joinpath(*folder).is_dir() else tests.joinpath(*folder[1:])
        )
        name = test.stem.removeprefix("test_")
        alike = name == stem or name.startswith(f"{stem}_")
        if alike and test.parent == mirrored:
            return 2
        words = name.split("_")
        last = words[-1] == stem
        # Commands are tested where what they do is: test_cli_campaign.py, for commands/run_campaign.py.
        if words[0] == "cli" and "commands" in folder and words[-1] in (stem, stem.split("_")[-1]):
            return 2
        return int(bool(named) and (alike or last))

    def _borrowed(self, module: str) -> list[str]:
        """Return the test files of the modules that import this one, or else of those that import them."""
        counted: Counter[str] = Counter()
        users, seen = {module}, {module}
        while users and not counted:
            users = {user for user, named in self._named_by_modules.items() if named.keys() & users} - seen
            seen |= users
            for user in sorted(users):
                for rank, path in enumerate(self._ranked(user)[:BORROWED]):
                    counted[path] += BORROWED - rank
        return [path for path, _ in counted.most_common(BORROWED)]

    def _conformance(self, module: str) -> list[Tests]:
        """Return the rules that every component of a kind keeps, for the components of one module."""
        found = []
        for kind, targets in self.components.items():
            path = self.root / "tests" / kind / "test_conformance.py"
            names = [name for name, where in targets.items() if where == module]
            if names and path.is_file():
                ways = (f"[{name}] or [{name}- or -{name}- or -{name}]" for name in names)
                found.append(Tests(path.relative_to(self.root).as_posix(), " or ".join(ways)))
        return found

    @cached_property
    def _named_by_tests(self) -> Mapping[Path, Counter[str]]:
        """How often a test file names each module; what its helpers name counts once."""
        found = {}
        for path in self.test_files:
            tree = self._tree(path)
            found[path] = self._named(tree)
            for helper in self._helpers(path, tree):
                found[path].update(dict.fromkeys(self._named(self._tree(helper)), 1))
        return found

    @cached_property
    def _named_by_modules(self) -> Mapping[str, Counter[str]]:
        return {module: self._named(self._tree(path)) for module, path in self.modules.items()}

    def _helpers(self, path: Path, tree: ast.AST) -> Iterator[Path]:
        """Return the files of the tests' folder that a test file imports."""
        for name in _imported(tree):
            helper = self.root.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith("tests.") and helper.is_file() and helper != path:
                yield helper

    def _named(self, tree: ast.AST) -> Counter[str]:
        """Count how often a file names each module of the project, or something of it."""
        aliases: dict[str, set[str]] = defaultdict(set)
        found: Counter[str] = Counter()
        for node in ast.walk(tree):
            for alias, module in self._imports(node):
                aliases[alias].add(module)
                found[module] += 1
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                found.update(aliases.get(node.id, ()))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(self._named_in(node.value))
        return found

    def _imports(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Return the names that an import makes known, each with the module that it is from."""
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name in self.modules:
                    yield each.asname or each.name.partition(".")[0], each.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                if node.module in self.modules:
                    yield each.asname or each.name, self._home_of(node.module, each.name)

    def _named_in(self, text: str) -> set[str]:
        """Return the modules that a text names: itself a name, the beginning of one, or a component's."""
        by_name = {targets[text] for targets in self.components.values() if text in targets}
        parts = text.partition(":")[0].split(".")
        if parts[0] in self.packages:
            whole = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
            by_name |= {next((name for name in whole if name in self.modules), "")}
        return by_name & self.modules.keys()

    def _home_of(self, module: str, name: str, seen: frozenset[str] = frozenset()) -> str:
        """Return the module that a name imported from another was written in."""
        if f"{module}.{name}" in self.modules:
            return f"{module}.{name}"
        passed = self._passed_on.get(module, {}).get(name)
        if passed is None or module in seen:
            return module
        return self._home_of(*passed, seen | {module})

    @cached_property
    def _passed_on(self) -> Mapping[str, Mapping[str, tuple[str, str]]]:
        """What modules import of each other, under which names: where it is from, and what it is there."""
        found: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        for module, path in self.modules.items():
            for node in ast.walk(self._tree(path)):
                if isinstance(node, ast.ImportFrom) and node.module in self.modules:
                    assert node.module is not None
                    for each in node.names:
                        found[module][each.asname or each.name] = (node.module, each.name)
        return found

    def _tree(self, path: Path) -> ast.AST:
        if path not in self._trees:
            self._trees[path] = ast.parse(path.read_text(encoding="utf-8"))
        return self._trees[path]

    @cached_property
    def _trees(self) -> dict[Path, ast.AST]:
        return {}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Return the full names of the modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
