"""An experiment by name, by file, or by the record of a run, and the user's own modules beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from farm.config.experiment import Experiment, single_experiment
from farm.config.files import Written, read_written


def written(where: str, overrides: Sequence[str] = ()) -> Written:
    """Read an experiment or a campaign by path or by bare name; of a run's `run.json`, what was run."""
    return read_written(where, overrides, recorded)


def load_experiment(where: str, overrides: Sequence[str] = ()) -> tuple[Experiment, Path]:
    """Return a single experiment, and the folder for relative paths and own modules.

    See `farm.config.files.read_written` for what it is found by.
    """
    found = written(where, overrides)
    return single_experiment(found), found.folder


def recorded(path: Path) -> tuple[dict[str, Any], Path]:
    """Read what was run, not yet checked, and where; here, where that is not told or not there."""
    # What reads readouts takes time to import, and most experiments come from a file.
    from farm.store.records import read_record
    from farm.store.run_form import SCHEMA, RepeatableForm

    record = read_record(path, SCHEMA, RepeatableForm)
    home = record.get("home")
    return record["experiment"], Path(home) if isinstance(home, str) and Path(home).is_dir() else Path()


@contextmanager
def importable(folder: Path, *, forget: bool = True) -> Iterator[None]:
    """Let an experiment name the user's own modules: those beside its file, then those of the current folder.

    Everything installed comes before them. They are forgotten afterwards, since another experiment may have
    another module of the same name; where `forget` is false, they stay, as all that a process imports. So do
    those of a folder that is on the path anyway.
    """
    folders = dict.fromkeys([str(folder.resolve()), str(Path.cwd())])
    places = [place for place in folders if place not in sys.path]
    sys.path.extend(places)
    before = set(sys.modules)
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
            if forget:
                _forget(Path(place), set(sys.modules) - before)


def _forget(folder: Path, new: set[str]) -> None:
    """Forget modules that lie in a folder; a package goes with all its parts."""
    own = {name for name in new if "." not in name and _lies_in(folder, sys.modules[name])}
    for name in new:
        if name.partition(".")[0] in own:
            del sys.modules[name]


def _lies_in(folder: Path, module: ModuleType) -> bool:
    file = Path(str(getattr(module, "__file__", None) or "/")).resolve()
    return folder == (file.parent.parent if file.name == "__init__.py" else file.parent)
