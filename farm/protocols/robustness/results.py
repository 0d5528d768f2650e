"""What a robustness evaluation found, a row a result: one classifier, one condition, one repetition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from farm.api import IntArray, generator, uniform_by_id
from farm.errors import DataError
from farm.measures import Measure, auroc, undefined
from farm.measures.calibration import confidence_auroc
from farm.protocols.robustness.spec import EvaluatedCondition, Robustness
from farm.protocols.strips import noted_images
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.files import write_text
from farm.store.readouts import Readouts

FILE = "results.csv"
COLUMNS = (
    *("part", "classifier", "transformation", "level", "repetition"),
    *("n", "accuracy", "brier", "auroc"),
)
MEASURES = ("accuracy", "auroc", "brier")
"""Those of the classification part."""
ADDED = ("kind", "group", "first_half", "second_half")
"""What the frame has beside the columns of the file: what a condition is, the set or pair it belongs to, and
of GANs the AUROC on each half of the images: the worst is chosen on one, and reported on the other."""
MANY_TRACKS = 10**9
_WORDS = {"accuracy": "surrogate's accuracy", "classifier_loss": "surrogate's loss"}


@dataclass(frozen=True, eq=False)
class GanTraining:
    """How a generative network learned, and what it draws."""

    name: str
    group: str
    notes: Mapping[str, Any]

    @property
    def measure(self) -> str:
        """What decides when it stops."""
        return str(self.notes["rule"]["measure"])

    @property
    def measured(self) -> str:
        """The same in words."""
        return _WORDS[self.measure]

    @property
    def rule(self) -> str:
        """When it stops, in words."""
        limit = self.notes["rule"]["limit"]
        return f"{self.notes['epochs']:g} epochs" if limit is None else f"{self.measured} {limit:g}"

    @property
    def kept_value(self) -> float:
        """Of what was kept, what decides when it stops."""
        return float(self.notes[f"kept_{self.measure}"])

    @property
    def curve(self) -> pd.DataFrame:
        """What was seen at each check, as a figure takes it."""
        checks = pd.DataFrame(self.notes["curve"])
        kept = [place == self.notes["kept_check"] for place in range(len(checks))]
        return pd.DataFrame(
            {
                "training": self.name,
                "set": self.group,
                "epoch": checks["epoch"],
                "value": checks[self.measure],
                "kept": kept,
                "threshold": self.notes["rule"]["limit"],
            }
        )

    @property
    def samples(self) -> np.ndarray:
        """Some of its images, N x height x width x channels, uint8."""
        return noted_images(self.notes)


@dataclass(frozen=True, eq=False)
class Results:
    """All results of a robustness evaluation that are there.

    `frame` has `COLUMNS` and `ADDED`. `given` are the classifiers that brought their weights along: all of
    their repetitions are of one network, with the test images drawn anew by whole tracks. `undefined` tells
    why results have no value, and `failures` why there is none, with the number of cells.
    """

    spec: Robustness
    frame: pd.DataFrame
    given: frozenset[str] = frozenset()
    failures: Mapping[str, int] = field(default_factory=dict)
    missing: int = 0
    undefined: Mapping[str, int] = field(default_factory=dict)
    gans: tuple[GanTraining, ...] = ()
    tracks: int | None = None
    """The fewest that a condition of a given classifier has among its test images."""
    place: Path | None = None
    """The campaign's folder."""
    home: Path | None = None
    """Where the file's paths are looked for."""

    @classmethod
    def of(cls, folder: Path | str) -> Results:
        """Read the results of a campaign's folder."""
        place = CampaignFolder(folder)
        record = place.record()
        spec = Robustness.model_validate(record["campaign"]["protocol"])
        reader = _Reader(spec)
        missing = 0
        failures: dict[str, int] = {}
        for cell, path in planned_cells(place):
            if path is not None:
                reader.read(cell["label"], Readouts.load(path, to_judge=True))
            elif failure := place.failure(cell["id"]):
                failures[failure["reason"]] = failures.get(failure["reason"], 0) + 1
            else:
                missing += 1
        if not reader.rows:
            raise DataError(
                f"{place.path} holds no result of a robustness evaluation yet; `farm run` goes on with it"
            )
        for why, n in reader.failures.items():
            failures[why] = failures.get(why, 0) + n
        return cls(
            spec,
            pd.DataFrame(reader.rows, columns=[*COLUMNS, *ADDED]),
            frozenset(reader.given),
            failures,
            missing,
            reader.undefined,
            tuple(reader.gans.values()),
            reader.tracks,
            place.path,
            Path(record["home"]),
        )

    def tracks_of(self, classifier: str) -> int | None:
        """Return from how many tracks a repetition of a classifier draws test images; None of one retrained.

        Where nobody counted them they are taken for many.
        """
        if classifier not in self.given:
            return None
        return MANY_TRACKS if self.tracks is None else self.tracks

    @property
    def classification(self) -> pd.DataFrame:
        """The results on transformed test images."""
        return self.frame[self.frame["kind"] == "transformation"]

    @property
    def plain(self) -> pd.DataFrame:
        """The results on the test set as it is."""
        return self.frame[self.frame["kind"] == "plain"]

    @property
    def named_sets(self) -> pd.DataFrame:
        """The results on OOD sets; `set` is one name for all trainings of a GAN, and tells a pair by both."""
        frame = self.frame[self.frame["part"] == "ood"]
        return frame.assign(set=frame["group"].where(frame["kind"] != "pair", frame["transformation"]))

    def ood(self, kind: str) -> pd.DataFrame:
        """The results on OOD sets of one kind."""
        return self.frame[self.frame["kind"] == kind]

    @property
    def classifiers(self) -> list[str]:
        """Those that have results, in the order of the file."""
        there = set(self.frame["classifier"])
        return [name for name in self.spec.classifier_names if name in there]

    def write(self, folder: Path) -> Path:
        """Write all results as CSV beside the cells."""
        target = folder / FILE
        text: str = self.frame[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
        write_text(target, text)
        return target


class _Reader:
    """Takes down what each cell's readouts say."""

    def __init__(self, spec: Robustness) -> None:
        self._spec = spec
        self.rows: list[dict[str, Any]] = []
        self.given: set[str] = set()
        self.failures: dict[str, int] = {}
        self.undefined: dict[str, int] = {}
        self.gans: dict[str, GanTraining] = {}
        self.tracks: int | None = None

    def read(self, label: Mapping[str, Any], readouts: Readouts) -> None:
        """Take down one cell."""
        condition = self._spec.conditions.get(str(label["faultload"]))
        if condition is None:
            raise DataError(
                f"the evaluation has no condition '{label['faultload']}': it was planned by another version; "
                "run it again"
            )
        run, classifier = readouts.run, str(label["classifier"])
        rows: IntArray | None = None
        if not run["classifier"].get("trained_here", True):
            self.given.add(classifier)
            track = readouts.instances["track"].to_numpy()
            rows = drawn_tracks(track, int(label["seed"]))
            n = len(np.unique(track[~readouts.instances["is_ood"].to_numpy() | (condition.part != "ood")]))
            self.tracks = n if self.tracks is None else min(n, self.tracks)
        if condition.kind == "gan":
            (fault,) = run["stream"]["faults"]
            self.gans[condition.name] = GanTraining(condition.name, condition.group, fault["notes"])
        for monitor in run["monitors"]:
            if why := monitor["failure"]:
                self.failures[why] = self.failures.get(why, 0) + 1
        level = condition.level if label["severity"] is None else label["severity"]
        self.rows.append(
            {
                "part": condition.part,
                "classifier": classifier,
                "transformation": condition.name,
                "level": level,
                "repetition": int(label["seed"]) - self._spec.seed + 1,
                **self._measured(condition, readouts, rows),
                "kind": condition.kind,
                "group": condition.group,
            }
        )

    def _measured(
        self, condition: EvaluatedCondition, readouts: Readouts, rows: IntArray | None
    ) -> dict[str, float | int]:
        instances = readouts.instances
        # Instances and alarms have one order: that of the stream.
        certainty = -readouts.alarms.sort_values("position")["score"].to_numpy(dtype=np.float64)
        if len(certainty) != len(instances):
            certainty = np.full(len(instances), np.nan)
        if rows is not None:
            instances, certainty = instances.iloc[rows], certainty[rows]
        n = len(instances)
        if condition.part == "ood":
            is_ood = instances["is_ood"].to_numpy()
            value = self._value(auroc(-certainty, is_ood), condition)
            told = {"n": n, "accuracy": np.nan, "brier": np.nan, "auroc": value}
            if condition.kind == "gan":
                half = uniform_by_id(0, "half", instances["track"].to_numpy(dtype=np.str_)) < 0.5
                told["first_half"], told["second_half"] = (
                    auroc(-certainty[rows], is_ood[rows]).value for rows in (half, ~half)
                )
            return told
        right = (instances["predicted"] == instances["label"]).to_numpy()
        found = (
            undefined("the certainty is missing")
            if np.isnan(certainty).any()
            else confidence_auroc(certainty, right)
        )
        return {
            "n": n,
            "accuracy": float(right.mean()),
            "brier": float(instances["brier"].mean()) / len(readouts.run["classes"]),
            "auroc": self._value(found, condition),
        }

    def _value(self, measure: Measure, condition: EvaluatedCondition) -> float:
        if measure.reason is not None:
            what = "right against wrong" if condition.part == "classification" else "ID against OOD"
            why = f"AUROC of {what}: {measure.reason}"
            self.undefined[why] = self.undefined.get(why, 0) + 1
        return measure.value


def drawn_tracks(track: np.ndarray, seed: int) -> IntArray:
    """Draw as many tracks as there are, with replacement; give the numbers of their instances.

    A repetition draws the same ones for all classifiers and transformations of the same instances.

    Examples
    --------
    >>> rows = drawn_tracks(np.array(["a", "a", "b", "c"]), seed=1)
    >>> bool((rows == 0).sum() == (rows == 1).sum())  # track a is drawn whole, however often
    True
    """
    _, code = np.unique(track, return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    times = np.bincount(generator(seed, "robustness", "tracks").integers(0, n, n), minlength=n)
    order = np.argsort(code, kind="stable")
    return np.asarray(np.repeat(order, times[code[order]]), dtype=np.int64)
