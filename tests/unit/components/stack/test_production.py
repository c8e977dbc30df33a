"""Which stacks are production environments."""

from __future__ import annotations

from typing import Any

import pytest
from sample_stack import CLUSTER, FLUX

from flux_tenancy.components.stack.config import StackConfig, is_production


def stack_config(**cluster: Any) -> StackConfig:
    return StackConfig.model_validate({"cluster": CLUSTER | cluster, "flux": FLUX})


@pytest.mark.parametrize(
    "stack", ["production", "prod", "prod-eu", "eu-production", "eu.prod", "eu_west_prod", "PROD-1"]
)
def test_a_stack_is_production_by_the_first_or_last_word_of_its_name(stack: str) -> None:
    assert is_production(stack, stack_config())


@pytest.mark.parametrize("stack", ["staging", "product-eu", "reproduction", "eu-prod-copy", "eu-1"])
def test_other_names_are_not_production(stack: str) -> None:
    assert not is_production(stack, stack_config())


def test_the_key_overrides_the_name() -> None:
    assert is_production("eu-1", stack_config(production=True))
    assert not is_production("pre-prod", stack_config(production=False))
