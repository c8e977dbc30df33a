"""Helm charts, and the repository of a tenant that runs them, in the shape of flux2-multi-tenancy's dev-team.

Source: https://github.com/fluxcd/flux2-multi-tenancy/tree/dev-team
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {chart: '{{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}'}
  annotations: {message: "{{ .Values.message }}"}
spec:
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 10001, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: app
          image: IMAGE
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"""


@dataclass(frozen=True)
class Chart:
    """A chart with one Deployment, which bears the chart's version as a label and a value as an annotation.

    Attributes:
        name: of the chart.
        version: of the chart.
        image: of its container.
    """

    name: str
    version: str
    image: str

    def archive(self) -> bytes:
        """The packaged chart."""
        files = {
            "Chart.yaml": f"apiVersion: v2\nname: {self.name}\nversion: {self.version}\n",
            "values.yaml": "message: none\n",
            "templates/deployment.yaml": _DEPLOYMENT.replace("IMAGE", self.image),
        }
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for path, text in files.items():
                entry = tarfile.TarInfo(f"{self.name}/{path}")
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text.encode()))
        return archive.getvalue()


class Overlays:
    """What a tenant commits to run charts beside its application: a release in `base`, its versions in each overlay.

    Attributes:
        files: by their paths in the tenant's repository, on top of those that it has already.
        undone: what puts that repository back.
    """

    def __init__(
        self, sample: Path, account: str, sources: dict[str, dict[str, object]], ranges: dict[str, str]
    ) -> None:
        """
        Args:
            sample: the files of the tenant's repository.
            account: the service account that releases are applied as.
            sources: `spec` of each HelmRepository, by its name, which is that of its chart and release, too.
            ranges: which versions each overlay takes.
        """
        self.files: dict[str, str | None] = {}
        self.undone: dict[str, str | None] = {}
        for name, spec in sources.items():
            self.files[f"base/{name}-repository.yaml"] = yaml.safe_dump(_repository(name, spec))
            self.files[f"base/{name}-release.yaml"] = yaml.safe_dump(_release(name, account))
            for overlay, versions in ranges.items():
                self.files[f"{overlay}/{name}-values.yaml"] = yaml.safe_dump(_patch(name, versions, overlay))
        self.undone |= dict.fromkeys(self.files)
        resources = [f"{name}-{part}.yaml" for name in sources for part in ("repository", "release")]
        self._extend(sample, "base", {"resources": resources})
        for overlay in ranges:
            self._extend(sample, overlay, {"patches": [{"path": f"{name}-values.yaml"} for name in sources]})

    def _extend(self, sample: Path, folder: str, more: Mapping[str, Sequence[object]]) -> None:
        path = f"{folder}/kustomization.yaml"
        before = (sample / path).read_text()
        content = yaml.safe_load(before)
        for key, entries in more.items():
            content[key] = [*content.get(key, ()), *entries]
        self.files[path], self.undone[path] = yaml.safe_dump(content), before


def _repository(name: str, spec: dict[str, object]) -> dict[str, object]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "HelmRepository",
        "metadata": {"name": name},
        "spec": {"interval": "5m", **spec},
    }


def _release(name: str, account: str) -> dict[str, object]:
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name},
        "spec": {
            "releaseName": name,
            "serviceAccountName": account,
            "chart": {"spec": {"chart": name, "sourceRef": {"kind": "HelmRepository", "name": name}}},
            "interval": "50m",
            "install": {"remediation": {"retries": 3}},
        },
    }


def _patch(name: str, versions: str, overlay: str) -> dict[str, object]:
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name},
        "spec": {"chart": {"spec": {"version": versions}}, "values": {"message": overlay}},
    }
