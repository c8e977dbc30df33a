"""Fields of the platform's objects that another manager owns are found and taken back, on a real API server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes import client

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.cluster import co_owners, relinquish
from flux_tenancy.components.sync.status import REQUESTED_AT, read_syncs, request_reconciliation
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.api_client import ApiClient

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
PLACE = "owned"
SOURCES = "/apis/source.toolkit.fluxcd.io/v1"
RECORDED = State(
    {("kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", f"{PLACE}/dev-team"): {"__fieldManager": "test"}}
)


@pytest.fixture(scope="module")
def platform(server: ApiClient) -> ApiClient:
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    return server


def source(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "dev-team", "namespace": PLACE, "labels": {TENANT_LABEL: "dev-team"}},
        "spec": {"url": "https://git.example.com/dev-team/apps", "interval": "10m"} | spec,
    }


def spec_of(api: ApiClient) -> dict[str, Any]:
    spec: dict[str, Any] = api.get(f"{SOURCES}/namespaces/{PLACE}/gitrepositories/dev-team")["spec"]
    return spec


def test_a_removed_field_stays_until_its_ownership_is_taken_back(
    platform: ApiClient, program: client.ApiClient
) -> None:
    platform.apply(source(ignore="/docs"))
    done = platform.request("PATCH", source(), body=source(ignore="/docs"), applied=True)
    assert done.is_success, done.text
    platform.apply(source())
    assert spec_of(platform)["ignore"] == "/docs"

    [(found, manager)] = co_owners(read_syncs(program), RECORDED)
    relinquish(program, found, manager)

    assert manager == "tenant"
    assert spec_of(platform) | {"url": source()["spec"]["url"], "interval": "10m"} == spec_of(platform)
    assert "ignore" not in spec_of(platform)
    assert list(co_owners(read_syncs(program), RECORDED)) == []


def test_deleted_objects_are_not_requested(platform: ApiClient, program: client.ApiClient) -> None:
    request_reconciliation(program, source() | {"metadata": {"name": "gone", "namespace": PLACE}}, NOON)


def test_foreign_objects_and_requests_for_reconciliation_are_left_alone(
    platform: ApiClient, program: client.ApiClient
) -> None:
    platform.apply(source())
    asked = {key: source()[key] for key in ("apiVersion", "kind")}
    asked |= {"metadata": {"name": "dev-team", "annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    assert platform.request("PATCH", source(), body=asked, applied=True).is_success
    [found] = read_syncs(program)
    request_reconciliation(program, found, NOON)

    [found] = read_syncs(program)
    assert found["metadata"]["annotations"][REQUESTED_AT] == NOON.isoformat()
    assert "flux-tenancy" in {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert list(co_owners(read_syncs(program), RECORDED)) == []
    assert list(co_owners(read_syncs(program), State({}))) == []
