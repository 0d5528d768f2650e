"""What a set of cut-outs consists of, what was left out, and what made it, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import PIL

from farm.store.files import json_digest
from farm.workloads.annotations.entry import CONDITIONS
from farm.workloads.crops.choosing import CropPlan
from farm.workloads.crops.rules import CropRules
from farm.workloads.listing import SPLITS

SCHEMA = 1


def crop_card(
    plan: CropPlan, rules: CropRules, *, clipped: int, images: Mapping[str, str], made_from: Mapping[str, Any]
) -> dict[str, Any]:
    """Count cut-outs by class, and by each condition, in each split; and objects that were left out.

    `images` are hashes of the source images, of which the card has one hash together, and `made_from` is what
    else made the set.
    """
    told = [name for name in CONDITIONS if any(crop.image.conditions.get(name) for crop in plan.crops)]
    return {
        "schema": SCHEMA,
        "classes": _by_split(((crop.label, crop.split) for crop in plan.crops), plan.classes),
        "conditions": {
            name: _by_split(
                (crop.image.conditions.get(name) or "not told", crop.split) for crop in plan.crops
            )
            for name in told
        },
        "objects": len(plan.crops) + sum(plan.left_out.values()),
        "left_out": [
            {"reason": reason, "class": label, "n": n} for (reason, label), n in sorted(plan.left_out.items())
        ],
        "boxes_clipped": clipped,
        "images": {"n": len(images), "content_hash": json_digest(dict(sorted(images.items())))},
        "made_by": {
            **made_from,
            **asdict(rules),
            "keep_occluded": sorted(rules.keep_occluded),
            "versions": {"farm-testbed": version("farm-testbed"), "pillow": PIL.__version__},
        },
    }


def _by_split(pairs: Iterable[tuple[str, str]], names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Count pairs of a name and a split; without `names` the most frequent leads."""
    counted = Counter(pairs)
    total = Counter[str]()
    for (name, _), n in counted.items():
        total[name] += n
    ordered = [name for name, _ in sorted(total.items(), key=lambda each: (-each[1], each[0]))]
    return [{"name": name, **{split: counted[name, split] for split in SPLITS}} for name in names or ordered]
