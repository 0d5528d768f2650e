"""Removing what a campaign does not ask for any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farm.campaign.folder import CampaignFolder, split_name
from farm.errors import DataError
from farm.files import read_json


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
    record = folder.record()
    with folder.lock():
        names = orphans(folder, record["cells"])
        nbytes = sum(file.stat().st_size for name in names for file in (folder.cells / name).iterdir())
        if not dry_run:
            folder.sweep()
            for name in names:
                folder.discard(name)
    return Pruned(tuple(names), nbytes)


def orphans(folder: CampaignFolder, planned: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the folders that no run of the campaign would use: not as a cell, and not for rows of one.

    `planned` are the cells as campaign.json has them.
    """
    found: list[str] = []
    cells = {cell["id"]: cell for cell in planned}
    for cell, names in folder.cell_folders().items():
        if cell not in cells:
            found += names
            continue
        keys = split_name(cells[cell]["target"])[1]
        whole = next((name for name in names if split_name(name)[1] == keys), None)
        for name in names:
            # Until the cell itself is there, whatever has rows of its monitors will be taken over.
            if name != whole and (whole or not _shares(folder.cells / name, cells[cell]["monitors"])):
                found.append(name)
    return sorted(found)


def _shares(path: Path, wanted: Mapping[str, str]) -> bool:
    try:
        held: Mapping[str, str] = read_json(path / "run.json")["cell"]["keys"]
    except (DataError, KeyError):
        return True  # whoever runs the campaign looks at it, and tells
    return bool(held.items() & wanted.items())
