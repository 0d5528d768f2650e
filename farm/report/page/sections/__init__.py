"""The sections of a page, one file each, in their order."""

from farm.report.page.section import SectionMaker
from farm.report.page.sections.alarms import alarms
from farm.report.page.sections.answer import answer
from farm.report.page.sections.cells import cells
from farm.report.page.sections.changes import changes
from farm.report.page.sections.classifier import classifier
from farm.report.page.sections.data import data
from farm.report.page.sections.guarantees import guarantees
from farm.report.page.sections.heat import heat
from farm.report.page.sections.method import method
from farm.report.page.sections.ranks import ranks
from farm.report.page.sections.repeat import repeat
from farm.report.page.sections.severity import severity
from farm.report.page.sections.trade import trade

SECTIONS: tuple[SectionMaker, ...] = (
    answer,
    changes,
    alarms,
    guarantees,
    heat,
    ranks,
    trade,
    severity,
    cells,
    classifier,
    data,
    repeat,
    method,
)
"""An evaluation method adds its own by a file with one such function, and gives the page those it wants."""
