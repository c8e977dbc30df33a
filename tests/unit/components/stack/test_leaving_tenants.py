"""A tenant that is leaving: what the stack still has of it."""

from __future__ import annotations

from typing import Any

from sample_sops_keys import with_age
from sample_sources import with_deploy_key
from sample_stack import CLUSTER, FLUX

from flux_tenancy.components.stack.config import StackConfig


def config(**ops_team: Any) -> StackConfig:
    """Two tenants with deploy keys and decryption keys; `ops_team` is added to the second."""
    tenants = {
        name: {
            "namespaces": [{"name": f"{name}-apps"}],
            "source": with_deploy_key(name),
            "sync": {"decryption": with_age(name)},
        }
        for name in ("dev-team", "ops-team")
    }
    tenants["ops-team"] |= ops_team
    return StackConfig.model_validate({"cluster": CLUSTER, "flux": FLUX, "tenants": tenants})


def test_its_source_and_keys_are_no_longer_part_of_the_stack() -> None:
    found = config(state="leaving")

    assert list(found.sources) == [("tenants", "dev-team", "source")]
    assert list(found.git_sources.by_name) == list(found.git_sources.homes) == ["dev-team"]
    assert list(found.decryptions) == [("tenants", "dev-team", "sync", "decryption")]


def test_it_still_owns_its_namespaces() -> None:
    assert list(config(state="leaving").tenants) == ["dev-team", "ops-team"]


def test_a_tenant_that_is_taken_back_is_the_same_as_before() -> None:
    assert config(state="active") == config()
    assert list(config(state="active").active_tenants) == ["dev-team", "ops-team"]
