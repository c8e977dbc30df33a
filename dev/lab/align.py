"""Aligns the versions of the Go modules that several tools contain, so that their packages are compiled once.

Run ``python -m dev.lab.align`` after you have raised the version of a tool.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import typer
from semver import Version

from dev.lab.errors import LabError, reported
from dev.lab.go_command import Go, GoError, Pin
from dev.lab.settings import Settings
from dev.lab.tool_cache import ToolCache
from dev.lab.tools_table import ADMISSION, Tool, load_table, modules_folder

APART = {
    "flate": ("*",),
    "kubernetes-*": ("*",),
    "kubernetes": ("k8s.io/*", "sigs.k8s.io/*"),
    ADMISSION: (
        "k8s.io/*",
        "sigs.k8s.io/*",
        "github.com/felixge/httpsnoop",
        "github.com/grpc-ecosystem/grpc-gateway/*",
        "go.opentelemetry.io/contrib/*",
        "google.golang.org/genproto/googleapis/api",
    ),
    "oras": ("*",),
    "prometheus": ("go.opentelemetry.io/otel/exporters/*", "go.yaml.in/yaml/v4"),
    "pulumi": ("*",),
    "pulumi-kubernetes": ("github.com/google/gnostic-models", "github.com/pulumi/*", "k8s.io/*", "sigs.k8s.io/*"),
}
"""By module folder, the modules that stay as upstream's release pins them: the API servers are of other minor versions
than the controllers' clients, and Pulumi's Kubernetes plugin is made for older clients of both. ``offline-admission``
shares the compiled packages of kube-apiserver, whose go.mod need not list all of their modules. flate is compiled by a
newer Go and shares nothing, oras is small, and Pulumi's engine is newer than its plugins and needs newer modules than
any other tool. Prometheus requires newer versions of two modules that cost nothing to compile twice, and no other tool
is built again for them."""

SHARED = (
    "cloud.google.com/*",
    "github.com/Azure/azure-sdk-for-go/*",
    "github.com/ProtonMail/go-crypto",
    "github.com/aws/*",
    "github.com/cloudflare/circl",
    "github.com/cyphar/filepath-securejoin",
    "github.com/felixge/httpsnoop",
    "github.com/fxamacker/cbor/*",
    "github.com/go-git/*",
    "github.com/go-logr/*",
    "github.com/go-openapi/*",
    "github.com/google/gnostic-models",
    "github.com/google/go-containerregistry",
    "github.com/googleapis/*",
    "github.com/grpc-ecosystem/*",
    "github.com/json-iterator/go",
    "github.com/klauspost/compress",
    "github.com/mailru/easyjson",
    "github.com/opencontainers/go-digest",
    "github.com/prometheus/*",
    "github.com/pulumi/pulumi/*",
    "github.com/sigstore/*",
    "go.opentelemetry.io/*",
    "go.yaml.in/*",
    "golang.org/x/*",
    "google.golang.org/*",
    "k8s.io/*",
    "oras.land/*",
    "sigs.k8s.io/*",
)
"""Modules that many others depend on, or that are large. All others keep the version of each tool's upstream: not
everything works with a newer version, and they are small enough to be compiled twice."""

_ROUNDS = 5
"""A new version of one module may require new versions of others; the present modules need fewer rounds."""


def behind(pins: Mapping[str, Mapping[str, Pin]]) -> dict[str, dict[str, str]]:
    """The versions that have to be raised so that all folders have the same ones.

    Args:
        pins: the pins in each folder's go.mod, by folder and path.

    Returns:
        By folder and path, the highest version that any folder has. Modules with a replace directive
        are not raised, and forks are ignored.
    """
    found = {
        (folder, path): pin
        for folder, modules in pins.items()
        for path, pin in modules.items()
        if pin.path == path and _matches(path, SHARED) and not _stays(folder, path)
    }
    highest: dict[str, str] = {}
    for (_, path), pin in found.items():
        highest[path] = max(highest.get(path, pin.version), pin.version, key=_order)
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    for (folder, path), pin in found.items():
        if pin.version != highest[path] and not pin.replaced:
            wanted[folder][path] = highest[path]
    return dict(wanted)


def read_pins(go: Go, modules: Path) -> dict[str, Mapping[str, Pin]]:
    """The pins in each folder's go.mod, by folder."""
    folders = [ADMISSION, *sorted(file.parent.name for file in modules.glob("*/go.mod"))]
    return {folder: go.pins(modules / folder / "go.mod") for folder in folders}


def align(go: Go, modules: Path, tools: list[Tool]) -> None:
    """Rewrites each go.mod and go.sum with outdated versions.

    Raises:
        GoError: a version cannot be downloaded.
        LabError: versions still differ after several rounds.
    """
    for _ in range(_ROUNDS):
        wanted = behind(read_pins(go, modules))
        if not wanted:
            return
        for folder, versions in wanted.items():
            _raise(go, modules / folder, versions, [tool for tool in tools if tool.module == folder])
    raise LabError(f"versions still differ after {_ROUNDS} rounds", "run the same command again, or raise them by hand")


def _raise(go: Go, folder: Path, versions: Mapping[str, str], tools: list[Tool]) -> None:
    """Writes versions into a go.mod, and adds to it and its go.sum what the tools then need."""
    go.run(["mod", "edit", *(f"-require={path}@{version}" for path, version in versions.items())], folder)
    command = ["list", "-mod=mod", "-e", "-deps", *(tool.package for tool in tools if not tool.package_from)]
    sums = folder / "go.sum"
    before = sums.read_bytes()
    go.run(command, folder)
    # To raise a module, Go reads those of all versions in between, and adds them. For the new go.mod it needs few.
    sums.write_bytes(before)
    go.run(command, folder)


def _stays(folder: str, path: str) -> bool:
    return any(fnmatchcase(folder, pattern) and _matches(path, modules) for pattern, modules in APART.items())


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _order(version: str) -> Version:
    """A Go version to compare by; a pseudo-version is a pre-release, https://go.dev/ref/mod#pseudo-versions."""
    return Version.parse(version.removeprefix("v"))


def _main() -> None:
    """Align the versions of the modules that several tools contain."""
    with reported("some go.mod files may have changed; `git diff` shows them"):
        settings = Settings.load()
        cache = ToolCache(settings.cache)
        cache.prepare()
        go = Go(cache.go_cache, cache.work)
        try:
            align(go, modules_folder(settings.project), list(load_table(settings.project, go).values()))
        except GoError as error:
            raise LabError("\n".join(error.output[-3:]), "check which versions the modules require") from error


if __name__ == "__main__":
    typer.run(_main)
