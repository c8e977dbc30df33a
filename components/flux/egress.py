"""Where kustomize-controller may connect to over HTTP under the multi-tenant profile.

kustomize fetches every URL that a kustomization.yaml names, from the controller's place in the network: other tenants'
artifacts, which source-controller's server gives to anybody who asks, inner services, a cloud's metadata. Go sends a
request through a proxy unless the host is exempt, so a proxy that nobody runs refuses all of them at once, before
anything is connected to, and those that the controller needs are exempt.

Artifacts are exempt under a name that no tenant knows: a Service of type ExternalName has no address, and so no reverse
record in DNS that would tell its name.

Source: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from components.cluster.manifests import Manifest
from components.flux.config import FluxConfig
from components.flux.controllers import Controller
from components.flux.release import component_of
from components.sync.names import FLUX_NAMESPACE

# Who serves artifacts, and the variable in which kustomize-controller looks for another host than the artifact's own.
# Source: internal/controller/kustomization_controller.go of kustomize-controller.
_SERVERS = {
    Controller.SOURCE: "SOURCE_CONTROLLER_LOCALHOST",
    Controller.SOURCE_WATCHER: "SOURCE_WATCHER_LOCALHOST",
}
_SECRET = "artifact-hosts"
_CLUSTER_DOMAIN = "cluster.local."
_ADVERTISED, _EVENTS = "--storage-adv-addr=", "--events-addr="
# The kubelet puts it into every container, and client-go takes the address of the API server from it.
_API_SERVER = "$(KUBERNETES_SERVICE_HOST)"


@dataclass(frozen=True)
class ArtifactHost:
    """A server of artifacts and the name that kustomize-controller alone has for it.

    Attributes:
        server: whose artifacts.
        domain: what follows the name of a Service in flux-system, e.g. `flux-system.svc.cluster.local.`.
    """

    server: Controller
    domain: str

    @property
    def variable(self) -> str:
        return _SERVERS[self.server]

    def service(self, name: Any) -> Manifest:
        """The name, as a Service that leads to the server's own.

        Args:
            name: a text or an output of one.
        """
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": FLUX_NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": f"{self.server}.{self.domain}".rstrip(".")},
        }

    def entry(self, name: str) -> str:
        """The host of that Service, as an entry of the Secret.

        It is absolute, so that DNS is asked once, for just what is exempt from the proxy.
        """
        return b64encode(f"{name}.{self.domain}".encode()).decode()


def artifact_hosts(manifests: Iterable[Manifest]) -> list[ArtifactHost]:
    """A host for each server of artifacts of a release."""
    return [
        ArtifactHost(server, _domain(_arguments(manifest)))
        for manifest in manifests
        if manifest["kind"] == "Deployment" and (server := component_of(manifest)) is not None and server in _SERVERS
    ]


def artifact_secret(entries: Any) -> Manifest:
    """The Secret that kustomize-controller has the names from.

    Args:
        entries: its `data`, as a mapping of servers to entries or an output of one.
    """
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _SECRET, "namespace": FLUX_NAMESPACE},
        "type": "Opaque",
        "data": entries,
    }


def egress_variables(
    deployment: Manifest, hosts: Sequence[ArtifactHost], config: FluxConfig, key_services: Iterable[str]
) -> list[Manifest]:
    """Entries of `env` of kustomize-controller: the names of its servers, and what is exempt from the closed proxy.

    Args:
        deployment: of kustomize-controller.
        hosts: the servers of artifacts.
        config: the `flux` section of the stack.
        key_services: hosts of key management services that decrypt for the stack's syncs.
    """
    exempt = [
        _API_SERVER,
        *(f"$({host.variable})" for host in hosts),
        *_events_hosts(_arguments(deployment)),
        *(urlsplit(server.address).netloc for server in config.vaults),
        *key_services,
        *config.egress.hosts,
    ]
    names = [
        {"name": host.variable, "valueFrom": {"secretKeyRef": {"name": _SECRET, "key": host.server.value}}}
        for host in hosts
    ]
    # Go reads either; other programs in the image one of them.
    value = ",".join(dict.fromkeys(exempt))
    return [*names, *({"name": name, "value": value} for name in ("NO_PROXY", "no_proxy"))]


def _arguments(deployment: Manifest) -> list[str]:
    arguments: list[str] = deployment["spec"]["template"]["spec"]["containers"][0].get("args", [])
    return arguments


def _domain(arguments: Iterable[str]) -> str:
    """What follows a Service's name, as the release advertises its own artifacts; a cluster may have its own domain."""
    advertised = next((each.removeprefix(_ADVERTISED) for each in arguments if each.startswith(_ADVERTISED)), "")
    own = advertised.partition(".svc.")[2].partition(":")[0]
    return f"{FLUX_NAMESPACE}.svc.{own or _CLUSTER_DOMAIN}"


def _events_hosts(arguments: Iterable[str]) -> list[str]:
    """Where the release has events sent to."""
    return [urlsplit(each.removeprefix(_EVENTS)).netloc for each in arguments if each.startswith(_EVENTS)]
