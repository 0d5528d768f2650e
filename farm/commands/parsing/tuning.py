"""The command that searches for a classifier's parameters."""

from __future__ import annotations

from farm.commands.parsing.common import Commands, command, experiment, formatted


def add_tune(commands: Commands) -> None:
    """Add `farm tune`."""
    tune = command(
        commands, "tune", "farm.commands.tune:tune", "search for a classifier's parameters on validation data"
    )
    tune.description = (
        "Search for a classifier's parameters, trial by trial: each trains it, measures it on validation "
        "data, and tells where to look next (Bayesian search; needs the extra 'tune'). Test data are not "
        "looked at. FILE names an experiment or a campaign, and has steps: 'steps: {best: {search: "
        "{classifier_nll: {learning_rate: {low: 1e-4, high: 1e-2, log: true}, neurons: [32, 64]}}}}'. What "
        "a step finds, later ones keep. A search that was interrupted goes on where it was."
    )
    experiment(tune, "what to search (YAML)")
    tune.add_argument(
        "--out", metavar="DIR", help="the search's folder, new or begun (default: runs/NAME-tuning)"
    )
    formatted(tune, ("table", "json"))
