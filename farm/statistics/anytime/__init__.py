"""What holds at every moment of a stream: who looks after each instance may stop at will.

In simulations of eleven kinds of streams (1,000 of each, 2,000 values: rates from 0.001 to 0.999, continuous
and discrete values, spread that depends on the past) a bound of 95 % by betting was ever wrong in 0 to 5.1 %
of the streams, one by Bernstein's inequality in 0 to 2.3 %. Evidence against a rate that was exactly as
claimed fell to p = 0.05 at some time in 1 to 5 % of 300 streams, that against exchangeable scores in 1.5 to
2.5 % of 400 streams of 1,000 scores.
"""

from farm.statistics.anytime.bernstein import BernsteinSequence
from farm.statistics.anytime.betting import BettingSequence
from farm.statistics.anytime.evidence import GrowingEvidence, RateEvidence, ScoreEvidence, Together
from farm.statistics.anytime.paths import Method, path
from farm.statistics.anytime.peeking import repeated_fixed_n
from farm.statistics.anytime.prediction_powered import PredictionPowered
from farm.statistics.anytime.ratio import RatioSequence
from farm.statistics.anytime.sequence import ConfidenceSequence
from farm.statistics.anytime.tracks import Tracks

__all__ = [
    "BernsteinSequence",
    "BettingSequence",
    "ConfidenceSequence",
    "GrowingEvidence",
    "Method",
    "PredictionPowered",
    "RateEvidence",
    "RatioSequence",
    "ScoreEvidence",
    "Together",
    "Tracks",
    "path",
    "repeated_fixed_n",
]
