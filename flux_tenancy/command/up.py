"""`flux-tenancy up`: an update that first repairs drift, and applies only what was approved."""

from __future__ import annotations

from typing import Annotated

import typer

from flux_tenancy.command.exits import ExitCode
from flux_tenancy.command.options import Stack, project_folder


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
