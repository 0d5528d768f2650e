"""Runs a command, and notes the computing time and the peak memory of it and of all that it started.

A process of its own and a small one: whoever is started counts the memory of who started it as its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

UNITS_A_MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024
"""The peak is told in bytes there, and in kibibytes elsewhere."""

if __name__ == "__main__":
    note, *command = sys.argv[1:]
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(note).write_text(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / UNITS_A_MEGABYTE]))
    sys.exit(code)
