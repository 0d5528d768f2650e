"""Commands that look at data, or make them, before anything is run: scenarios, crops."""

from __future__ import annotations

from farm.commands.parsing.common import FORMATS, Commands, command, formatted


def add_scenarios(commands: Commands) -> None:
    """Add `farm scenarios`."""
    scenarios = command(
        commands,
        "scenarios",
        "farm.commands.scenarios:scenarios",
        "which combinations of conditions were never recorded, and what to record next",
    )
    scenarios.description = (
        "Tell which combinations of K conditions a table of recorded scenarios has, of all that restrictions "
        "leave possible, which it lacks, and which scenarios to record next: each the one that covers most "
        "new cells. DOMAIN (YAML) has 'conditions: {lanes: [2, 4], current_lane: [1, 2, 3]}' and, where not "
        "everything goes together, 'restrictions: [{at_most: 1, of: [lanes=2, current_lane=3]}]', whose "
        "choices may have a weight: 2*lanes=4. A scenario has exactly one value of each condition. Values "
        "are compared as text without blanks around it; numbers are the same however they are written "
        "(4, 4.0), and so are true and True."
    )
    scenarios.add_argument("domain", metavar="DOMAIN", help="conditions and restrictions (YAML)")
    scenarios.add_argument(
        "table",
        metavar="TABLE",
        help="CSV or Parquet: a column a condition, a row a recorded scenario; others are ignored",
    )
    scenarios.add_argument(
        "--k", type=int, default=2, metavar="K", help="conditions that are combined (default: 2)"
    )
    scenarios.add_argument(
        "--next", type=int, default=3, metavar="N", help="plan N scenarios to record (default: 3)"
    )
    scenarios.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="for each of these; what was not proven by then is told as a gap (default: 5)",
    )
    formatted(scenarios, FORMATS)


def add_crops(commands: Commands) -> None:
    """Add `farm crops`."""
    crops = command(
        commands,
        "crops",
        "farm.commands.crops:crops",
        "cut single objects out of images with annotated boxes, as a set to load",
    )
    crops.description = (
        "Cut single objects out of street scenes and the like. A cut-out is a square of random size that "
        "holds one whole object, its centre shifted at random, and no other large one; scaled to SIZE x SIZE "
        "pixels, and the box with it. SET has images, index.csv (for 'workload: {name: table, path: "
        "SET/index.csv}'), a card of what it consists of and what was left out, and a sheet of samples. All "
        "cut-outs of an image are in one split. Images that are added change no other cut-out."
    )
    crops.add_argument(
        "annotations",
        metavar="[SPLIT+SPLIT=]ANNOTATIONS",
        nargs="+",
        help="COCO's file, a folder of KITTI's labels, or BDD100K's list or folder of files; its images go "
        "to any split, or to those named: train+validation=a.json test=b.json",
    )
    crops.add_argument(
        "--images",
        metavar="DIR",
        action="append",
        required=True,
        help="the folder that images' names start from; once, or once for each of the annotations",
    )
    crops.add_argument("--out", metavar="SET", required=True, help="the new folder to write")
    crops.add_argument(
        "--format", metavar="FORMAT", help="coco, kitti or bdd (default: what the annotations look like)"
    )
    crops.add_argument(
        "--classes",
        metavar="FILE",
        help="what to merge and to drop (YAML): {bike: [bicycle, motorcycle], car: car, drop: [train]}; "
        "every class of the annotations has to be in it",
    )
    crops.add_argument("--size", type=int, default=256, metavar="N", help="pixels of a side (default: 256)")
    crops.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random (default: 0)")
    crops.add_argument(
        "--split",
        default="train=0.8,validation=0.1,test=0.1",
        metavar="SPLIT=SHARE,...",
        help="the share of images that goes to each split (default: train=0.8,validation=0.1,test=0.1)",
    )
    crops.add_argument(
        "--most",
        default="train=5000,validation=1000,test=1000",
        metavar="SPLIT=N,...",
        help="at most so many of each class (default: train=5000,validation=1000,test=1000)",
    )
    crops.add_argument(
        "--other",
        default="1/3",
        metavar="SHARE",
        help="what each other object may take of a cut-out, of the main one's area (default: 1/3)",
    )
    crops.add_argument(
        "--narrowest",
        type=float,
        default=30.0,
        metavar="PIXELS",
        help="leave out objects that are narrower in their image (default: 30)",
    )
    crops.add_argument(
        "--largest",
        type=float,
        default=3.0,
        metavar="TIMES",
        help="a cut-out is at most so many times as wide as the least that holds its object (default: 3)",
    )
    crops.add_argument(
        "--keep-occluded",
        default="",
        metavar="CLASS,...",
        help="classes of which occluded and truncated objects are kept",
    )
    crops.add_argument(
        "--bad-boxes",
        choices=("error", "drop"),
        default="error",
        help="what to do with boxes without an area, or outside of their image by more than two pixels "
        "(default: error)",
    )
    crops.add_argument("--quiet", action="store_true", help="show no progress")
