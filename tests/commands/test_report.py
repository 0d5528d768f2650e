"""`farm report` as it is called."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from farm.cli import main
from tests.report.page.made_report import FAULTS, made_pictures, made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run's folder, pictures included."""
    made = made_run(FAULTS[1], 1)
    from dataclasses import replace

    return replace(made, pictures=made_pictures(made, 1)).save(tmp_path_factory.mktemp("runs") / "one")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_and_its_figures(run: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run)]) == 0
    page = (here / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "background-image:url(data:image/webp" in page
    names = {path.name for path in (here / "report-figures").iterdir()}
    assert {"heat.svg", "heat.png", "cell-fog-5-on-signs-with-lenet-curves.svg"} <= names
    assert {Path(name).stem for name in names if name.endswith(".svg")} == {
        Path(name).stem for name in names if name.endswith(".png")
    }
    alone = (here / "report-figures" / "heat.svg").read_text()
    assert "var(" not in alone
    assert alone.startswith("<svg xmlns=")
    assert "farm: written to report.html, its figures to report-figures" in capsys.readouterr().err


def test_an_earlier_report_is_replaced_with_all_its_figures(run: Path, here: Path) -> None:
    assert main(["report", str(run), "--out", "new/mine.html"]) == 0
    old = here / "new" / "mine-figures" / "of-another-fault.svg"
    old.write_text("<svg/>")
    before = (here / "new" / "mine.html").read_bytes()
    assert main(["report", str(run), "--out", "new/mine.html"]) == 0
    assert (here / "new" / "mine.html").read_bytes() == before
    assert not old.exists()
    assert sorted(path.name for path in (here / "new").iterdir()) == ["mine-figures", "mine.html"]


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda here: (here / "report.html").write_text("<p>mine"), "report.html is there and no report"),
        (lambda here: (here / "report-figures").write_text("mine"), "report-figures is a file"),
        (
            lambda here: ((here / "report-figures").mkdir(), (here / "report-figures/a.png").write_text("")),
            "report-figures is there without its report",
        ),
    ],
)
def test_nothing_else_is_replaced(
    run: Path, here: Path, prepare: object, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(here)  # type: ignore[operator]
    before = {path: path.is_file() and path.read_text() for path in here.rglob("*")}
    assert main(["report", str(run)]) == 2
    assert told in capsys.readouterr().err
    assert {path: path.is_file() and path.read_text() for path in here.rglob("*")} == before


def test_a_strange_file_among_the_figures_is_kept(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(run)]) == 0
    (here / "report-figures" / "notes.txt").write_text("mine")
    assert main(["report", str(run)]) == 2
    assert "report-figures holds 'notes.txt', which no report wrote" in capsys.readouterr().err
    assert (here / "report-figures" / "notes.txt").read_text() == "mine"


def test_a_page_has_the_suffix_of_one(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--out", "report.pdf"]) == 2
    assert "suffix '.pdf'; expected .html or .htm" in capsys.readouterr().err


def test_it_is_opened_where_asked_for(run: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["report", str(run), "--open"]) == 0
    assert opened == [(here / "report.html").resolve().as_uri()]


def test_a_report_needs_no_torch(run: Path) -> None:
    code = (
        "import sys; from farm.cli import main; "
        f"code = main(['report', {str(run)!r}]); "
        "sys.exit(code or 3 * bool({'torch', 'sklearn'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
