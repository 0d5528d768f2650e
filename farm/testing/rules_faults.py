"""Rules about what a faultload says of itself, and what it makes of images."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from farm.api import CATEGORIES, FAULT_MEASURES, HELD, NO_ANSWER, OBJECT_FATES, Faultload
from farm.api.faultload import change_of
from farm.errors import Failure, UserError
from farm.testing.fault_trial import FaultTrial
from farm.testing.fault_world import worlds
from farm.testing.rules import Breach, NotApplicable, rule

FINAL = ("prepare", "apply", "follow", "check_severity")
"""What the base class does for all faultloads."""
STRAY = 0.5
"""So many pixels, of an image of 96, an object may be seen beside where a fault says that it is."""


@rule()
def drivers_untouched(trial: FaultTrial) -> None:
    """It overrides hooks, not what the base class does for all: checks of images, labels and severities."""
    for name in FINAL:
        if getattr(type(trial.given), name) is not getattr(Faultload, name):
            raise Breach(
                f"it overrides '{name}', which is the base class's; expected _prepare, _apply, _transform"
            )


@rule()
def category_known(trial: FaultTrial) -> None:
    """Its category is one of those that results are told by."""
    if (category := getattr(trial.make(), "category", None)) not in CATEGORIES:
        raise Breach(f"its category is {category!r}; expected one of: {', '.join(CATEGORIES)}")


@rule()
def severities_rise(trial: FaultTrial) -> str | None:
    """Its severities are whole numbers above 0, the lowest first; none where severity means nothing."""
    levels = list(trial.make().severities)
    whole = all(isinstance(level, int) and not isinstance(level, bool) for level in levels)
    if not whole or min(levels, default=1) < 1 or levels != sorted(set(levels)):
        raise Breach(f"its severities are {tuple(levels)}; expected whole numbers from 1 on, rising")
    return None if levels else "it has no severity"


@rule(drivers_untouched, category_known, severities_rise)
def prepares(trial: FaultTrial) -> None:
    """It chooses instances that there are, each once, with a known category and notes that are JSON."""
    targets = trial.ready.targets
    n = len(targets.indices)
    if not n == len(targets.labels) == len(targets.category):
        raise Breach(
            f"it chooses {n} instances, with {len(targets.labels)} labels and {len(targets.category)} "
            "categories; expected one each"
        )
    if (
        len(np.unique(targets.indices)) < n
        or not np.isin(targets.indices, np.arange(len(targets.split))).all()
    ):
        raise Breach("it chooses an instance twice, or one that is not there")
    if unknown := set(targets.category.tolist()) - set(CATEGORIES):
        raise Breach(f"an instance's category is {min(unknown)!r}; expected one of: {', '.join(CATEGORIES)}")
    try:
        json.dumps(dict(targets.notes), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Breach(f"its notes are no JSON ({error})") from None


@rule(prepares)
def images_stay_images(trial: FaultTrial) -> None:
    """At every severity images keep their type and shape, and are within 0 and 1."""
    for level in trial.given.severities or [None]:
        try:
            trial.ready.apply(trial.rows, level)
        except Failure as error:
            raise Breach(str(error)) from None


@rule(images_stay_images)
def labels_stay_right(trial: FaultTrial) -> None:
    """A label is the instance's own, or -1 where no right answer remains; that, and only that, is novelty."""
    targets, labels = trial.ready.targets, trial.faulted.labels
    if not np.array_equal(labels, targets.labels[trial.rows]):
        raise Breach("applied, it gives other labels than prepared; expected those of its targets")
    own = targets.split.labels[targets.indices]
    wrong = np.flatnonzero((targets.labels != NO_ANSWER) & (targets.labels != own))
    if trial.acts_on_its_own and wrong.size:
        i = int(wrong[0])
        raise Breach(
            f"an instance of class {own[i]} gets the label {targets.labels[i]}; expected its own, or -1"
        )
    mixed = np.flatnonzero((targets.labels == NO_ANSWER) != (targets.category == "novelty"))
    if mixed.size:
        i = int(mixed[0])
        raise Breach(
            f"an instance of category '{targets.category[i]}' has the label {targets.labels[i]}; expected "
            "'novelty' exactly where no right answer remains (-1)"
        )


@rule(images_stay_images)
def changes_something(trial: FaultTrial) -> str:
    """At its highest severity it changes pixels, unless it brings images from elsewhere; or it lags."""
    if not trial.acts_on_its_own:
        raise NotApplicable("it brings images from elsewhere")
    if trial.given.lags:
        return _lags(trial.given)
    moved = np.abs(trial.faulted.images - trial.ready.images(trial.rows)).mean(axis=(1, 2, 3)) > 1e-4
    if not moved.any():
        raise Breach(f"no image of {len(moved)} changes; expected other pixels")
    return f"{int(moved.sum())} of {len(moved)} images change"


def _lags(fault: Faultload) -> str:
    """Ask of a fault that shows earlier instants how far back it goes."""
    level = float(fault.severities[-1]) if fault.severities else float("nan")
    lags = [fault.lag(level, chance / 20) for chance in range(20)]
    if wrong := [lag for lag in lags if type(lag) is not int or lag < HELD]:
        raise Breach(f"it lags by {wrong[0]!r} instants; expected a whole number of at least 0, or HELD")
    if not any(lags):
        raise Breach("it never shows an earlier instant; expected some")
    return "it shows earlier instants"


@rule(images_stay_images)
def measures_rightly(trial: FaultTrial) -> str | None:
    """What it measures of its change is known by name, one number an instance, and true."""
    measured = trial.faulted.measured
    if unknown := set(measured) - set(FAULT_MEASURES):
        raise Breach(f"it measures '{min(unknown)}'; expected {', '.join(FAULT_MEASURES)}")
    change = change_of(trial.ready.images(trial.rows), trial.faulted.images)
    for name, values in measured.items():
        if np.shape(values) != trial.rows.shape:
            raise Breach(f"its measure '{name}' has shape {np.shape(values)}; expected {trial.rows.shape}")
        if name in change and not np.allclose(values, change[name], rtol=1e-4, atol=1e-6):
            raise Breach(f"its measure '{name}' is not what images changed by")
    return None if measured else "it measures nothing"


@rule(images_stay_images)
def leaves_what_it_is_given(trial: FaultTrial) -> None:
    """It does not write into the images, labels and ids that it gets."""
    ready, split = trial.prepared(), trial.ready.targets.split
    given: dict[str, Any] = {
        "images": ready.images(trial.rows).copy(),
        "labels": ready.targets.labels[trial.rows].copy(),
        "ids": split.ids[ready.targets.indices[trial.rows]].copy(),
    }
    kept = {name: array.copy() for name, array in given.items()}
    ready.apply(trial.rows, **given)
    for name, array in given.items():
        if not np.array_equal(array, kept[name]):
            raise Breach(f"it writes into the {name} that it is given; expected a copy to be made")


@rule(images_stay_images)
def is_the_same_again(trial: FaultTrial) -> None:
    """Applied again, and prepared anew, it makes the same."""
    trial.same(trial.ready.apply(trial.rows).images, trial.faulted.images, "the second time")
    trial.same(trial.prepared().apply(trial.rows).images, trial.faulted.images, "prepared anew")


@rule(is_the_same_again, leaves_what_it_is_given)
def is_the_same_in_any_batch(trial: FaultTrial) -> None:
    """An image comes out the same whatever batch it is in, and in whatever order."""
    for size in (1, 7):
        parts = [trial.ready.apply(trial.rows[i : i + size]).images for i in range(0, len(trial.rows), size)]
        trial.same(np.concatenate(parts), trial.faulted.images, f"in batches of {size}")
    trial.same(trial.ready.apply(trial.rows[::-1]).images[::-1], trial.faulted.images, "in another order")


@rule(is_the_same_in_any_batch)
def the_seed_matters_where_it_draws(trial: FaultTrial) -> str:
    """Where images that look alike come out different, it is the seed that decides how."""
    if trial.given.reads_other_instances:
        raise NotApplicable("what it shows hangs on the other instances")
    images = np.repeat(trial.ready.images(trial.rows[:1]), len(trial.rows), axis=0)
    labels = np.repeat(trial.ready.targets.labels[trial.rows[:1]], len(trial.rows))
    found = trial.ready.apply(trial.rows, images=images, labels=labels).images
    draws = trial.differ(found, np.repeat(found[:1], len(trial.rows), axis=0))
    seeded = trial.differ(trial.prepared(seed=99).apply(trial.rows).images, trial.faulted.images)
    if draws and not seeded:
        raise Breach(
            "images that look alike come out different, and the same for every seed; expected others"
        )
    if not draws:
        return "what looks alike comes out alike" + (", and otherwise for another seed" if seeded else "")
    different = len({image.tobytes() for image in found})
    return f"of {len(trial.rows)} that look alike {different} come out different"


@rule(is_the_same_in_any_batch)
def each_at_its_own_severity(trial: FaultTrial) -> str | None:
    """Severities may differ within a batch, and 0 changes nothing, as a ramp needs."""
    if not trial.given.severities:
        raise NotApplicable("it has no severity")
    rows = trial.rows[:5]
    levels = np.array([0, 1, trial.ready.highest, 0.5, 1])[: len(rows)]
    mixed = trial.ready.apply(rows, levels).images
    alone = [trial.ready.apply(rows[i : i + 1], level).images for i, level in enumerate(levels)]
    trial.same(mixed, np.concatenate(alone), "beside others of another severity")
    trial.same(mixed[:1], trial.ready.images(rows[:1]), "at severity 0, which should change nothing")
    return None


@rule(each_at_its_own_severity)
def a_higher_severity_changes_more(trial: FaultTrial) -> None:
    """The mean change of a few dozen images rises with the severity, unless it is declared `not_monotone`."""
    levels = np.array(trial.given.severities, dtype=float)
    if not len(levels):
        raise NotApplicable("it has no severity")
    if why := trial.given.not_monotone:
        raise NotApplicable(f"declared not monotone: {why}")
    between = (np.array([0.0, *levels[:-1]]) + levels) / 2
    rows, levels = (
        np.arange(len(trial.ready.targets.indices))[:32],
        np.sort(np.concatenate([levels, between])),
    )
    clean = trial.ready.images(rows)
    means = [float(np.abs(trial.ready.apply(rows, level).images - clean).mean()) for level in levels]
    for i in range(1, len(means)):
        if means[i] < means[i - 1]:
            raise Breach(
                f"at severity {levels[i]:g} images change by {means[i]:.4g} on average, at {levels[i - 1]:g} "
                f"by {means[i - 1]:.4g}; expected no less, or `not_monotone` with the reason"
            )


@rule(is_the_same_in_any_batch)
def objects_are_where_it_says(trial: FaultTrial) -> str:
    """What a bright square changes is to be seen where the fault leaves or moves objects, to half a pixel."""
    fault = trial.given
    if fault.objects not in OBJECT_FATES:
        raise Breach(f"its objects is {fault.objects!r}; expected one of: {', '.join(OBJECT_FATES)}")
    if fault.objects == "unknown":
        return "it does not say what becomes of objects, so that their boxes and masks are dropped"
    if fault.objects == "hidden" or not trial.acts_on_its_own:
        raise NotApplicable("it leaves no object of the image there")
    if fault.uses_classifier or fault.reads_other_instances:
        raise NotApplicable("what a square changes hangs on the classifier, or on other instances")
    strayed = trial.strayed()
    if strayed > STRAY:
        where = "objects stay" if fault.objects == "stay" else "it moves objects to"
        raise Breach(
            f"a bright square is seen {strayed:.1f} pixels beside where {where}; expected at most {STRAY}, "
            "or another word as `objects`"
        )
    return f"a bright square is seen where it says, to {strayed:.1f} pixels"


@rule(images_stay_images)
def takes_any_shape(trial: FaultTrial) -> str | None:
    """Images of other sizes and of one channel are faulted, or refused by a DataError."""
    refused = []
    for name, world in worlds().items():
        try:
            ready = world.ready(trial.make())
            for severity in [0.3, 1, 2.5] if trial.given.severities else [None]:
                ready.apply(np.arange(len(ready.targets.indices))[:10], severity)
        except UserError:
            refused.append(name)
        except Failure as error:
            raise Breach(f"{name} images of {world.workload.shape}: {error}") from None
    return f"it refuses {' and '.join(refused)} images" if refused else None


@rule(is_the_same_again)
def is_the_same_in_a_new_process(trial: FaultTrial) -> None:
    """A new process makes the same of the same images, bit for bit."""
    if not np.array_equal(trial.elsewhere.images(trial), trial.faulted.images):
        raise Breach("a new process makes other images; expected the same bits")
