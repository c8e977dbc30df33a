"""Field managers that own fields of a tenant's source are reported, and lose them in an update only."""

from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.cluster import co_owners, take_back

KIND = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository"}
PLACE = {"name": "dev-team", "namespace": "apps"}
PATH = "/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/gitrepositories/dev-team"
OWN = "pulumi-kubernetes-21e651a5"
RECORDED = State({("kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", "apps/dev-team"): {"__fieldManager": OWN}})
OWNER = (KIND | {"metadata": PLACE | {"labels": {"a": "b"}}}, "helm\x1b[1m")


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
def test_a_co_owner_is_a_manager_that_has_also_applied_the_spec(owners, found):
    assert [manager for _, manager in co_owners([source(*owners)], RECORDED)] == found


def test_an_entry_of_a_tenant_without_a_manager_ends_no_update():
    """The API server takes one from whoever may request a reconciliation."""
    found = source((OWN, "Apply", SPEC))
    found["metadata"]["managedFields"] += [{"operation": "Apply", "fieldsV1": LABELS}, {"operation": "Apply"}]

    assert list(co_owners([found], RECORDED)) == []


def test_objects_that_are_not_in_the_state_have_no_co_owners():
    assert list(co_owners([source(("helm", "Apply", SPEC)), KIND | {"metadata": PLACE}], State({}))) == []


@pytest.mark.parametrize(
    ("preview", "status", "code", "changed"),
    [
        (True, 200, "FT-CLU-010", []),
        (False, 200, "FT-CLU-010", [f"PATCH {PATH}?fieldManager=helm%1B%5B1m&force=true"]),
        (False, 403, "FT-CLU-012", [f"PATCH {PATH}?fieldManager=helm%1B%5B1m&force=true"]),
    ],
)
def test_an_update_takes_the_fields_back_and_a_preview_only_warns(monkeypatch, preview, status, code, changed):
    warnings: list[str] = []
    asked: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: preview)
    with serving({}, status, asked=asked) as server:
        configuration = client.Configuration()
        configuration.host = server
        take_back(client.ApiClient(configuration), [OWNER])

    assert asked == changed
    assert codes(warnings) == [code]
    assert warnings[0].startswith("GitRepository apps/dev-team: ") and "'helm [1m'" in warnings[0]
