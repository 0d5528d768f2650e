"""Weather and light: what they do to a surface's colour on its way to the camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farm.workloads.scene_solids import IN_THE_DARK, choose

WEATHERS: Mapping[str, float] = {"clear": 0.52, "overcast": 0.3, "rain": 0.1, "snow": 0.05, "fog": 0.03}
LIGHTS: Mapping[str, float] = {"day": 0.7, "dusk": 0.14, "night": 0.16}
"""What the conditions can be, and how often each is where nobody says otherwise."""

_LAMPS_REACH = 16.0
"""Metres at which headlights have lost half of their strength."""
_SNOW = 0.92


@dataclass(frozen=True)
class Light:
    """The light of one place and time, and the air between it and the camera."""

    weather: str
    light: str
    ambient: float
    """How bright the surroundings are; 1 is a bright day."""
    sun: NDArray[np.float64]
    """From where it shines: to the right of the camera, from above, from beyond."""
    sunlit: float
    """How much of the light comes from there alone."""
    lamps: float
    """How bright the car's own headlights make what is near."""
    air: NDArray[np.float64]
    """The colour of the air, as bright as it is."""
    thickness: float
    """How much of the light the air swallows a metre."""
    snow: float
    """How much of what looks upwards is white."""
    wet: float
    """How much darker the ground is than when it is dry."""

    @property
    def dark(self) -> bool:
        """Whether lamps are lit."""
        return self.light != "day"

    def seen(
        self,
        colours: NDArray[np.float64],
        normals: NDArray[np.float64],
        depths: NDArray[np.float64],
        glows: NDArray[np.float64],
    ) -> NDArray[np.uint8]:
        """Return what comes to the camera from surfaces that look somewhere, some metres away."""
        upwards = normals[:, 1]
        if self.snow:
            cover = self.snow * np.clip(2.5 * (upwards - 0.4), 0, 1)
            colours = colours + cover[:, None] * (_SNOW - colours)
        direct = 1 - self.sunlit + 1.7 * self.sunlit * np.clip(normals @ self.sun, 0, 1)
        power = self.ambient * direct * (0.86 + 0.14 * upwards)
        power = power + self.lamps / (1 + (depths / _LAMPS_REACH) ** 2)
        lit = colours * power[:, None]
        lit = np.maximum(lit, colours * (glows > (0 if self.dark else IN_THE_DARK))[:, None])
        clear = np.exp(-self.thickness * depths)[:, None]
        return np.clip(255 * (self.air + (lit - self.air) * clear), 0, 255).astype(np.uint8)


def choose_light(rng: np.random.Generator, weathers: Mapping[str, float]) -> Light:
    """Choose weather and time of day."""
    weather, light = choose(rng, weathers), choose(rng, LIGHTS)
    ambient = {"day": (0.75, 1.0), "dusk": (0.42, 0.6), "night": (0.16, 0.3)}[light]
    dim = {"clear": 1.0, "overcast": 0.86, "rain": 0.74, "snow": 0.9, "fog": 0.88}[weather]
    brightness = dim * rng.uniform(*ambient)
    turn, height = rng.uniform(0, 2 * np.pi), rng.uniform(0.35, 1.2)
    sun = np.array([np.cos(turn) * np.cos(height), np.sin(height), np.sin(turn) * np.cos(height)])
    sunlit = rng.uniform(0.25, 0.6)
    thickness = {
        "clear": rng.uniform(0.0005, 0.002),
        "overcast": rng.uniform(0.001, 0.003),
        "rain": rng.uniform(0.006, 0.018),
        "snow": rng.uniform(0.006, 0.02),
        "fog": rng.uniform(0.025, 0.06),
    }[weather]
    cover = rng.uniform(0.5, 1.0)
    tint = {"day": (0.86, 0.89, 0.94), "dusk": (0.9, 0.78, 0.7), "night": (0.5, 0.52, 0.62)}[light]
    lamps = {"day": 0.0, "dusk": rng.uniform(0.0, 0.2), "night": rng.uniform(0.25, 0.6)}[light]
    return Light(
        weather=weather,
        light=light,
        ambient=brightness,
        sun=sun,
        sunlit=sunlit if weather == "clear" and light != "night" else 0.06,
        lamps=lamps,
        air=brightness * np.array(tint),
        thickness=thickness,
        snow=cover if weather == "snow" else 0.0,
        wet=0.3 * cover if weather == "rain" else 0.0,
    )
