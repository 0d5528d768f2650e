"""Every fresh fit equals a fresh fit in another process, bit for bit; none comes from a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from farm import registry
from tests.models.test_saved import MAKERS, THEIRS
from tests.monitors.fresh_fits import MANY, MORE, everything, monitors
from tests.wording import ROOT

SKIPPED = (pytest.skip.Exception,)


def test_all_monitors_and_models_come_out_the_same_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytorch_ood: None
) -> None:
    (tmp_path / "theirs.py").write_text(THEIRS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    models = []
    for maker in MAKERS:
        (tmp_path / maker.__name__).mkdir()
        try:
            made = maker(tmp_path / maker.__name__)
        except SKIPPED:
            continue  # its extra is not installed
        for key in ("path", "weights"):
            if key in made:
                made[key] = f"{maker.__name__}/{made[key]}"
        models.append({"model": made, "size": 16 if made["name"] == "lenet" else 8})
    (tmp_path / "models.json").write_text(json.dumps(models), encoding="utf-8")
    path = os.pathsep.join([str(ROOT), *sys.path])
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.monitors.fresh_fits", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "FARM_CACHE": str(tmp_path / "no cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    here = everything(tmp_path)
    sys.modules.pop("theirs", None)
    _, told = child.communicate(timeout=600)
    assert child.returncode == 0, told
    there = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert int(here["points a class"]) > MANY
    assert set(here) >= {*monitors(), *MORE}
    tried = {model["model"]["name"] for model in models}
    extra = {"onnx", "vgg16", "resnet50"}
    assert set(registry.entries("model")) - tried <= extra, "whose extra may be missing"
    assert len([name for name in here if name.startswith("model ")]) == len(models)
    assert {name: here[name] for name in here if here[name] != there.get(name)} == {}
    assert here.keys() == there.keys()
    assert not (tmp_path / "no cache").exists()
