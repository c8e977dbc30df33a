"""What `flux-tenancy check` reads of a repository that the real flate renders."""

from __future__ import annotations

import os

import yaml

from flux_tenancy.extensions.tenant_check.manifests import FLATE, read_repository
from tests.support.offline_requests import tool

SYNC = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: shop}
spec:
  interval: 1h
  prune: true
  path: ./staging
  targetNamespace: shop
  sourceRef: {kind: GitRepository, name: shop}
  postBuild: {substitute: {region: eu}}
  patches: [{target: {kind: ConfigMap, name: settings}, patch: '- {op: add, path: /data/color, value: red}'}]
"""
RELEASE = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  interval: 1h
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: shop}}}
  values: {rbac: {create: true}}
"""
SEALED = "apiVersion: v1\nkind: Secret\nmetadata: {name: sealed}\nstringData: {a: 'ENC[a]'}\nsops: {mac: a}\n"
FILES = {
    "base/kustomization.yaml": "resources: [settings.yaml]\n",
    "base/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {region: '${region}'}\n",
    "staging/kustomization.yaml": "resources: [../base, release.yaml, sealed.yaml]\n",
    "staging/release.yaml": RELEASE,
    "staging/sealed.yaml": SEALED,
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "chart/templates/role.yaml": (
        "{{ if .Values.rbac.create }}\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nrules: []\n"
        "metadata: {name: '{{ .Release.Name }}-leader'}\n"
        "{{ end }}\n"
    ),
}


def test_folders_patches_variables_and_charts_are_rendered_and_secrets_stay_sealed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tool(FLATE).parent}:{os.environ['PATH']}")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    found = read_repository(tmp_path, [yaml.safe_load(SYNC)])

    objects = {f"{each.manifest['kind']}/{each.manifest['metadata']['name']}": each.manifest for each in found.objects}
    assert {"ConfigMap/settings", "HelmRelease/web", "Role/web-leader", "Secret/sealed"} <= objects.keys()
    assert objects["ConfigMap/settings"]["data"] == {"region": "eu", "color": "red"}
    assert objects["ConfigMap/settings"]["metadata"]["namespace"] == "shop"
    assert objects["Secret/sealed"]["sops"] == {"mac": "a"}
    assert found.unrendered == []
