"""The file that a baseline is kept in."""

import difflib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, StorageError
from farm.gate.baseline import Baseline, load_baseline, save_baseline
from farm.gate.baseline.file import from_lines, to_lines, to_text
from tests.comparing.made_runs import make_run
from tests.gate.baseline.kept_runs import by_chance, flipped, run_of
from tests.wording import refused, same_text

BITS = ("alarm", "cancelled", "decided", "right")


def saved(run, tmp_path, name="b.yaml"):
    save_baseline(run, tmp_path / name)
    return load_baseline(tmp_path / name)


def with_fallback(n=300):
    """Make a run whose policy cancels other instances than alarm, with a fallback that is often wrong."""
    rng = np.random.default_rng(0)
    label, alarm, cancelled = np.arange(n) % 5, rng.random(n) < 0.3, rng.random(n) < 0.3
    wrong = rng.random(n) < 0.4
    taken = rng.integers(-1, 5, n)
    decision = np.where(cancelled, taken, np.where(wrong, (label + 1) % 5, label))
    return run_of({"oob": alarm}, wrong=wrong, cancelled={"oob": cancelled}, decision={"oob": decision})


@pytest.mark.parametrize("run", [by_chance(), with_fallback()], ids=["plain", "fallback"])
def test_what_is_loaded_is_what_was_saved(tmp_path, run):
    (then,), (found,) = Baseline.of([run]).runs, saved(run, tmp_path).runs
    for name in ("name", "workload", "classifier", "stream", "failures", "unranked"):
        assert getattr(found, name) == getattr(then, name), name
    assert found.wrong.tolist() == then.wrong.tolist()
    assert list(found.bits) == list(then.bits)
    for monitor, said in then.bits.items():
        for bits in BITS:
            got = getattr(found.bits[monitor], bits).tolist()
            assert got == getattr(said, bits).tolist(), (monitor, bits)


def test_the_bits_are_those_of_the_readouts(tmp_path):
    run = with_fallback()
    (kept,) = saved(run, tmp_path).runs
    label, predicted = run.instances["label"], run.instances["predicted"]
    said, alarms = kept.bits["oob"], run.alarms
    assert kept.wrong.tolist() == (label != predicted).tolist()
    assert said.alarm.tolist() == alarms["alarm"].tolist()
    assert said.cancelled.tolist() == alarms["cancelled"].tolist()
    assert said.decided.tolist() == (alarms["decision"] != -1).tolist()
    assert said.right.tolist() == (alarms["decision"] == label).tolist()


def test_rows_of_the_tables_may_come_in_any_order(tmp_path):
    run = by_chance()
    mixed = replace(
        run,
        instances=run.instances.sample(frac=1, random_state=1),
        alarms=run.alarms.sample(frac=1, random_state=2),
    )
    save_baseline(run, tmp_path / "a.yaml")
    save_baseline(mixed, tmp_path / "b.yaml")
    assert (tmp_path / "a.yaml").read_text() == (tmp_path / "b.yaml").read_text()


def test_what_has_no_value_or_no_interval_says_why(tmp_path):
    n = 100
    run = run_of({"never": np.zeros(n), "some": np.arange(n) % 9 == 0}, track=np.arange(n) // 50)
    save_baseline(run, tmp_path / "b.yaml")
    told = yaml.safe_load((tmp_path / "b.yaml").read_text())["runs"]["demo"]["measures"][
        "fog 3 on signs with lenet"
    ]
    assert told["never"]["overall.mcc"] == {"undefined": "none of the 100 instances was cancelled"}
    assert told["never"]["coverage"]["value"] == 1.0
    same_text(told["some"]["specific.fpr"]["no_interval"])
    assert "auroc" not in told["some"], "without scores there is none to tell"


def test_five_thousand_instances_and_five_monitors_take_less_than_40_kb(tmp_path):
    run = by_chance(n=5000, monitors=("oob", "oob-pca", "oob-isomap", "odin", "max-softmax"))
    cancelled = {
        m: np.roll(run.alarms.loc[run.alarms["monitor"] == m, "alarm"], 1)
        for m in run.alarms["monitor"].unique()
    }
    frames = run.alarms.assign(cancelled=np.concatenate([cancelled[m] for m in cancelled]))
    renewed = save_baseline(replace(run, alarms=frames), tmp_path / "b.yaml")
    size = (tmp_path / "b.yaml").stat().st_size
    assert renewed.nbytes == size < 40_000
    assert max(map(len, (tmp_path / "b.yaml").read_text().splitlines())) < 160


def test_three_changed_instances_change_few_lines(tmp_path):
    run = by_chance(n=5000, monitors=("oob", "odin", "never"))
    save_baseline(run, tmp_path / "a.yaml")
    save_baseline(flipped(run, [100, 2600, 4700]), tmp_path / "b.yaml")
    sides = [(tmp_path / name).read_text().splitlines() for name in ("a.yaml", "b.yaml")]
    lines = list(difflib.unified_diff(*sides, n=0, lineterm=""))[2:]
    added = [line[1:].strip() for line in lines if line.startswith("+")]
    bits = [line for line in added if len(line) == 64]
    assert len(bits) == 3
    # And the measures of this monitor (no AUROC: scores are the same), and the checksum.
    assert len(added) <= 3 + 8 + 1
    assert len(added) == len([line for line in lines if line.startswith("-")])


def test_the_file_says_what_it_is_and_safe_yaml_reads_it(tmp_path):
    save_baseline(by_chance(), tmp_path / "b.yaml")
    text = (tmp_path / "b.yaml").read_text()
    first, second = text.splitlines()[:2]
    assert first.startswith("# A farm baseline: ")
    assert second == "schema: 1"
    record = yaml.safe_load(text)["runs"]["demo"]
    assert (record["stream"]["n"], record["stream"]["n_ood"], record["stream"]["ood_share"]) == (
        400,
        200,
        0.5,
    )
    assert record["workload"] == {"name": "signs", "hash": "12e34"}, "a digest is no number"
    assert set(record["monitors"]["oob"]) == {"alarm"}, "what follows from the alarm is left out"


@pytest.mark.parametrize(
    "name", ["1e3", "no", "null", "2024-01-01", "a: b", "- x", " # y", "süß \U0001f600", "0x1F", "~"]
)
def test_names_of_any_kind_come_back(tmp_path, name):
    run = by_chance(monitors=(name, "odin"), name=name)
    found = saved(run, tmp_path)
    assert found.monitors == (name, "odin")
    assert found.runs[0].name == name


def test_a_failed_monitor_is_noted_and_an_unranked_one_kept_without_measures(tmp_path):
    run = make_run(0, failed=("good",), unranked=("poor",))
    (kept,) = saved(run, tmp_path).runs
    assert kept.failures == {"good": "singular"}
    assert (list(kept.bits), kept.unranked, kept.ranked) == (["middling", "poor"], ("poor",), ["middling"])
    told = yaml.safe_load((tmp_path / "b.yaml").read_text())["runs"]["unnamed"]["measures"]
    assert all(list(own) == ["middling"] for own in told.values())


def test_a_run_without_monitors_is_no_baseline(tmp_path):
    with refused(DataError):
        save_baseline(make_run(0, failed=("good", "middling", "poor")), tmp_path / "b.yaml")
    assert not list(tmp_path.iterdir())


def test_several_runs_stand_by_their_names(tmp_path):
    runs = [by_chance(seed, name=f"cell {seed}") for seed in (0, 1)]
    save_baseline(runs, tmp_path / "b.yaml")
    found = load_baseline(tmp_path / "b.yaml")
    assert [kept.name for kept in found.runs] == ["cell 0", "cell 1"]
    assert found.of_run(runs[1]) is found.runs[1]
    with refused(DataError):
        found.of_run(by_chance(2, name="cell 2"))


def test_a_cell_goes_by_its_title_and_one_run_by_any_name(tmp_path):
    run = by_chance(cell={"title": "signs, lenet, fog, seed 0"})
    found = saved(run, tmp_path)
    assert found.runs[0].name == "signs, lenet, fog, seed 0"
    assert found.of_run(by_chance(name="renamed")) is found.runs[0]


def test_two_runs_of_one_name_are_refused(tmp_path):
    with refused(DataError):
        save_baseline([by_chance(0), by_chance(1)], tmp_path / "b.yaml")


# What is no baseline, or none any more.


def test_a_change_by_hand_is_told(tmp_path):
    path = tmp_path / "b.yaml"
    save_baseline(by_chance(), path)
    text = path.read_text()
    line = next(line for line in text.splitlines() if "specific.fpr" in line)
    path.write_text(text.replace(line, line.replace("value: 0.", "value: 0.1")))
    with pytest.raises(DataError) as error:
        load_baseline(path)
    assert str(error.value) == (
        f"{path} was changed by hand or in a merge: its checksum differs from its content; save it anew with "
        "`farm baseline save`"
    )


def test_every_digit_counts(tmp_path):
    path = tmp_path / "b.yaml"
    save_baseline(by_chance(n=64), path)
    lines = path.read_text().splitlines(keepends=True)
    refused = 0
    for i in range(1, len(lines), 2):
        digits = [j for j, letter in enumerate(lines[i]) if letter in "012345678"]
        for j in digits[:2]:
            other = lines[i][:j] + str(int(lines[i][j]) + 1) + lines[i][j + 1 :]
            path.write_text("".join([*lines[:i], other, *lines[i + 1 :]]))
            with pytest.raises(DataError):
                load_baseline(path)
            refused += 1
    assert refused > 20


def test_line_ends_of_another_system_are_no_change(tmp_path):
    path = tmp_path / "b.yaml"
    save_baseline(by_chance(), path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_baseline(path).monitors == ("oob", "odin")


def test_a_conflict_of_a_merge_is_told_and_saving_mends_it(tmp_path):
    path = tmp_path / "b.yaml"
    save_baseline(by_chance(), path)
    text = path.read_text()
    at = text.index("    stream:")
    path.write_text(f"{text[:at]}<<<<<<< HEAD\n{text[at:]}=======\n>>>>>>> other\n")
    with refused(DataError) as error:
        load_baseline(path)
    assert "\n" not in str(error.value)
    renewed = save_baseline(by_chance(), path)
    assert renewed.replaced
    same_text(renewed.changes[0])
    assert load_baseline(path).monitors == ("oob", "odin")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"criteria:\n- overall.mcc >= 0.4\n", "is no baseline; expected a run's folder, or a file that"),
        (b"[1, 2\n", "malformed YAML"),
        (b"# A farm baseline: x\n- 1\n", "is no baseline"),
        (b"\xff\xfe\x00", "cannot be read as a baseline"),
        (b"", "is no baseline"),
        (b"# A farm baseline: x\nschema: 2\nchecksum: 0\n", "schema is 2; expected 1: save the"),
        (b"# A farm baseline: x\nschema: 1\nat: 2020-01-01\nchecksum: 0\n", "was changed by hand"),
        (b"# A farm baseline: x\nschema: 1\nat: .nan\nchecksum: 0\n", "was changed by hand"),
    ],
)
def test_another_file_is_an_error_of_one_line(tmp_path, content, told):
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        load_baseline(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_there_is_an_error(tmp_path):
    with refused(DataError):
        load_baseline(tmp_path / "x.yaml")
    with refused(DataError):
        load_baseline(tmp_path)


def test_bits_that_do_not_fit_are_told_even_with_the_right_checksum(tmp_path):
    record = Baseline.of([by_chance()]).runs[0].record
    record["monitors"]["odin"]["alarm"] = "00\n"
    (tmp_path / "b.yaml").write_text(to_text({"demo": record}))
    with refused(DataError):
        load_baseline(tmp_path / "b.yaml")


# Writing.


def test_a_run_of_a_folder_is_a_baseline_too(tmp_path):
    run = by_chance()
    run.save(tmp_path / "run")
    found = load_baseline(tmp_path / "run")
    assert found.has_scores
    assert not saved(run, tmp_path).has_scores
    assert found.runs[0].stream == saved(run, tmp_path).runs[0].stream


def test_renewing_tells_what_changed_measure_by_measure(tmp_path):
    run = by_chance()
    first = save_baseline(run, tmp_path / "b.yaml")
    assert (first.replaced, first.changes) == (False, ())
    again = save_baseline(run, tmp_path / "b.yaml")
    assert (again.replaced, again.changes) == (True, ())
    then = save_baseline(flipped(run, [0]), tmp_path / "b.yaml")
    fpr = [line for line in then.changes if "specific.fpr" in line]
    was, now = (np.mean(r.alarms["alarm"][:200]) for r in (run, flipped(run, [0])))
    assert fpr == [f"demo: oob: specific.fpr on fog 3 on signs with lenet: {was:g} -> {now:g}"]
    assert not any("odin" in line for line in then.changes)
    others = save_baseline(by_chance(n=300, monitors=("oob", "mine")), tmp_path / "b.yaml").changes
    same_text(others[:3])


@pytest.mark.parametrize("content", ["my notes\n", "", "runs: {}\n"])
def test_what_is_no_baseline_is_never_replaced(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with refused(DataError):
        save_baseline(by_chance(), path)
    assert path.read_text() == content
    with refused(DataError):
        save_baseline(by_chance(), tmp_path)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "b.yaml"
    save_baseline(by_chance(), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with refused(StorageError):
        save_baseline(by_chance(1), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["b.yaml"]


def test_folders_are_made_and_links_followed(tmp_path):
    save_baseline(by_chance(), tmp_path / "new" / "er" / "b.yaml")
    link = tmp_path / "link.yaml"
    link.symlink_to(tmp_path / "new" / "er" / "b.yaml")
    renewed = save_baseline(by_chance(1), link)
    assert renewed.replaced
    assert link.is_symlink()
    assert (load_baseline(tmp_path / "new" / "er" / "b.yaml").runs[0].bits["oob"].alarm).tolist() == (
        Baseline.of([by_chance(1)]).runs[0].bits["oob"].alarm.tolist()
    )


# Bits as lines.


def some_bits(fewest, most):
    """Draw so many bits, by bytes and how many bits of the last one are left out."""
    drawn = st.binary(min_size=-(-fewest // 8), max_size=most // 8), st.integers(0, 7)
    return st.builds(_without_last, *drawn)


def _without_last(data, less):
    bits = np.unpackbits(np.frombuffer(data, np.uint8)).astype(bool)
    return bits[: len(bits) - less]


@given(some_bits(8, 2000))
def test_bits_come_back(bits):
    text = to_lines(bits)
    assert from_lines(text, len(bits), "alarms").tolist() == bits.tolist()


@given(some_bits(304, 900), st.data())
def test_one_change_changes_one_line(bits, data):
    other = bits.copy()
    place = data.draw(st.integers(0, len(bits) - 1))
    other[place] = ~other[place]
    before, now = to_lines(bits).splitlines(), to_lines(other).splitlines()
    assert [i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b] == [place // 256]


def test_a_line_has_64_digits_of_four_instances_each_the_first_one_highest():
    lines = to_lines(np.arange(300) == 0).splitlines()
    assert [len(line) for line in lines] == [64, 12]
    assert lines[0] == "8" + "0" * 63


@pytest.mark.parametrize(
    ("text", "n", "told"),
    [
        ("98\n", 9, "alarms: 2 hexadecimal digits; expected 4 for 9 instances"),
        ("9x\n", 6, "alarms: 'x' is no hexadecimal digit"),
        ("99\n", 6, "alarms: bits beyond the 6 instances are set; expected 0 there"),
    ],
)
def test_what_cannot_be_read_is_told(text, n, told):
    with pytest.raises(DataError) as error:
        from_lines(text, n, "alarms")
    assert str(error.value) == told
