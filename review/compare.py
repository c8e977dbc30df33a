"""Compares all stacks of the working tree with the merge base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from components.config.errors import ConfigurationError, Problem
from components.config.printable import printable
from components.stack.origins import stack_file_name
from components.stack.project_file import read_project_file
from components.stack.stack_file import StackFile, read_stack_file
from operations.described_stack import described_stacks
from operations.errors import OperationError
from operations.wordings import UNKNOWN_STACK
from review.comparison import Side, stack_report
from review.render import render_stack
from review.rendered import Render
from review.report import Report
from review.rule_wordings import NO_STACKS
from review.trees import merge_base
from review.versions import Version, rendering


def compare(project: Path, base: str, only: str = "") -> Report:
    """Compare the working tree with the merge base.

    Args:
        project: folder of the project.
        base: what the change is to be merged into.
        only: the only stack to compare; empty for all.

    Raises:
        OperationError: there is no such stack, or Git cannot tell the merge base.
        ConfigurationError: with every problem of the stacks in the working tree.
    """
    with merge_base(project, base) as tree:
        earlier, present = (_chosen(described_stacks(folder), only) for folder in (tree.folder, project))
        if not earlier and not present:
            _refuse(only, {*described_stacks(tree.folder), *described_stacks(project)})
        with rendering(tree.folder, earlier) as started:
            renders = dict(_renders(project, present))
            versions = started.versions() if earlier else {}
        files = {stack: _file(tree.folder, stack) for stack in earlier}
    reports = []
    for stack in sorted({*earlier, *present}):
        version = versions.get(stack, Version(None))
        before = Side(files[stack], version.render) if version.render else None
        after = Side(_file(project, stack), renders[stack]) if stack in renders else None
        reports.append(
            stack_report(stack, before, after, version.note, is_compared=bool(before) or stack not in earlier)
        )
    return Report(base, tree.commit, tuple(reports))


def _chosen(stacks: Sequence[str], only: str) -> list[str]:
    return [stack for stack in stacks if only in ("", stack)]


def _refuse(only: str, stacks: set[str]) -> None:
    if not stacks:
        raise OperationError.of(NO_STACKS)
    raise OperationError.of(
        UNKNOWN_STACK, stack=printable(only), file=stack_file_name(printable(only)), stacks=" or ".join(sorted(stacks))
    )


def _renders(project: Path, stacks: Sequence[str]) -> Iterator[tuple[str, Render]]:
    problems: list[Problem] = []
    for stack in stacks:
        try:
            yield stack, render_stack(project, stack)
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(problems)


def _file(project: Path, stack: str) -> StackFile:
    return read_stack_file(stack, read_project_file(project))
