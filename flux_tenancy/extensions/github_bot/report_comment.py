"""Writes the one comment of a pull request, and updates it in place.

It runs with a token that may write comments, on the code of the default branch. Everything from the pull request is
data: which one it is, GitHub says, and the report is made harmless (`review.words.untrusted_markdown`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun
from pydantic import ValidationError

from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.stack.files.project import is_stack_name
from flux_tenancy.extensions.github_bot.connection import FORGED_ARTIFACT, Host, connected, read_artifact
from flux_tenancy.extensions.github_bot.untrusted_markdown import code, cut, neutralized, with_previews
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.render.rendered import DIGESTS, Digests

NO_REPORT = "has no report, or digests that are not those of a render"

MARKER = "<!-- flux-tenancy: review -->"
"""By its first line, the comment is found again."""
BODY_LIMIT = 65_536
"""Characters of a comment that GitHub accepts."""

ARTIFACT, REPORT = "review", "comment.md"
"""What the jobs of a pull request leave behind: the report, and the digests of each stack in a folder of its own."""
BASE = "base"
"""The file beside the report with the commit that it compares with."""
PREVIEW_ARTIFACT, PREVIEW = "preview-", "preview.md"
"""Begins the name of the artifact with a stack's preview, and the file in it."""
_PREVIEWS = 100
_DESCRIPTION = re.compile(r"(Pulumi\.[^/]+\.yaml|tenants/[^/]+\.yaml|docs/.*|[^/]+\.md)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CUT = "*The report is longer than a comment may be. The whole of it is in the artifact of the run below.*"

PROGRAM_CHANGED = (
    "> [!CAUTION]\n"
    "> This pull request changes the program itself, not only stacks and tenants. The changed program made this report "
    "and its digests, so they prove nothing: review its code first. After the merge, `apply` renders the stacks again, "
    "and only where the environment has required reviewers."
)
RUN_FAILED = "> [!CAUTION]\n> The run failed; its report may be incomplete."
SEVERAL = (
    "> [!CAUTION]\n"
    "> No report: several pull requests have this head commit, and GitHub does not say for which one the workflow ran. "
    "Close all others, and push a new commit."
)
BASE_CHANGED = (
    "> [!CAUTION]\n"
    "> No report: the run began before the base of this pull request was changed. Push a new commit, or close and "
    "reopen the pull request."
)
OUTDATED = "> [!WARNING]\n> Outdated: "
BASE_MOVED = f"{OUTDATED}the base has moved on since this report was made. Update the branch."
HEAD_MOVED = f"{OUTDATED}a new run has begun, and its report will replace this one."
_MARK_ROOM = 300
"""Characters that stay free in a comment, so that it can be marked as outdated."""


def comment_on_run(number: int) -> str:
    """Write the report of a workflow run as the comment of the pull request whose head the run has seen.

    While the run is not finished, the comment so far is marked as outdated. A run without a usable report replaces it
    by a comment that says so, because the report of an earlier commit must not be read as that of this one.

    Args:
        number: id of the run, which has left the report and the digests as its artifact.

    Returns:
        what was done; if the pull request has moved on, nothing is written.

    Raises:
        OperationError: the run is not one of a pull request, its artifact is not a report, or the host refuses.
    """
    with connected() as host:
        run = host.repository.get_workflow_run(number)
        found = pull_requests_of(host.repository, run)
        pulls = [pull for pull in found if pull.state == "open"]
        if not pulls:
            return f"The pull request of run {number} has moved on, or is closed; nothing to write."
        if run.status != "completed":
            return "\n".join(f"{mark_outdated(host, pull, HEAD_MOVED)} {pull.html_url}" for pull in pulls)
        if len(found) > 1:
            return "\n".join(_publish_notice(host, pull, run, SEVERAL) for pull in pulls)
        [pull] = pulls
        if base_changed_since(host.repository, pull, run):
            return _publish_notice(host, pull, run, BASE_CHANGED)
        try:
            files = read_artifact(run, host.token, ARTIFACT, is_part_of_the_report)
            tip = tip_of(host.repository, pull.base.ref)
            warnings = warnings_of(files, tip, run.conclusion, changes_the_program(pull))
            blocks = previews(run, host.token)
            body = reported(files, run.head_sha, pull.base.ref, run.html_url, warnings, blocks)
        except OperationError as error:
            notice = f"> [!CAUTION]\n> No report: {neutralized(error.message.text)}."
            done = _publish_notice(host, pull, run, notice)
            if run.conclusion != "success" and error.message.code == "FT-REV-513":
                return done
            raise
        return f"{publish(host, pull.number, body)} {pull.html_url}"


def mark_outdated_reports(branch: str) -> list[str]:
    """Mark the comments of open pull requests whose base has moved on; returns a line for each that was marked.

    Raises:
        OperationError: the host refuses.
    """
    with connected() as host:
        tip = tip_of(host.repository, branch)
        pulls = host.repository.get_pulls(state="open", base=branch)
        done = [(mark_outdated(host, pull, BASE_MOVED, tip), pull.html_url) for pull in pulls]
        return [f"{what} {url}" for what, url in done if what == "Updated:"]


def read_body(file: Path) -> str:
    """The text of a comment or a description, as somebody has written it.

    Raises:
        OSError: the file cannot be read.
    """
    return _text(file.read_bytes())


def pull_requests_of(repository: Repository, run: WorkflowRun) -> list[PullRequest]:
    """All pull requests, open or closed, whose head is the branch and the commit for which a workflow has run.

    A run does not say for which of them it was, and a closed one can be run again. So a run of several is attributed to
    none: whoever opens a second one with another base, whose program is theirs, could forge the report of the first.

    Raises:
        OperationError: the run is not one of a pull request.
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
        return []
    head = f"{run.head_repository.owner.login}:{run.head_branch}"
    return [pull for pull in repository.get_pulls(state="all", head=head) if pull.head.sha == run.head_sha]


def base_changed_since(repository: Repository, pull: PullRequest, run: WorkflowRun) -> bool:
    """Whether somebody has chosen another base since a run began. A run that is repeated keeps the merge that it saw.

    Source: https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#base_ref_changed and
    https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs
    """
    events = repository.get_issue(pull.number).get_timeline()
    return any(each.event == "base_ref_changed" and each.created_at >= run.created_at for each in events)


def tip_of(repository: Repository, branch: str) -> str:
    """The commit of a branch."""
    commit = repository.get_branch(branch).raw_data["commit"]
    # Not every server with GitHub's API calls it `sha`.
    return str(commit.get("sha") or commit["id"])


def warnings_of(files: Mapping[str, bytes], tip: str, conclusion: str, changes_program: bool) -> list[str]:
    """What a reader has to know before the report.

    Args:
        conclusion: how the run has ended, as GitHub names it.
        changes_program: whether the pull request changes the program that has made the report.
    """
    return [
        *([PROGRAM_CHANGED] if changes_program else []),
        *([RUN_FAILED] if conclusion != "success" else []),
        *([BASE_MOVED] if base_of(files) != tip else []),
    ]


def base_of(files: Mapping[str, bytes]) -> str:
    """The commit that the report compares with, or an empty text."""
    text = _text(files.get(BASE, b"")).strip()
    return text if _COMMIT.fullmatch(text) else ""


def previews(run: WorkflowRun, token: str) -> dict[str, str]:
    """The results of previews, by stack. A preview explains and approves nothing: what cannot be read is left out."""
    names = {each.name for each in run.get_artifacts() if each.name.startswith(PREVIEW_ARTIFACT)}
    found = {}
    for name in sorted(names)[:_PREVIEWS]:
        stack = name.removeprefix(PREVIEW_ARTIFACT)
        if not is_stack_name(stack):
            continue
        try:
            files = read_artifact(run, token, name, PREVIEW.__eq__)
        except OperationError:
            continue
        if PREVIEW in files:
            found[stack] = _text(files[PREVIEW])
    return found


def is_part_of_the_report(path: str) -> bool:
    """Whether a file of the artifact is read: the report, its base, or the digests of a stack."""
    parts = PurePosixPath(path).parts
    return path in (REPORT, BASE) or (len(parts) == 2 and parts[1] == DIGESTS)


def changes_the_program(pull: PullRequest) -> bool:
    """Whether a pull request changes more than stacks, tenants and pages, so that its own code has made the report."""
    files = list(pull.get_files())
    paths = [path for file in files for path in (file.filename, file.previous_filename) if path]
    # The host lists a part of a large change.
    return len(files) < pull.changed_files or not all(_DESCRIPTION.fullmatch(path) for path in paths)


def reported(
    files: Mapping[str, bytes],
    head: str,
    branch: str,
    url: str,
    warnings: Sequence[str] = (),
    blocks: Mapping[str, str] | None = None,
) -> str:
    """The comment with the report of a run.

    Args:
        head: the commit that it has seen.
        warnings: what comes first.
        blocks: the results of previews, by stack.

    Raises:
        OperationError: the report or a file of digests is missing or unreadable.
    """
    digests = read_digests(files)
    if REPORT not in files:
        raise OperationError(FORGED_ARTIFACT(artifact=ARTIFACT, problem=NO_REPORT))
    report = with_previews(_text(files[REPORT]), blocks or {})
    # What a changed program calls a digest is not one, until the merged program has rendered it for reviewers.
    lines = [f"- {code(stack)}: {code(each.digest)}" for stack, each in digests.items()]
    footer = ["What merging applies, and nothing else:\n", *lines] if lines and PROGRAM_CHANGED not in warnings else []
    return written(report, [*footer, "", _commits(head, branch, base_of(files), url)], warnings)


def _commits(head: str, branch: str, base: str, url: str) -> str:
    at = f" at {code(base[:10])}" if base else ""
    return f"<sub>head {code(head[:10])} · base {code(branch)}{at} · [run, with the whole report]({url})</sub>"


def _publish_notice(host: Host, pull: PullRequest, run: WorkflowRun, notice: str) -> str:
    """Replace the comment by a notice that there is no report; returns what was done."""
    body = written("", [_commits(run.head_sha, pull.base.ref, "", run.html_url)], [notice])
    return f"{publish(host, pull.number, body)} {pull.html_url}"


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
        raise OperationError(FORGED_ARTIFACT(artifact=ARTIFACT, problem=NO_REPORT)) from None
    if any(stack != each.stack or not is_stack_name(stack) for stack, each in found.items()):
        raise OperationError(FORGED_ARTIFACT(artifact=ARTIFACT, problem=NO_REPORT))
    return found


def written(report: str, footer: Sequence[str], warnings: Sequence[str] = ()) -> str:
    """The body of the comment.

    Args:
        report: Markdown from a pull request.
        footer: lines of our own.
        warnings: paragraphs of our own. They come first, where nothing in the report can fold them away.
    """
    begin = "\n\n".join([f"{MARKER}", *warnings, ""]) if warnings else f"{MARKER}\n"
    end = "\n".join(["", "", "---", *footer]) if footer else ""
    room = BODY_LIMIT - _MARK_ROOM - len(begin) - len(end)
    return f"{begin}{cut(neutralized(report).strip(), room, _CUT)}{end}"


def publish(host: Host, number: int, body: str) -> str:
    """Write the comment, or update it if there is one of ours; returns what was done."""
    issue = host.repository.get_issue(number)
    if (own := _own_comment(host, issue)) is None:
        issue.create_comment(body)
        return "Created:"
    return _update(host, own, body)


def mark_outdated(host: Host, pull: PullRequest, mark: str, tip: str = "") -> str:
    """Put a mark above the report in the comment of a pull request; returns what was done.

    Args:
        mark: HEAD_MOVED or BASE_MOVED.
        tip: the commit of the base, whose report is not outdated; without it, every report is.
    """
    own = _own_comment(host, host.repository.get_issue(pull.number))
    # The last line is ours, whatever the report has.
    if own is None or (tip and code(tip[:10]) in own.body.rpartition("\n")[2]):
        return "Unchanged:"
    rest = own.body.removeprefix(MARKER).lstrip("\n")
    for earlier in (HEAD_MOVED, BASE_MOVED):
        rest = rest.removeprefix(earlier).lstrip("\n")
    return _update(host, own, f"{MARKER}\n\n{mark}\n\n{rest}")


def _own_comment(host: Host, issue: Issue) -> IssueComment | None:
    """Our comment. Others may write one that begins alike; theirs is not ours, since they could change it again."""
    for each in issue.get_comments():
        if each.user is not None and each.user.login == host.login and each.body.startswith(MARKER):
            return each
    return None


def _update(host: Host, comment: IssueComment, body: str) -> str:
    if comment.body == body:
        return "Unchanged:"
    # Not every server with GitHub's API says at which address a comment is.
    path = f"{host.repository.url}/issues/comments/{comment.id}"
    host.repository.requester.requestJsonAndCheck("PATCH", path, input={"body": body})
    return "Updated:"


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")
