"""What changed of all that makes a cell, between its plan and its computing: in words, by what it is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SHOWN = 3
"""Changes, and files, that are named."""

MadeOf = Sequence[tuple[str, Mapping[str, Any]]]
"""By what it is of, such as `monitor 'knn'`: a digest of its `code`, its `packages`, and its `files`."""


def changeable(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Give of an identity what may change under the same experiment."""
    return {key: identity.get(key) or {} for key in ("code", "packages", "files")}


def changes(before: MadeOf, now: MadeOf, written: Sequence[Path]) -> str:
    """Say what changed; `written` are the files among them that were written since.

    Examples
    --------
    >>> was, now = ({"code": digest, "packages": {}, "files": {}} for digest in ("0a", "0b"))
    >>> changes([("monitor 'doubt'", was)], [("monitor 'doubt'", now)], [Path("/home/me/doubt.py")])
    "the code of monitor 'doubt' changed while the campaign ran (written meanwhile: /home/me/doubt.py)"
    """
    told = list(dict.fromkeys(_differences(before, now))) or ["what makes the cell"]
    files = f" (written meanwhile: {_some([str(path) for path in written], ', ')})" if written else ""
    return f"{_some(told, '; ')} changed while the campaign ran{files}"


def _differences(before: MadeOf, now: MadeOf) -> Iterator[str]:
    for (who, then), (_, later) in zip(before, now, strict=False):
        was, is_ = changeable(then), changeable(later)
        if was["code"] != is_["code"]:
            yield f"the code of {who}"
        for name in _differing(was["packages"], is_["packages"]):
            versions = [of["packages"].get(name, "not used") for of in (was, is_)]
            yield f"the package {name} of {who} ({versions[0]}, then {versions[1]})"
        for name in _differing(was["files"], is_["files"]):
            yield f"'{name.removeprefix('code: ')}' of {who}"


def _differing(was: Mapping[str, Any], is_: Mapping[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys([*was, *is_]) if was.get(name) != is_.get(name)]


def _some(told: Sequence[str], between: str) -> str:
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return between.join(told[:SHOWN]) + more
