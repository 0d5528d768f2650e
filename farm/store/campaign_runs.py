"""What a campaign found: its runs, one after another, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from farm.store.campaign_folder import CampaignFolder, missing_cells, run_folders
from farm.store.readouts import Readouts


@dataclass(frozen=True)
class CampaignRuns(Sequence[Readouts]):
    """The readouts of a campaign's finished cells, in the campaign's order.

    None is held in memory: `runs[0]` reads one, a loop one after another; `farm.compare(*runs)` takes all.
    """

    name: str
    folders: tuple[Path, ...]
    """Of the finished cells."""
    missing: Mapping[str, str]
    """Why cells that the campaign asks for are not there, by their titles."""

    @classmethod
    def load(cls, folder: Path | str) -> CampaignRuns:
        """Read which cells a campaign has, and which not yet."""
        name = CampaignFolder(folder).record()["name"]
        return cls(name, tuple(run_folders([folder])), dict(missing_cells(folder)))

    @overload
    def __getitem__(self, at: int) -> Readouts: ...

    @overload
    def __getitem__(self, at: slice) -> CampaignRuns: ...

    def __getitem__(self, at: int | slice) -> Readouts | CampaignRuns:
        if isinstance(at, slice):
            return CampaignRuns(self.name, self.folders[at], self.missing)
        return Readouts.load(self.folders[at])

    def __len__(self) -> int:
        return len(self.folders)

    def __repr__(self) -> str:
        return f"CampaignRuns(name={self.name!r}, runs={len(self)}, missing={len(self.missing)})"
