"""What a tenant costs its neighbours: seconds from another tenant's commit to ready, alone and beside a busy one."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from bench.report import Results
from bench.rig import Rig
from bench.tenant_client import TenantClient
from components.cluster.manifests import Manifest
from components.sync.names import KUSTOMIZE_API, SOURCE_API
from lab.errors import LabError
from lab.git_host import GitHost

QUIET, BUSY = "quiet", "busy"
"""The tenant that is measured, and the one that uses as much as its limits allow."""

NOBODY, INTERVALS, ALWAYS = "nobody", "busy at each interval", "busy all the time"
"""What the measured tenant shares the cluster with."""

OBJECTS = 300
"""ConfigMaps of each of the busy tenant's Kustomizations; they fit its quota since all apply the same ones."""

NOTES = (
    "Seconds from the end of a tenant's push, when Flux is notified, until its Kustomization is ready at that commit.",
    "The busy tenant has as many Kustomizations as its quota allows, with the shortest interval that the policies "
    f"allow, each with the same {OBJECTS} ConfigMaps, which they apply in turns. `busy all the time`: it also asks "
    "Flux to reconcile each of them every second.",
    "× is the median, and the longest, divided by the median beside nobody in the same run. All limits and policies "
    "are the defaults, with the engine `native`.",
)

_COLUMNS = {
    "beside": "", "commits": "d", "median s": ".2f", "longest s": ".2f", "median ×": ".1f", "longest ×": ".1f",
}  # fmt: skip
_ORGANIZATION = "bench"
_FOLDER = "staging"
_LOAD = "load"
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 900.0
_REQUEST_INTERVAL = 1.0
"""Seconds between two rounds in which the busy tenant requests reconciliations."""

Samples = Mapping[str, Sequence[float]]
"""Seconds from a push until it is applied, by neighbour, in the order in which they were taken."""


def measure_neighbours(rig: Rig, commits: int, say: Callable[[str], None]) -> Samples:
    """Seconds from a push until Flux reports it as applied.

    Args:
        commits: number of commits beside each neighbour.
        say: receives each sample as a line of text.

    Raises:
        LabError: a command failed, or a commit is not applied within 15 minutes.
    """
    git = rig.start_git_host()
    with tempfile.TemporaryDirectory() as folder:
        for tenant in (QUIET, BUSY):
            config = Path(folder, tenant, _FOLDER, "config.yaml")
            config.parent.mkdir(parents=True)
            config.write_text(yaml.safe_dump(_config_map(tenant, "0")))
            git.ensure_repository(_ORGANIZATION, tenant, Path(folder, tenant), private=False)
    rig.workload.set_sections(policies={"engine": "native", "sources": {"plainHttp": True}}, kyverno=None)
    rig.workload.set_tenants({tenant: git.url(_ORGANIZATION, tenant) for tenant in (QUIET, BUSY)})
    rig.apply_stack()
    rig.scale_flux(1)
    with (
        TenantClient(rig.kubeconfig, rig.token(QUIET)) as quiet,
        TenantClient(rig.kubeconfig, rig.token(BUSY)) as busy,
    ):

        def measure(beside: str) -> list[float]:
            samples = []
            for number in range(commits):
                samples.append(_push(git, quiet, QUIET, f"{beside} {number}"))
                say(f"beside {beside}: {samples[-1]:8.2f} s")
            return samples

        for tenant, client in ((QUIET, quiet), (BUSY, busy)):
            _push(git, client, tenant, "1")
        samples = {NOBODY: measure(NOBODY)}
        names = _add_load(git, busy)
        samples[INTERVALS] = measure(INTERVALS)
        with _requesting_reconciliations(busy, names):
            samples[ALWAYS] = measure(ALWAYS)
    return samples


def results(samples: Samples) -> Results:
    """Each neighbour compared with nobody."""
    alone = median(samples[NOBODY])
    values = (
        (beside, len(taken), median(taken), max(taken), median(taken) / alone, max(taken) / alone)
        for beside, taken in samples.items()
    )
    rows = [dict(zip(_COLUMNS, each, strict=True)) for each in values]
    raw = [{"beside": beside, "seconds": taken} for beside, taken in samples.items()]
    return Results("neighbours", "What a tenant costs another", _COLUMNS, rows, NOTES, raw)


def _add_load(git: GitHost, client: TenantClient) -> list[str]:
    """Give the busy tenant as many Kustomizations as its quota allows; returns their names."""
    quota = client.read(f"/api/v1/namespaces/{BUSY}/resourcequotas/{BUSY}-flux-objects")["status"]
    hard, used = (int(quota[part]["count/kustomizations.kustomize.toolkit.fluxcd.io"]) for part in ("hard", "used"))
    names = [f"load-{number:03}" for number in range(1, hard - used + 1)]
    files = {
        f"{_LOAD}/objects.yaml": [_config_map(f"load-{number:03}", "0") for number in range(OBJECTS)],
        f"{_FOLDER}/syncs.yaml": [_kustomization(name) for name in names],
    }
    texts = {path: yaml.safe_dump_all(manifests) for path, manifests in files.items()}
    git.commit_files(_ORGANIZATION, BUSY, texts, "Add the load")
    _request_reconciliation(client, _source(BUSY))
    # From the first round on they apply the same objects in turns.
    _wait_until(
        lambda: any(map(_is_applied, client.read(_kustomizations(BUSY))["items"])),
        "none of the busy tenant's Kustomizations is applied",
    )
    return names


@contextlib.contextmanager
def _requesting_reconciliations(client: TenantClient, names: Sequence[str]) -> Iterator[None]:
    """Let the busy tenant request the reconciliation of all its Kustomizations, again and again."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(_REQUEST_INTERVAL):
            for name in names:
                if stopped.is_set():
                    return
                # A busy API server may not answer; the next round tries again.
                with contextlib.suppress(LabError):
                    _request_reconciliation(client, f"{_kustomizations(BUSY)}/{name}")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _push(git: GitHost, client: TenantClient, tenant: str, value: str) -> float:
    """Push a small change and wait for it.

    Returns:
        Seconds from the end of the push, when Flux is notified, until it is applied.
    """
    files = {f"{_FOLDER}/config.yaml": yaml.safe_dump(_config_map(tenant, value))}
    commit = git.commit_files(_ORGANIZATION, tenant, files, "Change the value")
    begin = time.monotonic()
    _request_reconciliation(client, _source(tenant))
    _wait_until(
        lambda: _is_applied(client.read(f"{_kustomizations(tenant)}/{tenant}"), commit),
        f"the commit of {tenant} is not applied",
    )
    return time.monotonic() - begin


def _wait_until(condition: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"{complaint} after {_TIMEOUT_SECONDS:.0f} s", "see the status of the Kustomization")
        time.sleep(_POLL_SECONDS)


def _is_applied(sync: Manifest, commit: str = "") -> bool:
    """Whether a Kustomization is ready, and at the given commit if there is one."""
    status = sync.get("status", {})
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))
    return ready and str(status.get("lastAppliedRevision", "")).endswith(commit)


def _source(tenant: str) -> str:
    return f"/apis/{SOURCE_API}/namespaces/{tenant}/gitrepositories/{tenant}"


def _kustomizations(tenant: str) -> str:
    return f"/apis/{KUSTOMIZE_API}/namespaces/{tenant}/kustomizations"


def _request_reconciliation(client: TenantClient, path: str) -> None:
    requested = {"reconcile.fluxcd.io/requestedAt": str(time.time_ns())}
    client.timed("PATCH", path, {"metadata": {"annotations": requested}})


def _config_map(name: str, value: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}


def _kustomization(name: str) -> dict[str, Any]:
    """A Kustomization with the shortest interval that the policies allow by default."""
    spec = {
        "serviceAccountName": BUSY,
        "sourceRef": {"kind": "GitRepository", "name": BUSY},
        "path": f"./{_LOAD}",
        "interval": "30s",
        "prune": False,
        "targetNamespace": BUSY,
    }
    metadata = {"name": name, "namespace": BUSY}
    return {"apiVersion": KUSTOMIZE_API, "kind": "Kustomization", "metadata": metadata, "spec": spec}
