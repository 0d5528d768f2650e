"""What tests of baselines share."""

import pytest

from tests.gate.baseline.kept_runs import seldom_drawn


@pytest.fixture(scope="module", autouse=True)
def few_draws():
    """Save quickly; `test_saving` alone looks at the intervals in a file."""
    with seldom_drawn():
        yield
