"""What a tenant costs its neighbours: another tenant's commit-to-ready, alone and beside the busiest that may be."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from bench.rig import Rig
from bench.tenant_client import TenantClient
from components.cluster.manifests import Manifest
from components.sync.names import KUSTOMIZE_API, SOURCE_API
from lab.errors import LabError
from lab.git_host import GitHost

QUIET, BUSY = "quiet", "busy"
"""The tenants: one that is measured, and one that takes what it can get."""

OBJECTS = 300
"""ConfigMaps of each of the busy tenant's Kustomizations, which fit its quota as long as they are the same ones."""

_ORGANISATION = "bench"
_FOLDER = "staging"
_LOAD = "load"
_POLL_SECONDS = 0.05
_READY_SECONDS = 900.0
# How often the busy tenant asks Flux to begin anew, as everybody may who may change a Kustomization.
_ASK_SECONDS = 1.0
_KUSTOMIZATIONS = f"/apis/{KUSTOMIZE_API}/namespaces/{{}}/kustomizations"
_ASKED = "reconcile.fluxcd.io/requestedAt"


class Beside(StrEnum):
    """Whom the measured tenant shares the cluster with."""

    NOBODY = "nobody"
    INTERVALS = "busy at each interval"
    ALWAYS = "busy all the time"


Samples = Mapping[Beside, list[float]]
"""Seconds from a push to its being applied, in the order in which they were taken."""

Told = Callable[[Beside, float], None]
"""Told of each commit, with its seconds."""


def measure_neighbours(rig: Rig, commits: int, told: Told) -> Samples:
    """Seconds from a push until Flux says that what was pushed is applied.

    Args:
        rig: the cluster.
        commits: how many in each neighbourhood.
        told: is told of each.

    Raises:
        LabError: a command failed, or a commit is not applied within a quarter of an hour.
    """
    git = rig.start_git_host()
    with tempfile.TemporaryDirectory() as folder:
        for tenant in (QUIET, BUSY):
            files = {"config.yaml": yaml.safe_dump(_config_map(tenant, "0"))}
            git.ensure_repository(_ORGANISATION, tenant, _repository(Path(folder, tenant), files), private=False)
    rig.workload.set_policies({"engine": "native", "sources": {"plainHttp": True}}, None)
    rig.workload.set_sources({tenant: git.url(_ORGANISATION, tenant) for tenant in (QUIET, BUSY)})
    rig.apply_stack()
    rig.start_flux()
    samples: dict[Beside, list[float]] = {}
    with (
        TenantClient(rig.kubeconfig, rig.token(QUIET)) as quiet,
        TenantClient(rig.kubeconfig, rig.token(BUSY)) as busy,
    ):
        for tenant, client in ((QUIET, quiet), (BUSY, busy)):
            _apply(git, client, tenant, "1")

        def measure(beside: Beside) -> None:
            samples[beside] = []
            for number in range(commits):
                samples[beside].append(_apply(git, quiet, QUIET, f"{beside} {number}"))
                told(beside, samples[beside][-1])

        measure(Beside.NOBODY)
        names = _load(git, busy, _room(busy))
        measure(Beside.INTERVALS)
        with _Asking(busy, names):
            measure(Beside.ALWAYS)
    return samples


def _room(client: TenantClient) -> int:
    """How many Kustomizations the busy tenant's quota still lets it have."""
    quota = client.read(f"/api/v1/namespaces/{BUSY}/resourcequotas/{BUSY}-flux-objects")["status"]
    name = "count/kustomizations.kustomize.toolkit.fluxcd.io"
    return int(quota["hard"][name]) - int(quota["used"][name])


def _load(git: GitHost, client: TenantClient, count: int) -> list[str]:
    """As many Kustomizations as may be, each with as many objects as may be; returns their names."""
    names = [f"load-{number:03}" for number in range(1, count + 1)]
    objects = yaml.safe_dump_all([_config_map(f"load-{number:03}", "0") for number in range(OBJECTS)])
    syncs = yaml.safe_dump_all([_kustomization(name) for name in names])
    files = {f"{_LOAD}/objects.yaml": objects, f"{_FOLDER}/syncs.yaml": syncs}
    git.commit_files(_ORGANISATION, BUSY, files, "Add the load")
    _ask(client, _source(BUSY))
    # From the first round on they take turns with the same objects.
    deadline = time.monotonic() + _READY_SECONDS
    while not any(map(_applied, client.read(_KUSTOMIZATIONS.format(BUSY))["items"])):
        if time.monotonic() > deadline:
            raise LabError("none of the busy tenant's Kustomizations is applied", "look at their status")
        time.sleep(_POLL_SECONDS)
    return names


class _Asking:
    """The busy tenant asks Flux to reconcile all that it has, again and again."""

    def __init__(self, client: TenantClient, names: list[str]) -> None:
        self._client, self._names = client, names
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_ASK_SECONDS):
            for name in self._names:
                if self._stop.is_set():
                    return
                # An API server that has too much to do may not answer; the next round asks again.
                with contextlib.suppress(LabError):
                    _ask(self._client, f"{_KUSTOMIZATIONS.format(BUSY)}/{name}")


def _apply(git: GitHost, client: TenantClient, tenant: str, value: str) -> float:
    """Push a small change and wait for it.

    Returns:
        Seconds from the end of the push, when Flux is told of it, until it is applied.
    """
    files = {f"{_FOLDER}/config.yaml": yaml.safe_dump(_config_map(tenant, value))}
    commit = git.commit_files(_ORGANISATION, tenant, files, "Change it")
    begin = time.monotonic()
    _ask(client, _source(tenant))
    while not _applied(client.read(f"{_KUSTOMIZATIONS.format(tenant)}/{tenant}"), commit):
        if time.monotonic() - begin > _READY_SECONDS:
            raise LabError(f"the commit of {tenant} is not applied", "look at the status of its Kustomization")
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - begin


def _applied(sync: Manifest, commit: str = "") -> bool:
    """Whether a Kustomization is ready, with a certain commit where one is named."""
    status = sync.get("status", {})
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))
    return ready and str(status.get("lastAppliedRevision", "")).endswith(commit)


def _source(tenant: str) -> str:
    return f"/apis/{SOURCE_API}/namespaces/{tenant}/gitrepositories/{tenant}"


def _ask(client: TenantClient, path: str) -> None:
    asked: Manifest = {"metadata": {"annotations": {_ASKED: str(time.time_ns())}}}
    try:
        client.timed("PATCH", path, asked)
    except LabError:
        # A connection on which nothing was asked for a while may have been closed; the next one is new.
        client.timed("PATCH", path, asked)


def _repository(folder: Path, files: Mapping[str, str]) -> Path:
    (folder / _FOLDER).mkdir(parents=True)
    for name, text in files.items():
        (folder / _FOLDER / name).write_text(text)
    return folder


def _config_map(name: str, value: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}


def _kustomization(name: str) -> Manifest:
    """As often as the policies allow by default."""
    spec: dict[str, Any] = {
        "serviceAccountName": BUSY,
        "sourceRef": {"kind": "GitRepository", "name": BUSY},
        "path": f"./{_LOAD}",
        "interval": "30s",
        "prune": False,
        "targetNamespace": BUSY,
    }
    return {
        "apiVersion": KUSTOMIZE_API,
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": BUSY},
        "spec": spec,
    }
