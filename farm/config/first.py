"""A first experiment: a sensible one for a network and images, as a file that is written for editing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from farm.config.files import EXPERIMENTS
from farm.config.yaml_reading import parse_yaml

TEMPLATE = EXPERIMENTS / "try.yaml"
COMMENTS = {
    "workload": "images with classes; how many, how large: farm describe workload NAME",
    "classifier": "what the monitors watch; your own takes mean and std too, a number a channel",
    "faultload": "what they should notice: farm list faultloads",
    "stream": "every ID test image, and of each fault all there is; {ood_share: 0.25} fixes a share",
    "batch_size": "1 is one image at a time, as in a car: slower, with true times",
    "monitors": "farm list monitors; with a parameter: {name: knn, k: 10}",
}


def first_experiment(
    workload: Mapping[str, Any], classifier: Mapping[str, Any], ood: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return an experiment with novelty, a few corruptions, and monitors of each family."""
    values = cast(dict[str, Any], parse_yaml(TEMPLATE.read_text(encoding="utf-8"), str(TEMPLATE)))
    made_up, *corruptions = values["faultload"]
    novel = list(_novelty(workload, ood)) or [made_up]
    return values | {"workload": workload, "classifier": classifier, "faultload": [*novel, *corruptions]}


def _novelty(workload: Mapping[str, Any], ood: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Name OOD images by their file or folder, apart from each other and from the ID images."""
    taken = {_title(workload)}
    for images in ood:
        title = name = _title(images)
        while name in taken:
            name = f"{title}-{len(taken)}"
        taken.add(name)
        renamed = {} if name == title else {"title": name}
        yield {"name": "novelty", "as": f"novelty-{name}", "workload": {**images, **renamed}}


def _title(images: Mapping[str, Any]) -> str:
    return Path(images.get("path", images["name"])).stem


def experiment_text(
    values: Mapping[str, Any], about: Sequence[str], others: Mapping[str, Sequence[str]]
) -> str:
    """Write an experiment with comments: what it is about, each key, and what else could stand there."""
    lines = [f"# {line}" for line in about]
    for key, value in values.items():
        comment = f"   # {COMMENTS[key]}" if key in COMMENTS else ""
        if isinstance(value, list):
            lines += [f"{key}:{comment}", *(f"  - {flow(one)}" for one in value)]
            lines += [f"  # - {other}" for other in others.get(key, ())]
        else:
            lines.append(f"{key}: {flow(value)}{comment}")
            lines += [f"# {key}: {other}" for other in others.get(key, ())]
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """Write a value on one line of YAML.

    Examples
    --------
    >>> flow({"name": "npz", "path": "my images.npz"}), flow(3)
    ('{name: npz, path: my images.npz}', '3')
    """
    in_list = yaml.safe_dump(
        [value], default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True
    )
    return in_list.strip()[1:-1]
