"""Whoever has applied a tenant's source beside Pulumi is told, and gives its fields back, in an update only."""

from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving

from components.cluster.co_owners import CoOwner, co_owners, take_back
from components.engine.state import State

KIND = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository"}
PLACE = {"name": "dev-team", "namespace": "apps"}
PATH = "/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/gitrepositories/dev-team"
OWN = "pulumi-kubernetes-21e651a5"
RECORDED = State({("kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", "apps/dev-team"): {"__fieldManager": OWN}})
OWNER = CoOwner(KIND | {"metadata": PLACE}, "helm\x1b[1m")


def source(*owners):
    entries = [{"manager": manager, "operation": how, "fieldsV1": fields} for manager, how, fields in owners]
    return KIND | {"metadata": PLACE | {"managedFields": entries}}


SPEC: dict[str, Any] = {"f:spec": {"f:url": {}}}
LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {}}}


@pytest.mark.parametrize(
    ("owners", "found"),
    [
        ([(OWN, "Apply", SPEC)], []),
        ([(OWN, "Apply", SPEC), ("helm", "Apply", SPEC)], ["helm"]),
        ([(OWN, "Apply", SPEC), ("pulumi-kubernetes-other", "Apply", SPEC)], ["pulumi-kubernetes-other"]),
        ([(OWN, "Apply", SPEC), ("kubectl", "Apply", LABELS)], []),
        ([(OWN, "Apply", SPEC), ("source-controller", "Update", SPEC)], []),
    ],
)
def test_an_owner_is_who_has_applied_the_spec_as_well(owners, found):
    assert [owner.manager for owner in co_owners([source(*owners)], RECORDED)] == found


def test_what_is_not_the_stacks_has_no_other_owner():
    assert co_owners([source(("helm", "Apply", SPEC)), KIND | {"metadata": PLACE}], State({})) == []


@pytest.mark.parametrize(
    ("preview", "status", "told", "changed"),
    [
        (True, 200, "; the update takes them back", []),
        (False, 200, "; they are taken back", [f"PATCH {PATH}?fieldManager=helm%1B%5B1m&force=true"]),
        (False, 403, "would stay: ", [f"PATCH {PATH}?fieldManager=helm%1B%5B1m&force=true"]),
    ],
)
def test_the_fields_are_taken_back_in_an_update(monkeypatch, preview, status, told, changed):
    said: list[str] = []
    asked: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: preview)
    with serving({}, status, asked=asked) as server:
        configuration = client.Configuration()
        configuration.host = server
        take_back(client.ApiClient(configuration), [OWNER])

    assert asked == changed
    assert said[0].startswith("GitRepository apps/dev-team: the field manager 'helm [1m' owns parts of its spec")
    assert told in said[0] and len(said) == 1
