"""Records of folders: JSON whose keys and types are checked before anybody relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from farm.config.explaining import explain
from farm.errors import DataError
from farm.store.files import read_json


class Form(BaseModel):
    """What a record has to have, each of its type; whatever else it has is left as it is."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


def read_record(path: Path, schema: int, form: type[Form]) -> dict[str, Any]:
    """Read a folder's record, and check that it is of this schema and of this form."""
    record = read_json(path)
    if record.get("schema") != schema:
        raise DataError(f"{path}: schema is {record.get('schema')!r}; expected {schema}")
    check_record(record, form, str(path))
    return record


def check_record(record: Mapping[str, Any], form: type[Form], where: str) -> None:
    """Raise where a record is not of a form, naming the key and what was expected."""
    try:
        form.model_validate(record)
    except ValidationError as error:
        raise DataError(f"{where}: {explain(error, form, record, most=5)}; was it edited?") from None
