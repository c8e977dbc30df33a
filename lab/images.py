"""Which container images a cluster's node can run, and what their programs need beyond their manifests."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.files import write_file

_REGISTRY = "ghcr.io/fluxcd"

_HEALTH_AND_METRICS = {"--health-addr": 9440, "--metrics-addr": 8080}

# In a container a controller may listen on all addresses. Here all pods share those of the host, so each one
# listens on its own pod's. The flags are those of the controllers' own --help. To notification-controller
# alone --events-addr is where it listens; the others send their events there.
_LISTENERS: Mapping[str, Mapping[str, int]] = {
    "source-controller": {"--storage-addr": 9090, **_HEALTH_AND_METRICS},
    "kustomize-controller": _HEALTH_AND_METRICS,
    "helm-controller": _HEALTH_AND_METRICS,
    "notification-controller": {"--events-addr": 9090, "--receiverAddr": 9292, **_HEALTH_AND_METRICS},
}
"""Flags of each controller that set where it listens, with the port that its Deployment declares."""

ENVIRONMENT: Mapping[str, Mapping[str, str]] = {
    # Source: SopsGpgExecEnv in pgp/keysource.go of sops.
    "kustomize-controller": {"SOPS_GPG_EXEC": str(Path(__file__).with_name("gpg")), "LAB_PYTHON": sys.executable},
}
"""Variables that stand for what else is in a controller's image."""

# Leader election looks for its namespace in the file system of a container.
_OVERRIDES = ["--enable-leader-election=false"]


def write_images(path: Path, tools: Mapping[str, Path]) -> None:
    """Write the node agent's table of images.

    Images of an earlier call stay as long as their program exists: pods of that version may still run.

    Args:
        path: the table.
        tools: programs by the tool's name; controllers are called ``<name>@<tag>``, others are passed over.

    Raises:
        LabError: the file cannot be written.
    """
    images = _existing(path) | {entry["image"]: entry for entry in _entries(tools)}
    write_file(path, json.dumps({"images": [images[name] for name in sorted(images)]}, indent=2))


def _entries(tools: Mapping[str, Path]) -> list[dict[str, Any]]:
    entries = []
    for tool, program in tools.items():
        controller, _, tag = tool.partition("@")
        if controller in _LISTENERS and program.exists():
            listeners = _LISTENERS[controller].items()
            entries.append(
                {
                    "image": f"{_REGISTRY}/{controller}:{tag}",
                    "binary": str(program),
                    "args": [f"{flag}={{{{.PodIP}}}}:{port}" for flag, port in listeners],
                    "overrides": _OVERRIDES,
                    "env": ENVIRONMENT.get(controller, {}),
                }
            )
    return entries


def _existing(path: Path) -> dict[str, dict[str, Any]]:
    try:
        entries = json.loads(path.read_text())["images"]
        return {entry["image"]: entry for entry in entries if Path(entry["binary"]).exists()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
