"""Has a stream changed? Scores turned into p-values, and bets on them."""

from farm.api.changes.bets import MixtureBet, MovingCapital
from farm.api.changes.ranks import ConformalRanks

__all__ = ["ConformalRanks", "MixtureBet", "MovingCapital"]
