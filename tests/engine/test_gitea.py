"""The Git host's server, by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from lab.gitea import ADMINISTRATOR
from tests.support.lab import Lab

WRITERS, TOKENS = 8, 6


def test_writes_at_the_same_moment_wait_for_each_other(lab: Lab) -> None:
    """A database whose connections share a cache refuses some: "database table is locked", HTTP 500 or 401."""
    gitea = lab.git.gitea

    def write(writer: int) -> list[int]:
        with gitea.client() as client:
            tokens = [{"name": f"{writer}-{number}", "scopes": ["read:user"]} for number in range(TOKENS)]
            repositories = [{"name": token["name"]} for token in tokens]
            return [
                client.post(path, json=new).status_code
                for both in zip(tokens, repositories, strict=True)
                for path, new in zip((f"/users/{ADMINISTRATOR}/tokens", "/user/repos"), both, strict=True)
            ]

    with ThreadPoolExecutor(WRITERS) as writers:
        assert {status for answers in writers.map(write, range(WRITERS)) for status in answers} == {201}
