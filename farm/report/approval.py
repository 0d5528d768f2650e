"""The type-approval record: what was tested, by which criteria, and what came out, on a page to be signed.

It is one file that fetches nothing and runs nothing. It is made for A4, and goes on with the head of its
table on further pages where there are more criteria than one page holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING

from markupsafe import Markup

from farm.measures import Measure
from farm.report import check_wording as words
from farm.report.cells import DASH
from farm.report.checked import RECORD_BEGINS, Checked, RunIdentity
from farm.report.page.html import join, tag
from farm.statistics.wording import listed

if TYPE_CHECKING:
    from farm.gate.demand import CriterionOutcome
    from farm.gate.verdict import CriterionVerdict

TITLE = "Type-approval record"
OVERALL: dict[CriterionOutcome, str] = {
    "pass": "Pass",
    "fail": "Fail",
    "undecided": "Not enough data",
    "error": "Error",
}
"""The verdict on all, in one large word."""
COLOURS: dict[CriterionOutcome, str] = {"pass": "good", "fail": "bad", "undecided": "fair", "error": "bad"}
LINES = ("Name", "Place", "Date", "Signature")
MOST = 4
"""So many runs, digests or hashes are told one by one."""
MOST_FAULTS = 20
VERSIONS = ("farm-testbed", "python", "torch", "numpy")
UNKNOWN = "not recorded"
_LEFT = "text-align:left"
_CONSEQUENCES = {
    "report": "What is not decided is neither passed nor failed.",
    "pass": "The check was told to let pass what is not decided; this record does not call it a pass.",
    "fail": "The check was told to count as failed what is not decided.",
}


def approval_record(checked: Checked) -> str:
    """Return the whole page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="generator", content=f"farm-testbed {checked.version}"),
        tag("title", f"{TITLE}: {OVERALL[overall(checked)]}"),
        tag("style", Markup(_css() + _pages(checked))),
    )
    body = tag(
        "body",
        _head(checked),
        tag("main", _section("What was tested", _tested(checked)), _judged(checked), _meaning(checked)),
        tag("div", [tag("p", each, tag("span")) for each in LINES], class_="signature"),
    )
    return RECORD_BEGINS + str(tag("html", head, body, lang="en")) + "\n"


def approval_parts(checked: Checked) -> Markup:
    """Return what the record says, for a page with other parts: there it prints on pages of its own."""
    verdict = overall(checked)
    return tag(
        "div",
        tag("p", tag("strong", OVERALL[verdict]), f" ({words.counts_words(checked)})", class_="lead"),
        _tested(checked),
        _judged(checked),
        _meaning(checked),
        style="break-before:page;break-after:page",
    )


def overall(checked: Checked) -> CriterionOutcome:
    """Return the verdict on all of it.

    It fails where one criterion surely does. Short of that it is an error where something did not run, and
    passes only where all is decided, whatever a job makes of what is not.
    """
    counts = checked.counts
    if counts["fail"]:
        return "fail"
    if counts["error"] or checked.broken:
        return "error"
    return "undecided" if counts["undecided"] or not checked.judged else "pass"


def verdict_table(checked: Checked) -> Markup:
    """Return all verdicts as a table, for a page of any protocol: a criterion and a monitor a row."""
    levels = sorted({words.level_words(one) for one in checked.judged})
    mixed = len(levels) > 1
    bounds = "Bounds" if mixed or not levels else f"Bounds ({levels[0]} each)"
    headings = [
        "Criterion",
        "Monitor",
        "Value",
        bounds,
        *(["Level"] if mixed else []),
        "n",
        "Tracks",
        "Verdict",
    ]
    cells = [
        tag("th", name, scope="col", style=_LEFT if at < 2 else None) for at, name in enumerate(headings)
    ]
    caption = (
        "Bounds: the value is not below the first, and not above the second; each holds by itself with the "
        "level told. n: instances (of delays: onsets). Tracks: how many of them are independent (of times: "
        "measurements)."
    )
    if any(words.is_reported(one) for one in checked.judged):
        caption += f" Of what a protocol finds, n: {words.REPORTED_N}."
    bodies = [_verdict(one, len(headings), with_level=mixed) for one in checked.judged]
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", cells)), bodies, class_="verdicts")
    return tag("div", made, class_="wide", tabindex="0", role="group", aria_label="verdicts")


def _verdict(judged: CriterionVerdict, columns: int, *, with_level: bool) -> Markup:
    """Return a row, and below it why it is no pass, and what would decide it."""
    evidence, error = judged.evidence, judged.verdict == "error"
    where = words.where_words(judged)
    bounds = f"{_number(judged, evidence.low)} to {_number(judged, evidence.high)}"
    size, _, _ = words.size_words(judged).partition(" in ")
    numbers = [
        words.value_words(judged),
        DASH if error else bounds,
        *([words.level_words(judged)] if with_level else []),
        size,
        DASH if error else f"{min(evidence.n, evidence.n_groups):,}",
    ]
    row = tag(
        "tr",
        tag("th", words.criterion_words(judged), scope="row"),
        tag("td", words.plain(judged.monitor), f", {where}" if where else None, style=_LEFT),
        [tag("td", each, class_="number") for each in numbers],
        tag("td", tag("span", words.VERDICTS[judged.verdict], class_=f"badge {COLOURS[judged.verdict]}")),
    )
    why = _why(judged)
    below = tag("tr", tag("td", why, colspan=columns, style=_LEFT), class_="why") if why else None
    return tag("tbody", row, below)


def _why(judged: CriterionVerdict) -> str:
    """Say what the row does not: that bounds are on the wrong side of what is asked for is to be seen."""
    needed, reason, evidence = words.needed_words(judged), words.plain(judged.reason), judged.evidence
    _, _, more = reason.partition("; ")
    if judged.verdict == "pass":
        told = f"passed, but {words.plain(judged.note)}" if judged.note else ""
    elif judged.verdict == "fail" and evidence.low.defined and evidence.high.defined:
        told = more
    else:
        told = "; ".join(filter(None, (needed, more))) if needed else reason
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _number(judged: CriterionVerdict, measure: Measure) -> str:
    return words.figure(measure.value, judged.criterion) if measure.defined else DASH


def _head(checked: Checked) -> Markup:
    verdict = overall(checked)
    when = f"{checked.began:%Y-%m-%d %H:%M} UTC"
    return tag(
        "header",
        tag("div", tag("h1", TITLE), tag("p", f"Checked on {when} by farm-testbed {checked.version}")),
        tag(
            "div",
            tag("strong", OVERALL[verdict]),
            tag("small", words.counts_words(checked)),
            class_=f"overall {COLOURS[verdict]}",
        ),
    )


def _section(title: str, *children: object) -> Markup:
    return tag("section", tag("h2", title), *children)


def _tested(checked: Checked) -> Markup:
    rows = [(name, told) for name, told in _facts(checked) if told]
    return tag("dl", [(tag("dt", name), tag("dd", told)) for name, told in rows])


def _facts(checked: Checked) -> Iterator[tuple[str, Markup]]:
    tested = checked.tested
    yield "Classifier", _hashed(((one.classifier, one.classifier_digest) for one in tested), "digest")
    yield "Test data", _hashed(((one.workload, one.workload_hash) for one in tested), "content hash")
    yield "Faults", join(_faults(tested))
    yield "Runs", _runs(checked)
    known = {
        name: list(dict.fromkeys(v for one in tested if (v := one.versions.get(name)))) for name in VERSIONS
    }
    told = ", ".join(f"{name} {' and '.join(found)}" for name, found in known.items() if found)
    yield "Software", join(told or UNKNOWN)
    digest = join(", SHA-256 ", tag("code", checked.criteria_sha256)) if checked.criteria_sha256 else None
    yield "Criteria", join(words.plain(checked.criteria), digest)
    yield "Bounds by", join(f"{checked.replicates:,} resamplings where they are drawn, seed {checked.seed}")


def _hashed(pairs: Iterable[tuple[str, str]], what: str) -> Markup:
    """Name things with their hashes, each once."""
    found: dict[str, dict[str, None]] = {}
    for name, digest in pairs:
        found.setdefault(name, {})[digest] = None
    told = []
    for name, digests in islice(found.items(), MOST):
        shown = Markup(", ").join(tag("code", digest or UNKNOWN) for digest in islice(digests, MOST))
        more = f" and {len(digests) - MOST:,} more" if len(digests) > MOST else ""
        told.append(join(words.plain(name) or "without a name", f", {what} ", shown, more))
    if len(found) > MOST:
        told.append(Markup(f"{len(found) - MOST:,} more"))
    return Markup("; ").join(told or [Markup(UNKNOWN)])


def _faults(tested: Sequence[RunIdentity]) -> str:
    severities: dict[str, set[float]] = {}
    for one in tested:
        for name, severity in one.faults:
            severities.setdefault(name, set()).update(() if severity is None else (severity,))
    told = []
    for name, found in islice(severities.items(), MOST_FAULTS):
        levels = ", ".join(f"{severity:g}" for severity in sorted(found))
        told.append(f"{words.plain(name)} ({levels})" if levels else words.plain(name))
    more = len(severities) - MOST_FAULTS
    return f"{', '.join(told)}{f', and {more:,} more' if more > 0 else ''}" if told else "none recorded"


def _runs(checked: Checked) -> Markup:
    tested = checked.tested
    n, seeds = len(tested), sorted({one.seed for one in tested if one.seed is not None})
    counted = f"{n:,} run{'' if n == 1 else 's'}"
    if seeds:
        counted += f" with seed {seeds[0]}" if len(seeds) == 1 else f" with {len(seeds)} seeds"
    known = [one.n for one in tested if one.n is not None]
    images = f", {sum(known):,} instances" if known else ""
    places = [words.plain(run) for run in checked.runs]
    more = f" and {len(places) - MOST:,} more" if len(places) > MOST else ""
    sums = [one.checksum for one in tested if one.checksum] if n <= MOST else []
    return join(
        f"{counted}{images}, in {', '.join(places[:MOST])}{more}",
        "; checksum " if sums else None,
        Markup(", ").join(tag("code", each) for each in sums),
    )


def _judged(checked: Checked) -> Markup:
    lacking = [tag("li", words.broken_sentence(one)) for one in checked.broken]
    undecided = checked.counts["undecided"]
    return join(
        _section(
            "Criteria",
            verdict_table(checked),
            tag("p", _CONSEQUENCES[checked.undecided], class_="note") if undecided else None,
        ),
        _section("What failed to run, or is missing", tag("ul", lacking)) if lacking else None,
    )


def _meaning(checked: Checked) -> Markup:
    levels = sorted({words.level_words(one) for one in checked.judged})
    surely = f"at {listed(levels)} each" if levels else "at its level"
    said = [
        f"A pass says that the bounds hold on this test data and for these faults, {surely}; that all of "
        "them hold at once is less sure. It does not say that the system is safe elsewhere: on other data, "
        "under other faults, or in use.",
        _of_trainings(checked.tested),
    ]
    return tag(
        "section", tag("h2", "What this record means"), [tag("p", each) for each in said], class_="meaning"
    )


def _of_trainings(tested: Sequence[RunIdentity]) -> str:
    digests: dict[str, set[str]] = {}
    for one in tested:
        digests.setdefault(one.classifier, set()).add(one.classifier_digest)
    often = [
        f"{len(found)} of {words.plain(name) or 'the classifier'}"
        for name, found in digests.items()
        if len(found) > 1
    ]
    if often:
        return (
            f"Several trainings were tested, {listed(often)}. Bounds are about images, and not about what "
            "other trainings would give."
        )
    return "Bounds are about images: a classifier that is trained again is another one, and not covered."


def _pages(checked: Checked) -> str:
    """Return what stands at the foot of each printed page; of the data nothing but digits gets into it."""
    digest = "".join(letter for letter in checked.criteria_sha256 if letter in "0123456789abcdef")[:12]
    of = f", criteria {digest}" if digest else ""
    foot = f'content: "{TITLE}, {checked.began:%Y-%m-%d %H:%M} UTC{of}"'
    look = "font: 7pt sans-serif; color: #595959"
    number = 'content: "page " counter(page) " of " counter(pages)'
    return (
        f"@page {{ size: A4 portrait; margin: 11mm 12mm 13mm; @bottom-left {{ {foot}; {look} }} "
        f"@bottom-right {{ {number}; {look} }} }}"
    )


@cache
def _css() -> str:
    return (files("farm.report") / "approval.css").read_text(encoding="utf-8")
