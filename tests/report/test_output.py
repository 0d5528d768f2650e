"""What is printed: control characters are shown, and nothing else is changed."""

import io
import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from farm.campaign.board import suitable_board
from farm.campaign.progress import CampaignProgress, Status
from farm.report.cells import csv_cell
from farm.report.output import Styled, VisibleStream, visible, visible_layouts, visible_streams
from farm.report.terminal import printed, text_console
from farm.run.progress import shown_progress

ODD = st.text(
    st.characters(exclude_characters="\\")
    | st.sampled_from("\x00\x07\t\r\n\x1b\x7f\x9b\u202e\u2066\ud800\ufffe")
)
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ODD)
def test_what_a_terminal_obeys_is_shown_and_the_rest_is_as_it_was(text):
    shown = visible(text)
    assert {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n"}
    assert not {c for c in shown if unicodedata.bidirectional(c) in TURNING}
    shown.encode()
    told = re.sub(r"\\x(..)|\\u(....)", lambda found: chr(int(found[1] or found[2], 16)), shown)
    assert told == text


@given(st.dictionaries(ODD, ODD | st.lists(ODD)))
def test_json_is_still_json_with_the_same_values(value):
    assert json.loads(visible(json.dumps(value, indent=2, ensure_ascii=False))) == value


def test_a_stream_shows_them_and_lets_styles_of_our_own_through():
    below = io.StringIO()
    stream = VisibleStream(below)
    print("fog\x1b[2K\rnothing", file=stream)
    stream.writelines(["a\x07", "b\n"])
    stream.write(Styled("\x1b[1mbold\x1b[0m\n"))
    stream.write(Styled("\x1b[1m") + "no more\n")
    stream.write("\r 50 %")
    assert below.getvalue().split("\n") == [
        r"fog\x1b[2K\x0dnothing",
        r"a\x07b",
        "\x1b[1mbold\x1b[0m",
        r"\x1b[1mno more",
        "\r 50 %",
    ]
    assert stream.isatty() == below.isatty()


@pytest.mark.parametrize("colour", [True, False])
def test_a_table_is_as_wide_as_what_it_shows(colour):
    with visible_layouts():
        table = Table(box=None)
        table.add_column("monitor\x1b[31m")
        for cell in ("a\x1b[31m\x07", Text("\u202e[red]", style="bold")):
            table.add_row(cell, "end")
        text = printed(table, width=100, colour=colour)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert [line.split() for line in lines] == [
        [r"monitor\x1b[31m"],
        [r"a\x1b[31m\x07", "end"],
        [r"\u202e[red]", "end"],
    ]
    assert len({line.index("end") for line in lines[1:]}) == 1
    assert ("\x1b[1m" in text) == colour
    assert "\x1b[31m" not in text


def test_consoles_write_their_own_codes_below_and_names_are_no_markup(capsys):
    with visible_streams(), visible_layouts():
        console = text_console(sys.stdout, force_terminal=True, color_system="standard", _environ={})
        console.print("[link=x]fog[/link] :warning: \x1b[31m", style="green")
    assert capsys.readouterr().out == "\x1b[32m[link=x]fog[/link] :warning: \\x1b[31m\x1b[0m\n"


class Terminal(io.StringIO):
    """What is drawn in a terminal."""

    def isatty(self):
        return True


def test_bars_are_drawn_and_names_in_them_shown(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    drawn = Terminal()
    monkeypatch.setattr("sys.stderr", drawn)
    with visible_streams(), visible_layouts():
        with shown_progress() as progress:
            assert list(progress.track([1, 2], "fitting\x1b[2K [u]")) == [1, 2]
            progress.note("note\x1b[2K")
        board = suitable_board()
        board.start(CampaignProgress(Status("signs\x1b[2K", "running", 1, 0)))
        board.close()
    text = drawn.getvalue()
    for name in ("fitting", "note", "signs"):
        assert rf"{name}\x1b[2K" in text
        assert f"{name}\x1b" not in text
    assert "[u]" in text
    assert "\x1b[?25l" in text, "rich hides the cursor"
    assert r"\x1b[?25l" not in text


def test_streams_are_put_back_but_not_before_an_error_is_told(capsys):
    before = sys.stdout, sys.stderr
    with visible_streams():
        inside = sys.stdout
    assert (sys.stdout, sys.stderr) == before
    with pytest.raises(ValueError, match="why"), visible_streams():
        raise ValueError("why")
    print("\x1b[31m", file=sys.stderr)
    assert capsys.readouterr().err == "\\x1b[31m\n"
    with visible_streams():
        assert not isinstance(sys.stdout.rich_proxied_file, type(inside)), "a stream is put before one once"


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_in_csv_is_a_formula(begins):
    assert csv_cell(f"{begins}1+1") == f"'{begins}1+1"
    assert csv_cell(f"1{begins}") == f"1{begins}"


@pytest.mark.parametrize("value", [-1, -0.5, None, True, "", "fog"])
def test_numbers_and_other_text_in_csv_are_as_they_were(value):
    assert csv_cell(value) is value
