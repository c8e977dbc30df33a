"""A `capsule` section that is in order, and a chart in miniature that it pins."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.installs.capsule import CapsuleConfig

CHART_METADATA = {"apiVersion": "v2", "name": "capsule", "version": "0.14.0", "appVersion": "0.14.0"}
CAPSULE: dict[str, Any] = {
    "version": "0.14.0",
    "sha256": "3a" * 32,
    "administrators": [{"kind": "User", "name": "platform"}],
}


def capsule_config(**keys: Any) -> CapsuleConfig:
    return CapsuleConfig.model_validate(CAPSULE | keys)


def definition(kind: str, **served: bool) -> dict[str, Any]:
    """A custom resource definition with these versions, each served or not, that stores its last one."""
    versions = [{"name": name, "served": each, "storage": name == list(served)[-1]} for name, each in served.items()]
    metadata = {"name": f"{kind.lower()}s.capsule.clastix.io"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"versions": versions},
    }


def chart_archive(**metadata: Any) -> bytes:
    """An archive of a chart with two definitions, a patch of one and a template; `metadata` replaces what it says."""
    files = {
        "Chart.yaml": yaml.safe_dump(CHART_METADATA | metadata),
        "crds/tenants.yaml": yaml.safe_dump(definition("Tenant", v1beta1=True, v1beta2=True)),
        "crds/tenants.patch": "spec: {conversion: {{ .Values }}}",
        "crds/owners.yaml": yaml.safe_dump(definition("TenantOwner", v1beta2=True)),
        "templates/deployment.yaml": "kind: {{ .Values.manager.kind }}",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"capsule/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def bundled_chart(project: Path, content: bytes, **keys: Any) -> CapsuleConfig:
    """A configuration that pins `content`, which lies in the project."""
    (project / "capsule.tgz").write_bytes(content)
    pinned = {"sha256": hashlib.sha256(content).hexdigest(), "chart": {"bundle": "capsule.tgz"}}
    return capsule_config(**(pinned | keys))
