"""Heat maps lie where the patch was, and the outline where the object is; curves show what was measured."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from farm.measures.occlusion import over_thresholds
from farm.report.figures import OccludedImage, occlusion_maps, precision_curve
from farm.report.figures.occlusion import STRONGEST
from tests.report.figures.seen import STRANGE, fits, overlaps, svg, words
from tests.wording import same_text

LEVELS = (0.1, 0.3, 0.5, 0.7)


def image(size=(32, 40), kept=(32, 40), channels=3, **changes):
    """Return an image whose object is a square, and whose corner matters."""
    heat = np.full((7, 9), 0.9)
    heat[0, 0] = 0.0
    mask = np.zeros(kept, dtype=bool)
    mask[kept[0] // 4 : kept[0] // 2, kept[1] // 4 : kept[1] // 2] = True
    made = {
        "pixels": np.full((*kept, channels), 100, np.uint8),
        "heat": heat,
        "mask": mask,
        "size": size,
        "window": 8,
        "stride": 4,
        "predicted": "stop",
        "plain": 0.98,
        "says": "precision 0.25",
    }
    return OccludedImage(**{**made, **changes})


@pytest.mark.parametrize("kept", [(32, 40), (16, 20)])
def test_a_cell_lies_about_the_middle_of_its_patch(kept):
    axes = occlusion_maps([image(kept=kept)]).axes[0]
    grey, heat = axes.images
    assert tuple(grey.get_extent()) == (0, 40, 32, 0)
    assert tuple(heat.get_extent()) == (2, 38, 30, 2), "so that the first cell is about (4, 4)"
    covers = np.asarray(heat.get_array())[..., 3] / 255
    np.testing.assert_allclose(covers, STRONGEST * (1 - image().heat), atol=0.003)
    assert axes.get_xlim() == (0, 40)
    assert axes.get_ylim() == (40, 0), "pixels are square"


def test_the_outline_goes_around_the_object():
    for kept in ((32, 40), (16, 20)):
        _, line = occlusion_maps([image(kept=kept)]).axes[0].collections
        box = line.get_paths()[0].get_extents()
        np.testing.assert_allclose([box.x0, box.x1, box.y0, box.y1], [10, 20, 8, 16], atol=0.01)
    edge = np.zeros((32, 40), dtype=bool)
    edge[:, :10] = True
    _, line = occlusion_maps([image(mask=edge)]).axes[0].collections
    (path,) = line.get_paths()
    assert (path.vertices[0] == path.vertices[-1]).all(), "closed where the border cuts the object"


@pytest.mark.parametrize("mask", [np.zeros((32, 40), bool), np.ones((32, 40), bool)])
def test_without_a_border_of_the_object_there_is_no_outline(mask):
    figure = occlusion_maps([image(mask=mask)])
    assert not figure.axes[0].collections
    assert ("the object" in words(figure)) is bool(mask.any())


def test_a_grey_image_is_drawn_as_one_in_colour_of_that_grey():
    colour, grey = (
        np.asarray(occlusion_maps([image(channels=n)]).axes[0].images[0].get_array()) for n in (3, 1)
    )
    np.testing.assert_array_equal(colour, grey)
    assert (grey == 100).all()


def test_all_is_explained_in_words():
    same_text(words(occlusion_maps([image()], title="What it looks at")))
    same_text(words(occlusion_maps([], title="What it looks at")))


@pytest.mark.parametrize("n", [1, 4, 9])
def test_no_word_is_cut_off_or_on_another(n):
    names = [STRANGE[i % len(STRANGE)] for i in range(n)]
    figure = occlusion_maps([image(predicted=name, says=name * 3) for name in names], title="A title")
    assert fits(figure)
    assert overlaps(figure, words(figure)) == []
    assert fits(precision_curve(curve(), rho=0.5, title="A title"))


def test_a_page_has_the_pixels_as_they_are():
    root = svg(occlusion_maps([image()]))
    grey, heat = root.iter("{http://www.w3.org/2000/svg}image")
    pictures = []
    for one in (grey, heat):
        kind, _, data = one.attrib["href"].partition(",")
        assert kind == "data:image/png;base64"
        assert data == "".join(data.split())
        pictures.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))))
    assert pictures[0].shape[:2] == (32, 40)
    assert (pictures[0][..., :3] == 100).all()
    assert pictures[1].shape == (7, 9, 4)
    assert pictures[1][..., 3].max() == np.rint(255 * STRONGEST)
    assert "pixelated" in "".join(f"{element.attrib}" for element in root.iter())


# The curve ------------------------------------------------------------------------------------------------


def curve(why_not=("", "")):
    heat = np.array([[[0.2, 0.4]], [[0.4, 0.6]]])
    occluding = np.array([[[True, False]], [[True, False]]])
    return over_thresholds(heat, occluding, LEVELS, why_not=why_not)


def test_the_lines_are_the_means_and_below_how_many_they_are_of():
    axes, below = precision_curve(curve()).axes
    means, counts = ([line.get_ydata() for line in one.lines] for one in (axes, below))
    np.testing.assert_allclose(means, [[np.nan, 1, 0.75, 0.5], [0, 0.5, 1, 1]])
    np.testing.assert_array_equal(counts, [[0, 1, 2, 2], [2, 2, 2, 2]])
    assert all(line.get_xdata().tolist() == list(LEVELS) for line in (*axes.lines, *below.lines))


def test_a_threshold_that_is_told_is_marked():
    axes, below = precision_curve(curve(), rho=0.5).axes
    for one in (axes, below):
        assert list(one.lines[-1].get_xdata()) == [0.5, 0.5]


def test_the_curve_is_explained_and_where_nothing_is_defined_that_is_said():
    same_text(words(precision_curve(curve(), rho=0.5, title="A title")))
    nobody = precision_curve(curve(why_not=["hidden by 'fog'"] * 2), title="A title")
    same_text(words(nobody))
    assert len(words(precision_curve([]))) == 1
