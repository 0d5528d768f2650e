"""What a page tells of boxes: of a run that has some, and nothing of one that has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.report.page import FigureBook, findings_of, page
from farm.report.page.boxes import SHOWN
from farm.run.testbed import Testbed
from farm.testing.fake_boxes import BoxModel, BoxSource
from farm.testing.fakes import FakeMonitor
from tests.report.page.test_page import section, text


def ran(model=None, source=None):
    bed = Testbed(seed=1)
    workload = bed.workload(source or BoxSource())
    classifier = bed.classifier(model or BoxModel(), workload)
    stream = bed.stream(workload, classifier, {"name": "rotation", "severity": 5})
    monitors = bed.fit([FakeMonitor()], classifier, workload)
    return bed.run(stream, classifier, monitors, workload)


def told(readouts, folder=None):
    readouts = replace(readouts, run={**readouts.run, "folder": "runs/boxes"})
    found = findings_of([readouts], [readouts.pictures])
    return section(page(found, FigureBook(folder)), "classifier")


@pytest.fixture(scope="module")
def run():
    return ran()


def test_measures_images_and_calibration_are_those_of_clean_images(run, tmp_path):
    html = told(run, tmp_path)
    own = run.instances[~run.instances["is_ood"]]
    sides = ("left", "top", "right", "bottom")
    off = np.mean([abs(own[f"predicted_box_{side}"] - own[f"box_{side}"]).mean() for side in sides])
    assert f"Boxes on 90 clean images of 32 x 32 pixels: {off:.3g} pixels off a side" in text(html)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"boxes-box-model-on-boxes.png", "box-reliability-box-model-on-boxes.svg"} < names
    shown = (tmp_path / "boxes-box-model-on-boxes.svg").read_text()
    assert shown.count("IoU") == 3 + SHOWN  # three classes have a clean sample each


def test_without_a_spread_the_reason_stands_there(tmp_path):
    html = told(ran(BoxModel(spread=None)), tmp_path)
    assert "Of boxes not all can be told: the classifier gives no spread of its boxes." in text(html)
    assert not list(tmp_path.glob("box-reliability*"))


def test_images_without_a_box_are_told(tmp_path):
    html = told(ran(source=BoxSource(boxless=1.0)), tmp_path)
    assert "no box for 90 of 90 instances (workload 'boxes' does not tell where it is)" in text(html)
    assert "IoU" not in (tmp_path / "boxes-box-model-on-boxes.svg").read_text()


def test_a_run_that_kept_no_pictures_has_the_rest(run, tmp_path):
    told(replace(run, pictures=None), tmp_path)
    assert not list(tmp_path.glob("boxes-*"))
    assert list(tmp_path.glob("box-reliability*"))


def test_a_run_without_boxes_has_nothing_of_them(run, tmp_path):
    columns = [name for name in run.instances if "box" in name]
    plain = replace(run, instances=run.instances.drop(columns=columns))
    html = told(plain, tmp_path)
    assert "Boxes on" not in html
    assert not list(tmp_path.glob("*box*reliability*"))
