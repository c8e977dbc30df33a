"""The commands that belong to no group."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import Stack, project_folder
from flux_tenancy.command.program import ExitCode


def new(
    folder: Annotated[Path, typer.Argument(help="Folder of the new project, which is named like it.")],
    stack: Annotated[str, typer.Option(help="Name of its first stack.")] = "dev",
    context: Annotated[
        str | None,
        typer.Option(help="Context of its cluster in your kubeconfig.", show_default="my-cluster"),
    ] = None,
    production: Annotated[
        bool | None,
        typer.Option(
            "--production/--no-production",
            help="Whether the stack's cluster is a production environment.",
            show_default="--production",
        ),
    ] = None,
) -> None:
    """Write a new project: one stack, one tenant, and the pinned version of this program. Needs no `pulumi`.

    Examples:

      flux-tenancy new my-platform

      flux-tenancy new my-platform --stack eu-1 --context kind-eu-1 --no-production
    """
    from flux_tenancy.operations.new_project import new_project

    asks = sys.stdin.isatty()
    if context is None:
        context = typer.prompt("Context of the cluster in your kubeconfig", "my-cluster") if asks else "my-cluster"
    if production is None and asks:
        production = typer.confirm("Is this a production cluster, whose namespaces must not be deleted?", default=True)
    for file in new_project(folder, stack, context, production is not False):
        typer.echo(file)
    typer.echo(
        f"""\
Next, with the digest of Flux's manifest in Pulumi.{stack}.yaml and a repository in tenants/my-team.yaml:
  cd {folder} && git init && pulumi install
  pulumi stack init {stack}
  .venv/bin/flux-tenancy key deploy my-team --stack {stack}"""
    )


def schemas() -> None:
    """Write the JSON Schemas of the project's files, so that editors complete and check them.

    Run it again after an upgrade.

    Examples:

      flux-tenancy schemas
    """
    from flux_tenancy.operations.schemas import write_schemas

    for file in write_schemas(project_folder()):
        typer.echo(file)


def up(
    stack: Stack,
    approved: Annotated[
        str | None,
        typer.Option(
            "--approved",
            metavar="DIGEST|FILE",
            help="Refuse to apply anything else than this render: its digest, or its digest.json.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not preview, and do not ask.")] = False,
    fail_on_not_ready: Annotated[
        bool,
        typer.Option(
            "--fail-on-not-ready",
            help="Exit with 1 if a tenant, or the platform's own sync, was ready after the previous update and is not "
            "after this one.",
        ),
    ] = False,
    older: Annotated[
        bool,
        typer.Option(
            "--older",
            help="Apply files that do not descend from those of the previous update, and take back what came since.",
        ),
    ] = False,
) -> None:
    """Repair drift, then preview and run `pulumi up`. Refuses a stack that differs from what was approved.

    Pulumi's output is printed without control characters and without the stack's outputs (`pulumi stack output`).

    Without `--approved`, FLUX_TENANCY_APPROVED counts, as for `pulumi up`.

    Examples:

      flux-tenancy up --stack staging

      flux-tenancy up --stack production --approved digest.json --yes
    """
    from flux_tenancy.operations.update import update

    if update(stack, project_folder(), approved, yes, fail_on_not_ready, older):
        raise typer.Exit(ExitCode.FOUND)
