"""Files that a job of another workflow has left behind: data of strangers, which is read and never unpacked.

The jobs of a pull request run its own code, so they can leave anything. What is taken from an artifact are files whose
names were known beforehand, up to a size, and only in memory.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime

import requests
from github.WorkflowRun import WorkflowRun

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.git.github_access import TIMEOUT_SECONDS
from flux_tenancy.project.errors import OperationError

ARTIFACT_TOO_LARGE = Wording(
    "FT-REV-514",
    "artifact {artifact} of run {run} is larger than {limit} bytes",
    "look into the run: its report does not come from `flux-tenancy review diff`",
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
        name: name of the artifact.
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
    if artifact.size_in_bytes > ARCHIVE_LIMIT:
        raise OperationError(ARTIFACT_TOO_LARGE(artifact=name, run=run.id, limit=ARCHIVE_LIMIT))
    archive = _download(artifact.archive_download_url, token)
    if archive is None:
        raise OperationError(ARTIFACT_TOO_LARGE(artifact=name, run=run.id, limit=ARCHIVE_LIMIT))
    try:
        files = unpacked(archive, wanted)
    except _DAMAGED:
        raise OperationError(
            Message(
                "FT-REV-515", f"artifact {name} of run {run.id} is damaged or not a ZIP archive", "run its jobs again"
            )
        ) from None
    if files is None:
        raise OperationError(ARTIFACT_TOO_LARGE(artifact=name, run=run.id, limit=FILE_LIMIT))
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
