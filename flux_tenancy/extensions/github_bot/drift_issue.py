"""Keeps one issue about what differs between clusters and stacks, and closes it when nothing does.

It reads the reports of `flux-tenancy drift show --output json`. Names in a cluster may be those of tenants, so they are
shown as code. Values are not shown: who may read the issue may not be who may read the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from github.Issue import Issue
from pydantic import BaseModel, ValidationError

from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.stack.files.project import StackName
from flux_tenancy.components.vocabulary.manifests import qualified
from flux_tenancy.extensions.github_bot.connection import FORGED_ARTIFACT, Host, connected, read_artifact
from flux_tenancy.extensions.github_bot.report_comment import BODY_LIMIT, read_body
from flux_tenancy.extensions.github_bot.untrusted_markdown import code, cut
from flux_tenancy.project.errors import OperationError

MARKER = "<!-- flux-tenancy: drift -->"
TITLE = "Clusters differ from their stacks"
ARTIFACT, FILE = "drift-{stack}", "drift.json"
SHOWN = 100
"""Differences of a stack that the issue lists."""
CUT = "*There is more than an issue may have. `flux-tenancy drift show` shows all of it.*"


class ReportedDifference(BaseModel):
    """One difference, as far as it is shown."""

    what: str
    kind: str
    namespace: str
    name: str
    field: str
    by: str
    since: str


class ReportedDrift(BaseModel):
    """The report of `flux-tenancy drift show --output json` for a stack."""

    compared: int
    unread: tuple[str, ...] = ()
    differences: tuple[ReportedDifference, ...]


def report_drift(number: int, stacks: Sequence[str]) -> str:
    """Open, update or close the issue; returns what was done.

    Args:
        number: id of the workflow run that has compared the clusters, and has left an artifact for each stack.

    Raises:
        OperationError: an artifact is not a report, or the host refuses.
    """
    with connected() as host:
        found = host.repository.get_workflow_run(number)
        drifts: dict[str, ReportedDrift | None] = {}
        for stack in [StackName.parse(each).stack for each in stacks]:
            try:
                name = ARTIFACT.format(stack=stack)
                files = read_artifact(found, host.token, name, FILE.__eq__)
                drifts[stack] = ReportedDrift.model_validate_json(files[FILE])
            except OperationError as error:
                if error.message.code != "FT-REV-513":
                    raise
                drifts[stack] = None
            except (KeyError, ValidationError):
                raise OperationError(FORGED_ARTIFACT(artifact=name, problem="has no report of drift")) from None
        return publish(host, drifts, found.html_url)


def without_values(compared: Path) -> str:
    """The report of a stack as its artifact has it: who may read the repository may not be who may read the cluster.

    Args:
        compared: file with what `flux-tenancy drift show --output json` has printed.

    Raises:
        OperationError: the file is not such a report.
        OSError: it cannot be read.
    """
    try:
        return ReportedDrift.model_validate_json(read_body(compared)).model_dump_json() + "\n"
    except ValidationError:
        raise OperationError(
            Message(
                "FT-REV-562",
                f"{printable(compared.name)} is not a report of drift",
                "look why `flux-tenancy drift show --output json` has failed",
            )
        ) from None


def publish(host: Host, drifts: Mapping[str, ReportedDrift | None], url: str) -> str:
    """Open, update or close the issue; returns what was done.

    Args:
        drifts: what differs by stack; None for one that could not be compared.
    """
    issue = _open_issue(host)
    if any(drift and drift.differences for drift in drifts.values()):
        body = described(drifts, url)
        if issue is None:
            return f"Opened: {host.repository.create_issue(TITLE, body).html_url}"
        issue.edit(body=body)
        return f"Updated: {issue.html_url}"
    if None in drifts.values():
        left = "not every stack was compared"
        return f"Left open, since {left}: {issue.html_url}" if issue else f"Nothing is reported, but {left}."
    if issue is None:
        return "Nothing to report."
    said = [f"No cluster differs from its stack any more ([run]({url})).", *_unread(drifts)]
    issue.edit(body="\n\n".join([MARKER, *said]), state="closed")
    return f"Closed: {issue.html_url}"


def described(drifts: Mapping[str, ReportedDrift | None], url: str) -> str:
    """The body of the issue."""
    parts = [f"{MARKER}\n`flux-tenancy up`, or a merge, restores what is missing or changed ([run]({url}))."]
    for stack, drift in drifts.items():
        if drift is None:
            parts.append(f"## {code(stack)}\n\nIt could not be compared; the run says why.")
        elif drift.differences:
            parts.append(f"## {code(stack)}\n\n{_table(drift.differences)}")
    return cut("\n\n".join([*parts, *_unread(drifts)]), BODY_LIMIT, CUT)


def _unread(drifts: Mapping[str, ReportedDrift | None]) -> list[str]:
    """A sentence for each stack of which something was not compared."""
    return [
        f"Not compared in {code(stack)}, since the workflow may not list them: {', '.join(map(code, drift.unread))}."
        for stack, drift in drifts.items()
        if drift and drift.unread
    ]


def _table(differences: Sequence[ReportedDifference]) -> str:
    rows = ["| | Object | Field | By | Since |", "| --- | --- | --- | --- | --- |"]
    for each in differences[:SHOWN]:
        path = qualified(each.namespace, each.name)
        cells = (each.what, f"{each.kind} {path}", each.field, each.by, each.since)
        rows.append(f"| {' | '.join(code(cell) if cell else '' for cell in cells)} |")
    if len(differences) > SHOWN:
        rows += ["", f"And {len(differences) - SHOWN} more, which `flux-tenancy drift show` shows."]
    return "\n".join(rows)


def _open_issue(host: Host) -> Issue | None:
    for issue in host.repository.get_issues(state="open"):
        if issue.user is not None and issue.user.login == host.login and (issue.body or "").startswith(MARKER):
            return issue
    return None
