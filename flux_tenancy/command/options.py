"""Options that mean the same in every command.

A stack is named with `--stack`. Where a command works on one stack and none is named, it is the one in PULUMI_STACK, as
for `pulumi`, or the only one of the project. Reports cover all stacks of the project by default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from flux_tenancy.components.engine import PROJECT_FILE


def find_project(folder: Path | None = None) -> Path | None:
    """The nearest folder with a project's file, upwards from a folder, as `pulumi` looks for it; None if there is none.

    Args:
        folder: where to begin; the current folder by default.
    """
    start = (folder or Path.cwd()).absolute()
    return next((each for each in (start, *start.parents) if (each / PROJECT_FILE).is_file()), None)


def project_folder() -> Path:
    """The folder of the project.

    Raises:
        OperationError: the current folder is not in a project.
    """
    if (found := find_project()) is not None:
        return found
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.project.errors import OperationError

    raise OperationError(
        Message(
            "FT-CMD-001",
            f"there is no {PROJECT_FILE} in {Path.cwd()} or above it",
            "run the command in the folder of the project, or name that with `--cwd`",
        )
    )


STACK_VARIABLE = "PULUMI_STACK"
"""The current stack of a shell, as `pulumi` reads it: https://www.pulumi.com/docs/iac/cli/environment-variables/"""


def _completed_project(context: typer.Context) -> Path | None:
    """The project for which a shell completes a command, whose `--cwd` has not been followed yet."""
    folder = context.find_root().params.get("cwd")
    return find_project(Path(folder) if folder else None)


def _completed_stacks(context: typer.Context, incomplete: str) -> list[str]:
    """The stacks of the project whose names begin like this, for a shell."""
    if (project := _completed_project(context)) is None:
        return []
    from flux_tenancy.components.config.errors import ConfigurationError
    from flux_tenancy.components.stack.files.project import read_project_file, stack_names

    try:
        names = stack_names(read_project_file(project).stack_folder)
    except ConfigurationError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def completed_tenants(context: typer.Context, incomplete: str) -> list[str]:
    """The tenants of the project whose names begin like this, for a shell."""
    if (project := _completed_project(context)) is None:
        return []
    names = sorted(file.stem for file in project.glob("tenants/*.yaml"))
    return [name for name in names if name.startswith(incomplete)]


def _checked(names: Sequence[str]) -> None:
    """Check that each may be the name of a stack. A report may be about one whose file was removed.

    Raises:
        OperationError: no stack may have such a name.
    """
    from flux_tenancy.components.stack.files.project import stack_file_name
    from flux_tenancy.project.errors import reading_files

    with reading_files():
        for name in names:
            stack_file_name(name)


def _check_files(names: Sequence[str]) -> None:
    """Check that each stack has a file.

    Raises:
        OperationError: one has none, or its name is not valid.
    """
    from functools import partial

    from flux_tenancy.project.described_stack import stack_path
    from flux_tenancy.project.errors import run_all

    _checked(names)
    project = project_folder()
    run_all(partial(stack_path, name, project) for name in names)


def _stack(given: str) -> str:
    """The one stack of a command.

    Raises:
        OperationError: none is named and the project has several, or it has no file.
    """
    if name := given or os.environ.get(STACK_VARIABLE, ""):
        _check_files([name])
        return name
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.project.described_stack import described_stacks
    from flux_tenancy.project.errors import OperationError

    names = described_stacks(project_folder())
    if len(names) == 1:
        return names[0]
    raise OperationError(
        Message(
            "FT-CMD-002", "no stack is named", f"add `--stack`, with one of these: {', '.join(names) or 'none yet'}"
        )
    )


def named_stacks(given: list[str]) -> list[str]:
    """The stacks that are named; an option may name several, separated by commas.

    Raises:
        OperationError: no stack may have a name.
    """
    names = list(dict.fromkeys(name for each in given for name in each.split(",")))
    _checked(names)
    return names


def optional_stack(given: str) -> str:
    """The stack that is named, or none.

    Raises:
        OperationError: no stack may have the name.
    """
    if given:
        _checked([given])
    return given


def stack_of_shell() -> str:
    """The stack in PULUMI_STACK, if the current folder is in a project that has its file; empty otherwise.

    Raises:
        OperationError: the project's own file cannot be read.
    """
    name, folder = os.environ.get(STACK_VARIABLE, ""), find_project()
    if not name or folder is None:
        return ""
    from flux_tenancy.components.config.errors import ConfigurationError
    from flux_tenancy.components.stack.files.project import StackName
    from flux_tenancy.project.described_stack import described_stacks

    try:
        return name if StackName.parse(name).stack in described_stacks(folder) else ""
    except ConfigurationError:
        return ""


def _stacks(given: list[str]) -> list[str]:
    """The stacks of a report: those named, or all of the project.

    Raises:
        OperationError: the project cannot be read, or no stack may have a name.
    """
    if given:
        return named_stacks(given)
    from flux_tenancy.project.described_stack import described_stacks

    return described_stacks(project_folder())


def _changed_stacks(given: list[str]) -> list[str]:
    """The stacks that a command changes: those named, or the one of `_stack`.

    Raises:
        OperationError: as `_stack`.
    """
    if not given:
        return [_stack("")]
    names = named_stacks(given)
    _check_files(names)
    return names


def stack_option(factory: type[str] | type[list[str]], callback: Callable[..., object], text: str) -> Any:
    """The option `--stack` of a command that takes one stack, or several."""
    return typer.Option(
        "--stack",
        "-s",
        default_factory=factory,
        callback=callback,
        autocompletion=_completed_stacks,
        help=text,
        show_default=False,
    )


_SEVERAL = "Name of a stack; repeat it, or use commas. Default:"
_CURRENT = "the shell's PULUMI_STACK, or the only stack."
Stack = Annotated[str, stack_option(str, _stack, f"Name of the stack; default: {_CURRENT}")]
Stacks = Annotated[list[str], stack_option(list, _stacks, f"{_SEVERAL} all stacks of the project.")]
ComparedStacks = Annotated[
    list[str], stack_option(list, named_stacks, f"{_SEVERAL} all stacks, those that the base alone has included.")
]
ChangedStacks = Annotated[list[str], stack_option(list, _changed_stacks, f"{_SEVERAL} {_CURRENT}")]
OptionalStack = Annotated[
    str,
    stack_option(
        str,
        optional_stack,
        "Name of the stack that describes the cluster. Default: PULUMI_STACK, in the project of that stack.",
    ),
]
Tenants = Annotated[
    list[str],
    typer.Option(
        "--tenant",
        default_factory=list,
        autocompletion=completed_tenants,
        metavar="TENANT",
        help="Name of a tenant; repeatable. Default: all tenants.",
        show_default=False,
    ),
]
Tenant = Annotated[str, typer.Argument(metavar="TENANT", autocompletion=completed_tenants, help="Name of the tenant.")]
Preview = Annotated[bool, typer.Option("--preview/--no-preview", help="Show the preview of the changed stacks.")]
HasExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if the report has findings.")]
PrometheusOption = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="URL of the Prometheus with the stack's rules: adds the budget of late minutes.",
        show_default=False,
    ),
]
File = Annotated[Path | None, typer.Option("--file", "-f", help="Write the report to this file.", show_default=False)]


class Output(StrEnum):
    """The format of a report."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Format of the report.")]
