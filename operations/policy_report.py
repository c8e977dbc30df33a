"""`make policy-report`: shows what the policies would refuse of what tenants already run, before they are enforced.

It sends the API server a dry run of every such object, so each engine answers for itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from kubernetes import client
from rich.console import Console

from components.cluster.client import ClusterUnavailable, connect, explaining
from components.config.decisions import today
from components.policies.names import PolicyName
from components.policies.policy import Subject
from components.policies.table import policies
from components.stack.files.names import stack_file_name
from components.tenant.further_access import read_bindings, read_further_access, tenants_of
from components.tenant.grants import relaxed_policies
from operations.cluster_policies import check_in_force, policies_in_force
from operations.described_cluster import described_cluster, described_grants, described_kinds, described_policies
from operations.dry_run import tenant_namespaces
from operations.errors import invalid
from operations.policy_findings import closed_kinds, find
from operations.policy_report_text import WIDTH, FurtherAccess, as_json, as_table, grant_lines
from operations.report_command import Output, ReportCommand

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False)


@app.command(cls=ReportCommand)
def policy_report(
    stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")],
    output: Annotated[Output, typer.Option(help="for people, or for programs")] = Output.TABLE,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="end with 1 where something would be refused")] = False,
) -> None:
    """Show what the stack's policies would refuse of what runs, and what tenants may do in addition to their role.

    Also shows what tenants are granted, and what would be refused without these grants.

    Changes nothing. Exits with 0; with --exit-code, exits with 1 if something would be refused. Exits with 2 if the
    report fails.
    """
    config = described_policies(stack, PROJECT)
    grants, kinds = described_grants(stack, PROJECT), described_kinds(stack, PROJECT)
    content = [policy for policy in policies(config) if policy.subject is Subject.CONTENT]
    try:
        api = connect(described_cluster(stack, PROJECT), PROJECT)
        with explaining(api):
            in_force = policies_in_force(api)
            check_in_force(stack_file_name(stack), config, content, in_force)
            found = find(api, content, {tenant: relaxed_policies(given) for tenant, given in grants.items()})
            closed = closed_kinds(api, kinds, in_force)
        found = replace(found, findings=sorted([*found.findings, *closed]))
        further = _further_access(api)
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    names = [PolicyName.ALLOWED_KINDS, *(policy.name for policy in content)]
    granted = grant_lines(grants, today())
    in_force = [each for each in in_force if each.policy in names]
    if output is Output.JSON:
        typer.echo(as_json(found, in_force, further, granted))
    else:
        # In a file or a pipe the table is as wide as it needs.
        Console(width=None if sys.stdout.isatty() else WIDTH).print(as_table(found, in_force, further, granted))
    if found.findings and exit_code:
        raise typer.Exit(1)


def _further_access(api: client.ApiClient) -> FurtherAccess:
    """What else tenants' accounts may do; the report is made even if this user may not read it."""
    try:
        bindings = read_bindings(api)
        with explaining(api):
            tenants = tenants_of(bindings, tenant_namespaces(api))
        return FurtherAccess(read_further_access(api, tenants, bindings))
    except ClusterUnavailable as error:
        return FurtherAccess(unknown=str(error))


if __name__ == "__main__":
    app(prog_name="python -m operations.policy_report")
