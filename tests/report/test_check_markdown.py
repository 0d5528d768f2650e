from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from farm.report.check_ci import HEADINGS, MARK, MOST, check_markdown
from farm.report.check_wording import plain
from farm.report.checked import NotRun
from tests.report.made_verdicts import ALL, CRASHED, FAILED, IN_PARTS, OPEN, PASSED, checked, make
from tests.wording import same_text

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FOUND = check_markdown(checked(broken=[CRASHED], runs=["runs/gate_001"]))


def shown(text):
    """Return what a forge shows: the text of each heading, cell, item and paragraph, with what it is in."""
    found = []
    parents = []
    for token in READER.parse(text):
        if token.nesting:
            parents = [*parents, token.tag] if token.nesting > 0 else parents[:-1]
        elif token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "strong_open", "strong_close"}
            found.append((parents[0], parents[-1], "".join(child.content for child in token.children)))
    return found


def table(text):
    """Return the texts of the one table there is, row by row."""
    cells = [content for _, tag, content in shown(text) if tag in ("th", "td")]
    return [cells[i : i + len(HEADINGS)] for i in range(0, len(cells), len(HEADINGS))]


def items(text):
    return [content for first, _, content in shown(text) if first == "ul"]


def odd_one(name):
    return make("overall.mcc >= 0.4", "fail", 0.1, 0, 0.2, monitor=name, reason=f"of {name}")


def test_the_heading_counts():
    assert FOUND.startswith(f"{MARK}\n## farm check: ")
    told = "farm check: 4 failed, 2 not decided, 3 passed; 1 part of the runs failed or is missing"
    assert shown(FOUND)[0] == ("h2", "h2", told)
    assert shown(check_markdown(checked([PASSED])))[0] == ("h2", "h2", "farm check: 1 passed")


def test_the_table_has_what_failed_first():
    head, *rows = table(FOUND)
    assert head == list(HEADINGS)
    assert [row[0] for row in rows] == ["FAIL"] * 4 + ["not enough data"] * 2 + ["pass"] * 3
    expected = ["overall.mcc >= 0.4 on category:noise", "oob", "", "0.215", "<= 0.262", "95 %", "480 in 96"]
    assert rows[0][1:] == expected
    assert "\n| **FAIL** | overall.mcc >= 0.4 on category:noise | oob |" in FOUND


def test_a_sentence_for_each_that_did_not_pass():
    told = items(FOUND)
    assert len(told) == 6 + 1
    same_text(told[0])
    same_text(told[4])
    same_text(told[-1])


def test_what_a_protocol_found_has_its_part_beside_it():
    text = check_markdown(checked(IN_PARTS))
    assert [row[1:6] for row in table(text)[1:]] == [
        ["scenario_coverage >= 90 %", "the classifier", '"train k=2"', "0.800", "<= 0.800"],
        ["scenario.mtbf >= 200 on part:weakest", "the classifier", "", "∞", "120 to ∞"],
        [
            "scenario.overall.mcc >= 0.25 on each part",
            "the classifier",
            '"oob, weather=rain"',
            "0.300",
            ">= 0.260",
        ],
    ]
    same_text(items(text)[0])


def test_where_and_with_what_it_was_found():
    last = shown(FOUND)[-1][2]
    same_text(last)


def test_all_passed_is_short():
    text = check_markdown(checked([PASSED]))
    assert "did not" not in text
    assert "exit code" not in text
    assert not items(text)


def test_campaigns_stay_short():
    many = [odd_one(f"m{i}") for i in range(700)]
    broken = [NotRun(f"cell '{i}'", "runs/c", "not there") for i in range(700)]
    runs = [f"runs/{i}" for i in range(700)]
    text = check_markdown(checked([*[PASSED] * 700, *many], broken, runs=runs))
    assert text.count("\n") < 1000
    rows = table(text)[1:]
    assert len(rows) == MOST
    assert {row[0] for row in rows} == {"FAIL"}
    head = "farm check: 700 failed, 700 passed; 700 parts of the runs failed or are missing"
    assert shown(text)[0][2] == head
    assert ("p", "p", "1,200 more rows are not shown.") in shown(text)
    assert items(text).count("and 500 more") == 2
    assert "runs/199 and 500 more" in shown(text)[-1][2]


def test_what_failed_is_never_hidden_by_what_passed():
    text = check_markdown(checked([*[PASSED] * 300, OPEN, FAILED]))
    assert [row[0] for row in table(text)[1:4]] == ["FAIL", "not enough data", "pass"]


def test_a_long_list_of_passes_is_cut_too():
    assert len(table(check_markdown(checked(ALL * 100)))) == MOST + 1


@given(st.text(min_size=1) | st.text("<|>[](){}*_`~$@!#&;\\ab\n:/-+.1", min_size=1))
def test_any_name_is_shown_as_it_is(name):
    text = check_markdown(checked([odd_one(name)], [NotRun(name, name, name)], runs=[name], criteria=name))
    _, row = table(text)
    assert len(row) == len(HEADINGS)
    assert row[2] == plain(name)
    assert items(text)[0] == f"overall.mcc >= 0.4: {plain(name)}: of {plain(name)}".rstrip()
    assert text.encode().decode() == text
