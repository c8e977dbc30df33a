"""Rules about production environments: policies that refuse, and objects that stay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_rules import cluster_object, namespace, rendered_object

from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.review.rules.environment import missing_engine, policies_not_enforced, protected_deletions
from flux_tenancy.review.rules.setting import RuleSetting
from tests.support.messages import values_of

CRD = cluster_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gitrepositories.source.toolkit.fluxcd.io")
FLUX_NAMESPACE = cluster_object("v1", "Namespace", "flux-system")
SYNC = cluster_object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "dev-team", "apps", "dev-team")
CONFIG_MAP = cluster_object("v1", "ConfigMap", "vaults", "flux-system")
STANDING = [*(replace(each, protected=True) for each in (FLUX_NAMESPACE, CRD, namespace())), SYNC, CONFIG_MAP]


@pytest.mark.parametrize("engine", PolicyEngine)
def test_production_needs_a_policy_engine(engine):
    found = list(missing_engine((), RuleSetting(production=True, engine=engine)))

    codes = [(each.resource, each.message.code) for each in found]
    assert codes == ([("policies.engine", "FT-REV-109")] if engine is PolicyEngine.NONE else [])


def test_other_environments_need_no_engine():
    assert list(missing_engine((), RuleSetting(engine=PolicyEngine.NONE))) == []


def test_production_enforces_its_policies():
    weakened = {"policies.mode": PolicyMode.AUDIT, "policies.modes.host-access": PolicyMode.OFF}

    found = list(policies_not_enforced((), RuleSetting(production=True, weakened=weakened)))

    assert [(each.resource, each.message.code, values_of(each.message)[0]) for each in found] == [
        ("policies.mode", "FT-REV-110", "audit"),
        ("policies.modes.host-access", "FT-REV-110", "off"),
    ]
    assert list(policies_not_enforced((), RuleSetting(production=True))) == []


def test_other_environments_may_audit():
    assert list(policies_not_enforced((), RuleSetting(weakened={"policies.mode": PolicyMode.AUDIT}))) == []


def deleted(*remaining, before=STANDING):
    """Owner, resource and code of each protected object that a change deletes or replaces."""
    found = protected_deletions(before, remaining)
    return [(each.owner, each.resource, each.message.code) for each in found]


def test_a_change_that_keeps_protected_objects_breaks_nothing():
    assert deleted(*STANDING) == []
    assert deleted(FLUX_NAMESPACE, CRD, namespace()) == []


def test_the_deletion_of_a_namespace_or_crd_breaks_the_rule():
    assert deleted() == [
        ("platform", "Namespace flux-system", "FT-REV-111"),
        ("platform", "CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io", "FT-REV-111"),
        ("dev-team", "Namespace apps", "FT-REV-111"),
    ]


def test_the_replacement_of_a_namespace_or_crd_breaks_the_rule():
    renamed = rendered_object(namespace().manifest, "dev-team", resource="another-name")
    other_version = CRD.manifest | {"apiVersion": "apiextensions.k8s.io/v1beta1"}

    assert deleted(FLUX_NAMESPACE, rendered_object(other_version), renamed, SYNC) == [
        ("platform", "CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io", "FT-REV-112"),
        ("dev-team", "Namespace apps", "FT-REV-112"),
    ]


def test_what_is_not_protected_may_be_deleted():
    assert deleted(before=[replace(each, protected=False) for each in STANDING]) == []
