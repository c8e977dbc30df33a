"""Changes of Flux's profile do not disturb a running tenant, and what they leave behind is removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.manifests import git_repository, kustomization
from tests.support.environment import Environment, base
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import Project

NAME = "profile"


@pytest.fixture(scope="module")
def stack(lab: Lab, project: Project) -> Iterator[Environment]:
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
    with lab.cluster(NAME) as cluster:
        environment = Environment(lab, project, cluster, flux=lab.bundle())
        environment.onboard("dev-team", "./production")
        environment.up()
        yield environment


def nameless_sync(lab: Lab, folder: Path) -> list[dict[str, Any]]:
    """A source of one config map, and a sync that names no service account."""
    note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
    url = lab.repository("mallory", "note", {"production/note.yaml": note}, folder)
    sync = kustomization("nameless", source="note", path="./production")
    del sync["spec"]["serviceAccountName"]
    return [git_repository("note", url), sync]


def failures(cluster: RunningCluster, sync: str, namespace: str) -> list[str]:
    """What the events of a sync have warned of, but for what a controller left off when it was replaced.

    Of several errors at once, Flux's message is a list in brackets.
    """
    return [
        event["message"]
        for event in cluster.get("events", namespace=namespace)["items"]
        if event["type"] == "Warning"
        and not event["message"].rstrip("]").endswith("context canceled")
        and (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Kustomization", sync)
    ]


@pytest.mark.scenario
class TestProfile:
    """There and back, and away with everything."""

    def test_the_profile_is_switched_there_and_back(self, lab: Lab, stack: Environment, tmp_path: Path) -> None:
        before = stack.applications("apps")
        assert len(before) == 1
        stack.config["flux"]["profile"] = "single-tenant"

        changes = stack.changes()

        assert set(changes) >= {"Deployment flux-system/kustomize-controller", "ClusterRole crd-controller"}
        # Each controller's own account and rights, and what lets it act as the tenant.
        kinds = ("Deployment", "ServiceAccount", "Role", "RoleBinding")
        expected = ("ClusterRole ", "ClusterRoleBinding ", *(f"{kind} flux-system/" for kind in kinds))
        expected += tuple(f"{kind} apps/flux-impersonation" for kind in ("Role", "RoleBinding"))
        expected += ("RoleBinding apps/flux-secrets",)
        expected += tuple(f"ValidatingAdmissionPolicy{part} flux-tenancy-receivers" for part in ("", "Binding"))
        # With them go the names of artifact servers, which only the locked-down controller needs.
        expected += ("Service flux-system/artifacts-of-", "Secret flux-system/artifact-hosts")
        assert not [name for name in changes if not name.startswith(expected)]
        stack.up()
        # What the multi-tenant profile refuses is applied with the controller's own rights here.
        for manifest in nameless_sync(lab, tmp_path):
            stack.cluster.apply(manifest)
        eventually(lambda: stack.cluster.ready("kustomization", "nameless", "apps")[0] == "True")

        del stack.config["flux"]["profile"]
        stack.up()
        stack.cluster.reconcile("kustomization", "nameless", "apps")
        stack.cluster.refusal("kustomization", "nameless", "apps", saying="system:serviceaccount:apps:default")
        assert stack.applications("apps") == before
        # Neither way was there a moment at which a controller might not act as the tenant.
        assert failures(stack.cluster, "dev-team", "apps") == []
        assert stack.outputs()["flux"]["profile"] == "multi-tenant"

    def test_a_sync_without_rights_to_prune_does_not_block_its_namespace(self, stack: Environment) -> None:
        """The refused sync of the step before is still there: its finalizer must not outlive the tenant."""
        assert stack.cluster.get("kustomization", "nameless", "apps")

        outcome = stack.project.destroy(NAME)

        assert outcome.succeeded, outcome.text
        assert stack.cluster.find("namespace", "apps") is None
