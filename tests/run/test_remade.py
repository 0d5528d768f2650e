"""Images of a run that are had again by making its stream again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from farm import Readouts, Testbed
from farm.cli import main
from farm.config.experiment import parse_experiment
from farm.errors import DataError, UnknownNameError
from farm.run import execution
from farm.run.execution import assemble, run_experiment
from tests.wording import refused

TINY = {
    "name": "tiny",
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "monitors": ["max-softmax"],
    "batch_size": 7,
}
RECURRING = {"order": {"name": "recurring", "period": 20, "burst": 5}, "length": 60}
OWN_FAULT = '''
from farm.api import Transformation

class Dimmed(Transformation):
    """Images in the dark."""
    category = "shift"
    def _transform(self, images, severity, random): return images * (1 - severity / 6)
'''


def streamed(experiment, folder):
    """Run an experiment; return its readouts and the images that were streamed, as bytes."""
    made = assemble(experiment, folder)
    images = np.concatenate([batch.images for batch in made.stream.batches(experiment.batch_size)])
    return made.run(), np.rint(images * 255).astype(np.uint8).transpose(0, 2, 3, 1)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"faultload": {"name": "gaussian-noise", "severity": 3}},
        {"faultload": [{"name": "fog", "severity": 2}, "textures"], "stream": {"ood_share": 0.3}},
        {"faultload": {"name": "rotation", "severity": 1, "both": True}},
        {"faultload": {"name": "gaussian-noise", "severity": 3}, "stream": RECURRING},
    ],
)
def test_any_image_is_had_again_bit_for_bit_and_nothing_is_trained(tmp_path, monkeypatch, changed):
    run, images = streamed(parse_experiment(TINY | changed, "here"), tmp_path)
    again = Readouts.load(run.save(tmp_path / "run"))
    monkeypatch.setattr(Testbed, "classifier", lambda *_: pytest.fail("a classifier was made"))
    ids = again.instances["id"].tolist()
    assert again.images(ids[::-1]).dtype == np.uint8
    assert np.array_equal(again.images(ids[::-1]), images[::-1])
    assert np.array_equal(again.image(ids[5]), images[5])
    assert again.images([]).shape == (0, *images.shape[1:])


@pytest.mark.parametrize("stream", [{}, RECURRING])
def test_an_attack_gets_the_classifier_of_the_run_and_makes_the_same(tmp_path, stream):
    attacked = {
        "workload": {"name": "digits", "size": 16, "channels": 1},
        "classifier": {"name": "lenet", "epochs": 1},
        "faultload": "fgsm",
        "stream": {"length": 60} | stream,
    }
    run, images = streamed(parse_experiment(TINY | attacked, "here"), tmp_path)
    assert np.array_equal(run.images(run.instances["id"].tolist()), images)
    other = replace(run, run=run.run | {"classifier": run.run["classifier"] | {"digest": "another"}})
    with refused(DataError):
        other.image(run.instances["id"][0])


def test_a_fault_that_looks_at_the_classifier_only_to_choose_gets_the_real_one(tmp_path):
    """It acts upon the instances that the classifier knows: the stand-in knows none."""
    (tmp_path / "choosing.py").write_text(
        OWN_FAULT
        + """
import numpy as np
from dataclasses import replace
class Known(Dimmed):
    '''Known images in the dark.'''
    def _prepare(self, context):
        found = super()._prepare(context)
        seen = context.classifier.observe(context.split.images.read(np.arange(len(context.split))))
        kept = np.flatnonzero(seen.predicted == context.split.labels)
        return replace(found, indices=kept, labels=found.labels[kept], category=found.category[kept])
"""
    )
    faultload = {"name": "choosing:Known", "severity": 1}
    experiment = parse_experiment(TINY | {"faultload": faultload}, "here")
    run = run_experiment(experiment, tmp_path)
    assert run.images(run.instances["id"].tolist()).shape == (len(run.instances), 8, 8, 3)


def test_changed_data_are_refused_with_what_changed(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    arrays = {"x_train": rng.integers(0, 256, (40, 8, 8, 3), dtype=np.uint8), "y_train": labels}
    arrays |= {"x_test": rng.integers(0, 256, (20, 8, 8, 3), dtype=np.uint8), "y_test": labels[:20]}
    np.savez(tmp_path / "mine.npz", **arrays)
    (tmp_path / "dark.py").write_text(OWN_FAULT)
    workload, faultload = {"name": "npz", "path": "mine.npz"}, {"name": "dark:Dimmed", "severity": 2}
    run = run_experiment(
        parse_experiment(TINY | {"workload": workload, "faultload": faultload}, "here"), tmp_path
    )
    first = run.instances["id"][0]
    expected = run.image(first)
    (tmp_path / "dark.py").write_text(OWN_FAULT.replace("severity / 6", "severity / 7"))
    fresh = Readouts.load(run.save(tmp_path / "run"))
    with refused(DataError):
        fresh.images(fresh.instances["id"].tolist())
    (tmp_path / "dark.py").write_text(OWN_FAULT)
    assert np.array_equal(Readouts.load(tmp_path / "run").image(first), expected)
    arrays["x_test"][3] = 255 - arrays["x_test"][3]
    np.savez(tmp_path / "mine.npz", **arrays)
    with refused(DataError):
        Readouts.load(tmp_path / "run").image(first)


def test_readouts_that_are_not_those_of_the_stream_are_refused(tmp_path):
    run = run_experiment(parse_experiment(TINY, "here"), tmp_path)
    with refused(UnknownNameError):
        run.image("nobody")
    renamed = run.instances.assign(id=run.instances["id"].str.upper())
    with refused(DataError):
        replace(run, instances=renamed).image(renamed["id"][0])
    with refused(DataError):
        replace(run, run={}).image(run.instances["id"][0])


def test_writing_a_benchmark_set_trains_no_classifier_that_no_fault_needs(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(TINY | {"faultload": {"name": "fog", "severity": 1}}))
    monkeypatch.setattr(execution.Testbed, "classifier", lambda *_: pytest.fail("a classifier was made"))
    assert (
        main(["faults", "write", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "set"), "--quiet"]) == 0
    )
