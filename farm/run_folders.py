"""Which folders of runs are meant by a path: a run's own, or those of a campaign's cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from farm.campaign.folder import CampaignFolder
from farm.errors import DataError


def run_folders(paths: Iterable[Path | str]) -> list[Path]:
    """Put in the place of each campaign's folder those of its finished cells, in the campaign's order.

    What is no campaign's folder stays as it is. Orphans, which the campaign no longer asks for, are left out.

    Examples
    --------
    >>> [path.name for path in run_folders(["runs/quickstart-001", "own.csv"])]
    ['quickstart-001', 'own.csv']
    """
    found: list[Path] = []
    for path in map(Path, paths):
        found += _cells(CampaignFolder(path)) if CampaignFolder.is_campaign(path) else [path]
    return found


def planned_cells(folder: CampaignFolder) -> list[tuple[Mapping[str, Any], Path | None]]:
    """Give each cell that a campaign asks for with its folder: the latest try; None where there is none."""
    names = folder.cell_folders()
    found: list[tuple[Mapping[str, Any], Path | None]] = []
    for cell in folder.record()["cells"]:
        wanted = _without_try(cell["target"])
        tries = [name for name in names.get(cell["id"], []) if _without_try(name) == wanted]
        found.append((cell, folder.cells / tries[0] if tries else None))
    return found


def _cells(folder: CampaignFolder) -> list[Path]:
    planned = planned_cells(folder)
    there = [path for _, path in planned if path is not None]
    if not there:
        raise DataError(
            f"{folder.path}: none of the campaign's {len(planned)} cells is finished; `farm run` the "
            f"campaign, or see with `farm status {folder.path}` what became of it"
        )
    return there


def _without_try(name: str) -> str:
    return name.partition(".")[0]
