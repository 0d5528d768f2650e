"""GANs as faultloads: what is learned from what, what is kept, and what is said where a training fails."""

from __future__ import annotations

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from farm.api import ArrayImages, Context, FaultContext, NoCache, OODImages
from farm.errors import ComponentFailure, DataError, ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.testing.fakes import FakeClassifier, TinyModel, tiny_workload
from faultloads._gan_training import GanTrainer
from faultloads.gan import GanLee, GanSricharan
from tests.wording import refused

SURROGATE = {"name": "four-convolutions", "width": 8, "epochs": 12, "batch_size": 16, "augment": False}
SMALL = {"width": 2, "latent": 4, "batch_size": 32, "surrogate": SURROGATE}
TINY = tiny_workload()


class Untouched(FakeClassifier):
    """A classifier under test that nobody may ask."""

    def _forward(self, images, layers, members):
        raise AssertionError("the classifier under test was asked")


def prepared(fault, workload=TINY, **base):
    classifier = Untouched(lambda images: images, workload.classes)
    context = Context(**{"seed": 0, "cache": NoCache(), **base})
    return fault.prepare(
        FaultContext(workload, workload.test, classifier, lambda name, part: OODImages.of(workload), context)
    )


def sheet_of(targets):
    return targets.split.images.array


def two_epochs(**parameters):
    return GanSricharan(**{**SMALL, "classifier_loss": None, "epochs": 2, "n": 12, **parameters})


@pytest.fixture(scope="module")
def two_epochs_prepared():
    """Have the GAN of most tests trained once; it may not ask the classifier under test."""
    return prepared(two_epochs())


def test_it_brings_images_of_no_class_made_from_training_data_alone(two_epochs_prepared) -> None:
    targets = two_epochs_prepared
    split = targets.split
    assert targets.workload == split.name == "gan-sricharan"
    assert split.ids.tolist()[:2] == ["gan-sricharan/00000", "gan-sricharan/00001"]
    assert (split.groups == split.ids).all()
    assert sheet_of(targets).dtype == np.uint8
    assert sheet_of(targets).shape == (12, 3, 8, 8)
    assert set(targets.labels) == set(split.labels) == {-1}
    assert set(targets.category) == {"novelty"}
    assert targets.indices.tolist() == list(range(12))


def test_notes_tell_how_it_went(two_epochs_prepared) -> None:
    notes, sheet = two_epochs_prepared.notes, sheet_of(two_epochs_prepared)
    assert notes["rule"] == {"measure": "classifier_loss", "limit": None}
    assert [row["epoch"] for row in notes["curve"]] == [1, 2]
    assert set(notes["curve"][0]) == {"epoch", "classifier_loss", "generator_loss", "discriminator_loss"}
    assert (notes["epochs"], notes["kept_check"], notes["seed"]) == (2, 1, 0)
    assert notes["kept_classifier_loss"] == pytest.approx(notes["curve"][1]["classifier_loss"], abs=1e-6)
    assert notes["surrogate"] == "four-convolutions"
    assert notes["surrogate_accuracy"] > 0.5
    assert notes["size"] == [8, 8]
    with Image.open(io.BytesIO(base64.b64decode(notes["samples"]))) as strip:
        seen = np.asarray(strip).reshape(8, 8, 8, 3)
    assert (seen.transpose(0, 3, 1, 2) == sheet[:8]).all()


def test_the_same_seed_draws_the_same_bits(two_epochs_prepared) -> None:
    again, other = prepared(two_epochs()), prepared(two_epochs(), seed=1)
    assert (sheet_of(again) == sheet_of(two_epochs_prepared)).all()
    assert again.notes == two_epochs_prepared.notes
    assert (sheet_of(other) != sheet_of(two_epochs_prepared)).any()
    # Its own seed takes the place of the experiment's, for the surrogate too.
    own = prepared(two_epochs(seed=1))
    assert (sheet_of(own) == sheet_of(other)).all()
    assert own.notes["surrogate_digest"] == other.notes["surrogate_digest"]


def test_test_images_decide_nothing(two_epochs_prepared) -> None:
    other = np.random.default_rng(0).integers(0, 256, (len(TINY.test), 3, 8, 8), np.uint8)
    targets = prepared(two_epochs(), replace(TINY, test=replace(TINY.test, images=ArrayImages(other))))
    assert (sheet_of(targets) == sheet_of(two_epochs_prepared)).all()
    assert targets.notes == two_epochs_prepared.notes


def test_another_loss_and_more_images_draw_other_images(two_epochs_prepared) -> None:
    wasserstein = prepared(two_epochs(loss="wgan", n=None))
    assert len(sheet_of(wasserstein)) == len(TINY.test)
    assert (sheet_of(wasserstein)[:12] != sheet_of(two_epochs_prepared)).any()


def test_a_stream_shows_the_sheet_that_its_notes_tell_of() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    classifier = bed.classifier(TinyModel(), TINY)
    named = {"name": "gan-sricharan", **SMALL, "classifier_loss": None, "epochs": 1}
    stream = bed.stream(TINY, classifier, named)
    stream.guard(TINY)
    rows = list(stream.batches(64))
    ood = np.concatenate([batch.is_ood for batch in rows])
    images = np.concatenate([batch.images for batch in rows])[ood]
    ids = np.concatenate([batch.ids for batch in rows])[ood]
    assert set(np.concatenate([batch.labels for batch in rows])[ood]) == {-1}
    direct = prepared(two_epochs(epochs=1, n=None))
    (fault,) = stream.provenance["faults"]
    assert fault["notes"]["sheet"] == direct.notes["sheet"]
    order = np.array([int(one.partition("|")[0].rpartition("/")[2]) for one in ids])
    assert (images == sheet_of(direct)[order] / np.float32(255)).all()


def test_lee_keeps_the_best_generator_below_the_accuracy(monkeypatch) -> None:
    """The surrogate is told to say 0.1, 0.25, 0.2, 0.4: the second check counts, though two more follow."""
    said = iter([0.1, 0.25, 0.2, 0.4, 0.9])
    at_check, weights = GanTrainer.measured, []

    def measured(self):
        at_check(self)
        weights.append({name: value.clone() for name, value in self.generator.state_dict().items()})
        return next(said)

    drawn = []
    sheet = GanTrainer.sheet

    def sheet_seen(self, n):
        drawn.append({name: value.clone() for name, value in self.generator.state_dict().items()})
        return sheet(self, n)

    monkeypatch.setattr(GanTrainer, "measured", measured)
    monkeypatch.setattr(GanTrainer, "sheet", sheet_seen)
    targets = prepared(GanLee(**SMALL, epochs=3, checks=2, n=4))
    assert [row["epoch"] for row in targets.notes["curve"]] == [0.5, 1, 1.5, 2]
    assert (targets.notes["epochs"], targets.notes["kept_check"]) == (2, 1)
    assert targets.notes["kept_accuracy"] == 0.25
    assert all((drawn[0][name] == value).all() for name, value in weights[1].items())
    assert any((drawn[0][name] != value).any() for name, value in weights[2].items())


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (GanLee(**SMALL, epochs=3), [0.07, 0.11, 0.19]),
        (GanLee(**SMALL, epochs=12), list(np.linspace(0.01, 0.12, 12))),
        (GanLee(**SMALL, epochs=3), [0.45]),
        (GanSricharan(**SMALL, epochs=2, checks=2), [2.0, 1.0, 0.5, 0.75]),
    ],
)
def test_a_rule_that_is_not_met_is_told_and_remembered(fault, said, monkeypatch, tmp_path) -> None:
    left = iter(said)
    monkeypatch.setattr(GanTrainer, "measured", lambda self: next(left))
    with refused(ComponentFailure) as first:
        prepared(fault, cache=DiskCache(tmp_path))
    monkeypatch.setattr(GanTrainer, "__init__", None)  # nothing is trained again
    with pytest.raises(ComponentFailure) as again:
        prepared(fault, cache=DiskCache(tmp_path))
    assert str(again.value) == str(first.value)


def test_what_is_kept_is_not_trained_again(monkeypatch, tmp_path) -> None:
    cache = DiskCache(tmp_path)
    first = prepared(two_epochs(), cache=cache)
    monkeypatch.setattr(GanTrainer, "__init__", None)
    again = prepared(two_epochs(), cache=cache)
    assert (sheet_of(again) == sheet_of(first)).all()
    assert again.notes == first.notes
    for changed in (
        {"n": 13},
        {"width": 3},
        {"weight": 2.0},
        {"seed": 5},
        {"surrogate": "four-convolutions"},
    ):
        with pytest.raises(TypeError):
            prepared(two_epochs(**changed), cache=cache)


def test_each_surrogate_is_kept_under_its_own_recipe_and_serves_all_faults(tmp_path) -> None:
    bed, workload = Testbed(cache=DiskCache(tmp_path)), TINY
    classifier = bed.classifier(TinyModel(), workload)
    short, long = ({**SURROGATE, "epochs": epochs} for epochs in (12, 13))
    faults = [
        two_epochs(epochs=1, surrogate=short),
        GanSricharan(**{**SMALL, "surrogate": long}, classifier_loss=None, epochs=1),
        GanLee(**{**SMALL, "surrogate": short}, accuracy=None, epochs=1),
    ]
    notes = [bed.fault_notes(fault, workload, classifier) for fault in faults]
    one, other, again = (each["surrogate_digest"] for each in notes)
    assert one == again != other
    assert len([*(tmp_path / "four-convolutions").iterdir()]) == 2


@pytest.mark.parametrize("loss", ["gan", "wgan"])
def test_a_training_that_diverges_is_told_and_remembered(loss, tmp_path, monkeypatch) -> None:
    fault = two_epochs(loss=loss, learning_rate=1e30)
    with refused(ComponentFailure):
        prepared(fault, cache=DiskCache(tmp_path))
    monkeypatch.setattr(GanTrainer, "__init__", None)
    with pytest.raises(ComponentFailure, match="diverged"):
        prepared(fault, cache=DiskCache(tmp_path))


def test_images_that_are_no_numbers_are_no_images(monkeypatch) -> None:
    monkeypatch.setattr(GanTrainer, "measured", lambda self: float("nan"))
    with refused(ComponentFailure):
        prepared(GanLee(**SMALL))


def test_a_surrogate_that_cannot_learn_is_told() -> None:
    """On images that are all alike, nothing can be learned, by whatever luck."""
    alike = replace(TINY.train, images=ArrayImages(np.full((len(TINY.train), 3, 8, 8), 128, np.uint8)))
    held_out = np.full((len(TINY.validation), 3, 8, 8), 128, np.uint8)
    workload = replace(TINY, train=alike, validation=replace(TINY.validation, images=ArrayImages(held_out)))
    with refused(ComponentFailure):
        prepared(two_epochs(), workload)


def test_a_class_without_training_images_is_told() -> None:
    few = TINY.train.rows(np.flatnonzero(TINY.train.labels != 2))
    with refused(DataError):
        prepared(two_epochs(), replace(TINY, train=few))


def test_a_surrogate_needs_gradients() -> None:
    with refused(RequirementError):
        prepared(two_epochs(surrogate="farm.testing.fakes:TinyModel"))


@pytest.mark.parametrize("surrogate", [SURROGATE, {"name": "module", "factory": "nobody:knows"}])
def test_a_dry_run_trains_nothing_and_tells_the_seconds(surrogate, monkeypatch) -> None:
    monkeypatch.setattr(GanTrainer, "train", None)
    if surrogate is not SURROGATE:
        surrogate = "tests.faultloads.test_gan:UntrainableModel"
    targets = prepared(
        GanLee(**{**SMALL, "surrogate": surrogate}, loss="wgan", epochs=7, n=9), untrained=True
    )
    assert len(sheet_of(targets)) == 9
    assert targets.notes["seconds"] > 0
    assert "curve" not in targets.notes


class UntrainableModel(TinyModel):
    """One that cannot be made without training."""

    def untrained(self, workload, context):
        return None


@pytest.mark.parametrize("cls", [GanLee, GanSricharan])
@pytest.mark.parametrize(
    "parameter",
    [
        {"loss": "hinge"},
        {"epochs": 0},
        {"checks": 0},
        {"width": 0},
        {"latent": 0},
        {"critic_steps": 0},
        {"batch_size": 1},
        {"learning_rate": 0},
        {"weight": -1},
        {"seed": -1},
        {"n": 0},
        {"surrogate": {"epochs": 3}},
    ],
)
def test_mistakes_are_told(cls, parameter) -> None:
    with refused(ParameterError):
        cls(**parameter)


@pytest.mark.parametrize(
    ("cls", "parameter"),
    [(GanLee, {"accuracy": 0}), (GanLee, {"accuracy": 1.5}), (GanSricharan, {"classifier_loss": 0})],
)
def test_limits_are_checked(cls, parameter) -> None:
    with refused(ParameterError):
        cls(**parameter)
