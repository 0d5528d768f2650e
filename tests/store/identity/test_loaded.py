"""Whether the code in memory can be older than its file."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from farm.store.identity import CodeDigest, code_digest, loaded, testbed_digest
from farm.store.identity.loaded import in_memory_is_current


def test_the_start_of_the_process_is_in_the_past_and_not_long_ago() -> None:
    assert time.time() - 24 * 3600 < loaded.STARTED < time.time()


def test_a_file_that_was_written_since_is_not_what_is_in_memory(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.py").write_text("")
    code = code_digest(["mine"], tmp_path)
    assert not in_memory_is_current(code)
    monkeypatch.setattr(loaded, "STARTED", time.time() + 1)
    assert in_memory_is_current(code)


def test_a_file_of_old_times_that_was_moved_into_place_is_new(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("")
    os.utime(tmp_path / "mine.py", (1e9, 1e9))
    assert not in_memory_is_current(code_digest(["mine"], tmp_path))


def test_one_such_file_is_enough_and_a_removed_one_is_too(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "old.py").write_text("")
    code = code_digest(["mine", "old"], tmp_path)
    new = CodeDigest("", (*testbed_digest().files[:1], *code.files), {})
    assert not in_memory_is_current(new)
    (tmp_path / "mine.py").unlink()
    assert not in_memory_is_current(CodeDigest("", code.files[:1], {}))
    assert in_memory_is_current(CodeDigest("", (), {}))


def test_a_process_that_starts_after_a_file_was_written_has_it(tmp_path) -> None:
    script = (
        "import sys; from pathlib import Path; from farm.store.identity.loaded import *;"
        "print(in_memory_is_current(CodeDigest('', (Path(sys.argv[1]),), {})), end='');"
        "Path(sys.argv[1]).write_text('changed');"
        "print(in_memory_is_current(CodeDigest('', (Path(sys.argv[1]),), {})), end='')"
    )
    for number in range(3):
        path = tmp_path / f"written_{number}.py"
        path.write_text("just now")
        command = [sys.executable, "-c", script, str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        assert answer.stdout == "TrueFalse"
