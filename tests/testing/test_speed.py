"""What `farm bench` measures: ratios of medians, on a clock that the test moves."""

from __future__ import annotations

import json

import pytest

from farm.cli import _parser, main
from farm.commands.bench import table
from farm.testing import speed
from farm.testing.speed import BLOCK, Case, Cost, SpeedCases


class Clock:
    now = 0.0

    def taking(self, *seconds: float):
        """Return something that takes so long, one after the other, and then as long as the last."""
        left = list(seconds)

        def run() -> None:
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return run


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(speed.time, "perf_counter", lambda: clock.now)
    return clock


def test_a_ratio_is_that_of_medians_and_the_first_of_a_block_does_not_count(clock) -> None:
    cost = Case("x", clock.taking(100.0, 3.0), clock.taking(50.0, 2.0), goal=1.5).cost(rounds=4)
    assert (cost.ratio, cost.low, cost.high, cost.met) == (1.5, 1.5, 1.5, True)


def test_the_spread_is_over_blocks(clock) -> None:
    slow, fast = [6.0] * (BLOCK + 1), [3.0] * (BLOCK + 1)
    cost = Case("x", clock.taking(*fast, *fast, *slow, 3.0), clock.taking(3.0), goal=0.9).cost(rounds=4)
    assert (cost.ratio, cost.low, cost.met) == (1.0, 1.0, False)
    assert cost.high == pytest.approx(1.7)  # nine tenths between the third, 1, and the greatest, 2


def test_of_a_speed_more_is_better(clock) -> None:
    cost = Case("x", clock.taking(4.0), clock.taking(3.0), goal=0.8, speed=True, once=True).cost(rounds=3)
    assert (cost.ratio, cost.met) == (0.75, False)


def test_a_part_that_cannot_be_measured_says_why_and_the_others_go_on(monkeypatch) -> None:
    cases = object.__new__(SpeedCases)

    def lacking():
        raise ImportError("no module named 'torchvision'")
        yield

    monkeypatch.setattr(SpeedCases, "_large", lambda self: lacking())
    monkeypatch.setattr(SpeedCases, "_guard", lambda self: iter([Cost("known", 0.5, 0.4, 0.6)]))
    found = list(cases.costs(["large", "guard"]))
    assert [(one.case, one.ratio) for one in found] == [("large", None), ("known", 0.5)]
    assert "torchvision" in found[0].why
    assert "left out: ImportError: no module named 'torchvision'" in table(found)[2]


def test_every_part_can_be_asked_for_alone() -> None:
    help_of = next(a for a in _parser()._actions if getattr(a, "choices", None)).choices["bench"]
    (only,) = (action for action in help_of._actions if action.dest == "only")
    assert set(only.choices) == {*speed.PARTS, "runs"}


def test_the_command_prints_a_list_of_records(monkeypatch, capsys) -> None:
    monkeypatch.setattr(SpeedCases, "__init__", lambda self, large: None)
    made = [Cost("a", 0.5, 0.4, 0.6, 0.6, True), Cost("b", None, why="it is not there")]
    monkeypatch.setattr(SpeedCases, "costs", lambda self, parts, rounds: iter(made))
    assert main(["bench", "--only", "guard", "--format", "json", "--quiet"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first == {"case": "a", "ratio": 0.5, "low": 0.4, "high": 0.6, "goal": 0.6, "met": True}
    assert (second["ratio"], second["why"]) == (None, "it is not there")


@pytest.mark.slow
def test_every_case_can_be_measured() -> None:
    found = list(SpeedCases().costs(("watching", "gradients", "guard"), rounds=1))
    assert {one.ratio is not None and one.ratio > 0 for one in found} == {True}
    assert len({one.case for one in found}) == len(found) > 40
