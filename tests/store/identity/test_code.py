"""The digest of code: what changes it, what does not, and that nothing is imported for it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import DataError, ExperimentError, UserError
from farm.registry import HOME
from farm.store.identity import CodeDigest, code, code_digest, memory, testbed_digest
from farm.store.identity.code import NOT_INSTALLED
from tests.wording import refused

MODULES = {
    "mine.py": "import torch\nfrom helper import a\nfrom parts import deep\n",
    "helper.py": "a = 1\n",
    "parts/__init__.py": "",
    "parts/deep.py": "from .deeper.deepest import x\nfrom . import beside\n",
    "parts/beside.py": "from .. import nothing_above\n",
    "parts/deeper/__init__.py": "",
    "parts/deeper/deepest.py": "from ..cousin import x\n",
    "parts/cousin.py": "x = 1\n",
    "parts/unused.py": "y = 1\n",
    "unrelated.py": "z = 1\n",
}
PARTS = ["parts", "parts.beside", "parts.cousin", "parts.deep", "parts.deeper", "parts.deeper.deepest"]
USED = ["helper", "mine", *PARTS]


@pytest.fixture
def still(monkeypatch) -> None:
    """Let everything have been written long ago, and nothing be known yet."""
    monkeypatch.setattr(memory, "UNSETTLED_SECONDS", -1000)
    monkeypatch.setattr(code, "_KNOWN", {})


def written(folder: Path, modules: dict[str, str]) -> Path:
    for name, text in modules.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def names(folder: Path, *modules: str) -> list[str]:
    files = (file.relative_to(folder).as_posix() for file in code_digest(modules, folder).files)
    return [file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files]


def ours(code: CodeDigest) -> set[str]:
    return {file.relative_to(HOME).as_posix() for file in code.files if HOME in file.parents}


def test_a_module_counts_with_all_it_imports_from_beside_the_experiment(tmp_path) -> None:
    code = code_digest(["mine"], written(tmp_path, MODULES))
    assert names(tmp_path, "mine") == USED
    assert list(code.packages) == ["torch"]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_digest_changes_with_what_is_used_and_only_with_that(tmp_path, name) -> None:
    before = code_digest(["mine"], written(tmp_path, MODULES))
    (tmp_path / name).write_text(MODULES[name] + "# one comment more\n")
    after = code_digest(["mine"], tmp_path)
    assert (after.digest != before.digest) == (name not in ("parts/unused.py", "unrelated.py"))


def test_a_change_within_the_tick_of_a_clock_is_seen(tmp_path, monkeypatch) -> None:
    """The state says nothing new; what is young is not remembered, by file or by walk."""
    now = time.time_ns() + 10**12  # however slow the machine is
    monkeypatch.setattr(code, "states_of", lambda paths: dict.fromkeys(paths, (6, now, now, 1)))
    digests = []
    for number in range(2):
        (tmp_path / "quick.py").write_text(f"a = {number}\n")
        digests.append(code_digest(["quick"], tmp_path).digest)
    assert digests[0] != digests[1]


@pytest.mark.usefixtures("still")
def test_a_remembered_file_is_read_again_when_its_state_changes(tmp_path) -> None:
    written(tmp_path, MODULES)
    first = code_digest(["mine"], tmp_path)
    assert code_digest(["mine"], tmp_path) is first
    file = tmp_path / "parts" / "cousin.py"
    was = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    changed = code_digest(["mine"], tmp_path)
    assert changed.digest != first.digest
    (tmp_path / "parts" / "nothing_above.py").write_text("")
    assert code_digest(["mine"], tmp_path) == changed
    (tmp_path / "parts" / "deeper" / "deepest").mkdir()
    (tmp_path / "parts" / "deeper" / "deepest" / "__init__.py").write_text("")  # comes before deepest.py
    assert code_digest(["mine"], tmp_path).digest != changed.digest


@pytest.mark.usefixtures("still")
def test_a_folder_in_which_a_module_appears_is_looked_at_again(tmp_path) -> None:
    written(tmp_path, {"own/__init__.py": "from own import later", "own/a.py": ""})
    before = code_digest(["own"], tmp_path)
    (tmp_path / "own" / "later.py").write_text("")
    assert code_digest(["own"], tmp_path).digest != before.digest


def test_a_copy_elsewhere_has_the_same_digest(tmp_path) -> None:
    here = code_digest(["mine"], written(tmp_path / "here", MODULES))
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    there = code_digest(["mine"], tmp_path / "there")
    assert there.digest == here.digest
    assert set(there.files).isdisjoint(here.files)


def test_the_same_source_under_another_name_is_other_code(tmp_path) -> None:
    written(tmp_path, {"one.py": "a = 1\n", "two.py": "a = 1\n"})
    assert code_digest(["one"], tmp_path).digest != code_digest(["two"], tmp_path).digest


def test_a_relative_folder_is_one_from_here(tmp_path, monkeypatch) -> None:
    written(tmp_path, MODULES)
    absolute = code_digest(["mine"], tmp_path)
    monkeypatch.chdir(tmp_path)
    assert code_digest(["mine"], Path()) == absolute


def test_nothing_is_imported(tmp_path) -> None:
    written(tmp_path, {"boom.py": "import boom_too\nraise ValueError\n", "boom_too.py": "raise SystemExit\n"})
    before = set(sys.modules)
    assert names(tmp_path, "boom") == ["boom", "boom_too"]
    code_digest(["monitors.pattern_bdd", "models.onnx_file"], tmp_path)
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert new <= set(sys.stdlib_module_names)


def test_cycles_end(tmp_path) -> None:
    written(tmp_path, {"egg.py": "import hen\n", "hen.py": "from egg import shell\nimport hen\n"})
    assert names(tmp_path, "egg") == ["egg", "hen"]


def test_a_long_chain_is_no_recursion(tmp_path) -> None:
    chain = {f"link{i}.py": f"import link{i + 1}\n" for i in range(1500)} | {"link1500.py": ""}
    assert len(code_digest(["link0"], written(tmp_path, chain)).files) == 1501


@pytest.mark.parametrize(
    "source",
    [
        "import target\n",
        "import target as other\n",
        "from target import x\n",
        "from target import *\n",
        "def late():\n    import target\n",
        "class A:\n    async def late(self):\n        from target import x\n",
        "try:\n    import target\nexcept ImportError:\n    pass\n",
        "try:\n    pass\nexcept ImportError:\n    import target\n",
        "try:\n    pass\nfinally:\n    import target\n",
        "if 1:\n    pass\nelif 2:\n    pass\nelse:\n    import target\n",
        "for i in ():\n    pass\nelse:\n    import target\n",
        "with open('x'):\n    import target\n",
        "match 1:\n    case 1:\n        import target\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import target\n",
        "if not TYPE_CHECKING:\n    import target\n",
        "import importlib\nt = importlib.import_module('target')\n",
        "from importlib import import_module\nNAME: str = 'target'\nt = [import_module(NAME)]\n",
        "'\\d'\nimport target\n",  # of which Python warns
    ],
)
def test_an_import_is_found_wherever_it_stands(tmp_path, source) -> None:
    written(tmp_path, {"mine.py": source, "target.py": "x = 1\n"})
    assert names(tmp_path, "mine") == ["mine", "target"]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import target\n",
        "import typing\nif typing.TYPE_CHECKING:\n    from target import x\n",
        "text = 'import target'\n# import target\n",
        "import_module(whatever)\nimport_module()\nimport_module(f'tar{get}')\n",
    ],
)
def test_what_is_not_imported_when_it_runs_is_left_out(tmp_path, source) -> None:
    written(tmp_path, {"mine.py": source, "target.py": "x = 1\n"})
    assert names(tmp_path, "mine") == ["mine"]


@pytest.mark.parametrize(
    "line", ["from .inside import x", "from . import inside", "from own.inside import x"]
)
def test_packages_with_relative_imports(tmp_path, line) -> None:
    written(tmp_path, {"own/__init__.py": line, "own/inside.py": "x = 1\n", "own/other.py": ""})
    assert names(tmp_path, "own") == ["own", "own.inside"]


def test_a_package_without_an_init_is_followed(tmp_path) -> None:
    written(tmp_path, {"mine.py": "import spaced.inner.deep", "spaced/inner/deep.py": "x = 1\n"})
    assert names(tmp_path, "mine") == ["mine", "spaced.inner.deep"]


def test_a_module_that_appears_where_an_attribute_was_is_seen(tmp_path) -> None:
    written(tmp_path, {"own/__init__.py": "from own import later", "own/a.py": ""})
    before = code_digest(["own"], tmp_path)
    (tmp_path / "own" / "later.py").write_text("")
    assert code_digest(["own"], tmp_path).digest != before.digest


def test_a_compiled_module_counts_by_its_bytes(tmp_path) -> None:
    written(tmp_path, {"mine.py": "import fast\n"})
    (tmp_path / "fast.so").write_bytes(b"\x7fELF\0one")
    before = code_digest(["mine"], tmp_path)
    assert [file.name for file in before.files] == ["fast.so", "mine.py"]
    (tmp_path / "fast.so").write_bytes(b"\x7fELF\0two")
    assert code_digest(["mine"], tmp_path).digest != before.digest


@pytest.mark.parametrize(
    "source",
    [
        b"a = 1\nif a\n    b = 2\n",
        b"a = 1\nb = '\xff'\n",
        b"a = 1\0\n",
    ],
)
def test_source_that_is_none_is_an_error_of_the_user(tmp_path, source) -> None:
    written(tmp_path, {"mine.py": "import broken\n"})
    (tmp_path / "broken.py").write_bytes(source)
    with refused(ExperimentError) as raised:
        code_digest(["mine"], tmp_path)
    assert isinstance(raised.value, UserError)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["nowhere_at_all", "parts.nowhere", "mine.attribute"])
def test_a_module_that_is_asked_for_must_be_there(tmp_path, name) -> None:
    written(tmp_path, MODULES)
    with refused(ExperimentError):
        code_digest([name], tmp_path)


def test_a_package_in_a_folder_below_is_told_with_what_to_do(tmp_path, monkeypatch) -> None:
    written(tmp_path, {"far-off/far_off/__init__.py": ""})
    monkeypatch.chdir(tmp_path)
    with refused(ExperimentError):
        code_digest(["far_off.monitor"], tmp_path)


def test_a_source_that_cannot_be_read_is_said(tmp_path, monkeypatch) -> None:
    written(tmp_path, {"locked.py": ""})

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with refused(DataError):
        code_digest(["locked"], tmp_path)


def test_what_is_imported_and_not_there_changes_the_digest_when_it_comes(tmp_path) -> None:
    written(tmp_path, {"mine.py": "try:\n    import maybe_later\nexcept ImportError: ...\n"})
    before = code_digest(["mine"], tmp_path)
    assert before.packages == {"maybe_later": NOT_INSTALLED}
    (tmp_path / "maybe_later.py").write_text("")
    after = code_digest(["mine"], tmp_path)
    assert (after.packages, len(after.files)) == ({}, 2)
    assert after.digest != before.digest


def test_the_standard_library_is_not_in_it(tmp_path) -> None:
    written(tmp_path, {"mine.py": "import json, os.path, xml.dom\nfrom __future__ import annotations\n"})
    code = code_digest(["mine"], tmp_path)
    assert (len(code.files), code.packages) == (1, {})


def test_modules_that_count_as_imported_need_not_be_there(tmp_path) -> None:
    written(tmp_path, {"mine.py": "", "also.py": ""})
    code = code_digest(["mine"], tmp_path, imported=["also", "json", "torch.nn", "not_there", "mine.what"])
    assert [file.name for file in code.files] == ["also.py", "mine.py"]
    assert set(code.packages) == {"torch", "not_there"}


@st.composite
def graphs(draw) -> list[tuple[int, int, int]]:
    edge = st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 3))
    return draw(st.lists(edge, max_size=20))


@settings(max_examples=40, deadline=None)
@given(edges=graphs())
def test_what_is_reached_is_taken(tmp_path_factory, edges) -> None:
    folder = tmp_path_factory.mktemp("graph")
    lines: dict[int, list[str]] = {i: [] for i in range(8)}
    for start, end, how in edges:
        ways = ["import g.m{}", "from g import m{}", "from .m{} import x", "from . import m{} as y"]
        lines[start].append(ways[how].format(end))
    written(folder, {"g/__init__.py": ""} | {f"g/m{i}.py": "\n".join(lines[i]) for i in lines})
    reached, waiting = {0}, [0]
    while waiting:
        now = waiting.pop()
        new = {end for start, end, _ in edges if start == now} - reached
        reached |= new
        waiting += new
    assert names(folder, "g.m0") == ["g", *(f"g.m{i}" for i in sorted(reached))]


def test_a_monitor_does_not_change_with_another(tmp_path) -> None:
    code = code_digest(["monitors.odin"], tmp_path)
    assert "monitors/odin.py" in ours(code)
    assert "monitors/vote.py" not in ours(code)
    assert not any(file.startswith("farm/") for file in ours(code))  # the testbed's own digest has that
    assert set(code.packages) <= {"numpy", "torch", "scipy", "scikit-learn"}


def test_code_of_the_testbed_that_no_experiment_runs_is_followed_from_elsewhere(tmp_path) -> None:
    written(tmp_path, {"mine.py": "from farm.workloads.digits import Digits\nimport monitors.vote\n"})
    followed = ours(code_digest(["mine"], tmp_path))
    assert {"farm/workloads/digits.py", "monitors/vote.py", "monitors/combinations.py"} <= followed


def test_a_constant_that_names_an_optional_package_is_read_off(tmp_path) -> None:
    packages = code_digest(["monitors.adapters"], tmp_path).packages
    assert {"pytorch_ood", "pytorch-ood"} & set(packages)


def test_the_testbed_is_what_runs_an_experiment() -> None:
    files = ours(testbed_digest())
    assert {
        "farm/run/execution.py",
        "farm/run/system.py",
        "farm/api/monitor.py",
        "farm/store/readouts.py",
    } <= files
    elsewhere = ("farm/report/", "farm/statistics/", "farm/commands/", "farm/workloads/", "monitors/")
    assert not any(file.startswith(elsewhere) for file in files)
    assert {"numpy", "torch"} <= set(testbed_digest().packages)
    assert code_digest(["farm.run.execution"], HOME).files == (), "what the testbed has is in no other digest"


def test_a_new_process_reads_no_source_that_it_knows_the_state_of(tmp_path, monkeypatch, still) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    written(tmp_path, {"mine.py": "import helping\n", "helping.py": "VALUE = 1\n"})
    first = code_digest(["mine"], tmp_path)
    monkeypatch.setattr(code, "_KNOWN", {})
    with monkeypatch.context() as no_reading:
        no_reading.setattr(code, "read_source", None)
        assert code_digest(["mine"], tmp_path) == first
        (tmp_path / "runs-001").mkdir()
        assert code_digest(["mine"], tmp_path) == first, "what a run writes there is no module of theirs"
    (tmp_path / "helping.py").write_text("VALUE = 2\n")
    assert code_digest(["mine"], tmp_path).digest != first.digest


def test_a_module_that_hides_another_is_noticed(tmp_path, monkeypatch, still) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    for place in ("before", "behind"):
        (tmp_path / place).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "before"), str(tmp_path / "behind"), *sys.path])
    written(tmp_path / "behind", {"shared_by_all.py": "VALUE = 1\n"})
    written(tmp_path, {"mine.py": "import shared_by_all\n"})
    first = code_digest(["mine"], tmp_path)
    assert code_digest(["mine"], tmp_path) == first
    written(tmp_path / "before", {"shared_by_all.py": "VALUE = 2\n"})
    assert code_digest(["mine"], tmp_path).digest != first.digest
