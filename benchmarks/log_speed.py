"""What it costs to judge logs, beside merely reading them with pandas.

`python benchmarks/log_speed.py`. Made-up logs of a million instances and five monitors, with few columns and
with many, as CSV and as Parquet. Each is judged by `farm judge`, and read by `pandas.read_csv` with pyarrow
or by `pandas.read_parquet`, each in a process of its own: processor time and the most memory of the whole
process count, and the ratios of both. The least of several rounds counts, since whatever else the machine
does only ever adds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FEW = ("monitor", "label", "predicted", "is_ood", "alarm", "score")
VARIANTS = {
    "few": FEW,
    "few, interleaved": FEW,
    "tracks": ("id", *FEW, "track"),
    "tracks, shuffled": ("id", *FEW, "track"),
    "times": (*FEW, "timestamp"),
    "names": (*FEW, "category", "faultload", "severity"),
    "all": (
        *("id", *FEW, "cancelled", "decision", "confidence", "category", "faultload", "severity", "track"),
        *("timestamp", "monitor_time_us"),
    ),
}
"""Which columns a log has; with `names` classes have names, and interleaved the monitors take turns."""
MOST = {".csv": (3.0, 1.5), ".parquet": (1.5, 1.5)}
"""At most so many times the processor time, and the memory, of reading."""
READ = {
    ".csv": "import pandas as pd, sys; pd.read_csv(sys.argv[1], engine='pyarrow')",
    ".parquet": "import pandas as pd, sys; pd.read_parquet(sys.argv[1])",
}
LENGTH_OF_TRACK = 200


def make_logs(variant: str, n: int, paths: Sequence[Path]) -> None:
    """Write logs of `n` instances that are not there yet."""
    # Not above: a process counts the memory of the one that started it as its own.
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    from judging_speed import readouts

    instances, alarms = readouts(0, 0, n)
    position = instances["position"].to_numpy()
    moment = np.datetime64("2026-11-19T00:00:00.000") + 40 * position.astype("timedelta64[ms]")
    instances["timestamp"] = pd.Series(np.datetime_as_string(moment), dtype="str")
    instances["track"] = pd.Series("drive-" + pd.Series(position // LENGTH_OF_TRACK).astype("str"))
    whole = alarms.merge(instances.drop(columns="id"), on="position")
    if variant == "names":
        names = np.array([*(f"sign of class {number}" for number in range(100)), "-1"])
        for column in ("label", "predicted"):
            whole[column] = pd.Series(names[whole[column].to_numpy()], dtype="str")
    if "interleaved" in variant:
        whole = whole.sort_values("position", kind="stable")
    if "shuffled" in variant:
        whole = whole.sample(frac=1.0, random_state=0)
    table = pa.Table.from_pandas(whole[list(VARIANTS[variant])], preserve_index=False)
    for path in paths:
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="needed"))
        else:
            pyarrow.parquet.write_table(table, path)


def cost(command: Sequence[str]) -> tuple[float, float]:
    """Return the processor time of a process in seconds, and the most memory it held in MB."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6


def compared(path: Path, rounds: int) -> None:
    """Judge a log and read it, and print what each took."""
    judge = [
        sys.executable,
        "-c",
        "import sys; from farm.cli import main; sys.exit(main())",
        "judge",
        str(path),
        "--format",
        "json",
    ]
    read = [sys.executable, "-c", READ[path.suffix], str(path)]
    pairs = [(cost(judge), cost(read)) for _ in range(rounds)]
    (seconds, megabytes), (seconds_read, megabytes_read) = (
        [min(values) for values in zip(*side, strict=True)] for side in zip(*pairs, strict=True)
    )
    most, most_memory = MOST[path.suffix]
    print(
        f"{path.name:24} {path.stat().st_size / 1e6:5.0f} MB: {seconds:5.2f} s, {megabytes:5.0f} MB; read "
        f"{seconds_read:5.2f} s, {megabytes_read:5.0f} MB; {seconds / seconds_read:.2f} times the time "
        f"(at most {most:g}), {megabytes / megabytes_read:.2f} the memory (at most {most_memory:g})",
        flush=True,
    )


def main() -> None:
    """Make the logs, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--only", choices=VARIANTS, nargs="*", default=[*VARIANTS])
    parser.add_argument("--suffix", choices=READ, nargs="*", default=[*READ])
    parser.add_argument("--folder", help="keep the logs there, and find them again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for variant in options.only:
            paths = [folder / f"{variant.replace(', ', '-')}{suffix}" for suffix in options.suffix]
            if missing := [path for path in paths if not path.exists()]:
                maker = multiprocessing.get_context("spawn").Process(
                    target=make_logs, args=(variant, options.instances, missing)
                )
                maker.start()
                maker.join()
            for path in paths:
                compared(path, options.rounds)


if __name__ == "__main__":
    main()
