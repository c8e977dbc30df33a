"""Finds the digests that reviewers have approved by merging a commit.

The comment of a pull request shows the digests that a run has left behind for its last head. Nobody can change them
afterwards, unlike a comment. Whoever writes false ones does not get anything applied: what is applied is rendered anew
from the merged commit, and has to have the same digest (`review.approval.guard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from github.PullRequest import PullRequest
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun

from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations.errors import OperationError
from flux_tenancy.review.host.artifacts import read_artifact
from flux_tenancy.review.host.connection import connected
from flux_tenancy.review.host.report_comment import ARTIFACT, is_part_of_the_report, read_digests
from flux_tenancy.review.render.digests import DIGESTS, Digests
from flux_tenancy.review.render.files import writing

WORKFLOW = "review.yaml"


def write_approved(commit: str, out: Path, workflow: str = WORKFLOW) -> list[str]:
    """Write the digests that the reviewers of a merged pull request have seen, as `<out>/<stack>/digest.json`.

    Args:
        commit: the commit that merging the pull request has made.
        out: folder to write to; each stack gets a folder in it.
        workflow: file name of the workflow that makes the reports.

    Returns:
        a line for each stack.

    Raises:
        OperationError: no pull request has made the commit, no run has seen its head, or the host refuses.
    """
    with connected() as host:
        pull = merged(host.repository, commit)
        run = last_run(host.repository, pull, workflow)
        files = read_artifact(run, host.token, ARTIFACT, is_part_of_the_report)
    found = read_digests(files)
    write(found, out)
    return [f"{each.stack}: {each.digest}, approved with #{pull.number}" for each in found.values()]


def merged(repository: Repository, commit: str) -> PullRequest:
    """The pull request that has made a commit of the default branch.

    Raises:
        OperationError: it was made in another way, so that nobody has reviewed it.
    """
    pulls = [
        pull for pull in repository.get_commit(commit).get_pulls() if pull.merged_at and pull.merge_commit_sha == commit
    ]
    if len(pulls) != 1:
        raise OperationError(
            Message(
                "FT-REV-520",
                f"commit {commit[:10]} was not made by merging a pull request, so nobody has approved what it applies",
                "change stacks by pull request: revert the commit, and open one",
            )
        )
    return pulls[0]


def last_run(repository: Repository, pull: PullRequest, workflow: str) -> WorkflowRun:
    """The last successful run of the reports' workflow for the head of a pull request.

    Raises:
        OperationError: there is none.
    """
    runs: Iterable[WorkflowRun] = repository.get_workflow(workflow).get_runs(
        event="pull_request", status="success", head_sha=pull.head.sha
    )
    found = [run for run in runs if run.head_sha == pull.head.sha and run.event == "pull_request"]
    if not found:
        raise OperationError(
            Message(
                "FT-REV-521",
                f"no successful run of {workflow} has seen head {pull.head.sha[:10]} of #{pull.number}",
                f"require the checks of {workflow} before merging; revert the commit, and open the pull request again",
            )
        )
    return max(found, key=lambda run: run.id)


def write(found: Mapping[str, Digests], out: Path) -> None:
    """Write digests; the names of stacks are those of folders, and not of paths to anywhere else."""
    with writing(out):
        for stack, digests in found.items():
            folder = out / stack
            folder.mkdir(parents=True, exist_ok=True)
            (folder / DIGESTS).write_text(digests.as_json(), encoding="utf-8")
