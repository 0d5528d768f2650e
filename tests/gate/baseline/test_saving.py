"""The measures that a saved file tells people of."""

import pytest
import yaml

from farm.comparing import benchmark_sets, measured
from farm.comparing.sections import section
from farm.gate.baseline import save_baseline
from tests.comparing.made_runs import FOG, NOISE, make_run


@pytest.fixture(scope="module", autouse=True)
def few_draws():
    """Draw as often as for whoever saves a baseline."""


def test_the_measures_are_those_of_farm_compare(tmp_path):
    run = make_run(3, faults=(NOISE, FOG), n_id=120, n_ood=60, tracks=60)
    save_baseline(run, tmp_path / "b.yaml")
    told = yaml.safe_load((tmp_path / "b.yaml").read_text())["runs"]["unnamed"]["measures"]
    sets = benchmark_sets([run])
    assert list(told) == [one.name for one in sets]
    for name in ("overall.mcc", "specific.fnr", "residual_hazard", "auroc"):
        made = section("", sets[1:], measured(name), ["good", "poor"], alpha=0.05, replicates=2000, seed=0)
        for standing in made.standings:
            got = told[sets[1].name][standing.monitor][name]
            ends = [standing.value.value, standing.low.value, standing.high.value]
            assert [got["value"], got["low"], got["high"]] == [round(end, 4) for end in ends]
