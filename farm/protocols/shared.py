"""What several protocols check and say alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from farm.store.amounts import in_bytes, in_words


def check_once(named: Iterable[tuple[str, Sequence[object]]], *, renamed: Sequence[str]) -> None:
    """Raise where a key of a file names something twice; what `renamed` keys name may have other names."""
    for key, names in named:
        for name in names:
            if names.count(name) > 1:
                how = ", or name it with 'as'" if key in renamed else ""
                raise ValueError(f"{key}: '{name}' stands there twice; leave one out{how}")


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
