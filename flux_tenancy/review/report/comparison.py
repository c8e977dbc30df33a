"""What a change means for each stack: two versions of its files and of what they apply, compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.stack.cluster.deletions import deleted_tenants
from flux_tenancy.components.stack.config import ReviewConfig
from flux_tenancy.components.stack.files.project import read_project_file, stack_file_name
from flux_tenancy.components.stack.files.stack_file import StackFile, read_stack_file
from flux_tenancy.components.tenant.annotations import SOURCES
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import KUSTOMIZATION, POD_SECURITY_LABEL
from flux_tenancy.project.described_stack import NO_STACKS, UNKNOWN_STACK, described_name, described_stacks
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.access.policies import policy_documents
from flux_tenancy.review.access.rights import access_changes
from flux_tenancy.review.admission.check import NOT_CHECKED, admission_answers, refusals
from flux_tenancy.review.admission.program import PROGRAM, VARIABLE, find_program
from flux_tenancy.review.changes.keys import KeyChange, key_changes, release_changes, secret_changes
from flux_tenancy.review.changes.objects import changes, deletions, fact_changes
from flux_tenancy.review.changes.risks import (
    configuration_documents,
    is_production_environment,
    replacement_risks,
    risk_statements,
)
from flux_tenancy.review.render.facts import configuration, read_written
from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject
from flux_tenancy.review.report.model import Report, StackReport
from flux_tenancy.review.rules.stacks import read_stacks
from flux_tenancy.review.rules.table import Finding, findings
from flux_tenancy.review.versions import Version, merge_base, rendering
from flux_tenancy.review.words import Statement, counted, listed


def compare(project: Path, base: str, only: Collection[str] = ()) -> Report:
    """Compare the working tree with the merge base.

    Args:
        base: what the change is to be merged into.
        only: the only stacks to compare; empty for all, those that only the merge base has included.

    Raises:
        OperationError: there is no stack of a given name in this project, or Git cannot tell the merge base.
        ConfigurationError: with every problem of the stacks in the working tree.
    """
    only = [described_name(each, project).stack for each in only]
    with merge_base(project, base) as tree:
        earlier, present = described_stacks(tree.folder), described_stacks(project)
        _check(only, {*earlier, *present})
        earlier, present = ([stack for stack in stacks if not only or stack in only] for stacks in (earlier, present))
        with rendering(tree, earlier) as started:
            read, problems = read_stacks(project, present)
            if problems:
                raise ConfigurationError(problems)
            versions = started.versions() if earlier else {}
        files = {stack: _file(tree.folder, stack) for stack in earlier}
        common = [stack for stack in earlier if stack in present]
        keys = {stack: key_changes(*(read_written(stack, each) for each in (tree.folder, project))) for stack in common}
    program = find_program()
    reports = []
    for stack in sorted({*earlier, *present}):
        version = versions.get(stack, Version(None))
        before = Side(files[stack], version.render) if version.render else None
        after, found = None, tuple[Finding, ...]()
        if stack in read:
            after = Side(_file(project, stack), read[stack].render)
            found = findings(after.render.objects, read[stack].setting, before.render.objects if before else ())
        is_compared = bool(before) or stack not in earlier
        first = refusals_of(program, version.render, after.render, project) if program and after else ()
        if after and stack not in earlier:
            others = {name: each.render for name, each in read.items() if name != stack}
            if shared := same_cluster(after, others):
                text = f"is for the cluster of {listed(shared)}, too: each of them would undo what the other applies"
                first = (*first, Statement(PLATFORM, text, risk=True))
        changed = keys.get(stack, ())
        report = stack_report(stack, before, after, first, found, version.note, is_compared, changed)
        reports.append(replace(report, warnings=read[stack].warnings if stack in read else ()))
    notes = () if program else (NOT_CHECKED(program=PROGRAM, variable=VARIABLE),)
    return Report(base, tree.commit, tuple(reports), notes)


def refusals_of(program: Path, before: Render | None, after: Render, project: Path) -> tuple[Statement, ...]:
    """What this program's own policies newly refuse.

    Args:
        program: the program that answers for an API server.
        before: the render at the merge base, or None.

    Raises:
        OperationError: the program fails.
    """
    answers = admission_answers(program, after, project, before)
    if not refusals(None, answers, after):
        return ()
    earlier = admission_answers(program, before, project, after) if before else None
    return tuple(each.statement for each in refusals(earlier, answers, after) if each.newly)


def _check(only: Collection[str], stacks: Collection[str]) -> None:
    """Check that there are stacks to compare, and all of those that are named."""
    if not stacks:
        raise OperationError(NO_STACKS())
    for stack in only:
        if stack not in stacks:
            known, shown = " or ".join(sorted(stacks)), printable(stack)
            raise OperationError(UNKNOWN_STACK(stack=shown, file=stack_file_name(shown), stacks=known))


def _file(project: Path, stack: str) -> StackFile:
    return read_stack_file(stack, read_project_file(project))


_GONE = "has no file of this production stack any more: nothing updates, repairs or reviews its objects"


@dataclass(frozen=True)
class Side:
    """One of two versions of a stack.

    Attributes:
        render: what it applies.
    """

    file: StackFile
    render: Render


def stack_report(
    stack: str,
    before: Side | None,
    after: Side | None,
    first: tuple[Statement, ...] = (),
    findings: tuple[Finding, ...] = (),
    note: str = "",
    is_compared: bool = True,
    keys: tuple[KeyChange, ...] = (),
) -> StackReport:
    """What a change does to one stack.

    Args:
        before: the stack at the merge base; None for a new one.
        after: the stack now; None for one that the change no longer describes.
        first: what is said before everything else, such as what this program's own policies newly refuse.
        findings: what in the stack breaks the rules, now or before.
        is_compared: whether the stack at the merge base can be rendered; otherwise its keys are compared alone.
        keys: the keys that differ in the stack's files.
    """
    if after is None:
        # Its objects stay in the cluster, so that nothing of it is deleted.
        was_production = before is not None and is_production_environment(stack, _sections(before))
        gone = (Statement(PLATFORM, _GONE, risk=True),) if was_production else ()
        return StackReport(stack, "", is_gone=True, is_compared=is_compared, note=note, said=gone)
    if not is_compared:
        return StackReport(stack, after.render.digest, findings=findings, is_compared=False, note=note, keys=keys)
    old = before.render if before else None
    found = changes(old, after.render)
    acknowledged = acknowledgements(after.file)
    had, has = _tenants(old), _tenants(after.render)
    onboarded = tuple(sorted(has - had)) if before else ()
    absent = _absent(old, after.render) if old else ()
    deleted = tuple(each for each in deletions(stack, found, acknowledged) if each.owner not in absent)
    return StackReport(
        stack,
        after.render.digest,
        is_new=before is None,
        onboarded=onboarded,
        offboarded=tuple(sorted(had - has)),
        absent=absent,
        changes=found,
        keys=keys,
        facts=fact_changes(old, after.render) if old else (),
        releases=release_changes(before.file if before else None, after.file),
        secrets=secret_changes(before.file, after.file) if before else (),
        deletions=deleted,
        said=(
            *first,
            *onboardings(onboarded, after),
            *access_changes(old, after.render),
            *replacement_risks(found),
            *_risks(stack, before, after),
        ),
        findings=findings,
        unused=tuple(sorted(set(acknowledged) - {each.token for each in deleted})),
        note=note,
    )


def same_cluster(side: Side, others: Mapping[str, Render]) -> list[str]:
    """The other stacks for the cluster of a new one, by its uid or by the context of its kubeconfig.

    Args:
        others: what the other stacks apply, by name.
    """
    own = _cluster(side.render)
    return [
        name
        for name, render in others.items()
        for other in [_cluster(render)]
        if own and (own == other or (own.get("uid") is not None and own.get("uid") == other.get("uid")))
    ]


def _cluster(render: Render) -> Mapping[str, Any]:
    found = (each.manifest.get("properties") or {} for each in render.objects if each.kind == "Cluster")
    return next(found, {})


def _risks(stack: str, before: Side | None, after: Side) -> Iterator[Statement]:
    """What the rows of `risks.yaml` say."""
    if before is None:
        return risk_statements((), after.render.objects)
    was, is_now = _sections(before), _sections(after)
    old, new = configuration_documents(stack, was, is_now, before.render.facts, after.render.facts)
    policies = policy_documents((was, before.render.objects), (is_now, after.render.objects))
    return risk_statements([*before.render.objects, *old, *policies[0]], [*after.render.objects, *new, *policies[1]])


def acknowledgements(file: StackFile) -> tuple[str, ...]:
    """The entries of `review.acknowledge`."""
    return ReviewConfig.model_validate({"acknowledge": file.at(("review", "acknowledge")) or ()}).acknowledge


def _sections(side: Side) -> dict[str, Any]:
    """The configuration of a stack with its tenants' files; without them if an earlier program rendered it."""
    if side.render.facts is None:
        return side.file.merged
    return configuration(side.render.facts)


def _absent(before: Render, after: Render) -> tuple[str, ...]:
    """The tenants that the update refuses to delete."""
    had = ((each.kind, each.name, each.manifest["metadata"].get("labels") or {}) for each in before.objects)
    has = {each.name for each in after.objects if each.kind == "Namespace" and each.owner != PLATFORM}
    return tuple(deleted_tenants(had, has))


def _tenants(render: Render | None) -> set[str]:
    owners: Collection[str] = {each.owner for each in render.objects} if render else ()
    return set(owners) - {PLATFORM}


# What a quota limits of a node; how many objects there may be has safe defaults.
_COMPUTE = re.compile(r"(requests\.|limits\.)?(cpu|memory|storage|ephemeral-storage)|pods")


def onboardings(names: Collection[str], side: Side) -> Iterator[Statement]:
    """Two sentences for each new tenant."""
    sources = (_sections(side).get("policies") or {}).get("sources") or {}
    of_all = tuple(sources.get("allowed") or ())
    for name in names:
        own = [each for each in side.render.objects if each.owner == name and each.is_kubernetes]
        namespaces = [each.manifest["metadata"] for each in own if each.kind == "Namespace"]
        homes = [
            f"{each['name']} (Pod Security {each['labels'].get(POD_SECURITY_LABEL, 'none')})" for each in namespaces
        ]
        parts = [
            f"runs in {counted(homes, 'namespaces')}",
            *(_synced(each.manifest, own) for each in own if each.kind == KUSTOMIZATION),
        ]
        yield Statement(name, "; ".join(parts))
        listed = [entry for each in namespaces for entry in each.get("annotations", {}).get(SOURCES, "").split()]
        sources = counted(dict.fromkeys((*of_all, *listed)), "more") or "none but those of the stack"
        yield Statement(name, f"has the allowed sources {sources}, and {_limits(own)}")


def _synced(sync: Manifest, objects: Iterable[RenderedObject]) -> str:
    spec, reference = sync["spec"], sync["spec"]["sourceRef"]
    namespace = reference.get("namespace", sync["metadata"]["namespace"])
    keys = reference["kind"], namespace, reference["name"]
    source = next((each.manifest["spec"] for each in objects if (each.kind, each.namespace, each.name) == keys), None)
    if source is None:
        return f"syncs {spec['path']} of {reference['kind']} {namespace}/{reference['name']}"
    place = source.get("url") or f"{source.get('endpoint', '')}/{source.get('bucketName', '')}"
    reference_words = [f"{key} {value}" for key, value in source.get("ref", {}).items()]
    signed = "signed" if source.get("verify") else "not verified by signature"
    return f"syncs {spec['path']} of {place} ({', '.join([*reference_words, signed])})"


def _limits(objects: Iterable[RenderedObject]) -> str:
    """The limits of compute resources and storage."""
    hard: dict[str, Mapping[str, str]] = {
        each.name: each.manifest["spec"].get("hard", {}) for each in objects if each.kind == "ResourceQuota"
    }
    found = {f"{value} of {key}" for each in hard.values() for key, value in each.items() if _COMPUTE.fullmatch(key)}
    return f"the limits {counted(sorted(found), most=len(found))}" if found else "no limit of CPU and memory"
