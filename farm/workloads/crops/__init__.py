"""Sets of cut-outs, each of one object, from images with annotated objects."""

from farm.workloads.crops.card import crop_card
from farm.workloads.crops.choosing import Crop, CropPlan, choose
from farm.workloads.crops.class_map import ClassMap, load_class_map
from farm.workloads.crops.cutting import cut, write_index
from farm.workloads.crops.rules import CropRules

__all__ = [
    "ClassMap",
    "Crop",
    "CropPlan",
    "CropRules",
    "choose",
    "crop_card",
    "cut",
    "load_class_map",
    "write_index",
]
