"""How often monitors alarm where nobody knows what is right, as in a fleet's logs."""

from __future__ import annotations

from farm.gate.alarm_rates import alarm_records
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import sheets_of
from farm.report.sheets import sheets


def alarms(found: Findings, book: FigureBook) -> PageSection | None:  # noqa: ARG001 - it draws nothing
    """Return the section; None where labels or `is_ood` are known of all runs."""
    unlabelled = [one.unlabelled for one in found.runs if one.unlabelled is not None]
    if not unlabelled:
        return None
    told = (
        "Neither labels nor is_ood are known, so nothing tells whether alarms are right. They can be counted."
    )
    records = [record for readouts in unlabelled for record in alarm_records(readouts)]
    return PageSection("alarms", "Alarms", join(tag("p", told), sheets_of(sheets(records))))
