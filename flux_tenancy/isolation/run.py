"""One run for one or several tenants: the cluster that is attacked, the tenants, and the reports."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer
from kubernetes import client
from rich.console import Console

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining
from flux_tenancy.components.cluster.config import ClusterConfig, connect, context_name
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, message_of, printable
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.tenant.scope import service_account_name
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.isolation.inventory import StackInventory
from flux_tenancy.isolation.model import AttemptResult, ControlResult, Discrepancy, Layer, Report, TenantProfile
from flux_tenancy.isolation.profile import READ, against_profile
from flux_tenancy.isolation.report import OVERVIEW_WIDTH, WIDTH, as_json, as_table
from flux_tenancy.isolation.scene import (
    NO_ACCOUNT,
    NO_TENANT,
    Tenancy,
    has_account,
    labelled_namespaces,
    read,
    tenancy,
    tenants,
    version,
)
from flux_tenancy.isolation.suite import Suite
from flux_tenancy.operations.drift.lists import read_lists
from flux_tenancy.operations.drift.recorded_state import read_applied
from flux_tenancy.operations.stack.connected import checked_if_known, described_cluster
from flux_tenancy.project.errors import OperationError, invalid, reading_files, waiting, writing

_INVENTORY = "inventory"
"""The name of the inventory for `--only`."""


@dataclass(frozen=True)
class Target:
    """The cluster of a run, and what is intended for its tenants.

    Attributes:
        config: how to reach the cluster.
        folder: where a relative path of a kubeconfig begins.
        stack: name of the stack that describes the cluster; empty if none does.
        described: the stack as its files describe it; None without a stack.
        profile: what is intended where no stack says it; None for nothing.
    """

    config: ClusterConfig
    folder: Path
    stack: str = ""
    described: StackConfig | None = None
    profile: TenantProfile | None = None

    @classmethod
    def of_stack(cls, stack: str, project: Path) -> Target:
        """The cluster of a stack.

        Raises:
            OperationError: the stack's files are not valid, or its kubeconfig cannot be decrypted.
        """
        cluster = described_cluster(stack, project)
        with reading_files():
            # What was applied stays readable, e.g. after a grant has expired.
            return cls(cluster, project, stack, load_offline(stack, project, compare=False)[0])

    @classmethod
    def of_kubeconfig(cls, path: str, context: str, profile: TenantProfile | None) -> Target:
        """A cluster that no stack describes, found as kubectl finds it.

        Args:
            path: of the kubeconfig; if empty, the first of `$KUBECONFIG`, or `~/.kube/config`.
            context: of the kubeconfig; if empty, its current context.
            profile: what is intended for the tenants, if anything.
        """
        listed = filter(None, (path, *os.environ.get("KUBECONFIG", "").split(os.pathsep)))
        file = Path(next(listed, "~/.kube/config")).expanduser().absolute()
        return cls(ClusterConfig(kubeconfig=str(file), context=context or None), Path.cwd(), profile=profile)


@dataclass(frozen=True)
class Asked:
    """What a run tries, and for whom.

    Attributes:
        tenants: names; if empty, all tenants with the label and of the stack.
        namespaces: of the one tenant, if they have no label.
        account: the service account that Flux impersonates, if it cannot be detected.
        flux_namespace: of Flux's controllers, if there are several.
        live: whether to create objects, which are removed afterwards.
        only: beginnings of the ids to run; if empty, all.
    """

    tenants: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    account: str = ""
    flux_namespace: str = ""
    live: bool = False
    without: tuple[Layer, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def is_described(self) -> bool:
        """Whether the user describes the tenant, whom the cluster may then not know by its label."""
        return bool(self.namespaces or self.account)

    def selects(self, key: str) -> bool:
        """Whether to run the attempt or control with this id, or the inventory."""
        return key.startswith(self.only or "")


@dataclass(frozen=True)
class Outcome:
    """The reports of a run.

    Attributes:
        reports: one for each tenant.
        unclear: whether the account of a tenant could not be detected, so that nothing was tried for it.
    """

    reports: list[Report]
    unclear: bool

    @property
    def safe(self) -> bool:
        return all(report.safe for report in self.reports)


def attack(target: Target, asked: Asked) -> Outcome:
    """Try everything for each tenant, and compare what is in force with the intent.

    Raises:
        OperationError: there is nobody to try it for, or the cluster or the user's rights do not allow it.
    """
    try:
        context = context_name(target.config, target.folder)
        api = connect(target.config, target.folder)
        if target.stack:
            checked_if_known(api, target.stack, target.folder)
        server = without_credentials(api.configuration.host)
        typer.echo(f"cluster: {context} ({server}){f', stack {target.stack}' if target.stack else ''}", err=True)
        with waiting("Attacking as a tenant"), explaining(api):
            return _Run(api, target, asked, context, server).run()
    except ClusterUnavailable as error:
        named = Problem(f"--{error.key}", "", message_of(error))
        raise invalid(error.as_problem(stack_file_name(target.stack)) if target.stack else named) from None
    except KeyboardInterrupt:
        if asked.live:
            typer.echo("interrupted; the created objects are removed", err=True)
        raise


def without_credentials(server: str) -> str:
    """The address of an API server as it may be shown: without the user and the password that a URL may have."""
    return printable(re.sub(r"//[^/?#]*@", "//", server))


@dataclass(frozen=True)
class _Run:
    api: client.ApiClient
    target: Target
    asked: Asked
    context: str
    server: str

    def run(self) -> Outcome:
        names = self._names()
        inventory = self._inventory() if self.asked.selects(_INVENTORY) else None
        reports, unclear = [], False
        for name in names:
            who = self._without_account(name)
            try:
                is_needed = (
                    self.asked.is_described or not who.namespaces or (bool(self.asked.tenants) and inventory is None)
                )
                if is_needed or self._may_be_tried(name):
                    who = self._tenancy(name)
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
            attempts, controls = self._tried(who)
            reports.append(
                Report(
                    context=self.context,
                    server=self.server,
                    version=version(self.api),
                    tenant=who.name,
                    namespaces=who.namespaces,
                    account=who.user,
                    live=self.asked.live,
                    without=self.asked.without,
                    made_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    attempts=attempts,
                    controls=controls,
                    inventory=found,
                )
            )
        if not reports:
            raise OperationError(NO_ACCOUNT(where="the namespaces of any tenant", accounts="none"))
        if nothing := [each for each in self.asked.only if not _is_beginning(each, reports)]:
            raise OperationError(
                Message(
                    "FT-ISO-008",
                    f"--only {', '.join(map(printable, nothing))} selects nothing",
                    f"give the beginning of an id, as a run without --only shows them, or {_INVENTORY}",
                )
            )
        return Outcome(reports, unclear)

    def _names(self) -> Sequence[str]:
        """The tenants to try; one without a name is that of the namespaces that the user names."""
        config = self.target.described
        listed = config.active_tenants if config is not None else {}
        names = self.asked.tenants or ([""] if self.asked.namespaces else sorted({*tenants(self.api), *listed}))
        if not names:
            raise OperationError(NO_TENANT(label=TENANT_LABEL, tenants="none"))
        if len(names) > 1 and self.asked.is_described:
            raise OperationError(
                Message(
                    "FT-ISO-003",
                    "--namespace and --service-account apply to a single tenant",
                    "name that tenant with --tenant",
                )
            )
        return names

    def _inventory(self) -> Callable[[Tenancy], tuple[Discrepancy, ...]] | None:
        """Compares a tenant with what is intended, with the cluster read once; None if nothing says that."""
        if (config := self.target.described) is not None:
            recorded = read_applied(self.target.stack, self.target.folder)
            of_stack = StackInventory(self.api, config, recorded)
            drift = of_stack.read()
            return lambda who: of_stack.of(who, drift)
        if (profile := self.target.profile) is not None:
            lists = read_lists(self.api, READ)
            return lambda who: against_profile(profile, who, lists)
        return None

    def _tenancy(self, name: str) -> Tenancy:
        """A tenant; one that the stack lists is as the stack says, whatever labels and bindings the cluster has."""
        listed = self._listed(name) if not self.asked.is_described else None
        if listed is None:
            return tenancy(self.api, name, self.asked.namespaces, self.asked.account)
        further = [each for each in labelled_namespaces(self.api, name) if each not in listed[0]]
        return tenancy(self.api, name, (*listed[0], *further), listed[1])

    def _tried(self, who: Tenancy) -> tuple[tuple[AttemptResult, ...], tuple[ControlResult, ...]]:
        """The attempts and controls as a tenant's account; none without one."""
        if not who.account:
            return (), ()
        scene = read(self.api, who, self.asked.flux_namespace, self.target.described)
        return Suite(self.api, scene, self.asked.without, self.asked.live).run(self.asked.selects)

    def _without_account(self, name: str) -> Tenancy:
        """A tenant as the inventory needs it: with the namespaces that it has, and that it should have by the stack."""
        listed = self._listed(name)
        own = listed[0] if listed is not None else ()
        return Tenancy(name, tuple(dict.fromkeys((*own, *labelled_namespaces(self.api, name)))), "")

    def _may_be_tried(self, name: str) -> bool:
        """Whether a tenant has an account, by the stack or the cluster; a tenant that leaves must have none."""
        config = self.target.described
        if config is not None and name in config.tenants:
            return name in config.active_tenants
        return has_account(self.api, name)

    def _listed(self, name: str) -> tuple[tuple[str, ...], str] | None:
        """The listed namespaces of a tenant, its home first, and its account; None if it is not listed, or leaving."""
        config = self.target.described
        tenant = config.active_tenants.get(name) if config is not None else None
        if config is None or tenant is None:
            return None
        return tuple(tenant.namespace_names), service_account_name(name, config.tenancy, tenant)


def _is_beginning(prefix: str, reports: Iterable[Report]) -> bool:
    """Whether an id begins with a prefix, of the inventory or of what was tried."""
    ids = [_INVENTORY]
    for report in reports:
        ids += [each.attempt.id for each in report.attempts] + [each.control.id for each in report.controls]
    return any(each.startswith(prefix) for each in ids)


def show(reports: list[Report], file: Path | None, *, programs: bool, complete: bool) -> None:
    """Print the reports, or write them to a file.

    Args:
        file: where to write them; None prints them.
        programs: whether they are for programs, as JSON, or for people, as a table.
        complete: whether the table lists each attempt.

    Raises:
        OperationError: the file cannot be written.
    """
    out = io.StringIO()
    if programs:
        out.write(f"{as_json(reports)}\n")
    else:
        # In a pipe and in a file, a list of all attempts is as wide as it needs.
        is_terminal = file is None and sys.stdout.isatty()
        width = None if is_terminal else WIDTH if complete else OVERVIEW_WIDTH
        Console(file=sys.stdout if is_terminal else out, width=width).print(
            as_table(reports, complete), soft_wrap=not is_terminal
        )
    if file is None:
        typer.echo(out.getvalue(), nl=False)
        return
    with writing(file):
        file.write_text(out.getvalue(), encoding="utf-8")
