"""Kyverno's own policies are disabled and enabled again by updates."""

from __future__ import annotations

from tests.e2e.manifests import namespace, pod
from tests.e2e.policies.test_image_signatures import NOT_SIGNED, REMEDY
from tests.e2e.policies.test_onboarding_by_label import BACKGROUND_CONTROLLER, LABEL, is_provisioned
from tests.support.environment import Environment
from tests.support.lab import eventually
from tests.support.registry import Registry

IMAGES, SHOP = "audited", "outliving"


def test_limits_outlive_the_onboarding_policies_and_audit_warns_about_signatures(
    kyverno_stack: Environment, registry: Registry
) -> None:
    """Onboarding is disabled and enabled again, with Kyverno's rights for it; signatures are audited meanwhile."""
    cluster, policies = kyverno_stack.cluster, kyverno_stack.config["policies"]
    unsigned = registry.push("app", "audited")
    cluster.apply(namespace(SHOP, {LABEL: "blue-team"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", SHOP))
    cluster.apply(namespace(IMAGES, {LABEL: "dev-team"}))

    kyverno_stack.config["policies"] = policies | {"onboarding": False, "modes": {"tenant-images": "audit"}}
    said = kyverno_stack.up()
    assert "flux-tenancy-probe updat" in said
    assert "PolicyViolation" not in said
    try:
        said = cluster.create(pod("warned", IMAGES, unsigned))
        assert f"{NOT_SIGNED}{unsigned}{REMEDY}" in said
        assert said.startswith("Warning: ")
        assert cluster.find("pod", "warned", IMAGES) is not None
        assert is_provisioned(cluster, "blue-team", SHOP)
        asked = ("auth", "can-i", "create", "resourcequotas", "-n", SHOP)
        eventually(lambda: cluster.kubectl(*asked, user=BACKGROUND_CONTROLLER).stdout == "no\n")
    finally:
        kyverno_stack.config["policies"] = policies
        kyverno_stack.up()

    assert NOT_SIGNED in cluster.create(pod("refused", IMAGES, unsigned))
    cluster.kubectl("annotate", "namespace", SHOP, "touched=again")
    cluster.kubectl("delete", "networkpolicy", "blue-team-default-deny", "-n", SHOP)
    eventually(lambda: is_provisioned(cluster, "blue-team", SHOP))
