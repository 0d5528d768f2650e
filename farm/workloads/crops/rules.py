"""What a set of cut-outs shall be made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from farm.api import check_number
from farm.errors import ParameterError, suggestion
from farm.workloads.listing import SPLITS

_SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
_MOST = {"train": 5000, "validation": 1000, "test": 1000}


@dataclass(frozen=True, kw_only=True)
class CropRules:
    """Which objects are cut out, how, and how many.

    Parameters
    ----------
    size
        Height and width of a cut-out, in pixels, once it is scaled.
    seed
        Of all that is random: each draw is keyed by the image's name and the object's key.
    largest
        A cut-out is at most so many times as large as the least that holds its object.
    narrowest
        Objects that are narrower in the source image, in pixels, are left out.
    other
        What each other object may take of the cut-out: at most so many times the main object's area.
    keep_occluded
        Classes of which occluded and truncated objects are kept.
    most
        How many cut-outs of a class a split has at most; one that is not named has no limit.
    shares
        What share of the images goes to each split.

    Examples
    --------
    >>> CropRules(shares={"train": 0.8, "val": 0.2})
    Traceback (most recent call last):
    farm.errors.ParameterError: split 'val' is none; known: test, train, validation
    """

    size: int = 256
    seed: int = 0
    largest: float = 3.0
    narrowest: float = 30.0
    other: float = 1 / 3
    keep_occluded: Collection[str] = ()
    most: Mapping[str, int] = field(default_factory=lambda: dict(_MOST))
    shares: Mapping[str, float] = field(default_factory=lambda: dict(_SHARES))

    def __post_init__(self) -> None:
        check_number("size", self.size, low=8, high=4096, whole=True)
        check_number("largest", self.largest, low=1)
        check_number("narrowest", self.narrowest, low=0)
        check_number("other", self.other, low=0)
        for split, number in (*self.most.items(), *self.shares.items()):
            if split not in SPLITS:
                raise ParameterError(f"split '{split}' is none; {suggestion(split, SPLITS)}")
            check_number(f"what is said of {split}", number, low=0)
        if not sum(self.shares.values()):
            raise ParameterError("the shares of all splits are 0; expected one that is more")
