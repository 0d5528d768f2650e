"""`farm cache` and `farm cache prune`, as a person meets them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from farm.commands import cache as command
from farm.errors import ExperimentError, StorageError
from farm.store import cache_contents
from farm.store.cache import DiskCache, lock_of
from farm.store.cache_contents import contents
from farm.store.files import json_digest
from farm.store.lock import locked
from tests.wording import refused, same_text

DAY = 24 * 3600
HOLDS_A_LOCK = """
import sys
from pathlib import Path
from farm.store.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def options(**given) -> argparse.Namespace:
    default = {"format": "table", "campaign": None, "older_than": None, "to": None, "kind": None}
    return argparse.Namespace(**{**default, "dry_run": False, **given})


def prune(**given) -> int:
    return command.prune(options(**given))


def put(folder: Path, kind: str, name: str, *, nbytes: int = 1000, days: float = 0) -> Path:
    """Keep so many bytes, last used so many days ago."""
    key = {"name": name}
    DiskCache(folder).arrays(kind, key, lambda: {"a": np.zeros(nbytes, np.uint8)})
    entry = folder / kind / json_digest({"schema": 1, "key": key})
    used(entry, days)
    return entry


def used(entry: Path, days: float) -> None:
    when = time.time() - days * DAY
    os.utime(entry / "entry.json", (when, when))


def old(path: Path, days: float = 2) -> Path:
    """Make a file, or a folder with one, that nobody touched for days."""
    when = time.time() - days * DAY
    for place in [*path.iterdir(), path] if path.is_dir() else [path]:
        os.utime(place, (when, when))
    return path


def unfinished(folder: Path, kind: str, digest: str, days: float) -> Path:
    left = folder / kind / f".{digest}.unfinished-ab12_x"
    left.mkdir(parents=True)
    (left / "array.npy").write_bytes(b"half")
    return old(left, days)


def outdated(folder: Path, kind: str) -> Path:
    entry = put(folder, kind, "outdated")
    record = json.loads((entry / "entry.json").read_text())
    (entry / "entry.json").write_text(json.dumps(record | {"schema": 0}))
    return entry


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.glob("*/*")}


def lines(capsys) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_an_empty_cache_is_told_with_its_place(folder, capsys) -> None:
    assert command.show(options()) == 0
    first, second = lines(capsys)
    assert first == f"cache  {folder}"
    assert second.startswith("It is empty")
    assert prune() == 0
    assert lines(capsys) == ["Nothing to remove."]
    assert not folder.exists()


def test_kinds_are_told_with_what_they_are_how_many_how_large_and_when_used(folder, capsys) -> None:
    put(folder, "lenet", "a", nbytes=2_000_000, days=3.5)
    put(folder, "lenet", "b", nbytes=1_000_000, days=5)
    put(folder, "somebodys", "c", days=0.5)
    (folder / "digests").mkdir()
    (folder / "digests" / ("ab" * 16)).write_text("remembered")
    assert command.show(options()) == 0
    _, head, *rows, total = lines(capsys)
    assert head.split("  ")[0].strip() == "kind"
    cells = [[cell.strip() for cell in row.split("  ") if cell.strip()] for row in (*rows, total)]
    assert cells == [
        ["digests", "remembered digests of files", "1", "0.0 kB", "just now"],
        ["lenet", "trained classifiers", "2", "3.0 MB", "3 days ago"],
        ["somebodys", "1", "1.2 kB", "12 hours ago"],
        ["total", "4", "3.0 MB", "just now"],
    ]


def test_what_is_left_over_is_told(folder, capsys) -> None:
    put(folder, "lenet", "a")
    outdated(folder, "lenet")
    unfinished(folder, "images", "c" * 32, days=0)
    assert command.show(options()) == 0
    told = lines(capsys)
    same_text(told[-3])
    same_text(told[-2])
    same_text(told[-1])
    assert "images" not in told[2]


def test_as_json_it_has_bytes_and_moments(folder, capsys) -> None:
    entry = put(folder, "lenet", "a")
    outdated(folder, "lenet")
    lock_of(folder / "lenet" / ("d" * 32)).touch()
    os.utime(entry / "entry.json", (0, 0))
    assert command.show(options(format="json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(folder)
    (kind,) = told["kinds"]
    nbytes = sum(file.stat().st_size for file in entry.iterdir())
    assert (kind["kind"], kind["entries"], kind["bytes"]) == ("lenet", 1, nbytes)
    assert kind["last_used"] == "1970-01-01T00:00:00+00:00"
    assert (kind["outdated"]["items"], kind["lock"]["items"], kind["unfinished"]["items"]) == (1, 1, 0)
    assert told["total"]["bytes"] == nbytes


def test_without_options_only_what_is_left_over_goes(folder, capsys) -> None:
    kept = [
        put(folder, "lenet", "a", days=400),
        unfinished(folder, "images", "a" * 32, days=0.9),
    ]
    gone = [
        outdated(folder, "lenet"),
        unfinished(folder, "images", "b" * 32, days=1.1),
        folder / "images" / f".{'c' * 32}.lock",
        folder / "digests" / ".unfinished-abcd",
    ]
    gone[2].touch()
    gone[3].parent.mkdir()
    gone[3].write_text("half")
    old(gone[3])
    unreadable = put(folder, "lenet", "unreadable")
    (unreadable / "entry.json").write_text("{")
    assert prune(dry_run=True) == 0
    *_, last = lines(capsys)
    same_text(last)
    assert all(path.exists() for path in (*kept, *gone, unreadable))
    assert prune() == 0
    *_, last = lines(capsys)
    assert last.startswith("Removed 5 of 7 items: ")
    assert all(path.exists() for path in kept)
    assert everything(folder) == {str(path.relative_to(folder)) for path in kept}


def test_what_was_not_used_for_long_goes_where_that_is_asked_for(folder, capsys) -> None:
    fresh, stale = put(folder, "lenet", "a", days=29), put(folder, "images", "b", days=31)
    assert prune(older_than="30d") == 0
    assert (fresh.exists(), stale.exists()) == (True, False)
    rows = lines(capsys)
    assert any(row.split()[:3] == ["images", "decoded", "images"] for row in rows)
    assert not any(row.startswith("lenet") for row in rows)


def test_the_least_recently_used_go_first_until_the_rest_is_small_enough(folder) -> None:
    first, second, third = (
        put(folder, kind, kind, days=days) for kind, days in (("a", 1), ("b", 9), ("c", 5))
    )
    size = sum(file.stat().st_size for file in first.iterdir())
    assert prune(to=f"{2 * size}B") == 0
    assert (first.exists(), second.exists(), third.exists()) == (True, False, True)
    assert prune(to=f"{2 * size - 1}B") == 0
    assert (first.exists(), third.exists()) == (True, False)
    assert prune(to="0B") == 0
    assert not first.exists()


def test_age_and_size_may_be_asked_for_together(folder) -> None:
    first, second, third = (
        put(folder, "a", name, days=days) for name, days in (("a", 1), ("b", 9), ("c", 5))
    )
    assert prune(older_than="8d", to="1GB") == 0
    assert (first.exists(), second.exists(), third.exists()) == (True, False, True)


def test_a_kind_alone_is_removed_whole_and_nothing_of_another(folder, capsys) -> None:
    gone, kept = put(folder, "lenet", "a"), put(folder, "images", "b")
    left = unfinished(folder, "images", "b" * 32, days=3)
    assert prune(kind="lenet") == 0
    assert (gone.exists(), kept.exists(), left.exists()) == (False, True, True)
    put(folder, "images", "c", days=40)
    assert prune(kind="images", older_than="30d") == 0
    assert (kept.exists(), left.exists(), len(everything(folder))) == (True, False, 1)


def test_an_entry_that_is_in_use_is_left_and_told(folder, capsys) -> None:
    entry, other = put(folder, "lenet", "a", days=9), put(folder, "lenet", "b", days=9)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LOCK, str(lock_of(entry))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for dry_run in (True, False):
            assert prune(older_than="1d", dry_run=dry_run) == 0
            told = capsys.readouterr()
            same_text(told.err)  # the entry, and its lock
            assert " 1 of 3 items" in told.out
        assert (entry.exists(), lock_of(entry).exists(), other.exists()) == (True, True, False)
        holder.communicate("\n", timeout=60)
    assert prune(older_than="1d") == 0
    assert everything(folder) == set()


def test_an_entry_that_is_used_after_it_was_chosen_is_left(folder, monkeypatch, capsys) -> None:
    entry = put(folder, "lenet", "a", days=9)
    chosen = contents(folder)
    used(entry, 0)
    assert [fate for _, fate in cache_contents.remove(chosen)] == ["in use"]
    assert entry.exists()


def test_who_has_mapped_an_entry_reads_on(folder) -> None:
    rows = np.arange(10_000, dtype=np.uint8)
    mapped = DiskCache(folder).mapped("images", {}, (10_000,), "uint8", lambda: [rows])
    assert isinstance(mapped, np.memmap)
    assert prune(kind="images") == 0
    assert everything(folder) == set()
    np.testing.assert_array_equal(mapped, rows)


def test_what_is_not_the_caches_is_never_touched(folder) -> None:
    mine = [
        folder / "notes.txt",
        folder / "photos" / "holiday.png",
        folder / "photos" / "2024" / "a.png",
        folder / "photos" / ".hidden",
        folder / "durations.json",
    ]
    for file in mine:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("dear")
        old(file, days=999)
    (folder / ("e" * 32)).symlink_to(folder / "photos")
    (folder / "photos" / ("f" * 32)).symlink_to(folder / "notes.txt")
    assert contents(folder) == []
    assert prune(older_than="0s", to="0B") == 0
    assert all(file.exists() for file in mine)
    with refused(ExperimentError):
        prune(kind="photos")
    assert all(file.exists() for file in mine)


def test_what_cannot_be_removed_is_told_and_the_rest_goes(folder, monkeypatch, capsys) -> None:
    bad, good = put(folder, "lenet", "a"), put(folder, "lenet", "b")
    real = cache_contents.discard

    def refuse(entry):
        if entry == bad:
            raise PermissionError("not here")
        real(entry)

    monkeypatch.setattr(cache_contents, "discard", refuse)
    with refused(StorageError):
        prune(kind="lenet")
    assert (bad.exists(), good.exists()) == (True, False)
    assert "Removed 1 of 2 items" in capsys.readouterr().out


def test_as_json_it_tells_every_item(folder, capsys) -> None:
    entry = put(folder, "lenet", "a")
    put(folder, "images", "b")
    assert prune(kind="lenet", format="json", dry_run=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    (item,) = told["removed"]
    assert (item["path"], item["sort"], told["in_use"]) == (str(entry), "entry", [])
    assert entry.exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"older_than": "30"}, "--older-than is '30'; expected a duration such as 30d, 12h or 90min"),
        ({"older_than": "soon"}, "--older-than is 'soon'; expected a duration such as 30d, 12h or 90min"),
        ({"older_than": "-3d"}, "--older-than is '-3d'; expected a duration"),
        ({"to": "5"}, "--to is '5'; expected a size such as 5GB, 500MB or 0B"),
        ({"to": "5Gb/s"}, "--to is '5Gb/s'; expected a size"),
        ({"kind": "lenett"}, "--kind is 'lenett', of which .* has none; did you mean 'lenet'?"),
    ],
)
def test_a_mistake_is_told_with_an_example_and_removes_nothing(folder, given, message) -> None:
    put(folder, "lenet", "a", days=99)
    left = outdated(folder, "lenet")
    with pytest.raises(ExperimentError, match=message):
        prune(**given)
    assert left.exists()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 30 * DAY), ("12h", 12 * 3600), ("90 min", 5400), ("2W", 14 * DAY)],
)
def test_durations(text, seconds) -> None:
    assert command.duration(text, "--older-than") == seconds


@pytest.mark.parametrize(
    ("text", "nbytes"), [("5GB", 5 * 10**9), ("1.5 MiB", 3 * 2**19), ("500mb", 5 * 10**8), ("0B", 0)]
)
def test_sizes(text, nbytes) -> None:
    assert command.size(text, "--to") == nbytes


def test_a_campaigns_orphans_are_somebody_elses_and_take_no_other_option(folder, monkeypatch, capsys) -> None:
    asked = []

    def prune_orphans(path, dry_run):
        asked.append((path, dry_run))
        return {"aa-bb": 1_234_567} if len(asked) == 1 else {}

    monkeypatch.setattr("farm.campaign.plan.prune_orphans", prune_orphans)
    left = outdated(folder, "lenet")
    assert prune(campaign="runs/mine", dry_run=True) == 0
    assert lines(capsys) == ["aa-bb", "Would remove 1 orphaned cells: 1.2 MB"]
    assert prune(campaign="runs/mine") == 0
    assert lines(capsys) == ["Nothing to remove."]
    assert prune(campaign="runs/mine", format="json") == 0
    assert json.loads(capsys.readouterr().out)["removed"] == []
    assert asked == [(Path("runs/mine"), True), (Path("runs/mine"), False), (Path("runs/mine"), False)]
    assert left.exists()
    with refused(ExperimentError):
        prune(campaign="runs/mine", to="5GB")


def test_the_lock_of_this_process_is_seen(tmp_path) -> None:
    from farm.store.lock import is_held

    path = tmp_path / "lock"
    assert not is_held(path)
    with locked(path):
        assert is_held(path)
    assert not is_held(path)
    assert not path.exists()
