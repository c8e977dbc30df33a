"""What a tenant costs its neighbours: seconds from a commit to ready, alone and beside a tenant that attacks."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
import yaml

from dev.bench.attacks import (
    ATTACKS,
    LARGE_BRANCH,
    LARGE_MIB,
    LOAD,
    PATTERNS_BRANCH,
    Attack,
    Site,
    attackers_files,
    chart_files,
    patterns_files,
)
from dev.bench.controllers import OomKills, kill_controllers
from dev.bench.report import Plots, Results
from dev.bench.rig import Rig
from dev.bench.tenant_client import TenantClient
from dev.lab.cluster import Cluster
from dev.lab.errors import LabError
from dev.lab.git import Git
from dev.lab.git_host import GitHost
from dev.lab.processes import LOOPBACK
from flux_tenancy.components.cluster.client import path_of
from flux_tenancy.components.sync.status import REQUESTED_AT, status_of
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE, FLUX_NAMESPACE
from tests.support.lab import eventually
from tests.support.policy_cases import git, kustomization, made, release

QUIET, BUSY, PLATFORM = "quiet", "busy", FLUX_NAMESPACE
"""The tenant that is measured, the one that attacks, and the platform's own sync."""

CHART = "chart"
"""The measured tenant's chart: a folder, a branch of its repository, and a source."""

NOBODY = "nobody"
"""What the measured ones share the cluster with before and after all attacks."""

SHARED, APART = "shared", "own lane"
"""Which controllers serve the attacker: those of all tenants, or those of a lane of its own."""
_LANE = "busy"

PATIENCE_SECONDS = 30.0
"""How long a commit is waited for under an attack."""

NOTES = (
    "Seconds from the end of a push, when Flux is asked to look, until what the commit changes is ready: a tenant's "
    "Kustomization and a HelmRelease that it applies, and the Kustomization of the platform's own sync, both at once.",
    f"{PATIENCE_SECONDS:.0f} s: not applied within that time, so the true figure is higher.",
    "The attacker has as many objects as its quota allows, with the shortest interval that the policies allow. "
    f"`busy`: Kustomizations that apply the same {LOAD} ConfigMaps in turns; `all the time`: it also asks Flux to "
    "reconcile each of them every second.",
    "`own lane`: the attacker has a lane (docs/sizing.md#lanes); `shared`: all have the platform's controllers.",
    "`killed`: controllers that the kernel killed because they exceeded their memory limit. The node agent starts them "
    "again after 1 s, 2 s and so on to 30 s, where a kubelet waits for 10 s to 5 min.",
    "`dry runs of the largest pod`, `chains of includes`: over 10 and 3 connections, without a pause; what is refused "
    "is asked for again. `ends all the time`: killed every second, and started again by the node agent.",
    "× is the median divided by the median beside nobody with the same controllers in the same run. All limits and "
    "policies are the defaults, with the engine `native`, except that sources may be anywhere and charts in Git.",
)

_COLUMNS = {
    "controllers": "", "beside": "", "commits": "d",
    "tenant s": ".2f", "longest s": ".2f", "tenant ×": ".1f", "platform s": ".2f", "platform ×": ".1f", "killed": "d",
}  # fmt: skip
_ORGANIZATION = "bench"
_POLL_SECONDS = 0.05
_RECOVERY_SECONDS = 900.0
_REQUEST_INTERVAL = 1.0
"""Seconds between two rounds in which the attacker requests reconciliations, or a controller ends."""
_HEAD_START_SECONDS = 20.0
"""From the start of an attack until the first commit that is measured."""


@dataclass
class Measured:
    """What was measured beside one neighbour.

    Attributes:
        tenant: seconds from each push of the tenant until it is ready.
        platform: the same for the platform's sync.
        killed: the controllers that exceeded their memory limit.
        answered: how many of the neighbour's dry runs got which answer.
    """

    tenant: list[float] = field(default_factory=list)
    platform: list[float] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)


Samples = Mapping[tuple[str, str], Measured]
"""What was measured, by controllers and neighbour, in the order in which it was taken."""


def measure_neighbours(rig: Rig, commits: int, say: Callable[[str], None], attacks: Sequence[str] = ("",)) -> Samples:
    """Seconds from each of a number of pushes beside each attack until Flux reports it as applied.

    Measures the attacks whose names begin with one of `attacks`.

    Raises LabError if a command fails, and AssertionError if a commit is not applied within 15 minutes of an attack.
    """
    urls = _set_up(rig)
    samples: dict[tuple[str, str], Measured] = {}
    with contextlib.ExitStack() as stack:
        tokens = {QUIET: rig.token(QUIET), BUSY: rig.token(BUSY), PLATFORM: rig.admin_token()}
        quiet, busy, platforms = (
            _Repository(name, rig.lab.git, stack.enter_context(TenantClient(rig.cluster.kubeconfig, token)))
            for name, token in tokens.items()
        )
        watching = stack.enter_context(TenantClient(rig.cluster.kubeconfig, tokens[PLATFORM]))
        kills = OomKills(watching)
        site = Site(BUSY, urls[BUSY], stack.enter_context(_silent_host()))

        def push(text: str, patience: float = PATIENCE_SECONDS) -> tuple[float, float]:
            with ThreadPoolExecutor() as pool:
                tenants = pool.submit(quiet.push, _tenants_files(urls[QUIET], text), text, patience)
                platform = pool.submit(platforms.push, _platforms_files(text), "", patience)
                return tenants.result(), platform.result()

        def measure(controllers: str, beside: str) -> None:
            taken = samples.setdefault((controllers, beside), Measured())
            for number in range(commits):
                seconds = push(f"{controllers} {beside} {number}")
                taken.tenant.append(seconds[0])
                taken.platform.append(seconds[1])
                say(f"{controllers}, beside {beside}: {seconds[0]:6.2f} s, {seconds[1]:6.2f} s")
            taken.killed += kills.take()

        def settle(text: str) -> None:
            assert max(push(text, _RECOVERY_SECONDS)) < _RECOVERY_SECONDS, text
            kills.take()

        for controllers in (SHARED, APART):
            if controllers == APART:
                _separate(rig)
            settle(controllers)
            measure(controllers, NOBODY)
            for attack in (each for each in ATTACKS if each.name.startswith(tuple(attacks))):
                ended = f"{attack.ends}-{_LANE}" if controllers == APART else attack.ends
                with (
                    busy.attacking(attack, site, partial(kill_controllers, watching)),
                    busy.asking(attack.asked(site)) as answered,
                    _repeating(partial(kill_controllers, watching, ended) if ended else None),
                ):
                    time.sleep(_HEAD_START_SECONDS)
                    measure(controllers, attack.name)
                samples[controllers, attack.name].answered.update(answered)
                for answer, count in answered.items():
                    say(f"{count} dry runs: {answer}")
                settle(f"{controllers} after {attack.name}")
            # The machine may have other work than before the attacks.
            measure(controllers, NOBODY)
    return samples


def require_limits(rig: Rig) -> None:
    """Raises LabError if the cluster's node does not enforce memory limits, so that no attack on memory ends."""
    if warning := Cluster(rig.lab.settings, rig.cluster.name).warning:
        raise LabError(
            f"the contest `neighbours` counts controllers that exceed their memory limit. {warning}",
            "run it as root, where cgroups can be written",
        )


def _set_up(rig: Rig) -> Mapping[str, str]:
    """Fill the repositories and start Flux; returns the URLs of the tenants' repositories."""
    rig.lab.start_git_host()
    folder = rig.project.folder / "repositories"
    contents = {QUIET: _platforms_files(QUIET), BUSY: _platforms_files(BUSY) | attackers_files(BUSY)}
    contents[PLATFORM] = _platforms_files("0")
    urls = {name: rig.lab.repository(_ORGANIZATION, name, files, folder) for name, files in contents.items()}
    chart = yaml.safe_dump(made("ConfigMap", name="release", namespace=QUIET, data={"text": "{{ .Values.text }}"}))
    _push_branch(rig.lab.git, QUIET, CHART, chart_files(CHART, chart))
    _push_branch(rig.lab.git, BUSY, PATTERNS_BRANCH, patterns_files())
    _push_branch(rig.lab.git, BUSY, LARGE_BRANCH, {}, LARGE_MIB)
    platform = urls.pop(PLATFORM)
    rig.configure(urls)
    # kustomize-controller looks for the release's health every 5 s, and this contest does so itself.
    rig.sections["tenants"][QUIET]["sync"]["wait"] = False
    rig.configure(
        policies={"engine": "native", "sources": {"allowed": ["*"], "plainHttp": True}},
        tenancy=rig.sections["tenancy"] | {"kinds": ["HelmChart"]},
        flux=rig.sections["flux"] | {"sync": {"source": {"url": platform}, "path": "./staging"}},
        kyverno=None,
    )
    rig.up()
    rig.scale_flux(1)
    return urls


def _separate(rig: Rig) -> None:
    """Give the attacker a lane of its own."""
    rig.sections["tenants"][BUSY]["lane"] = _LANE
    rig.configure(flux=rig.sections["flux"] | {"lanes": {DEFAULT_LANE: {}, _LANE: {}}, "setLanes": True})
    rig.up()
    rig.scale_flux(1)


def results(samples: Samples) -> Results:
    """Each neighbour compared with nobody, beside the same controllers."""
    rows = []
    for (controllers, beside), taken in samples.items():
        alone = samples[controllers, NOBODY]
        tenant, platform = median(taken.tenant), median(taken.platform)
        values = (
            controllers, beside, len(taken.tenant),
            tenant, max(taken.tenant), tenant / median(alone.tenant),
            platform, platform / median(alone.platform), len(taken.killed),
        )  # fmt: skip
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    raw = [{"controllers": key[0], "beside": key[1], **vars(taken)} for key, taken in samples.items()]
    return Results(
        "neighbours",
        "What a tenant costs another",
        _COLUMNS,
        rows,
        NOTES,
        raw,
        Plots("controllers", "beside", "tenant ×"),
    )


@dataclass(frozen=True)
class _Repository:
    """A repository, and the namespace, source and Kustomization that it is applied by, which have its name."""

    name: str
    git: GitHost
    client: TenantClient

    def push(self, files: Mapping[str, str], text: str = "", patience: float = PATIENCE_SECONDS) -> float:
        """Push a change and wait for it; returns seconds from the end of the push until it is ready.

        Args:
            files: what changes.
            text: what the HelmRelease in the repository then has in its values; empty if there is none.
            patience: after how many seconds not to wait any longer, and to return them.
        """
        commit = self.git.commit_files(_ORGANIZATION, self.name, files, "Change the objects")
        begin = time.monotonic()
        self._request_reconciliation(path_of(merge_patch(git(namespace=self.name), {"metadata": {"name": self.name}})))
        sync = path_of(kustomization(name=self.name, namespace=self.name))
        chart = path_of(_release(self.name, text))
        while (elapsed := time.monotonic() - begin) < patience:
            # A busy API server may not answer, and the first release is not there yet; the next round asks again.
            with contextlib.suppress(LabError, httpx.HTTPStatusError):
                if is_applied(self.client.read(sync), commit) and (not text or has_text(self.client.read(chart), text)):
                    return elapsed
            time.sleep(_POLL_SECONDS)
        return patience

    @contextlib.contextmanager
    def attacking(self, attack: Attack, site: Site, stop_controllers: Callable[[], None]) -> Iterator[None]:
        """Create the objects of an attack, and remove them after the block."""
        manifests = attack.objects(site)
        paths = list(map(path_of, manifests))
        try:
            for path, manifest in zip(paths, manifests, strict=True):
                self.client.timed("POST", path.rpartition("/")[0], manifest)
            with _repeating(partial(self._request_each, paths) if attack.insists else None):
                yield
        finally:
            # In this order: without its Secrets, a release can be uninstalled.
            for path in paths:
                self.client.ask("DELETE", path)
            if attack.lasts:
                stop_controllers()
            eventually(lambda: all(map(self._is_gone, paths)), _RECOVERY_SECONDS, attack.name)

    def _is_gone(self, path: str) -> bool:
        return self.client.get(path).status_code == HTTPStatus.NOT_FOUND

    @contextlib.contextmanager
    def asking(self, manifests: Sequence[Manifest]) -> Iterator[Counter[str]]:
        """Send dry runs of objects during the block, each again and again; counts the answers."""
        answered: Counter[str] = Counter()

        def ask(manifest: Manifest) -> None:
            path = f"{path_of(manifest).rpartition('/')[0]}?dryRun=All"
            try:
                answer = self.client.ask("POST", path, manifest)
                answered[f"{answer.status} {answer.message}".strip()] += 1
            except LabError:
                answered["none"] += 1

        with contextlib.ExitStack() as stack:
            for each in manifests:
                stack.enter_context(_repeating(partial(ask, each), 0))
            yield answered

    def _request_each(self, paths: Sequence[str]) -> None:
        for path in paths:
            # A busy API server may not answer; the next round tries again.
            with contextlib.suppress(LabError):
                self._request_reconciliation(path)

    def _request_reconciliation(self, path: str) -> None:
        requested = {REQUESTED_AT: str(time.time_ns())}
        self.client.timed("PATCH", path, {"metadata": {"annotations": requested}})


@contextlib.contextmanager
def _repeating(run: Callable[[], None] | None, interval: float = _REQUEST_INTERVAL) -> Iterator[None]:
    """Do something again and again during the block, in a thread of its own."""
    stopped = threading.Event()

    def repeat() -> None:
        while run is not None and not stopped.wait(interval):
            run()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(repeat)
        try:
            yield
        finally:
            stopped.set()


def is_applied(sync: Manifest, commit: str = "") -> bool:
    """Whether a Kustomization is ready, and at the given commit if there is one."""
    revision = str(sync.get("status", {}).get("lastAppliedRevision", ""))
    return status_of(sync).ready == "True" and revision.endswith(commit)


def has_text(chart: Manifest, text: str) -> bool:
    """Whether a HelmRelease is ready with a text in its values."""
    return status_of(chart).ready == "True" and chart["spec"]["values"] == {"text": text}


def _platforms_files(text: str) -> dict[str, str]:
    return {"staging/config.yaml": yaml.safe_dump(made("ConfigMap", namespace="default", data={"text": text}))}


def _tenants_files(url: str, text: str) -> dict[str, str]:
    """A ConfigMap, and a release of a chart whose source the commits do not change.

    Else helm-controller may find that the chart is not ready, and look again after 5 s.
    """
    source = merge_patch(git(url, namespace=QUIET, ref={"branch": CHART}), {"metadata": {"name": CHART}})
    manifests = [made("ConfigMap", namespace=QUIET, data={"text": text}), source, _release(QUIET, text)]
    return {"staging/config.yaml": yaml.safe_dump_all(manifests)}


def _release(tenant: str, text: str) -> Manifest:
    """A release of the tenant's chart."""
    chart = {"chart": f"./{CHART}", "sourceRef": {"kind": "GitRepository", "name": CHART}}
    return release(namespace=tenant, template=chart, serviceAccountName=tenant, values={"text": text})


def _push_branch(host: GitHost, repository: str, branch: str, files: Mapping[str, str], zeros_mib: int = 0) -> None:
    """Add a branch with these files and one with zeros."""
    administrator = host.gitea.credentials()
    git = Git(administrator.username, administrator.password)
    with TemporaryDirectory() as temporary:
        clone = host.clone(_ORGANIZATION, repository, Path(temporary, repository))
        git.run(clone, "checkout", "--quiet", "-b", branch)
        for name, content in files.items():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_text(content)
        with (clone / "zeros.yaml").open("wb") as file:
            file.truncate(zeros_mib * 2**20)
        git.run(clone, "add", "--all")
        git.run(clone, "commit", "--quiet", "--message=Add files")
        host.push(clone)


@contextlib.contextmanager
def _silent_host() -> Iterator[str]:
    """The URL of a host that accepts connections and never answers."""
    # The kernel accepts connections for a program that never asks for them.
    with socket.create_server((LOOPBACK, 0), backlog=128) as server:
        yield f"http://{LOOPBACK}:{server.getsockname()[1]}"
