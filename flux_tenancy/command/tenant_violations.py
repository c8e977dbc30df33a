"""`flux-tenancy tenant violations`: running objects that the policies would refuse."""

from __future__ import annotations

from flux_tenancy.command.options import HasExitCode, Output, OutputOption, Stack
from flux_tenancy.command.program import found
from flux_tenancy.command.project import project_folder


def violations(stack: Stack, output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Show which running objects of tenants the policies would refuse, before you enforce them. Changes nothing.

    Sends the API server a dry run of every object that the policies cover. Also shows the grants of tenants, and
    access that tenants have in addition to their role.

    Examples:

      flux-tenancy tenant violations --stack staging

      flux-tenancy tenant violations -s production -o json --exit-code
    """
    from flux_tenancy.operations.admission.report import show_violations

    if show_violations(stack, project_folder(), output is Output.JSON) and exit_code:
        found()
