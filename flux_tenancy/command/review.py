"""`flux-tenancy review`: what stacks would apply, what a change means, and who may do what, without a cluster."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flux_tenancy.command.options import (
    ComparedStacks,
    File,
    Output,
    OutputOption,
    Stack,
    Stacks,
    Tenant,
    project_folder,
)
from flux_tenancy.command.program import found

if TYPE_CHECKING:
    from rich.console import Console

    from flux_tenancy.review.report.model import Report

app = typer.Typer(help="Review changes of stacks, without a cluster or a passphrase.", no_args_is_help=True)


class DiffOutput(StrEnum):
    """The format of a comparison."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


@app.command()
def render(
    stack: Stacks,
    out: Annotated[Path, typer.Option(help="Folder to write to; each stack gets a folder in it.")] = Path(".render"),
) -> None:
    """Write what stacks would apply, one YAML file for each object, with its digest.

    Exits with 1 if an API server would not accept an object.

    Examples:


      flux-tenancy review render --stack staging --out /tmp/render
    """
    from flux_tenancy.project.described_stack import NO_STACKS, described_file
    from flux_tenancy.project.errors import OperationError
    from flux_tenancy.review.admission.check import check_admission
    from flux_tenancy.review.render.rendered import Render, write_render
    from flux_tenancy.review.render.stack import render_stack

    project = project_folder()
    if not stack:
        raise OperationError(NO_STACKS())
    for name in stack:
        described_file(name, project)  # An unknown stack is refused with the names of those that exist.

    def is_accepted(rendered: Render) -> bool:
        def write() -> None:
            folder = write_render(rendered, out)
            typer.echo(f"{len(rendered.objects)} objects in {folder}")
            typer.echo(f"Digest: {rendered.digest}")

        return check_admission(rendered, project, meanwhile=write)

    if [name for name in stack if not is_accepted(render_stack(project, name))]:
        found()


@app.command()
def build_admission() -> None:
    """Build `offline-admission`, with which a review checks schemas and admission policies, and print its path.

    Needs Go. Each version is built once.

    Examples:

      flux-tenancy review build-admission
    """
    from flux_tenancy.review.admission.program import build_admission as build

    typer.echo(build())


@app.command()
def diff(
    stack: ComparedStacks,
    base: Annotated[str, typer.Option(help="Branch or commit that the change is to be merged into.")] = "main",
    output: Annotated[DiffOutput, typer.Option("--output", "-o", help="Format of the report.")] = DiffOutput.TABLE,
    file: File = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="Also append the report as Markdown to this file.", show_default=False),
    ] = None,
) -> None:
    """Show what the working tree would change in each stack since it left the base.

    Exits with 1 if the update would be refused: a tenant is missing, or a deletion is not acknowledged in the stack's
    file.

    Examples:

      flux-tenancy review diff


      flux-tenancy review diff --output markdown --file comment.md --summary "$GITHUB_STEP_SUMMARY"
    """
    from flux_tenancy.project.errors import writing
    from flux_tenancy.review.report.comparison import compare
    from flux_tenancy.review.words import report_console

    report = compare(project_folder(), base, stack)
    whole_at = ""
    if summary is not None:
        from flux_tenancy.review.report.markdown import SUMMARY_LIMIT, as_markdown

        with writing(summary), summary.open("a", encoding="utf-8") as opened:
            opened.write(as_markdown(report, SUMMARY_LIMIT))
        whole_at = address_of_run()
    if file is None:
        _print(report, output, report_console(), whole_at)
    else:
        with writing(file), file.open("w", encoding="utf-8") as opened:
            _print(report, output, report_console(opened), whole_at)
    if report.missing_acknowledgements or report.absent:
        found()


def address_of_run() -> str:
    """The address of the workflow run that this is, with the summaries of its jobs; empty outside of one.

    Source: https://docs.github.com/en/actions/reference/workflows-and-actions/variables
    """
    parts = [os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""


def _print(report: Report, output: DiffOutput, console: Console, whole_at: str) -> None:
    if output is DiffOutput.TABLE:
        from flux_tenancy.review.report.terminal import as_text

        console.print(as_text(report), soft_wrap=not console.is_terminal)
        return
    if output is DiffOutput.JSON:
        from flux_tenancy.review.report.json_report import as_json

        text = as_json(report) + "\n"
    else:
        from flux_tenancy.review.report.markdown import as_markdown

        text = as_markdown(report, whole_at=whole_at)
    print(text, end="", file=console.file)


@app.command()
def policy(
    stack: Stacks,
    base: Annotated[
        str,
        typer.Option(help="Branch or commit to merge into: check deletions since then, too.", show_default=False),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check stacks against the review rules, and show what is waived.

    Warns of grants that will soon stop updates. Exits with 1 if something breaks a rule and is not waived.

    Examples:

      flux-tenancy review policy

      flux-tenancy review policy --stack production --base origin/main --output json
    """
    from flux_tenancy.components.config.errors import ConfigurationError
    from flux_tenancy.review.rules.stacks import check_stacks
    from flux_tenancy.review.rules.table import as_json, as_text

    checked = check_stacks(project_folder(), stack, base)
    for warning in checked.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if checked.findings:
        typer.echo((as_json if output is Output.JSON else as_text)(checked.findings))
    if checked.problems:
        raise ConfigurationError(checked.problems)
    if checked.breaks_a_rule:
        found()


@app.command()
def access(tenant: Tenant = "", *, stack: Stack, output: OutputOption = Output.TABLE) -> None:
    """Show who may do what, and where: everybody, or one tenant and who has access to its namespaces.

    Examples:

      flux-tenancy review access --stack staging

    """
    from flux_tenancy.project.described_stack import described_file, described_tenant
    from flux_tenancy.review.access.summary import as_json, as_table, who_may_what
    from flux_tenancy.review.render.stack import render_stack
    from flux_tenancy.review.words import report_console

    project = project_folder()
    described_file(stack, project)  # An unknown stack is refused with the names of those that exist.
    if tenant:
        described_tenant(stack, tenant, project)
    summary = who_may_what(render_stack(project, stack), tenant)
    if output is Output.JSON:
        typer.echo(as_json(summary))
    else:
        report_console().print(as_table(summary))
