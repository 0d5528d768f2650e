"""`farm test-monitor` and `farm new monitor`: for whoever writes a monitor."""

from __future__ import annotations

import argparse
import importlib.util
import json
import keyword
import re
import sys
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from farm import api, registry
from farm.config.yaml_reading import override
from farm.errors import ParameterError
from farm.report.terminal import text_console
from farm.run.loading import importable
from farm.store.files import new_folder

STYLES = {"passed": "green", "failed": "bold red", "skipped": "dim", "expected": "yellow"}
TEMPLATES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "{package}/monitor.py": "monitor.py",
    "tests/test_{package}.py": "test_monitor.py",
}
"""The files of a new package, and what each is made from."""


def test_monitor(options: argparse.Namespace) -> int:
    """Check a monitor against the rules that all monitors keep."""
    parameters: dict[str, Any] = {}
    for setting in options.set:
        override(parameters, setting)
    with importable(Path.cwd()):
        monitor = registry.monitor(options.name, **parameters)
        # Here, because it loads torch: a mistake in the name is told at once.
        from farm.testing import check_monitor

        if options.format == "table":
            print(f"checking {monitor!r} ...", file=sys.stderr, flush=True)
        report = check_monitor(monitor, raise_on_failure=False)
    if options.format == "json":
        print(json.dumps(report.record(), indent=2, default=str))
        return 0 if report.passed else 1
    console = text_console(sys.stdout, soft_wrap=True)
    for finding in report:
        console.print(f"{finding.outcome:<9}", style=STYLES[finding.outcome], end="")
        console.print(finding.rule + (f": {finding.detail}" if finding.detail else ""))
        if finding.outcome == "failed":
            console.print(f"         The rule: {finding.sentence}")
    console.print(f"\n{report.summary}")
    return 0 if report.passed else 1


def new_monitor(options: argparse.Namespace) -> int:
    """Write a working package with one monitor, its test and its entry point."""
    name = options.name
    _check_name(name)
    words = {
        "name": name,
        "package": name.replace("-", "_"),
        "cls": "".join(part.capitalize() for part in name.split("-")),
    }
    if hasattr(api, words["cls"]):
        raise ParameterError(f"NAME is '{name}'; expected another one: farm.api has its own {words['cls']}")
    out = Path(options.out or name)
    with new_folder(out) as folder:
        for path, template in TEMPLATES.items():
            file = folder / path.format(**words)
            file.parent.mkdir(exist_ok=True)
            text = (files("farm.commands") / "templates" / f"{template}.template").read_text(encoding="utf-8")
            file.write_text(Template(text).substitute(words), encoding="utf-8")
        title = f'"""The monitor `{name}`."""\n'
        (folder / words["package"] / "__init__.py").write_text(title, encoding="utf-8")
    print(f"Written to {out}. The method is in {out / words['package'] / 'monitor.py'}. Next:")
    print(f"  cd {out}")
    print(f"  farm test-monitor {words['package']}.monitor:{words['cls']}   check it before it is installed")
    print("  python -m pip install -e '.[test]'   register its name, wherever farm is run")
    print("  python -m pytest   check it, and run its own tests")
    return 0


def _check_name(name: str) -> None:
    """Check that a name can be a monitor's, a package's and a module's, and is still free."""
    package = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(package):
        raise ParameterError(
            f"NAME is '{name}'; expected lower-case words of letters and digits, joined by '-': my-monitor"
        )
    if (taken := registry.entries("monitor").get(name)) is not None:
        raise ParameterError(f"NAME is '{name}', which {taken.owner} has registered; choose another one")
    if importlib.util.find_spec(package) is not None:
        raise ParameterError(f"NAME is '{name}', but a module '{package}' exists already; choose another one")
