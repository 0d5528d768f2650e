"""Published ways to evaluate, as a whole: each is a campaign's cells, and has a table and a page of its own.

A file that says `protocol: NAME` is read by that protocol, which writes it as a campaign. Importing this
loads none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farm.errors import ExperimentError, suggestion
from farm.store.campaign_folder import CampaignFolder

if TYPE_CHECKING:
    from farm.config.experiment import Experiment
    from farm.judging.inspection import Look
    from farm.report.page import FigureBook
    from farm.run.costs import Costs


@dataclass(frozen=True)
class Protocol:
    """A published way to evaluate, by its package, of which each module is loaded when it is asked for.

    `spec` has `as_campaign`; `sizes` has `Sizes` with `record`, and `wording` has `size_lines`; `results` has
    `Results` with `of` and `write`; `tables` has `looks` and `short`; `page` has `page`. Sizes may have
    `lacking`, lines on what of the file does not fit the data. Results may have `problems`, lines on what was
    wrong with data or files beside cells that failed, and `reported`, a `farm.gate.reported.Reported` for the
    criteria of `farm check`.
    """

    package: str

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.{name}")

    def as_campaign(self, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return what a file says as the values of a campaign."""
        written: dict[str, Any] = self._module("spec").as_campaign(values, folder)
        return written

    def size_record(
        self, cells: Iterable[tuple[Mapping[str, Any], Experiment]], costs: Costs
    ) -> dict[str, Any]:
        """Return what a campaign of these cells is, and what it takes, as JSON."""
        told: dict[str, Any] = self._module("sizes").Sizes(list(cells), costs).record()
        return told

    def lacking(
        self, said: Mapping[str, Any], cells: Iterable[tuple[Mapping[str, Any], Experiment]], costs: Costs
    ) -> list[str]:
        """Say what of a file does not fit its data, as far as the protocol looks for that before a run."""
        look = getattr(self._module("sizes"), "lacking", None)
        return [] if look is None else list(look(said, list(cells), costs))

    def size_lines(self, told: Mapping[str, Any], workers: int) -> list[str]:
        """Say in a few lines what `size_record` tells."""
        return list(self._module("wording").size_lines(told, workers))

    def results(self, folder: Path | str) -> Any:
        """Return what is there of a campaign's results."""
        return self._module("results").Results.of(folder)

    def tables(self, results: Any, *, short: bool = False) -> list[Look]:
        """Return what results say; `short` is the beginning alone."""
        tables = self._module("tables")
        return list(tables.short(results) if short else tables.looks(results))

    def page(self, results: Any, book: FigureBook) -> str:
        """Return the page of results."""
        return str(self._module("page").page(results, book))


PROTOCOLS = {
    "od-test": "farm.protocols.od_test",
    "robustness": "farm.protocols.robustness",
    "dependability": "farm.protocols.dependability",
    "uncertainty": "farm.protocols.uncertainty",
}
"""Where each lies."""


def protocol(name: Any) -> Protocol:
    """Return a protocol by its name."""
    if name not in PROTOCOLS:
        raise ExperimentError(f"protocol '{name}' is not known; {suggestion(str(name), PROTOCOLS)}")
    return Protocol(PROTOCOLS[name])


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign; of one that is such already, the same."""
    if not isinstance(values.get("protocol"), str):
        return dict(values)
    return protocol(values["protocol"]).as_campaign(values, folder)


def protocol_of(folder: Path | str) -> Protocol | None:
    """Return a campaign's protocol; None of any other folder."""
    if not CampaignFolder.is_campaign(folder):
        return None
    said: dict[str, Any] | None = CampaignFolder(folder).record()["campaign"].get("protocol")
    return None if said is None else protocol(said["protocol"])
