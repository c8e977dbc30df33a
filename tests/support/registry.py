"""Container images in the lab's registry, which is its Git host, and their signatures by the real cosign."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from lab.gitea import Gitea

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
# A tar archive without entries.
_NO_FILES = bytes(1024)


class Registry:
    """The registry, as somebody who may push to it sees it; whoever wants may pull.

    Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
    """

    def __init__(self, gitea: Gitea, owner: str) -> None:
        """Make the owner of the images, an organisation that everybody sees."""
        self._gitea, self._owner = gitea, owner
        with gitea.client() as api:
            if api.get(f"/orgs/{owner}").status_code == httpx.codes.NOT_FOUND:
                api.post("/orgs", json={"username": owner, "visibility": "public"}).raise_for_status()

    @property
    def prefix(self) -> str:
        """What the names of all its images begin with."""
        return f"{urlsplit(self._gitea.address).netloc}/{self._owner}"

    @property
    def credentials(self) -> tuple[str, str]:
        """User name and password of who may push."""
        administrator = self._gitea.credentials()
        return administrator.username, administrator.password

    def push(self, name: str, tag: str) -> str:
        """Push an image of its own; returns its name with its digest."""
        config = {"architecture": "amd64", "os": "linux", "config": {"Labels": {"name": f"{name}:{tag}"}}}
        config |= {"rootfs": {"type": "layers", "diff_ids": [_digest(_NO_FILES)]}}
        with httpx.Client(
            base_url=f"{self._gitea.address}/v2/{self._owner}/{name}/", auth=self.credentials, trust_env=False
        ) as api:
            manifest = {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": _blob(api, _CONFIG, json.dumps(config).encode()),
                "layers": [_blob(api, _LAYER, _NO_FILES)],
            }
            content = json.dumps(manifest).encode()
            api.put(f"manifests/{tag}", content=content, headers={"Content-Type": _MANIFEST}).raise_for_status()
        return f"{self.prefix}/{name}@{_digest(content)}"


@dataclass(frozen=True)
class Signer:
    """Somebody who signs images with a key pair of their own.

    Attributes:
        cosign: cosign's program.
        folder: where the key pair lies.
    """

    cosign: Path
    folder: Path

    @classmethod
    def new(cls, cosign: Path, folder: Path) -> Signer:
        folder.mkdir(parents=True)
        signer = cls(cosign, folder)
        signer._run("generate-key-pair")
        return signer

    @property
    def public_key(self) -> str:
        return (self.folder / "cosign.pub").read_text()

    def sign(self, image: str, registry: Registry, *, bundle: bool = True) -> None:
        """Sign an image by its digest, without a transparency log.

        Args:
            image: name with digest.
            registry: where it lies, and its signature will.
            bundle: write the bundle that cosign 3 writes, or the tag that it wrote before.
        """
        user, password = registry.credentials
        self._run("signing-config", "create", "--out=no-services.json")
        form = ["--signing-config=no-services.json"]
        if not bundle:
            form = ["--use-signing-config=false", "--new-bundle-format=false", "--tlog-upload=false"]
        login = (f"--registry-username={user}", f"--registry-password={password}")
        self._run("sign", "--yes", "--key=cosign.key", *form, *login, image)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.cosign), *arguments],
            cwd=self.folder,
            env={**os.environ, "COSIGN_PASSWORD": "", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def _blob(api: httpx.Client, kind: str, content: bytes) -> dict[str, object]:
    digest = _digest(content)
    api.post("blobs/uploads/", params={"digest": digest}, content=content).raise_for_status()
    return {"mediaType": kind, "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
