"""`flux-tenancy tenant`: the tenants of stacks, in the files of the project and in their clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from flux_tenancy.command.options import (
    ChangedStacks,
    HasExitCode,
    Output,
    OutputOption,
    Preview,
    PrometheusOption,
    Stack,
    Stacks,
    Tenant,
    project_folder,
)
from flux_tenancy.command.program import found

app = typer.Typer(
    help="Onboard, show and offboard tenants. Changes files of the project, and no cluster.",
    no_args_is_help=True,
)


_GitHub = Annotated[
    str,
    typer.Option("--github", metavar="OWNER/NAME", help="The repository at GitHub, where the key is registered."),
]
_Branch = Annotated[str, typer.Option("--branch", help="Branch of the repository.")]
_Folder = Annotated[str, typer.Option("--folder", help="Folder of the repository.")]


@app.command()
def new(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Name of the new tenant.")],
    stack: ChangedStacks,
    repo: Annotated[
        str,
        typer.Option("--repo", metavar="URL", help="URL of its repository; leave it out if it has a base file."),
    ] = "",
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", help="Its namespace; repeat it for several. Default: the tenant's name."),
    ] = None,
    github: _GitHub = "",
    branch: _Branch = "",
    folder: _Folder = "",
    preview: Preview = True,
) -> None:
    """Write the base file of a tenant, list it in stacks, and store a deploy key in each, encrypted.

    Examples:

      flux-tenancy tenant new shop --repo ssh://git@git.example.com/shop/apps.git --stack staging

      flux-tenancy tenant new shop --stack production --folder ./production
    """
    from flux_tenancy.operations.tenants.lifecycle import NewTenant
    from flux_tenancy.operations.tenants.lifecycle import new as onboard

    given = NewTenant(tenant, repo, tuple(namespace or ()), github, branch, folder)
    onboard(given, stack, project_folder(), preview)


@app.command("list")
def list_(
    stack: Stacks,
    output: OutputOption = Output.TABLE,
    policies: Annotated[
        bool, typer.Option("--policies/--no-policies", help="Count objects that the policies would refuse.")
    ] = True,
    prometheus: PrometheusOption = None,
    exit_code: HasExitCode = False,
) -> None:
    """List the tenants of stacks with their state, revision, fullest quota and message. Changes nothing.

    With `--exit-code`, exits with 1 if a tenant has failed or a stack cannot be read.

    Examples:

      flux-tenancy tenant list


      flux-tenancy tenant list -s production --prometheus http://localhost:9090
    """
    from flux_tenancy.operations.tenants.overview import show_tenants

    if show_tenants(stack, project_folder(), output is Output.JSON, policies, prometheus) and exit_code:
        found()


@app.command()
def show(tenant: Tenant, stack: Stacks, output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Show a tenant in detail: state, namespaces, sources, syncs, releases, quotas, why Pods do not start, next steps.

    Changes nothing. With `--exit-code`, exits with 1 if the tenant has failed or a cluster does not answer.

    Examples:

      flux-tenancy tenant show shop

    """
    from flux_tenancy.operations.tenants.details import show_tenant

    if show_tenant(tenant, stack, project_folder(), as_json=output is Output.JSON) and exit_code:
        found()


@app.command()
def offboard(
    tenant: Tenant,
    stack: ChangedStacks,
    backup: Annotated[
        bool, typer.Option("--backup/--no-backup", help="Write the tenant's objects to .backup/ first.")
    ] = True,
    age: Annotated[
        str, typer.Option("--age", metavar="RECIPIENT", help="Encrypt Secrets in the backup for this age recipient.")
    ] = "",
    preview: Preview = True,
) -> None:
    """Take the next of two steps: remove the sync and all access, then the namespaces with everything in them.

    The last step is refused until `pulumi up` has applied the first. Secrets are in the backup only with `--age`.

    Examples:

      flux-tenancy tenant offboard shop --stack staging --age age1…

      flux-tenancy tenant offboard shop --stack staging --no-backup
    """
    from flux_tenancy.operations.tenants.lifecycle import offboard as offboard_tenant

    offboard_tenant(tenant, stack, project_folder(), backup, age, preview)


@app.command()
def violations(stack: Stack, output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Show which running objects of tenants the policies would refuse, before you enforce them. Changes nothing.

    Sends dry runs. Also shows grants of tenants, and access beyond their role.

    Examples:

      flux-tenancy tenant violations --stack staging

      flux-tenancy tenant violations -s production -o json --exit-code
    """
    from flux_tenancy.operations.admission.report import show_violations

    if show_violations(stack, project_folder(), output is Output.JSON) and exit_code:
        found()
