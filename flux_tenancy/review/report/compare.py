"""Compares all stacks of the working tree with the merge base."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.stack.files.project_file import read_project_file
from flux_tenancy.components.stack.files.stack_file import StackFile, read_stack_file
from flux_tenancy.project.described_stack import UNKNOWN_STACK, described_name, described_stacks
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.admission.answers import admission_answers
from flux_tenancy.review.admission.check import NOT_CHECKED, refusals
from flux_tenancy.review.admission.program import PROGRAM, VARIABLE, find_program
from flux_tenancy.review.changes.keys import key_changes
from flux_tenancy.review.render.rendered import PLATFORM, Render
from flux_tenancy.review.render.written import read_written
from flux_tenancy.review.report.comparison import Side, same_cluster, stack_report
from flux_tenancy.review.report.model import Report
from flux_tenancy.review.rules.findings import Finding
from flux_tenancy.review.rules.stacks import NO_STACKS, read_stacks
from flux_tenancy.review.rules.table import findings
from flux_tenancy.review.versions.rendering import Version, rendering
from flux_tenancy.review.versions.trees import merge_base
from flux_tenancy.review.words import Statement, listed


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
        refused = refusals_of(program, version.render, after.render, project) if program and after else ()
        changed = keys.get(stack, ())
        report = stack_report(stack, before, after, refused, found, version.note, is_compared, changed)
        if after and stack not in earlier:
            others = {name: each.render for name, each in read.items() if name != stack}
            if shared := same_cluster(after, others):
                text = f"is for the cluster of {listed(shared)}, too: each of them would undo what the other applies"
                report = replace(report, access=(Statement(PLATFORM, text, risk=True), *report.access))
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
