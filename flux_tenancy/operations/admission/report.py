"""Shows which running objects of tenants the policies would refuse, before they are enforced.

It sends the API server a dry run of every such object, so each engine answers for itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer
from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining
from flux_tenancy.components.config.decisions import today
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.tenant.further_access import read_bindings, read_further_access, tenants_of
from flux_tenancy.components.tenant.grants import relaxed_policies
from flux_tenancy.operations.admission.dry_run import tenant_namespaces
from flux_tenancy.operations.admission.findings import closed_kinds, find
from flux_tenancy.operations.admission.policies import check_in_force, policies_in_force
from flux_tenancy.operations.admission.report_text import FurtherAccess, as_json, as_table, grant_lines
from flux_tenancy.operations.stack.connected import connect_to_read
from flux_tenancy.operations.stack.described_cluster import applied_config, content_policies
from flux_tenancy.project.errors import invalid
from flux_tenancy.project.waiting import waiting
from flux_tenancy.review.words.tables import report_console


def show_violations(stack: str, project: Path, is_json: bool = False) -> bool:
    """Print which running objects the stack's policies would refuse; return whether there are any.

    Also prints the grants of tenants with the objects that run only because of them, and access that tenants have in
    addition to their role. Changes nothing.

    Raises:
        OperationError: the stack is not valid or has no policies, or the cluster does not evaluate them or answer.
    """
    config = applied_config(stack, project)
    content = content_policies(config)
    grants = {name: tenant.grants for name, tenant in config.tenants.items() if tenant.grants}
    try:
        api = connect_to_read(stack, project)
        with waiting(f"Sending the objects of {stack} to its policies"), explaining(api):
            in_force = policies_in_force(api)
            check_in_force(stack_file_name(stack), config.policies, content, in_force)
            found = find(api, content, {tenant: relaxed_policies(given) for tenant, given in grants.items()})
            closed = closed_kinds(api, config.tenancy.kinds, in_force)
        found = replace(found, findings=sorted([*found.findings, *closed]))
        further = _further_access(api)
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    names = [PolicyName.ALLOWED_KINDS, *(policy.name for policy in content)]
    granted = grant_lines(grants, today())
    in_force = [each for each in in_force if each.policy in names]
    if is_json:
        typer.echo(as_json(found, in_force, further, granted))
    else:
        report_console().print(as_table(found, in_force, further, granted))
    return bool(found.findings)


def _further_access(api: client.ApiClient) -> FurtherAccess:
    """What else tenants' accounts may do; the report is made even if this user may not read it."""
    try:
        bindings = read_bindings(api)
        with explaining(api):
            tenants = tenants_of(bindings, tenant_namespaces(api))
        return FurtherAccess(read_further_access(api, tenants, bindings))
    except ClusterUnavailable as error:
        return FurtherAccess(unknown=str(error))
