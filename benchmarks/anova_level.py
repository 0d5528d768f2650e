"""How often an analysis of variance finds an effect of monitors that are all alike.

`python benchmarks/anova_level.py`. Three monitors see ten faults in each run, and a run does something to
each monitor that is as large as what is left over. Of so many tables it is counted in how many the
monitor shows at 5 %: where each value counts as independent of all others, and where runs are blocks;
whole tables, and such with gaps. It is counted, too, in how many any two monitors are told apart: by the
paired differences, and by Tukey's with one error for all pairs; where monitors spread alike, and where one
spreads twenty times as much.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from farm.statistics.anova import anova
from farm.statistics.anova_result import Anova
from farm.statistics.differences import LevelDifferences, level_differences, studentized_p


@dataclass(frozen=True)
class Setting:
    """One kind of table."""

    runs: int
    missing: float
    """Which share of a table's values there is not."""
    monitors: int = 3
    faults: int = 10
    spread: float = 1.0
    """How much the first monitor varies, where the others vary by 1."""


def table(random: np.random.Generator, of: Setting) -> pd.DataFrame:
    """Draw a table in which all monitors are alike but for chance; faults differ."""
    shape = (of.runs, of.monitors, of.faults)
    values = random.normal(size=shape) + random.normal(size=(of.runs, of.monitors, 1))
    values[:, 0] *= of.spread
    values += random.normal(size=of.faults)
    run, monitor, fault = (axis.ravel() for axis in np.indices(shape))
    made = pd.DataFrame({"run": run, "monitor": monitor, "fault": fault, "value": values.ravel()})
    return made[random.random(len(made)) >= of.missing]


def rejected(of: Setting, how: str, *, tables: int, seed: int = 1) -> float:
    """Return in which share of tables the monitor shows: `independent`, by `blocks`, or `uncorrected`."""
    random, shown = np.random.default_rng(seed), 0
    for _ in range(tables):
        drawn = table(random, of)
        found = anova(drawn, "value", ["monitor", "fault"], blocks=None if how == "independent" else "run")
        assert isinstance(found, Anova), found
        effect = found.effects[0]
        shown += effect.p < effect.alpha if how == "uncorrected" else effect.shows
    return shown / tables


def told_apart(of: Setting, how: str, *, tables: int, seed: int = 1) -> float:
    """Return in which share of tables any two monitors are told apart: `paired`, or by a `pooled` error."""
    random, told = np.random.default_rng(seed), 0
    for _ in range(tables):
        found = anova(table(random, of), "value", ["monitor", "fault"], blocks="run")
        assert isinstance(found, Anova), found
        compared, effect = level_differences(found, "monitor"), found.effects[0]
        assert isinstance(compared, LevelDifferences), compared
        if how == "paired":
            told += any(pair.differ for pair in compared.pairs)
        else:
            assert effect.error is not None
            error = (effect.error / effect.error_df / (of.runs * of.faults)) ** 0.5
            p = studentized_p(float(np.ptp(compared.means)) / error, of.monitors, effect.error_df)
            told += p < effect.alpha
    return told / tables


def main() -> None:
    """Measure all settings, and print in how many tables an effect was found that is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[3, 5, 10, 20])
    parser.add_argument("--tables", type=int, default=1000)
    options = parser.parse_args()
    for runs in options.runs:
        for missing in (0.0, 0.1):
            started, of = time.perf_counter(), Setting(runs, missing)
            ways = ("independent", "blocks", *(() if missing else ("uncorrected",)))
            told = [f"{how} {100 * rejected(of, how, tables=options.tables):.1f} %" for how in ways]
            took = time.perf_counter() - started
            print(f"{runs:2} runs, {100 * missing:.0f} % missing: {', '.join(told)} ({took:.0f} s)")
            for monitors, spread in ((3, 1.0), (3, 20.0), (6, 20.0)):
                of = Setting(runs, missing, monitors, spread=spread)
                ways = ("paired", *(() if missing else ("pooled",)))
                told = [f"{how} {100 * told_apart(of, how, tables=options.tables):.1f} %" for how in ways]
                print(f"   of {monitors} monitors, one spread {spread:g}, told apart: {', '.join(told)}")


if __name__ == "__main__":
    main()
