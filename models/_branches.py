"""Networks that several answers branch off from, and where the passes with dropout of such a one begin."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from torch import Tensor, nn


class Branches(nn.Module):
    """A trunk, and a branch of it an answer; any of them may be empty.

    Examples
    --------
    >>> import torch
    >>> twice = Branches(nn.Sequential(nn.Flatten()), {"a": nn.Sequential(), "b": nn.Sequential(nn.ReLU())})
    >>> {name: values.tolist() for name, values in twice(torch.tensor([[-1.0]])).items()}
    {'a': [[-1.0]], 'b': [[0.0]]}
    """

    def __init__(self, trunk: nn.Sequential, branches: Mapping[str, nn.Sequential]) -> None:
        super().__init__()
        self.trunk = trunk
        self._answers = tuple(branches)
        for name, branch in branches.items():
            self.add_module(name, branch)

    @property
    def branches(self) -> dict[str, nn.Sequential]:
        """The branches by the names of their answers."""
        return {name: self.get_submodule(name) for name in self._answers}  # type: ignore[misc] # put there

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """Return each answer."""
        shared = self.trunk(images)
        return {name: branch(shared) for name, branch in self.branches.items()}


class _Rests(nn.Module):
    """What is left of each branch."""

    def __init__(self, rests: Mapping[str, nn.Sequential]) -> None:
        super().__init__()
        self._rests = dict(rests)

    def forward(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: rest(values[name]) for name, rest in self._rests.items()}


def split_at_dropout(
    preprocessing: nn.Module, module: nn.Module, dropouts: Collection[nn.Module]
) -> tuple[nn.Module, nn.Module]:
    """Return what all passes share, in a sequence what is before its first dropout, and the rest.

    Where values branch off before any dropout, each branch is a sequence of its own.
    """
    if isinstance(module, Branches):
        before, rest = _halves(module.trunk, dropouts)
        branches = module.branches
        if len(rest):
            return nn.Sequential(preprocessing, before), Branches(rest, branches)
        halves = {name: _halves(branch, dropouts) for name, branch in branches.items()}
        first = Branches(before, {name: half for name, (half, _) in halves.items()})
        return nn.Sequential(preprocessing, first), _Rests({name: half for name, (_, half) in halves.items()})
    hooks = module._forward_hooks or module._forward_pre_hooks
    if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward and not hooks:
        before, rest = _halves(module, dropouts)
        # What lies deeper might change in place what all passes begin with.
        if len(rest) and rest[0] in dropouts:
            return nn.Sequential(preprocessing, *before), rest
    return nn.Identity(), nn.Sequential(preprocessing, module)


def _halves(sequence: nn.Sequential, dropouts: Collection[nn.Module]) -> tuple[nn.Sequential, nn.Sequential]:
    """Cut a sequence before its first part with dropout."""
    parts, drops = list(sequence), {*dropouts}
    at = next((i for i, part in enumerate(parts) if drops & {*part.modules()}), len(parts))
    return nn.Sequential(*parts[:at]), nn.Sequential(*parts[at:])
