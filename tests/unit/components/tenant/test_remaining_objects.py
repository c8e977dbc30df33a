"""What is left of a tenant that is leaving."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import api_client
from sample_stack import tenant_config

from flux_tenancy.components.plan import OWNERSHIP
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains, count_remains, prunes, read_remains

BY_PULUMI = {
    "annotations": OWNERSHIP,
    "managedFields": [{"operation": "Apply", "manager": "pulumi-kubernetes-1a2b3c4d"}],
}
BY_FLUX: dict[str, Any] = {"labels": {"kustomize.toolkit.fluxcd.io/name": "ops-team"}}
BY_HELM: dict[str, Any] = {"labels": {"helm.toolkit.fluxcd.io/name": "greeter"}}
SYNC = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/apps/kustomizations/ops-team"


def named(name: str, **metadata: Any) -> dict[str, Any]:
    return {"name": name} | metadata


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        ("ResourceQuota", named("ops-team-objects", **BY_PULUMI)),
        ("ConfigMap", named("kube-root-ca.crt")),
        ("ServiceAccount", named("default")),
        ("Event", named("welcome.17d")),
        ("Endpoints", named("web")),
        ("Pod", named("web-1", ownerReferences=[{"kind": "ReplicaSet", "name": "web"}])),
    ],
)
def test_what_the_platform_and_kubernetes_delete_by_themselves_is_not_counted(
    kind: str, metadata: dict[str, Any]
) -> None:
    assert count_remains([(kind, metadata)], pruned=False) == {}


def test_everything_else_is_counted_by_kind() -> None:
    found = [
        ("Secret", named("by-hand")),
        ("Secret", named("other", annotations=OWNERSHIP)),
        ("ConfigMap", named("default")),
        ("PersistentVolumeClaim", named("data", labels=None, ownerReferences=[])),
    ]

    assert count_remains(found, pruned=True) == {"Secret": 2, "ConfigMap": 1, "PersistentVolumeClaim": 1}


@pytest.mark.parametrize("applied", [BY_FLUX, BY_HELM, {"labels": {"owner": "helm"}}])
def test_what_flux_has_applied_counts_only_if_no_sync_will_prune_it(applied: dict[str, Any]) -> None:
    found = [("ConfigMap", named("welcome", **applied))]

    assert count_remains(found, pruned=True) == {}
    assert count_remains(found, pruned=False) == {"ConfigMap": 1}


@pytest.mark.parametrize(
    ("spec", "deletes"),
    [
        ({"deletionPolicy": "WaitForTermination"}, True),
        ({"deletionPolicy": "Delete", "prune": False}, True),
        ({"deletionPolicy": "MirrorPrune", "prune": True}, True),
        ({"deletionPolicy": "MirrorPrune", "prune": False}, False),
        ({"prune": True}, True),
        ({"deletionPolicy": "Orphan", "prune": True}, False),
        ({"deletionPolicy": "Delete", "suspend": True}, False),
    ],
)
def test_whether_a_sync_prunes_depends_on_its_deletion_policy(spec: dict[str, Any], deletes: bool) -> None:
    assert prunes({"spec": spec}) is deletes


def test_remains_are_told_by_kind_and_number() -> None:
    assert str(Remains()) == "nothing"
    assert str(Remains({"Secret": 2, "Job\x1b": 1}, ("Lease",))) == "1 Job, 2 Secret, an unknown number of Lease"


def kind(name: str, resource: str) -> dict[str, Any]:
    return {"resource": resource, "responseKind": {"kind": name}, "scope": "Namespaced", "verbs": ["list", "delete"]}


def read(answers: dict[str, Any], statuses: dict[str, int] | None = None) -> dict[str, dict[str, Remains]]:
    """What is left of ops-team in a cluster with Secrets and ConfigMaps that answers so."""
    version = {"version": "v1", "resources": [kind("Secret", "secrets"), kind("ConfigMap", "configmaps")]}
    answers = {"/api": {"items": [{"metadata": {}, "versions": [version]}]}, "/apis": {"items": []}} | answers
    with api_client(answers, statuses={SYNC: 404} | (statuses or {})) as api:
        return read_remains(api, {"ops-team": tenant_config(namespaces=[{"name": "apps"}, {"name": "jobs"}])})


def listed(*metadata: dict[str, Any]) -> dict[str, Any]:
    return {"items": [{"metadata": each} for each in metadata] or None}


OBJECTS = {
    "/api/v1/namespaces": listed(),
    "/api/v1/namespaces/apps/secrets": listed(named("by-hand")),
    "/api/v1/namespaces/apps/configmaps": listed(named("welcome", **BY_FLUX), named("kube-root-ca.crt")),
    "/api/v1/namespaces/jobs/secrets": listed(),
    "/api/v1/namespaces/jobs/configmaps": listed(named("kube-root-ca.crt")),
}


def test_each_namespace_is_read_after_the_sync_is_gone() -> None:
    assert read(OBJECTS) == {"ops-team": {"apps": Remains({"Secret": 1, "ConfigMap": 1}), "jobs": Remains()}}


def test_namespaces_that_the_tenant_has_made_are_read_too() -> None:
    labels = {"app.kubernetes.io/managed-by": "capsule"}
    made = {
        "/api/v1/namespaces": listed({"name": "jobs-web", "labels": labels}),
        "/api/v1/namespaces/jobs-web/secrets": listed(named("by-hand")),
        "/api/v1/namespaces/jobs-web/configmaps": listed(),
    }

    assert read(OBJECTS | made)["ops-team"]["jobs-web"] == Remains({"Secret": 1})


def test_what_the_sync_will_prune_is_left_out_before() -> None:
    sync = {"spec": {"deletionPolicy": "WaitForTermination", "prune": True}}

    found = read(OBJECTS | {SYNC: sync}, {SYNC: 200})

    assert found["ops-team"]["apps"] == Remains({"Secret": 1})


@pytest.mark.parametrize("status", [403, 500])
def test_a_kind_that_cannot_be_listed_is_named_and_hides_no_other(status: int) -> None:
    secrets = {f"/api/v1/namespaces/{namespace}/secrets": status for namespace in ("apps", "jobs")}

    found = read(OBJECTS, secrets)["ops-team"]

    assert found == {"apps": Remains({"ConfigMap": 1}, ("Secret",)), "jobs": Remains(unread=("Secret",))}
