"""One API server with Flux's kinds for all modules of this folder, each of which has its own namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.sync.status import read_syncs
from tests.support.api_client import ApiClient
from tests.support.api_server import ApiServer, api_server
from tests.support.lab import eventually
from tests.support.offline_requests import definitions


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        for manifest in definitions():
            server.client.apply(manifest)
        eventually(lambda: _serves_flux(server))
        yield server


def _serves_flux(server: ApiServer) -> bool:
    """The API server does not serve new kinds at once."""
    try:
        return read_syncs(_connected(server)) == []
    except ClusterUnavailable:
        return False


def _connected(server: ApiServer) -> client.ApiClient:
    return connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path())


@pytest.fixture(scope="session")
def server(running: ApiServer) -> ApiClient:
    """The administrator's requests."""
    return running.client


@pytest.fixture
def program(running: ApiServer) -> client.ApiClient:
    """The program's own client."""
    return _connected(running)
