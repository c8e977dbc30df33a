"""Changes of Flux's profile do not disturb a running tenant, and what they leave behind is removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
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


def artifact_names(cluster: RunningCluster) -> list[str]:
    """The Services with a random name by which kustomize-controller and helm-controller fetch artifacts."""
    services = cluster.get("services", namespace="flux-system")["items"]
    return [name for each in services if (name := each["metadata"]["name"]).startswith("artifacts-")]


def kubectl(cluster: RunningCluster, *arguments: str) -> None:
    done = cluster.kubectl(*arguments, "--namespace=flux-system")
    assert done.returncode == 0, done.stderr


def artifact_event(message: str) -> dict[str, Any]:
    """An Event as kustomize-controller writes it when it cannot fetch an artifact."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "dev-team.seen", "namespace": "apps"},
        "involvedObject": {"kind": "Kustomization", "name": "dev-team", "namespace": "apps"},
        "type": "Warning",
        "reason": "ArtifactFailed",
        "message": message,
    }


@contextmanager
def fewer_retries(cluster: RunningCluster) -> Iterator[None]:
    """A kustomize-controller that fetches an artifact twice, not ten times."""
    deployment = "deployment/kustomize-controller"
    patch = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--http-retry=1"}]
    kubectl(cluster, "patch", deployment, "--type=json", f"--patch={json.dumps(patch)}")
    kubectl(cluster, "rollout", "status", deployment, "--timeout=1m")
    yield
    kubectl(cluster, "rollout", "undo", deployment)
    kubectl(cluster, "rollout", "status", deployment, "--timeout=1m")


@contextmanager
def scaled_down(cluster: RunningCluster, deployment: str) -> Iterator[None]:
    kubectl(cluster, "scale", "deployment", deployment, "--replicas=0")
    kubectl(cluster, "wait", "pod", "--for=delete", f"--selector=app={deployment}", "--timeout=1m")
    yield
    kubectl(cluster, "scale", "deployment", deployment, "--replicas=1")
    kubectl(cluster, "rollout", "status", f"deployment/{deployment}", "--timeout=1m")


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

    def test_an_update_replaces_a_name_that_a_status_shows_after_an_outage_of_source_controller(
        self, stack: Environment
    ) -> None:
        before, [known] = stack.applications("apps"), artifact_names(stack.cluster)
        assert stack.changes() == {}

        # As after three minutes, by the retries that are the default.
        with fewer_retries(stack.cluster), scaled_down(stack.cluster, "source-controller"):
            stack.cluster.reconcile("kustomization", "dev-team", "apps")
            said = stack.cluster.refusal("kustomization", "dev-team", "apps", saying="giving up")
        # The lab has no DNS: its controllers get a Service's address instead of its name.
        address = re.search(r"GET http://([^/]+)/gitrepository/", said)
        assert address, said
        stack.cluster.create(artifact_event(said.replace(address[1], f"{known}.flux-system.svc.cluster.local.")))

        assert {name for name in stack.changes() if not name.startswith("Deployment ")} == {
            "Service flux-system/artifacts-of-source-controller",
            "Secret flux-system/artifact-hosts",
        }
        assert "FT-CLU-118" in stack.up()
        [replaced] = artifact_names(stack.cluster)
        assert replaced != known
        assert "FT-CLU-118" not in stack.up()
        assert artifact_names(stack.cluster) == [replaced]
        stack.cluster.reconcile("kustomization", "dev-team", "apps")
        eventually(lambda: stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True")
        assert stack.applications("apps") == before

    def test_a_sync_without_rights_to_prune_does_not_block_its_namespace(self, stack: Environment) -> None:
        """The refused sync of the step before is still there: its finalizer must not outlive the tenant."""
        assert stack.cluster.get("kustomization", "nameless", "apps")

        outcome = stack.project.destroy(NAME)

        assert outcome.succeeded, outcome.text
        assert stack.cluster.find("namespace", "apps") is None
