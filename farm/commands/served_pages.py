"""The pages of `farm serve`: from a folder of runs and campaigns to HTML. No HTTP; nothing is written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote_to_bytes

from markupsafe import Markup

from farm.campaign.progress import Status
from farm.campaign.status import progress_words, read_status, render
from farm.errors import FarmError
from farm.report.output import visible
from farm.report.page import PageSection, document, find, page
from farm.report.page.html import join, tag
from farm.report.page.tables import Cell, table
from farm.store.campaign_folder import CampaignFolder, planned_cells, run_folders
from farm.store.records import read_record
from farm.store.run_form import SCHEMA, RunForm

RUN, CAMPAIGN = "run.json", "campaign.json"
DEEP = 2
"""How far below the folder runs and campaigns are looked for."""
REFRESH = 10
"""Seconds after which the page of a campaign that is running loads itself again."""
KEPT = 4
"""Reports that are kept in memory."""
NAMED = 4
"""Monitors of a run that are listed by name."""
WIDTH = "width:min(30rem,100%)"
HOME = tag("a", "All runs and campaigns", href="/")


class ServedFolder:
    """A folder of runs and campaigns, as pages. Several threads may ask for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reports: dict[object, str] = {}
        self._rendering = Lock()

    def page(self, url: str) -> str | None:
        """Return the page at a URL's path; None where there is none, or none that may be shown."""
        path = url.partition("?")[0]
        if path == "/":
            return self._listing()
        kind, _, rest = path.removeprefix("/").partition("/")
        pages = {"report": self._report, "campaign": self._campaign}
        if kind not in pages or (place := place_in(self.folder, rest.removesuffix("/"))) is None:
            return None
        return pages[kind](place)

    def _listing(self) -> str:
        places = sorted(_places(self.folder, self.folder.resolve()), key=_written, reverse=True)
        headings = ("Folder", "Report", "Done", "Written", "Monitors")
        hint = tag("p", "Nothing is here yet. ", tag("code", "farm run quickstart"), " makes a run.")
        body = table(headings, [self._row(place) for place in places]) if places else hint
        section = PageSection("all", "The newest first", body)
        return visible(document("Runs and campaigns", f"in {self.folder}", [section]))

    def _row(self, place: Path) -> list[Cell]:
        written, is_campaign = _written(place), _is_file(place / CAMPAIGN)
        when = Cell(_unbroken(time.strftime("%Y-%m-%d %H:%M", time.localtime(written))), value=written)
        shown = str(place.relative_to(self.folder)) if place != self.folder else place.resolve().name
        try:
            what, done, monitors, finished = (_of_campaign if is_campaign else _of_run)(place)
        except FarmError as error:
            badge = tag("span", "damaged", class_="badge bad")
            return [Cell(join(shown, " ", badge, _note(error))), Cell(""), Cell(""), when, Cell("")]
        link = tag("a", shown, href=self._url("campaign" if is_campaign else "report", place))
        report = tag("a", "report", href=self._url("report", place)) if finished else ""
        return [Cell(join(link, what)), Cell(report), done, when, monitors]

    def _campaign(self, place: Path) -> str | None:
        if not _is_file(place / CAMPAIGN):
            return None
        folder = CampaignFolder(place)
        status, alive = read_status(folder)
        rows, finished = self._cells(folder, status)
        told, _, *more = render(status, alive).splitlines()
        link = tag("a", "The report of all that is finished so far", href=self._url("report", place))
        progress = join(
            tag("p", told, class_="lead"),
            tag("progress", value=status.over, max=max(status.total, 1), aria_label="cells", style=WIDTH),
            tag("ul", [tag("li", line) for line in more]),
            tag("p", link if finished else "The first cell that is finished makes a report."),
        )
        cells = table(
            ("Cell", "State", "Report"), rows, caption="All that the campaign asks for, in its order."
        )
        sections = [PageSection("progress", "Progress", progress), PageSection("cells", "Cells", cells)]
        about = join(f"A campaign in {place}. ", HOME)
        return visible(document(status.name, about, sections, refresh=REFRESH if alive else None))

    def _cells(self, folder: CampaignFolder, status: Status) -> tuple[list[list[Cell]], bool]:
        """Return a row for each cell that was planned, and whether any is finished."""
        running = {one.cell: one for one in status.running}
        rows, finished = [], False
        for cell, path in planned_cells(folder):
            state, colour, told, link = "missing", "", "", ""
            if path is not None:
                state, colour, finished = "done", "good", True
                link = tag("a", "report", href=self._url("report", path))
            elif cell["id"] in running:
                state, colour, told = "running", "fair", progress_words(running[cell["id"]])
            elif (failure := folder.failure(cell["id"])) is not None:
                state, colour, told = "failed", "bad", failure["reason"]
            title = join(cell["title"], _note(told) if told else None)
            rows.append(
                [Cell(title), Cell(tag("span", state, class_=f"badge {colour}".rstrip())), Cell(link)]
            )
        return rows, finished

    def _report(self, place: Path) -> str | None:
        if not (_is_file(place / RUN) or _is_file(place / CAMPAIGN)):
            return None
        made_of = tuple(_made_of(place))
        if (made := self._reports.get(made_of)) is None:
            with self._rendering:  # one at a time: it takes a core and much memory
                if (made := self._reports.get(made_of)) is None:
                    made = self._reports[made_of] = page(find([place]))
                while len(self._reports) > KEPT:
                    del self._reports[next(iter(self._reports))]
        return made

    def _url(self, kind: str, place: Path) -> str:
        names = place.relative_to(self.folder).parts
        return "/".join(("", kind, *(quote(os.fsencode(name), safe="") for name in names)))


def error_page(title: str, told: str) -> str:
    """Return a page of one line."""
    return visible(document(title, join(told, " ", HOME), []))


def place_in(folder: Path, path: str) -> Path | None:
    """Return the folder that a URL means; None where that is none, lies elsewhere, or has links to elsewhere.

    Names that begin with a dot are unfinished or hidden, and are none.

    Examples
    --------
    >>> place_in(Path("."), "..%2Fpasswords"), place_in(Path("."), "%2e%2e"), place_in(Path("."), "/etc")
    (None, None, None)
    """
    names = [os.fsdecode(unquote_to_bytes(name)) for name in path.split("/")] if path else []
    place = folder.joinpath(*names) if all(map(_is_name, names)) else None
    try:
        root = folder.resolve(strict=True)
        there = place is not None and place.resolve(strict=True).is_relative_to(root) and place.is_dir()
        return place if place and there and not _has_links_out(place, root) else None
    except (OSError, RuntimeError):  # no such folder, a name that is too long, links in a circle
        return None


def _is_name(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\\0")


def _has_links_out(place: Path, root: Path) -> bool:
    """Whether a link in a folder leads out of the one that is served, or to a folder, which may have some."""
    for where, folders, files in os.walk(place):
        links = [path for name in (*folders, *files) if (path := Path(where, name)).is_symlink()]
        if any(path.is_dir() or not path.resolve().is_relative_to(root) for path in links):
            return True
    return False


def _places(folder: Path, root: Path, deep: int = DEEP) -> Iterator[Path]:
    """Return the runs and campaigns in a folder, which may be one itself, as far as they lie in `root`."""
    records = [folder / name for name in (CAMPAIGN, RUN) if _is_file(folder / name)]
    if records:
        if records[0].resolve().is_relative_to(root):
            yield folder
    elif deep:
        try:
            inside = [each for each in folder.iterdir() if _is_name(each.name) and each.is_dir()]
        except OSError:  # it may not be read, or is gone by now
            return
        for each in inside:
            yield from _places(each, root, deep - 1)


def _of_campaign(place: Path) -> tuple[Markup, Cell, Cell, bool]:
    """Return what a campaign is, how far, its monitors, and whether anything is finished."""
    folder = CampaignFolder(place)
    name, planned = folder.record()["name"], planned_cells(folder)
    done = sum(path is not None for _, path in planned)
    failed = sum(path is None and _is_file(folder.failed / f"{cell['id']}.json") for cell, path in planned)
    running = tag("span", "running", class_="badge fair") if folder.holder() is not None else None
    counted = _unbroken(f"{done:,} of {len(planned):,} cells")
    monitors = dict.fromkeys(monitor for cell, _ in planned for monitor in cell["monitors"])
    what = join(" ", running, _note(f"campaign {name}"))
    return what, Cell(counted, f"{failed:,} failed" if failed else "", done), _monitors(monitors), bool(done)


def _of_run(place: Path) -> tuple[Markup, Cell, Cell, bool]:
    """Return the same of a run."""
    run = read_record(place / RUN, SCHEMA, RunForm)
    parts = [run.get("name"), *((run.get(part) or {}).get("name") for part in ("workload", "classifier"))]
    length = (run.get("stream") or {}).get("length")
    is_known = isinstance(length, int)
    images = Cell(_unbroken(f"{length:,} images") if is_known else "", value=length if is_known else None)
    monitors = run.get("monitors") or ()
    failed = sum(bool(each.get("failure")) for each in monitors)
    named = _monitors((each["name"] for each in monitors), f"{failed} failed" if failed else "")
    return _note(f"run {', '.join(filter(None, parts))}"), images, named, True


def _monitors(names: Iterable[str], below: str = "") -> Cell:
    names = list(names)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return Cell(", ".join(names[:NAMED]) + more, below, len(names))


def _note(told: object) -> Markup:
    return tag("div", told, class_="note")


def _unbroken(text: str) -> Markup:
    return tag("span", text, style="white-space:nowrap")


def _made_of(place: Path) -> Iterator[tuple[str, int, int]]:
    """Return what a report is made of: the records of runs and failures, with their times and sizes."""
    failures = sorted((place / "failed").glob("*.json"))
    for path in (place / CAMPAIGN, *failures, *(run / RUN for run in run_folders([place]))):
        yield str(path), *_time_and_size(path)


def _written(place: Path) -> float:
    """Return when a run was written, or the newest cell of a campaign."""
    return max(_time_and_size(place / name)[0] for name in (RUN, CAMPAIGN, "cells")) / 1e9


def _time_and_size(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # in a folder that may not be entered
        return False
