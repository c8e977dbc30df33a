"""A cluster and a Pulumi for the benchmark alone, in a temporary folder and on ports of their own."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measure import failure
from bench.tenant_requests import IMAGES, SOURCES
from bench.workload import STACK, Workload, flux_section, kyverno_section
from components.policies.config import PolicyEngine
from lab.build import ensure, tools_for
from lab.cluster import Cluster
from lab.control_plane import STAGES
from lab.free_ports import free_port_base
from lab.git_host import GitHost
from lab.pulumi import LabPulumi, provide_bundles
from lab.settings import Settings

_CLUSTERS = 3
"""The benchmark's cluster has the first index beside those of staging and production."""

_FLUX_NAMESPACE = "flux-system"
_GIT_HOST = ("gitea", "github-proxy")


@dataclass(frozen=True)
class Rig:
    """A running cluster, and the commands that are measured on it.

    Attributes:
        settings: of the temporary lab.
        workload: the Pulumi project.
    """

    settings: Settings
    workload: Workload
    _cluster: Cluster
    _pulumi: LabPulumi

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` on the benchmark's stack."""
        return self._pulumi.run(
            [*arguments, f"--stack={STACK}"],
            self.workload.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `kubectl` on the cluster."""
        return subprocess.run(
            [
                Path(sysconfig.get_path("scripts"), "kubectl"),
                f"--kubeconfig={self._cluster.kubeconfig}",
                f"--cache-dir={self.settings.state / 'kubectl-cache'}",
                *arguments,
            ],
            env={**os.environ, "KUBECTL_EXTERNAL_DIFF": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self._cluster.kubeconfig

    def token(self, tenant: str) -> str:
        """A token of a tenant's service account, for longer than a benchmark takes.

        Raises:
            LabError: the command failed.
        """
        done = self.kubectl("create", "token", tenant, f"--namespace={tenant}", "--duration=8h")
        return _succeed(done).stdout.strip()

    def let_in(self, tenant: str, namespace: str) -> None:
        """Make a namespace that is no tenant's, in which a tenant may change things all the same.

        Raises:
            LabError: a command failed.
        """
        _succeed(self.kubectl("create", "namespace", namespace))
        account = f"--serviceaccount={tenant}:{tenant}"
        _succeed(
            self.kubectl("create", "rolebinding", tenant, "--clusterrole=edit", account, f"--namespace={namespace}")
        )

    def use_engine(self, engine: PolicyEngine) -> None:
        """Let the stack's policies be evaluated by an engine; Kyverno is there just for the engines that need it.

        Raises:
            LabError: `pulumi up` failed.
        """
        kyverno = None
        if engine.kyverno:
            kyverno = kyverno_section(self.settings.project, _bundle(self.settings, "kyverno"))
        policies = {"engine": engine.value, "sources": {"allowed": [SOURCES]}, "images": {"allowed": [IMAGES]}}
        self.workload.set_policies(policies, kyverno)
        self.apply_stack()

    def start_git_host(self) -> GitHost:
        """Start the lab's Git host, which stops with the cluster.

        Raises:
            LabError: it does not get ready.
        """
        git = GitHost(self.settings)
        git.up(ensure(self.settings, _GIT_HOST))
        return git

    def start_flux(self) -> None:
        """Let Flux's controllers work.

        Raises:
            LabError: a command failed.
        """
        namespace = f"--namespace={_FLUX_NAMESPACE}"
        _succeed(self.kubectl("scale", "deployment", "--all", "--replicas=1", namespace))
        _succeed(self.kubectl("wait", "deployment", "--all", "--for=condition=Available", "--timeout=2m", namespace))

    def apply_stack(self) -> None:
        """Bring the stack to what its file says.

        Raises:
            LabError: `pulumi up` failed.
        """
        _succeed(self.pulumi("up", "--yes", "--skip-preview"))

    def install_flux(self) -> None:
        """Apply the stack without tenants, then let Flux's controllers stand still.

        What they make of a tenant's objects is their work, whoever has applied these.

        Raises:
            LabError: a command failed.
        """
        flux = flux_section(self.settings.project, _bundle(self.settings, "flux"))
        self.workload.configure(flux, self._cluster.kubeconfig)
        self._pulumi.select(STACK, self.workload.folder)
        self.apply_stack()
        namespace = f"--namespace={_FLUX_NAMESPACE}"
        _succeed(self.kubectl("scale", "deployment", "--all", "--replicas=0", namespace))
        _succeed(self.kubectl("wait", "pod", "--all", "--for=delete", "--timeout=2m", namespace))


@contextmanager
def running_rig() -> Iterator[Rig]:
    """A cluster with Flux's objects on it, stopped and deleted at the end, however that comes.

    Raises:
        LabError: a tool cannot be built, or the cluster or Flux does not get ready.
    """
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-bench-") as folder:
        own = Settings.load()
        settings = replace(own, state=Path(folder, "lab"), port_base=free_port_base(_CLUSTERS))
        cluster = Cluster(settings, STACK)
        pulumi = LabPulumi(settings)
        tools = ensure(settings, _cluster_tools(settings))
        provide_bundles(settings)
        pulumi.install()
        try:
            cluster.up(tools)
            rig = Rig(settings, Workload(Path(folder, "project"), settings.project), cluster, pulumi)
            rig.install_flux()
            yield rig
        finally:
            cluster.stop()
            GitHost(settings).stop()


def _cluster_tools(settings: Settings) -> list[str]:
    """The cluster's parts, and Flux's controllers, which are called `<name>@<version>`."""
    parts = [part for stage in STAGES for part in stage]
    return parts + [name for name in tools_for(settings, "up") if "@" in name]


def _bundle(settings: Settings, name: str) -> Path:
    """The one release of Flux or Kyverno that `provide_bundles` has laid into the state."""
    return next((settings.state / name).glob("v*/*"))


def _succeed(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    if done.returncode:
        raise failure(done)
    return done
