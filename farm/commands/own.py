"""`farm test-monitor`, `farm test-faultload` and `farm new`: for whoever writes a component."""

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
from typing import TYPE_CHECKING, Any, cast

from farm import api, registry
from farm.config.yaml_reading import override
from farm.errors import ParameterError
from farm.report.terminal import text_console
from farm.run.loading import importable
from farm.store.files import new_folder

if TYPE_CHECKING:
    from farm.registry import Kind
    from farm.testing import Report

STYLES = {"passed": "green", "failed": "bold red", "skipped": "dim", "expected": "yellow"}
TEMPLATES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "{package}/{kind}.py": "{kind}.py",
    "tests/test_{package}.py": "test_{kind}.py",
}
"""The files of a new package, and what each is made from."""
CHECKED = ("monitor", "faultload")
"""The kinds that there are rules for."""
WORK = {
    "monitor": "farm run quickstart --set monitors='[{name}, max-softmax]'",
    "faultload": "farm faults preview {name} --workload signs --out {name}.png",
    "model": "farm run quickstart --set classifier={name} --set monitors='[max-softmax]'",
}


def test_component(options: argparse.Namespace) -> int:
    """Check a monitor or a faultload against the rules that all of its kind keep."""
    parameters: dict[str, Any] = {}
    for setting in options.set:
        override(parameters, setting)
    with importable(Path.cwd()):
        made = registry.make(options.kind, options.name, parameters)
        # Here, because it loads torch: a mistake in the name is told at once.
        from farm import testing

        if options.format == "table":
            print(f"checking {made!r} ...", file=sys.stderr, flush=True)
        report = (
            testing.check_monitor(made, raise_on_failure=False)
            if isinstance(made, api.Monitor)
            else testing.check_faultload(cast(api.Faultload, made), raise_on_failure=False)
        )
    return _told(report, options.format)


def _told(report: Report, style: str) -> int:
    """Print the verdicts; give the exit code."""
    if style == "json":
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


def new(options: argparse.Namespace) -> int:
    """Write a working package with one component, its test and its entry point."""
    name, kind = options.name, options.kind
    _check_name(kind, name)
    words = {
        "kind": kind,
        "name": name,
        "package": name.replace("-", "_"),
        "cls": "".join(part.capitalize() for part in name.split("-")),
    }
    if hasattr(api, words["cls"]):
        raise ParameterError(f"NAME is '{name}'; expected another one: farm.api has its own {words['cls']}")
    check = f"farm test-{kind} {words['package']}.{kind}:{words['cls']}" if kind in CHECKED else ""
    words["check"] = (
        f"- Check it against the rules of all {kind}s, before it is installed, too: `{check}`\n"
        if check
        else ""
    )
    words["work"] = WORK[kind].format(name=name)
    out = Path(options.out or name)
    with new_folder(out) as folder:
        for path, template in TEMPLATES.items():
            file = folder / path.format(**words)
            file.parent.mkdir(exist_ok=True)
            text = (files("farm.commands") / "templates" / f"{template.format(**words)}.template").read_text(
                encoding="utf-8"
            )
            file.write_text(Template(text).substitute(words), encoding="utf-8")
        title = f'"""The {kind} `{name}`."""\n'
        (folder / words["package"] / "__init__.py").write_text(title, encoding="utf-8")
    print(f"Written to {out}. What it does is in {out / words['package'] / kind}.py. Next:")
    print(f"  cd {out}")
    if check:
        print(f"  {check}   check it before it is installed")
    print("  python -m pip install -e '.[test]'   register its name, wherever farm is run")
    print("  python -m pytest   check it, and run its own tests")
    return 0


def _check_name(kind: Kind, name: str) -> None:
    """Check that a name can be a component's, a package's and a module's, and is still free."""
    package = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(package):
        raise ParameterError(
            f"NAME is '{name}'; expected lower-case words of letters and digits, joined by '-': my-{kind}"
        )
    if (taken := registry.entries(kind).get(name)) is not None:
        raise ParameterError(f"NAME is '{name}', which {taken.owner} has registered; choose another one")
    if importlib.util.find_spec(package) is not None:
        raise ParameterError(f"NAME is '{name}', but a module '{package}' exists already; choose another one")
