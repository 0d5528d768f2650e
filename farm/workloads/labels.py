"""Labels as people write them, into the numbers and names of classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from farm.api import IntArray, StrArray
from farm.errors import ParameterError
from farm.workloads.problems import Problems

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WHOLE = re.compile(r"\d+(\.0+)?")


def number_labels(
    texts: Sequence[str],
    splits: StrArray,
    classes: Sequence[str] | None,
    title: str,
    problems: Problems,
    place: Callable[[int], str],
) -> tuple[IntArray, tuple[str, ...]]:
    """Give each label's number and all class names; note labels that are none.

    Without `classes`, what occurs in training is a class: in numerical order where all labels are whole
    numbers, else in alphabetical order.

    Examples
    --------
    >>> splits = np.array(["train", "train", "test"])
    >>> labels, classes = number_labels(["12", "3", "12"], splits, None, "signs", Problems(), str)
    >>> labels.tolist(), classes
    ([1, 0, 1], ('signs-03', 'signs-12'))
    """
    problems.add_rows("empty label", [i for i, text in enumerate(texts) if not text], place)
    train = {text for text, split in zip(texts, splits, strict=True) if split == "train" and text}
    if classes is not None:
        if len(set(classes)) != len(classes):
            raise ParameterError("classes names one twice; expected each once")
        number = {name: i for i, name in enumerate(classes)}
        number |= {text: int(text) for text in set(texts) if text.isdecimal() and int(text) < len(classes)}
        number |= {name: i for i, name in enumerate(classes)}  # a name that looks like a number is a name
        names = tuple(classes)
    elif all(_NUMBER.fullmatch(text) for text in texts if text):
        whole = {text: int(float(text)) for text in set(texts) if _WHOLE.fullmatch(text)}
        values = sorted({whole[text] for text in train if text in whole})
        rank = {value: i for i, value in enumerate(values)}
        number = {text: rank[value] for text, value in whole.items() if value in rank}
        names = tuple(f"{title}-{value:02d}" for value in values)
        wrong = [i for i, text in enumerate(texts) if text and text not in whole]
        problems.add_rows(
            "label that is no class, expected a whole number from 0", wrong, _quoted(texts, place)
        )
        texts = [text if text in whole else "" for text in texts]
    else:
        number = {text: i for i, text in enumerate(sorted(train))}
        names = tuple(number)
    _note_unknown(texts, splits, number, classes is not None, problems, _quoted(texts, place))
    return np.array([number.get(text, 0) for text in texts], dtype=np.int64), names


def _note_unknown(
    texts: Sequence[str],
    splits: StrArray,
    number: dict[str, int],
    named: bool,
    problems: Problems,
    place: Callable[[int], str],
) -> None:
    unknown = [i for i, text in enumerate(texts) if text and text not in number]
    if named:
        problems.add_rows("label that is no class", unknown, place)
        return
    for split in ("validation", "test"):
        names = sorted({texts[i] for i in unknown if splits[i] == split})
        problems.add(f"classes in {split} but not in train", names)


def _quoted(texts: Sequence[str], place: Callable[[int], str]) -> Callable[[int], str]:
    return lambda i: f"{texts[i]!r} in {place(i)}"
