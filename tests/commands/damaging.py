"""Valid files, damaged at random: bytes, values of JSON and YAML, and records that are signed again."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from farm.store.files import SIGNATURE, file_digest, signed

EXTREME: tuple[Any, ...] = (
    *(None, True, False, "", " ", "=1+1", "\x1b[31m", "ü\u202e", "nan", "1e999", "../..", "/", "a" * 3000),
    *(-1, 0, 1, 0.5, -0.0, 1e308, float("inf"), float("nan"), 2**31, 2**32 - 1, 2**63, 10**30, -(2**64)),
    *(
        [],
        {},
        [[]],
        [None],
        {"": None},
        {"name": 1},
        [1, "a"],
        {"a": {"b": []}},
        "2020-02-30",
        "0x_",
        "oracle",
    ),
)
"""Values that nobody expects where another one stood."""
TEXTS: tuple[bytes, ...] = (
    *(
        b"\x00",
        b"\xff\xfe",
        b"\r",
        b"\r\n",
        b"\n",
        b"\n\n",
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b":",
        b"- ",
        b"&a ",
    ),
    *(
        b"*a",
        b"[" * 3000,
        b"{" * 3000,
        b"!!int x",
        b"!!float .",
        b"!!binary x",
        b"!!set {a}",
        b"!!timestamp x",
    ),
    *(
        b"2020-02-30",
        b"0x_",
        b"0b_",
        b"1:99",
        b"<<: x",
        b"!!python/object:os.system",
        b"---\n",
        b"...",
        b"%YAML 9",
    ),
    *(
        b"99999999999999999999",
        b"-1",
        b"1e999",
        b"nan",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xae",
        b"\x1b[2J",
        b"?",
        b"|",
    ),
)
"""Bytes that mean something in one format or another."""


SCALARS = (
    *(
        "2020-02-30",
        "2020-01-01",
        "0x_",
        "0b_",
        "0o9",
        "1:99",
        "!!int x",
        "!!int ''",
        "!!float .",
        "!!float x",
        "~",
    ),
    *(
        "!!bool x",
        "!!null x",
        "!!binary x",
        "!!timestamp x",
        "!!set {a}",
        "!!omap [a]",
        "!!seq x",
        "!!map x",
        "<<",
    ),
    *(
        "!!python/object:os.system {}",
        "!x y",
        "&a [*a]",
        "*a",
        "{<<: x}",
        "{<<: [x]}",
        "{? [a] : b}",
        "9" * 5000,
    ),
    *(
        "[" * 200,
        "{" * 3000,
        "- " * 3000,
        "? " * 2000,
        ".inf",
        "-.inf",
        ".nan",
        "1e400",
        "|",
        ">-",
        "@",
        "%",
        "yes",
    ),
)
"""Texts that YAML takes for a value of a type of its own, and often of none."""
_SCALAR = re.compile(r"(?:: |- )([^\n]*)")
_WORD = re.compile(rb"[\w.+-]+|\r?\n")


def damage(rng: random.Random, path: Path) -> None:
    """Damage a file: by its values where it has some that are named, or by its bytes."""
    ways = {".json": (_json_text,), ".yaml": (_yaml_text, _yaml_scalar)}.get(path.suffix, ())
    if ways and rng.random() < 0.7:
        text = rng.choice(ways)(rng, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        return
    data = path.read_bytes()
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        data = _damaged_bytes(rng, data)
    path.write_bytes(data)


def signed_again(path: Path) -> None:
    """Correct the checksums of a record, of itself and of the files beside it, where it still has any."""
    try:
        record = _parsed(path)
        if isinstance(record.get("files"), dict):
            for name in record["files"]:
                if (file := path.parent / str(name)).is_file():
                    record["files"][name] = file_digest(file)
        record = signed(record) if SIGNATURE in record else record
    except Exception:  # noqa: BLE001 - too damaged to be signed
        return
    if path.suffix == ".json":
        path.write_text(json.dumps(record), encoding="utf-8")
    else:
        comment = path.read_text(encoding="utf-8").partition("\n")[0]
        path.write_text(f"{comment}\n{yaml.safe_dump(record, sort_keys=False)}", encoding="utf-8")


def _parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def _json_text(rng: random.Random, text: str) -> str:
    return json.dumps(_damaged_value(rng, json.loads(text)))


def _yaml_text(rng: random.Random, text: str) -> str:
    comment = f"{text.partition(chr(10))[0]}\n" if text.startswith("#") else ""
    return comment + yaml.safe_dump(
        _damaged_value(rng, yaml.safe_load(text)), sort_keys=False, allow_unicode=True
    )


def _yaml_scalar(rng: random.Random, text: str) -> str:
    """Write something that YAML takes for a value of a type of its own in another one's place."""
    start, end = rng.choice(list(_SCALAR.finditer(text))).span(1)
    return text[:start] + rng.choice(SCALARS) + text[end:]


def _damaged_value(rng: random.Random, value: Any) -> Any:
    """Replace, remove, repeat or rename something somewhere in a value."""
    places = [place for place in _places(value) if place]
    if not places:
        return deepcopy(rng.choice(EXTREME))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        *above, key = rng.choice(places)
        try:
            inside = value
            for part in above:
                inside = inside[part]
            _change(rng, inside, key, value)
        except (KeyError, IndexError, TypeError, AttributeError):  # an earlier change took that place away
            continue
    return value


def _change(rng: random.Random, inside: Any, key: Any, whole: Any) -> None:
    changes: dict[str, Callable[[], Any]] = {
        "extreme": lambda: inside.__setitem__(key, deepcopy(rng.choice(EXTREME))),
        "gone": lambda: inside.__delitem__(key),
        "wrapped": lambda: inside.__setitem__(key, rng.choice(([inside[key]], {"name": inside[key]}))),
        "text": lambda: inside.__setitem__(key, str(inside[key])),
        "other": lambda: inside.__setitem__(key, rng.choice(_values(whole))),
        "renamed": lambda: inside.__setitem__(rng.choice(("", "extra", "name", "0")), inside.pop(key)),
    }
    changes[rng.choice(("extreme", "extreme", "extreme", *changes))]()


def _places(value: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [()]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        found += [(key, *place) for place in _places(inside)]
    return found


def _values(whole: Any) -> list[Any]:
    """Return copies of what else there is, so that nothing holds itself."""
    found = []
    for place in _places(whole):
        value = whole
        for part in place:
            value = value[part]
        found.append(json.loads(json.dumps(value, default=str)))
    return found


def _damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    # Headers and footers decide most, and are small.
    n = len(data)
    at = rng.choice((rng.randrange(n + 1), min(rng.randrange(400), n), max(n - rng.randrange(400), 0)))
    length = min(rng.choice((1, 1, 2, 8, 100, n)), n - at)
    piece = data[at : at + length]
    kind = rng.randrange(9)
    if kind == 0:
        return (
            data[:at]
            + bytes(octet ^ (1 << rng.randrange(8)) for octet in piece[:8])
            + data[at + len(piece[:8]) :]
        )
    if kind == 1:
        return data[:at] + data[at + length :]
    if kind == 2:
        return data[:at] + piece + piece + data[at + length :]
    if kind == 3:
        return data[:at] + rng.choice(TEXTS) + data[at:]
    if kind == 4:
        return data[:at]
    if kind == 5:  # a number, of one octet or more
        width = rng.choice((1, 2, 4, 8))
        return data[:at] + rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * width + data[at + width :]
    if kind in (7, 8):  # a word, a number or a line's end in a text, as somebody might write it
        words = list(_WORD.finditer(data))
        if not words:
            return b""
        start, end = rng.choice(words).span()
        return data[:start] + rng.choice(TEXTS) + data[end:]
    digits = [i for i in range(max(at - 200, 0), min(at + 200, n)) if data[i : i + 1].isdigit()]
    if not digits:
        return rng.randbytes(rng.randrange(200))
    where = rng.choice(digits)
    return data[:where] + rng.choice((b"-", b"9" * 15, b"0", b"9" * 30, b".", b"e9")) + data[where + 1 :]
