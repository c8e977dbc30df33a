"""`flux-tenancy new`: a new project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


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
