"""`flux-tenancy key`: keys for repositories and for their encrypted secrets. Private keys are never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from flux_tenancy.command.options import Stack, completed_tenants, project_folder

app = typer.Typer(
    help="Create deploy keys and keys for SOPS, stored encrypted in a stack. Private keys are never shown.",
    no_args_is_help=True,
)

_Tenant = Annotated[
    str,
    typer.Argument(
        metavar="TENANT",
        autocompletion=completed_tenants,
        help="Name of the tenant; leave it out with `--platform`.",
        show_default=False,
    ),
]
_Platform = Annotated[bool, typer.Option("--platform", help="For the platform's own repository, flux.sync.")]


@app.command()
def deploy(
    stack: Stack,
    tenant: _Tenant = "",
    platform: _Platform = False,
    type_: Annotated[
        Literal["ed25519", "rsa"],
        typer.Option("--type", help="Type of the key; Azure DevOps and CodeCommit take only rsa."),
    ] = "ed25519",
) -> None:
    """Create a read-only deploy key for a repository, and store it in the stack, encrypted.

    Prints the public key, unless `pulumi up` registers it at GitHub.

    Examples:

      flux-tenancy key deploy shop --stack staging

      flux-tenancy key deploy --platform --stack staging
    """
    from flux_tenancy.operations.deploy_key import deploy_key

    deploy_key(stack, tenant, platform, type_, project_folder())


@app.command()
def sops(
    stack: Stack,
    tenant: _Tenant = "",
    platform: _Platform = False,
    openpgp: Annotated[bool, typer.Option("--openpgp", help="An OpenPGP key instead of an age identity.")] = False,
    withdraw: Annotated[
        str,
        typer.Option("--withdraw", metavar="KEY", help="Remove the key with this recipient or fingerprint."),
    ] = "",
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="FOLDER", help="List the affected files of this checkout.", show_default=False),
    ] = None,
) -> None:
    """Create a key that decrypts for a sync, in addition to its keys; or withdraw one of them.

    Examples:

      flux-tenancy key sops shop --stack staging --repo ../shop-apps

      flux-tenancy key sops shop --stack staging --withdraw age1…
    """
    from flux_tenancy.operations.sops_keys import sops_key

    sops_key(stack, tenant, project_folder(), platform=platform, openpgp=openpgp, withdraw=withdraw, repo=repo)


@app.command("sops-config")
def sops_config(tenant: _Tenant = "", platform: _Platform = False) -> None:
    """Print the .sops.yaml for a repository, with the public keys of all stacks.

    Needs no passphrase and no cluster.

    Examples:

      flux-tenancy key sops-config shop > ../shop-apps/.sops.yaml
    """
    from flux_tenancy.operations.sops_keys import creation_rules

    typer.echo(creation_rules(tenant, platform, project_folder()), nl=False)
