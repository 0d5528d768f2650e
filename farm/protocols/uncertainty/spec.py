"""The campaign that an evaluation of uncertainty is: which classifiers meet which streams and monitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from farm.config.explaining import explain
from farm.config.specs import NO_FAULT, ComponentSpec
from farm.errors import ExperimentError
from farm.protocols.shared import SHARED, as_written, check_criteria, fixed_workload, titled
from farm.protocols.uncertainty.asked import (
    ENSEMBLE,
    NOVELTY,
    OWN,
    VALIDATION,
    VANILLA,
    OwnClassifierSpec,
    Uncertainty,
    with_rates,
)

WATCHED_BY = "never"
"""The yardstick that is in each cell, also where no monitor is to be judged."""
KEPT = {"readouts": {"probabilities": True}}


@dataclass(frozen=True)
class PlannedClassifier:
    """A classifier of the campaign, and what it is in the evaluation."""

    title: str
    """What its cells call it."""
    backbone: str
    variant: str
    said: Mapping[str, Any]
    """What the campaign's file would say of it."""
    member: int | None = None
    """Of a single network of an ensemble its number, from 1 on."""


def planned(spec: Uncertainty) -> list[PlannedClassifier]:
    """Return all classifiers; networks of ensembles come first, so that workers train them side by side."""
    return [
        *_members(spec),
        *(one for one in _networks(spec) if one.variant != ENSEMBLE),
        *(one for one in _networks(spec) if one.variant == ENSEMBLE),
        *_own(spec),
    ]


def _networks(spec: Uncertainty) -> Iterator[PlannedClassifier]:
    for backbone in spec.backbones:
        name = titled(backbone)
        for variant in spec.variants:
            title = f"{name} {variant}"
            said = {**_whole(spec, backbone, variant), "as": title}
            yield PlannedClassifier(title, name, variant, said)


def _whole(spec: Uncertainty, backbone: ComponentSpec, variant: str) -> dict[str, Any]:
    if variant != ENSEMBLE:
        return spec.network_of(backbone, variant)
    return {"name": "ensemble", "of": spec.network_of(backbone, VANILLA), "size": spec.members}


def _members(spec: Uncertainty) -> Iterator[PlannedClassifier]:
    for backbone in spec.backbones if ENSEMBLE in spec.variants else ():
        name, of = titled(backbone), spec.network_of(backbone, VANILLA)
        for number in range(1, spec.members + 1):
            title = f"{name} member {number}"
            said = {"name": "ensemble-member", "as": title, "of": of, "number": number}
            yield PlannedClassifier(title, name, VANILLA, said, number)


def _own(spec: Uncertainty) -> Iterator[PlannedClassifier]:
    for one in spec.classifiers:
        said = {key: value for key, value in as_written(one).items() if key != "monitors"}
        yield PlannedClassifier(titled(one), titled(one), OWN, said)


def campaign(spec: Uncertainty) -> dict[str, Any]:
    """Return the campaign: each repetition has a seed of its own, and all have the same images."""
    shared = {key: getattr(spec, key) for key in SHARED if key in spec.model_fields_set}
    more = [] if WATCHED_BY in spec.monitor_names else [WATCHED_BY]
    return {
        "pictures": spec.pictures,
        "batch_size": spec.batch_size,
        **shared,
        "repetitions": spec.repetitions,
        "workload": fixed_workload(spec.workload, spec.seed),
        "classifiers": [dict(one.said) for one in planned(spec)],
        "faultloads": list(_streams(spec)),
        "monitors": [*map(as_written, spec.monitors), *more],
        "exclude": list(_excluded(spec)),
    }


def _streams(spec: Uncertainty) -> Iterator[dict[str, Any]]:
    """Yield the test data as they are, those that calibrate, and each shift, which is of all images."""
    yield {"name": NO_FAULT, **KEPT}
    yield {"name": NO_FAULT, "as": VALIDATION, "stream": {"split": "validation"}, **KEPT}
    for one in spec.shifts:
        said = {**as_written(one), "stream": {"ood_share": 1.0}, **KEPT}
        if one.name == NOVELTY:
            said |= {"shared": "map", **_images(spec, titled(one), one.parameters.get("workload"))}
        yield said


def _images(spec: Uncertainty, shift: str, workload: Any) -> dict[str, Any]:
    """Return the images of a shift: the same in all repetitions, and never called as the test data are."""
    if workload is None:
        return {}  # which novelty itself refuses
    images = ComponentSpec.model_validate(workload)
    named = images.alias or images.parameters.get("title") or images.name != spec.workload_name
    return {"workload": fixed_workload(images, spec.seed, None if named else shift)}


def _excluded(spec: Uncertainty) -> Iterator[dict[str, Any]]:
    """Leave out what cannot be, or tells nothing."""
    judged = [name for name in spec.monitor_names if name != WATCHED_BY]
    every = planned(spec)
    if judged:
        yield {"faultload": VALIDATION, "monitor": judged}
    if members := [one.title for one in every if one.member is not None]:
        yield {"classifier": members, "faultload": [VALIDATION, *spec.shift_names]}
        if judged:
            yield {"classifier": members, "monitor": judged}
    single = [one.title for one in every if one.variant == VANILLA and one.member is None]
    if single and spec.of_members:
        yield {"classifier": single, "monitor": spec.of_members}
    for one in spec.classifiers:
        if unfit := without(spec, one):
            yield {"classifier": titled(one), "monitor": unfit}


def without(spec: Uncertainty, own: OwnClassifierSpec) -> list[str]:
    """Return the monitors that leave a classifier of one's own."""
    if own.monitors is None:
        return list(spec.of_members)
    return [name for name in spec.monitor_names if name not in (*own.monitors, WATCHED_BY)]


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign, which remembers it; `folder` has its files."""
    whole = with_rates(values, folder)
    try:
        said = Uncertainty.model_validate(whole)
    except ValidationError as error:
        raise ExperimentError(explain(error, Uncertainty, whole)) from None
    check_criteria(said.criteria, folder)
    return {**campaign(said), "protocol": whole}
