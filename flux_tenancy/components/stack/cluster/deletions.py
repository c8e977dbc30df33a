"""Updates that would delete what must stay, or that build on what is gone.

A tenant leaves in two steps: `state: leaving` removes its access, and then its entry goes. Files that simply lack a
tenant are older ones, or a mistake.

Protected resources take along what is in them: namespaces all objects of a tenant, definitions all objects of a kind.
The engine refuses to delete them, but an update without a preview finds that out last, when it has already deleted what
depends on them: a tenant's sync, with everything that Flux applied. So the program refuses such an update before
anything is applied. What is protected is recorded with the cluster, since a program cannot read it from the state of a
resource. Source: DeleteStep.Apply in pkg/resource/deploy/step.go of Pulumi

The engine records a deletion after the object is gone. If it is killed before that, the next update assumes that the
object still exists and builds on it. `pulumi up --refresh` reads the cluster first. Usually only namespaces and syncs
are checked, which the preflight reads anyway: syncs are deleted first and created last.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterFacts, collection_of
from flux_tenancy.components.cluster.component import (
    ProtectedResource,
    applied_before,
    known_cluster_uid,
    names_cluster,
    program_before,
    protected_before,
)
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.engine.code import git
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import RELEASE_TYPE, parse_version
from flux_tenancy.components.stack.cluster.conflicts import NAMESPACE_TYPE, OF_PLATFORM
from flux_tenancy.components.stack.config import StackConfig, is_production
from flux_tenancy.components.stack.files.project import (
    tenant_file_name,
)
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.sync.status import name_of_object
from flux_tenancy.components.tenant.component import TENANT_COMPONENT
from flux_tenancy.components.vocabulary.manifests import Manifest, is_terminating, name_of, resource_type
from flux_tenancy.components.vocabulary.names import HELM_API, HELM_RELEASE, KUSTOMIZATION, KUSTOMIZE_API, TENANT_LABEL
from flux_tenancy.version import VERSION


def version_problems(state: State, stack_file: str, version: str = VERSION) -> list[Problem]:
    """The error that a program of a newer minor version has applied the stack; patch versions go both ways.

    A version that cannot be read is newer than all others.
    """
    applied = program_before(state)
    if applied is None or () < parse_version(applied)[:2] <= parse_version(version)[:2]:
        return []
    return [
        Problem(
            stack_file,
            "",
            Message(
                "FT-CFG-850",
                f"the stack was applied by flux-tenancy {printable(applied)}, and this is the older {version}, which "
                "could delete objects that it does not know",
                "set the newer version in `requirements.txt` and run `pulumi install`",
            ),
        )
    ]


OLDER = "FLUX_TENANCY_OLDER"
"""Set, it applies files that do not descend from the applied ones."""
# What a tenant has until it is leaving.
_OF_ACTIVE = frozenset({"ServiceAccount", "RoleBinding", KUSTOMIZATION, HELM_RELEASE})
_SHOWN = 10
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_HISTORY = 1000
"""Commits in which a squashed one is looked for."""
ABSENT_TENANT = Wording(
    "FT-TEN-112",
    "is missing, but the last update had this tenant, so its namespaces would be deleted with all objects",
    "to offboard it, restore the entry with `state: leaving` and run `pulumi up` before you remove it "
    "(docs/tenants.md); if the files are older than that update, use the newer ones",
)
_OLDER_FILES = Wording(
    "FT-CFG-856",
    "was last applied from {before}, which {now} does not contain, so this update could take back what came since",
    "use the newer files (`git pull`); to apply these all the same, run `flux-tenancy up --older`, or set "
    f"{OLDER}=true for `pulumi`",
)
_NOT_COMPARED = Wording(
    "FT-CFG-857",
    "whether these files are newer than the applied ones is unknown: {reason}",
    "compare them yourself, or fetch the whole history with `git fetch --unshallow`",
)


def absent_tenants(config: StackConfig, state: State, stack_file: str) -> Iterator[Problem]:
    """A problem for each tenant that the last update had, that was not leaving, and that the stack no longer lists."""
    absent = state.names(TENANT_COMPONENT) - config.tenants.keys()
    if not absent:
        return
    had = (
        (kind.rpartition(":")[2], name, (outputs.get("metadata") or {}).get("labels") or {})
        for (kind, name), outputs in state.resources.items()
    )
    for tenant in deleted_tenants(had, config.tenant_of_namespaces):
        if tenant in absent:
            yield Problem(stack_file, f"tenants.{tenant}", ABSENT_TENANT())


def deleted_tenants(had: Iterable[tuple[str, str, Mapping[str, str]]], namespaces: Container[str]) -> list[str]:
    """The tenants that were not leaving, and of which a namespace would be deleted.

    Args:
        had: kind, name and labels of all objects before.
        namespaces: those of tenants now; a tenant that was given another name keeps its own.
    """
    active, deleted = set[str](), set[str]()
    for kind, name, labels in had:
        if kind in _OF_ACTIVE:
            active.add(labels.get(TENANT_LABEL, ""))
        elif kind == "Namespace" and name not in namespaces:
            deleted.add(labels.get(TENANT_LABEL, ""))
    return sorted(active & deleted - {""})


@dataclass(frozen=True)
class Applied:
    """The files from which a stack was applied.

    Attributes:
        configuration: `sha256:…` of the stack's file, the tenants' files and `Pulumi.yaml`.
        time: when they were first applied, in UTC.
        commit: the commit that was checked out; empty without Git.
        date: when that commit was made.
        tree: what that commit has in the project's folder, as Git names it; a squashed commit has the same.
        modified: whether files of the project differed from it.
    """

    configuration: str
    time: str
    commit: str = ""
    date: str = ""
    tree: str = ""
    modified: bool = False

    @property
    def outputs(self) -> dict[str, Any]:
        """As the state has them."""
        return {key: value for key, value in asdict(self).items() if value}

    def __str__(self) -> str:
        return f"commit {printable(self.commit)[:_SHOWN]} of {printable(self.date)[:_SHOWN]}"


def applied_files(config: StackConfig, project: Path, stack_file: Path, state: State) -> tuple[Applied, Applied | None]:
    """The files of this update, and those of the last one; the time stays as long as the files do."""
    digest = hashlib.sha256()
    for file in (project / PROJECT_FILE, stack_file, *(project / tenant_file_name(name) for name in config.tenants)):
        digest.update(file.read_bytes() if file.is_file() else b"")
        digest.update(b"\0")
    now = Applied(f"sha256:{digest.hexdigest()}", datetime.now(UTC).isoformat(timespec="seconds"))
    commit, _, date = _git(project, "log", "-1", "--no-show-signature", "--format=%H %cI").partition(" ")
    if _COMMIT.fullmatch(commit):
        changed = _git(project, "status", "--porcelain", "--untracked-files=no", "--", ".")
        tree = _git(project, "rev-parse", "HEAD:./")
        now = replace(now, commit=commit, date=date, tree=tree, modified=bool(changed))
    before = _parsed(applied_before(state))
    if before is not None and replace(now, time=before.time) == before:
        now = before
    return now, before


def _parsed(recorded: Mapping[str, Any] | None) -> Applied | None:
    if recorded is None:
        return None
    known = {name: recorded[name] for name in Applied.__dataclass_fields__ if name in recorded}
    return Applied(**{"configuration": "", "time": ""} | known)


def older_files(
    now: Applied, before: Applied | None, project: Path, stack_file: str, environ: Mapping[str, str] = os.environ
) -> tuple[list[Problem], list[Message]]:
    """That the files do not descend from those of the last update, as a problem or, in a preview, as a warning."""
    if before is None or now == before:
        return [], []
    is_same = now.configuration == before.configuration
    if not _COMMIT.fullmatch(before.commit) or not now.commit:
        reason = "the applied ones, or these, are not in a Git repository"
        return [], [] if is_same or not (before.commit or now.commit) else [_NOT_COMPARED(reason=reason)]
    contains = now.commit == before.commit or _contains(project, now, before)
    if contains is None:
        return [], [] if is_same else [_NOT_COMPARED(reason=f"this clone lacks {before}, which was applied")]
    if contains:
        lost = before.modified and not is_same
        return [], [_NOT_COMPARED(reason=f"{before} was applied with changes that were not committed")] if lost else []
    older = _OLDER_FILES(before=before, now=now)
    if pulumi.runtime.is_dry_run() or environ.get(OLDER, "").lower() not in ("", "0", "false"):
        return [], [older]
    return [Problem(stack_file, "", older)], []


def _contains(project: Path, now: Applied, before: Applied) -> bool | None:
    """Whether the files contain those of the last update; None if that cannot be told."""
    if not git(project, "merge-base", "--is-ancestor", before.commit, now.commit).returncode:
        return True
    if before.tree and before.tree in _trees(project, now.commit):
        return True
    if not git(project, "cat-file", "-e", f"{before.commit}^{{commit}}").returncode:
        return False
    try:
        is_earlier = datetime.fromisoformat(now.date) < datetime.fromisoformat(before.date)
    except (ValueError, TypeError):
        is_earlier = False
    return None if _git(project, "rev-parse", "--is-shallow-repository") == "true" and not is_earlier else False


def _trees(project: Path, commit: str) -> set[str]:
    """What the last commits have in the project's folder: a squashed or rebased change is another commit there."""
    folder = _git(project, "rev-parse", "--show-prefix")
    commits = _git(project, "rev-list", f"--max-count={_HISTORY}", commit).split()
    asked = "".join(f"{each}:{folder}\n" for each in commits)
    return set(_git(project, "cat-file", "--batch-check=%(objectname)", stdin=asked).split())


def _git(project: Path, *arguments: str, stdin: str | None = None) -> str:
    """What Git prints; empty where it fails, or is missing."""
    try:
        done = git(project, *arguments, stdin=os.fsencode(stdin) if stdin is not None else None)
    except FileNotFoundError:
        return ""
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else ""


_DELETE_ON_PURPOSE = (
    "run `pulumi up --ignore-protect`, or set cluster.protect to false and run `pulumi up` before (docs/running.md)"
)

# With each kind that is protected, what a deletion takes along.
TAKEN_ALONG = {
    "Namespace": "everything in it",
    "CustomResourceDefinition": "every object of its kind",
    # The chart contains Kyverno's definitions.
    "Release": "Kyverno's definitions and every policy",
}
_KYVERNO = frozenset(
    {ProtectedResource(RELEASE_TYPE, KYVERNO.name), ProtectedResource(NAMESPACE_TYPE, KYVERNO.namespace)}
)


def is_protected(config: StackConfig, stack: str) -> bool:
    """Whether a stack is protected: as `cluster.protect` says, or by default if it is a production environment."""
    return config.cluster.protect if config.cluster.protect is not None else is_production(stack, config)


def protectable_resources(config: StackConfig, release: Iterable[Manifest]) -> frozenset[ProtectedResource]:
    """The resources of a stack that take others along when they are deleted."""
    of_releases = {
        ProtectedResource(resource_type(manifest), manifest["metadata"]["name"])
        for manifest in release
        if manifest["kind"] in TAKEN_ALONG
    }
    of_tenants = {ProtectedResource(NAMESPACE_TYPE, name) for name in config.tenant_of_namespaces}
    return frozenset(of_releases | of_tenants | (_KYVERNO if config.kyverno is not None else set()))


def protected_resources(
    config: StackConfig, release: Iterable[Manifest], stack: str, cluster: ClusterFacts, state: State
) -> frozenset[ProtectedResource]:
    """The resources that this update protects: all that are protectable, except for namespaces of leaving tenants.

    If the cluster was replaced, which `cluster.uid` has to say, the next update protects them: the engine replaces a
    resource only if its protection ends in the same update.
    """
    if not is_protected(config, stack) or known_cluster_uid(state) not in (None, cluster.uid):
        return frozenset()
    leaving = [name for tenant in config.tenants.values() if tenant.is_leaving for name in tenant.namespace_names]
    return protectable_resources(config, release) - {ProtectedResource(NAMESPACE_TYPE, name) for name in leaving}


def deletion_problems(
    config: StackConfig, release: Iterable[Manifest], cluster: ClusterFacts, state: State, stack_file: str
) -> Iterator[Problem]:
    """A problem for each protected resource that an update would delete."""
    if not names_cluster(state, cluster.uid):
        return
    known = protected_before(state) & state.resources.keys()
    for resource in sorted(known - protectable_resources(config, release)):
        if tenant := _tenant_of(resource, state):
            if tenant in config.tenants:  # Others are absent (`absent_tenants`), or leaving.
                yield Problem(
                    stack_file,
                    f"tenants.{tenant}.namespaces",
                    _protected(resource, f"list it again, or, to delete it on purpose, {_DELETE_ON_PURPOSE}"),
                )
        else:
            yield Problem(
                stack_file,
                _section_of(resource),
                _protected(resource, f"to delete it on purpose, {_DELETE_ON_PURPOSE}"),
            )


def _protected(resource: ProtectedResource, remedy: str) -> Message:
    return Message(
        "FT-CLU-116",
        f"{resource.kind} {resource.name} is protected, and this update would delete it with "
        f"{TAKEN_ALONG[resource.kind]}",
        remedy,
    )


def _section_of(resource: ProtectedResource) -> str:
    """The section of the configuration that installs a resource of the platform."""
    if resource in _KYVERNO:
        return "kyverno"
    return "capsule" if resource.name.endswith(f".{CAPSULE_GROUP}") else "flux"


def _tenant_of(resource: ProtectedResource, state: State) -> str:
    """The tenant that a resource belongs to; empty if it is the platform's."""
    metadata = state.resources.get(resource, {}).get("metadata") or {}
    tenant: str = (metadata.get("labels") or {}).get(TENANT_LABEL, "")
    return tenant


_NAMED = 3
_APPLIED_TYPES = {
    kind: resource_type({"apiVersion": api, "kind": kind})
    for api, kind in ((KUSTOMIZE_API, KUSTOMIZATION), (HELM_API, HELM_RELEASE))
}


def missing_objects(
    config: StackConfig,
    plan: Plan,
    cluster: ClusterFacts,
    state: State,
    syncs: Iterable[Manifest],
    names_at: Callable[[str], Collection[str] | None],
    stack_file: str,
    *,
    refreshed: bool = False,
) -> list[Problem]:
    """A problem if objects are in the state but missing from the cluster.

    Args:
        names_at: returns the objects at a path of the API, as `namespace/name`, or `name` for cluster-scoped ones; None
            if a preview may not read them.
        refreshed: whether the engine knows what is missing, since it has refreshed the state.
    """
    if refreshed or not names_cluster(state, cluster.uid):
        return []
    own = [name for name in (*OF_PLATFORM, *_listed(config)) if name in state.names(NAMESPACE_TYPE)]
    if cluster.terminating.intersection(own):  # `held_namespaces` refuses it.
        return []
    wanted = {sync.applied for sync in plan.syncs.values()}
    there = {name_of_object(each) for each in syncs if not is_terminating(each)}
    known = {(kind, *name.split("/")) for kind, type_ in _APPLIED_TYPES.items() for name in state.names(type_)}
    if wanted <= known and wanted <= there and cluster.namespaces.keys() >= set(own):
        return []
    missing = sorted(_missing(config, cluster, state, names_at))
    if not missing:
        return []
    shown = ", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else "")
    return [
        Problem(
            stack_file,
            "cluster",
            Message(
                "FT-CLU-113",
                f"{len(missing)} of the objects in this stack's state are missing in the cluster ({shown}): an "
                "interrupted `pulumi destroy` or somebody else has deleted them",
                "run `pulumi up --refresh`, which creates them again",
            ),
        )
    ]


def _missing(
    config: StackConfig, cluster: ClusterFacts, state: State, names_at: Callable[[str], Collection[str] | None]
) -> Iterable[str]:
    """Kind and name of each missing object, except those of tenants that leave or are no longer listed."""
    kept = {name for name in cluster.namespaces if name not in state.names(NAMESPACE_TYPE)}
    kept |= {*_listed(config), *OF_PLATFORM}
    found: dict[str, Collection[str] | None] = {}
    for (kind, _), outputs in state.resources.items():
        if (path := collection_of(kind)) is None or "metadata" not in outputs:
            continue
        metadata: Mapping[str, Any] = outputs["metadata"]
        namespace = metadata["name"] if kind == NAMESPACE_TYPE else metadata.get("namespace", "")
        if namespace and namespace not in kept:
            continue
        if path not in found:
            found[path] = names_at(path)
        name = name_of({"metadata": metadata})
        if (names := found[path]) is not None and name not in names:
            yield f"{kind.rpartition(':')[2]} {printable(name)}"


def _listed(config: StackConfig) -> list[str]:
    return [name for tenant in config.active_tenants.values() for name in tenant.namespace_names]
