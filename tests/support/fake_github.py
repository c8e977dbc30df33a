"""GitHub's API, as far as the commands for pull requests use it; what it lacks, another host can answer."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.http_double import Answer, Asked, serving, stop

TOKEN = "ghs_the-job's-own"
REPOSITORY = "acme/platform"
BOT = "github-actions[bot]"
HEAD, OTHER_HEAD = "a" * 40, "b" * 40
BASE = "d" * 40
BRANCH = "widen-role"


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive, as `actions/upload-artifact` makes it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        for path, text in files.items():
            target.writestr(path, text)
    return content.getvalue()


@dataclass
class FakeGitHub:
    """What the repository has.

    Attributes:
        url: address of the API.
        user: name of the token's user; a workflow's own token has none.
        pulls: pull requests by number.
        changed: the files that each pull request changes.
        runs: workflow runs by id.
        artifacts: archives by run and name.
        comments: comments of issues and pull requests, in order.
        issues: issues by number.
        content: other answers by path below the repository.
        tips: commits of branches.
        timelines: events by pull request.
        refused: paths that are answered with 403.
        cut_off: beginnings of paths below the API whose answers end before their last byte.
        writes: method and path of each request that changes something.
        sent: the bodies of these requests.
        upstream: answers everything but workflow runs and their artifacts, given method, path with query, and body.
    """

    url: str = ""
    user: str = ""
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    changed: dict[int, list[str]] = field(default_factory=dict)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[tuple[int, str], bytes] = field(default_factory=dict)
    comments: list[dict[str, Any]] = field(default_factory=list)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    timelines: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    cut_off: tuple[str, ...] = ()
    writes: list[str] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)
    upstream: Callable[[str, str, Any], tuple[int, Any]] | None = None

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a job."""
        return {"GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_TOKEN": TOKEN}

    def pull(self, number: int, head: str = HEAD, owner: str = "acme", branch: str = BRANCH) -> None:
        """Open a pull request that changes a stack file."""
        self.changed[number] = ["Pulumi.staging.yaml"]
        self.pulls[number] = {
            "number": number,
            "url": f"{self.url}/repos/{REPOSITORY}/pulls/{number}",
            "html_url": f"https://github.test/{REPOSITORY}/pull/{number}",
            "state": "open",
            "head": {"sha": head, "label": f"{owner}:{branch}", "ref": branch},
            "base": {"sha": "0" * 40, "ref": "main"},
        }

    def run(self, number: int, head: str = HEAD, owner: str = "acme", event: str = "pull_request") -> None:
        """Have a workflow run for a head."""
        self.runs[number] = {
            "id": number,
            "url": f"{self.url}/repos/{REPOSITORY}/actions/runs/{number}",
            "html_url": f"https://github.test/{REPOSITORY}/actions/runs/{number}",
            "artifacts_url": f"{self.url}/repos/{REPOSITORY}/actions/runs/{number}/artifacts",
            "event": event,
            "status": "completed",
            "conclusion": "success",
            "created_at": "2026-11-23T03:00:00Z",
            "head_sha": head,
            "head_branch": BRANCH,
            "head_repository": {"owner": {"login": owner}},
        }

    def answer(self, method: str, path: str, query: str, sent: Any) -> tuple[int, Any]:
        """Status and body of a request below the repository."""
        if method != "GET":
            self.writes.append(f"{method} {path}")
            self.sent.append(sent)
        if path in self.refused:
            return 403, {"message": "Resource not accessible by integration"}
        if path in self.content:
            return 200, self.content[path]
        if path == "":
            return 200, {"full_name": REPOSITORY, "url": f"{self.url}/repos/{REPOSITORY}", "default_branch": "main"}
        if path == "/pulls" and method == "POST":
            return 201, {"html_url": f"https://github.test/{REPOSITORY}/pull/9"}
        if path == "/pulls":
            # GitHub compares the head as `owner:branch`.
            asked = {name: values[0] for name, values in parse_qs(query).items()}
            return 200, [
                pull
                for pull in self.pulls.values()
                if asked.get("head", pull["head"]["label"]) == pull["head"]["label"]
                and asked.get("base", pull["base"]["ref"]) == pull["base"]["ref"]
                and asked.get("state", "open") in ("all", pull["state"])
            ]
        if found := re.fullmatch(r"/branches/(.+)", path):
            return 200, {"name": found[1], "commit": {"sha": self.tips.get(found[1], BASE)}}
        if found := re.fullmatch(r"/issues/(\d+)/timeline", path):
            return 200, self.timelines.get(int(found[1]), [])
        if found := re.fullmatch(r"/pulls/(\d+)(/files)?", path):
            number = int(found[1])
            if found[2]:
                return 200, [{"filename": name} for name in self.changed[number]]
            return 200, {"changed_files": len(self.changed[number])} | self.pulls[number]
        if found := re.fullmatch(r"/actions/runs/(\d+)", path):
            return 200, self.runs[int(found[1])]
        if found := re.fullmatch(r"/actions/runs/(\d+)/artifacts", path):
            return 200, self._artifacts(int(found[1]))
        if found := re.fullmatch(r"/issues/(\d+)(/comments)?", path):
            return self._issue(method, int(found[1]), bool(found[2]), sent)
        if found := re.fullmatch(r"/issues/comments/(\d+)", path):
            comment = self.comments[int(found[1])]
            comment["body"] = sent["body"]
            return 200, comment
        if path == "/issues":
            if method == "POST":
                number = len(self.issues) + 100
                self.issues[number] = self._described(number, BOT) | sent
                return 201, self.issues[number]
            state = "closed" if "state=closed" in query else "open"
            return 200, [issue for issue in self.issues.values() if issue["state"] == state]
        return 404, {"message": "Not Found"}

    def comment(self, number: int, author: str, body: str) -> dict[str, Any]:
        """A comment of somebody."""
        url = f"{self.url}/repos/{REPOSITORY}/issues/comments/{len(self.comments)}"
        new = {"id": len(self.comments), "issue": number, "user": {"login": author}, "body": body, "url": url}
        self.comments.append(new)
        return new

    def _described(self, number: int, author: str) -> dict[str, Any]:
        url = f"{self.url}/repos/{REPOSITORY}/issues/{number}"
        page = f"https://github.test/{REPOSITORY}/issues/{number}"
        return {"number": number, "url": url, "html_url": page, "state": "open", "user": {"login": author}, "title": ""}

    def _issue(self, method: str, number: int, is_comments: bool, sent: Any) -> tuple[int, Any]:
        if not is_comments:
            issue = self.issues.get(number) or self._described(number, BOT)
            if method == "PATCH":
                issue |= sent
            return 200, issue
        if method == "POST":
            return 201, self.comment(number, self.user or BOT, sent["body"])
        return 200, [comment for comment in self.comments if comment["issue"] == number]

    def _artifacts(self, run: int) -> dict[str, Any]:
        found = [
            {
                "id": index,
                "name": name,
                "size_in_bytes": len(content),
                "expired": False,
                "created_at": "2026-11-23T03:10:00Z",
                "archive_download_url": f"{self.url}/archives/{of}/{name}",
            }
            for index, ((of, name), content) in enumerate(self.artifacts.items())
            if of == run
        ]
        return {"total_count": len(found), "artifacts": found}


@contextmanager
def github() -> Iterator[FakeGitHub]:
    """A server that refuses whoever has another token."""
    fake = FakeGitHub()

    def answer(asked: Asked) -> Answer:
        status, content = found(asked)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {"Content-Type": "application/json"}
        if not asked.path.startswith(fake.cut_off):
            return Answer(status, body, headers)
        return Answer(status, body[:-1], headers | {"Content-Length": str(len(body)), "Connection": "close"})

    def found(asked: Asked) -> tuple[int, Any]:
        if asked.headers.get("Authorization", "").partition(" ")[2] != TOKEN:
            return 401, {"message": "Bad credentials"}
        url = urlsplit(asked.path)
        own = url.path.startswith(("/archives/", f"/repos/{REPOSITORY}/actions/"))
        if fake.upstream is not None and not own:
            return fake.upstream(asked.method, asked.path, asked.json)
        if url.path == "/user":
            return (200, {"login": fake.user}) if fake.user else (403, {"message": "Resource not accessible"})
        if url.path.startswith("/archives/"):
            _, _, run, name = url.path.split("/")
            return 200, fake.artifacts[int(run), name]
        path = unquote(url.path).removeprefix(f"/repos/{REPOSITORY}")
        return fake.answer(asked.method, path, url.query, asked.json)

    server = serving(answer)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        stop(server)
