"""Boxes as numbers that networks learn, and the losses of boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import FarmError, ParameterError
from farm.measures.localization import iou
from farm.testing.fakes import tiny_workload
from models._boxes import ENCODINGS, LOSSES, BoxDecoder, box_losses, boxes_of, distance_iou, mean_box, overlap
from tests.wording import refused

SIDES = st.integers(1, 400)
PARTS = st.floats(0.01, 0.99)


def boxes_within(height, width, parts):
    """Return boxes from shares: of the image for left and top, of what is left of it for right and bottom."""
    rows = [(a, b, a + c * (1 - a), b + d * (1 - b)) for a, b, c, d in parts]
    return torch.tensor(rows, dtype=torch.float64) * torch.tensor([width, height, width, height])


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(height=SIDES, width=SIDES, parts=st.lists(st.tuples(*[PARTS] * 4), min_size=2, max_size=5))
def test_what_is_encoded_is_decoded_to_itself(encoding, height, width, parts) -> None:
    boxes = boxes_within(height, width, parts)
    decoder = BoxDecoder(encoding, height, width).double()
    decoder.anchor.copy_(boxes.mean(dim=0))
    torch.testing.assert_close(
        decoder(decoder.encode(boxes)), boxes, rtol=1e-10, atol=1e-10 * max(height, width)
    )
    numbers = torch.tensor(parts, dtype=torch.float64)
    torch.testing.assert_close(decoder.encode(decoder(numbers)), numbers, rtol=1e-8, atol=1e-8)


def test_encodings_by_hand() -> None:
    box, anchor = torch.tensor([[8.0, 6.0, 16.0, 18.0]]), torch.tensor([4.0, 4.0, 8.0, 10.0])
    by_hand = {
        "corners": [8 / 64, 6 / 32, 16 / 64, 18 / 32],
        "centre": [12 / 64, 12 / 32, 8 / 64, 12 / 32],
        # 6 to the right of the anchor's centre, which is 4 wide, 5 below it, which is 6 high; twice as large.
        "anchor": [6 / 4, 5 / 6, np.log(2), np.log(2)],
    }
    for encoding, numbers in by_hand.items():
        decoder = BoxDecoder(encoding, 32, 64)
        decoder.anchor.copy_(anchor)
        np.testing.assert_allclose(decoder.encode(box)[0], numbers, rtol=1e-6)
        np.testing.assert_allclose(
            decoder(torch.tensor([numbers], dtype=torch.float32))[0], box[0], rtol=1e-6
        )


def in_numpy(boxes, others):
    """Return 1 - IoU and the distance-IoU loss of each pair, coordinate by coordinate."""
    rows = []
    for (a, b, c, d), (e, f, g, h) in zip(boxes, others, strict=True):
        common = max(min(c, g) - max(a, e), 0) * max(min(d, h) - max(b, f), 0)
        union = (c - a) * (d - b) + (g - e) * (h - f) - common
        apart = ((a + c - e - g) / 2) ** 2 + ((b + d - f - h) / 2) ** 2
        diagonal = (max(c, g) - min(a, e)) ** 2 + (max(d, h) - min(b, f)) ** 2
        rows.append((1 - common / union, 1 - common / union + apart / diagonal))
    return np.array(rows).T


def random_boxes(n: int) -> torch.Tensor:
    start = torch.rand(n, 2, generator=torch.Generator().manual_seed(n), dtype=torch.float64) * 20
    size = torch.rand(n, 2, generator=torch.Generator().manual_seed(n + 1), dtype=torch.float64) * 20 + 0.1
    return torch.cat([start, start + size], dim=1)


def test_losses_of_boxes_are_those_of_numpy() -> None:
    boxes, others = random_boxes(200), random_boxes(200).flip(0)
    plain, distance = in_numpy(boxes.tolist(), others.tolist())
    assert (plain == 1).any()
    assert (plain < 1).sum() > 50
    np.testing.assert_allclose(1 - overlap(boxes, others), plain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(distance_iou(boxes, others), distance, rtol=0, atol=1e-12)
    np.testing.assert_allclose(overlap(boxes, others), iou(boxes.numpy(), others.numpy()), rtol=0, atol=1e-12)


def test_losses_by_hand() -> None:
    # Two squares of 4 x 4, one moved by (2, 2): they share 4 of 28, and 6 x 6 bounds both.
    boxes, others = torch.tensor([[0.0, 0, 4, 4]]), torch.tensor([[2.0, 2, 6, 6]])
    assert overlap(boxes, others).item() == pytest.approx(1 / 7)
    assert distance_iou(boxes, others).item() == pytest.approx(6 / 7 + 8 / 72)
    decoder = BoxDecoder("corners", 8, 8)
    given = decoder.encode(boxes)
    found = {loss: box_losses(loss, decoder)(given, others).item() for loss in LOSSES}
    expected = {"mae": 2 / 8, "mse": (2 / 8) ** 2, "iou": 6 / 7, "distance-iou": 6 / 7 + 8 / 72}
    assert found == pytest.approx(expected)


def test_swapped_corners_overlap_with_nothing_and_still_have_a_slope() -> None:
    boxes = torch.tensor([[6.0, 6, 2, 2]], requires_grad=True)
    others = torch.tensor([[1.0, 1, 5, 5]])
    assert overlap(boxes, others).item() == 0
    distance_iou(boxes, others).sum().backward()
    assert boxes.grad is not None
    assert bool(boxes.grad.abs().sum() > 0)


def test_the_mean_box_and_its_spread_are_those_of_numpy() -> None:
    boxes = np.random.default_rng(0).normal(10, 3, (5, 7, 4)).astype(np.float32)
    found = mean_box(boxes)
    np.testing.assert_allclose(found["box"], boxes.astype(np.float64).mean(0), rtol=1e-6)
    np.testing.assert_allclose(found["box_spread"], boxes.astype(np.float64).std(0, ddof=1), rtol=1e-6)
    assert {values.dtype for values in found.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("n", [2, 3, 5, 7, 20])
def test_members_that_agree_have_no_spread_and_their_own_box(n) -> None:
    one = np.random.default_rng(n).normal(10, 3, (1, 50, 4)).astype(np.float32)
    found = mean_box(one.repeat(n, axis=0))
    np.testing.assert_array_equal(found["box"], one[0])
    assert (found["box_spread"] == 0).all()


def test_a_single_pass_has_no_spread() -> None:
    assert set(mean_box(np.zeros((1, 3, 4), np.float32))) == {"box"}


@pytest.mark.parametrize(
    "box",
    [
        None,
        (3, 1, 3, 5),
        (0, 5, 4, 1),
        (float("nan"), 0, 1, 1),
        (0, 0, float("inf"), 1),
        (float("nan"),) * 4,
    ],
)
def test_boxes_that_nothing_can_be_learned_from_are_told(box) -> None:
    train = tiny_workload().train
    boxes = np.tile([0.0, 0.0, 4.0, 4.0], (len(train), 1))
    if box is not None:
        boxes[3] = box
    with refused(FarmError):
        boxes_of(replace(train, boxes=None if box is None else boxes), "tiny")


def test_boxes_come_in_the_pixels_that_images_are_brought_to() -> None:
    train = tiny_workload().train
    train = replace(train, boxes=np.tile([1.0, 2.0, 3.0, 4.0], (len(train), 1)))
    assert boxes_of(train, "tiny")[0].tolist() == [1, 2, 3, 4]
    assert boxes_of(train, "tiny", (32, 16))[0].tolist() == [2, 8, 6, 16]


def test_unknown_encodings_and_losses_are_told() -> None:
    with refused(ParameterError):
        BoxDecoder("edges", 8, 8)
    with refused(ParameterError):
        box_losses("giou", BoxDecoder("corners", 8, 8))
