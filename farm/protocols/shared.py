"""What several protocols check and say alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from farm.config.files import find_criteria
from farm.config.specs import ComponentSpec
from farm.statistics.wording import counted
from farm.store.amounts import in_bytes, in_words

SHARED = ("name", "description", "seed", "batch_size", "threads", "limits", "pictures")
"""Keys that mean in a campaign what they mean in a protocol's file."""


def check_once(named: Iterable[tuple[str, Sequence[object]]], *, renamed: Sequence[str]) -> None:
    """Raise where a key of a file names something twice; what `renamed` keys name may have other names."""
    for key, names in named:
        for name in names:
            if names.count(name) > 1:
                how = ", or name it with 'as'" if key in renamed else ""
                raise ValueError(f"{key}: '{name}' stands there twice; leave one out{how}")


def titled(spec: ComponentSpec) -> str:
    """Return what tables call a component."""
    return spec.alias or spec.name


def as_written(spec: ComponentSpec) -> dict[str, Any]:
    """Return a component as a campaign's file would say it."""
    return spec.model_dump(mode="json", by_alias=True, exclude_unset=True)


def fixed_workload(spec: ComponentSpec, seed: int, title: str | None = None) -> dict[str, Any]:
    """Return a workload that is the same in all repetitions, called as it calls itself, or by a title.

    With a title it is another one also to itself: what draws its images by its name draws others.
    """
    said, own = as_written(spec), spec.parameters.get("title")
    if title is not None:
        said |= {"as": title}
    shown = title or spec.alias or (own if isinstance(own, str) else spec.name)
    return {"name": "fixed", "as": shown, "of": said, "seed": seed}


def check_criteria(name: str | None, folder: Path) -> None:
    """Read the file of criteria, if there is one: a mistake in it is to be told before all the hours."""
    if name is not None:
        from farm.gate.criteria_file import load_criteria

        load_criteria(find_criteria(name, folder))


def trainings_line(told: Mapping[str, Any], of: str) -> str:
    """Say which networks are trained, each once for all of something, as `Sizes.record` tells it."""
    kinds = [f"{n:,} of {name}" for name, n in told["trainings"].items() if name != "all"]
    each = f", each once for all {of}: {', '.join(kinds)}" if kinds else ""
    return f"trainings: {counted(told['trainings']['all'], 'network')}{each}"


def estimate_lines(told: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Say what a campaign takes as `Sizes.record` tells it: seconds by what takes them, and bytes."""
    if told["seconds"] is None:
        yield "hours and gigabytes: not known: no classifier could be made here and measured"
        return
    seconds = told["seconds"]
    total, at_once = sum(seconds.values()), "" if workers == 1 else f" with {workers} workers"
    shares = ", ".join(f"{100 * value / total:.0f} % {name}" for name, value in seconds.items() if value)
    yield f"time from the beginning: {in_words(total / workers)}{at_once} ({shares}), all epochs done"
    yield f"disk: about {in_bytes(told['nbytes'])} of readouts"
    yield "  from what untrained networks take for a few images, on this machine as busy as it is now"
    yield f"  not in it: {'; '.join(told['not_in_it'])}"
