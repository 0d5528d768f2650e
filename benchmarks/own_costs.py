"""What the testbed itself costs in a warm run: its own Python calls by package, and where the time goes.

    python -m benchmarks.own_costs --json FILE

Each experiment is run once to fill a cache of its own, once more for its time, and once more with every
Python call counted. The third is several times slower; only its counts are told.

`processor` compares seconds of the processor, medians of five: a whole run, over the imports of the libraries
that it needs and what its classifier and its monitors take of the stream. The testbed's own imports are not
among the libraries', and the stream's are told by a run whose clock is the processor's.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
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
LIBRARIES = "import " + ", ".join(
    (
        *("torch", "numpy", "pandas", "pyarrow.parquet", "safetensors.numpy"),
        *("pydantic", "yaml", "rich.console", "threadpoolctl"),
    )
)
COMMAND = "from farm.cli import main; raise SystemExit(main())"
CLOCK = "import time; time.perf_counter_ns = time.process_time_ns; "
TOLD = """
import sys
from farm.store.readouts import Readouts
told = Readouts.load(sys.argv[1])
print((told.instances.classifier_time_us.sum() + told.alarms.monitor_time_us.sum()) / 1e6)
"""
ROUNDS = 5
EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "quickstart": (),
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
        whole = ["run", "quickstart", "--quiet"]
        for setting in settings:
            whole += ["--set", setting]
        run = [*whole, "--readouts-only"]
        environment = {
            "FARM_CACHE": f"{folder}/cache",
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        ask = {"env": environment, "cwd": folder, "check": True, "capture_output": True, "text": True}
        python = [sys.executable, "-P", "-c"]
        farm = [*python, COMMAND]
        subprocess.run([*farm, *run, "--out", "first"], **ask)
        subprocess.run([*farm, *run, "--out", "second", "--timing", "timing.json"], **ask)
        count = [sys.executable, "-P", str(Path(__file__).resolve()), "--count", *run, "--out", "third"]
        calls = json.loads(subprocess.run(count, **ask).stdout.splitlines()[-1])
        rounds = []
        for number in range(ROUNDS):
            took = processor([*farm, *whole, "--out", f"whole-{number}"], ask)
            subprocess.run([*python, CLOCK + COMMAND, *run, "--out", f"clock-{number}"], **ask)
            passes = float(subprocess.run([*python, TOLD, f"clock-{number}"], **ask).stdout)
            imports = processor([*python, LIBRARIES], ask)
            rounds.append([took, imports, passes, took / (imports + passes)])
        medians = map(statistics.median, zip(*rounds, strict=True))
        return {
            "timing": json.loads(Path(folder, "timing.json").read_text("utf-8")),
            "processor": dict(zip(("run_s", "imports_s", "passes_s", "ratio"), medians, strict=True)),
            "calls": calls,
        }


def processor(command: list[str], ask: dict[str, Any]) -> float:
    """Run a command, and return the seconds of the processor that it and its processes took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, **ask)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
