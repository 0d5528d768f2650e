"""Whatever is wrong with a file, people read one line about it, soon, and the machine keeps its memory."""

from __future__ import annotations

import io
import os
import random
import resource
import shutil
import signal
import socket
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from farm.cli import main
from tests.commands.damaging import damage, signed_again
from tests.commands.readers import READERS, Reader, make_all
from tests.wording import same_text

MEMORY = 2**30
SECONDS = 60
"""What takes longer hangs, however busy the machine is."""
CODES = {0, 1, 2, 3}
WORKLOAD = "farm describe workload npz --images out.png --set path=data.npz"
OFTEN = int(os.environ.get("FARM_FUZZ_CASES", "400"))
SEED = int(os.environ.get("FARM_FUZZ_SEED", "1"))
CASES = st.integers(0, 2**63)
"""Seeds of a damage each: nothing smaller is to be found in what one has found."""
AS_THEY_COME = {"phases": [Phase.generate], "suppress_health_check": [HealthCheck.too_slow]}


class Hangs(BaseException):
    """A command did not end."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with all that is read; whoever changes a file puts it back."""
    folder = tmp_path_factory.mktemp("read")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        make_all(folder)
    with chdir(folder):
        yield folder
    sys.modules.pop("theirs", None)


def said(command: str) -> tuple[int, str]:
    """Run a command within its time and memory; return its exit code and what it said of errors."""
    for name in ("out", "out.png"):
        shutil.rmtree(name, ignore_errors=True)
        Path(name).unlink(missing_ok=True)
    sys.modules.pop("theirs", None)
    told = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(told), warnings.catch_warnings(), _limits():
        warnings.simplefilter("ignore")
        code = main(command.split()[1:])
    return code, told.getvalue()


@contextmanager
def _limits() -> Iterator[None]:
    def hangs(number: int, frame: object) -> None:
        raise Hangs(f"after {SECONDS} s")

    before = resource.getrlimit(resource.RLIMIT_DATA)
    held = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[5])
    handler = signal.signal(signal.SIGALRM, hangs)
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_DATA, before)
        signal.signal(signal.SIGALRM, handler)


def check_damaged(reader: Reader, rng: random.Random) -> None:
    """Damage one of a reader's files, run one of its commands, and put the files back."""
    files = sorted({*reader.files, *reader.records})
    valid = {name: Path(name).read_bytes() for name in files}
    try:
        damage(rng, Path(rng.choice(reader.files)))
        if rng.random() < 0.8:
            for name in reader.records:
                signed_again(Path(name))
        command = rng.choice(reader.commands)
        code, told = said(command)
    finally:
        for name, content in valid.items():
            Path(name).write_bytes(content)
    check_answer(command, code, told)


def check_answer(command: str, code: int, told: str) -> None:
    """Check that what was said of a file is one line that was meant, whatever became of the command."""
    assert code in CODES, command
    assert "unexpected failure" not in told, told
    assert "Traceback" not in told, told
    errors = [line for line in told.splitlines() if line.startswith("farm: ")]
    assert errors or code != 2, f"{command}: exit code {code} and no word why"


@pytest.mark.parametrize("name", READERS)
def test_valid_files_are_read(place: Path, name: str) -> None:
    for command in READERS[name].commands:
        code, told = said(command)
        assert code in (0, 1, 3), f"{command}: {told}"


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_told_in_a_line(place: Path, name: str) -> None:
    @settings(max_examples=READERS[name].cases, **AS_THEY_COME)
    @given(CASES)
    def check(case: int) -> None:
        check_damaged(READERS[name], random.Random(case))

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_damaged_files_of_many_kinds_are_told_in_a_line(place: Path, name: str) -> None:
    @seed(SEED)
    @settings(max_examples=OFTEN, derandomize=False, **AS_THEY_COME)
    @given(CASES)
    def check(case: int) -> None:
        check_damaged(READERS[name], random.Random(case))

    check()


def fails(command: str, *, code: int = 2) -> str:
    """Run a command that is refused, and return its one line."""
    got, told = said(command)
    (line,) = [line for line in told.splitlines() if line.startswith("farm: ")]
    assert got == code, line
    return line


@pytest.fixture
def changed(place: Path) -> Iterator[Path]:
    """Return the folder, of which any text file may be changed."""
    names = ("mine.yaml", "c.yaml", "costs.yaml", "log.csv", "data.npz", "images/0/0.png")
    kept = {name: (place / name).read_bytes() for name in names}
    yield place
    for name, content in kept.items():
        (place / name).unlink()
        (place / name).write_bytes(content)


DEEP = "[" * 3000
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
LADDER = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 3000))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "seed: 2020-02-30",
            "seed: 0x_",
            "seed: !!int x",
            "seed: !!float ''",
            "seed: !!timestamp x",
            "seed: !!map x",
        ),
        *(f"seed: {DEEP}", f"seed: {DEEP.replace('[', '{')}", BOMB, LADDER, "a: &a [*a]", "seed: !!binary x"),
        *("monitors: [{name: energy, as: ''}]", "threads: 2000000000", "seed: " + "9" * 5000),
    ],
)
def test_yaml_that_no_json_could_hold_is_told(changed: Path, text: str) -> None:
    (changed / "mine.yaml").write_text(text)
    same_text(fails("farm run mine.yaml"))


@pytest.mark.parametrize(
    "text", ["replicates: 2000000000", "criteria: specific.fpr <= 0.3", "criteria: [2020-02-30]"]
)
def test_criteria_that_nobody_can_mean_are_told(changed: Path, text: str) -> None:
    (changed / "c.yaml").write_text(
        f"criteria: ['specific.fpr <= 0.3 on id']\n{text}" if "rep" in text else text
    )
    same_text(fails("farm check run --criteria c.yaml"))


def test_replicates_beyond_all_measure_are_told(place: Path) -> None:
    for command in (
        "compare run",
        "check run --criteria c.yaml",
        "baseline compare run --baseline kept.yaml",
    ):
        same_text(fails(f"farm {command} --replicates 2000000000"))


@pytest.mark.parametrize(("old", "new"), [(b"\n", b"\r"), (b"\n", b"\r\n"), (b"cell", b"\n \n\ncell")])
def test_lines_of_a_log_may_end_as_on_any_machine_and_begin_late(
    changed: Path, old: bytes, new: bytes
) -> None:
    log = changed / "log.csv"
    before = said("farm judge log.csv --format json")
    log.write_bytes(
        log.read_bytes().replace(old, new) if old == b"\n" else log.read_bytes().replace(old, new, 1)
    )
    assert said("farm judge log.csv --format json") == before == (0, before[1])


def test_a_stray_end_of_a_line_is_told_by_its_line(changed: Path) -> None:
    log = changed / "log.csv"
    lines = log.read_bytes().split(b"\n")
    lines[4] = lines[4][:-3] + b"\r" + lines[4][-3:]
    log.write_bytes(b"\n".join(lines))
    assert "line 6" in fails("farm judge log.csv")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("mine.yaml", "farm run mine.yaml"),
        ("c.yaml", "farm check run --criteria c.yaml"),
        ("costs.yaml", "farm inspect run --costs costs.yaml"),
        ("log.csv", "farm judge log.csv"),
        ("data.npz", WORKLOAD),
        ("images/0/0.png", "farm describe workload folder --images out.png --set path=images"),
    ],
)
def test_a_pipe_is_not_waited_for(changed: Path, name: str, command: str) -> None:
    (changed / name).unlink()
    os.mkfifo(changed / name)
    same_text(fails(command))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_may_never_end_is_not_opened(place: Path, name: str, kind: str) -> None:
    reader = READERS[name]
    for file in {*reader.files, *reader.records}:
        content = (place / file).read_bytes()
        (place / file).unlink()
        try:
            if kind == "pipe":
                os.mkfifo(file)
            else:
                with socket.socket(socket.AF_UNIX) as listening:
                    listening.bind(file)
            for command in reader.commands:
                check_answer(command, *said(command))
        finally:
            (place / file).unlink()
            (place / file).write_bytes(content)


def test_a_label_far_beyond_all_others_is_told_and_can_be_left_out(changed: Path) -> None:
    arrays = dict(np.load(changed / "data.npz"))
    for split in ("train", "test"):
        labels = arrays[f"y_{split}"].astype(np.uint32)
        labels[-3:] = 2**32 - 1
        arrays[f"y_{split}"] = labels
    np.savez(changed / "data.npz", **arrays)
    same_text(fails(WORKLOAD))
    assert said(f"{WORKLOAD} --set ignore=4294967295") == (0, "")


@pytest.mark.parametrize("shape", [(2**50, 8, 8, 3), (2**62, 2**62), (40, 10**7, 8, 3)])
def test_a_header_that_claims_more_than_there_is_is_told(changed: Path, shape: tuple[int, ...]) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(changed / "data.npz", "w") as archive:
        archive.writestr("x_train.npy", header.getvalue() + bytes(100))
    assert "data.npz cannot be read as .npz" in fails(WORKLOAD)


def test_a_scalar_where_an_array_belongs_is_told(changed: Path) -> None:
    arrays = dict(np.load(changed / "data.npz"))
    for name in ("x_train", "y_train", "track_train"):
        np.savez(changed / "data.npz", **{**arrays, name: np.int64(1)})
        same_text(fails(WORKLOAD))


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "judge",
        "status",
        "decide guard",
        "baseline compare run --baseline",
        "verify",
        "run mine.yaml --out",
    ],
)
def test_a_name_that_no_file_can_have_is_told(place: Path, command: str) -> None:
    same_text(fails(f"farm {command} {'x' * 300}"))
