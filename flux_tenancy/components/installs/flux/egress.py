"""The hosts that Flux's controllers may connect to over HTTP under the multi-tenant profile.

kustomize fetches every URL in a kustomization.yaml, and Helm every `$ref` in a chart's values.schema.json, with the
controller's network access: other tenants' artifacts, which source-controller serves to every client; internal
services; a cloud's metadata service. Go sends each request to the configured proxy unless the host is exempt. So these
controllers are given a proxy address at which nothing listens, where requests fail at once, and the hosts that they
need are exempt.

Artifacts are exempt under a name that no tenant knows. It is a Service of type ExternalName, which has no address and
therefore no reverse DNS record that would reveal its name.

The other controllers connect to hosts that tenants name, too, so only their requests without TLS go to that address:
all that the same targets answer.

Source: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flux_tenancy.components.installs.flux.lanes import instance_of, lane_of
from flux_tenancy.components.installs.flux.lockdown_flags import PROXY_VARIABLES
from flux_tenancy.components.installs.flux.release import component_of
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANED, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

# Each artifact server, and the variable that makes the controllers that apply fetch its artifacts from another host.
# Source: internal/controller/kustomization_controller.go of kustomize-controller, internal/loader/artifact_url.go of
# helm-controller
_HOST_VARIABLES = {
    Controller.SOURCE: "SOURCE_CONTROLLER_LOCALHOST",
    Controller.SOURCE_WATCHER: "SOURCE_WATCHER_LOCALHOST",
}
# Go reads both; other programs in the image read only one of them.
_EXEMPTION_VARIABLES = ("NO_PROXY", "no_proxy")
# Fetches only the artifacts that the status of an object names, which tenants do not write.
_ARTIFACT_READERS = (Controller.SOURCE_WATCHER,)
_SECRET = "artifact-hosts"
NAME_RESOURCES = f"{FLUX_NAMESPACE}/artifacts-of-"
"""How the resources begin that have the names of artifact servers."""
ARTIFACT_NAME = re.compile(r"artifacts-[0-9a-f]{32}")
"""The generated names."""
_CLUSTER_DOMAIN = "cluster.local."
# notification-controller itself has an address to listen at in place of the URL.
_ADVERTISED, _EVENTS = "--storage-adv-addr=", "--events-addr=http"
# The kubelet sets these variables in every container, and client-go reads the API server's address from them. The
# brackets are for IPv6; Go accepts an IPv4 address or a name in them, too.
_API_SERVER = "[$(KUBERNETES_SERVICE_HOST)]:$(KUBERNETES_SERVICE_PORT)"
_HTTP, _HTTPS = 80, 443
_PORTS = {"http": _HTTP, "https": _HTTPS}
_WITH_PORT = re.compile(r":\d+$")


@dataclass(frozen=True)
class ArtifactHost:
    """An artifact server, which gets a name that only the controllers that apply know.

    Attributes:
        server: the controller that serves the artifacts.
        domain: the DNS suffix of a Service in flux-system, e.g. `flux-system.svc.cluster.local.`.
        lane: the lane of the controller; empty for the platform's, and for one that serves all lanes.
    """

    server: Controller
    domain: str
    lane: str = ""

    @property
    def name(self) -> str:
        """The name of the server's own Service."""
        return instance_of(self.server, self.lane)

    def serves(self, controller: Controller, lane: str) -> bool:
        """Whether a controller of a lane needs its artifacts; those without lanes need the artifacts of all."""
        return self.lane == lane or controller not in LANED or self.server not in LANED

    @property
    def variable(self) -> str:
        return _HOST_VARIABLES[self.server]

    @property
    def resource(self) -> str:
        """The name of the resource that is the Service."""
        return f"{NAME_RESOURCES}{self.name}"

    def service(self, name: Any, annotations: Mapping[str, str]) -> Manifest:
        """The Service with this name, an alias of the server's own Service."""
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": FLUX_NAMESPACE, "annotations": dict(annotations)},
            "spec": {"type": "ExternalName", "externalName": f"{self.name}.{self.domain}".rstrip(".")},
        }

    def entry(self, name: str) -> str:
        """The host name of that Service, as an entry of the Secret.

        The name is absolute, so DNS is queried only for the name that is exempt from the proxy.
        """
        return b64encode(f"{name}.{self.domain}".encode()).decode()


def artifact_hosts(manifests: Iterable[Manifest]) -> list[ArtifactHost]:
    """A host for each artifact server of a release."""
    return [
        ArtifactHost(server, _domain(_arguments(manifest)), lane_of(manifest))
        for manifest in manifests
        if manifest["kind"] == "Deployment"
        and (server := component_of(manifest)) is not None
        and server in _HOST_VARIABLES
    ]


def artifact_secret(entries: Any) -> Manifest:
    """The Secret from which kustomize-controller and helm-controller get the names.

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
    controller: Controller,
    deployment: Manifest,
    hosts: Sequence[ArtifactHost],
    config: FluxConfig,
    key_services: Iterable[str],
) -> list[Manifest]:
    """The `env` entries of a controller that applies: names of artifact servers, and hosts exempt from the proxy.

    Args:
        key_services: hosts of key management services that decrypt for the stack's syncs.
    """
    decrypting = [_host_of(server.address) for server in config.vaults]
    decrypting += [host_and_port(host, _HTTPS) for host in key_services]
    exempt = [
        _API_SERVER,
        *(host_and_port(f"$({host.variable})") for host in hosts),
        *_events_hosts(_arguments(deployment)),
        *(decrypting if controller is Controller.KUSTOMIZE else ()),
        *config.egress.hosts,
    ]
    names = [
        {"name": host.variable, "valueFrom": {"secretKeyRef": {"name": _SECRET, "key": host.name}}} for host in hosts
    ]
    return [*names, *_exemptions(exempt)]


def plain_http_variables(
    controller: Controller, deployment: Manifest, hosts: Sequence[ArtifactHost], plain_http: Iterable[str]
) -> list[Manifest]:
    """The `env` entries of another controller: the hosts to which it may connect without TLS.

    Args:
        controller: any that does not apply.
        plain_http: the hosts to which the stack lets it connect without TLS; `*` for all.
    """
    return _exemptions([*_artifact_servers(controller, hosts), *_events_hosts(_arguments(deployment)), *plain_http])


def proxied(
    controller: Controller,
    variables: Sequence[Manifest],
    deployment: Manifest,
    hosts: Sequence[ArtifactHost],
    proxy: str,
) -> list[Manifest]:
    """The `env` entries of a controller whose HTTP requests, except its own to Flux and the API server, use a proxy.

    Go sends nothing for `localhost` or a loopback address through a proxy.

    Args:
        variables: the entries that the controller has without the proxy; exemptions among them stay.
    """
    given = {each["name"]: each for each in variables}
    exempt = _exemptions([_API_SERVER, *_artifact_servers(controller, hosts), *_events_hosts(_arguments(deployment))])
    values = [{"name": name, "value": proxy} for name in PROXY_VARIABLES]
    values += [each for each in exempt if each["name"] not in given]
    return list((given | {each["name"]: each for each in values}).values())


def _exemptions(hosts: Iterable[str]) -> list[Manifest]:
    """The `env` entries for hosts that are exempt from the proxy; none without hosts."""
    value = ",".join(dict.fromkeys(hosts))
    return [{"name": name, "value": value} for name in _EXEMPTION_VARIABLES] if value else []


def host_and_port(host: str, port: int = _HTTP) -> str:
    """A host as an entry of `NO_PROXY`: without a port, requests to any port of it would be exempt."""
    return host if _WITH_PORT.search(host) else f"{host}:{port}"


def _host_of(url: str) -> str:
    parts = urlsplit(url)
    return host_and_port(parts.netloc, _PORTS[parts.scheme])


def _artifact_servers(controller: Controller, hosts: Iterable[ArtifactHost]) -> list[str]:
    """The artifact servers under their usual names, if the controller needs them."""
    return [f"{host.name}.{host.domain}" for host in hosts] if controller in _ARTIFACT_READERS else []


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
    return [_host_of(each.partition("=")[2]) for each in arguments if each.startswith(_EVENTS)]
