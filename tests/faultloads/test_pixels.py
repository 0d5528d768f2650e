"""What faults make stays what it was, so that results of today can stand beside those of last year.

Whether it is right is said in other files, by independent references; here nothing may move unnoticed, also
in what has no published definition, such as a texture of our own. Attacks and GANs are left out, since their
gradients are other sums on other machines, and what Pillow's encoder makes, which is Pillow's.
"""

from __future__ import annotations

import numpy as np

from tests.faultloads.worlds import NAMES, World
from tests.wording import same_text

LEFT_OUT = {"fgsm", "pgd", "deepfool", "square-attack", "jpeg-compression", "gan-lee", "gan-sricharan"}
NEED_COLOURS = {"colour-swap", "dropped-channel", "greyscale", "robustness-grey", "saturate"}
VARIANTS = (
    *(("textures", {"pattern": pattern}) for pattern in ("stripes", "checks", "rings", "dots", "clouds")),
    ("pure-noise", {"distribution": "normal"}),
    *((name, {"made_for": 64}) for name in ("snow", "motion-blur", "glass-blur", "defocus-blur")),
    *((name, {"border": "black"}) for name in ("rotation", "translation", "scale", "perspective")),
    ("rotation", {"border": "mirror"}),
    ("swirl", {"turns": 0.4, "radius": 1.0}),
    ("elastic-transform", {"smoothing": 0.06}),
    ("uniform-blend", {"weight": 0.9}),
    ("dead-rows", {"value": 0.25}),
    ("dead-columns", {"value": 0.75}),
)
"""Faults with other parameters than by default."""


def described(images):
    """Return the mean and the spread of each image, and some of its pixels, to three decimals."""
    numbers = []
    for i, image in enumerate(images.astype(float)):
        values = image.ravel()
        some = values[np.random.default_rng(i).integers(0, values.size, 4)]
        numbers += [values.mean(), values.std(), *some]
    return " ".join(f"{number:.3f}" for number in numbers)


def made(title, ready, levels):
    return [f"{title}, severity {at}: {described(ready.apply(np.arange(3), at).images)}" for at in levels]


def test_faults_make_what_they_made_before():
    colour, grey = World((3, 20, 29), n=8), World((1, 40, 24), n=8)
    lines = []
    for name in [name for name in NAMES if name not in LEFT_OUT]:
        ready = colour.prepare(name)
        lines += made(name, ready, (0.5, *ready.fault.severities) if ready.fault.severities else (None,))
        if name not in NEED_COLOURS:
            ready = grey.prepare(name)
            lines += made(f"grey, {name}", ready, (ready.highest,) if ready.fault.severities else (None,))
    for name, arguments in VARIANTS:
        ready = colour.prepare(name, **arguments)
        lines += made(f"{name} {arguments}", ready, (2.5,) if ready.fault.severities else (None,))
    same_text(lines)
