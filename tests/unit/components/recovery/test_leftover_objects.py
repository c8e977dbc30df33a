"""Objects with generated names that a killed update has made: removed, and nothing else."""

import json

import pulumi
import pytest
from kubernetes import client
from loopback import serving

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.plan import OWNERSHIP
from flux_tenancy.components.recovery.cluster import (
    clear_objects,
    leftover_secrets,
    leftover_services,
    read_leftover_objects,
)

FLUX = "/api/v1/namespaces/flux-system"
MARKS = {
    "annotations": OWNERSHIP,
    "managedFields": [{"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply"}],
}
LEFTOVER, KNOWN, FOREIGN = (f"artifacts-{digit * 32}" for digit in "abc")
BEGUN = {("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": "this"}}
DEPLOYMENT: dict[tuple[str, str], dict[str, str]] = {
    ("kubernetes:apps/v1:Deployment", "flux-system/source-controller"): {}
}
IN_FLUX = {"namespace": "flux-system"}
SERVICE = {("kubernetes:core/v1:Service", "artifacts-of-source-controller"): {"metadata": IN_FLUX | {"name": KNOWN}}}


def secret(name, namespace="apps", marks=MARKS):
    return {"name": name, "namespace": namespace, **marks}


def test_only_a_service_that_the_program_has_made_and_not_recorded_is_a_stray():
    services = [IN_FLUX | {"name": name} | MARKS for name in (LEFTOVER, KNOWN, "source-controller", "artifacts-short")]

    found = leftover_services([*services, IN_FLUX | {"name": FOREIGN}], State(SERVICE))

    assert [each["name"] for each in found] == [LEFTOVER]


def test_only_a_secret_that_the_program_has_made_and_not_recorded_and_that_nothing_refers_to_is_a_stray():
    recorded = State(
        {("kubernetes:core/v1:Secret", "dev-team-git"): {"metadata": secret("dev-team-git-00000001", marks={})}}
    )
    previous = {"kind": "GitRepository", "metadata": {"namespace": "apps", "name": "dev-team"}}
    previous["spec"] = {"secretRef": {"name": "dev-team-git-00000002"}}
    decrypting = {"kind": "Kustomization", "metadata": {"namespace": "apps", "name": "dev-team"}}
    decrypting["spec"] = {"decryption": {"provider": "sops", "secretRef": {"name": "dev-team-sops-00000003"}}}
    valued = {"kind": "HelmRelease", "metadata": {"namespace": "apps", "name": "chat"}}
    valued["spec"] = {"valuesFrom": [{"kind": "Secret", "name": "dev-team-values-00000007"}]}
    secrets = [
        secret("charts-proxy-00000008"),
        secret("charts-certificates-00000006"),
        secret("dev-team-values-00000007"),
        secret("dev-team-git-00000001"),
        secret("dev-team-git-00000002"),
        secret("dev-team-sops-00000003"),
        secret("dev-team-sops-00000003", "other"),
        secret("dev-team-git-00000004"),
        secret("dev-team-git-00000005", marks={}),
        secret("dev-team-webhook"),
        secret("password"),
    ]

    found = leftover_secrets(secrets, [previous, decrypting, valued], recorded)

    assert [(each["namespace"], each["name"]) for each in found] == [
        ("other", "dev-team-sops-00000003"),
        ("apps", "dev-team-git-00000004"),
    ]


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        (BEGUN, [f"{FLUX}/services/{LEFTOVER}", "/api/v1/namespaces/apps/secrets/dev-team-git-00000004"]),
        (BEGUN | DEPLOYMENT, ["/api/v1/namespaces/apps/secrets/dev-team-git-00000004"]),
        ({}, []),
    ],
)
def test_a_cluster_is_asked_for_what_an_update_of_this_stack_may_have_left(recorded, found):
    services = [{"metadata": IN_FLUX | {"name": LEFTOVER} | MARKS}]
    secrets = [{"metadata": secret("dev-team-git-00000004")}]

    assert left_in(recorded, {f"{FLUX}/services": services, "/api/v1/secrets": secrets}) == (found, bool(recorded))


def left_in(recorded, lists):
    """The leftovers in a cluster with these objects, and whether it was asked."""
    kinds = (f"{FLUX}/services", f"{FLUX}/secrets", *PROVIDERS.values())
    answers = {
        path: json.dumps({"items": items}).encode() for path, items in (dict.fromkeys(kinds, []) | lists).items()
    }
    asked: list[str] = []
    with serving(answers, asked=asked) as server:
        api = client.ApiClient(client.Configuration(host=server))
        found = read_leftover_objects(api, ClusterFacts("this", "v1.36.3", {}), [], State(recorded))
    return found, bool(asked)


PROVIDERS = {each: f"/apis/notification.toolkit.fluxcd.io/{each}/providers" for each in ("v1beta3", "v1")}


@pytest.mark.parametrize("version", PROVIDERS)
def test_a_secret_of_a_notification_is_a_stray_unless_a_provider_refers_to_it(version):
    secrets = [{"metadata": secret(name)} for name in ("apps.chat-00000001", "apps.chat-00000002")]
    used = {"metadata": {"namespace": "apps", "name": "a"}, "spec": {"secretRef": {"name": "apps.chat-00000001"}}}

    found, _ = left_in(BEGUN, {"/api/v1/secrets": secrets, PROVIDERS[version]: [used]})

    assert found == ["/api/v1/namespaces/apps/secrets/apps.chat-00000002"]


@pytest.mark.parametrize(("dry_run", "removed"), [(False, [f"DELETE {FLUX}/services/{LEFTOVER}"]), (True, [])])
def test_leftover_objects_are_removed_and_a_preview_removes_nothing(monkeypatch, dry_run, removed):
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: dry_run)
    asked: list[str] = []
    with serving({}, 404, asked=asked) as server:
        clear_objects(client.ApiClient(client.Configuration(host=server)), [f"{FLUX}/services/{LEFTOVER}"])

    assert asked == removed


def test_a_cluster_that_refuses_ends_the_update(monkeypatch):
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with serving({}, 403) as server, pytest.raises(pulumi.RunError, match="403"):
        clear_objects(client.ApiClient(client.Configuration(host=server)), [f"{FLUX}/services/{LEFTOVER}"])
