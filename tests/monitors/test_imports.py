"""What importing monitors brings along: a guard that is loaded fits nothing."""

from __future__ import annotations

import subprocess
import sys


def test_no_monitor_imports_what_only_its_fit_needs() -> None:
    code = (
        "import sys\nfrom importlib import import_module\nfrom farm import registry\n"
        "targets = [each.target.partition(':')[0] for each in registry.entries('monitor').values()]\n"
        "for name in {name for name in targets if name.startswith('monitors.')}: import_module(name)\n"
        "print(len(targets) > 30, [m for m in ('sklearn', 'scipy.stats', 'scipy.optimize', 'pandas') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
