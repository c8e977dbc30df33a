"""`make isolation`: attack a cluster as a tenant could, and hold what is in force against what is intended."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from kubernetes import client
from rich.console import Console

from components.cluster.client import ClusterUnavailable, connect, explaining
from components.cluster.config import ClusterConfig
from components.config.errors import ConfigurationError
from components.config.messages import Message
from isolation.inventory.intent import Intent
from isolation.inventory.lists import read_lists
from isolation.inventory.profile import Profile, against_profile
from isolation.inventory.stack import StackInventory
from isolation.model import AttemptResult, ControlResult, Discrepancy, Layer, Report
from isolation.reading import has_account, labelled_namespaces, read, tenancy, tenants, version
from isolation.report_html import as_html
from isolation.report_json import as_json
from isolation.report_junit import as_junit
from isolation.report_table import WIDTH, as_table
from isolation.scene import Tenancy
from isolation.suite import Selected, Suite
from operations.described_cluster import described_cluster
from operations.errors import Operation, OperationError, invalid
from review.render.stack import load_and_render

PROJECT = Path(__file__).parents[1]
_INTERRUPTED = 130
_INVENTORY = "inventory"
"""What `--only` calls the inventory."""

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


_RENDERED = {Output.JSON: as_json, Output.JUNIT: as_junit, Output.HTML: as_html}


class _Isolation(Operation):
    """Exit code 1 means that an attempt passed or a control was refused, so a run that fails has another code."""

    failure = 2


@app.command(cls=_Isolation)
def isolation(
    stack: Annotated[str, typer.Option(help="stack of this project, instead of a context")] = "",
    context: Annotated[str, typer.Option(help="context of the kubeconfig; default: its current context")] = "",
    kubeconfig: Annotated[str, typer.Option(help="its path; default: $KUBECONFIG or ~/.kube/config")] = "",
    tenant: Annotated[
        list[str] | None, typer.Option(help="a tenant; may be repeated; default: every tenant with the label")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="a namespace of the tenant, if none has the label; may be repeated")
    ] = None,
    service_account: Annotated[str, typer.Option(help="the account that Flux impersonates, if not detected")] = "",
    flux_namespace: Annotated[str, typer.Option(help="namespace of Flux's controllers, if there are several")] = "",
    output: Annotated[Output, typer.Option(help="format of the report")] = Output.TABLE,
    file: Annotated[Path | None, typer.Option(help="write the report to this file")] = None,
    live: Annotated[bool, typer.Option("--live", help="also create labelled objects, and remove them")] = False,
    without: Annotated[list[Layer] | None, typer.Option(help="a layer to ignore; may be repeated")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="prefix of the ids to run, or `inventory`; may be repeated")
    ] = None,
    profile: Annotated[
        Profile | None, typer.Option(help="what is intended for tenants of a cluster that no stack describes")
    ] = None,
) -> None:
    """Attack a cluster as a tenant could, and report which layer refuses each attempt. Changes nothing without --live.

    With --stack or --profile, also report what in force is not as intended. Exits with 0 if no attempt passes, no
    control is refused and all is as intended, with 1 otherwise, and with 2 if the run fails or a tenant's account is
    unclear.
    """
    left_out = tuple(dict.fromkeys(without or ()))
    if Layer.ROLE in left_out and not live:
        raise OperationError(
            Message(
                "FT-ISO-001",
                "--without role asks as a user with all rights, which needs a RoleBinding during the run",
                "add --live",
            )
        )
    if stack and profile is not None:
        raise OperationError(
            Message(
                "FT-ISO-007",
                f"--profile says what is intended on a cluster without a stack; the stack {stack} says it itself",
                "leave out --stack or --profile",
            )
        )
    config = described_cluster(stack, PROJECT) if stack else _config(kubeconfig, context)
    selected = partial(_begins, tuple(only or ("",)))
    intent = _intent(stack) if stack else None
    try:
        api = connect(config, PROJECT)
        with explaining(api):
            listed = intent.config.active_tenants if intent is not None else {}
            names = tenant or ([""] if namespace else sorted({*tenants(api), *listed}))
            if not names:
                raise OperationError(
                    Message("FT-ISO-002", "no namespace of the cluster has a tenant label", "name one with --namespace")
                )
            if len(names) > 1 and (namespace or service_account):
                raise OperationError(
                    Message(
                        "FT-ISO-003",
                        "--namespace and --service-account apply to a single tenant",
                        "name that tenant with --tenant",
                    )
                )
            inventory = _inventory(api, intent, profile) if selected(_INVENTORY) else None
            described = bool(namespace or service_account)
            named = described or bool(tenant)
            reports, unclear = [], False
            for name in names:
                who = _without_account(api, name, intent)
                try:
                    is_needed = described or not who.namespaces or (named and inventory is None)
                    if is_needed or _may_be_tried(api, name, intent):
                        who = _tenancy(api, name, namespace or (), service_account, intent)
                    else:
                        typer.echo(f"tenant {name}: no attempts: no service account has rights there", err=True)
                except OperationError as error:
                    # Accounts that one tenant has left over do not keep the other tenants from being tried.
                    if is_needed:
                        raise
                    typer.echo(f"tenant {name}: no attempts: {error}", err=True)
                    unclear = True
                if not who.account and inventory is None:
                    continue
                found = None if inventory is None else inventory(who)
                attempts, controls = _tried(api, who, flux_namespace, intent, left_out, live, selected)
                reports.append(
                    Report(
                        context=config.context or "the current context",
                        version=version(api),
                        tenant=who.name,
                        namespaces=who.namespaces,
                        account=who.user,
                        live=live,
                        without=left_out,
                        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
                        attempts=attempts,
                        controls=controls,
                        inventory=found,
                    )
                )
            if not reports:
                raise OperationError(
                    Message(
                        "FT-ISO-004", "no tenant has a service account with rights", "name one with --service-account"
                    )
                )
    except ClusterUnavailable as error:
        where = f"{stack}: cluster.{error.key}" if stack else f"--{error.key}"
        raise OperationError(Message("FT-ISO-006", f"{where}: {error}", "fix that first")) from None
    except KeyboardInterrupt:
        typer.echo("interrupted; the created objects are removed", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    _show(reports, output, file)
    if not all(report.safe for report in reports):
        raise typer.Exit(1)
    if unclear:
        raise typer.Exit(_Isolation.failure)


def _intent(stack: str) -> Intent:
    """What a stack intends, rendered without its cluster."""
    try:
        return Intent.of(*load_and_render(PROJECT, stack))
    except ConfigurationError as error:
        raise invalid(*error.problems) from None


def _inventory(
    api: client.ApiClient, intent: Intent | None, profile: Profile | None
) -> Callable[[Tenancy], tuple[Discrepancy, ...]] | None:
    """What holds a tenant against what is intended, with the cluster read once; None if nothing says that."""
    if intent is not None:
        of_stack = StackInventory(api, intent)
        lists = of_stack.read()
        return lambda who: of_stack.of(who, lists)
    if profile is not None:
        lists = read_lists(api)
        return lambda who: against_profile(profile, who, lists)
    return None


def _tenancy(
    api: client.ApiClient, name: str, namespaces: Sequence[str], account: str, intent: Intent | None
) -> Tenancy:
    """A tenant; one that the stack lists is what the stack says, whatever labels and bindings the cluster has."""
    listed = intent.account_of(name) if intent is not None and not (namespaces or account) else None
    if listed is None:
        return tenancy(api, name, namespaces, account)
    further = [each for each in labelled_namespaces(api, name) if each not in listed[0]]
    return tenancy(api, name, (*listed[0], *further), listed[1])


def _tried(
    api: client.ApiClient,
    who: Tenancy,
    flux_namespace: str,
    intent: Intent | None,
    left_out: tuple[Layer, ...],
    live: bool,
    selected: Selected,
) -> tuple[tuple[AttemptResult, ...], tuple[ControlResult, ...]]:
    """The attempts and controls as a tenant's account; none without one."""
    if not who.account:
        return (), ()
    return Suite(api, read(api, who, flux_namespace, intent), left_out, live).run(selected)


def _without_account(api: client.ApiClient, name: str, intent: Intent | None) -> Tenancy:
    """A tenant as the inventory needs it: with the namespaces that it has, and that it should have by the stack."""
    listed = intent.account_of(name) if intent is not None else None
    own = listed[0] if listed is not None else ()
    return Tenancy(name, tuple(dict.fromkeys((*own, *labelled_namespaces(api, name)))), "")


def _may_be_tried(api: client.ApiClient, name: str, intent: Intent | None) -> bool:
    """Whether a tenant has an account, by the stack or the cluster; a tenant that leaves is to have none."""
    if intent is not None and name in intent.config.tenants:
        return name in intent.config.active_tenants
    return has_account(api, name)


def _begins(beginnings: tuple[str, ...], key: str) -> bool:
    return key.startswith(beginnings)


def _config(kubeconfig: str, context: str) -> ClusterConfig:
    """The cluster of a kubeconfig, as kubectl finds it."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or "~/.kube/config"
    return ClusterConfig(kubeconfig=str(Path(named).expanduser().absolute()), context=context or None)


def _show(reports: list[Report], output: Output, file: Path | None) -> None:
    if output in _RENDERED:
        text = _RENDERED[output](reports)
        if file is None:
            typer.echo(text)
        else:
            _written(file, text)
        return
    if file is None:
        # In a pipe the table is as wide as it needs.
        Console(width=None if sys.stdout.isatty() else WIDTH).print(as_table(reports))
        return
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(as_table(reports))
    _written(file, out.getvalue())


def _written(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperationError(
            Message("FT-ISO-005", f"{file} cannot be written: {error.strerror}", "name another file with --file")
        ) from None


if __name__ == "__main__":
    app(prog_name="python -m isolation")
