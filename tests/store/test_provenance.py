"""What a result was made with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from farm.store import provenance


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a folder under version control with one commit."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (tmp_path / "x.txt").write_text("one")
    for command in ("init --quiet", "add x.txt", "commit --quiet --no-gpg-sign --message first"):
        subprocess.run(["git", "-C", str(tmp_path), *command.split()], check=True)
    return tmp_path


def test_versions_are_those_installed_and_none_where_nothing_is():
    found = provenance.versions(["numpy", "no-such-package"])
    assert found == {"python": platform.python_version(), "numpy": np.__version__, "no-such-package": None}


def test_the_versions_that_results_rest_on_are_all_told():
    assert None not in provenance.versions().values()


def test_hardware_can_be_written_as_json_and_counts_the_cores():
    assert json.loads(json.dumps(provenance.hardware()))["cores"] == os.cpu_count()


@pytest.mark.parametrize(("system", "size"), [("linux", 5 * 1024), ("darwin", 5)])
def test_peak_memory_is_in_bytes_though_systems_count_differently(monkeypatch, system, size):
    monkeypatch.setattr(provenance.sys, "platform", system)
    monkeypatch.setattr(provenance.resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=5))
    assert provenance.peak_memory_bytes() == size


def test_peak_memory_is_at_least_what_is_held():
    held = np.ones(2_000_000)
    assert provenance.peak_memory_bytes() > held.nbytes


def test_a_clean_folder_is_its_commit(repository):
    commit = provenance.git_commit(repository)
    assert len(commit) == 40
    assert set(commit) <= set("0123456789abcdef")


def test_a_changed_folder_is_marked(repository):
    clean = provenance.git_commit(repository)
    (repository / "x.txt").write_text("two")
    assert provenance.git_commit(repository) == clean + "+"


def test_a_new_file_that_nobody_added_marks_nothing(repository):
    clean = provenance.git_commit(repository)
    (repository / "runs.txt").write_text("results")
    assert provenance.git_commit(repository) == clean


def test_before_the_first_commit_there_is_none(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert provenance.git_commit(tmp_path) is None


def test_versions_are_read_once_for_as_long_as_the_same_is_installed(monkeypatch):
    read = []
    monkeypatch.setattr(provenance, "version", lambda name: read.append(name) or str(len(read)))
    monkeypatch.setattr("farm.registry.installed", lambda: ("before",))
    first = provenance.versions(["numpy"])
    assert (provenance.versions(["numpy"]), read) == (first, ["numpy"])
    monkeypatch.setattr("farm.registry.installed", lambda: ("after",))
    assert provenance.versions(["numpy"])["numpy"] == "2"


def test_outside_version_control_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.git_commit(tmp_path) is None


def test_without_git_there_is_no_commit(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.git_commit(repository) is None
