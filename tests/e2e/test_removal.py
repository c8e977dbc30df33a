"""Removing a tenant, and everything."""

from __future__ import annotations

import re

from tests.e2e.conftest import Environment


def test_destroy_leaves_nothing_of_ours(staging_stack: Environment) -> None:
    cluster = staging_stack.cluster
    own = {"default", "kube-node-lease", "kube-public", "kube-system"}

    outcome = staging_stack.project.destroy("staging")

    assert outcome.succeeded, outcome.text
    assert staging_stack.project.resources("staging") == []
    assert {item["metadata"]["name"] for item in cluster.get("namespaces")["items"]} == own
    for kind in ("crds", "clusterroles", "clusterrolebindings"):
        left = [item["metadata"]["name"] for item in cluster.get(kind)["items"]]
        assert not [name for name in left if "flux" in name or name in ("crd-controller", "cluster-reconciler")], kind


def test_the_sync_goes_first_and_the_identity_after_it_has_pruned(staging_stack: Environment) -> None:
    staging_stack.up()
    del staging_stack.config["tenants"]["dev-team"]

    text = staging_stack.up()

    order = re.findall(r"kubernetes:\S+:(\w+) (\S+) deleted", text)
    steps = [
        ("Kustomization", "apps/dev-team"),
        ("RoleBinding", "apps/dev-team-reconciler"),
        ("ServiceAccount", "apps/dev-team"),
        ("Namespace", "apps"),
    ]
    assert [step for step in order if step in steps] == steps
    assert staging_stack.cluster.get("namespace", "apps") is None
    assert staging_stack.project.destroy("staging").succeeded
