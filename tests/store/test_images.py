"""What images become on disk, whatever their channels."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from farm.store.images import STORES


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_8_bits_are_read_as_they_were_written(tmp_path, store, channels):
    levels = np.random.default_rng(0).integers(0, 256, (5, channels, 4, 6))
    images = (levels / 255).astype(np.float32)
    names = STORES[store].write(tmp_path, iter([images[:2], images[2:]]), 5)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    np.testing.assert_array_equal(STORES[store].read(tmp_path, np.array([4, 0])), images[[4, 0]])


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_a_png_file_is_as_grey_or_as_coloured_as_the_image(tmp_path, channels, mode):
    STORES["png"].write(tmp_path, iter([np.full((1, channels, 4, 6), 0.5, np.float32)]), 1)
    with Image.open(tmp_path / "000000.png") as image:
        assert (image.mode, image.size) == (mode, (6, 4))
