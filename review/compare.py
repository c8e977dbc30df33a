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
from review.admission import PROGRAM, VARIABLE, find_program
from review.admission_answers import admission_answers
from review.admission_wordings import NOT_CHECKED
from review.comparison import Side, stack_report
from review.render import render_stack
from review.rendered import Render
from review.report import Report, Statement
from review.rule_wordings import NO_STACKS
from review.trees import merge_base
from review.verdict import refusals
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
    program = find_program()
    reports = []
    for stack in sorted({*earlier, *present}):
        version = versions.get(stack, Version(None))
        before = Side(files[stack], version.render) if version.render else None
        after = Side(_file(project, stack), renders[stack]) if stack in renders else None
        is_compared = bool(before) or stack not in earlier
        refused = refusals_of(program, version.render, after.render, project) if program and after else ()
        reports.append(stack_report(stack, before, after, refused, version.note, is_compared))
    notes = () if program else (NOT_CHECKED(program=PROGRAM, variable=VARIABLE),)
    return Report(base, tree.commit, tuple(reports), notes)


def refusals_of(program: Path, before: Render | None, after: Render, project: Path) -> tuple[Statement, ...]:
    """What this program's own policies newly refuse.

    Args:
        program: the program that answers for an API server.
        before: the render at the merge base, or None.
        after: the render now.
        project: folder of the project.

    Raises:
        OperationError: the program fails.
    """
    answers = admission_answers(program, after, project)
    if not refusals(None, answers, after):
        return ()
    earlier = admission_answers(program, before, project) if before else None
    return tuple(each.statement for each in refusals(earlier, answers, after) if each.newly)


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
