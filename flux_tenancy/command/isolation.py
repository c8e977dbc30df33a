"""`flux-tenancy isolation`: attack a cluster as a tenant could."""

from __future__ import annotations

from typing import Annotated

import typer

from flux_tenancy.command.options import (
    File,
    OptionalStack,
    Output,
    OutputOption,
    Tenants,
    project_folder,
    stack_of_shell,
)
from flux_tenancy.command.program import failed, found
from flux_tenancy.isolation.model import Layer, TenantProfile


def isolation(
    stack: OptionalStack,
    tenant: Tenants,
    namespace: Annotated[
        list[str],
        typer.Option(
            default_factory=list,
            show_default=False,
            metavar="NAME",
            help="Namespace of the tenant, if none has its label; repeat it for several.",
        ),
    ],
    without: Annotated[
        list[Layer],
        typer.Option(
            default_factory=list,
            show_default=False,
            metavar="LAYER",
            help=f"Evaluate the attempts as if these layers did not exist (repeatable): {', '.join(Layer)}.",
        ),
    ],
    only: Annotated[
        list[str],
        typer.Option(
            default_factory=list,
            show_default=False,
            metavar="PREFIX",
            help="Run only the attempts and controls whose ids start with this, or `inventory`; repeatable.",
        ),
    ],
    service_account: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Service account that Flux impersonates for the tenant, if it cannot be detected.",
        ),
    ] = "",
    flux_namespace: Annotated[
        str,
        typer.Option(metavar="NAME", show_default=False, help="Namespace of Flux's controllers, if several have them."),
    ] = "",
    context: Annotated[
        str,
        typer.Option(
            metavar="NAME", show_default=False, help="Context of the kubeconfig. Default: its current context."
        ),
    ] = "",
    kubeconfig: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Kubeconfig of a cluster that no stack describes. Default: KUBECONFIG, or ~/.kube/config.",
        ),
    ] = "",
    profile: Annotated[
        TenantProfile | None,
        typer.Option(show_default=False, help="What is intended for tenants of a cluster that no stack describes."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Also create labelled objects, and remove them afterwards.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List also refused attempts.")] = False,
    output: OutputOption = Output.TABLE,
    file: File = None,
) -> None:
    """Attack a cluster as a tenant could, and show which layer blocks each attempt.

    Works on every cluster with Flux. Changes nothing without --live: attempts are dry runs and access reviews. With a
    stack or a profile, also reports every object in force that is not as intended.

    Exits with 1 if an attempt passes, a legitimate request is refused or something is not as intended, and with 2 if
    the run fails or the account of a tenant is unclear.

    Examples:

      flux-tenancy isolation

      flux-tenancy isolation --context production --profile restricted

      flux-tenancy isolation --namespace apps --service-account flux

      flux-tenancy isolation --stack staging -o json -f isolation.json

      flux-tenancy isolation --stack staging --tenant shop --live
    """
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.isolation.run import Asked, Target, attack, show
    from flux_tenancy.project.errors import OperationError

    if Layer.ROLE in without and not live:
        raise OperationError(
            Message(
                "FT-ISO-001",
                "--without role asks as a user with all rights, which needs a RoleBinding during the run",
                "add --live",
            )
        )
    given = {"--context": context, "--kubeconfig": kubeconfig, "--profile": profile}
    named = [option for option, value in given.items() if value]
    if stack and named:
        raise OperationError(
            Message(
                "FT-ISO-007",
                f"{' and '.join(named)} describe a cluster without a stack; stack {stack} describes its own",
                f"leave out --stack or {' and '.join(named)}",
            )
        )
    described = stack or ("" if named else stack_of_shell())
    target = (
        Target.of_stack(described, project_folder())
        if described
        else Target.of_kubeconfig(kubeconfig, context, profile)
    )
    layers, prefixes = tuple(dict.fromkeys(without)), tuple(only)
    asked = Asked(tenant, namespace, service_account, flux_namespace, live, layers, prefixes)
    outcome = attack(target, asked)
    show(outcome.reports, file, programs=output is Output.JSON, complete=every)
    if not outcome.safe:
        found()
    if outcome.unclear:
        failed()
