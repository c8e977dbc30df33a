"""Updates that would delete a tenant because the files no longer have it, or that come from older files or an older
program; and tenants with a base file that no stack lists.

A tenant leaves in two steps: `state: leaving` removes its access, and then its entry goes. Files that simply lack a
tenant are older ones, or a mistake.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi

from flux_tenancy.components.cluster.component import applied_before, program_before
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine.git import git
from flux_tenancy.components.engine.project import PROJECT_FILE
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.product import parse_version
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.names import TENANTS_FOLDER, stack_names, tenant_file_name
from flux_tenancy.components.stack.files.project_file import ProjectFile, read_project_file
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, read_stack_file, structured
from flux_tenancy.components.tenant.component import TENANT_COMPONENT
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, TENANT_LABEL
from flux_tenancy.version import VERSION


def unlisted_tenants(listed: Collection[str], file: StackFile, project: Path) -> list[Message]:
    """A warning for each base file that neither this stack nor another one of the project lists."""
    found = sorted({each.stem for each in (project / TENANTS_FOLDER).glob("*.yaml")} - {*listed})
    if found:
        found = _listed_nowhere(found, read_project_file(project))
    return [
        Message(
            "FT-CFG-638",
            f"{tenant_file_name(printable(name))}: no stack lists this tenant",
            f"list it below `tenants` in {file.name}, or remove the file",
        )
        for name in found
    ]


def _listed_nowhere(names: list[str], project: ProjectFile) -> list[str]:
    """Those of the names that no stack lists; none if the tenants of a stack are not in its file."""
    try:
        stacks = stack_names(project.stack_folder)
    except ConfigurationError:
        return []
    for stack in stacks if names else ():
        file = read_stack_file(stack, project)
        tenants = file.merged.get("tenants")
        tenants = structured(tenants) if isinstance(tenants, str) else tenants or {}
        if file.unreadable or file.imports or is_encrypted(tenants) or not isinstance(tenants, Mapping):
            return []
        names = [name for name in names if name not in map(str, tenants)]
    return names


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
