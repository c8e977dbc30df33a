"""`make isolation`: try what a tenant may try against a cluster, and report what refuses it."""

from __future__ import annotations

import io
import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from components.cluster.client import ClusterUnavailable, connect, explaining
from components.cluster.config import ClusterConfig
from isolation.model import Layer, Report
from isolation.reading import read, tenancy, tenants, version
from isolation.report_html import as_html
from isolation.report_json import as_json
from isolation.report_junit import as_junit
from isolation.report_table import WIDTH, as_table
from isolation.suite import Suite
from operations.described_cluster import described_cluster
from operations.errors import Operation, OperationError

PROJECT = Path(__file__).parents[1]
_INTERRUPTED = 130

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


_RENDERED = {Output.JSON: as_json, Output.JUNIT: as_junit, Output.HTML: as_html}


class _Isolation(Operation):
    """1 says that an attempt passed or a control was refused, so a run that cannot be made has another status."""

    failure = 2


@app.command(cls=_Isolation)
def isolation(
    stack: Annotated[str, typer.Option(help="name of a stack of this project, instead of a context")] = "",
    context: Annotated[str, typer.Option(help="context of the kubeconfig; its current one where left out")] = "",
    kubeconfig: Annotated[str, typer.Option(help="path of the kubeconfig; $KUBECONFIG or ~/.kube/config")] = "",
    tenant: Annotated[
        list[str] | None, typer.Option(help="name of a tenant, again for more; all that have the label, if left out")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="a namespace of the tenant, where none has the label")
    ] = None,
    service_account: Annotated[str, typer.Option(help="the account that Flux applies as, where it is not found")] = "",
    flux_namespace: Annotated[str, typer.Option(help="namespace of Flux's controllers, where there are several")] = "",
    output: Annotated[Output, typer.Option(help="how to report")] = Output.TABLE,
    file: Annotated[Path | None, typer.Option(help="write the report to this file instead")] = None,
    live: Annotated[bool, typer.Option("--live", help="create labelled objects, too, and remove them")] = False,
    without: Annotated[list[Layer] | None, typer.Option(help="a layer that does not count, again for more")] = None,
    only: Annotated[list[str] | None, typer.Option(help="beginning of the ids to run, again for more")] = None,
) -> None:
    """Try what a tenant may try, as the tenant, and report which layer refuses it. Nothing is changed without --live.

    Ends with 0 where no attempt passes and no control is refused, 1 otherwise, 2 where that cannot be said.
    """
    left_out = tuple(dict.fromkeys(without or ()))
    if Layer.ROLE in left_out and not live:
        raise OperationError(
            "--without role asks as somebody whom no role stops, which takes a RoleBinding for the time of the run",
            "add --live",
        )
    config = described_cluster(stack, PROJECT) if stack else _config(kubeconfig, context)
    try:
        api = connect(config, PROJECT)
        with explaining(api):
            names = tenant or ([""] if namespace else tenants(api))
            if not names:
                raise OperationError("no namespace of the cluster has a tenant's label", "name one with --namespace")
            if len(names) > 1 and (namespace or service_account):
                raise OperationError(
                    "--namespace and --service-account are one tenant's", "name that tenant with --tenant"
                )
            reports = []
            for name in names:
                who = tenancy(api, name, namespace or (), service_account)
                suite = Suite(api, read(api, who, flux_namespace), left_out, live)
                attempts, controls = suite.run(partial(_begins, tuple(only or ("",))))
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
                    )
                )
    except ClusterUnavailable as error:
        where = f"{stack}: cluster.{error.key}" if stack else f"--{error.key}"
        raise OperationError(f"{where}: {error}", "mend that first") from None
    except KeyboardInterrupt:
        typer.echo("interrupted; what was created is removed", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    _show(reports, output, file)
    if not all(report.safe for report in reports):
        raise typer.Exit(1)


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
        # Into a pipe the table goes as wide as it needs.
        Console(width=None if sys.stdout.isatty() else WIDTH).print(as_table(reports))
        return
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(as_table(reports))
    _written(file, out.getvalue())


def _written(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperationError(f"{file} cannot be written: {error.strerror}", "name another one with --file") from None


if __name__ == "__main__":
    app(prog_name="python -m isolation")
