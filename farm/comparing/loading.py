"""One function that loads what was kept: a run, a comparison or a campaign, by what the folder is."""

from __future__ import annotations

from pathlib import Path

from farm.comparing.comparison import Comparison
from farm.comparing.saving import RECORD
from farm.store.campaign_folder import CampaignFolder
from farm.store.campaign_runs import CampaignRuns
from farm.store.readouts import Readouts


def load(place: Path | str) -> Readouts | Comparison | CampaignRuns:
    """Load a run, a comparison or a campaign from its folder, or a log (CSV or Parquet).

    Parameters
    ----------
    place
        A folder that `farm run` or `farm compare --out` wrote, or `save` of readouts and comparisons; a log.

    Returns
    -------
    Readouts, Comparison or CampaignRuns
        By what lies there: a run's or a log's readouts, a comparison, or a campaign's runs, each of which is
        read when it is asked for. What is none of these is an error.

    Examples
    --------
    >>> import tempfile
    >>> from farm.testing import make_readouts
    >>> made = make_readouts({"mine": [False, True, True]}, is_ood=[False, False, True])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(made.save(f"{folder}/run"))
    Readouts(instances=3, monitors=['mine'])
    """
    place = Path(place)
    if CampaignFolder.is_campaign(place):
        return CampaignRuns.load(place)
    if (place / RECORD).is_file():
        return Comparison.load(place)
    return Readouts.load(place)
