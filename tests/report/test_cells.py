import pytest

from farm.report.cells import (
    DASH,
    Notes,
    TableCell,
    acceptance_cell,
    duration,
    latency_cell,
    look_up,
    mcc_cell,
    number,
    percent,
    rate_cell,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (1.0, "1.00"), (-1.0, "-1.00"), (0.9999, ">0.99"), (-0.9999, "<-0.99"), (0.004, "<0.01"),
     (-0.004, ">-0.01"), (0.005001, "0.01"), (0.994, "0.99"), (-0.21, "-0.21")],
)  # fmt: skip
def test_only_the_ends_look_like_the_ends(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0"), (1.0, "100.0"), (0.00001, "<0.1"), (0.99999, ">99.9")]
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("us", "text"), [(0.0, "0.0 µs"), (9.94, "9.9 µs"), (999.0, "999 µs"), (1000.0, "1.0 ms")]
)
def test_duration(us, text):
    assert duration(us) == text


def test_look_up_gives_the_reason_of_the_innermost_null():
    record = {"specific": {"mcc": None, "undefined": {"mcc": "no alarm"}}, "auroc": 0.5, "undefined": {}}
    assert look_up(record, "specific.mcc") == (None, "no alarm")
    assert look_up(record, "auroc") == (0.5, "")
    assert look_up({"overall": None, "undefined": {"overall": "no labels"}}, "overall.mcc") == (
        None,
        "no labels",
    )


def test_error_has_its_interval_below_and_digits_that_show_it():
    wide = {"specific": {"error": 0.1, "error_low": 0.08, "error_high": 0.13}}
    tight = {"specific": {"error": 0.001, "error_low": 0.0004, "error_high": 0.003}}
    assert rate_cell("specific.error")(wide, Notes()) == TableCell("10.0", f"8.0{DASH}13.0")
    assert rate_cell("specific.error")(tight, Notes()) == TableCell("0.10", f"0.04{DASH}0.30")
    unknown = {"specific": {"error": None, "undefined": {"error": "nothing to judge"}}, "undefined": {}}
    assert rate_cell("specific.error")(unknown, Notes()) == TableCell(DASH, note=1)


def test_mcc_has_its_interval_below():
    known = {"overall": {"mcc": 0.314, "mcc_low": 0.251, "mcc_high": 0.379}}
    near_none = {"overall": {"mcc": 0.01, "mcc_low": -0.204, "mcc_high": 0.22}}
    assert mcc_cell("overall")(known, Notes()) == TableCell("0.31", f"0.25{DASH}0.38")
    assert mcc_cell("overall")(near_none, Notes()) == TableCell("0.01", "-0.20 to 0.22")
    endless = {"overall": {"mcc": 0.3, "mcc_low": None, "undefined": {"mcc_low": "too few tracks"}}}
    notes = Notes()
    assert mcc_cell("overall")(endless | {"undefined": {}}, notes) == TableCell("0.30", note=1)
    assert notes.texts == ["too few tracks"]


def test_latency_is_also_in_terms_of_the_classifier():
    def record(monitor, classifier):
        times = {"monitor_time_us": monitor, "classifier_time_us": classifier}
        return {name: value and {"median": value} for name, value in times.items()} | {"undefined": {}}

    assert latency_cell(record(50.0, 100.0), Notes()) == TableCell("50 µs", "+50 %")
    assert latency_cell(record(0.5, 100.0), Notes()) == TableCell("0.5 µs", "<1 %")
    assert latency_cell(record(50.0, None), Notes()) == TableCell("50 µs")
    assert latency_cell(record(None, 100.0), Notes()) == TableCell(DASH, note=1)


def test_acceptance_asked_and_realised():
    record = {"asked_acceptance": 0.95, "realised_acceptance": 0.9312, "undefined": {}}
    assert acceptance_cell(record, Notes()) == TableCell("95.0", "→ 93.1")
    assert acceptance_cell(record | {"asked_acceptance": None}, Notes()) == TableCell(DASH, "→ 93.1")
    none = {
        "asked_acceptance": None,
        "realised_acceptance": None,
        "undefined": {"realised_acceptance": "why"},
    }
    notes = Notes()
    assert acceptance_cell(none, notes) == TableCell(DASH, note=1)
    assert notes.texts == ["why"]
