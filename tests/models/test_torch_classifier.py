"""A torch module as a white box."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from farm.api import LAST_HIDDEN, Needs
from farm.errors import ComponentFailure, ParameterError, RequirementError
from models.torch_classifier import Preprocessing, TorchClassifier, members_seed
from tests.wording import refused

IMAGES = np.random.default_rng(0).random((5, 3, 8, 8), dtype=np.float32)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.hidden = nn.Linear(4 * 36, 6)
        self.head = nn.Linear(6, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.head(torch.relu(self.hidden(torch.relu(self.conv(x)).flatten(1))))


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def test_probabilities_are_the_softmax_of_the_logits(net) -> None:
    seen = TorchClassifier(net, "abc", name="net").observe(IMAGES)
    expected = torch.softmax(net(torch.from_numpy(IMAGES)).double(), dim=1).detach().numpy()
    np.testing.assert_allclose(seen.probabilities, expected, rtol=1e-6)
    np.testing.assert_array_equal(seen.predicted, expected.argmax(axis=1))
    np.testing.assert_allclose(seen.confidence, expected.max(axis=1), rtol=1e-6)


def test_layers_come_from_the_same_single_pass(net) -> None:
    classifier = TorchClassifier(net, "abc", name="net")
    seen = classifier.observe(IMAGES, ["conv", LAST_HIDDEN])
    assert net.calls == 1
    x = torch.from_numpy(IMAGES)
    np.testing.assert_allclose(seen.activations["conv"], net.conv(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    hidden = torch.relu(net.hidden(torch.relu(net.conv(x)).flatten(1))).detach().numpy()
    np.testing.assert_allclose(seen.features(LAST_HIDDEN), hidden, rtol=1e-5, atol=1e-6)


def test_no_hook_stays_behind_even_where_the_pass_fails(net) -> None:
    classifier = TorchClassifier(net, "abc", name="net")
    classifier.observe(IMAGES, ["conv", LAST_HIDDEN])
    with refused(ComponentFailure):
        classifier.observe(IMAGES[:, :1], ["conv", LAST_HIDDEN])
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


def test_preprocessing_resizes_and_normalises(net) -> None:
    shaped = Preprocessing(mean=[0.1, 0.2, 0.3], std=[2.0, 2.0, 4.0], size=(8, 8))
    small = IMAGES[:, :, ::2, ::2].copy()
    got = shaped(torch.from_numpy(small))
    resized = nn.functional.interpolate(torch.from_numpy(small), (8, 8), mode="bilinear", antialias=True)
    expected = (resized - torch.tensor([0.1, 0.2, 0.3]).view(1, 3, 1, 1)) / torch.tensor(
        [2.0, 2.0, 4.0]
    ).view(1, 3, 1, 1)
    torch.testing.assert_close(got, expected)
    seen = TorchClassifier(net, "abc", name="net", preprocessing=shaped).observe(small)
    np.testing.assert_allclose(seen.logits, net(expected).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_class_order_is_the_workloads(net) -> None:
    plain = TorchClassifier(net, "abc", name="net").observe(IMAGES)
    turned = TorchClassifier(net, "cab", name="net", order=[2, 0, 1]).observe(IMAGES)
    np.testing.assert_allclose(turned.probabilities, plain.probabilities[:, [2, 0, 1]], rtol=1e-12)


def test_digest_tells_weights_and_preprocessing_apart(net) -> None:
    def digest(**changed) -> str:
        return TorchClassifier(net, "abc", name="net", **changed).digest

    plain = digest()
    assert digest() == plain
    assert digest(preprocessing=Preprocessing(mean=[0.5])) != plain
    with torch.no_grad():
        net.head.bias += 1
    assert digest() != plain


def test_gradients_flow_to_the_images_and_not_to_the_weights(net) -> None:
    classifier = TorchClassifier(net, "abc", name="net")
    pixels = torch.from_numpy(IMAGES).requires_grad_()
    classifier.differentiable(pixels).sum().backward()
    assert pixels.grad is not None
    assert float(pixels.grad.abs().sum()) > 0
    assert all(p.grad is None for p in net.parameters())


def test_bad_names_are_told(net) -> None:
    with refused(ParameterError):
        TorchClassifier(net, "abc", name="net", last_hidden="haed")
    with refused(ParameterError):
        TorchClassifier(net, "abc", name="net", device="gpu9")


def test_last_hidden_can_be_named(net) -> None:
    seen = TorchClassifier(net, "abc", name="net", last_hidden="hidden").observe(IMAGES, [LAST_HIDDEN])
    assert seen.features(LAST_HIDDEN).shape == (5, 4 * 36)


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(4 * 36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.relu(self.conv(x)).flatten(1))


def test_a_captured_layer_is_a_copy_that_no_later_layer_changes() -> None:
    torch.manual_seed(0)
    net = InPlace()
    seen = TorchClassifier(net, "abc", name="net").observe(IMAGES, ["conv", "relu"])
    before = net.conv(torch.from_numpy(IMAGES)).detach().numpy()
    assert (before < 0).any()
    np.testing.assert_allclose(seen.activations["conv"], before, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(seen.activations["relu"], np.maximum(before, 0), rtol=1e-5, atol=1e-6)


class Twice(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + super().forward(x)


@pytest.mark.parametrize("layer", ["conv", LAST_HIDDEN])
def test_a_layer_that_runs_twice_in_a_pass_fails_by_name(layer) -> None:
    net = Twice()
    classifier = TorchClassifier(net, "abc", name="net")
    classifier.observe(IMAGES)
    with refused(ComponentFailure):
        classifier.observe(IMAGES, [layer])
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


@pytest.mark.parametrize("classes", ["ab", "abcd"])
def test_a_network_with_another_number_of_outputs_than_classes_is_refused(net, classes) -> None:
    with refused(ComponentFailure):
        TorchClassifier(net, classes, name="net").observe(IMAGES)


def test_what_was_observed_can_be_observed_again(net) -> None:
    """A monitor may enter the classifier with the images that it sees, which nobody can write to."""
    classifier = TorchClassifier(net, "abc", name="net")
    first = classifier.observe(IMAGES)
    again = classifier.observe(first.images)
    np.testing.assert_array_equal(first.probabilities, again.probabilities)


def test_the_head_turns_the_last_hidden_layer_into_logits(net) -> None:
    for order in (None, [2, 0, 1]):
        classifier = TorchClassifier(net, "abc", name="net", order=order)
        seen = classifier.observe(IMAGES, [LAST_HIDDEN])
        head = classifier.head
        logits = seen.features(LAST_HIDDEN) @ head.weights.T + head.bias
        np.testing.assert_allclose(logits, seen.logits, rtol=1e-4, atol=1e-5)
    assert classifier.capabilities.head


class WithDropout(Net):
    """Drops hidden values once before its last layer, and by one module twice over."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.drop = nn.Dropout(p)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(torch.relu(self.conv(x)).flatten(1))
        return self.head(self.drop(torch.relu(self.hidden(x))))


@pytest.fixture
def dropping() -> WithDropout:
    torch.manual_seed(0)
    return WithDropout()


def test_members_are_passes_with_dropout_whose_masks_are_the_same_for_all_images(dropping) -> None:
    classifier = TorchClassifier(dropping, "abc", name="net", members_seed=5)
    assert classifier.capabilities.members
    seen = classifier.observe(IMAGES, ["hidden"], members=4)
    assert seen.members.shape == (4, 5, 3)
    np.testing.assert_allclose(seen.members.sum(axis=2), 1)
    assert len({one.tobytes() for one in seen.members}) == 4
    alike = classifier.observe(np.repeat(IMAGES[:1], 3, axis=0), members=4).members
    np.testing.assert_allclose(alike, alike[:, :1].repeat(3, axis=1), rtol=1e-5)
    assert not dropping.training
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in dropping.modules())
    np.testing.assert_array_equal(seen.logits, classifier.observe(IMAGES).logits)


def test_a_mask_keeps_its_share_and_scales_what_it_keeps() -> None:
    values = []
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(64 * 64, 2))
    module[2].register_forward_pre_hook(lambda _, inputs: values.append(inputs[0]))
    TorchClassifier(module, "ab", name="net").observe(np.ones((2, 1, 64, 64), np.float32), members=2)
    first, second = values[1:]
    assert torch.equal(values[0], torch.ones(2, 4096))
    for one in (first, second):
        assert sorted(set(one.flatten().tolist())) == pytest.approx([0, 4 / 3])
        assert torch.equal(one[0], one[1])
        assert (one == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    assert not torch.equal(first, second)


def test_members_depend_on_no_batch_no_order_and_no_number_of_passes(dropping) -> None:
    classifier = TorchClassifier(dropping, "abc", name="net", members_seed=5)
    whole = classifier.observe(IMAGES, members=4).members
    torch.manual_seed(99)  # which draws nothing
    turned = classifier.observe(IMAGES[::-1].copy(), members=4).members[:, ::-1]
    single = np.concatenate([classifier.observe(IMAGES[i : i + 1], members=4).members for i in range(5)], 1)
    for other in (turned, single):
        np.testing.assert_allclose(other, whole, rtol=1e-5)
    np.testing.assert_array_equal(classifier.observe(IMAGES, members=2).members, whole[:2])


def test_masks_follow_from_the_seed_that_is_kept_in_the_state(dropping) -> None:
    first, other = (TorchClassifier(dropping, "abc", name="net", members_seed=n) for n in (5, 6))
    assert members_seed(first.state) == 5
    assert members_seed(TorchClassifier(Net(), "abc", name="net").state) == 0
    assert first.digest != other.digest
    members = [one.observe(IMAGES, members=2).members for one in (first, other)]
    assert not np.array_equal(*members)


@pytest.mark.parametrize("make", [Net, lambda: WithDropout(0.0)])
def test_without_dropout_there_are_no_members(make) -> None:
    classifier = TorchClassifier(make(), "abc", name="net")
    assert not classifier.capabilities.members
    assert "members.seed" not in classifier.state
    with refused(RequirementError):
        classifier.resolve(Needs(members=7), "monitor 'mc-dropout'")
    with refused(RequirementError):
        classifier.observe(IMAGES, members=7)


def test_members_are_in_the_workloads_order_of_classes(dropping) -> None:
    plain = TorchClassifier(dropping, "abc", name="net").observe(IMAGES, members=2).members
    turned = TorchClassifier(dropping, "cab", name="net", order=[2, 0, 1]).observe(IMAGES, members=2).members
    # The softmax adds up the same numbers in another order.
    np.testing.assert_allclose(turned, plain[:, :, [2, 0, 1]], rtol=1e-14)
