"""What `import farm` shows: few names, each loaded when it is first used."""

from __future__ import annotations

import ast
import importlib
import rlcompleter
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
    known = ["CampaignRuns", "Comparison", "Guard", "Readouts", "Testbed", "compare", "judge", "load"]
    assert dir(farm) == sorted(farm.__all__) == known
    for name in dir(farm):
        assert getattr(farm, name).__name__ == name
        assert getattr(farm, name).__doc__
    with pytest.raises(AttributeError, match="nothing"):
        farm.nothing  # noqa: B018


def test_editors_and_type_checkers_find_the_names_where_they_are() -> None:
    """They read the imports that never run; these must be of the objects that `farm` gives."""
    tree = ast.parse(Path(farm.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = {name.asname: each.module for each in block.body for name in each.names}
    assert set(told) == set(farm.__all__)
    for name, module in told.items():
        assert getattr(importlib.import_module(module), name) is getattr(farm, name)
    assert (Path(farm.__file__).parent / "py.typed").exists()


def test_the_interpreter_completes_them() -> None:
    completer = rlcompleter.Completer({"farm": farm})
    found = {completer.complete("farm.", at) for at in range(len(farm.__all__))}
    assert {text.partition("(")[0] for text in found} == {f"farm.{name}" for name in farm.__all__}
    assert completer.complete("farm.", len(farm.__all__)) is None


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
