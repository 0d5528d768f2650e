"""What is shown while a campaign runs: bars in a terminal, plain lines elsewhere, failures always."""

from __future__ import annotations

import io
import re
import threading

import pytest
from rich.console import Console

from farm.campaign import board as boards
from farm.campaign.board import HEARTBEAT, Bars, Board, Lines, suitable_board
from farm.campaign.jobs import News, Outcome
from farm.campaign.progress import CampaignProgress, Status
from tests.wording import same_text

TITLE = "signs, lenet, {} severity 3, seed 0"


def todo(*names):
    return [
        {"id": name, "title": TITLE.format(name), "workload": "signs", "classifier": "lenet"}
        for name in names
    ]


def console(terminal=False):
    return Console(file=io.StringIO(), force_terminal=terminal, width=130, color_system=None, _environ={})


def start(board: Board, *names: str, total=300, done=11, took=None, workers=1) -> None:
    """Start a board; `took` are the seconds of a cell that was finished before."""
    cell = {"workload": "signs", "classifier": "lenet", "seconds": took}
    finished = [] if took is None else [cell]
    known = Status("weather", "running", total, done, workers=workers)
    board.start(CampaignProgress(known, todo(*names), finished))


def text(board: Board) -> str:
    written: str = board._console.file.getvalue()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


# Without a terminal ------------------------------------------------------------------------------------


def test_each_finished_cell_is_one_plain_line():
    board = Lines(console())
    start(board, "fog", "rain", total=14)
    board.news(News("fog", "streaming", 1, 40))
    board.finish(Outcome("fog", "done", seconds=4.1), TITLE.format("fog"))
    board.finish(Outcome("rain", "done", seconds=2.0), TITLE.format("rain"))
    board.close()
    same_text(text(board).splitlines())


def test_what_many_cells_note_is_said_once():
    board = Lines(console())
    start(board, "fog", "rain", total=14)
    for name in ("fog", "rain", "fog"):
        board.news(News(name, note=f"{TITLE.format(name)}: code read /weights"))
        board.news(News(name, note="a cache is full"))
    board.news(News("rain", note=f"{TITLE.format('rain')}: code read /others"))
    assert text(board).splitlines()[1:] == [
        f"{TITLE.format('fog')}: code read /weights",
        "a cache is full",
        f"{TITLE.format('rain')}: code read /others",
    ]


def test_the_last_cell_needs_no_time_left():
    board = Lines(console())
    start(board, "fog", total=12)
    board.finish(Outcome("fog", "done", seconds=1.0), "fog")
    assert text(board).splitlines()[-1] == "[12/12] fog: done in 1.0 s"


def test_what_was_known_before_is_told_at_the_beginning():
    board = Lines(console())
    start(board, "fog", took=1200.0)
    same_text(text(board))


def test_failures_are_lines_of_their_own():
    board = Lines(console())
    start(board, "fog", "rain")
    failures = {"oob": "monitor 'oob': singular", "odin": "monitor 'odin':\n too slow"}
    board.finish(Outcome("fog", "done", failures=failures, seconds=4.0), "fog")
    board.finish(Outcome("rain", "over-memory", reason="it took more than 4 GB"), "rain")
    assert [line.partition(" (")[0] for line in text(board).splitlines()[1:]] == [
        "[12/300] fog: done in 4.0 s",
        "[12/300] fog: failed: monitor 'oob': singular",
        "[12/300] fog: failed: monitor 'odin': too slow",
        "[13/300] rain: failed: it took more than 4 GB",
    ]


def test_a_long_line_is_not_folded_and_brackets_are_no_markup():
    board = Lines(console())
    start(board)
    board.note("[bold]note[/bold] " + "x" * 300)
    assert text(board).splitlines()[1] == "[bold]note[/bold] " + "x" * 300


def test_a_sign_of_life_comes_at_most_once_a_minute():
    clock = Clock()
    board = Lines(console(), clock)
    start(board, "fog", "rain")
    for second in range(int(3.5 * HEARTBEAT)):
        clock.now = float(second)
        board.news(News("fog", "streaming", second, 400))
    board.news(News("rain"))
    lines = text(board).splitlines()[1:]
    assert len(lines) == 3
    same_text(lines[0])


def test_a_line_about_something_else_is_a_sign_of_life_too():
    clock = Clock()
    board = Lines(console(), clock)
    start(board, "fog")
    clock.now = HEARTBEAT - 1
    board.note("still here")
    clock.now = HEARTBEAT + 1
    board.news(News("fog", "streaming"))
    assert text(board).splitlines()[1:] == ["still here"]


def test_what_a_cell_says_is_shown():
    board = Lines(console())
    start(board, "fog")
    board.news(News("fog", note="fog: cache damaged; making it again"))
    same_text(text(board))
    assert board.progress.status().running[0].doing == ""


def test_quiet_shows_failures_and_nothing_else():
    board = Board(console())
    start(board, "fog", "rain")
    board.note("a note")
    board.news(News("fog", "streaming", 1, 2, note="another"))
    board.finish(Outcome("fog", "done", seconds=1.0), "fog")
    board.finish(Outcome("rain", "crashed", reason="it was killed"), "rain")
    board.close()
    same_text(text(board))
    assert (board.progress.status().done, board.progress.status().failed) == (12, 1)


# In a terminal -----------------------------------------------------------------------------------------


def shown(board: Bars) -> list[str]:
    """Draw the bars as they are now."""
    own = Console(file=io.StringIO(), width=130, color_system=None)
    own.print(board._bars.get_renderable())
    lines: list[str] = own.file.getvalue().splitlines()
    return [line.rstrip() for line in lines]


@pytest.fixture
def bars():
    board = Bars(console(terminal=True))
    yield board
    board.close()


def test_a_bar_for_the_campaign_and_one_for_each_cell_that_runs(bars):
    start(bars, "fog", "rain", took=600.0)
    assert len(shown(bars)) == 1
    assert re.fullmatch(r"weather +[━╸]* +11/300 +0:00:00 +about 20 min left", shown(bars)[0])
    bars.news(News("fog"))
    bars.news(News("rain", "streaming", 12, 40))
    campaign, fog, rain = shown(bars)
    assert re.fullmatch(r"signs, lenet, fog severity 3, seed 0 +[━╸]+ +0/\? +0:00:00 +starting", fog)
    assert re.fullmatch(r"signs, lenet, rain severity 3, seed 0 +[━╸]+ +12/40 +0:00:00 +streaming", rain)
    bars.finish(Outcome("rain", "done", seconds=2.0), "rain")
    campaign, fog = shown(bars)
    assert " 12/300 " in campaign
    assert "fog" in fog


def test_time_left_is_told_and_gone_at_the_end(bars):
    start(bars, "fog", "rain", total=13)
    same_text(shown(bars)[0])
    bars.finish(Outcome("fog", "done", seconds=300.0), "fog")
    assert shown(bars)[0].endswith("about 5 min left")
    bars.finish(Outcome("rain", "done", seconds=300.0), "rain")
    assert re.search(r"13/13 +0:00:00$", shown(bars)[0])


def test_failures_and_notes_stay_above_the_bars(bars):
    start(bars, "fog")
    bars.note("damaged [cell], computed again")
    bars.finish(Outcome("fog", "crashed", reason="it was killed"), "fog")
    bars.close()
    told = text(bars).splitlines()
    same_text([*(line for line in told if not line.startswith("weather")), told[-1]])


def test_a_cell_that_fails_before_any_news_is_no_error(bars):
    start(bars, "fog")
    bars.finish(Outcome("fog", "failed", reason="no such file"), "fog")
    assert len(shown(bars)) == 1


def test_long_titles_are_cut_and_brackets_are_no_markup(bars):
    one = {"id": "a", "title": "x" * 100 + ", seed [red]0"}
    bars.start(CampaignProgress(Status("long", "running", 2, 0), [one]))
    bars.news(News("a", "[bold]fitting"))
    line = shown(bars)[1]
    assert line.startswith("…xxx")
    assert "xxx, seed [red]0" in line
    assert "[bold]fitting" in line


def test_on_a_narrow_terminal_cells_can_still_be_told_apart():
    narrow = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None, _environ={})
    board = Bars(narrow)
    start(board, "fog", "rain", took=1200.0, workers=2)
    board.news(News("fog", "streaming", 12, 40))
    board.news(News("rain", "fitting monitors", 1, 2))
    lines = shown(board)
    board.close()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].endswith("about 20 min left")
    assert lines[1].startswith("…t, fog severity 3, seed 0 ")
    assert lines[2].startswith("…, rain severity 3, seed 0 ")


def test_bars_that_are_closed_leave_no_thread(bars):
    before = set(threading.enumerate())
    start(bars, "fog")
    bars.news(News("fog", "streaming", 1, 2))
    bars.close()
    bars.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    assert len(shown(bars)) == 1


def test_bars_that_never_started_can_be_closed(bars):
    bars.note("nothing to do")
    bars.close()
    assert text(bars) == "nothing to do\n"


def test_many_threads_may_tell_at_once(bars):
    names = [f"{i:03d}" for i in range(40)]
    start(bars, *names, total=40, done=0, workers=4)

    def work(own):
        for name in own:
            for at in range(20):
                bars.news(News(name, "streaming", at, 20))
            bars.finish(Outcome(name, "done", seconds=0.1), name)

    threads = [threading.Thread(target=work, args=(names[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert bars.progress.status().done <= 40
        shown(bars)
    for thread in threads:
        thread.join()
    assert bars.progress.status().done == 40
    assert len(shown(bars)) == 1


# Which one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quiet", "terminal", "kind"), [(False, True, Bars), (False, False, Lines), (True, True, Board)]
)
def test_the_board_suits_where_it_is_shown(quiet, terminal, kind):
    assert type(suitable_board(quiet=quiet, console=console(terminal))) is kind


def test_it_is_shown_on_standard_error(capsys):
    board = suitable_board()
    start(board, "fog")
    assert capsys.readouterr() == ("", "weather: 11 of 300 cells are done\n")
    assert boards.suitable_board(quiet=True)._console.stderr
