"""One stack of the real program on its cluster, and base files of tenants."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flux_tenancy.components.keys.ssh_keys import generate
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project


def base(lab: Lab, repository: str, namespace: str, **source: Any) -> dict[str, Any]:
    """The base of a tenant whose private repository `owner/name` is read over SSH."""
    owner, name = repository.split("/")
    return {
        "namespaces": [{"name": namespace}],
        "source": {
            "url": lab.git.ssh_url(owner, name),
            "interval": "1m",
            "github": {"repository": repository},
            **source,
        },
        "sync": {"targetNamespace": namespace},
    }


def sources(lab: Lab) -> list[str]:
    """The patterns of all repositories and artifacts of the lab's Git host, by each way to read them."""
    ways = [urlsplit(way("owner", "name")) for way in (lab.git.ssh_url, lab.git.https_url, lab.git.url)]
    return [*(f"{way.scheme}://{way.netloc}/*" for way in ways), f"oci://{ways[1].netloc}/*"]


class Environment:
    """One stack on its cluster; `config` is what the stack file says and may be changed before the next `up`."""

    def __init__(self, lab: Lab, project: Project, cluster: RunningCluster, **config: Any) -> None:
        self.project = project
        self.cluster = cluster
        self._lab = lab
        self.config: dict[str, Any] = {
            "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name},
            "git": {"knownHostsFile": str(lab.git.known_hosts)},
            "github": {"baseUrl": lab.git.github_url},
            # What Flux and Kubernetes refuse by themselves; admission has tests of its own.
            "policies": {"engine": "none"},
            "tenants": {},
            **config,
        }
        self.write()

    def secret(self, text: str) -> dict[str, str]:
        """A text as the stack file may hold it."""
        return self.project.secret(self.cluster.name, text)

    def onboard(self, tenant: str, path: str) -> None:
        """List a tenant that reads its repository with a new deploy key."""
        key = self.secret(generate().private)
        self.config["tenants"][tenant] = {"source": {"deployKey": key}, "sync": {"path": path}}

    def private_source(self, owner: str, name: str) -> dict[str, Any]:
        """The platform's own repository at the Git host, read with a new deploy key."""
        return {
            "url": self._lab.git.ssh_url(owner, name),
            "interval": "1m",
            "deployKey": self.secret(generate().private),
            "github": {"repository": f"{owner}/{name}"},
        }

    def write(self) -> None:
        self.project.stack(self.cluster.name, **self.config)

    def up(self) -> str:
        """Apply what `config` says; returns what Pulumi printed."""
        self.write()
        outcome = self.project.up(self.cluster.name)
        assert outcome.succeeded, outcome.text
        return outcome.text

    def offboard(self, *tenants: str) -> str:
        """Apply the first step of an offboarding, and take the tenants out of `config` for the second."""
        for name in tenants:
            self.config["tenants"][name] = {**self.config["tenants"][name], "state": "leaving"}
        said = self.up()
        for name in tenants:
            del self.config["tenants"][name]
        return said

    def changes(self) -> dict[str, list[str]]:
        self.write()
        return self.project.changes(self.cluster.name)

    def outputs(self) -> dict[str, Any]:
        return self.project.outputs(self.cluster.name)

    def applications(self, *namespaces: str) -> dict[str, tuple[str, int]]:
        """uid and generation of each Deployment there: neither changes unless somebody touches it."""
        return {
            item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"]["generation"])
            for namespace in namespaces
            for item in self.cluster.get("deployments", namespace=namespace)["items"]
        }
