"""What an analysis of variance found, each part with one plain sentence."""

from __future__ import annotations

from dataclasses import dataclass

from farm.errors import ParameterError, suggestion
from farm.statistics.anova_checks import Check
from farm.statistics.table import Undefined
from farm.statistics.wording import p_words, percent_words


@dataclass(frozen=True, slots=True)
class Effect:
    """What one factor, or an interaction of several, does to the value."""

    factors: tuple[str, ...]
    sum_of_squares: float
    df: int
    error_df: int
    f: float
    p: float
    eta_squared: float
    """Its share of the whole variance. Over all effects and the error the shares add up to 1 where the design
    is balanced."""
    partial_eta_squared: float
    """Its share of what the other effects leave over."""
    omega_squared: float
    """Its share of the whole variance in the population. Unlike eta squared it is not too large on the
    average, and so it is below 0 for about half of the effects that are none."""
    alpha: float

    @property
    def name(self) -> str:
        """The factors, joined by x."""
        return " x ".join(self.factors)

    @property
    def shows(self) -> bool:
        """Whether the effect is significant."""
        return self.p < self.alpha

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        who = f"the {self.name}" if len(self.factors) == 1 else f"the interaction {self.name}"
        test = f"(F({self.df}, {self.error_df}) = {self.f:.3g}, {p_words(self.p)})"
        share = percent_words(self.eta_squared)
        if self.shows:
            return f"{who} explains {share} of the variance {test}"
        return f"no effect of {who} shows: it explains {share} of the variance {test}"


@dataclass(frozen=True)
class LevelMeans:
    """The mean at each level of a factor, every combination of the other factors' levels counting once.

    In a balanced design these are the plain means. In others a plain mean would charge a level for the
    conditions that it happened to meet more often.
    """

    factor: str
    levels: tuple[str, ...]
    n: tuple[int, ...]
    means: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    """Of the means' errors, from the error term of the whole analysis."""


@dataclass(frozen=True)
class Anova:
    """An analysis of variance with all that is needed to doubt it."""

    value: str
    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    n: int
    effects: tuple[Effect, ...]
    error_sum_of_squares: float
    error_df: int
    total_sum_of_squares: float
    r_squared: float
    smallest_cell: int
    """Runs in the cell that has fewest; 0 where a combination of levels has none."""
    largest_cell: int
    normality: Check
    homogeneity: Check
    warnings: tuple[str, ...]
    """What may make the result wrong, such as runs that count more than once."""
    level_means: tuple[LevelMeans | Undefined, ...]
    """Factor by factor."""
    alpha: float

    @property
    def error_mean_square(self) -> float:
        """The variance between runs that differ in nothing that the analysis knows."""
        return self.error_sum_of_squares / self.error_df

    @property
    def balanced(self) -> bool:
        """Whether every cell has as many runs as any other."""
        return self.smallest_cell == self.largest_cell

    def effect(self, *factors: str) -> Effect:
        """Give the effect of a factor, or of an interaction in any order."""
        for effect in self.effects:
            if set(effect.factors) == set(factors):
                return effect
        known = [effect.name for effect in self.effects]
        name = " x ".join(factors)
        raise ParameterError(f"anova: '{name}' is no effect of this analysis; {suggestion(name, known)}")

    def means_of(self, factor: str) -> LevelMeans | Undefined:
        """Give the means at each level of a factor, or why there are none."""
        if factor not in self.factors:
            raise ParameterError(f"anova: factor '{factor}' is unknown; {suggestion(factor, self.factors)}")
        return self.level_means[self.factors.index(factor)]

    @property
    def balance_sentence(self) -> str:
        """How many runs the cells have, in plain words."""
        if self.balanced:
            return f"the design is balanced: {self.smallest_cell} runs in every cell"
        return (
            f"the design is not balanced: {self.smallest_cell} to {self.largest_cell} runs in a cell; the "
            "shares of variance need not add up to 100 %"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that was found: the effects, the assumptions, and what may make it wrong."""
        effects = tuple(effect.sentence for effect in self.effects)
        checks = (self.balance_sentence, self.normality.sentence, self.homogeneity.sentence)
        return (*effects, *checks, *self.warnings)
