"""Finds the digests that reviewers have approved by merging a commit.

The comment of a pull request shows the digests that a run has left behind for its last head. Nobody can change them
afterwards, unlike a comment. Whoever writes false ones does not get anything applied: what is applied is rendered anew
from the merged commit, and has to have the same digest (`review.approval.check`).

That holds for the program that the reviewers had before. A pull request that changes the program made its own report,
and also renders itself when it is applied, so its digest proves nothing. A render by the program of the base would not
help: the changed program is what runs with credentials. So people decide: such a commit is applied only where the
environment has required reviewers.

An approval holds while its commit is the tip of the default branch. An older run, or one that is repeated later, would
take back what was merged since. Repeating the run of the tip applies the same once more, which a failed update needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from github import UnknownObjectException
from github.PullRequest import PullRequest
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.files.project import StackName
from flux_tenancy.extensions.github_bot.connection import connected, read_artifact
from flux_tenancy.extensions.github_bot.report_comment import (
    ARTIFACT,
    changes_the_program,
    is_part_of_the_report,
    read_digests,
    tip_of,
)
from flux_tenancy.project.errors import OperationError, writing
from flux_tenancy.review.render.rendered import DIGESTS, Digests

WORKFLOW = "review.yaml"


def write_approved(commit: str, out: Path, workflow: str = WORKFLOW, stacks: Collection[str] = ()) -> list[str]:
    """Write the digests that the reviewers of a merged pull request have seen, as `<out>/<stack>/digest.json`.

    Args:
        commit: the commit that merging the pull request has made.
        out: folder to write to; each stack gets a folder in it.
        stacks: the only stacks to write; empty for all.

    Returns:
        a line for each stack.

    Raises:
        OperationError: the default branch has moved on, no pull request has made the commit, no run has seen its head
            before the merge, it changed the program and a stack has no required reviewers, or the host refuses.
    """
    wanted = {StackName.parse(stack).stack for stack in stacks}
    with connected() as host:
        refuse_older(host.repository, commit)
        pull = merged(host.repository, commit)
        run = last_run(host.repository, pull, workflow)
        # Whoever runs the jobs again after the merge shows the result to no reviewer.
        files = read_artifact(run, host.token, ARTIFACT, is_part_of_the_report, until=pull.merged_at)
        found = {name: each for name, each in read_digests(files).items() if not wanted or name in wanted}
        if changes_the_program(pull):
            refuse_unguarded(host.repository, pull, list(found))
    write(found, out)
    return [f"{each.stack}: {each.digest}, approved with #{pull.number}" for each in found.values()]


def refuse_older(repository: Repository, commit: str) -> None:
    """Refuse a commit that is not the tip of the default branch.

    Raises:
        OperationError: it is not.
    """
    branch = repository.default_branch
    if (tip := tip_of(repository, branch)) != commit:
        raise OperationError(
            Message(
                "FT-REV-560",
                f"commit {commit[:10]} is not the tip of {branch}, which is {tip[:10]}, so its approval has ended",
                "the run of the later commit applies both; to go back, revert by pull request",
            )
        )


def refuse_unguarded(repository: Repository, pull: PullRequest, stacks: Iterable[str]) -> None:
    """Refuse to apply a changed program where nobody has to agree.

    Raises:
        OperationError: the environment of a stack has no required reviewers.

    Source: https://docs.github.com/en/rest/deployments/environments#get-an-environment
    """
    unguarded = [stack for stack in stacks if not _has_reviewers(repository, stack)]
    if unguarded:
        raise OperationError(
            Message(
                "FT-REV-561",
                f"#{pull.number} changed the program, so its digests prove nothing, and no reviewers are required for "
                f"environment {' and '.join(unguarded)}",
                "add required reviewers to the environment and run the job again, or review the program and run "
                "`flux-tenancy up` yourself",
            )
        )


def _has_reviewers(repository: Repository, environment: str) -> bool:
    try:
        rules = repository.get_environment(environment).protection_rules or []
    except UnknownObjectException:
        return False
    return any(rule.type == "required_reviewers" for rule in rules)


def merged(repository: Repository, commit: str) -> PullRequest:
    """The pull request that has made a commit of the default branch.

    Raises:
        OperationError: it was made in another way, so that nobody has reviewed it.
    """
    pulls = [
        pull
        for pull in repository.get_commit(commit).get_pulls()
        if pull.merged_at and pull.merge_commit_sha == commit and pull.base.ref == repository.default_branch
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
    found = [
        run
        for run in runs
        if run.head_sha == pull.head.sha
        and run.event == "pull_request"
        and run.head_repository is not None
        and f"{run.head_repository.owner.login}:{run.head_branch}" == pull.head.label
    ]
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
