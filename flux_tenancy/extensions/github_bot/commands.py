"""`flux-tenancy ci`: the commands of this project's workflows, for GitHub Actions and servers with its API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command.options import ComparedStacks, File, Stack, Stacks
from flux_tenancy.command.project import project_folder

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
    from flux_tenancy.extensions.github_bot.stacks import step_outputs

    typer.echo(step_outputs(chosen, project_folder()))


@app.command()
def comment(
    run: Annotated[
        int, typer.Option(metavar="ID", help="Id of the workflow run that has made the report.", show_default=False)
    ] = 0,
    pull_request: Annotated[
        int, typer.Option(metavar="NUMBER", help="Number of the pull request, with --body-file.", show_default=False)
    ] = 0,
    body_file: Annotated[
        Path | None, typer.Option("--body-file", "-F", help="The report as Markdown.", show_default=False)
    ] = None,
) -> None:
    """Write the report of a change as the one comment of its pull request.

    With --run, the report and the digests come from that run's artifact, and the pull request is the one whose head
    the run has seen; if it has moved on, nothing is written. While the run goes on, the comment is marked as outdated,
    and a run without a report replaces it with a comment that says so. GITHUB_TOKEN and GITHUB_REPOSITORY are set as in
    a job.

    Examples:

      flux-tenancy ci comment --run 1658821493

      flux-tenancy ci comment --pull-request 12 --body-file comment.md
    """
    from flux_tenancy.extensions.github_bot.report_comment import comment_on_pull_request, comment_on_run

    if run and not pull_request and body_file is None:
        typer.echo(comment_on_run(run))
    elif pull_request and body_file is not None and not run:
        typer.echo(comment_on_pull_request(pull_request, body_file))
    else:
        raise typer.BadParameter("name either --run, or --pull-request and --body-file")


@app.command()
def outdated(
    branch: Annotated[str, typer.Option(help="Name of the branch that has moved on.")],
) -> None:
    """Mark the comments of open pull requests whose base branch has moved on.

    Examples:

      flux-tenancy ci outdated --branch main
    """
    from flux_tenancy.extensions.github_bot.report_comment import mark_outdated_reports

    typer.echo("\n".join(mark_outdated_reports(branch)) or "No report is outdated.")


@app.command()
def preview_block(
    stack: Stack,
    preview: Annotated[Path, typer.Option(help="What `pulumi preview --json` has printed.")],
    file: File = None,
) -> None:
    """Turn the result of a preview into a block of the comment, without any values.

    Examples:

      flux-tenancy ci preview-block --stack staging --preview preview.json --file preview.md
    """
    from flux_tenancy.extensions.github_bot.previews import preview_block
    from flux_tenancy.extensions.github_bot.report_comment import read_body
    from flux_tenancy.review.render.files import writing

    block = preview_block(stack, read_body(preview))
    if file is None:
        typer.echo(block)
    else:
        with writing(file):
            file.write_text(f"{block}\n", encoding="utf-8")


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
def drift_report(
    compared: Annotated[Path, typer.Option(help="What `flux-tenancy drift show --output json` has printed.")],
    file: Annotated[Path, typer.Option("--file", "-f", help="File to write to.")],
) -> None:
    """Write what differs without any values, for an artifact.

    Examples:

      flux-tenancy ci drift-report --compared compared.json --file drift.json
    """
    from flux_tenancy.extensions.github_bot.drift_issue import without_values
    from flux_tenancy.review.render.files import writing

    text = without_values(compared)
    with writing(file):
        file.write_text(text, encoding="utf-8")


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
