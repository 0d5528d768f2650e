"""The pictures of a cell go along with its monitors' rows, from wherever these are taken over."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from farm.campaign.cell import merged
from farm.campaign.jobs import Job
from farm.cli import main
from farm.errors import StorageError
from farm.store.campaign_folder import CampaignFolder
from farm.store.readouts import Readouts
from tests.campaign.small import campaign, cells, written

MODULE = '''
from farm.api import Explanation, Monitor

class Telling(Monitor):
    """A monitor that explains itself."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return observation.images.mean(axis=(1, 2, 3))
    def _explain(self, observation): return Explanation(f"of {observation.ids[0]}")
'''
OOB = {"name": "oob", "neurons": "all"}
TELLING = {"name": "telling:Telling", "as": "telling"}


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: None) -> None:
    monkeypatch.chdir(tmp_path)
    Path("telling.py").write_text(MODULE, encoding="utf-8")
    os.utime("telling.py", (time.time() - 60,) * 2)


def run(out: str, *monitors: object, **changes: object) -> dict[str, Readouts]:
    """Run a campaign of one cell with these monitors, and return its cells."""
    one = {"faultloads": ["gaussian-noise"], "severities": [3], "seeds": [0]}
    file = written(Path(), campaign(monitors=list(monitors), **one, **changes))
    assert main(["run", str(file), "--out", out, "--quiet"]) == 0
    assert main(["verify", out]) == 0
    return cells(Path(out))


def same_pictures(first: Readouts, second: Readouts) -> None:
    assert first.pictures is not None
    assert second.pictures is not None
    np.testing.assert_array_equal(first.pictures.images, second.pictures.images)
    pd.testing.assert_frame_equal(first.pictures.shown, second.pictures.shown, check_exact=True)
    assert first.pictures.planes == second.pictures.planes


def test_a_monitor_that_is_added_brings_its_pictures_and_all_are_as_if_run_at_once() -> None:
    (before,) = run("out", "max-softmax", OOB).values()
    (after,) = run("out", TELLING, "max-softmax", OOB).values()
    assert [each["monitors"] for each in after.run["passes"]] == [["max-softmax", "oob"], ["telling"]]
    (fresh,) = run("fresh", TELLING, "max-softmax", OOB).values()
    same_pictures(after, fresh)
    assert after.pictures is not None
    assert before.pictures is not None
    assert len(after.pictures.images) > len(before.pictures.images)
    own = after.pictures.shown[after.pictures.shown["monitor"] == "telling"]
    assert own["explanation"].str.startswith("of ").all()
    assert [plane["monitor"] for plane in after.pictures.planes] == ["oob"]


def test_what_a_monitor_that_is_gone_showed_is_gone() -> None:
    run("out", "max-softmax", TELLING)
    (after,) = run("out", "max-softmax").values()
    (fresh,) = run("fresh", "max-softmax").values()
    same_pictures(after, fresh)


def test_a_cell_that_was_ended_and_begun_anew_has_the_pictures_of_one_that_ran_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(*_: object) -> None:
        raise StorageError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("farm.store.pictures.Pictures.save", ended)
        file = written(Path(), campaign(monitors=[OOB], faultloads=["fog"], severities=[3], seeds=[0]))
        assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    assert not CampaignFolder(Path("out")).cell_folders()
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    assert main(["run", str(file), "--out", "fresh", "--quiet"]) == 0
    (resumed,), (fresh,) = cells(Path("out")).values(), cells(Path("fresh")).values()
    same_pictures(resumed, fresh)


def test_a_campaign_that_asks_for_none_finds_none_of_an_earlier_one() -> None:
    """Somebody who wants no image to be kept must not be given the cells that have some."""
    (with_,) = run("out", "max-softmax").values()
    assert with_.pictures is not None
    (without,) = run("out", "max-softmax", pictures="none").values()
    assert without.pictures is None
    assert main(["run", "campaign.yaml", "--out", "out", "--quiet", "--pictures", "2"]) == 0
    (two,) = cells(Path("out")).values()
    assert two.pictures is not None
    assert two.pictures.shown.loc[two.pictures.shown["monitor"].notna(), "rank"].max() == 1


def test_samples_are_of_the_first_part_that_has_any() -> None:
    (one,) = run("one", "max-softmax").values()
    job = Job("id", "title", {}, "target", "folder", "home", {}, one.run["cell"]["keys"], ())
    bare = Readouts(one.instances, one.alarms, one.run)
    put_together = merged([bare, one], job, 1.0)
    same_pictures(put_together, one)
    assert merged([bare], job, 1.0).pictures is None
    assert merged([one, bare], job, 1.0).pictures is not None


def test_a_cell_keeps_its_heat_maps_when_a_monitor_is_added() -> None:
    asked = {"images": 3, "window": 3}
    (before,) = run("out", "max-softmax", occlusion=asked).values()
    (after,) = run("out", "max-softmax", TELLING, occlusion=asked).values()
    assert before.occlusion is not None
    assert after.occlusion is not None
    np.testing.assert_array_equal(before.occlusion.heat, after.occlusion.heat)
    assert after.run["occlusion"] == {"failure": None}
    (without,) = run("other", "max-softmax").values()
    assert without.occlusion is None
