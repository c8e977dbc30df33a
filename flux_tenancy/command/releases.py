"""`flux-tenancy releases`: the pinned releases of upstream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.exits import ExitCode
from flux_tenancy.command.options import Stacks
from flux_tenancy.command.project import project_folder

app = typer.Typer(
    help="Update the pinned releases of Flux, Kyverno and Capsule; compare releases.", no_args_is_help=True
)


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
        typer.Option(
            metavar="URL",
            show_default=False,
            help="The same for Capsule. Read only if a stack installs Capsule. Default: Capsule's own.",
        ),
    ] = "",
) -> None:
    """Pin the newest supported releases in the files of stacks, and print a summary in Markdown.

    Needs neither a cluster nor `pulumi`. Releases in local files and in Pulumi.yaml are reported and not changed.

    Examples:

      flux-tenancy releases update

      flux-tenancy releases update --stack staging

      flux-tenancy releases update --flux-index https://mirror.example.com/flux.json
    """
    from flux_tenancy.operations.release_update import update_releases

    typer.echo(update_releases(stacks, project_folder(), flux_index, kyverno_index, capsule_index))


@app.command()
def compare(
    old: Annotated[str, typer.Argument(help="Version, or file of an install manifest.", show_default=False)],
    new: Annotated[
        str,
        typer.Argument(
            help="The same; or controllers of Flux with their versions, such as source-controller@1.10.1, separated by "
            "commas, that replace those of the old release.",
            show_default=False,
        ),
    ],
    sources: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            show_default=False,
            help="Folder with the sources of Flux's controllers, or of their APIs, as Go's module cache has them in "
            "github.com/fluxcd. Without it, flags, feature gates and annotations are not compared.",
        ),
    ] = None,
    flux_index: Annotated[
        str,
        typer.Option(
            metavar="URL", show_default=False, help="URL or file with a list of Flux releases. Default: GitHub's API."
        ),
    ] = "",
) -> None:
    """Compare two Flux releases: flags, feature gates, kinds, fields that tenants may write, roles, annotations.

    Exits with 1 if a difference is neither known to a policy nor decided.

    Examples:

      flux-tenancy releases compare 2.9.5 2.9.6

      flux-tenancy releases compare 2.9.6 2.10.1 --sources "$(go env GOMODCACHE)/github.com/fluxcd"
    """
    from flux_tenancy.operations.release_comparison import compare_releases

    report, decided = compare_releases(old, new, sources, flux_index)
    typer.echo(report)
    if not decided:
        raise typer.Exit(ExitCode.FOUND)
