"""The container images that a cluster's node can run, and what their programs need in addition to their manifests."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dev.lab.files import write_file

_HEALTH_AND_METRICS = ["--health-addr={{.PodIP}}:9440", "--metrics-addr={{.PodIP}}:8080"]

# Leader election reads its namespace from the file system of a container.
_FLUX_OVERRIDES = ["--enable-leader-election=false"]

# Flags of Kyverno's own --help. Some of its Deployments serve the metrics of controller-runtime on all addresses, so
# that flag has to come after the Deployment's. The reports controller has no such flag.
_KYVERNO = ["--kubeconfig={{.Kubeconfig}}", "--metricsHost={{.PodIP}}"]
_CONTROLLER_RUNTIME = ["--controllerRuntimeMetricsAddress={{.PodIP}}:8080"]


@dataclass(frozen=True)
class _Image:
    """What a controller needs to run as a host process.

    In a container it can listen on all addresses. In the lab all pods share the host's, so each controller listens on
    the address of its pod. The flags are those of the controllers' own --help.

    Attributes:
        repository: the image's name without its tag.
        args: arguments before those of the Deployment.
        overrides: arguments after them.
        env: variables in place of other content of the image.
    """

    repository: str
    args: list[str]
    overrides: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


def _flux(controller: str, *listeners: str, env: Mapping[str, str] | None = None) -> _Image:
    return _Image(f"ghcr.io/fluxcd/{controller}", [*listeners, *_HEALTH_AND_METRICS], _FLUX_OVERRIDES, env=env or {})


def _kyverno(controller: str, *listeners: str, overrides: Sequence[str] = ()) -> _Image:
    return _Image(f"reg.kyverno.io/kyverno/{controller}", [*_KYVERNO, *listeners], [*overrides])


# Source: SopsGpgExecEnv in pgp/keysource.go of sops.
GNUPG = {"SOPS_GPG_EXEC": str(Path(__file__).with_name("gpg")), "LAB_PYTHON": sys.executable}
"""Variables in place of the GnuPG in the image of kustomize-controller."""

# notification-controller listens at --events-addr; the others send their events there.
_IMAGES: Mapping[str, _Image] = {
    "source-controller": _flux("source-controller", "--storage-addr={{.PodIP}}:9090"),
    "kustomize-controller": _flux("kustomize-controller", env=GNUPG),
    "helm-controller": _flux("helm-controller"),
    "notification-controller": _flux(
        "notification-controller", "--events-addr={{.PodIP}}:9090", "--receiverAddr={{.PodIP}}:9292"
    ),
    "kyverno": _kyverno("kyverno", "--webhookServerHost={{.PodIP}}", overrides=_CONTROLLER_RUNTIME),
    "background-controller": _kyverno("background-controller", overrides=_CONTROLLER_RUNTIME),
    "reports-controller": _kyverno("reports-controller"),
    # LAB_POD_IP: see the tool's edits in dev/lab/tools.yaml. The path is the program's default, which the node agent
    # has to read to put the pod's volume in its place.
    "capsule": _Image(
        "ghcr.io/projectcapsule/capsule",
        ["--metrics-addr={{.PodIP}}:8080", "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs"],
        [],
        {"LAB_POD_IP": "{{.PodIP}}"},
    ),
}
"""The images of the controllers by the name of the tool."""


def is_controller(tool: str) -> bool:
    """Whether pods run a tool, by its name, e.g. `capsule@v0.14.0`."""
    return tool.partition("@")[0] in _IMAGES


def write_images(path: Path, tools: Mapping[str, Path]) -> None:
    """Write the node agent's table of images.

    Images of an earlier call are kept as long as their program exists: pods of that version may still run.

    Args:
        path: the table.
        tools: programs by the name of the tool; controllers are called ``<name>@<tag>``, others are ignored.

    Raises:
        LabError: the file cannot be written.
    """
    images = _existing(path) | {entry["image"]: entry for entry in _entries(tools)}
    write_file(path, json.dumps({"images": [images[name] for name in sorted(images)]}, indent=2))


def _entries(tools: Mapping[str, Path]) -> list[dict[str, Any]]:
    entries = []
    for tool, program in tools.items():
        controller, _, tag = tool.partition("@")
        image = _IMAGES.get(controller)
        if image is not None and program.exists():
            entries.append(
                {
                    "image": f"{image.repository}:{tag}",
                    "binary": str(program),
                    "args": image.args,
                    "overrides": image.overrides,
                    "env": image.env,
                }
            )
    return entries


def _existing(path: Path) -> dict[str, dict[str, Any]]:
    try:
        entries = json.loads(path.read_text())["images"]
        return {entry["image"]: entry for entry in entries if Path(entry["binary"]).exists()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
