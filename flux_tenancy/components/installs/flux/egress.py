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

The error about an artifact that cannot be fetched has its URL. So the name of a server is in a status and in an Event
when a Kustomization or HelmRelease was reconciled while the server did not answer for three minutes. Such a name is
replaced.

Source: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config and `FetchWithContext` in
http/fetch/archive_fetcher.go of github.com/fluxcd/pkg
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pulumi

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.cluster.component import if_readable
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.flux.lockdown_flags import PROXY_VARIABLES
from flux_tenancy.components.installs.flux.release import ADVERTISED, container_of, deployments_of, instance_of, lane_of
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, HELM_API, KUSTOMIZE_API, LANED, Controller

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
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
_EVENTS = "--events-addr=http"
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
        ArtifactHost(server, _domain(container_of(deployment).get("args", ())), lane_of(deployment))
        for server, deployment in deployments_of(manifests)
        if server in _HOST_VARIABLES
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
        *_events_hosts(deployment),
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
    return _exemptions([*_artifact_servers(controller, hosts), *_events_hosts(deployment), *plain_http])


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
    exempt = _exemptions([_API_SERVER, *_artifact_servers(controller, hosts), *_events_hosts(deployment)])
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


def _domain(arguments: Iterable[str]) -> str:
    """The DNS suffix of Services, taken from the advertised artifact address: a cluster may have its own domain."""
    advertised = next((each.removeprefix(ADVERTISED) for each in arguments if each.startswith(ADVERTISED)), "")
    own = advertised.partition(".svc.")[2].partition(":")[0]
    return f"{FLUX_NAMESPACE}.svc.{own or _CLUSTER_DOMAIN}"


def _events_hosts(deployment: Manifest) -> list[str]:
    """The hosts to which a controller sends events."""
    arguments = container_of(deployment).get("args", ())
    return [_host_of(each.partition("=")[2]) for each in arguments if each.startswith(_EVENTS)]


REPLACED = "flux-tenancy/artifact-hosts"
"""The annotation of a name that was replaced, and of the pods that were restarted with the new one."""
_APPLIERS = (f"/apis/{KUSTOMIZE_API}/kustomizations", f"/apis/{HELM_API}/helmreleases")
# Of both controllers, when they cannot fetch an artifact.
_REASON = "reason=ArtifactFailed"


@dataclass(frozen=True)
class SeenNames:
    """Names of artifact servers that are replaced, by the resources that have them.

    Attributes:
        seen: those that this update replaces.
        replaced: those that an earlier update has replaced.
    """

    seen: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.seen | self.replaced

    def warnings(self) -> list[Message]:
        """What the user should know about an update that replaces names."""
        if not self.seen:
            return []
        return [
            Message(
                "FT-CLU-118",
                "tenants may know the random name of an artifact server, which is in a status or an Event of a "
                "Kustomization or HelmRelease",
                "this update replaces the name, and restarts kustomize-controller and helm-controller; find out why "
                "source-controller did not answer for three minutes",
            )
        ]


def replaced_names(state: State) -> frozenset[str]:
    """The resources whose names an earlier update has replaced."""
    found = _recorded(state).items()
    return frozenset(resource for resource, each in found if REPLACED in (each.get("annotations") or {}))


def read_seen_names(api: client.ApiClient, state: State) -> frozenset[str]:
    """The resources whose names are in a status or an Event. Raises ClusterUnavailable."""
    names = {str(each["name"]): resource for resource, each in _recorded(state).items()}
    if not names:
        return frozenset()
    with explaining(api):
        said = [each.get("status") for path in _APPLIERS for each in items(api, path)]
    said += if_readable(partial(_messages, api), [])
    text = json.dumps(said)
    return frozenset(resource for name, resource in names.items() if name in text)


def _messages(api: client.ApiClient) -> list[Any]:
    with explaining(api):
        return [each.get("message") for each in items(api, "/api/v1/events", fieldSelector=_REASON)]


def restarted(deployment: Manifest, entries: Sequence[pulumi.Output[str]]) -> Manifest:
    """A controller whose pods are replaced when one of these names is; as it is if there are none.

    Pods read the names when they start.
    """
    if not entries:
        return deployment
    digest = pulumi.Output.all(*entries).apply(lambda each: hashlib.sha256("".join(each).encode()).hexdigest()[:16])
    template = deployment["spec"]["template"]
    metadata = template["metadata"]
    marked = metadata | {"annotations": metadata.get("annotations", {}) | {REPLACED: digest}}
    return deployment | {"spec": deployment["spec"] | {"template": template | {"metadata": marked}}}


def _recorded(state: State) -> dict[str, Mapping[str, Any]]:
    """The metadata of the Services that have such names, by resource."""
    return {
        resource: outputs["metadata"]
        for (type_, resource), outputs in state.resources.items()
        if type_ == "kubernetes:core/v1:Service" and resource.startswith(NAME_RESOURCES)
    }
