"""Fields of the platform's objects that another manager owns are found and taken back, on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.cluster import co_owners, relinquish
from flux_tenancy.components.sync.status import REQUESTED_AT, read_syncs, request_reconciliation
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.api_client import ApiClient
from tests.support.api_server import ApiServer, api_server
from tests.support.lab import eventually
from tests.support.offline_requests import definitions

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
SOURCES = "/apis/source.toolkit.fluxcd.io/v1"
RECORDED = State(
    {("kubernetes:source.toolkit.fluxcd.io/v1:GitRepository", "apps/dev-team"): {"__fieldManager": "test"}}
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server that knows Flux's sources."""
    with api_server(tmp_path_factory.mktemp("api")) as server:
        for manifest in definitions():
            server.client.apply(manifest)
        server.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}})
        eventually(lambda: readable(server))
        yield server


def readable(server: ApiServer) -> bool:
    """Whether the API server serves the new kinds, which it does not at once."""
    try:
        return read_syncs(connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path())) == []
    except ClusterUnavailable:
        return False


def source(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "dev-team", "namespace": "apps", "labels": {TENANT_LABEL: "dev-team"}},
        "spec": {"url": "https://git.example.com/dev-team/apps", "interval": "10m"} | spec,
    }


def spec_of(api: ApiClient) -> dict[str, Any]:
    spec: dict[str, Any] = api.get(f"{SOURCES}/namespaces/apps/gitrepositories/dev-team")["spec"]
    return spec


def test_a_removed_field_stays_until_its_ownership_is_taken_back(server: ApiServer) -> None:
    platform = server.client
    api = connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path())
    platform.apply(source(ignore="/docs"))
    done = platform.request("PATCH", source(), body=source(ignore="/docs"), applied=True)
    assert done.is_success, done.text
    platform.apply(source())
    assert spec_of(platform)["ignore"] == "/docs"

    [(found, manager)] = co_owners(read_syncs(api), RECORDED)
    relinquish(api, found, manager)

    assert manager == "tenant"
    assert spec_of(platform) | {"url": source()["spec"]["url"], "interval": "10m"} == spec_of(platform)
    assert "ignore" not in spec_of(platform)
    assert list(co_owners(read_syncs(api), RECORDED)) == []


def test_deleted_objects_are_not_requested(server: ApiServer) -> None:
    api = connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path())

    request_reconciliation(api, source() | {"metadata": {"name": "gone", "namespace": "apps"}}, NOON)


def test_foreign_objects_and_requests_for_reconciliation_are_left_alone(server: ApiServer) -> None:
    platform = server.client
    api = connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path())
    platform.apply(source())
    asked = {key: source()[key] for key in ("apiVersion", "kind")}
    asked |= {"metadata": {"name": "dev-team", "annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    assert platform.request("PATCH", source(), body=asked, applied=True).is_success
    [found] = read_syncs(api)
    request_reconciliation(api, found, NOON)

    [found] = read_syncs(api)
    assert found["metadata"]["annotations"][REQUESTED_AT] == NOON.isoformat()
    assert "flux-tenancy" in {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert list(co_owners(read_syncs(api), RECORDED)) == []
    assert list(co_owners(read_syncs(api), State({}))) == []
