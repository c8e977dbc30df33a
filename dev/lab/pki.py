"""Certificates and keys of a cluster.

Two authorities, as in https://kubernetes.io/docs/setup/best-practices/certificates/: one for the API and its users,
and one that the cluster's components trust among themselves. So a certificate that the API signs for a user is not
accepted by etcd and the node agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dev.lab.certificates import LOCAL_HOSTS, Certificates, Pair, Request, usable_key, write_new_key

API_AUTHORITY = "api-ca"
"""Signs the serving certificates of the cluster's components, and the users of the API."""

INTERNAL_AUTHORITY = "internal-ca"
"""Signs etcd, and the API server as a client of etcd, the node agent and extension API servers."""

FRONT_PROXY = "front-proxy-client"
"""The user with which the API server forwards requests to extension API servers."""

_MASTERS = "system:masters"
"""The group that is allowed everything before any authorizer; that of kubeadm's break-glass administrator."""

_NODES = "system:nodes"
"""The group of users ``system:node:<name>``, which the Node authorizer and NodeRestriction apply to."""


def _requests(node_name: str, service_address: str) -> dict[str, Request]:
    """All certificates of a cluster, without the authorities, by the name of their files."""
    api, internal = API_AUTHORITY, INTERNAL_AUTHORITY
    services = (
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        service_address,
    )

    def serving(user: str, *more_hosts: str) -> Request:
        return Request(user, api, hosts=(*LOCAL_HOSTS, *more_hosts))

    return {
        "kube-apiserver": serving("kube-apiserver", *services),
        "kube-controller-manager-server": serving("kube-controller-manager"),
        "kube-scheduler-server": serving("kube-scheduler"),
        "node-agent-server": serving(f"system:node:{node_name}", node_name),
        "admin": Request("lab:admin", api, _MASTERS),
        "kube-controller-manager": Request("system:kube-controller-manager", api),
        "kube-scheduler": Request("system:kube-scheduler", api),
        # The agent has the rights of a kubelet, and those of kube-proxy for what it does instead of kube-proxy and
        # cluster DNS.
        "node-agent": Request(f"system:node:{node_name}", api, _NODES),
        "kube-proxy": Request("system:kube-proxy", api),
        # An etcd member is also a client of its peers, with the same certificate.
        "etcd": Request("etcd", internal, hosts=LOCAL_HOSTS),
        "etcd-client": Request("kube-apiserver-etcd-client", internal),
        "kubelet-client": Request("kube-apiserver-kubelet-client", internal),
        "front-proxy-client": Request(FRONT_PROXY, internal),
    }


@dataclass(frozen=True)
class Pki:
    """The certificates and keys of one cluster.

    Attributes:
        folder: where the files are or will be.
        node_name: name of the cluster's only node.
        service_address: address of the Service ``kubernetes``, the first one of the service range.
    """

    folder: Path
    node_name: str
    service_address: str

    def pair(self, name: str) -> Pair:
        """The files of a certificate, e.g. ``admin``, ``kube-apiserver`` or ``api-ca``."""
        return self._certificates.pair(name)

    @property
    def service_account_key(self) -> Path:
        """The key that signs service account tokens."""
        return self.folder / "service-account.key"

    def is_usable(self) -> bool:
        """Whether no file is missing, damaged, issued for other names or within 30 days of its expiry."""
        return usable_key(self.service_account_key) and self._certificates.are_usable()

    def renew(self) -> None:
        """Issue what is not usable. Running processes keep using the files that they have read.

        Raises:
            LabError: a file cannot be written.
        """
        if not usable_key(self.service_account_key):
            write_new_key(self.service_account_key)
        self._certificates.renew()

    @property
    def _certificates(self) -> Certificates:
        return Certificates(self.folder, _requests(self.node_name, self.service_address))
