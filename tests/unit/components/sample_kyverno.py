"""A `kyverno` section that is in order, and a chart in miniature that it pins."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.installs.kyverno import KyvernoConfig

CHART_METADATA = {"apiVersion": "v2", "name": "kyverno", "version": "3.9.1", "appVersion": "v1.19.1"}
KYVERNO: dict[str, Any] = {"version": "1.19.1", "sha256": "7c" * 32, "chart": {"version": "3.9.1"}}


def kyverno_config(**keys: Any) -> KyvernoConfig:
    return KyvernoConfig.model_validate(KYVERNO | keys)


def chart_archive(folder: str = "kyverno", **metadata: Any) -> bytes:
    """An archive of a chart that has nothing but its Chart.yaml; `metadata` replaces what it says."""
    content = yaml.safe_dump(CHART_METADATA | metadata).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(f"{folder}/Chart.yaml")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def bundled_chart(project: Path, content: bytes, **keys: Any) -> KyvernoConfig:
    """A configuration that pins `content`, which lies in the project."""
    (project / "kyverno.tgz").write_bytes(content)
    pinned = {"sha256": hashlib.sha256(content).hexdigest(), "chart": {"bundle": "kyverno.tgz"}}
    return kyverno_config(**(pinned | keys))
