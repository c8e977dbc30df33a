"""What a tenant costs its neighbours: seconds from another tenant's commit to ready, alone and beside a busy one."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from statistics import median

import yaml

from bench.report import Results
from bench.rig import Rig
from bench.tenant_client import TenantClient
from flux_tenancy.components.cluster.client import path_of
from flux_tenancy.components.sync.status import status_of
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE
from lab.errors import LabError
from lab.git_host import GitHost
from tests.support.lab import eventually
from tests.support.policy_cases import git, kustomization, made, merged

QUIET, BUSY = "quiet", "busy"
"""The tenant that is measured, and the one that uses as much as its limits allow."""

NOBODY, INTERVALS, ALWAYS = "nobody", "busy at each interval", "busy all the time"
"""What the measured tenant shares the cluster with."""

SHARED, APART = "shared", "own lane"
"""Which controllers serve the busy tenant: those of all tenants, or those of a lane of its own."""
_LANE = "busy"

OBJECTS = 300
"""ConfigMaps of each of the busy tenant's Kustomizations; they fit its quota since all apply the same ones."""

NOTES = (
    "Seconds from the end of a tenant's push, when Flux is notified, until its Kustomization is ready at that commit.",
    "The busy tenant has as many Kustomizations as its quota allows, with the shortest interval that the policies "
    f"allow, each with the same {OBJECTS} ConfigMaps, which they apply in turns. `busy all the time`: it also asks "
    "Flux to reconcile each of them every second.",
    "`own lane`: the busy tenant has a lane (docs/lanes.md); `shared`: both have the platform's controllers.",
    "× is the median, and the longest, divided by the median beside nobody with the same controllers in the same run. "
    "All limits and policies are the defaults, with the engine `native`.",
)

_COLUMNS = {
    "controllers": "", "beside": "", "commits": "d",
    "median s": ".2f", "longest s": ".2f", "median ×": ".1f", "longest ×": ".1f",
}  # fmt: skip
_ORGANIZATION = "bench"
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 900.0
_REQUEST_INTERVAL = 1.0
"""Seconds between two rounds in which the busy tenant requests reconciliations."""

Samples = Mapping[tuple[str, str], Sequence[float]]
"""Seconds from a push until it is applied, by controllers and neighbour, in the order in which they were taken."""


def measure_neighbours(rig: Rig, commits: int, say: Callable[[str], None]) -> Samples:
    """Seconds from each of a number of pushes beside each neighbour until Flux reports it as applied.

    Raises LabError if a command fails, and AssertionError if a commit is not applied within 15 minutes.
    """
    rig.lab.start_git_host()
    folder = rig.project.folder / "repositories"
    urls = {name: rig.lab.repository(_ORGANIZATION, name, _files(name, "0"), folder) for name in (QUIET, BUSY)}
    rig.configure(urls, policies={"engine": "native", "sources": {"plainHttp": True}}, kyverno=None)
    rig.up()
    rig.scale_flux(1)
    with contextlib.ExitStack() as clients:
        quiet, busy = (
            _Tenant(name, rig.lab.git, clients.enter_context(TenantClient(rig.cluster.kubeconfig, rig.token(name))))
            for name in (QUIET, BUSY)
        )

        samples: dict[tuple[str, str], Sequence[float]] = {}

        def measure(controllers: str, beside: str) -> None:
            taken = samples[controllers, beside] = []
            for number in range(commits):
                taken.append(quiet.push(_files(QUIET, f"{controllers} {beside} {number}")))
                say(f"{controllers}, beside {beside}: {taken[-1]:8.2f} s")

        for controllers in (SHARED, APART):
            if controllers == APART:
                _separate(rig)
            for tenant in (quiet, busy):
                tenant.push(_files(tenant.name, controllers))
            measure(controllers, NOBODY)
            load = busy.add_load()
            measure(controllers, INTERVALS)
            with busy.requesting(load):
                measure(controllers, ALWAYS)
            busy.remove_load(load)
    return samples


def _separate(rig: Rig) -> None:
    """Give the busy tenant a lane of its own."""
    rig.sections["tenants"][BUSY]["lane"] = _LANE
    rig.configure(flux=rig.sections["flux"] | {"lanes": {DEFAULT_LANE: {}, _LANE: {}}, "setLanes": True})
    rig.up()
    rig.scale_flux(1)


def results(samples: Samples) -> Results:
    """Each neighbour compared with nobody, beside the same controllers."""
    rows = []
    for (controllers, beside), taken in samples.items():
        alone = median(samples[controllers, NOBODY])
        values = (controllers, beside, len(taken), median(taken), max(taken), median(taken) / alone, max(taken) / alone)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    raw = [{"controllers": key[0], "beside": key[1], "seconds": taken} for key, taken in samples.items()]
    return Results("neighbours", "What a tenant costs another", _COLUMNS, rows, NOTES, raw)


@dataclass(frozen=True)
class _Tenant:
    """What a tenant does in its repository and its namespace, both of which have its name."""

    name: str
    git: GitHost
    client: TenantClient

    def push(self, files: Mapping[str, str]) -> float:
        """Push a change and wait for it; returns seconds from the end of the push until it is applied."""
        commit = self.git.commit_files(_ORGANIZATION, self.name, files, "Change the objects")
        begin = time.monotonic()
        self._request_reconciliation(path_of(merged(git(namespace=self.name), {"metadata": {"name": self.name}})))
        self._wait_for(path_of(_kustomization(self.name, self.name)), commit)
        return time.monotonic() - begin

    def add_load(self) -> list[str]:
        """Use as many Kustomizations as the quota allows; returns the paths of the new ones."""
        quota = self.client.read(f"/api/v1/namespaces/{self.name}/resourcequotas/{self.name}-flux-objects")["status"]
        hard, used = (int(quota[part]["count/kustomizations.kustomize.toolkit.fluxcd.io"]) for part in ("hard", "used"))
        load = [_kustomization(self.name, f"load-{number:03}") for number in range(1, hard - used + 1)]
        objects = [made("ConfigMap", name=f"load-{number}", namespace=self.name) for number in range(OBJECTS)]
        files = {"load/objects.yaml": objects, "staging/syncs.yaml": load}
        self.push({path: yaml.safe_dump_all(manifests) for path, manifests in files.items()})
        # From the first round on they apply the same objects in turns.
        self._wait_for(path_of(load[0]))
        return list(map(path_of, load))

    def remove_load(self, paths: Sequence[str]) -> None:
        """Remove the Kustomizations from the repository, and wait until they are gone."""
        self.push({"staging/syncs.yaml": yaml.safe_dump(made("ConfigMap", name="syncs", namespace=self.name))})
        eventually(lambda: all(self.client.get(path).status_code == HTTPStatus.NOT_FOUND for path in paths))

    @contextlib.contextmanager
    def requesting(self, paths: Sequence[str]) -> Iterator[None]:
        """Request the reconciliation of objects again and again, during the block."""
        stopped = threading.Event()

        def run() -> None:
            while not stopped.wait(_REQUEST_INTERVAL):
                for path in paths:
                    # A busy API server may not answer; the next round tries again.
                    with contextlib.suppress(LabError):
                        self._request_reconciliation(path)

        with ThreadPoolExecutor(1) as pool:
            pool.submit(run)
            try:
                yield
            finally:
                stopped.set()

    def _request_reconciliation(self, path: str) -> None:
        requested = {"reconcile.fluxcd.io/requestedAt": str(time.time_ns())}
        self.client.timed("PATCH", path, {"metadata": {"annotations": requested}})

    def _wait_for(self, path: str, commit: str = "") -> None:
        eventually(lambda: is_applied(self.client.read(path), commit), _TIMEOUT_SECONDS, path, _POLL_SECONDS)


def is_applied(sync: Manifest, commit: str = "") -> bool:
    """Whether a Kustomization is ready, and at the given commit if there is one."""
    revision = str(sync.get("status", {}).get("lastAppliedRevision", ""))
    return status_of(sync).ready == "True" and revision.endswith(commit)


def _files(tenant: str, value: str) -> dict[str, str]:
    return {"staging/config.yaml": yaml.safe_dump(made("ConfigMap", namespace=tenant, data={"key": value}))}


def _kustomization(tenant: str, name: str) -> Manifest:
    """A Kustomization of the load, with the shortest interval that the policies allow by default."""
    source = {"kind": "GitRepository", "name": tenant}
    spec = {"serviceAccountName": tenant, "sourceRef": source, "path": "./load", "interval": "30s", "prune": False}
    return kustomization(name=name, namespace=tenant, targetNamespace=tenant, **spec)
