"""Stack outputs: what an operator or a tenant asks next."""

import logging

import pulumi
import pytest
from recorded_program import run
from sample_stack import load

from components.kubernetes_api import ClusterFacts, ClusterUnavailable
from components.outputs import cluster_outputs, tenant_outputs
from components.tenant import Tenant, TenantArgs


def sync(ready, message=""):
    condition = {"type": "Ready", "status": ready, "message": message}
    return {
        "kind": "Kustomization",
        "metadata": {"namespace": "apps", "name": "dev-team", "generation": 1},
        "status": {"conditions": [condition]},
    }


def outputs(project, read_syncs, preview=False, **sections):
    """The outputs of the tenant dev-team once the program has ended."""
    config = load(project, tenants={"dev-team": {"sync": {"path": "./staging"}}}, **sections)
    found = {}

    def program():
        tenants = {name: Tenant(name, TenantArgs(tenant)) for name, tenant in config.tenants.items()}
        result = tenant_outputs(config, tenants, read_syncs)
        return pulumi.Output.from_input(result).apply(found.update)

    run(program, preview=preview)
    return found.get("dev-team")


def test_a_cluster_is_told_as_kubectl_would_address_it(tmp_path):
    config = load(tmp_path, cluster={"kubeconfig": "kubeconfig", "context": "staging"})

    assert cluster_outputs(config, ClusterFacts("the-cluster", "v1.36.3", {})) == {
        "uid": "the-cluster",
        "version": "v1.36.3",
        "context": "staging",
    }


def test_a_tenant_is_told_with_what_it_has_and_how_to_look_at_it(tmp_path):
    cluster = {"kubeconfig": "kubeconfig", "context": "staging"}

    assert outputs(tmp_path, lambda: [sync("True", "Applied revision: main@sha1:ab")], cluster=cluster) == {
        "namespaces": ["apps"],
        "role": "tenant",
        "source": "GitRepository/apps/dev-team",
        "url": "https://git.example.com/dev-team/apps",
        "path": "./staging",
        "status": {"ready": "True", "message": ""},
        "look": {
            "flux": "flux get all -n apps --context staging",
            "kubectl": "kubectl get gitrepositories,kustomizations,events -n apps --context staging",
            "reconcile": "flux reconcile kustomization dev-team -n apps --with-source --context staging",
        },
    }


def test_the_current_context_needs_no_mention(tmp_path):
    assert outputs(tmp_path, lambda: [sync("True")])["look"]["flux"] == "flux get all -n apps"


def test_a_tenant_that_failed_is_told_and_warned_of_and_stops_nothing(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        found = outputs(tmp_path, lambda: [sync("False", "path not found")])

    assert found["status"] == {"ready": "False", "message": "path not found"}
    assert "tenant dev-team is not ready: path not found" in caplog.messages


@pytest.mark.parametrize("syncs", [[], [sync("Unknown", "in progress")]])
def test_a_preview_looks_once_and_does_not_warn(tmp_path, caplog, syncs):
    looks = []

    def read_syncs():
        looks.append(syncs)
        return syncs

    with caplog.at_level(logging.WARNING):
        outputs(tmp_path, read_syncs, preview=True, tenancy={"settleTimeout": "2s"})

    assert len(looks) == 1
    assert caplog.messages == []


def test_a_cluster_that_does_not_answer_after_the_update_does_not_fail_it(tmp_path, caplog):
    def read_syncs():
        raise ClusterUnavailable("kubeconfig", "https://cluster cannot be reached")

    with caplog.at_level(logging.WARNING):
        found = outputs(tmp_path, read_syncs)

    assert found["status"] == {"ready": "Unknown", "message": "https://cluster cannot be reached"}
    assert "tenant dev-team is not ready: https://cluster cannot be reached" in caplog.messages
