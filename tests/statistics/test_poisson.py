"""Expected events, against the quantiles of chi-squared and by what they are defined by."""

import pytest
from scipy.stats import chi2, poisson

from farm.errors import ParameterError
from farm.statistics.poisson import expected_events
from tests.wording import refused


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("seen", [1, 2, 17, 4000])
def test_garwoods_ends(seen, level):
    tail = (1 - level) / 2
    low, high = expected_events(seen, level)
    assert low == pytest.approx(chi2.ppf(tail, 2 * seen) / 2)
    assert high == pytest.approx(chi2.isf(tail, 2 * seen + 2) / 2)
    # As many or more at the lower end, as few or fewer at the upper one, have just this chance.
    assert poisson.sf(seen - 1, low) == pytest.approx(tail)
    assert poisson.cdf(seen, high) == pytest.approx(tail)


def test_none_seen():
    low, high = expected_events(0)
    assert low == 0
    assert poisson.cdf(0, high) == pytest.approx(0.025)


@pytest.mark.parametrize(("seen", "level"), [(-1, 0.95), (3, 1.0), (3, 0.0)])
def test_what_cannot_be_is_refused(seen, level):
    with refused(ParameterError):
        expected_events(seen, level)
