"""What a campaign's cells left: each network on the test data, on those that calibrate it, on each shift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from farm.config.specs import NO_FAULT
from farm.errors import DataError
from farm.protocols.uncertainty.asked import VALIDATION, Uncertainty
from farm.protocols.uncertainty.spec import PlannedClassifier, planned
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.readouts import Readouts


class JudgedNetwork(NamedTuple):
    """A network, or several whose answers are averaged, as results name it."""

    backbone: str
    variant: str
    seed: int

    @property
    def kind(self) -> tuple[str, str]:
        """What it is in each repetition."""
        return self.backbone, self.variant

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.backbone} {self.variant}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Streams:
    """The readouts of an evaluation of uncertainty, by network and by what they are of."""

    spec: Uncertainty
    of: Mapping[JudgedNetwork, Mapping[str, Readouts]]
    """By `none`, by `validation data` and by shift, in the order of the file."""
    members: Mapping[tuple[str, int], Mapping[int, Readouts]] = field(default_factory=dict)
    """The single networks of ensembles on the test data, by backbone and seed, and by number."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Why a cell or a monitor failed, and in how many cells."""
    missing: int = 0
    """Cells that are still to be made."""
    place: Path | None = None
    """The campaign's folder."""
    home: Path | None = None
    """Where the file's paths are looked for."""

    @classmethod
    def read(cls, folder: Path | str) -> Streams:
        """Read what is there of a campaign's folder."""
        place = CampaignFolder(folder)
        record = place.record()
        spec = Uncertainty.model_validate(record["campaign"]["protocol"])
        cells: list[tuple[Mapping[str, Any], Readouts]] = []
        failures: Counter[str] = Counter()
        missing = 0
        for cell, path in planned_cells(place):
            if path is not None:
                cells.append((cell["label"], Readouts.load(path, to_judge=True, probabilities=True)))
            elif failure := place.failure(cell["id"]):
                failures[failure["reason"]] += 1
            else:
                missing += 1
        if not cells:
            raise DataError(f"{place.path} holds no result of its evaluation yet; `farm run` goes on with it")
        found = cls.sorted(spec, cells)
        for _, readouts in cells:
            for monitor in readouts.run["monitors"]:
                if why := monitor["failure"]:
                    failures[why] += 1
        return replace(found, failures=failures, missing=missing, place=place.path, home=Path(record["home"]))

    @classmethod
    def sorted(cls, spec: Uncertainty, cells: Iterable[tuple[Mapping[str, Any], Readouts]]) -> Streams:
        """Put readouts where they belong, by their cells' labels."""
        known = {one.title: one for one in planned(spec)}
        whole: dict[JudgedNetwork, dict[str, Readouts]] = {}
        members: dict[tuple[str, int], dict[int, Readouts]] = {}
        streams = (NO_FAULT, VALIDATION, *spec.shift_names)
        for label, readouts in cells:
            one: PlannedClassifier | None = known.get(str(label["classifier"]))
            stream, seed = str(label["faultload"]), int(label["seed"])
            if one is None or stream not in streams:
                what = f"no classifier '{label['classifier']}'" if one is None else f"no stream '{stream}'"
                raise DataError(f"the evaluation has {what}: it was planned by another version; run it again")
            if one.member is not None:
                members.setdefault((one.backbone, seed), {})[one.member] = readouts
            else:
                whole.setdefault(JudgedNetwork(one.backbone, one.variant, seed), {})[stream] = readouts
        ordered = {
            network: {stream: own[stream] for stream in streams if stream in own}
            for network, own in whole.items()
        }
        return cls(spec, ordered, members)

    @cached_property
    def kinds(self) -> list[tuple[str, str]]:
        """Backbones with their variants, of which something is there, in the order of the file."""
        there = {network.kind for network in self.of}
        asked = [(name, variant) for name in self.spec.backbone_names for variant in self.spec.variants]
        own = [(one.backbone, one.variant) for one in planned(self.spec)]
        return [kind for kind in dict.fromkeys([*asked, *own]) if kind in there]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of all repetitions."""
        return list(range(self.spec.seed, self.spec.seed + self.spec.repetitions))
