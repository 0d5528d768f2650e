"""Arrays of any plain type in one file, without pickle: what comes out is what went in, bit for bit."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from farm.api import State
from farm.errors import ComponentFailure

ENDING = ".npy"


def write_arrays(path: Path, arrays: State) -> None:
    """Write arrays to a file that `numpy.load` opens too.

    `numpy.savez` takes names as keywords, and so not every name.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            if np.asarray(array).dtype.hasobject:
                raise ComponentFailure(f"the array '{name}' holds Python objects; expected numbers or text")
            with archive.open(name + ENDING, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
