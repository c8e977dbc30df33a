"""The hosts that kustomize-controller may connect to over HTTP under the multi-tenant profile.

kustomize fetches every URL in a kustomization.yaml, with the controller's network access: other tenants' artifacts,
which source-controller serves to every client; internal services; a cloud's metadata service. Go sends each request to
the configured proxy unless the host is exempt. So the controller is given a proxy address at which nothing listens,
where requests fail at once, and the hosts that it needs are exempt.

Artifacts are exempt under a name that no tenant knows. It is a Service of type ExternalName, which has no address and
therefore no reverse DNS record that would reveal its name.

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
from components.flux.lockdown_environment import PROXY_VARIABLES
from components.flux.release import component_of
from components.sync.names import FLUX_NAMESPACE

# Each artifact server, and the variable that makes kustomize-controller fetch its artifacts from another host.
# Source: internal/controller/kustomization_controller.go of kustomize-controller.
_HOST_VARIABLES = {
    Controller.SOURCE: "SOURCE_CONTROLLER_LOCALHOST",
    Controller.SOURCE_WATCHER: "SOURCE_WATCHER_LOCALHOST",
}
# Go reads both; other programs in the image read only one of them.
_EXEMPTION_VARIABLES = ("NO_PROXY", "no_proxy")
_SECRET = "artifact-hosts"
_CLUSTER_DOMAIN = "cluster.local."
_ADVERTISED, _EVENTS = "--storage-adv-addr=", "--events-addr="
# The kubelet sets this variable in every container, and client-go reads the API server's address from it.
_API_SERVER = "$(KUBERNETES_SERVICE_HOST)"


@dataclass(frozen=True)
class ArtifactHost:
    """An artifact server, which gets a name that only kustomize-controller knows.

    Attributes:
        server: the controller that serves the artifacts.
        domain: the DNS suffix of a Service in flux-system, e.g. `flux-system.svc.cluster.local.`.
    """

    server: Controller
    domain: str

    @property
    def variable(self) -> str:
        return _HOST_VARIABLES[self.server]

    def service(self, name: Any) -> Manifest:
        """The Service with this name, an alias of the server's own Service.

        Args:
            name: a string or an output of one.
        """
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": FLUX_NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": f"{self.server}.{self.domain}".rstrip(".")},
        }

    def entry(self, name: str) -> str:
        """The host name of that Service, as an entry of the Secret.

        The name is absolute, so DNS is queried only for the name that is exempt from the proxy.
        """
        return b64encode(f"{name}.{self.domain}".encode()).decode()


def artifact_hosts(manifests: Iterable[Manifest]) -> list[ArtifactHost]:
    """A host for each artifact server of a release."""
    return [
        ArtifactHost(server, _domain(_arguments(manifest)))
        for manifest in manifests
        if manifest["kind"] == "Deployment"
        and (server := component_of(manifest)) is not None
        and server in _HOST_VARIABLES
    ]


def artifact_secret(entries: Any) -> Manifest:
    """The Secret from which kustomize-controller gets the names.

    Args:
        entries: its `data`: a mapping of servers to entries, or an output of one.
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
    """The `env` entries of kustomize-controller: the names of artifact servers and the hosts exempt from the proxy.

    Args:
        deployment: the Deployment of kustomize-controller.
        hosts: the artifact servers.
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
    value = ",".join(dict.fromkeys(exempt))
    return [*names, *({"name": name, "value": value} for name in _EXEMPTION_VARIABLES)]


def proxied(
    variables: Sequence[Manifest], deployment: Manifest, hosts: Sequence[ArtifactHost], proxy: str
) -> list[Manifest]:
    """The `env` entries of a controller whose HTTP requests, except to Flux and the API server, go through a proxy.

    Go sends nothing for `localhost` or a loopback address through a proxy.

    Args:
        variables: the entries that the controller has without the proxy; exemptions among them stay.
        deployment: its Deployment.
        hosts: the artifact servers.
        proxy: URL of the proxy.
    """
    given = {each["name"]: each for each in variables}
    servers = (f"{host.server}.{host.domain}" for host in hosts)
    exempt = ",".join(dict.fromkeys([_API_SERVER, *servers, *_events_hosts(_arguments(deployment))]))
    values = dict.fromkeys(PROXY_VARIABLES, proxy)
    values |= {name: exempt for name in _EXEMPTION_VARIABLES if name not in given}
    return list((given | {name: {"name": name, "value": value} for name, value in values.items()}).values())


def _arguments(deployment: Manifest) -> list[str]:
    arguments: list[str] = deployment["spec"]["template"]["spec"]["containers"][0].get("args", [])
    return arguments


def _domain(arguments: Iterable[str]) -> str:
    """The DNS suffix of Services, taken from the advertised artifact address: a cluster may have its own domain."""
    advertised = next((each.removeprefix(_ADVERTISED) for each in arguments if each.startswith(_ADVERTISED)), "")
    own = advertised.partition(".svc.")[2].partition(":")[0]
    return f"{FLUX_NAMESPACE}.svc.{own or _CLUSTER_DOMAIN}"


def _events_hosts(arguments: Iterable[str]) -> list[str]:
    """The hosts to which the release sends events."""
    return [urlsplit(each.removeprefix(_EVENTS)).netloc for each in arguments if each.startswith(_EVENTS)]
