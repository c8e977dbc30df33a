"""The repository's host, at GitHub's API or a server with its shape, and the files that jobs have left there.

The jobs of a pull request run its own code, so they can leave anything. What is taken from an artifact are files whose
names were known beforehand, up to a size, only in memory, and never unpacked.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/variables
"""

from __future__ import annotations

import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

import requests
from github import Auth, Github, GithubException
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun

from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.git.github_access import PUBLIC_API, TIMEOUT_SECONDS
from flux_tenancy.project.errors import OperationError

HOST_REFUSES = Wording(
    "FT-REV-511",
    "{api} answers {status}: {reason}",
    "check that the token is valid, and that the job has the permissions in docs/review.md",
)

WORKFLOW_AUTHOR = "github-actions[bot]"
"""Who a workflow's own token writes as; such a token may not ask who it is."""


@dataclass(frozen=True)
class Host:
    """A repository, as one of its users sees it.

    Attributes:
        login: name of the user whose token is used.
        token: the token, for what PyGithub cannot download.
    """

    repository: Repository
    login: str
    token: str = field(repr=False)


@contextmanager
def connected() -> Iterator[Host]:
    """The repository in GITHUB_REPOSITORY at GITHUB_API_URL, with the token in GITHUB_TOKEN.

    Raises:
        OperationError: a variable is missing, or the host refuses a request or does not answer.
    """
    missing = [name for name in ("GITHUB_REPOSITORY", "GITHUB_TOKEN") if not os.environ.get(name)]
    if missing:
        raise OperationError(
            Message(
                "FT-REV-510",
                f"no {' and no '.join(missing)} in the environment",
                "set it as GitHub Actions does: GITHUB_REPOSITORY to owner/name, GITHUB_TOKEN to a token that "
                "may write comments",
            )
        )
    api, token = os.environ.get("GITHUB_API_URL") or PUBLIC_API, os.environ["GITHUB_TOKEN"]
    try:
        with _client(api, token) as client:
            yield Host(client.get_repo(os.environ["GITHUB_REPOSITORY"]), _login(client), token)
    except GithubException as error:
        reason = printable(error.message or "")
        raise OperationError(HOST_REFUSES(api=api, status=error.status, reason=reason)) from None
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        raise OperationError(HOST_REFUSES(api=api, status=status, reason="of a download")) from None
    except requests.RequestException:
        raise OperationError(
            Message("FT-REV-512", f"{api} does not answer, or its answer is incomplete", "run the job again")
        ) from None


def _client(api: str, token: str) -> Github:
    # Without the library's pauses between requests: a command makes a few, and writes once.
    return Github(
        base_url=api,
        auth=Auth.Token(token),
        timeout=TIMEOUT_SECONDS,
        retry=None,
        per_page=100,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )


def _login(client: Github) -> str:
    try:
        return client.get_user().login
    except GithubException as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return WORKFLOW_AUTHOR


FORGED_ARTIFACT = Wording(
    "FT-REV-516",
    "artifact {artifact} {problem}",
    "look into its run: its files do not come from `flux-tenancy review diff` and `review render`",
)

ARCHIVE_LIMIT = 5_000_000
"""Bytes of an archive."""
FILE_LIMIT = 2_000_000
"""Bytes of a file in it; the digests of 100 tenants take a tenth of it."""
COUNT_LIMIT = 1_000
"""Files in an archive."""
TOTAL_LIMIT = 20_000_000
"""Bytes of all wanted files together; 100 stacks of 100 tenants take half of it."""
RATIO_LIMIT = 200
"""Bytes unpacked for each byte of the archive; a report and its digests reach 20, a bomb 1,000."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
"""What Python's reader raises for archives that are damaged, encrypted or of an unknown method."""


def read_artifact(
    run: WorkflowRun, token: str, name: str, wanted: Callable[[str], bool], until: datetime | None = None
) -> Mapping[str, bytes]:
    """Files of an artifact, by their path in it.

    Args:
        run: the run of a workflow that has left it.
        token: the token that may read the repository's actions.
        wanted: tells by its path whether a file is read.
        until: the latest time at which it was left; None for any.

    Raises:
        OperationError: there is no such artifact, it is too large, or it is not an archive.
    """
    # A job that ran again has left another one of the same name.
    found = [each for each in run.get_artifacts() if each.name == name and not each.expired]
    if until is not None:
        found = [each for each in found if each.created_at <= until]
    if not found:
        raise OperationError(
            Message(
                "FT-REV-513",
                f"run {run.id} has no artifact {name}",
                "look why its jobs have failed, and run them again",
            )
        )
    artifact = max(found, key=lambda each: each.id)
    is_too_large = artifact.size_in_bytes > ARCHIVE_LIMIT
    archive = None if is_too_large else _download(artifact.archive_download_url, token)
    if archive is None:
        raise OperationError(FORGED_ARTIFACT(artifact=name, problem=f"is larger than {ARCHIVE_LIMIT} bytes"))
    try:
        files = unpacked(archive, wanted)
    except _DAMAGED:
        raise OperationError(FORGED_ARTIFACT(artifact=name, problem="is damaged or not a ZIP archive")) from None
    if files is None:
        raise OperationError(FORGED_ARTIFACT(artifact=name, problem=f"has a file larger than {FILE_LIMIT} bytes"))
    return files


def unpacked(archive: bytes, wanted: Callable[[str], bool]) -> dict[str, bytes] | None:
    """The wanted files of a ZIP archive; None if there are too many, or they are too large.

    Raises:
        BadZipFile: it is not an archive, or one of the errors in `_DAMAGED`.
    """
    files: dict[str, bytes] = {}
    room = min(TOTAL_LIMIT, RATIO_LIMIT * len(archive))
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        entries = [entry for entry in content.infolist() if wanted(entry.filename)]
        if len(entries) > COUNT_LIMIT:
            return None
        for entry in entries:
            limit = min(FILE_LIMIT, room)
            with content.open(entry) as file:
                # The size in the archive's list is what its author says.
                files[entry.filename] = file.read(limit + 1)
            if len(files[entry.filename]) > limit:
                return None
            room -= len(files[entry.filename])
    return files


def _download(url: str, token: str) -> bytes | None:
    """The content of a URL, which may redirect to a storage service without the token; None if it is too large."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        response.raise_for_status()
        content = b""
        for chunk in response.iter_content(1 << 16):
            content += chunk
            if len(content) > ARCHIVE_LIMIT:
                return None
    return content
