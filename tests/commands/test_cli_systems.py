"""`farm compare --systems` as a person meets it."""

import json
from io import StringIO

import pandas as pd
import pytest

from farm.cli import main
from tests.comparing.systems.made_systems import make_run
from tests.wording import same_text

COSTS = "{wrong: 100, cancelled_right: 1, cancelled_wrong: 2, by_pair: {pedestrian: {car: 300}}}"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(0).save("a")
    make_run(1).save("b")
    (tmp_path / "costs.yaml").write_text(COSTS)
    return ["a", "b", "--systems"]


def printed(capsys, *arguments, code=0):
    assert main(["compare", *arguments]) == code
    return capsys.readouterr()


@pytest.mark.parametrize("style", ["table", "json", "csv", "latex", "markdown"])
def test_every_format_has_all_systems(runs, capsys, style):
    out = printed(capsys, *runs, "--costs", "costs.yaml", "--prevalence", "0.01", "--format", style).out
    assert all(name in out for name in ("boxes", "knn", "classifier", "m-of-n", "fog 3"))
    assert "nan" not in out.lower()
    if style == "latex":
        assert out == printed(capsys, *runs, "--costs", "costs.yaml", "--prevalence", "0.01", "--latex").out


def test_frames_have_all_numbers_one_a_row(runs, capsys):
    options = (*runs, "--costs", "costs.yaml", "--prevalence", "0.01")
    found = json.loads(printed(capsys, *options, "--format", "json").out)
    values = pd.read_csv(StringIO(printed(capsys, *options, "--format", "csv").out))
    told = values.set_index(["system", "instances", "measure"])
    for one in found["systems"]:
        name = one["design"]["name"]
        for measure in ("hazard", "acted", "fallback", "cost"):
            row = told.loc[name, "all instances", measure]
            assert [row[end] for end in ("value", "low", "high")] == pytest.approx(
                [one[measure][end] for end in ("value", "low", "high")]
            )
        assert told.loc[name, "snow 3", "cost"]["high"] == pytest.approx(
            one["by_fault"]["snow 3"]["cost"]["high"]
        )
    assert len(values) == 3 * (4 + 3 * 2)
    pairs = json.loads(printed(capsys, *options, "--table", "pairs", "--format", "json").out)
    assert [one["p_holm"] for one in pairs] == [one["p"] for one in found["differences"]]
    assert "boxes" in printed(capsys, *options, "--table", "pairs").out


def test_it_begins_with_a_plain_sentence_and_tells_what_to_know(runs, capsys):
    for arguments in ((), ("--costs", "costs.yaml", "--prevalence", "0.01")):
        found = json.loads(printed(capsys, *runs, *arguments, "--format", "json").out)
        same_text("\n".join([found["answer"], *found["notes"]]))
        text = printed(capsys, *runs, *arguments, "--format", "markdown").out
        assert text.replace("\\", "").startswith(found["answer"])


def test_json_has_what_tables_have_with_reasons(runs, capsys):
    make_run(3, n_id=12, n_ood=12).save("few")
    found = json.loads(printed(capsys, "few", "--systems", "--costs", "costs.yaml", "--format", "json").out)
    first = found["systems"][0]
    why = "the instances of 'no fault' are of 4 tracks; an interval needs at least 5"
    assert (first["hazard"]["low"], first["hazard"]["undefined"]) == (None, why)
    assert {each["undefined"] for each in found["differences"]} == {why}
    assert set(first["by_fault"]) == {"no fault", "fog 3", "snow 3"}
    assert (found["by"], found["share"], found["tracks"]) == ("cost", pytest.approx(2 / 3), 12)
    same_text(found["answer"])


@pytest.mark.parametrize(
    "given",
    [
        ("--measure", "auroc"),
        ("--false-alarms", "5"),
        ("--by", "category"),
        ("--control", "knn"),
        ("--undefined", "drop"),
        ("--rope", "0"),
        ("--cd", "cd.svg"),
        ("--out", "kept"),
        ("--table", "ranks"),
    ],
    ids=lambda given: given[0],
)
def test_options_without_effect_are_refused_by_name(runs, capsys, given):
    same_text(printed(capsys, *runs, *given, code=2).err)


@pytest.mark.parametrize(
    "given", [("--costs", "costs.yaml"), ("--prevalence", "0")], ids=lambda given: given[0]
)
def test_options_of_systems_are_refused_without(runs, capsys, given):
    same_text(printed(capsys, *runs[:-1], *given, code=2).err)


def test_prices_that_cannot_be_read_are_told(runs, capsys):
    same_text(printed(capsys, *runs, "--costs", "none.yaml", code=2).err)


def test_classes_that_no_instance_has_may_have_a_price(runs, capsys, tmp_path):
    make_run(0, classes=["car", "bicycle", "pedestrian", "lorry"]).save("lorries")
    (tmp_path / "costs.yaml").write_text("{wrong: 1, cancelled_right: 1, by_label: {lorry: 5, 2: 3}}")
    assert "lorries" not in printed(capsys, "lorries", *runs[2:], "--costs", "costs.yaml").err
