"""What holds at every moment of a stream: who looks after each instance may stop at will."""

from farm.statistics.anytime.bernstein import BernsteinSequence
from farm.statistics.anytime.betting import BettingSequence
from farm.statistics.anytime.evidence import Evidence, RateEvidence, ScoreEvidence, Together
from farm.statistics.anytime.paths import Method, path
from farm.statistics.anytime.peeking import repeated_fixed_n
from farm.statistics.anytime.prediction_powered import PredictionPowered
from farm.statistics.anytime.sequence import ConfidenceSequence
from farm.statistics.anytime.tracks import by_track

__all__ = [
    "BernsteinSequence",
    "BettingSequence",
    "ConfidenceSequence",
    "Evidence",
    "Method",
    "PredictionPowered",
    "RateEvidence",
    "ScoreEvidence",
    "Together",
    "by_track",
    "path",
    "repeated_fixed_n",
]
