"""Removing what a campaign does not ask for any more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from farm.campaign.folder import CampaignFolder


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be."""

    names: tuple[str, ...]
    nbytes: int


def prune_orphans(path: Path, dry_run: bool) -> Pruned:
    """Remove the cells' folders that the campaign, as it was run last, does not ask for.

    Nobody may be at work there. With `dry_run` nothing is removed.
    """
    folder = CampaignFolder(path)
    wanted = {cell["target"] for cell in folder.record()["cells"]}
    with folder.lock():
        names = sorted({name for all_ in folder.cell_folders().values() for name in all_} - wanted)
        nbytes = sum(file.stat().st_size for name in names for file in (folder.cells / name).iterdir())
        if not dry_run:
            folder.sweep()
            for name in names:
                folder.discard(name)
    return Pruned(tuple(names), nbytes)
