"""The addresses, files and command lines of a cluster's components."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dev.lab.pki import API_AUTHORITY, FRONT_PROXY, INTERNAL_AUTHORITY, Pki
from dev.lab.processes import LOOPBACK, Command
from dev.lab.settings import PORTS_EACH

NODE_NAME = "lab"
"""The cluster's only node: this machine."""

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
NODE_AGENT = "node-agent"

KUBE_PROXY = "kube-proxy"
"""The user that the node agent reads Services as."""

USERS = (CONTROLLER_MANAGER, SCHEDULER, NODE_AGENT, KUBE_PROXY)
"""Users with a kubeconfig; each has a certificate of the same name."""

STAGES = ((ETCD, APISERVER), (CONTROLLER_MANAGER, SCHEDULER, NODE_AGENT))
"""All components by the name of their tool: first those that start together, then those that need the API."""

# Linux answers on all of 127.0.0.0/8, so each Service and pod can have its own address without privileges.
# Each ten ports have their own block of it, so that clusters of several checkouts or of tests do not overlap.
_LOOPBACK_RANGE = ipaddress.IPv4Network("127.0.0.0/8")
_BLOCK_ADDRESSES = 2048

_WEBHOOK_RECEIVER = "flux-system/webhook-receiver:80"
"""Service of Flux's notification-controller, as <namespace>/<name>:<port>."""

_ISSUER = "https://kubernetes.default.svc.cluster.local"


class Network:
    """Ports (on 127.0.0.1) and address ranges of a cluster, all derived from the first of its ten ports.

    Attributes:
        server: URL of the API server.
        service_range: CIDR of the ClusterIPs: the lower half of the cluster's block.
        service_address: address of the Service ``kubernetes``: the first one of the range.
        pod_range: CIDR of the pods: the upper half of the cluster's block.
    """

    def __init__(self, first_port: int) -> None:
        (
            self.apiserver,
            self.etcd_client,
            self.etcd_peer,
            self.controller_manager,
            self.scheduler,
            self.node_agent,
            self.webhook_receiver,
        ) = range(first_port, first_port + 7)
        start = _LOOPBACK_RANGE[first_port // PORTS_EACH * _BLOCK_ADDRESSES]
        block = ipaddress.IPv4Network((start, 32 - (_BLOCK_ADDRESSES - 1).bit_length()))
        services, pods = block.subnets()
        self.server = f"https://{LOOPBACK}:{self.apiserver}"
        self.service_range, self.service_address, self.pod_range = str(services), str(services[1]), str(pods)

    def ports(self, part: str) -> tuple[int, ...]:
        """The ports that a component listens on."""
        return {
            ETCD: (self.etcd_client, self.etcd_peer),
            APISERVER: (self.apiserver,),
            CONTROLLER_MANAGER: (self.controller_manager,),
            SCHEDULER: (self.scheduler,),
            NODE_AGENT: (self.node_agent, self.webhook_receiver),
        }[part]


@dataclass(frozen=True)
class ControlPlane:
    """Files and command lines of one cluster's components.

    Attributes:
        folder: the cluster's folder in the state.
        network: its ports and ranges.
    """

    folder: Path
    network: Network

    @property
    def pki(self) -> Pki:
        return Pki(self.folder / "pki", NODE_NAME, self.network.service_address)

    @property
    def images(self) -> Path:
        """The images that the node agent can run, and how."""
        return self.folder / "images.json"

    @property
    def pods(self) -> Path:
        """The node agent's files of its pods."""
        return self.folder / "pods"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of one of ``USERS``."""
        return self.pki.folder / f"{user}.kubeconfig"

    def command(self, part: str, program: Path) -> Command:
        """The command line of a component with its program."""
        arguments = {
            ETCD: self._etcd,
            APISERVER: self._apiserver,
            CONTROLLER_MANAGER: self._controller_manager,
            SCHEDULER: self._scheduler,
            NODE_AGENT: self._node_agent,
        }[part]()
        return (str(program), *(f"--{name}={value}" for name, value in arguments.items()))

    def _etcd(self) -> Mapping[str, object]:
        certificate, authority = self.pki.pair("etcd"), self.pki.pair(INTERNAL_AUTHORITY).certificate
        client = f"https://{LOOPBACK}:{self.network.etcd_client}"
        peer = f"https://{LOOPBACK}:{self.network.etcd_peer}"
        return {
            "name": NODE_NAME,
            "data-dir": self.folder / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"{NODE_NAME}={peer}",
            "client-cert-auth": "true",
            "trusted-ca-file": authority,
            "cert-file": certificate.certificate,
            "key-file": certificate.key,
            "peer-client-cert-auth": "true",
            "peer-trusted-ca-file": authority,
            "peer-cert-file": certificate.certificate,
            "peer-key-file": certificate.key,
            # Without fsync, data survives a killed process; only a power cut can lose it.
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }

    def _apiserver(self) -> Mapping[str, object]:
        pki = self.pki
        api_authority = pki.pair(API_AUTHORITY).certificate
        internal_authority = pki.pair(INTERNAL_AUTHORITY).certificate
        serving, etcd = pki.pair("kube-apiserver"), pki.pair("etcd-client")
        kubelet, front_proxy = pki.pair("kubelet-client"), pki.pair("front-proxy-client")
        return {
            "bind-address": LOOPBACK,
            "secure-port": self.network.apiserver,
            "advertise-address": LOOPBACK,
            # The API refuses loopback addresses as endpoints, so the Service `kubernetes` has none;
            # the node agent serves it nevertheless.
            "endpoint-reconciler-type": "none",
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "client-ca-file": api_authority,
            "etcd-servers": f"https://{LOOPBACK}:{self.network.etcd_client}",
            "etcd-cafile": internal_authority,
            "etcd-certfile": etcd.certificate,
            "etcd-keyfile": etcd.key,
            "kubelet-certificate-authority": api_authority,
            "kubelet-client-certificate": kubelet.certificate,
            "kubelet-client-key": kubelet.key,
            "kubelet-preferred-address-types": "InternalIP",
            "requestheader-client-ca-file": internal_authority,
            "requestheader-allowed-names": FRONT_PROXY,
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": front_proxy.certificate,
            "proxy-client-key-file": front_proxy.key,
            "service-cluster-ip-range": self.network.service_range,
            "service-account-issuer": _ISSUER,
            "service-account-signing-key-file": pki.service_account_key,
            "service-account-key-file": pki.service_account_key,
            # As in clusters of kubeadm and of cloud providers: a node has only the rights that its own pods need.
            # Anonymous requests and the default plugins are configured as in Kubernetes.
            # https://kubernetes.io/docs/reference/access-authn-authz/node/
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            # As in every cluster, Pod Security decides about privileged pods, not the API server as a whole.
            "allow-privileged": "true",
            "profiling": "false",
        }

    def _controller_manager(self) -> Mapping[str, object]:
        authority = self.pki.pair(API_AUTHORITY)
        return {
            **self._client_of_the_api(CONTROLLER_MANAGER, self.network.controller_manager),
            "use-service-account-credentials": "true",
            "service-account-private-key-file": self.pki.service_account_key,
            "root-ca-file": authority.certificate,
            "cluster-signing-cert-file": authority.certificate,
            "cluster-signing-key-file": authority.key,
            # The default of 20 requests per second slows down the deletion of dozens of namespaces.
            "kube-api-qps": 200,
            "kube-api-burst": 400,
            "concurrent-namespace-syncs": 50,
        }

    def _scheduler(self) -> Mapping[str, object]:
        return self._client_of_the_api(SCHEDULER, self.network.scheduler)

    def _client_of_the_api(self, part: str, port: int) -> Mapping[str, object]:
        """The flags that controller-manager and scheduler have in common."""
        serving, kubeconfig = self.pki.pair(f"{part}-server"), self.kubeconfig(part)
        return {
            "bind-address": LOOPBACK,
            "secure-port": port,
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "profiling": "false",
        }

    def _node_agent(self) -> Mapping[str, object]:
        serving = self.pki.pair("node-agent-server")
        return {
            "kubeconfig": self.kubeconfig(NODE_AGENT),
            "proxy-kubeconfig": self.kubeconfig(KUBE_PROXY),
            "node-name": NODE_NAME,
            "pod-cidr": self.network.pod_range,
            "kubelet-address": f"{LOOPBACK}:{self.network.node_agent}",
            "tls-cert": serving.certificate,
            "tls-key": serving.key,
            "client-ca": self.pki.pair(INTERNAL_AUTHORITY).certificate,
            "state": self.pods,
            "images": self.images,
            # Like a cloud's load balancer: webhooks are delivered from outside the cluster.
            "expose": f"{LOOPBACK}:{self.network.webhook_receiver}={_WEBHOOK_RECEIVER}",
        }
