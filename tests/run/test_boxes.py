"""Boxes through a whole run: what the classifier said, and where the object was after all faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import ArrayImages, Split, Workload, read_only
from farm.api.boxes import BOX_LOST, OF_BOXES, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.errors import ComponentFailure
from farm.judging.readouts import judged_records
from farm.run import following
from farm.run.recorder import Recorder
from farm.run.testbed import Testbed
from farm.store.readouts import Readouts
from farm.testing.fake_boxes import BoxModel, BoxSource
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel
from tests.run.test_recorder import step

MOVED = {"name": "translation", "severity": 3}
TURNED = {"name": "rotation", "severity": 5}


def ran(*faults, source=None, model=None, classifier=None, **options):
    bed = Testbed(seed=1)
    workload = bed.workload(source or BoxSource())
    classifier = classifier or bed.classifier(model or BoxModel(), workload)
    stream = bed.stream(workload, classifier, faults or None, **options)
    monitors = bed.fit([FakeMonitor()], classifier, workload)
    return bed.run(stream, classifier, monitors, workload, batch_size=16)


def four(instances, columns):
    return instances[list(columns)].to_numpy(np.float64)


def of_part(readouts, part, name):
    (record,) = (r for r in judged_records(readouts) if (r["part"], r["monitor"]) == (part, "oracle"))
    return record[name] if record[name] is not None else record["undefined"][name]


def test_readouts_have_what_was_said_and_what_is_true(tmp_path):
    readouts = ran()
    instances = readouts.instances
    test = BoxSource().load(Testbed().context).test
    places = [test.ids.tolist().index(name) for name in instances["id"]]
    assert np.array_equal(four(instances, TRUE_BOX), test.boxes[places])
    images = test.images.read(np.array(places))
    assert np.array_equal(four(instances, PREDICTED_BOX), BoxModel()._boxes(images))
    assert (four(instances, SPREAD_OF_BOX) == 1.0).all()
    assert instances[BOX_LOST].isna().all()
    assert readouts.run["boxes"] == {"height": 32, "width": 32, "spread_ddof": 1}
    again = Readouts.load(readouts.save(tmp_path / "run"))
    assert instances.equals(again.instances)
    assert again.run["boxes"] == readouts.run["boxes"]
    assert judged_records(again)[0]["box_mae"] == judged_records(readouts)[0]["box_mae"]


def test_a_classifier_without_a_spread_leaves_no_columns_of_it():
    readouts = ran(model=BoxModel(spread=None))
    assert [name for name in OF_BOXES if name in readouts.instances] == [*TRUE_BOX, BOX_LOST, *PREDICTED_BOX]
    assert readouts.run["boxes"]["spread_ddof"] is None
    assert of_part(readouts, "all", "box_nll") == "the classifier gives no spread of its boxes"


def test_a_run_without_boxes_has_nothing_of_them_and_nobody_looks_for_objects(monkeypatch):
    with_boxes = ran(MOVED)
    monkeypatch.setattr(following, "extents", lambda masks: pytest.fail("it looks for objects"))
    bed = Testbed(seed=1)
    plain = BoxModel().classifier(bed.workload(BoxSource()), bed.context)
    plain._outputs, plain.notes = {}, {}
    without = ran(MOVED, classifier=plain)
    assert "boxes" not in without.run
    assert not [name for name in without.instances if "box" in name]
    same = [name for name in without.instances if name != "classifier_time_us"]
    assert without.instances[same].equals(with_boxes.instances[same])


@pytest.mark.parametrize("fault", [TURNED, MOVED])
def test_a_fault_that_moves_pixels_moves_the_boxes_with_them(fault):
    """The classifier measures where the object is in the picture that it gets: it knows nothing of boxes."""
    readouts = ran(fault, model=BoxModel(error=0.0))
    instances = readouts.instances
    ood = instances["is_ood"].to_numpy()
    moved = four(instances, TRUE_BOX)[ood]
    assert instances.loc[ood, BOX_LOST].isna().all()
    # A side lies where half a pixel is covered, and where it is lit: a pixel apart at most.
    assert np.abs(moved - four(instances, PREDICTED_BOX)[ood]).max() <= 1.0
    before = BoxSource().load(Testbed().context).test
    ids = before.ids.tolist()
    clean = before.boxes[[ids.index(name.partition("|")[0]) for name in instances.loc[ood, "id"]]]
    assert np.abs(moved - clean).max() > 2.0
    assert of_part(readouts, "ood", "box_mae") < 0.5
    assert of_part(readouts, "ood", "box_iou") > 0.8
    assert of_part(readouts, "id", "box_mae") == 0.0


def test_a_fault_that_does_not_say_where_objects_go_leaves_the_measures_undefined():
    readouts = ran(FakeFaultload(transform=lambda images: images[..., ::-1], name="mirror"))
    n = int(readouts.instances["is_ood"].sum())
    why = f"no box for {n} of {{}} instances (faultload 'mirror' does not say what becomes of objects)"
    assert of_part(readouts, "ood", "box_mae") == why.format(n)
    assert of_part(readouts, "all", "box_ece") == why.format(2 * n)
    assert of_part(readouts, "id", "box_mae") < 1


def test_what_leaves_the_picture_is_told():
    def away(images):
        return np.zeros_like(images)

    fault = FakeFaultload(transform=away, name="gone")
    type(fault).objects, before = "hidden", type(fault).objects
    try:
        readouts = ran(fault)
    finally:
        type(fault).objects = before
    assert set(readouts.instances.loc[readouts.instances["is_ood"], BOX_LOST]) == {"hidden by 'gone'"}
    assert np.isnan(four(readouts.instances[readouts.instances["is_ood"]], TRUE_BOX)).all()


def test_a_workload_that_tells_some_boxes_only():
    readouts = ran(source=BoxSource(boxless=0.1))
    why = "no box for 9 of 90 instances (workload 'boxes' does not tell where it is)"
    assert of_part(readouts, "all", "box_mae") == why


def test_a_workload_without_boxes():
    readouts = ran(source=Boxless())
    assert of_part(readouts, "all", "box_mae") == (
        "no box for 90 of 90 instances (nothing in the stream has a box)"
    )


class Boxless(BoxSource):
    """The same images, of which nobody told where the object is."""

    def _load(self, context):
        made = super()._load(context)
        return Workload(made.name, made.classes, *map(unboxed, made.splits))


def unboxed(split):
    images = ArrayImages(split.images.array)
    return Split(split.name, images, split.labels, split.ids, split.groups)


class Elsewhere(BoxSource):
    """Images from elsewhere, half of them in fog: of red and green boxes, and of violet ones."""

    def _load(self, context):
        made = super()._load(context)
        weather = np.array(["clear", "fog"])
        splits = [
            replace(one, conditions={"weather": weather[np.arange(len(one)) % 2]}) for one in made.splits
        ]
        return Workload("elsewhere", ("red", "green", "violet"), *splits)


@pytest.mark.parametrize("size", [32, 64])
def test_boxes_of_another_workload_are_true_for_all_its_images_with_a_class_here_and_without(size):
    source = {"name": f"{__name__}:Elsewhere", "size": size, "seed": 5}
    fault = {
        "name": "novelty",
        "workload": source,
        "shared": "map",
        "resize": True,
        "where": {"weather": "fog"},
    }
    readouts = ran(fault, ood_share=1.0)
    instances = readouts.instances
    there = Elsewhere(size=size, seed=5).load(Testbed().context).test
    places = [there.ids.tolist().index(name.partition("|")[0]) for name in instances["id"]]
    assert sorted(places) == list(range(1, 90, 2))
    assert np.array_equal(four(instances, TRUE_BOX), there.boxes[places] * 32 / size)
    assert np.array_equal(instances["label"], np.where(there.labels[places] == 2, -1, there.labels[places]))
    assert instances[BOX_LOST].isna().all()
    records = {
        r["category"]: r for r in judged_records(readouts) if (r["part"], r["monitor"]) == ("ood", "oracle")
    }
    for category, rows in (("novelty", there.labels[places] == 2), ("shift", there.labels[places] != 2)):
        errors = four(instances, TRUE_BOX)[rows] - four(instances, PREDICTED_BOX)[rows]
        assert records[category]["box_mae"] == pytest.approx(np.abs(errors).mean())
        assert records[category]["n"] == rows.sum()


def test_boxes_in_some_batches_only_are_refused(tiny):
    recorder, classifier = Recorder(["a"]), TinyModel().classifier(tiny, Testbed().context)
    boxes = {"box": read_only(np.zeros((2, 4)))}
    recorder.add(step(classifier, tiny, [0, 1], outputs=boxes))
    with pytest.raises(ComponentFailure, match="in some batches only"):
        recorder.add(step(classifier, tiny, [2, 3]))


def test_a_benchmark_set_gives_the_same_boxes(tmp_path):
    from farm.run.benchmark_set import StoredStream, write_benchmark

    bed = Testbed(seed=1)
    workload = bed.workload(BoxSource())
    classifier = bed.classifier(BoxModel(), workload)
    stream = bed.stream(workload, classifier, TURNED)
    write_benchmark(stream, tmp_path / "set")
    monitors = bed.fit([FakeMonitor()], classifier, workload)
    both = [
        bed.run(one, classifier, monitors, workload).instances
        for one in (stream, StoredStream(tmp_path / "set"))
    ]
    columns = [name for name in OF_BOXES if name in both[0]]
    assert both[0][columns].equals(both[1][columns])
