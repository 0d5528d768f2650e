"""How many small mistakes, planted in the source one at a time, the tests find.

    python benchmarks/mutations.py --seed 1 --n 200 --json mutations.json

Places are drawn by the seed from all source files, from every package in proportion to how many it has. Each
mistake is tested by the tests that belong to its file, found by name and by what they import, as far as
they fit `--budget` seconds without the mistake. Tests that fail without any are left out and told. What a run
into the time limit, three times what the tests need and 20 s, is worth: killed, and counted apart.

`equivalent_mutations.yaml`, beside this file, lists changes that change no result, judged by hand; they are
left out of the share.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import yaml

from benchmarks._mutation_copies import NO_TESTS, Copy, Run, copy_tree
from benchmarks._mutation_places import Mutant, mutants_in
from benchmarks._mutation_tests import Project, Tests

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutations.yaml")
TIMES, GRACE = 3.0, 20.0
"""A mutant may take so many times as long as its tests need, and so many seconds more."""
LONGEST = 300.0
"""Tests of one file that take more seconds than this are left out."""


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a mutant."""

    mutant: Mutant
    tests: Sequence[Tests]
    killed_by: str | None
    """The test that failed, or why nothing more could run; None for a survivor."""
    timed_out: bool
    seconds: float


@dataclass(frozen=True)
class Unchanged:
    """What tests do without any mutant."""

    seconds: float
    failing: Sequence[str] = ()
    """Those that fail all the same, which are left out."""
    useless: str = ""
    """Why the whole file is left out."""


def package_of(file: str) -> str:
    """Return the folder of a source file, which is what results are told by."""
    return file.rpartition("/")[0]


def drawn(mutants: Sequence[Mutant], n: int, seed: int) -> list[Mutant]:
    """Draw `n` mutants, of every package in proportion to its number; the same ones for the same seed."""
    by_package: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_package[package_of(mutant.file)].append(mutant)
    n = min(n, len(mutants))
    exact = {package: n * len(own) / len(mutants) for package, own in sorted(by_package.items())}
    numbers = {package: int(number) for package, number in exact.items()}
    by_rest = sorted(exact, key=lambda package: numbers[package] - exact[package])
    for package in by_rest[: n - sum(numbers.values())]:
        numbers[package] += 1
    found = [
        mutant
        for package, number in numbers.items()
        for mutant in random.Random(f"{seed} {package}").sample(by_package[package], number)
    ]
    random.Random(seed).shuffle(found)  # so that those tested at the same time rarely share their tests
    return found


def equivalents(path: Path) -> dict[tuple[str, str, str], str]:
    """Read which changes change no result, and why: by file, changed lines and what they become."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return {(one["file"], _flat(one["text"]), _flat(one["change"])): one["why"] for one in listed or ()}


def key_of(mutant: Mutant) -> tuple[str, str, str]:
    """Return what a mutant is listed by."""
    return mutant.file, _flat(mutant.text), _flat(mutant.change)


def _flat(text: str) -> str:
    return " ".join(text.split())


class Session:
    """Judges mutants in several copies at once, and says how far it is."""

    def __init__(self, copies: Sequence[Copy], budget: float) -> None:
        self._budget, self._workers = budget, len(copies)
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)
        self._locks: dict[Tests, threading.Lock] = defaultdict(threading.Lock)
        self.unchanged: dict[Tests, Unchanged] = {}

    def judge(self, mutants: Sequence[Mutant], tests_of: Mapping[str, Sequence[Tests]]) -> list[Outcome]:
        """Run the tests of every mutant, until one fails."""

        def judged(mutant: Mutant) -> Outcome:
            copy = self._free.get()
            try:
                outcome = self._outcome(copy, mutant, tests_of[mutant.file])
            finally:
                self._free.put(copy)
            end = "survived" if outcome.killed_by is None else f"killed by {outcome.killed_by}"
            _say(f"{mutant.as_diff()}\n{end}, {outcome.seconds:.1f} s")
            return outcome

        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(judged, mutants))

    def _outcome(self, copy: Copy, mutant: Mutant, every: Iterable[Tests]) -> Outcome:
        """Run test files one by one, as many as fit the budget; the first that can be used in any case."""
        used: list[Tests] = []
        needed, spent = 0.0, 0.0
        for tests in every:
            unchanged = self._look_at(copy, tests)
            if unchanged.useless or (used and needed + unchanged.seconds > self._budget):
                continue
            used.append(tests)
            needed += unchanged.seconds
            left_out = [f"--deselect={name}" for name in unchanged.failing]
            with copy.changed(mutant):
                found = copy.run(tests, TIMES * unchanged.seconds + GRACE, "-x", *left_out)
            spent += found.seconds
            if not found.found_nothing:
                by = found.failed[0] if found.failed else f"{tests}, which ended with {found.code}"
                return Outcome(mutant, used, by, found.code is None, spent)
        return Outcome(mutant, used, None, False, spent)

    def _look_at(self, copy: Copy, tests: Tests) -> Unchanged:
        """Run tests without any mutant, once for all mutants."""
        with self._locks[tests]:
            if tests not in self.unchanged:
                self.unchanged[tests] = found = _unchanged(tests, copy.run(tests, LONGEST))
                _say(f"{tests}: {found.seconds:.1f} s {found.useless}{' '.join(found.failing)}")
            return self.unchanged[tests]


def _unchanged(tests: Tests, found: Run) -> Unchanged:
    if found.code is None:
        return Unchanged(found.seconds, useless=f"takes longer than {LONGEST:.0f} s")
    if found.code not in (0, 1, NO_TESTS) or any("::" not in name for name in found.failed):
        return Unchanged(found.seconds, useless=f"ends with {found.code}: {' '.join(found.failed)}")
    if not found.passed:
        return Unchanged(found.seconds, useless="has no test that passes")
    return Unchanged(found.seconds, found.failed)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Asked:
    """What of a project is to be judged."""

    n: int
    seed: int
    only: str = ""
    workers: int = 2
    budget: float = 60.0


def measure(root: Path, asked: Asked, listed: Mapping[tuple[str, str, str], str]) -> dict[str, Any]:
    """Plant mutants in copies of a project, one at a time, and give the report as it is written."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutations-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        copy_tree(root, folder / "original")
        project = Project(folder / "original")
        mutants = mutants_in(project.root, project.packages, asked.only)
        sample = drawn(mutants, asked.n, asked.seed)
        tested = [mutant for mutant in sample if key_of(mutant) not in listed]
        tests_of = {mutant.file: project.tests_of(mutant.file) for mutant in tested}
        copies = []
        for number in range(asked.workers):
            (folder / str(number)).mkdir()
            copy = Copy(root, project.root, folder / str(number), project.third_party)
            copies.append(stack.enter_context(copy))
        session = Session(copies, asked.budget)
        outcomes = session.judge(tested, tests_of)
    report = told(outcomes, [mutant for mutant in sample if key_of(mutant) in listed], listed)
    stale = {key for key in listed if key[0].startswith(asked.only)} - {key_of(mutant) for mutant in mutants}
    places = Counter(package_of(mutant.file) for mutant in mutants)
    for package, numbers in report["by_package"].items():
        numbers["places"] = places[package]
    return {
        **report,
        "failing_unchanged": _left_out(session.unchanged),
        "no_longer_there": [dict(zip(("file", "text", "change"), key, strict=True)) for key in sorted(stale)],
        "seed": asked.seed,
        "n": len(sample),
        "seconds": round(time.monotonic() - started, 1),
    }


def _left_out(unchanged: Mapping[Tests, Unchanged]) -> list[str]:
    whole = {f"{tests} {each.useless}" for tests, each in unchanged.items() if each.useless}
    return sorted(whole.union(*(each.failing for each in unchanged.values())))


def told(
    outcomes: Sequence[Outcome], equivalent: Sequence[Mutant], listed: Mapping[tuple[str, str, str], str]
) -> dict[str, Any]:
    """Count what was killed, and list what was not."""
    by_package: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        what = "survived" if one.killed_by is None else "killed"
        by_package[package_of(one.mutant.file)].update([what, *["timed_out"] * one.timed_out])
    for mutant in equivalent:
        by_package[package_of(mutant.file)]["equivalent"] += 1
    killed = [one for one in outcomes if one.killed_by is not None]
    survived = [one for one in outcomes if one.killed_by is None]
    names = ("killed", "survived", "timed_out", "equivalent")
    return {
        "share": len(killed) / len(outcomes) if outcomes else None,
        "killed": len(killed),
        "timed_out": sum(one.timed_out for one in killed),
        "survived": [_as_json(one.mutant) | {"tests": [str(each) for each in one.tests]} for one in survived],
        "equivalent": [_as_json(mutant) | {"why": listed[key_of(mutant)]} for mutant in equivalent],
        "by_package": {
            package: {name: counts[name] for name in names} for package, counts in sorted(by_package.items())
        },
        "killed_by": [_as_json(one.mutant) | {"test": one.killed_by} for one in killed],
    }


def _as_json(mutant: Mutant) -> dict[str, Any]:
    return {
        "file": mutant.file,
        "line": mutant.line,
        "operator": mutant.operator,
        "text": mutant.text,
        "change": mutant.change,
    }


def summary(report: Mapping[str, Any]) -> str:
    """Say in words and diffs what a report has."""
    lines = []
    for one in report["survived"]:
        tests = "" if one["tests"] else ", of which no test is known"
        lines.append(f"{one['file']}:{one['line']} ({one['operator']}{tests})")
        lines += [f"- {line}" for line in one["text"].splitlines()]
        lines += [f"+ {line}" for line in one["change"].splitlines()]
    for package, numbers in report["by_package"].items():
        tested = numbers["killed"] + numbers["survived"]
        lines.append(f"{package}: {numbers['killed']} of {tested} killed; {numbers['places']} places")
    lines += [
        f"fails or cannot be used without any mistake, left out: {name}"
        for name in report["failing_unchanged"]
    ]
    lines += [
        f"listed as equivalent, no longer there: {one['file']}: {one['text']}"
        for one in report["no_longer_there"]
    ]
    tested = report["killed"] + len(report["survived"])
    share = f"{100 * report['share']:.1f} %" if tested else "none"
    lines.append(
        f"{share} killed: {report['killed']} of {tested}, {report['timed_out']} of them by running into the "
        f"time limit; {len(report['equivalent'])} equivalent ones left out; seed {report['seed']}, "
        f"{report['seconds']:.0f} s"
    )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n", type=int, default=200, help="how many places to draw; default: 200")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the report")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--only", default="", metavar="PATHPREFIX", help="such as farm/campaign or monitors/oob"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests a mutant; default: 60")
    options = parser.parse_args()
    asked = Asked(options.n, options.seed, options.only, options.workers, options.budget)
    report = measure(ROOT, asked, equivalents(EQUIVALENT))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(summary(report))


if __name__ == "__main__":
    main()
