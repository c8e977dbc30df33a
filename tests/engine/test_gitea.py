"""The Git host's server, by itself."""

from __future__ import annotations

import io
import ssl
import tarfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import yaml

from dev.lab.gitea import ADMINISTRATOR
from tests.support.lab import Lab

WRITERS, TOKENS = 8, 6


def test_concurrent_writes_wait_for_each_other(lab: Lab) -> None:
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


def chart(name: str) -> bytes:
    """The archive of a chart with no templates."""
    file = yaml.safe_dump({"apiVersion": "v2", "name": name, "version": "1.0.0"}).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        entry = tarfile.TarInfo(f"{name}/Chart.yaml")
        entry.size = len(file)
        tar.addfile(entry, io.BytesIO(file))
    return archive.getvalue()


def test_package_urls_use_the_host_of_the_request(lab: Lab) -> None:
    """The URLs that Helm and a container runtime are redirected to have the same certificate."""
    address, gitea = lab.git.proxy.secure_address, lab.git.gitea
    charts = f"/api/packages/{ADMINISTRATOR}/helm"
    credentials = gitea.credentials()
    with httpx.Client(
        base_url=address,
        verify=ssl.create_default_context(cafile=lab.git.certificate_authority),
        auth=(credentials.username, credentials.password),
        trust_env=False,
    ) as client:
        client.post(f"{charts}/api/charts", content=chart("guestbook")).raise_for_status()
        index = yaml.safe_load(client.get(f"{charts}/index.yaml").raise_for_status().text)
        stranger = client.get("/v2/", auth=None)

        (url,) = index["entries"]["guestbook"][0]["urls"]
        assert url.startswith(f"{address}/")
        assert client.get(url).is_success
    assert stranger.status_code == 401
    assert f'realm="{address}/v2/token"' in stranger.headers["WWW-Authenticate"]
