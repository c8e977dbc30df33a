"""`flux-tenancy monitoring`: the commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import Stack
from flux_tenancy.command.project import project_folder


class ExportFormat(StrEnum):
    """What the files are for."""

    PROMETHEUS = "prometheus"
    OPERATOR = "operator"


app = typer.Typer(help="Metrics, alerts and dashboards of a stack.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Metrics, alerts and dashboards of a stack."""


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to; it is created.")],
    stack: Stack,
    output: Annotated[
        ExportFormat, typer.Option("--format", help="Files of Prometheus, or objects of Prometheus Operator.")
    ] = ExportFormat.PROMETHEUS,
    namespace: Annotated[str, typer.Option(help="Namespace of the objects, with `--format operator`.")] = "monitoring",
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Label by which the operator selects its objects; repeat it."),
    ] = None,
    documentation: Annotated[
        str, typer.Option(metavar="URL", help="Where the documentation is, for the links to runbooks.")
    ] = "docs",
    with_dashboards: Annotated[
        bool, typer.Option("--dashboards/--no-dashboards", help="Write the dashboards; they need Grafana's SDK.")
    ] = True,
) -> None:
    """Write scrape configuration, rules, alerts, dashboards, and the configuration of kube-state-metrics.

    Run it again after a change of the stack's tenants: the rules name each tenant with its namespaces.

    Examples:

      flux-tenancy monitoring export monitoring --stack production

      flux-tenancy monitoring export fleet/monitoring --stack production --format operator --label release=prometheus
    """
    from flux_tenancy.components.stack.loading import load_offline
    from flux_tenancy.extensions.monitoring.dashboards import dashboards
    from flux_tenancy.extensions.monitoring.export import operator_files, plain_files
    from flux_tenancy.extensions.monitoring.facts import MonitoredStack
    from flux_tenancy.project.errors import reading_files
    from flux_tenancy.review.render.files import writing

    labels = dict(each.partition("=")[::2] for each in label or ())
    if not all(key and value for key, value in labels.items()):
        raise typer.BadParameter("write each label as KEY=VALUE", param_hint="--label")
    boards = dashboards() if with_dashboards else {}
    with reading_files():
        config, _ = load_offline(stack, project_folder())
    facts = MonitoredStack.of(config)
    if output is ExportFormat.OPERATOR:
        files = operator_files(facts, documentation, boards, namespace, labels)
    else:
        files = plain_files(facts, documentation, boards)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    typer.echo("\n".join(str(folder / name) for name in files))
