"""A data card in lines, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def card_lines(card: Mapping[str, Any]) -> list[str]:
    """Write a card for the terminal."""
    channels, height, width = card["shape"]
    lines = [
        f"{card['name']}: {len(card['classes'])} classes, {height} x {width} pixels (height x width), "
        f"{'grey' if channels == 1 else 'RGB'}",
        f"content hash: {card['content_hash']}",
        "",
        *_table(
            ["split", "images", "groups", "classes", "identical"],
            [
                [split[k] for k in ("name", "images", "groups", "classes", "identical")]
                for split in card["splits"]
            ],
        ),
        "",
        *_table(
            ["class", "train", "validation", "test"],
            [[c["name"], c["train"], c["validation"], c["test"]] for c in card["classes"]],
        ),
        "",
        f"boxes: {'yes' if card['boxes'] else 'no'}; masks: {'yes' if card['masks'] else 'no'}",
    ]
    for name, spread in card["conditions"].items():
        told = ", ".join(f"{key} {value:g}" for key, value in spread.items())
        lines.append(f"condition {name}: {told}")
    lines += [f"note {name}: {value}" for name, value in card["notes"].items()]
    return lines


def _table(heads: list[str], rows: list[list[Any]]) -> list[str]:
    cells = [heads, *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    return [
        "  ".join(
            v.ljust(w) if i == 0 else v.rjust(w) for i, (v, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
