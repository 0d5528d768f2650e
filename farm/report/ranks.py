"""Monitors by their mean ranks over sets, each with the p of its pairs, as a table for people."""

from __future__ import annotations

from farm.judging.inspection import Look, LookCell
from farm.statistics.ranks import RankComparison
from farm.statistics.wording import p_cell

NAMES, COLUMN = 30, 8
"""The letters that names with their mean ranks take, and a column of p."""


def rank_look(category: str, ranks: RankComparison, width: int = 100) -> Look:
    """Return a row a monitor: its mean rank, and p beside each monitor above it, or beside the control.

    Where these are too many for the width, p beside the first monitor is shown alone.
    """
    monitors, control = ranks.monitors, ranks.control
    numbered = [f"{place} {monitor}" for place, monitor in enumerate(monitors, start=1)]
    every = NAMES + COLUMN * (len(monitors) - 1) <= width
    columns = [control] if control else monitors[:-1] if every else monitors[:1]
    rows: list[tuple[LookCell, ...]] = []
    for place, monitor in enumerate(monitors):
        # Beside a control p stands in each row but its own; else below the diagonal.
        others = [m for m in columns if m != monitor] if control else columns[:place]
        p = [p_cell(ranks.pair(monitor, m).p_holm) for m in others]
        rows.append((numbered[place], f"{ranks.mean_ranks[place]:.2f}", *p, *[""] * (len(columns) - len(p))))
    what = f"p beside {control}" if control else "p of each pair" if every else f"p beside {monitors[0]}"
    notes = [f"Friedman's {ranks.friedman}; critical difference {ranks.critical_difference:.3f} (Nemenyi)"]
    notes += [f"{ranks.too_few}; Friedman and Nemenyi are not asked either"] if ranks.too_few else []
    notes += [] if control or every else ["p of all pairs: --table pairs, or --format json"]
    heads = ["p"] if len(columns) == 1 else [f"p to {place + 1}" for place in range(len(columns))]
    title = f"{category}: mean ranks over {ranks.n_sets} sets, and {what}"
    return Look(title, ("monitor", "rank", *heads), rows, tuple(notes))
