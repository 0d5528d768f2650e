"""A campaign's folder: what may lie in one that is only begun, and what makes it somebody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder


@pytest.mark.parametrize("name", ["lock", "cells", "logs", "failed", "status.json", ".cells.unfinished-ab12"])
def test_what_a_campaign_leaves_before_its_record_is_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    CampaignFolder(tmp_path).check("mine")


def test_a_folder_with_something_else_is_somebodys(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(DataError, match="holds no campaign"):
        CampaignFolder(tmp_path).check("mine")
