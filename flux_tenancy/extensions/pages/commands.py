"""`flux-tenancy tenant page`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import PrometheusOption, find_project, named_stacks, project_folder, stack_option

app = typer.Typer()


@app.command()
def page(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="HTML file to write.")],
    stack: Annotated[
        list[str],
        stack_option(
            list,
            named_stacks,
            "Name of a stack; repeat it, or use commas. Default: all stacks of the project; outside of a project, "
            "`--isolation` alone is shown.",
        ),
    ],
    isolation: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT",
            show_default=False,
            help="Also show this report of `flux-tenancy isolation -o json`.",
        ),
    ] = None,
    policies: Annotated[
        bool, typer.Option("--policies/--no-policies", help="List the objects that policies would refuse.")
    ] = True,
    prometheus: PrometheusOption = None,
) -> None:
    """Write a page with all tenants: state, last commit, quotas, refused objects, people and the next step of each.

    It is one file, which loads nothing and needs no server. It changes nothing.

    Examples:

      flux-tenancy tenant page tenants.html

      flux-tenancy isolation -s staging -o json -f isolation.json

      flux-tenancy tenant page tenants.html -s staging --isolation isolation.json
    """
    from flux_tenancy.extensions.pages.content import as_html, read_isolation, read_stack
    from flux_tenancy.operations.tenants.budgets import read_budgets
    from flux_tenancy.project.described_stack import described_stacks
    from flux_tenancy.project.errors import waiting, writing

    is_alone = isolation and not stack and find_project() is None
    names = [] if is_alone else stack or described_stacks(project_folder())
    report = read_isolation(isolation, names) if isolation else None
    budgets = read_budgets(prometheus, names) if prometheus else {}
    with waiting(f"Reading the tenants of {', '.join(names)}"):
        stacks = [read_stack(each, project_folder(), policies, budgets) for each in names]
    with writing(file):
        file.write_text(as_html(stacks, report), encoding="utf-8")
