"""`flux-tenancy monitoring`: the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import Stack, project_folder

app = typer.Typer(help="Metrics, alerts and dashboards of a stack.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Metrics, alerts and dashboards of a stack."""


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to; it is created.")], stack: Stack
) -> None:
    """Write scrape configuration, rules, alerts, dashboards, and the configuration of kube-state-metrics.

    Run it again after a change of the stack's tenants: the rules name each tenant with its namespaces. With Prometheus
    Operator, set `monitoring.operator` in the stack instead.

    Examples:

      flux-tenancy monitoring export monitoring --stack production
    """
    from flux_tenancy.components.stack.loading import load_offline
    from flux_tenancy.extensions.monitoring.objects import files
    from flux_tenancy.project.errors import reading_files, writing

    with reading_files():
        config, _ = load_offline(stack, project_folder())
    written = files(config)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (folder / name).write_text(text, encoding="utf-8")
    typer.echo("\n".join(str(folder / name) for name in written))
