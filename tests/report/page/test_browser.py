"""The page in a real browser: nothing is fetched, it sorts, filters and opens what a link leads to.

Needs Debian's chromium (or another one that `FARM_CHROMIUM` names), and the extra `browser`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.page.made_report import HOSTILE, REPORTED, make_page

CHROMIUM = os.environ.get("FARM_CHROMIUM") or shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra: browser)")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no chromium on this machine")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
QUIET += ("--disable-background-networking", "--disable-component-update")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with all that a page can have."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(make_page(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        made = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield made
        made.close()


class Opened:
    """The page in a window, with what the browser said and asked for meanwhile."""

    def __init__(self, browser: Any, path: Path, anchor: str = "", **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": WIDE, **options})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))
        self.url = path.as_uri()
        self.page.goto(self.url + anchor)


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Any]:
    windows: list[Opened] = []

    def open_page(anchor: str = "", **options: Any) -> Opened:
        windows.append(Opened(browser, report, anchor, **options))
        return windows[-1]

    yield open_page
    for window in windows:
        window.context.close()


def fetched(window: Opened) -> list[str]:
    return [url for url in window.asked if not url.startswith(("data:", window.url))]


def test_it_says_nothing_and_fetches_nothing(opened: Any) -> None:
    window = opened()
    window.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    window.page.wait_for_load_state("networkidle")
    assert window.said == []
    assert fetched(window) == []


def test_names_from_data_are_text_and_run_nothing(opened: Any) -> None:
    window = opened()
    assert window.page.locator("img[src='x']").count() == 0
    assert HOSTILE in window.page.locator("main").text_content()
    assert window.said == []


def column(page: Any, place: int) -> list[float]:
    cells = page.locator(f".panel.of-overall-mcc tbody tr td:nth-child({place})").all()
    return [float(cell.get_attribute("data-value")) for cell in cells if cell.get_attribute("data-value")]


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(opened: Any) -> None:
    page = opened().page
    button = page.locator(".panel.of-overall-mcc thead th:nth-child(2) button")
    before = column(page, 2)
    button.click()
    assert column(page, 2) == sorted(before, reverse=True)
    button.press("Enter")
    assert column(page, 2) == sorted(before)
    heading = page.locator(".panel.of-overall-mcc thead th:nth-child(2)")
    assert heading.get_attribute("aria-sort") == "ascending"


def test_what_is_typed_leaves_the_rows_that_have_it(opened: Any) -> None:
    page = opened().page
    page.locator(".panel.of-overall-mcc .filter input").fill("FOG")
    rows = page.locator(".panel.of-overall-mcc tbody tr:visible")
    assert 0 < rows.count() < len(REPORTED)
    assert all("fog" in text.lower() for text in rows.all_text_contents())


@pytest.mark.parametrize("scripts", [True, False])
def test_measure_and_severity_are_chosen_with_and_without_scripts(opened: Any, scripts: bool) -> None:
    page = opened(java_script_enabled=scripts).page
    assert page.locator(".panel:visible caption").text_content().startswith("overall MCC")
    page.get_by_role("radio", name="specific MCC").check()
    assert page.locator(".panel:visible caption").text_content().startswith("specific MCC")
    page.get_by_role("group", name="Severity").get_by_label("5", exact=True).check()
    rows = page.locator(".panel:visible tbody tr:visible").all_text_contents()
    assert rows
    assert all(" 5" in row.split("\n")[0] for row in rows)


def test_a_value_leads_to_its_cell_and_its_images(opened: Any) -> None:
    window = opened()
    link = window.page.locator(".panel.of-overall-mcc tbody tr", has_text="fog 5").locator("td a").first
    target = link.get_attribute("href")
    link.click()
    cell = window.page.locator(target)
    assert cell.evaluate("(each) => each.open")
    cell.locator("summary", has_text="cautious").click()
    image = cell.locator("[role=img].px:visible").last
    # The worst that 'cautious' missed is the instance that the run was made to miss.
    assert "taken for" in image.get_attribute("aria-label")
    background = image.evaluate("(each) => getComputedStyle(each).backgroundImage")
    assert background.startswith('url("data:image/webp;base64,')


def test_a_link_from_outside_opens_the_cell(opened: Any) -> None:
    page = opened("#cell-fog-5-on-signs-with-lenet").page
    assert page.locator("#cell-fog-5-on-signs-with-lenet").evaluate("(each) => each.open")


def test_without_scripts_all_can_be_read(opened: Any) -> None:
    page = opened(java_script_enabled=False).page
    assert page.locator("section").count() >= 9
    page.locator("details.cell > summary").first.click()
    assert page.locator("details.cell[open] table:visible").count() >= 1
    assert page.locator("figure.drawn svg:visible").count() >= 3


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_nothing_is_wider_than_the_window(opened: Any, size: dict[str, int]) -> None:
    page = opened(viewport=size).page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_keyboard_reaches_the_content_the_choices_and_the_cells(opened: Any) -> None:
    page = opened().page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "INPUT", "BUTTON", "SUMMARY"} <= reached
    page.locator("details.cell > summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.cell").first.evaluate("(each) => each.open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_it_passes_an_accessibility_check(opened: Any, scheme: str, size: dict[str, int]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="extra: browser")
    page = opened(viewport=size, color_scheme=scheme, bypass_csp=True).page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = axe.Axe().run(page).response["violations"]
    told = [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found]
    assert told == []


def test_print_shows_what_is_folded_in(opened: Any) -> None:
    page = opened().page
    folded = page.locator("details:not([open]):not(.images *)")
    before = folded.count()
    assert before > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert folded.count() == 0
    assert page.locator(".images details:not([open])").count() > 0, "images would take most of the paper"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folded.count() == before
