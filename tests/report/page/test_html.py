"""HTML from Python: what is text stays text."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from farm.report.page.html import join, slug, tag

HOSTILE = "<img src=x onerror=alert(1)>"


class Parsed(HTMLParser):
    """What a browser makes of it: tags with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Cn", "Co"])))
def test_any_text_stays_text_in_elements_and_attributes(text: str) -> None:
    found = Parsed(tag("p", text, title=text))
    assert found.tags == [("p", {"title": text})]
    assert found.text == text


def test_markup_that_was_made_here_is_kept_and_lists_are_taken_apart() -> None:
    made = tag("ul", [tag("li", "<"), [tag("li", name) for name in "ab"]], None)
    assert made == Markup("<ul><li>&lt;</li><li>a</li><li>b</li></ul>")


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert tag("input", name="a", checked=True, disabled=False, value=None) == '<input name="a" checked>'


def test_joined_text_is_escaped() -> None:
    assert join(HOSTILE, tag("b", 3)) == "&lt;img src=x onerror=alert(1)&gt;<b>3</b>"


def test_an_id_has_nothing_that_a_link_would_have_to_escape() -> None:
    assert slug(f"{HOSTILE} 5 on Zürich") == "img-src-x-onerror-alert-1-5-on-z-rich"
    assert slug("!!") == "unnamed"


def test_what_turns_text_round_or_can_not_be_written_is_shown() -> None:
    assert tag("p", "a\u202eb\ud800", title="\x1b[31m") == '<p title="\\x1b[31m">a\\u202eb\\ud800</p>'
