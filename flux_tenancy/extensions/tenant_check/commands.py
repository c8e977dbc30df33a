"""The commands of platform teams and of tenants' developers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import File, Stack, Tenant, project_folder
from flux_tenancy.command.program import found

app = typer.Typer()


class Format(StrEnum):
    """The format of the verdicts."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    MARKDOWN = "markdown"


@app.command()
def envelope(
    tenant: Tenant,
    stack: Stack,
    file: File = None,
    definitions: Annotated[
        list[Path] | None,
        typer.Option("--definitions", help="YAML with further CustomResourceDefinitions of the cluster; repeatable."),
    ] = None,
    used: Annotated[bool, typer.Option("--used/--no-used", help="Ask the cluster what is used of each quota.")] = False,
    made: Annotated[str, typer.Option("--made", metavar="TIME", help="Write this time into the envelope.")] = "",
) -> None:
    """Write what decides about a tenant's objects into one file, with which `flux-tenancy check` needs no cluster.

    It has nothing of other tenants and no secrets. Without `--used` and `--made`, a stack always gives the same file.

    Examples:

      flux-tenancy tenant envelope shop --stack staging --file shop.envelope.json

      flux-tenancy tenant envelope shop -s staging --definitions cert-manager.crds.yaml --made 2026-11-28
    """
    from flux_tenancy.extensions.tenant_check.envelope import make_envelope, read_used
    from flux_tenancy.extensions.tenant_check.manifests import read_objects
    from flux_tenancy.project.errors import writing

    project = project_folder()
    kinds = [
        each.manifest
        for path in definitions or ()
        for each in read_objects(path).objects
        if each.manifest["kind"] == "CustomResourceDefinition"
    ]
    made_of = make_envelope(project, stack, tenant, made, kinds, read_used(project, stack, tenant) if used else None)
    if file is None:
        typer.echo(made_of.as_json(), nl=False)
        return
    with writing(file):
        file.write_text(made_of.as_json(), encoding="utf-8")
    typer.echo(f"{file}: {made_of.digest}")


def check(
    path: Annotated[Path, typer.Argument(help="Folder or file with manifests.")] = Path(),
    envelope: Annotated[
        Path, typer.Option("--envelope", "-e", help="The envelope of the tenant, from the platform team.")
    ] = Path("envelope.json"),
    output: Annotated[Format, typer.Option("--format", "-o", help="Format of the verdicts.")] = Format.TABLE,
    file: File = None,
    render: Annotated[
        bool, typer.Option("--render/--no-render", help="Render the folder with `flate`, if it is on PATH.")
    ] = True,
) -> None:
    """Say what a tenant's platform will refuse of its manifests, and what to write instead. Needs no cluster.

    Exits with 1 if an object is refused, needs an opening by the platform team, or is over a quota. Without `flate`,
    files are checked as they are; the output names what was not rendered.

    Examples:

      flux-tenancy check --envelope shop.envelope.json

      flux-tenancy check deploy/ -e shop.envelope.json --format markdown --file comment.md

      kustomize build staging | flux-tenancy check /dev/stdin -e shop.envelope.json
    """
    from flux_tenancy.extensions.tenant_check import report as forms
    from flux_tenancy.extensions.tenant_check.envelope import read_envelope
    from flux_tenancy.extensions.tenant_check.judge import judge
    from flux_tenancy.extensions.tenant_check.manifests import read_repository
    from flux_tenancy.project.errors import OperationError, writing
    from flux_tenancy.review.admission.check import NOT_CHECKED
    from flux_tenancy.review.admission.program import PROGRAM, VARIABLE, find_program

    decides = read_envelope(envelope)
    program = find_program()
    if program is None:
        raise OperationError(NOT_CHECKED(program=PROGRAM, variable=VARIABLE))
    repository = read_repository(path, decides.syncs, render=render)
    report = forms.Report(decides, judge(program, decides, repository.objects), repository.unrendered)
    text = {
        Format.TABLE: forms.as_text,
        Format.JSON: forms.as_json,
        Format.SARIF: forms.as_sarif,
        Format.MARKDOWN: forms.as_markdown,
    }[output](report)
    if file is None:
        typer.echo(text)
    else:
        with writing(file):
            file.write_text(f"{text}\n", encoding="utf-8")
    if report.is_refused:
        found()
