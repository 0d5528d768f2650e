"""A comparison as a folder: all that was found, without the instances that it was found on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from farm.comparing.conclusions import Conclusion
from farm.comparing.measures import measured
from farm.comparing.sections import Section
from farm.comparing.sets import BenchmarkSet
from farm.errors import DataError
from farm.judging.promises import RealisedPromise
from farm.store.files import check_signature, new_folder, signed, write_json
from farm.store.records import Form, read_record

if TYPE_CHECKING:
    from farm.comparing.comparison import Comparison

SCHEMA = 1
RECORD = "comparison.json"
_SET = ("workload", "classifier", "faultload", "category", "severity", "records")
_PLAIN = ("by", "alpha", "undefined", "replicates", "seed", "monitors", "notes", "control")


class ComparisonForm(Form):
    """What `comparison.json` has to have, beside its `found`."""

    measure: str
    by: str
    alpha: float
    undefined: str
    replicates: int | None
    seed: int
    monitors: list[str]
    notes: list[str]
    control: str | None
    sets: list[dict[str, Any]]
    found: dict[str, Any]
    checksum: str


@dataclass(frozen=True)
class _Found:
    sections: tuple[Section, ...]
    conclusions: tuple[Conclusion, ...]
    promises: tuple[RealisedPromise, ...] = ()


def save_comparison(comparison: Comparison, folder: Path) -> Path:
    """Write a comparison's folder, whole or not at all."""
    found = _Found(comparison.sections, comparison.conclusions, comparison.promises)
    record = {
        "schema": SCHEMA,
        "measure": comparison.measure.name,
        **{name: getattr(comparison, name) for name in _PLAIN},
        "sets": [{name: getattr(one, name) for name in _SET} for one in comparison.sets],
        "found": json.loads(to_json(found, inf_nan_mode="strings")),
    }
    with new_folder(folder) as temporary:
        write_json(temporary / RECORD, signed(record))
    return folder


def load_comparison(folder: Path) -> Comparison:
    """Read a comparison's folder, checking that it is unchanged; its sets have no streams."""
    from farm.comparing.comparison import Comparison  # which saves itself by this module

    path = folder / RECORD
    if not path.exists():
        raise DataError(f"{folder} holds no {RECORD}; expected a folder that `farm compare --out` wrote")
    record = read_record(path, SCHEMA, ComparisonForm)
    check_signature(path, record)
    try:
        found = TypeAdapter(_Found).validate_python(record["found"])
        sets = tuple(BenchmarkSet(**{name: one[name] for name in _SET}) for one in record["sets"])
    except (KeyError, ValidationError) as error:
        raise DataError(f"{path} does not tell all of a comparison; was it edited? Compare again") from error
    plain = {name: record[name] for name in _PLAIN}
    plain |= {name: tuple(record[name]) for name in ("monitors", "notes")}
    return Comparison(
        measure=measured(record["measure"]),
        sets=sets,
        sections=found.sections,
        conclusions=found.conclusions,
        promises=found.promises,
        **plain,
    )
