"""What the testbed itself costs in a warm run: its own Python calls by package, and where the time goes.

    python -m benchmarks.own_costs --json FILE

Each experiment is run once to fill a cache of its own, once more for its time, and once more with every
Python call counted. The third is several times slower; only its counts are told.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FARM = str(ROOT / "farm") + "/"
SMALL = ("batch_size=64", "stream.length=12", "monitors=[max-softmax, knn]")
EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "quickstart in batches of 64": ("batch_size=64",),
    "twelve images, two monitors": SMALL,
}


def main() -> None:
    """Measure all experiments, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--count", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        print(json.dumps(counted(options.count)))
        return
    found = {name: measured(settings) for name, settings in EXPERIMENTS.items()}
    text = json.dumps(found, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def measured(settings: tuple[str, ...]) -> dict[str, Any]:
    """Run one experiment three times, its cache empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", "quickstart", "--quiet", "--readouts-only"]
        for setting in settings:
            run += ["--set", setting]
        environment = {
            "FARM_CACHE": f"{folder}/cache",
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        ask = {"env": environment, "cwd": folder, "check": True, "capture_output": True, "text": True}
        farm = [sys.executable, "-P", "-c", "from farm.cli import main; raise SystemExit(main())"]
        subprocess.run([*farm, *run, "--out", "first"], **ask)
        subprocess.run([*farm, *run, "--out", "second", "--timing", "timing.json"], **ask)
        count = [sys.executable, "-P", str(Path(__file__).resolve()), "--count", *run, "--out", "third"]
        calls = json.loads(subprocess.run(count, **ask).stdout.splitlines()[-1])
        return {"timing": json.loads(Path(folder, "timing.json").read_text("utf-8")), "calls": calls}


def counted(arguments: list[str]) -> dict[str, int]:
    """Run a command, and count the calls of the testbed's functions by package."""
    calls: Counter[str] = Counter()
    kinds: dict[str, str] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            file = frame.f_code.co_filename
            if file not in kinds:
                kinds[file] = package(file)
            calls[kinds[file]] += 1

    from farm.cli import main as farm

    sys.setprofile(note)
    farm(arguments)
    sys.setprofile(None)
    del calls[""]
    return {**dict(calls.most_common()), "all": calls.total()}


def package(file: str) -> str:
    """Return the package of the testbed that a file is in, and of the store which part; else nothing.

    >>> package(FARM + "store/identity/code.py"), package(FARM + "run/system.py"), package("/usr/os.py")
    ('store/identity', 'run', '')
    """
    if not file.startswith(FARM):
        return ""
    parts = file.removeprefix(FARM).split("/")[:-1]
    return "/".join(parts[: 2 if parts[:1] == ["store"] else 1]) or "top"


if __name__ == "__main__":
    main()
