"""`flux-tenancy releases`: the pinned releases of upstream."""

from __future__ import annotations

from typing import Annotated

import typer

from flux_tenancy.command.options import Stacks, project_folder

app = typer.Typer(help="Update the pinned releases of Flux, Kyverno and Capsule.", no_args_is_help=True)


@app.command()
def update(
    stacks: Stacks,
    flux_index: Annotated[
        str,
        typer.Option(
            metavar="URL", show_default=False, help="URL or file with a list of Flux releases. Default: GitHub's API."
        ),
    ] = "",
    kyverno_index: Annotated[
        str,
        typer.Option(
            metavar="URL",
            show_default=False,
            help="URL or file with the index of a Helm repository that has Kyverno. Default: Kyverno's own.",
        ),
    ] = "",
    capsule_index: Annotated[
        str,
        typer.Option(metavar="URL", show_default=False, help="The same for Capsule. Default: Capsule's own."),
    ] = "",
) -> None:
    """Pin the newest supported releases in the files of stacks, and print a summary in Markdown.

    Needs neither a cluster nor `pulumi`. Releases in local files and in Pulumi.yaml are reported and not changed.

    Examples:

      flux-tenancy releases update


      flux-tenancy releases update --flux-index https://mirror.example.com/flux.json
    """
    from flux_tenancy.operations.releases import update_releases

    typer.echo(update_releases(stacks, project_folder(), flux_index, kyverno_index, capsule_index))
