"""`farm serve` as a browser meets it, as a website that means ill does, and as the folder does: unchanged."""

from __future__ import annotations

import base64
import hashlib
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from farm.campaign.progress import Running, Status
from farm.campaign.status import write_status
from farm.cli import main
from farm.commands import served_pages
from farm.commands.serve import HEADERS, PageServer, page_server
from farm.store.readouts import Readouts
from tests.campaign.made_campaigns import edit, make_campaign, planned, readouts, write_campaign
from tests.campaign.small import FARM, SOON
from tests.wording import same_text

EVIL = "<img src=x onerror=alert(1)>"


@dataclass
class Answer(HTMLParser):
    """An answer as a browser reads it."""

    status: int
    headers: dict[str, str]
    body: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All that is to be read, style and script left out."""
        shown = re.sub(r"(?s)<(style|script)[ >].*?</\1>", "", self.body)
        return " ".join(" ".join(Answer(0, {}, shown).texts).split()) if shown != self.body else self._plain

    @property
    def _plain(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def links(self) -> list[str]:
        """Where links of this server lead."""
        found = [str(each["href"]) for name, each in self.tags if name == "a"]
        return [each for each in found if each.startswith("/")]

    @property
    def refresh(self) -> str | None:
        """After how many seconds it is loaded again."""
        metas = [each for name, each in self.tags if name == "meta" and each.get("http-equiv") == "refresh"]
        return metas[0]["content"] if metas else None


class Client:
    """Sends what it is told to, byte for byte."""

    def __init__(self, server: PageServer) -> None:
        self.server, self.port = server, server.server_port

    def __call__(self, path: str, method: str = "GET", *hosts: str, body: str = "") -> Answer:
        named = hosts or (f"127.0.0.1:{self.port}",)
        lines = [f"{method} {path} HTTP/1.1", *(f"Host: {host}" for host in named if host != "none")]
        lines += [f"Content-Length: {len(body)}"] if body else []
        return self.raw("\r\n".join((*lines, "", body)).encode("latin-1"))

    def raw(self, request: bytes) -> Answer:
        with socket.create_connection(("127.0.0.1", self.port), timeout=SOON) as connection:
            connection.sendall(request)
            held = b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8")
        head, _, content = held.partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return Answer(int(first.split()[1]), headers, content)


@pytest.fixture
def ask() -> Iterator[Callable[..., Client]]:
    """Return what serves a folder on a free port, in a thread."""
    with ExitStack() as all_of_them:
        yield lambda folder, **how: all_of_them.enter_context(serving(folder, **how))


@contextmanager
def serving(folder: Path, **how: bool) -> Iterator[Client]:
    with page_server(folder, 0, **how) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Client(server)
        finally:
            server.shutdown()
            thread.join(SOON)


def saved(path: Path, **changes: object) -> Path:
    """Save a small run; `changes` are to its record."""
    made = readouts(failing=False)
    return replace(made, run={**made.run, "name": "quick", **changes}).save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has a run, one below it, and a campaign of which a cell failed."""
    place = tmp_path_factory.mktemp("served") / "runs"
    saved(place / "quick-001")
    saved(place / "group" / "quick-002")
    campaign = make_campaign(place / "many", n=3, missing=1)
    cell = planned(2, seed=2)
    campaign.note_failure(cell["id"], cell["target"], cell["title"], "failed", "out of memory & patience")
    (place / ".quick-003.unfinished-1").mkdir()
    saved(place / ".hidden")
    return place


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Return all that lies in a folder, with times and digests."""
    found = [folder, *folder.rglob("*")]
    return {
        str(path): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder",
        )
        for path in found
    }


@pytest.fixture
def quick_reports(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have reports made at once, of nothing but their places; return those that were made."""
    made: list[str] = []

    def page(place: Path) -> str:
        made.append(place.name)
        return f"<p>report {len(made)} of {place.name}</p>"

    monkeypatch.setattr(served_pages, "find", lambda places: places[0])
    monkeypatch.setattr(served_pages, "page", page)
    return made


# What is there -----------------------------------------------------------------------------------------


def test_all_that_is_there_can_be_reached_and_nothing_is_written(folder, ask):
    before = snapshot(folder)
    client, todo, seen = ask(folder), ["/"], {}
    while todo:
        url = todo.pop()
        seen[url] = client(url)
        todo += [link for link in seen[url].links if link not in seen and link not in todo]
    assert {url: answer.status for url, answer in seen.items()} == dict.fromkeys(seen, 200)
    cells = [f"/report/many/cells/{path.name}" for path in (folder / "many" / "cells").iterdir()]
    assert len(cells) == 2
    pages = ["/", "/report/quick-001", "/report/group/quick-002", "/campaign/many", "/report/many", *cells]
    assert sorted(seen) == sorted(pages)
    for url, answer in seen.items():
        if url.startswith("/report"):
            assert answer.text.startswith("Safety monitors: ")
            assert "doubt" in answer.text
    assert snapshot(folder) == before


def test_the_list_names_what_is_there(folder, ask):
    text = ask(folder)("/").text
    assert "quick-001 run quick, tiny, tiny-model report 64 images" in text
    assert "many campaign small report 2 of 3 cells 1 failed" in text
    assert text.count("doubt, broken") == 3
    assert "hidden" not in text
    assert "unfinished" not in text


def test_the_newest_stands_first(tmp_path, ask):
    for name, when in (("old", 1000), ("newest", 3000), ("newer", 2000)):
        os.utime(saved(tmp_path / name) / "run.json", (when, when))
    assert [link for link in ask(tmp_path)("/").links if link != "/"][::2] == [
        "/report/newest",
        "/report/newer",
        "/report/old",
    ]


def test_an_empty_folder_says_how_to_begin(tmp_path, ask):
    answer = ask(tmp_path)("/")
    assert answer.status == 200
    assert "Nothing is here yet. farm run quickstart makes a run." in answer.text


def test_the_folder_itself_may_be_a_campaign_or_a_run(folder, ask, quick_reports):
    campaign, run = ask(folder / "many"), ask(folder / "quick-001")
    assert campaign("/").links == ["/campaign", "/report"]
    assert run("/").links == ["/report", "/report"]
    assert "2 of 3 cells done" in campaign("/campaign").text
    assert campaign("/report").text == "report 1 of many"
    assert run("/report/").text == "report 2 of quick-001"
    assert run("/campaign").status == 404
    (first, *_) = [link for link in campaign("/campaign").links if "/cells/" in link]
    assert campaign(first).status == 200


def test_a_long_list_of_monitors_is_cut(tmp_path, ask):
    saved(tmp_path / "run", monitors=[{"name": f"m{i}", "failure": "no" if i else None} for i in range(6)])
    assert "m0, m1, m2, m3 and 2 more 5 failed" in ask(tmp_path)("/").text


# A campaign --------------------------------------------------------------------------------------------


def test_a_campaign_is_followed_until_it_is_finished(tmp_path, ask):
    campaign = make_campaign(tmp_path / "many", n=4, missing=3)
    titles = [planned(number, seed=number)["title"] for number in range(4)]
    client = ask(tmp_path)
    with campaign.lock():
        now = Running(planned(1)["id"], titles[1], "streaming", 12, 40, 4.4)
        status = Status(
            "small", "running", 4, 1, 1, 0, (f"{titles[2]}: too slow",), (now,), time.time(), 720.0, 2
        )
        write_status(campaign.status, status)
        failed = planned(2, seed=2)
        campaign.note_failure(failed["id"], failed["target"], failed["title"], "over-time", "too slow")
        assert "many running campaign small" in client("/").text
        running = client("/campaign/many")
    assert running.refresh == "10"
    assert "small: running: 1 of 4 cells done, 1 failed" in running.text
    assert "about 12 min left, 2 workers" in running.text
    assert f"{titles[1]}: streaming 12/40, for 0:00:04" in running.text
    assert f"failed: {titles[2]}: too slow" in running.text
    bars = [each for name, each in running.tags if name == "progress"]
    assert [(each["value"], each["max"]) for each in bars] == [("2", "4")]
    assert rows(running) == [
        [titles[0], "done", "report"],
        [f"{titles[1]} streaming 12/40", "running", ""],
        [f"{titles[2]} too slow", "failed", ""],
        [titles[3], "missing", ""],
    ]

    stopped = client("/campaign/many")
    assert stopped.refresh is None
    assert "its process is gone" in stopped.text
    assert [state for _, state, _ in rows(stopped)] == ["done", "missing", "failed", "missing"]
    assert "running" not in client("/").text

    make_campaign(tmp_path / "done", n=2)
    finished = client("/campaign/done")
    assert finished.refresh is None
    assert "small: finished: 2 of 2 cells done" in finished.text
    assert "/report/done" in finished.links


def rows(answer: Answer) -> list[list[str]]:
    """Return the rows of a page's only table."""
    inside = re.search(r"<tbody>(.*?)</tbody>", answer.body, flags=re.DOTALL)
    assert inside is not None
    found = [re.split(r"</t[hd]>", row)[:-1] for row in inside[1].split("</tr>")[:-1]]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in found]


def test_a_campaign_that_has_only_begun_has_no_report(tmp_path, ask):
    make_campaign(tmp_path / "many", n=2, missing=2)
    client = ask(tmp_path)
    assert client("/").links == ["/campaign/many"]
    page = client("/campaign/many")
    assert page.links == ["/"]
    assert "The first cell that is finished makes a report." in page.text
    asked = client("/report/many")
    assert asked.status == 500
    assert "none of the campaign's 2 cells is finished" in asked.text


# Reports -----------------------------------------------------------------------------------------------


def test_a_report_is_made_anew_only_when_something_changed(tmp_path, ask, quick_reports):
    run = saved(tmp_path / "run")
    campaign = make_campaign(tmp_path / "many", n=2, missing=1)
    client = ask(tmp_path)
    assert [client("/report/run").text for _ in range(3)] == ["report 1 of run"] * 3
    os.utime(run / "run.json", (1, 1))
    assert client("/report/run").text == "report 2 of run"
    assert [client("/report/many").text for _ in range(2)] == ["report 3 of many"] * 2
    cell = planned(1, seed=1)
    campaign.note_failure(cell["id"], cell["target"], cell["title"], "failed", "no")
    assert client("/report/many").text == "report 4 of many"
    os.utime(next(campaign.cells.glob("*/run.json")), (2, 2))
    assert client("/report/many").text == "report 5 of many"


def test_only_the_last_reports_are_kept(tmp_path, ask, quick_reports):
    names = [f"run-{i}" for i in range(served_pages.KEPT + 1)]
    for name in names:
        saved(tmp_path / name)
    client = ask(tmp_path)
    for name in [*names, names[-1], names[1]]:
        client(f"/report/{name}")
    assert quick_reports == names
    client(f"/report/{names[0]}")
    assert quick_reports == [*names, names[0]]


def test_reports_are_made_one_after_the_other(tmp_path, ask, monkeypatch):
    saved(tmp_path / "a")
    saved(tmp_path / "b")
    at_work, most, made = set(), [], []

    def page(place: Path) -> str:
        at_work.add(threading.get_ident())
        time.sleep(0.05)
        most.append(len(at_work))
        at_work.discard(threading.get_ident())
        made.append(place.name)
        return place.name

    monkeypatch.setattr(served_pages, "find", lambda places: places[0])
    monkeypatch.setattr(served_pages, "page", page)
    client, got = ask(tmp_path), queue.Queue()
    threads = [
        threading.Thread(target=lambda name=name: got.put((name, client(f"/report/{name}").body)))
        for name in "ababab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert sorted(got.get_nowait() for _ in threads) == [("a", "a")] * 3 + [("b", "b")] * 3
    assert most == [1, 1]
    assert sorted(made) == ["a", "b"]


# Whoever means ill -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/report/..",
        "/report/../secret",
        "/report/%2e%2e/secret",
        "/report/%2E%2E%2Fsecret",
        "/report/..%2fsecret",
        "/report/..%5csecret",
        "/report/quick%2f..%2f..%2fsecret",
        "/report/quick/../../secret",
        "/report/%252e%252e/secret",
        "/report/..\\secret",
        "/report//secret",
        "/report/%2Fsecret",
        "/report/{outside}",
        "/report/{outside_encoded}",
        "/report/secret%00",
        "/report/quick%00/../../secret",
        "/report/%c0%ae%c0%ae/secret",
        "/report/./quick",
        "/report/.hidden",
        "/report/link",
        "/report/round",
        "/report/with-link",
        "/report/many",
        "/campaign/many",
        "/campaign/..",
        "/report/quick/run.json",
        "/report/quick/pictures.json",
        "/quick/run.json",
        "/../secret",
        "/..%2fsecret",
        "//secret",
        "http://localhost/report/quick",
        "*",
        "/report/" + "a" * 5000,
        "/report/" + "a/" * 5000,
        "/reports/quick",
        "/favicon.ico",
    ],
)
def test_no_path_leads_out_of_the_folder(tmp_path, ask, quick_reports, path):
    secret = saved(tmp_path / "secret")
    place = tmp_path / "runs"
    saved(place / "quick")
    saved(place / ".hidden")
    (place / "link").symlink_to(secret)
    (place / "round").symlink_to("round")
    linked = saved(place / "with-link")
    (linked / "alarms.parquet").unlink()
    (linked / "alarms.parquet").symlink_to(secret / "alarms.parquet")
    campaign = make_campaign(place / "many", n=1)
    (cell,) = campaign.cells.iterdir()
    cell.rename(tmp_path / "cell")
    cell.symlink_to(tmp_path / "cell")
    encoded = str(secret).replace("/", "%2f")
    answer = ask(place)(path.format(outside=secret, outside_encoded=encoded))
    assert answer.status == 404
    assert "no run or campaign here" in answer.text
    assert quick_reports == []
    assert "secret" not in answer.text


def test_a_link_within_the_folder_is_followed(tmp_path, ask, quick_reports):
    saved(tmp_path / "quick")
    (tmp_path / "latest").symlink_to("quick")
    client = ask(tmp_path)
    assert client("/report/latest").text == "report 1 of latest"
    assert "/report/latest" in client("/").links


def test_a_link_to_a_folder_hides_no_link_in_it_that_leads_out(tmp_path, ask, quick_reports):
    place = tmp_path / "runs"
    campaign = make_campaign(place / "many", n=1)
    campaign.cells.rename(place / "elsewhere")
    campaign.cells.symlink_to(place / "elsewhere")
    (record,) = place.glob("elsewhere/*/run.json")
    record.rename(tmp_path / "run.json")
    record.symlink_to(tmp_path / "run.json")
    client = ask(place)
    assert [client(f"/{kind}/many").status for kind in ("report", "campaign")] == [404, 404]


def test_the_list_does_not_follow_links_out_of_the_folder(tmp_path, ask):
    secret = saved(tmp_path / "secret", name="secret of others")
    place = tmp_path / "runs"
    place.mkdir()
    (place / "link").symlink_to(secret)
    (place / "deep").symlink_to(tmp_path)
    (place / "own").mkdir()
    (place / "own" / "run.json").symlink_to(secret / "run.json")
    answer = ask(place)("/")
    assert answer.links == []
    assert "secret" not in answer.text


@pytest.mark.parametrize("name", ["a b", "50%", "%2e%2e", "q?x#y", "'\"&<>", "ü", EVIL, os.fsdecode(b"\xff")])
def test_names_of_folders_survive_their_links(tmp_path, ask, quick_reports, name):
    saved(tmp_path / "group" / "quick").rename(tmp_path / "group" / name)
    client = ask(tmp_path)
    link = client("/").links[0]
    assert client(link).status == 200
    assert quick_reports == [name]


def test_the_host_has_to_be_this_machine(tmp_path, ask):
    client = ask(tmp_path)
    for host in ("localhost", "LocalHost", "127.0.0.1", "[::1]"):
        assert client("/", "GET", f"{host}:{client.port}").status == 200, host
    refused = [
        *("evil.example", f"evil.example:{client.port}", "localhost", "127.0.0.1", "none", ""),
        *(f"localhost.evil.example:{client.port}", f"127.0.0.1:{client.port}.evil.example"),
        *(f"localhost:{client.port + 1}", f"127.0.0.2:{client.port}", f"user@localhost:{client.port}"),
    ]
    for host in refused:
        answer = client("/", "GET", host)
        assert answer.status == 403, host
        assert "Nothing is here yet" not in answer.body
    own = f"127.0.0.1:{client.port}"
    assert client("/", "GET", own, "evil.example").status == 403
    assert client("/", "GET", own, own).status == 403


def test_it_listens_on_this_machine_alone(tmp_path, ask):
    assert ask(tmp_path).server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "FOO"])
def test_it_only_shows(folder, ask, method):
    answer = ask(folder)("/", method, body="x=1")
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"
    assert "many" not in answer.text


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/campaign/many", 200), ("/report/quick-001", 200), ("/nothing", 404)]
)
def test_head_is_get_without_the_page(folder, ask, quick_reports, path, status):
    client = ask(folder)
    head, get = client(path, "HEAD"), client(path)
    assert (head.status, get.status) == (status, status)
    assert head.body == ""
    assert int(head.headers["Content-Length"]) == len(get.body.encode()) > 0


def test_every_answer_has_the_headers(folder, ask, quick_reports):
    client = ask(folder)
    answers = [
        *(client("/"), client("/campaign/many"), client("/report/many"), client("/no"), client("/", "POST")),
        *(client("/", "GET", "evil.example"), client.raw(b"\x16\x03\x01\r\n\r\n")),
        client.raw(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"),
    ]
    assert [each.status for each in answers] == [200, 200, 200, 404, 405, 403, 400, 414]
    for each in answers:
        assert {name: each.headers[name] for name in HEADERS} == HEADERS
        assert each.headers["Server"] == "farm-testbed"
        assert "Traceback" not in each.body
    assert HEADERS["Cache-Control"] == "no-store"
    assert HEADERS["X-Content-Type-Options"] == "nosniff"
    assert HEADERS["Referrer-Policy"] == "no-referrer"
    assert HEADERS["Cross-Origin-Resource-Policy"] == "same-origin"


def test_no_script_runs_but_the_pages_own(folder, ask):
    client = ask(folder)
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'none'")
    for path in ("/", "/campaign/many", "/report/quick-001", "/nothing"):
        (script,) = re.findall(r"(?s)<script>(.*?)</script>", client(path).body)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert policy["script-src"] == f"'sha256-{digest}'"


def test_names_are_texts_whatever_they_hold(tmp_path, ask):
    made = readouts(failing=False)
    alarms = made.alarms.assign(monitor=made.alarms["monitor"].astype(str).replace("doubt", EVIL))
    monitors = [
        {**each, "name": EVIL if each["name"] == "doubt" else each["name"]} for each in made.run["monitors"]
    ]
    run = {
        **made.run,
        "name": EVIL,
        "classes": [EVIL, "</style><script>alert(1)</script>", "\u202egnp.exe", "\x00\x1b[31m"],
        "monitors": monitors,
        "workload": {**made.run["workload"], "name": EVIL},
    }
    Readouts(made.instances, alarms, run, pictures=made.pictures).save(tmp_path / EVIL)
    cell = {**planned(0), "title": EVIL}
    campaign = write_campaign(tmp_path / "many", [cell, {**planned(1), "title": f"\u202e{EVIL}"}])
    edit(campaign.path / "campaign.json", lambda record: record.update(name=EVIL))
    campaign.note_failure(cell["id"], cell["target"], EVIL, "failed", EVIL)
    client = ask(tmp_path)
    for path in ("/", "/campaign/many", client("/").links[0], client("/").links[-1]):
        answer = client(path)
        assert answer.status == 200
        assert [name for name, each in answer.tags if any(key.startswith("on") for key in each)] == []
        assert sum(name == "script" for name, _ in answer.tags) == 1
        assert [each["src"] for name, each in answer.tags if name == "img" and each["src"] == "x"] == []
        assert EVIL in answer.text
    told = client("/campaign/many").text
    assert f"failed: {EVIL}: {EVIL}" in told
    assert "\u202e" not in told
    assert f"\\u202e{EVIL}" in told


def test_text_that_is_none_is_shown_all_the_same(tmp_path, ask):
    run = saved(tmp_path / "run")
    edit(run / "run.json", lambda record: record.update(name="lone \ud800"))
    assert "lone \\ud800" in ask(tmp_path)("/").text


# What is damaged ---------------------------------------------------------------------------------------


def test_what_is_damaged_is_told_in_its_row_and_costs_no_other(tmp_path, ask):
    saved(tmp_path / "whole")
    (saved(tmp_path / "cut") / "run.json").write_text("{", encoding="utf-8")
    edit(saved(tmp_path / "edited") / "run.json", lambda record: record.update(monitors="none"))
    edit(saved(tmp_path / "strange") / "run.json", lambda record: record.update(stream={"length": "long"}))
    (make_campaign(tmp_path / "many", n=1).path / "campaign.json").write_text("[]", encoding="utf-8")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "run.json")
    client = ask(tmp_path)
    listing = client("/")
    assert sorted(set(listing.links)) == ["/report/strange", "/report/whole"]
    assert sum(each.get("class") == "badge bad" for _, each in listing.tags) == 3
    assert "cut/run.json cannot be read as JSON" in listing.text
    assert "many/campaign.json holds a list; expected a JSON object" in listing.text
    for path, told in (
        ("/report/cut", "is it truncated?"),
        ("/report/edited", "monitors"),
        ("/campaign/many", "expected a JSON object"),
        ("/report/many", "expected a JSON object"),
    ):
        answer = client(path)
        assert answer.status == 500, path
        assert "This cannot be shown" in answer.text
        assert told in answer.text
        assert "Unexpected" not in answer.text
        assert "Traceback" not in answer.body
    assert client("/report/pipe").status == 404


def test_a_damaged_cell_is_told_on_the_page_of_its_campaign(tmp_path, ask):
    campaign = make_campaign(tmp_path / "many", n=2)
    next(campaign.cells.glob("*/run.json")).write_text("{", encoding="utf-8")
    answer = ask(tmp_path)("/campaign/many")
    assert answer.status == 200
    assert "cannot be read as JSON" in answer.text


@pytest.mark.parametrize("debug", [False, True])
def test_an_unexpected_failure_is_a_line_and_the_server_goes_on(folder, ask, monkeypatch, capsys, debug):
    def page(found: object) -> str:
        raise TypeError(f"no {EVIL}")

    monkeypatch.setattr(served_pages, "find", lambda places: places)
    monkeypatch.setattr(served_pages, "page", page)
    client = ask(folder, debug=debug)
    answer = client("/report/quick-001")
    assert answer.status == 500
    told = f"Unexpected failure: TypeError: no {EVIL}. Run `farm serve` again with --debug and report it."
    assert told in answer.text
    assert "Traceback" not in answer.body
    assert ("Traceback" in capsys.readouterr().err) is debug
    assert client("/").status == 200


def test_a_browser_that_goes_away_is_no_failure(folder, ask, monkeypatch, capsys):
    gone, answered = threading.Event(), threading.Event()

    def page(found: object) -> str:
        gone.wait(SOON)
        answered.set()
        return "x" * 50_000_000

    monkeypatch.setattr(served_pages, "find", lambda places: places)
    monkeypatch.setattr(served_pages, "page", page)
    client = ask(folder, debug=True)
    with socket.create_connection(("127.0.0.1", client.port), timeout=SOON) as connection:
        connection.sendall(
            f"GET /report/quick-001 HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n".encode()
        )
    gone.set()
    assert answered.wait(SOON)
    assert client("/").status == 200
    assert capsys.readouterr().err == ""


# The command -------------------------------------------------------------------------------------------


def test_ctrl_c_ends_it_and_is_no_failure(folder):
    command = [*FARM, "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"farm: (.*) is shown at http://127\.0\.0\.1:(\d+)/ until Ctrl-C\n", line)
        assert found is not None, line
        assert found[1] == str(folder)
        with socket.create_connection(("127.0.0.1", int(found[2])), timeout=SOON) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{found[2]}\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.0 200 OK")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(("arguments", "opened"), [(["--open"], True), ([], False)])
def test_the_browser_is_opened_where_it_listens(folder, monkeypatch, capsys, arguments, opened):
    urls: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr("webbrowser.open", urls.put)

    def serve_forever(server: PageServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", serve_forever)
    assert main(["serve", str(folder), "--port", "0", *arguments]) == 0
    told = capsys.readouterr().out
    if opened:
        assert urls.get(timeout=SOON) in told.split()
    assert urls.empty()


def test_a_port_that_is_taken_is_a_line(folder, ask, capsys):
    taken = ask(folder).port
    assert main(["serve", str(folder), "--port", str(taken)]) == 2
    err = capsys.readouterr().err
    assert str(taken) in err
    same_text(err.replace(str(taken), "PORT"))


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_is_a_line(folder, capsys, port):
    assert main(["serve", str(folder), "--port", port]) == 2
    same_text(capsys.readouterr().err)


def test_a_folder_that_is_not_there_is_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["serve"]) == 2
    same_text(capsys.readouterr().err)
    Path("file").write_text("", encoding="utf-8")
    assert main(["serve", "file"]) == 2
    same_text(capsys.readouterr().err)


def test_torch_is_not_needed(folder):
    code = (
        "import sys, farm.commands.serve; from pathlib import Path; "
        "from farm.commands.served_pages import ServedFolder; served = ServedFolder(Path(sys.argv[1])); "
        "pages = [served.page(url) for url in ('/', '/campaign/many', '/report/many', '/report/quick-001')]; "
        "print([page is not None for page in pages], [m for m in ('torch', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True, timeout=SOON
    )
    assert done.stdout.strip() == f"{[True] * 4} []"
