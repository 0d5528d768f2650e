"""What a module gives for a batch, by name: logits, boxes, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from farm.api import BOX
from farm.errors import ComponentFailure, ParameterError

LOGITS = "logits"
KINDS = (LOGITS, BOX)
NO_LOGITS = "it gives boxes alone"
NO_BOXES = "it gives classes alone; take a model that says where, too, such as what-and-where"
NO_SPREAD = (
    "it gives one box of an image; take a mean of several: a variant of what-and-where with dropout, "
    "mc-dropout or ensemble"
)


def check_gives(gives: Sequence[str]) -> tuple[str, ...]:
    """Check what a module is said to give.

    Examples
    --------
    >>> check_gives(["box", "logits"])
    ('box', 'logits')
    """
    given = (gives,) if isinstance(gives, str) else tuple(gives)
    if not given or len(set(given)) < len(given) or not set(given) <= set(KINDS):
        raise ParameterError(f"gives is {list(given)!r}; expected [logits], [box], or [logits, box]")
    return given


def why_lacking(gives: Sequence[str]) -> dict[str, str]:
    """Say by the tags of needs why a module that gives these does not give more.

    Examples
    --------
    >>> sorted(why_lacking(["box"])), sorted(why_lacking(["logits"]))
    (['box_spread', 'gradients', 'head', 'logits'], ['box_spread', 'boxes'])
    """
    why = {"box_spread": NO_SPREAD} if BOX in gives else {"boxes": NO_BOXES, "box_spread": NO_BOXES}
    return why if LOGITS in gives else why | dict.fromkeys(("logits", "gradients", "head"), NO_LOGITS)


def named_answers(found: Any, gives: Sequence[str], classifier: str) -> dict[str, Tensor]:
    """Return what a module gave by name: of one tensor, of a mapping, or of a tuple in that order.

    Examples
    --------
    >>> import torch
    >>> logits, box = torch.zeros(2, 3), torch.zeros(2, 4)
    >>> sorted(named_answers((logits, box), ["logits", "box"], "net"))
    ['box', 'logits']
    """
    named = _named(found, gives)
    if not all(isinstance(named.get(name), Tensor) for name in gives):
        expected = f"tensors {' and '.join(gives)}: a mapping with these keys, or a tuple in this order"
        if tuple(gives) == (LOGITS,):
            expected = "a tensor of logits: wrap the module in one that returns those alone"
        raise ComponentFailure(
            f"classifier '{classifier}' returned a {type(found).__name__}; expected {expected}"
        )
    box = named.get(BOX) if BOX in gives else None
    if box is not None and (box.ndim != 2 or box.shape[1] != 4):
        raise ComponentFailure(
            f"classifier '{classifier}' returned boxes of shape {tuple(box.shape)}; expected images x 4: "
            "left, top, right, bottom in pixels"
        )
    return {name: named[name] for name in gives}


def _named(found: Any, gives: Sequence[str]) -> Mapping[str, Any]:
    if hasattr(found, "_asdict"):  # a tuple whose places have names
        found = found._asdict()
    if isinstance(found, Mapping):
        return found
    places = found if isinstance(found, tuple | list) else (found,)
    return dict(zip(gives, places, strict=True)) if len(places) == len(gives) else {}
