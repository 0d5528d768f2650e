"""Change detectors: has what a stream's values are drawn from moved? In constant memory, value by value.

Monitors and policies are made of them, and what judges a stream may use them. They know of no classifier.
"""

from farm.api.changes.adwin import Adwin
from farm.api.changes.bets import MixtureBet, MovingCapital
from farm.api.changes.cusum import Cusum
from farm.api.changes.detector import DIRECTIONS, ChangeDetector
from farm.api.changes.discrepancy import Discrepancy
from farm.api.changes.ewma import Ewma
from farm.api.changes.martingale import Betting, Conformal, Martingale, ShiryaevRoberts, promised
from farm.api.changes.page_hinkley import PageHinkley
from farm.api.changes.ranks import ConformalRanks
from farm.api.changes.run_length import check_run_length, limit_of_run_length
from farm.api.changes.standardised import Standardised
from farm.api.changes.units import Units

__all__ = [
    "DIRECTIONS",
    "Adwin",
    "Betting",
    "ChangeDetector",
    "Conformal",
    "ConformalRanks",
    "Cusum",
    "Discrepancy",
    "Ewma",
    "Martingale",
    "MixtureBet",
    "MovingCapital",
    "PageHinkley",
    "ShiryaevRoberts",
    "Standardised",
    "Units",
    "check_run_length",
    "limit_of_run_length",
    "promised",
]
