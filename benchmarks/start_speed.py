"""How soon things answer in a new process: a guard is loaded, a run is checked.

`python benchmarks/start_speed.py`. Processor time of the whole process; the median of several rounds, in
which all take turns, since a machine is not equally fast all the time. Loading a guard is told as so many
times importing torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from log_speed import cost

MOST_LOADING, MOST_CHECKING = 1.3, 1.0
"""At most so many times importing torch, and so many seconds."""
MONITORS = ("max-softmax", "oob", "vim")
FARM = "import sys; from farm.cli import main; sys.exit(main())"
CRITERIA = "criteria: ['overall.mcc >= 0 for max-softmax', 'specific.fpr <= 0.9 on id']\n"


def main() -> None:
    """Run and fit something small, and measure what is done with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    farm = [sys.executable, "-c", FARM]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FARM_CACHE"] = f"{folder}/cache"
        small = ["quickstart", "--quiet", "--set", f"monitors=[{', '.join(MONITORS)}]"]
        run, criteria = f"{folder}/run", Path(folder, "criteria.yaml")
        criteria.write_text(CRITERIA, encoding="utf-8")
        subprocess.run([*farm, "run", *small, "--out", run], check=True, capture_output=True)
        commands = {
            "importing torch": [sys.executable, "-c", "import torch"],
            "farm check": [*farm, "check", run, "--criteria", str(criteria)],
        }
        for monitor in MONITORS:
            guard = f"{folder}/{monitor}"
            fit = [*farm, "fit", *small, "--monitor", monitor, "--out", guard]
            subprocess.run(fit, check=True, capture_output=True)
            load = f"from farm import Guard; Guard.load({guard!r})"
            commands[f"Guard.load, {monitor}"] = [sys.executable, "-c", load]
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                taken[name].append(cost(command)[0])
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    for name, each in seconds.items():
        print(f"{name:24} {each:.2f} s", end="")
        if name == "farm check":
            print(f" (at most {MOST_CHECKING:g})", end="")
        elif name != "importing torch":
            print(f", {each / seconds['importing torch']:.2f} times torch (at most {MOST_LOADING:g})", end="")
        print()


if __name__ == "__main__":
    main()
