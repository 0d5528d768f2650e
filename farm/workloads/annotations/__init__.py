"""Annotation files of others, as they are: images with boxes of objects."""

from farm.workloads.annotations.form import AnnotatedImage, AnnotatedObject, Box
from farm.workloads.annotations.located import Located, locate
from farm.workloads.annotations.reading import FORMATS, read_annotations

__all__ = ["FORMATS", "AnnotatedImage", "AnnotatedObject", "Box", "Located", "locate", "read_annotations"]
