"""Images and charts in the registry of the lab's Git host, and image signatures by the real cosign."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from dev.lab.gitea import Gitea
from tests.support.charts import Chart

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
# Source: https://helm.sh/docs/topics/registries/#helm-chart-manifest
_CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
# Source: https://fluxcd.io/flux/cheatsheets/oci-artifacts/
_FLUX_CONFIG = "application/vnd.cncf.flux.config.v1+json"
_FLUX_LAYER = "application/vnd.cncf.flux.content.v1.tar+gzip"
# A tar archive without entries.
_NO_FILES = bytes(1024)


class Registry:
    """The registry for a user who may push; anybody may pull.

    Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
    """

    def __init__(self, gitea: Gitea, owner: str, visibility: str = "public") -> None:
        """Make the owner of the images, an organization that everybody sees, or with `private` only its members."""
        self._gitea, self._owner = gitea, owner
        with gitea.client() as api:
            if api.get(f"/orgs/{owner}").status_code == httpx.codes.NOT_FOUND:
                api.post("/orgs", json={"username": owner, "visibility": visibility}).raise_for_status()

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
        digest = self._put(name, tag, (_CONFIG, json.dumps(config).encode()), (_LAYER, _NO_FILES))
        return f"{self.prefix}/{name}@{digest}"

    def push_manifests(self, name: str, tag: str, files: Mapping[str, str]) -> str:
        """Push manifests as `flux push artifact` does; returns the artifact's name with its digest."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for path, text in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(text.encode())
                tar.addfile(entry, io.BytesIO(text.encode()))
        digest = self._put(name, tag, (_FLUX_CONFIG, b"{}"), (_FLUX_LAYER, archive.getvalue()))
        return f"{self.prefix}/{name}@{digest}"

    @property
    def chart_index(self) -> str:
        """URL of the owner's charts for a HelmRepository of the type `default`."""
        return f"{self._gitea.address}/api/packages/{self._owner}/helm"

    @property
    def chart_registry(self) -> str:
        """URL of the owner's charts for a HelmRepository of the type `oci`."""
        return f"oci://{self.prefix}"

    def push_chart(self, chart: Chart) -> None:
        """Publish a chart in both ways, as `helm push` does and in the index."""
        config = json.dumps({"apiVersion": "v2", "name": chart.name, "version": chart.version})
        self._put(chart.name, chart.version, (_CHART_CONFIG, config.encode()), (_CHART_LAYER, chart.archive()))
        with httpx.Client(base_url=self.chart_index, auth=self.credentials, trust_env=False) as api:
            api.post("/api/charts", content=chart.archive()).raise_for_status()

    def _put(self, name: str, tag: str, config: tuple[str, bytes], layer: tuple[str, bytes]) -> str:
        """Upload an artifact of one layer; returns its digest."""
        with httpx.Client(
            base_url=f"{self._gitea.address}/v2/{self._owner}/{name}/", auth=self.credentials, trust_env=False
        ) as api:
            manifest = {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": _blob(api, *config),
                "layers": [_blob(api, *layer)],
            }
            content = json.dumps(manifest).encode()
            api.put(f"manifests/{tag}", content=content, headers={"Content-Type": _MANIFEST}).raise_for_status()
        return _digest(content)


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
