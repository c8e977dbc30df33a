"""How much property tests try: the same few examples with every change, many by chance with `--all`."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, configuration
from hypothesis.internal.conjecture import providers

_FEW, _MANY = 60, 1000


def set_up(config: pytest.Config, *, many: bool) -> None:
    """Choose the examples of this run.

    Args:
        config: of pytest.
        many: whether to try many examples by chance; a failure shows how to try its example again.
    """
    configuration.set_hypothesis_home_dir(Path(config.rootpath, ".pytest_cache/hypothesis"))
    shared = hypothesis.settings(
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        print_blob=True,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
    )
    hypothesis.settings.register_profile("few", shared, derandomize=True, max_examples=_FEW)
    hypothesis.settings.register_profile("many", shared, max_examples=_MANY)
    hypothesis.settings.load_profile("many" if many else "few")
    if not many:
        # Hypothesis also tries constants of the modules that are loaded, so of the tests that ran before.
        none = providers._local_constants
        vars(providers)["_get_local_constants"] = lambda: none
