"""Removing a tenant, and everything."""

from __future__ import annotations

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

    deleted = [line.split()[2:4] for line in text.splitlines() if " deleted" in line and "kubernetes:" in line]
    order = [name for _, name in deleted]
    assert order.index("apps/dev-team") < order.index("apps/dev-team-reconciler") < order.index("apps")
    assert deleted[0][0].endswith(":Kustomization") or deleted[0][1].endswith("Kustomization"), deleted
    assert staging_stack.cluster.get("namespace", "apps") is None
    assert staging_stack.project.destroy("staging").succeeded
