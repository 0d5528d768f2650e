"""Road scenes with one main thing each and its box, rendered by the testbed's own code.

Nothing is downloaded: each thing is put together in three dimensions, stood into a street with weather and
light, and photographed. The picture is a part of the view that holds all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farm.api import (
    ArrayImages,
    Context,
    Split,
    Workload,
    WorkloadSource,
    check_choice,
    check_number,
    generator,
)
from farm.errors import ParameterError
from farm.workloads.scene_company import Company
from farm.workloads.scene_light import WEATHERS
from farm.workloads.scene_setups import SETUPS
from farm.workloads.scene_shots import Shot, Site, Taken, develop, oversampling, shoot
from farm.workloads.scene_streets import Skies
from farm.workloads.scene_things import OBJECTS, usual

_CONDITIONS = ("weather", "light", "kind", "distance_m", "covered")
_AT_ONCE = 64
"""Pictures that are developed together, of 48 x 48 pixels; fewer where they are larger."""


class Scenes(WorkloadSource):
    """Road scenes with one main thing each: sign, light, pedestrian, car, truck, bus or bike, and its box.

    The thing stands at a random place of the picture, as a whole, and takes a random share of it; of other
    things none is larger than a quarter of it. Each picture is of a scene of its own, so groups are single
    images. Another name (`as`) gives other scenes: two such workloads share none.

    Parameters
    ----------
    train, validation, test
        How many scenes of each class each split has.
    size
        Pixels along an image.
    weather
        What the weather can be: a list of clear, overcast, rain, snow, fog, each equally often, or a mapping
        with how often each is. None is mostly clear or overcast, some rain, a little snow and fog.
    setup
        `home`; or `elsewhere`: another camera, which stands higher, and other streets, vehicles and signs.
    objects
        `usual`; `unusual`, corner cases of the same classes, unlike those that are usual: who sits, bends or
        lies, concrete mixers, cranes, double-deckers, tricycles, signs from behind, horizontal lights; or
        `unknown`, which has classes of its own: cone, bin, animal, ball, barrier, tram, pram, hydrant.

    Notes
    -----
    The conditions are `weather`; `light` (day, dusk, night); `kind`, which kind of its class a thing is;
    `distance_m`, how far away it is; and `covered`, the share of it that something hides. A box bounds the
    whole thing, a mask is True where it is visible.

    Examples
    --------
    >>> from farm.api import Context
    >>> small = Scenes(train=2, validation=1, test=1).load(Context(seed=0))
    >>> small.shape, len(small.classes), len(small.train), str(small.test.ids[0])
    ((3, 48, 48), 7, 14, 'scenes/test/traffic-sign/00000')
    """

    rendered = True

    def __init__(
        self,
        *,
        train: int = 600,
        validation: int = 80,
        test: int = 150,
        size: int = 48,
        weather: Sequence[str] | Mapping[str, Any] | None = None,
        setup: str = "home",
        objects: str = "usual",
    ) -> None:
        # A class that is learnt from a single scene is learnt from that scene.
        check_number("train", train, low=2, whole=True)
        check_number("validation", validation, low=1, whole=True)
        check_number("test", test, low=1, whole=True)
        check_number("size", size, low=32, high=256, whole=True)
        check_choice("setup", setup, tuple(SETUPS))
        check_choice("objects", objects, tuple(OBJECTS))
        self._scenes = {"train": train, "validation": validation, "test": test}
        self._size, self._weathers = size, _weathers(weather)
        self._setup = SETUPS[setup]
        self._sorts = OBJECTS[objects](self._setup)

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context) for name in self._scenes)
        return Workload(self.name, tuple(self._sorts), train, validation, test)

    def _split(self, split: str, context: Context) -> Split:
        # A round is one new scene of every class. Rounds follow one another and every scene has its own
        # generator, so a larger workload begins with the smaller one, bit for bit.
        n_rounds, size, names = self._scenes[split], self._size, (self.name, split)
        skies = Skies(context.seed, names, size * oversampling(size))
        company = Company(context.seed, names, self._setup, usual(self._setup))
        site = Site(self._setup, self._weathers, skies, company)
        ids, waiting, taken, facts = [], list[Shot](), list[Taken](), list[tuple[str | float, ...]]()
        for number in context.progress.track(range(n_rounds), f"{self.name}: {split}", n_rounds):
            for name, sort in self._sorts.items():
                ids.append(f"{self.name}/{split}/{name}/{number:05d}")
                shot = shoot(generator(context.seed, self.name, split, name, number), site, sort, size)
                facts.append((shot.light.weather, shot.light.light, shot.kind, shot.distance, shot.covered))
                waiting.append(shot)
            if len(waiting) * size**2 >= _AT_ONCE * 48**2 or number == n_rounds - 1:
                taken.append(develop(waiting))
                waiting = []
        images, boxes, masks = (np.concatenate(parts) for parts in zip(*taken, strict=True))
        columns = map(np.array, zip(*facts, strict=True))
        return Split(
            name=split,
            images=ArrayImages(images),
            labels=np.tile(np.arange(len(self._sorts)), n_rounds),
            ids=np.array(ids),
            groups=np.array(ids),
            boxes=boxes,
            masks=masks,
            conditions=dict(zip(_CONDITIONS, columns, strict=True)),
        )


def _weathers(given: Sequence[str] | Mapping[str, Any] | None) -> Mapping[str, float]:
    """Return how often each weather is."""
    if given is None:
        return WEATHERS
    expected = f"expected some of {', '.join(WEATHERS)}: a list, or a mapping with how often each is"
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping) or not given:
        raise ParameterError(f"weather is {given!r}; {expected}")
    for name in given:
        if name not in tuple(WEATHERS):
            raise ParameterError(f"weather has {name!r}; {expected}")
        if list(given).count(name) > 1:
            raise ParameterError(f"weather has {name!r} twice; {expected}")
    shares = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, 1.0)
    for name, share in shares.items():
        check_number(f"weather.{name}", share, above=0)
    return shares
