import csv
import io
import json
import re

import numpy as np
import pytest

from farm.errors import ParameterError
from farm.judging import judge
from farm.report.tables import FORMATS, render
from farm.report.terminal import printed, sentences
from farm.testing import make_readouts
from tests.wording import refused, same_text

ANSI = re.compile(r"\x1b\[")


def make_records(workload="gtsrb", faults=("btsc",), severity=None, **dropped):
    """Judge three monitors: one that works, one that never alarms, one that failed."""
    rng = np.random.default_rng(1)
    n = 1000
    is_ood = np.arange(n) >= 800
    label = rng.integers(0, 5, n)
    predicted = np.where(rng.random(n) < 0.9, label, (label + 1) % 5)
    faultload = np.where(is_ood, rng.choice(faults, n), None)
    score = rng.normal(size=n) + 2 * is_ood
    run = {
        "workload": {"name": workload},
        "classifier": {"name": "lenet"},
        "monitors": [
            {"name": "oob_pca", "calibration": {"asked_acceptance": 0.95}},
            {"name": "broken", "failure": "class 3 & 4: 50 % singular"},
            {"name": "never", "ranked": False},
        ],
    }
    made = make_readouts(
        {
            "oob_pca": {"score": score, "alarm": score > 1.5, "monitor_time_us": 34.0},
            "never": {"score": np.nan, "alarm": False, "monitor_time_us": 34.0},
        },
        label=np.where(is_ood, -1, label),
        predicted=predicted,
        is_ood=is_ood,
        faultload=faultload,
        category="novelty",
        severity=np.nan if severity is None else severity,
        classifier_time_us=100.0,
        run=run,
    )
    return judge(
        made.instances.drop(columns=[name for name, drop in dropped.items() if drop]), made.alarms, run
    )


RECORDS = make_records()


def whole(records, *options, **more):
    """Render everything: `--all`."""
    return render(records, *options, **more, everything=True)


BOUNDED = ("mcc", "error", "fpr", "fnr")


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


@pytest.mark.parametrize("width", [80, 100, 140])
def test_table_fits_and_nothing_is_cut(width):
    for text, names in (
        (whole(RECORDS, "table", width=width), ("oob_pca", "broken", "never", "oracle", "classifier alone")),
        (render(RECORDS, "table", width=width), ("oob_pca", "broken", "For comparison, accepted: never")),
    ):
        assert max(len(line) for line in text.splitlines()) <= width
        assert "…" not in text
        for name in names:
            assert line_of(text, name)


def test_table_says_what_was_judged():
    same_text(render(RECORDS, width=80))
    same_text(whole(RECORDS))


def test_the_short_table_has_the_records_numbers_and_one_block_of_80_columns():
    text = render(RECORDS, width=80)
    assert text.count("monitor ") == 1
    record = next(r for r in RECORDS if r["part"] == "all" and r["monitor"] == "oob_pca")
    assert line_of(text, "oob_pca").split()[1:] == [
        f"{record['specific']['mcc']:.2f}",
        f"{record['auroc']:.2f}",
        f"{100 * record['fpr_at_95_tpr']:.1f}",
        f"{100 * record['specific']['fpr']:.1f}",
        f"{100 * record['specific']['fnr']:.1f}",
        f"{record['overall']['mcc']:.2f}",
        f"{100 * record['coverage']:.1f}",
        f"{100 * record['accepted_accuracy']:.1f}",
        "34",
        "µs",
    ]


def test_below_the_short_table_are_what_it_is_to_be_compared_with_and_two_lines_of_legend():
    lines = render(RECORDS, width=80).splitlines()
    at = lines.index(line_of("\n".join(lines), "For comparison, accepted:"))
    perfect = next(r for r in RECORDS if r["part"] == "all" and r["monitor"] == "oracle")
    never = next(r for r in RECORDS if r["part"] == "all" and r["monitor"] == "never")
    assert " ".join(lines[at : at + 2]) == (
        f"For comparison, accepted: never 100.0 % ({100 * never['accepted_accuracy']:.1f} % right), oracle "
        f"{100 * perfect['coverage']:.1f} % (100.0 % right)."
    )
    # Between them only footnotes: of the monitor that failed.
    assert [line[:1] for line in lines[at + 2 :]] == ["", "¹", "", "s", "b"]


@pytest.mark.parametrize("width", range(9, 40))
def test_a_number_and_its_per_cent_sign_stay_together(width):
    lines = printed(sentences(["It catches 38 % of images"], ["a half, 50 %"]), width=width).splitlines()
    assert " ".join(filter(None, lines)) == "Warning: a half, 50 %. It catches 38 % of images"
    assert not any(line.startswith("%") for line in lines)
    assert max(map(len, lines)) <= width


def test_along_time_yardsticks_have_rows_with_everything_alone():
    episode = np.where(np.arange(60) // 10 % 2, np.arange(60) // 20, -1)
    alarms = {"odin": episode >= 0, "random": False}
    run = make_readouts(alarms, is_ood=episode >= 0, wrong=episode >= 0, episode=episode)
    records = judge(run.instances, run.alarms, run.run)
    short, everything = (shown(records).partition("along time")[2] for shown in (render, whole))
    assert line_of(short, "odin").split()[1:6] == ["0.0", "3", "0", "0", "0"]
    assert "random" not in short
    assert line_of(everything, "random").split()[1:4] == ["0.0", "3", "2"]  # one is open
    assert "delay: instances from onset to alarm" in short


def test_where_only_yardsticks_ran_they_have_the_table():
    records = [record for record in RECORDS if record["monitor"] in ("never", "oracle")]
    assert line_of(render(records), "never").split()[1].startswith("\N{EN DASH}")
    assert "none of the 1,000 instances raised an alarm" in render(records)


def test_short_pages_have_the_same_sentence_below():
    for format in ("markdown", "latex"):
        text = render(RECORDS, format)
        assert "accepted: never 100.0" in text
        assert "classifier alone" not in text
        assert "classifier alone" in whole(RECORDS, format)


def test_table_shows_the_records_numbers():
    text = whole(RECORDS, width=120)
    record = next(r for r in RECORDS if r["part"] == "all" and r["monitor"] == "oob_pca")
    row = line_of(text, "oob_pca").split()
    shown = [
        record["specific"]["mcc"],
        record["specific"]["error"],
        record["specific"]["fpr"],
        record["specific"]["fnr"],
    ]
    assert row[1:5] == [f"{shown[0]:.2f}", *(f"{100 * share:.1f}" for share in shown[1:])]
    assert row[5:8] == [
        f"{record['auroc']:.2f}",
        f"{100 * record['fpr_at_95_tpr']:.1f}",
        f"{record['overall']['mcc']:.2f}",
    ]
    assert row[9:] == [
        f"{100 * record['coverage']:.1f}",
        f"{100 * record['accepted_accuracy']:.1f}",
        "34",
        "µs",
        "95.0",
    ]
    below = text.splitlines()[text.splitlines().index(line_of(text, "oob_pca")) + 1]
    ends = {name: [record["specific"][f"{name}_{end}"] for end in ("low", "high")] for name in BOUNDED}
    assert below.split()[:4] == [
        "{:.2f}\N{EN DASH}{:.2f}".format(*ends["mcc"]),
        *("{:.1f}\N{EN DASH}{:.1f}".format(*(100 * end for end in ends[name])) for name in BOUNDED[1:]),
    ]
    assert " ".join(below.split()).endswith(f"+34 % → {100 * record['realised_acceptance']:.1f}")


def test_undefined_is_a_dash_with_a_footnote():
    text = whole(RECORDS)
    mark = re.search(r"never +\N{EN DASH}([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text).group(1)
    assert f"\n{mark} none of the 1,000 instances raised an alarm\n" in text
    notes = re.findall(r"^[⁰¹²³⁴⁵⁶⁷⁸⁹]+ (.+)$", text, re.MULTILINE)
    assert len(notes) == len(set(notes))


def test_a_failed_monitor_is_shown_with_its_reason():
    text = whole(RECORDS)
    same_text(text)
    assert set(line_of(text, "broken").split()[1:]) == {"\N{EN DASH}"}


def test_oracle_stands_apart_and_is_not_ranked():
    lines = whole(RECORDS).splitlines()
    at = lines.index(line_of("\n".join(lines), "oracle"))
    assert set(lines[at - 1].strip()) == {"─"}
    assert lines[at + 1].split()[:2] == ["not", "ranked"]


def test_legend_says_what_is_positive_and_what_is_better():
    text = " ".join(whole(RECORDS).split())
    same_text(text)
    assert "higher is better" in text
    assert "lower is better" in text


def test_id_table_has_the_classifier_alone_and_the_change():
    text = whole(RECORDS)
    after = text[text.index("ID instances only") :]
    record = next(r for r in RECORDS if r["part"] == "id" and r["monitor"] == "oob_pca")
    alone = line_of(after, "classifier alone").split()
    assert alone[2:] == [
        f"{record['classifier_mcc']:.2f}",
        "100.0",
        f"{100 * record['classifier_accuracy']:.1f}",
    ]
    assert line_of(after, "oob_pca").split()[1:3] == [
        f"{record['system_mcc']:.2f}",
        f"{record['relative_change']:+.1f}",
    ]


def test_below_it_stands_what_the_classifiers_probabilities_are_worth():
    certainty = {"classifier_brier_sum": 0.1234, "classifier_brier_mean": None}
    records = [{**r, **certainty, "classifier_confidence_auroc": 0.876} for r in RECORDS]
    told = (
        "The classifier's probabilities: Brier score 0.123, AUROC of right predictions by confidence 0.876."
    )
    assert told in " ".join(whole(records).split())
    certainty["classifier_brier_mean"] = 0.0041
    assert "Brier score 0.123, 0.0041 a class, AUROC" in " ".join(
        whole([{**r, **certainty} for r in records]).split()
    )


def test_id_table_comes_once_a_run_and_groups_each_have_theirs():
    text = whole([*make_records(faults=("fog", "snow"), severity=2.0), *make_records("cifar10")])
    titles = [line for line in text.splitlines() if " · " in line]
    assert titles == [
        "gtsrb · lenet · novelty / fog · severity 2",
        "gtsrb · lenet · novelty / snow · severity 2",
        "gtsrb · lenet",
        "cifar10 · lenet · novelty / btsc",
        "cifar10 · lenet",
    ]


def test_without_is_ood_and_labels_there_is_still_a_table():
    for shown in (render, whole):
        same_text(shown(make_records(is_ood=True, label=True)))


def test_colour_only_if_asked_for():
    assert not ANSI.search(render(RECORDS))
    assert ANSI.search(render(RECORDS, colour=True))


def test_json_is_the_records():
    assert json.loads(render(RECORDS, "json")) == RECORDS


def test_csv_has_every_field_flat():
    rows = list(csv.DictReader(io.StringIO(render(RECORDS, "csv"))))
    assert len(rows) == len(RECORDS)
    for row, record in zip(rows, RECORDS, strict=True):
        assert row["monitor"] == record["monitor"]
        assert row["coverage"] == ("" if record["coverage"] is None else str(record["coverage"]))
        mcc = None if record["specific"] is None else record["specific"]["mcc"]
        assert row["specific.mcc"] == ("" if mcc is None else str(mcc))
        assert not {"specific", "overall"} & set(row)
    never = next(row for row in rows if row["monitor"] == "never" and row["part"] == "all")
    same_text(never["specific.undefined"])
    assert "realised_acceptance: no calibration" in never["undefined"]


def test_csv_where_a_block_is_null_everywhere():
    rows = list(csv.DictReader(io.StringIO(render(make_records(is_ood=True), "csv"))))
    assert {row["specific"] for row in rows} == {""}


def test_markdown_tables_have_the_same_cells_in_every_row():
    text = whole(RECORDS, "markdown")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(cells) == 1
    assert r"oob\_pca" in text
    same_text(text)


def test_latex_is_escaped_and_every_row_has_all_columns():
    text = whole(RECORDS, "latex")
    assert r"oob\_pca" in text
    same_text(text)
    bodies = re.findall(r"\\begin\{tabular\}\{(l?r+)\}\n(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(bodies) == 2
    for columns, body in bodies:
        for line in body.splitlines():
            if line.endswith(r"\\"):
                spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
                assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == len(columns)
        for rule in ("toprule", "midrule", "bottomrule"):
            assert f"\\{rule}" in body
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert uncommented.isascii()
    assert uncommented.count("{") - uncommented.count(r"\{") == uncommented.count("}") - uncommented.count(
        r"\}"
    )


def test_latex_minus_is_a_minus_and_a_hyphen_stays_one():
    records = [json.loads(json.dumps(record)) for record in RECORDS]
    for record in records:
        record["workload"] = "gtsrb-5"
        if record["specific"] and record["specific"]["mcc"]:
            record["specific"]["mcc"] = -0.001
    text = render(records, "latex")
    assert r"\textgreater{}$-$0.01" in text
    assert "gtsrb-5" in text


@pytest.mark.parametrize("format", FORMATS)
def test_no_records_are_no_tables(format):
    assert "oob" not in render([], format)


def test_unknown_format_gets_a_suggestion():
    with refused(ParameterError):
        render(RECORDS, "markdwon")


# Policies and fallbacks ----------------------------------------------------------------------------------


def recovering(policy="cancel", fallback="none"):
    """Say of one monitor what follows its alarms."""
    told = {"policy": policy, "fallback": fallback}
    return [record | (told if record["monitor"] == "oob_pca" else {}) for record in RECORDS]


def test_the_usual_policy_needs_no_note():
    for format in ("table", "markdown", "latex"):
        assert whole(recovering(), format) == whole(RECORDS, format)


@pytest.mark.parametrize(
    ("policy", "fallback", "note"),
    [
        ("m-of-n (m 2, n 5)", "none", "policy: m-of-n (m 2, n 5)"),
        ("cancel", "last", "fallback: last"),
        ("latching", "lenet (hidden 32)", "policy: latching; fallback: lenet (hidden 32)"),
    ],
)
def test_another_policy_or_a_fallback_is_told_beside_the_monitors_name(policy, fallback, note):
    records = recovering(policy, fallback)
    text = whole(records, width=120)
    number = re.search(rf"^([⁰¹²³⁴⁵⁶⁷⁸⁹]+) {re.escape(note)}$", text, re.MULTILINE).group(1)
    assert text.count(f"oob_pca{number} ") == 2, "in both tables"
    assert line_of(text, "never").split()[0] == "never"
    markdown = whole(records, "markdown")
    (place,) = re.findall(rf"^- <sup>(\d+)</sup> {re.escape(note)}$", markdown, re.MULTILINE)
    assert f"| oob\\_pca<sup>{place}</sup> |" in markdown
    latex = whole(records, "latex")
    assert f"\\textsuperscript{{{place}}} {note}" in latex
    assert f"oob\\_pca\\textsuperscript{{{place}}} &" in latex
    for row in csv.DictReader(io.StringIO(whole(records, "csv"))):
        expected = (policy, fallback) if row["monitor"] == "oob_pca" else ("", "")
        assert (row["policy"], row["fallback"]) == expected
    assert json.loads(whole(records, "json")) == records


def test_the_legend_says_what_a_fallback_changes_only_where_there_is_one():
    for shown in (whole, render):
        assert "the fallback's among them" not in " ".join(shown(recovering("latching")).split())
        same_text(" ".join(shown(recovering("cancel", "last")).split()))
