"""Something in torchvision's place, which pytorch-ood imports, and whose detectors never use it.

Where torch was built without it there is often no torchvision to go with it, and pytorch-ood alone is not to
blame. Only the tests of its detectors get it: for everybody else torchvision is as missing as before.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

THEIRS = ("torchvision", "pytorch_ood")
SOURCE = '''
"""Every name is there, and is an empty class."""
import sys
from types import ModuleType

class Part(ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})

for part in ("datasets", "models", "transforms"):
    globals()[part] = sys.modules[f"{__name__}.{part}"] = Part(f"{__name__}.{part}")
for part in ("datasets.utils", "models.resnet", "transforms.functional"):
    sys.modules[f"{__name__}.{part}"] = Part(f"{__name__}.{part}")
'''
_imported: dict[str, ModuleType] = {}
"""What was imported beside a stand-in: importing it anew each time would take seconds."""


@contextmanager
def torchvision_at_hand(folder: Path) -> Iterator[None]:
    """Put a stand-in first on the path, which new processes take over, unless torchvision can be imported."""
    try:
        importlib.import_module("torchvision")
    except Exception:  # noqa: BLE001 - it is missing, or was built for another torch
        pass
    else:
        yield
        return
    (folder / "torchvision").mkdir(exist_ok=True)
    (folder / "torchvision" / "__init__.py").write_text(SOURCE, encoding="utf-8")
    _forget()
    sys.modules.update(_imported)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        _imported.update(_forget())


def _forget() -> dict[str, ModuleType]:
    """Take both out of what is imported."""
    own = [name for name in sys.modules if name.partition(".")[0] in THEIRS]
    return {name: sys.modules.pop(name) for name in own}
