"""`flux-tenancy ci`: the commands of this project's workflows, for GitHub Actions and servers with its API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import ComparedStacks, Stacks, optional_stack, project_folder, stack_option

app = typer.Typer(help="List stacks for workflows, and post what jobs have found.", no_args_is_help=True)

Run = Annotated[int, typer.Option(metavar="ID", help="Id of the workflow run that has left the reports.")]


@app.command()
def stacks(
    chosen: Annotated[
        str, typer.Option(metavar="JSON", help="Names as a JSON list. Default: all stacks.", show_default=False)
    ] = "",
) -> None:
    """Print the stacks as outputs of a step: `all`, `production`, and `others`, which come before it.

    Examples:

      flux-tenancy ci stacks >> "$GITHUB_OUTPUT"

      flux-tenancy ci stacks --chosen '["staging", "production"]'
    """
    from flux_tenancy.components.stack.config import is_production
    from flux_tenancy.components.stack.loading import load_offline
    from flux_tenancy.project.described_stack import described_stacks

    project = project_folder()
    found = _chosen(chosen, project) if chosen else described_stacks(project)
    production = [stack for stack in found if is_production(stack, load_offline(stack, project)[0])]
    others = [stack for stack in found if stack not in production]
    for output, listed in {"all": found, "others": others, "production": production}.items():
        typer.echo(f"{output}={json.dumps(listed)}")


def _chosen(text: str, project: Path) -> list[str]:
    """The names in a JSON list, each of a stack of the project."""
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.components.stack.files.project import StackName
    from flux_tenancy.project.described_stack import described_file
    from flux_tenancy.project.errors import OperationError

    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise OperationError(
            Message(
                "FT-REV-519",
                "the chosen stacks are not a list of names",
                'name them as a JSON list such as ["staging", "production"], or none for all',
            )
        )
    for name in found:
        described_file(name, project)  # An unknown stack is refused with the names of those that exist.
    return [StackName.parse(name).stack for name in found]


@app.command()
def comment(
    run: Annotated[
        int, typer.Option(metavar="ID", help="Id of the workflow run that has made the report.", show_default=False)
    ] = 0,
    moved: Annotated[
        str, typer.Option(metavar="BRANCH", help="Name of a base branch that has moved on.", show_default=False)
    ] = "",
) -> None:
    """Write the report of a run as the one comment of its pull request, or mark comments as outdated.

    With --run, the report and the digests come from that run's artifact, and the pull request is the one whose head
    the run has seen; if it has moved on, nothing is written. While the run goes on, the comment is marked as outdated,
    and a run without a report replaces it with a comment that says so. With --moved, the comments of all open pull
    requests with that base are marked. GITHUB_TOKEN and GITHUB_REPOSITORY are set as in a job.

    Examples:

      flux-tenancy ci comment --run 1658821493

      flux-tenancy ci comment --moved main
    """
    from flux_tenancy.extensions.github_bot.report_comment import comment_on_run, mark_outdated_reports

    if bool(run) == bool(moved):
        raise typer.BadParameter("name either --run or --moved")
    typer.echo(comment_on_run(run) if run else "\n".join(mark_outdated_reports(moved)) or "No report is outdated.")


@app.command()
def redact(
    file: Annotated[Path, typer.Option("--file", "-f", help="File to write to.")],
    drift: Annotated[
        Path | None,
        typer.Option(help="What `flux-tenancy drift show --output json` has printed.", show_default=False),
    ] = None,
    preview: Annotated[
        Path | None, typer.Option(help="What `pulumi preview --json` has printed.", show_default=False)
    ] = None,
    *,
    stack: Annotated[str, stack_option(str, optional_stack, "Name of the previewed stack.")],
) -> None:
    """Write what a job has found without any values, for an artifact: drift as JSON, a preview as Markdown.

    Examples:

      flux-tenancy ci redact --drift compared.json --file drift.json

      flux-tenancy ci redact --preview preview.json --stack staging --file preview.md
    """
    from flux_tenancy.extensions.github_bot.drift_issue import without_values
    from flux_tenancy.extensions.github_bot.report_comment import read_body
    from flux_tenancy.extensions.github_bot.untrusted_markdown import preview_block
    from flux_tenancy.project.errors import writing

    if drift is not None and preview is None and not stack:
        text = without_values(drift)
    elif preview is not None and drift is None and stack:
        text = f"{preview_block(stack, read_body(preview))}\n"
    else:
        raise typer.BadParameter("name either --drift, or --preview and --stack")
    with writing(file):
        file.write_text(text, encoding="utf-8")


@app.command()
def approved(
    commit: Annotated[str, typer.Option(help="The commit that merging a pull request has made.")],
    out: Annotated[Path, typer.Option(help="Folder to write to; each stack gets a folder in it.")],
    stack: ComparedStacks,
    workflow: Annotated[str, typer.Option(help="File name of the workflow that makes the reports.")] = "review.yaml",
) -> None:
    """Write the digests that the reviewers of a merged pull request have seen, as <out>/<stack>/digest.json.

    Fails if the default branch has moved on, and, for a pull request that changed the program, if the environment of a
    stack has no required reviewers.

    Examples:

      flux-tenancy ci approved --commit "$GITHUB_SHA" --out .approved --stack staging
    """
    from flux_tenancy.extensions.github_bot.merged_digests import write_approved

    typer.echo("\n".join(write_approved(commit, out, workflow, stack)))


@app.command()
def drift_issue(run: Run, stack: Stacks) -> None:
    """Open, update or close the one issue about drift that a workflow run has found.

    Examples:

      flux-tenancy ci drift-issue --run 1658821493 --stack staging,production
    """
    from flux_tenancy.extensions.github_bot.drift_issue import report_drift

    typer.echo(report_drift(run, stack))


@app.command()
def release_pull_request(
    body_file: Annotated[
        Path, typer.Option("--body-file", "-F", help="The description: what `flux-tenancy releases update` prints.")
    ],
) -> None:
    """Open or update the pull request with the stack files that have changed; without changes, write nothing.

    Examples:

      flux-tenancy releases update > releases.md

      flux-tenancy ci release-pull-request --body-file releases.md
    """
    from flux_tenancy.extensions.github_bot.release_pull_request import propose_changes

    typer.echo(propose_changes(project_folder(), body_file))
