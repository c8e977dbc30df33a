"""Writes the one comment of a pull request, and updates it in place.

It runs with a token that may write comments, on the code of the default branch. Everything from the pull request is
data: which one it is, GitHub says, and the report is made harmless (`review.words.untrusted_markdown`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from github.PullRequest import PullRequest
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun
from pydantic import ValidationError

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.files.names import is_stack_name
from flux_tenancy.operations.errors import OperationError
from flux_tenancy.review.host.artifacts import read_artifact
from flux_tenancy.review.host.connection import Host, connected
from flux_tenancy.review.render.digests import DIGESTS, Digests
from flux_tenancy.review.words.untrusted_markdown import code, cut, neutralized

REPORT_UNREADABLE = Wording(
    "FT-REV-516",
    "artifact {artifact} has no report, or digests that are not those of a render",
    "look into the run: its files do not come from `flux-tenancy review diff` and `review render`",
)

MARKER = "<!-- flux-tenancy: review -->"
"""By its first line, the comment is found again."""
LIMIT = 65_536
"""Characters of a comment that GitHub accepts."""

ARTIFACT, REPORT = "review", "comment.md"
"""What the jobs of a pull request leave behind: the report, and the digests of each stack in a folder of its own."""
_DESCRIPTION = re.compile(r"(Pulumi\.[^/]+\.yaml|tenants/[^/]+\.yaml|docs/.*|[^/]+\.md)")
_CUT = "*The report is longer than a comment may be. The whole of it is in the artifact of the run below.*"


def comment_on_run(number: int) -> str:
    """Write the report of a workflow run as the comment of the pull request whose head the run has seen.

    Args:
        number: id of the run, which has left the report and the digests as its artifact.

    Returns:
        what was done; if the pull request has moved on, nothing is written.

    Raises:
        OperationError: the run is not one of a pull request, its artifact is not a report, or the host refuses.
    """
    with connected() as host:
        run = host.repository.get_workflow_run(number)
        pull = pull_request_of(host.repository, run)
        if pull is None:
            return f"The pull request of run {number} has moved on, or is closed; nothing to write."
        files = read_artifact(run, host.token, ARTIFACT, is_part_of_the_report)
        body = reported(files, run.head_sha, run.html_url, changes_the_program(pull))
        return f"{publish(host, pull.number, body)} {pull.html_url}"


def comment_on_pull_request(number: int, file: Path) -> str:
    """Write a report as the comment of a pull request; returns what was done.

    Args:
        number: number of the pull request.
        file: the report as Markdown.

    Raises:
        OperationError: the file cannot be read, or the host refuses.
    """
    body = written(read_body(file), [])
    with connected() as host:
        pull = host.repository.get_pull(number)
        return f"{publish(host, pull.number, body)} {pull.html_url}"


def read_body(file: Path) -> str:
    """The text of a comment or a description, as somebody has written it.

    Raises:
        OperationError: the file cannot be read.
    """
    try:
        return _text(file.read_bytes())
    except OSError as error:
        raise OperationError(
            Message(
                "FT-REV-522", f"{printable(str(file))} cannot be read: {error.strerror}", "name a file with Markdown"
            )
        ) from None


def pull_request_of(repository: Repository, run: WorkflowRun) -> PullRequest | None:
    """The open pull request for whose head a workflow has run; None if its head is another one by now.

    A run of a fork's pull request does not name it, so it is looked up by its branch and compared by its head.

    Raises:
        OperationError: the run is not one of a pull request, or of several.
    """
    if run.event != "pull_request":
        raise OperationError(
            Message(
                "FT-REV-517",
                f"run {run.id} is one of event {printable(run.event)}, not of a pull request",
                "name a run of the workflow `review`",
            )
        )
    if run.head_repository is None:  # a fork that is gone
        return None
    head = f"{run.head_repository.owner.login}:{run.head_branch}"
    pulls = [pull for pull in repository.get_pulls(state="open", head=head) if pull.head.sha == run.head_sha]
    if len(pulls) > 1:
        numbers = ", ".join(f"#{pull.number}" for pull in pulls)
        raise OperationError(
            Message(
                "FT-REV-518", f"run {run.id} is one of several pull requests: {numbers}", "close all but one of them"
            )
        )
    return pulls[0] if pulls else None


def is_part_of_the_report(path: str) -> bool:
    """Whether a file of the artifact is read: the report, or the digests of a stack."""
    parts = PurePosixPath(path).parts
    return path == REPORT or (len(parts) == 2 and parts[1] == DIGESTS)


def changes_the_program(pull: PullRequest) -> bool:
    """Whether a pull request changes more than stacks, tenants and pages, so that its own code has made the report."""
    files = list(pull.get_files())
    paths = [path for file in files for path in (file.filename, file.previous_filename) if path]
    # The host lists a part of a large change.
    return len(files) < pull.changed_files or not all(_DESCRIPTION.fullmatch(path) for path in paths)


def reported(files: Mapping[str, bytes], head: str, url: str, changes_program: bool) -> str:
    """The comment with the report of a run.

    Args:
        files: the content of its artifact.
        head: the commit that it has seen.
        url: its address.
        changes_program: whether the pull request changes the program that has made the report.

    Raises:
        OperationError: the report or a file of digests is missing or unreadable.
    """
    digests = read_digests(files)
    if REPORT not in files:
        raise OperationError(REPORT_UNREADABLE(artifact=ARTIFACT))
    report = _text(files[REPORT])
    footer = [f"- {code(stack)}: {code(each.digest)}" for stack, each in digests.items()]
    if footer:
        footer.insert(0, "What merging applies, and nothing else:\n")
    if changes_program:
        footer += [
            "",
            "> [!WARNING]",
            "> This pull request changes the program itself, not only stacks and tenants. The changed program has made "
            "this report: review its code first.",
        ]
    footer += ["", f"<sub>{head[:10]} · [run and artifacts]({url})</sub>"]
    return written(report, footer)


def read_digests(files: Mapping[str, bytes]) -> dict[str, Digests]:
    """The digests in the files of an artifact, by stack.

    Raises:
        OperationError: one is unreadable, or is not in the folder of its stack.
    """
    try:
        found = {
            PurePosixPath(path).parent.name: Digests.model_validate_json(content)
            for path, content in sorted(files.items())
            if PurePosixPath(path).name == DIGESTS
        }
    except ValidationError:
        raise OperationError(REPORT_UNREADABLE(artifact=ARTIFACT)) from None
    if any(stack != each.stack or not is_stack_name(stack) for stack, each in found.items()):
        raise OperationError(REPORT_UNREADABLE(artifact=ARTIFACT))
    return found


def written(report: str, footer: Sequence[str]) -> str:
    """The body of the comment.

    Args:
        report: Markdown from a pull request.
        footer: lines of our own.
    """
    end = "\n".join(["", "", "---", *footer]) if footer else ""
    room = LIMIT - len(MARKER) - len(end) - 1
    return f"{MARKER}\n{cut(neutralized(report).strip(), room, _CUT)}{end}"


def publish(host: Host, number: int, body: str) -> str:
    """Write the comment, or update it if there is one of ours; returns what was done.

    Others may write a comment that begins alike. Theirs is not updated, since they could change it again.
    """
    issue = host.repository.get_issue(number)
    for each in issue.get_comments():
        if each.user is not None and each.user.login == host.login and each.body.startswith(MARKER):
            if each.body == body:
                return "Unchanged:"
            # Not every server with GitHub's API says at which address a comment is.
            path = f"{host.repository.url}/issues/comments/{each.id}"
            host.repository.requester.requestJsonAndCheck("PATCH", path, input={"body": body})
            return "Updated:"
    issue.create_comment(body)
    return "Created:"


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")
