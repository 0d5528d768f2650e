"""The contracts between the parts. Plug-ins import this package, `farm.errors` and nothing else of ours.

Importing it loads NumPy and no torch.
"""

from farm.api.arrays import (
    JSON,
    NO_ANSWER,
    BoolArray,
    Features,
    FloatArray,
    Images,
    IntArray,
    State,
    StrArray,
    check_images,
    check_labels,
)
from farm.api.calibration import Calibration, CalibrationRule
from farm.api.classifier import (
    Capabilities,
    Classifier,
    FunctionClassifier,
    Head,
    ModelSource,
    Needs,
    RawOutputs,
    SavedClassifier,
)
from farm.api.component import Component, check_choice, check_number, parameters_of
from farm.api.context import Cache, Context, NoCache
from farm.api.counted import CountedClassifier
from farm.api.data import (
    ArrayImages,
    Batch,
    ImageSource,
    Split,
    Stream,
    Workload,
    WorkloadSource,
    check_disjoint,
    check_workload,
    copies_of,
    image_digests,
)
from farm.api.explanation import Explanation
from farm.api.faultload import (
    CATEGORIES,
    FAULT_MEASURES,
    Category,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    change_of,
)
from farm.api.monitor import Monitor, Verdict
from farm.api.observation import (
    LAST_HIDDEN,
    CollectedFeatures,
    FitData,
    Labelled,
    Observation,
    collect,
    read_only,
)
from farm.api.policy import Cancel, Policy
from farm.api.progress import Progress, Silent
from farm.api.randomness import PerInstance, derived_seed, generator, uniform_by_id
from farm.api.schedule import ORDERS, Schedule, Stretch
from farm.api.transformation import Transformation, at_severity

__all__ = [
    "CATEGORIES",
    "FAULT_MEASURES",
    "JSON",
    "LAST_HIDDEN",
    "NO_ANSWER",
    "ORDERS",
    "ArrayImages",
    "Batch",
    "BoolArray",
    "Cache",
    "Calibration",
    "CalibrationRule",
    "Cancel",
    "Capabilities",
    "Category",
    "Classifier",
    "CollectedFeatures",
    "Component",
    "Context",
    "CountedClassifier",
    "Explanation",
    "FaultContext",
    "FaultTargets",
    "Faulted",
    "Faultload",
    "Features",
    "FitData",
    "FloatArray",
    "FunctionClassifier",
    "Head",
    "ImageSource",
    "Images",
    "IntArray",
    "Labelled",
    "ModelSource",
    "Monitor",
    "Needs",
    "NoCache",
    "Observation",
    "PerInstance",
    "Policy",
    "Progress",
    "RawOutputs",
    "SavedClassifier",
    "Schedule",
    "Silent",
    "Split",
    "State",
    "StrArray",
    "Stream",
    "Stretch",
    "Transformation",
    "Verdict",
    "Workload",
    "WorkloadSource",
    "at_severity",
    "change_of",
    "check_choice",
    "check_disjoint",
    "check_images",
    "check_labels",
    "check_number",
    "check_workload",
    "collect",
    "copies_of",
    "derived_seed",
    "generator",
    "image_digests",
    "parameters_of",
    "read_only",
    "uniform_by_id",
]
