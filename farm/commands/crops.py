"""`farm crops`: cut-outs of single objects from images with annotated boxes, as a set to load."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from farm.api import Context
from farm.commands.results import print_looks
from farm.errors import DataError, ExperimentError
from farm.report.crops import card_looks, crop_sheet
from farm.report.looks import render_looks
from farm.run.progress import shown_progress
from farm.store.files import check_free, file_digest, json_digest, new_folder, write_json, write_text
from farm.workloads.annotations import AnnotatedImage, locate, read_annotations
from farm.workloads.crops import (
    ClassMap,
    CropPlan,
    CropRules,
    choose,
    crop_card,
    cut,
    load_class_map,
    write_index,
)
from farm.workloads.listing import SPLITS

N = TypeVar("N", int, float)


def crops(options: argparse.Namespace) -> int:
    """Write a set, and print its card."""
    out = Path(options.out)
    check_free(out)
    rules = _rules(options)
    classes = load_class_map(Path(options.classes)) if options.classes else None
    with shown_progress(quiet=options.quiet) as progress:
        context = Context(seed=options.seed, progress=progress)
        plan, clipped, made_from = _planned(options, rules, classes, context)
        _check_any(plan)
        with new_folder(out) as folder:
            digests = cut(plan.crops, folder, context)
            write_index(plan.crops, folder)
            card = crop_card(plan, rules, clipped=clipped, images=digests, made_from=made_from)
            write_json(folder / "card.json", card)
            looks = card_looks(card)
            write_text(folder / "card.md", f"# {out.name}\n\n{render_looks(looks, 'markdown')}")
            samples = {
                name: [(folder / crop.file, crop.box) for crop in plan.crops if crop.label == name]
                for name in plan.classes
            }
            crop_sheet(samples, folder / "samples.png")
    print_looks(looks, "table")
    print(
        f"{len(plan.crops):,} cut-outs were written to {out}; look at {out / 'samples.png'}, and load them "
        f"by 'workload: {{name: table, path: {out / 'index.csv'}}}'"
    )
    return 0


def _planned(
    options: argparse.Namespace, rules: CropRules, classes: ClassMap | None, context: Context
) -> tuple[CropPlan, int, dict[str, Any]]:
    """Read all annotations, find their images, and choose; tell clipped boxes, and what was read."""
    folders = options.images if len(options.images) > 1 else options.images * len(options.annotations)
    if len(folders) != len(options.annotations):
        told = f"{len(options.images)} --images and {len(options.annotations)} annotation files"
        raise ExperimentError(f"{told}; expected one for all, or one for each in their order")
    found: dict[tuple[str, ...], list[AnnotatedImage]] = {}
    seen: dict[str, str] = {}
    clipped, read, bad_boxes = 0, [], Counter[tuple[str, str]]()
    for text, folder in zip(options.annotations, folders, strict=True):
        splits, path = _with_splits(text)
        if not Path(folder).is_dir():
            raise DataError(f"--images {folder} is no folder; expected the one that images' names start from")
        images = read_annotations(path, options.format)
        for image in images:
            if image.name in seen:
                told = f"image {image.name!r} is in {seen[image.name]} and {image.where}"
                raise DataError(f"{told}; expected each image once")
        seen |= {image.name: image.where for image in images}
        located = locate(images, Path(folder), context, drop=options.bad_boxes == "drop")
        found.setdefault(splits, []).extend(located.images)
        clipped += located.clipped
        bad_boxes.update(located.left_out)
        read.append(
            {
                "annotations": str(path),
                "content_hash": _digest(path),
                "splits": list(splits),
                "images_from": str(folder),
                "images": len(images),
                "objects": sum(len(image.objects) for image in images),
            }
        )
    plan = choose(found, rules, classes)
    plan = replace(plan, left_out=bad_boxes + Counter(plan.left_out))
    return plan, clipped, {"sources": read, "class_map": dict(classes.named) if classes else {}}


def _with_splits(text: str) -> tuple[tuple[str, ...], Path]:
    """Tell the splits that images of an annotation file may go to: `train+validation=labels.json`."""
    before, equals, after = text.partition("=")
    named = before.split("+")
    if equals and set(named) <= set(SPLITS):
        return tuple(split for split in SPLITS if split in named), Path(after)
    return SPLITS, Path(text)


def _check_any(plan: CropPlan) -> None:
    if not plan.crops:
        told = "; ".join(
            f"{n:,} {label!r} {reason}" for (reason, label), n in list(plan.left_out.items())[:5]
        )
        raise DataError(f"no object is left to cut out: {told or 'there is none'}")


def _rules(options: argparse.Namespace) -> CropRules:
    return CropRules(
        size=options.size,
        seed=options.seed,
        largest=options.largest,
        narrowest=options.narrowest,
        other=_fraction(options.other),
        keep_occluded=frozenset(filter(None, (name.strip() for name in options.keep_occluded.split(",")))),
        most=dict(_by_split("--most", options.most, int)),
        shares=dict(_by_split("--split", options.split, float)),
    )


def _fraction(text: str) -> float:
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ExperimentError(f"--other {text}; expected a share, such as 1/3 or 0.25") from None


def _by_split(option: str, text: str, kind: Callable[[str], N]) -> Iterator[tuple[str, N]]:
    for part in text.split(","):
        split, _, number = part.partition("=")
        try:
            yield split.strip(), kind(number)
        except ValueError:
            example = "train=5000,test=1000" if kind is int else "train=0.8,test=0.2"
            raise ExperimentError(
                f"{option} {text}: {part!r}; expected a number a split, such as {example}"
            ) from None


def _digest(path: Path) -> str:
    """Hash an annotation file, or all files of a folder of them."""
    if path.is_file():
        return file_digest(path)
    files = sorted(file for file in path.rglob("*") if file.suffix in (".txt", ".json"))
    return json_digest({file.relative_to(path).as_posix(): file_digest(file) for file in files})
