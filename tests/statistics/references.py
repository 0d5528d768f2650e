"""What other packages compute, as a reference."""

import gc

import pytest
from statsmodels.stats.multitest import multipletests


def holm_by_statsmodels(p_values):
    """Give Holm's p values; statsmodels would collect garbage each time, also what other tests left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", int)
        return multipletests(p_values, method="holm")[1]
