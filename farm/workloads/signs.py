"""Traffic signs rendered by the testbed's own code, in two countries.

Nothing is downloaded: every sign is drawn, aged, put up in a place with weather and light, and
photographed. The views of one physical sign form a group, like the frames of a track.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from farm.api import ArrayImages, Context, Split, Workload, WorkloadSource, check_number, generator
from farm.workloads.sign_camera import Crops, View, choose_view, photograph
from farm.workloads.sign_catalogue import ABROAD, HOME, Country
from farm.workloads.sign_scenes import Scene, draw_face, make_scene


class _RenderedSigns(WorkloadSource):
    """Renders a country's signs: so many physical signs of each class, each in so many views."""

    rendered = True
    country: ClassVar[Country]

    def __init__(self, *, train_groups: int, validation_groups: int, test_groups: int, views: int) -> None:
        # A class that is learnt from a single sign is learnt from that sign's dirt and surroundings.
        check_number("train_groups", train_groups, low=2, whole=True)
        check_number("validation_groups", validation_groups, low=1, whole=True)
        check_number("test_groups", test_groups, low=1, whole=True)
        check_number("views", views, low=1, whole=True)
        self._groups: Mapping[str, int] = {
            "train": train_groups,
            "validation": validation_groups,
            "test": test_groups,
        }
        self._views = views

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context) for name in self._groups)
        return Workload(self.name, self.country.classes, train, validation, test)

    def _split(self, split: str, context: Context) -> Split:
        # A round is one new sign of every class. Rounds follow one another and every choice has its own
        # generator, so a larger workload begins with the smaller one, bit for bit.
        n_classes, n_rounds = len(self.country.designs), self._groups[split]
        faces = [draw_face(design, self.country.style) for design in self.country.designs]
        shots: list[tuple[Scene, View]] = []
        crops: list[Crops] = []
        for number in context.progress.track(range(n_rounds), f"{self.name}: {split}", n_rounds):
            taken = []
            for name, face in zip(self.country.classes, faces, strict=True):
                origin = (self.country.name, split, name, number)
                scene = make_scene(generator(context.seed, *origin), face)
                for view in range(self._views):
                    taken.append((scene, choose_view(generator(context.seed, *origin, view))))
            shots += taken
            crops.append(photograph(taken))
        images, boxes, masks = (np.concatenate(parts) for parts in zip(*crops, strict=True))
        groups = [f"{self.country.name}/{split}/{i:05d}" for i in range(n_rounds * n_classes)]
        return Split(
            name=split,
            images=ArrayImages(images),
            labels=np.tile(np.arange(n_classes).repeat(self._views), n_rounds),
            ids=np.array([f"{group}-{view}" for group in groups for view in range(self._views)]),
            groups=np.array(groups).repeat(self._views),
            boxes=boxes,
            masks=masks,
            conditions={
                "weather": np.array([scene.weather for scene, _ in shots]),
                "light": np.array([scene.light for scene, _ in shots]),
                "pose_degrees": np.array([view.turned_degrees for _, view in shots]),
            },
        )


class Signs(_RenderedSigns):
    """Thirty classes of traffic signs in 32 x 32 pixels, several of them easily confused.

    Parameters
    ----------
    train_groups, validation_groups, test_groups
        How many physical signs of each class each split has.
    views
        How many pictures are taken of each sign. They share its dirt, place, weather and light, and
        differ in pose, distance, blur, noise and in what stands in the way.

    Notes
    -----
    The conditions are `weather` (clear, rain, fog), `light` (day, dusk, night) and `pose_degrees`, the
    angle at which the camera sees the sign. A box bounds the whole sign within the picture; a mask is
    True where the sign is visible, so not where something covers it.

    Examples
    --------
    >>> from farm.api import Context
    >>> small = Signs(train_groups=2, validation_groups=1, test_groups=1, views=1).load(Context(seed=0))
    >>> small.shape, len(small.classes), len(small.train), str(small.test.ids[0])
    ((3, 32, 32), 30, 60, 'signs/test/00000-0')
    """

    country = HOME

    def __init__(
        self, *, train_groups: int = 45, validation_groups: int = 10, test_groups: int = 20, views: int = 4
    ) -> None:
        super().__init__(
            train_groups=train_groups,
            validation_groups=validation_groups,
            test_groups=test_groups,
            views=views,
        )


class SignsAbroad(_RenderedSigns):
    """The signs of a second country: some of the same classes in another style, and some of its own.

    Classes with the same name as in `Signs` mean the same; only the others are new to a classifier
    that has learnt `Signs`.

    Parameters
    ----------
    train_groups, validation_groups, test_groups
        How many physical signs of each class each split has.
    views
        How many pictures are taken of each sign; see `Signs`.

    Examples
    --------
    >>> new = set(SignsAbroad.country.classes) - set(Signs.country.classes)
    >>> len(new), "school-zone" in new, "stop" in new
    (13, True, False)
    """

    country = ABROAD

    def __init__(
        self, *, train_groups: int = 10, validation_groups: int = 6, test_groups: int = 20, views: int = 4
    ) -> None:
        super().__init__(
            train_groups=train_groups,
            validation_groups=validation_groups,
            test_groups=test_groups,
            views=views,
        )
