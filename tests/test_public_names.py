"""What `import farm` shows: few names, each loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import farm
from farm.judging import readouts as judged_readouts
from farm.testing import make_readouts


def test_the_public_names_are_few_and_are_there() -> None:
    assert dir(farm) == sorted(farm.__all__) == ["Guard", "Readouts", "Testbed", "compare", "judge"]
    assert all(callable(getattr(farm, name)) for name in dir(farm))
    with pytest.raises(AttributeError, match="nothing"):
        farm.nothing  # noqa: B018


def test_importing_it_loads_nothing_else() -> None:
    code = "import sys, farm; print(sorted({'torch', 'numpy', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_readouts_are_judged_and_compared_wherever_they_are(tmp_path: Path) -> None:
    readouts = make_readouts(
        {"good": [0, 0, 1, 1] * 20, "bad": [1, 0, 0, 1] * 20}, is_ood=[False, False, True, True] * 20
    )
    frame = farm.judge(readouts)
    assert frame.loc[frame["part"] == "all", "monitor"].tolist() == ["good", "bad", "oracle"]
    compared = farm.compare(readouts, measure="specific.mcc", replicates=200)
    assert compared.conclusions[0].sentence.startswith("On shift")


def test_a_folder_larger_than_memory_is_judged_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    is_ood = np.arange(500) % 4 == 0
    readouts = make_readouts({"good": {"score": rng.normal(is_ood, 1.0)}}, is_ood=is_ood)
    folder = readouts.save(tmp_path / "run")
    at_once = farm.judge(folder)
    monkeypatch.setattr(judged_readouts, "IN_MEMORY", 499)
    by_parts = farm.judge(str(folder))
    pd.testing.assert_frame_equal(by_parts.filter(like="specific"), at_once.filter(like="specific"))
    assert "auroc_error" not in at_once
    off = (by_parts["auroc"] - at_once["auroc"]).abs()
    assert off.notna().any()
    assert (off.dropna() <= by_parts["auroc_error"].dropna() + 1e-12).all()
