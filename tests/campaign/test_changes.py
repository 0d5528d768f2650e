"""What changed while a campaign ran: it is named, so that somebody knows whom to ask."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from farm.api import Silent
from farm.campaign.cell import compute
from farm.campaign.jobs import Job, Limits
from farm.campaign.keys import changes
from farm.campaign.plan import make_plan
from farm.campaign.spec import load
from farm.cli import main
from farm.run.shared import NoObserver, Recent
from farm.store.campaign_folder import CampaignFolder
from tests.campaign.small import campaign, written
from tests.wording import same_text

OWN = '''
import helping_{here}
from farm.api import Monitor

class Plain(Monitor):
    """A monitor of somebody's own."""
    def __init__(self, *, table=None, changes=None):
        self._changes = changes
    def _fit(self, data):
        if self._changes:
            with open(self._changes, "a", encoding="utf-8") as file:
                file.write("# another line")
        return {{}}
    def _load(self, state): pass
    def _score(self, observation): return -observation.confidence
'''


def identity(code="0a", packages=None, files=None):
    return {"code": code, "packages": packages or {}, "files": files or {}}


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        (identity(), identity("0b"), "the code of monitor 'doubt'"),
        (
            identity(packages={"numpy": "2.1", "scipy": "1.0"}),
            identity(packages={"numpy": "2.2", "scipy": "1.0"}),
            "the package numpy of monitor 'doubt' (2.1, then 2.2)",
        ),
        (
            identity(packages={"numpy": "2.1"}),
            identity(packages={}),
            "the package numpy of monitor 'doubt' (2.1, then not used)",
        ),
        (identity(files={"a.csv": "1"}), identity(files={"a.csv": "2"}), "'a.csv' of monitor 'doubt'"),
        (identity(files={"beside: a.csv": "1"}), identity(), "'a.csv' of monitor 'doubt'"),
        (identity(), {"files": {"set": "1"}}, "the code of monitor 'doubt'; 'set' of monitor 'doubt'"),
        (identity(), identity(), "what makes the cell"),
    ],
)
def test_what_changed_is_named(was, now, told):
    same = ("workload 'signs'", identity())
    before, after = [same, ("monitor 'doubt'", was)], [same, ("monitor 'doubt'", now)]
    assert changes(before, after, []) == f"{told} changed while the campaign ran"


def test_of_many_changes_a_few_are_named():
    was, now = ([(f"monitor '{i}'", identity(code)) for i in range(5)] for code in ("0a", "0b"))
    same_text(changes(was, now, [Path(f"{i}.py") for i in range(4)]))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Write a module of this test's own, and one that it imports, both of a while ago."""
    name = f"t{time.time_ns()}"
    (tmp_path / f"helping_{name}.py").write_text("", encoding="utf-8")
    (tmp_path / f"mine_{name}.py").write_text(OWN.format(here=name), encoding="utf-8")
    (tmp_path / "table.csv").write_text("1", encoding="utf-8")
    for file in tmp_path.iterdir():
        os.utime(file, (time.time() - 60,) * 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def planned(folder: Path, name: str, **parameters) -> Job:
    """Give the job of a campaign's only cell as a process gets it."""
    own = {"name": f"mine_{name}:Plain", "as": "own", **parameters}
    one = {"faultloads": ["gaussian-noise"], "severities": [1], "seeds": [0]}
    file = written(folder, campaign(monitors=["max-softmax", own], **one))
    cells = CampaignFolder(folder / "out")
    cells.prepare()
    asked, home = load(str(file), [])
    (cell,) = make_plan(asked, home, cells).todo
    job = cell.job(cells, home, Limits())
    return Job.from_json(json.loads(json.dumps(asdict(job))))


def computed(job: Job):
    return compute(job, kept=Recent(1), progress=Silent(), watch=NoObserver())


def test_code_that_was_written_after_the_plan_is_named(tmp_path, here):
    job = planned(tmp_path, here)
    (tmp_path / f"helping_{here}.py").write_text("changed = True", encoding="utf-8")
    outcome = computed(job)
    assert outcome.state == "changed"
    assert outcome.reason == (
        "the code of monitor 'own' changed while the campaign ran (written meanwhile: "
        f"{tmp_path}/helping_{here}.py)"
    )
    assert not list((tmp_path / "out/cells").iterdir())


def test_data_that_changed_while_the_cell_ran_are_named(tmp_path, here):
    outcome = computed(planned(tmp_path, here, table="table.csv", changes="table.csv"))
    assert outcome.state == "changed"
    assert outcome.reason == (
        "'table.csv' of monitor 'own' changed while the campaign ran (written meanwhile: "
        f"{tmp_path}/table.csv)"
    )
    assert not list((tmp_path / "out/cells").iterdir())


def test_code_that_is_gone_is_a_change(tmp_path, here):
    job = planned(tmp_path, here)
    (tmp_path / f"mine_{here}.py").unlink()
    outcome = computed(job)
    assert outcome.state == "changed"
    assert f"changed while the campaign ran: module 'mine_{here}' is not there" in outcome.reason


def test_a_file_that_was_only_touched_changes_nothing(tmp_path, here):
    job = planned(tmp_path, here)
    (tmp_path / f"mine_{here}.py").touch()
    assert computed(job).state == "done"


def test_a_campaign_whose_code_changes_stops_and_says_what_changed(tmp_path, here, capfd, inside):
    own = {"name": f"mine_{here}:Plain", "changes": f"mine_{here}.py"}
    one = {"faultloads": ["gaussian-noise"], "severities": [1, 3], "seeds": [0]}
    file = written(tmp_path, campaign(monitors=[own], **one))
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = capfd.readouterr().err
    assert f"farm: the code of monitor 'mine_{here}:Plain'; " in told
    same_text(told)
    assert f"mine_{here}.py); what is finished is kept: run it again to go on" in told
    assert not list((tmp_path / "out/failed").iterdir())
