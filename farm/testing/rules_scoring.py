"""Rules about scores: what they are, what they may depend on, and which way they point."""

from __future__ import annotations

import json
import math

import numpy as np

from farm.api import Explanation, FloatArray, Observation
from farm.measures.ranking import Separation
from farm.run.recorder import MARGIN, spread
from farm.testing.observations import batches, renamed
from farm.testing.rules import Breach, NotApplicable, rule
from farm.testing.rules_fitting import leaves_global_chance_alone, one_finite_score_an_instance
from farm.testing.trial import BATCH, Trial

SURE = 4.0
"""So many standard errors are no accident."""
BACKWARDS = 0.4
"""A mean AUROC below this is no accident: its standard error is about 0.02 for scores drawn by lot."""
CLEAR = 0.15
"""An AUROC so far from a half is no accident: four times its standard error for one kind."""
PIECE = 7
"""An odd batch size, so that the last batch is shorter."""


@rule(one_finite_score_an_instance, leaves_global_chance_alone)
def scores_repeat(trial: Trial) -> None:
    """The same batches get the same scores once more, bit for bit."""
    sample = trial.observed.sample
    monitor = trial.fitted()
    first = trial.score(monitor, sample)
    if trial.needs.order:
        near(first, trial.score(trial.fitted(), sample), "from another start")
        return
    with trial.watching(monitor):
        again = np.concatenate([monitor.score(part) for part in batches(sample, BATCH)])
    near(first, again, "the second time (does it remember? then its needs must say 'order')")


@rule(scores_repeat)
def reset_forgets(trial: Trial) -> None:
    """Where the order counts, a stream that begins anew is scored as if nothing had been before."""
    if not trial.needs.order:
        raise NotApplicable("its needs do not say that the order counts")
    monitor, sample = trial.fitted(), trial.observed.sample
    first = trial.score(monitor, sample)
    trial.score(monitor, trial.observed.strange["noise"])
    near(first, trial.score(monitor, sample), "after another stream and a restart")


@rule(scores_repeat)
def scores_do_not_depend_on_the_batch(trial: Trial) -> str:
    """Neither the batch size nor the company nor the place in a batch counts, beyond the last bits."""
    sample = trial.observed.sample
    whole = trial.score(trial.fitted(), sample, size=len(sample))
    tolerance = MARGIN * spread(whole)
    as_it_is = np.arange(len(sample))
    ways = [(f"in batches of {size}", as_it_is, size) for size in (1, PIECE)]
    if not trial.needs.order:
        shuffled = np.random.default_rng(0).permutation(len(sample))
        ways.append(("shuffled and in other company", shuffled, PIECE))
    worst = 0.0
    for when, order, size in ways:
        found = trial.score(trial.fitted(), sample.take(order), size=size)
        worst = max(worst, near(whole[order], found, when, tolerance))
    return f"at most {worst / spread(whole):.1g} of the scores' spread" if worst else "bit for bit"


@rule(scores_repeat)
def scores_as_well_in_a_new_process(trial: Trial) -> str | None:
    """Saved without pickle and restored in a new process, it gives the same scores, bit for bit."""
    there = trial.elsewhere.scores(trial)
    near(trial.score(trial.fitted(), trial.observed.sample), there.scores, "restored " + there.where)
    return there.remark


@rule(scores_repeat)
def names_tell_it_nothing(trial: Trial) -> str | None:
    """Instances' ids and tracks may be read as names, not as hints at labels.

    Random numbers may be drawn by the id. So names that say 'all is well' and names that say 'a strange thing
    of another class' are given to the same instances: scores may differ, but not rise or fall together.
    """
    familiar = trial.observed.familiar
    scores = []
    for word, shift in (("familiar", 0), ("anomaly", 1)):
        classes = trial.system.workload.classes
        told = [classes[(k + shift) % len(classes)] for k in familiar.predicted]
        ids = [f"{word}/{label}/{i:04d}" for i, label in enumerate(told)]
        scores.append(trial.score(trial.fitted(), renamed(familiar, ids, _tracks(familiar, word, told))))
    well, strange = scores
    differ = well != strange
    if not differ.any():
        return None
    n, higher = int(differ.sum()), float((strange > well)[differ].mean())
    if abs(higher - 0.5) * 2 * math.sqrt(n) > SURE:
        raise Breach(
            f"ids and tracks that tell another class and 'anomaly' change {n} scores, {higher:.0%} of them "
            "upwards; expected scores that take no hint from names"
        )
    return f"scores are drawn by names: {n} differ under others, {higher:.0%} of them upwards"


@rule(scores_repeat)
def higher_is_stranger(trial: Trial) -> str:
    """Anomalies score higher than familiar images, not lower.

    Of each kind of anomaly it is asked how often one of them scores above a familiar image (AUROC). The rule
    is broken where the mean over all kinds is below 0.4: were scores drawn by lot, that would be more than
    four standard errors from a half. A method need not see every kind, nor each the right way round. One that
    tells no kind clearly from familiar images, be it blind or weak, has no direction that could be checked;
    nor is a weak one caught whose sign is turned. One that is made for a single kind and gets all others
    wrong says so by `expected_failures`.
    """
    monitor = trial.fitted()
    familiar = trial.score(monitor, trial.observed.familiar)
    found = {
        kind: Separation(familiar, trial.score(monitor, seen)).auroc().value
        for kind, seen in trial.observed.strange.items()
    }
    mean = float(np.mean(list(found.values())))
    if mean < BACKWARDS:
        worst = min(found, key=lambda kind: found[kind])
        raise Breach(
            f"over {len(found)} kinds of anomaly the mean AUROC is {mean:.2f} ('{worst}': {found[worst]:.2f})"
            "; expected at least 0.5: higher must mean stranger, is the sign turned?"
        )
    higher = [kind for kind, value in found.items() if value > 0.5 + CLEAR]
    lower = [kind for kind, value in found.items() if value < 0.5 - CLEAR]
    if not higher and not lower:
        raise NotApplicable("it tells no kind of anomaly clearly from familiar images")
    return (
        f"{len(higher)} of {len(found)} kinds of anomaly are clearly higher, {len(lower)} lower "
        f"(mean AUROC {mean:.2f})"
    )


@rule(scores_repeat)
def scoring_learns_nothing(trial: Trial) -> None:
    """Scoring leaves the state as it was fitted: what is judged must not teach."""
    monitor = trial.fitted()
    before = {name: array.tobytes() for name, array in monitor.state.items()}
    for observation in trial.observed.strange.values():
        trial.score(monitor, observation)
    for name, array in monitor.state.items():
        if array.tobytes() != before.get(name):
            raise Breach(f"scoring changes the state's '{name}'; expected it as it was fitted")


@rule(scores_repeat)
def explains(trial: Trial) -> str:
    """Asked why, it gives an explanation that can be written as JSON, and scores go on as before."""
    sample = trial.observed.sample
    first, later = sample.take(slice(0, PIECE)), sample.take(slice(PIECE, None))
    monitor = trial.fitted()
    trial.score(monitor, first)
    with trial.watching(monitor):
        told = monitor.explain(first)
        after = monitor.score(later)
    for explanation in told:
        if not isinstance(explanation, Explanation):
            raise Breach(f"it explains by {explanation!r}; expected an Explanation")
        try:
            json.dumps(explanation.record(), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Breach(f"its explanation is no JSON ({error}): {explanation.record()!r}") from None
    other = trial.fitted()
    trial.score(other, first)
    with trial.watching(other):
        near(other.score(later), after, "after it was asked to explain")
    said = [e.reason or e.contributions or e.nearest or e.details for e in told]
    return "it has something to say" if any(said) else "it has nothing to say"


def near(expected: FloatArray, found: FloatArray, when: str, tolerance: float = 0.0) -> float:
    """Compare scores, which are to be the same or as near as tolerated; return the largest difference."""
    if len(expected) != len(found):
        raise Breach(f"{when} there are {len(found)} scores; expected {len(expected)}")
    apart = np.abs(expected - found)
    if len(apart) and not apart.max() <= tolerance:
        i = int(apart.argmax())
        expectation = f"within {tolerance:.2g} of that" if tolerance else "the same"
        raise Breach(
            f"instance {i} scores {expected[i]:.9g}, and {when} {found[i]:.9g}; expected {expectation}"
        )
    return float(apart.max(initial=0.0))


def _tracks(observation: Observation, word: str, told: list[str]) -> list[str]:
    """Return each track another name, which tells what its first instance's does."""
    names: dict[str, str] = {}
    track = observation.ids if observation.track is None else observation.track
    for own, label in zip(track.tolist(), told, strict=True):
        names.setdefault(own, f"{word}/{label}/track-{len(names):04d}")
    return [names[own] for own in track.tolist()]
