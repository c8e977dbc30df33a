"""Manifests of the shape that many fleets have: applications over infrastructure, staging over a base.

The shape is that of https://github.com/fluxcd/flux2-kustomize-helm-example; the manifests are this project's own, as a
tenant would write them that has all of it in one namespace. What the charts make is beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.policy_cases import CLOSED, EXAMPLE, TENANT

MANIFESTS = f"""
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: podinfo}}
spec: {{interval: 5m, type: oci, url: "oci://registry.example.com/podinfo"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: cert-manager}}
spec: {{interval: 24h, timeout: 5m, url: "https://charts.jetstack.example"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: ingress-nginx}}
spec: {{interval: 24h, timeout: 5m, url: "https://ingress.example.org/charts"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: podinfo}}
spec: {{interval: 5m, url: "oci://registry.example.com/podinfo/chart", ref: {{semver: ">=1.0.0-alpha"}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: podinfo}}
spec:
  serviceAccountName: {TENANT}
  releaseName: podinfo
  interval: 50m
  install: {{remediation: {{retries: 3}}}}
  upgrade: {{remediation: {{retries: 3, remediateLastFailure: true}}, cleanupOnFail: true}}
  test: {{enable: true}}
  chart:
    spec: {{chart: podinfo, version: ">=1.0.0-alpha", sourceRef: {{kind: HelmRepository, name: podinfo}}}}
  values:
    ingress: {{enabled: true, className: nginx, hosts: [{{host: podinfo.staging.example.com}}]}}
    redis: {{enabled: true, repository: registry.example.com/redis}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: cert-manager}}
spec:
  serviceAccountName: {TENANT}
  interval: 12h
  timeout: 10m
  install: {{crds: Create}}
  upgrade: {{crds: CreateReplace}}
  chart:
    spec: {{chart: cert-manager, version: 1.x, interval: 12h, sourceRef: {{kind: HelmRepository, name: cert-manager}}}}
  values: {{crds: {{enabled: true}}, prometheus: {{enabled: false}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: ingress-nginx}}
spec:
  serviceAccountName: {TENANT}
  interval: 12h
  dependsOn: [{{name: cert-manager}}]
  chart:
    spec: {{chart: ingress-nginx, version: "*", sourceRef: {{kind: HelmRepository, name: ingress-nginx}}}}
  valuesFrom: [{{kind: ConfigMap, name: ingress-values, optional: true}}]
  values:
    controller: {{service: {{type: NodePort}}, admissionWebhooks: {{enabled: false}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: podinfo-oci}}
spec:
  serviceAccountName: {TENANT}
  interval: 10m
  chartRef: {{kind: OCIRepository, name: podinfo}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: infra-controllers}}
spec:
  serviceAccountName: {TENANT}
  interval: 1h
  retryInterval: 1m
  timeout: 5m
  sourceRef: {{kind: GitRepository, name: fleet}}
  path: ./infrastructure/controllers
  prune: true
  wait: true
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps}}
spec:
  interval: 10m
  dependsOn: [{{name: infra-controllers}}]
  sourceRef: {{kind: GitRepository, name: fleet}}
  path: ./apps/staging
  prune: true
  patches:
    - target: {{kind: HelmRelease}}
      patch: "[{{op: add, path: /spec/suspend, value: false}}]"
---
apiVersion: v1
kind: Service
metadata: {{name: ingress-nginx-controller}}
spec: {{type: NodePort, selector: {{app: ingress}}, ports: [{{name: http, port: 80, targetPort: http}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: podinfo}}
spec: {{type: ClusterIP, selector: {{app: podinfo}}, ports: [{{name: http, port: 9898, targetPort: http}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: podinfo, annotations: {{cert-manager.io/cluster-issuer: letsencrypt}}}}
spec:
  ingressClassName: nginx
  tls: [{{hosts: [podinfo.staging.example.com], secretName: podinfo-tls}}]
  rules:
    - host: podinfo.staging.example.com
      http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: podinfo, port: {{number: 9898}}}}}}}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: podinfo}}
spec:
  selector: {{matchLabels: {{app: podinfo}}}}
  template:
    metadata: {{labels: {{app: podinfo}}, annotations: {{prometheus.io/scrape: "true"}}}}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
        - name: podinfo
          image: registry.example.com/podinfo/app:6.5.0
          ports: [{{name: http, containerPort: 9898}}]
          volumeMounts: [{{name: data, mountPath: /data}}]
          securityContext: {{allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {{drop: [ALL]}}}}
      volumes: [{{name: data, emptyDir: {{}}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: podinfo}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: podinfo}}}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: podinfo}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: podinfo}}
  maxReplicas: 4
"""


def manifests(namespace: str) -> dict[str, dict[str, Any]]:
    """Each manifest by its kind and name, in a tenant's namespace."""
    found = {f"{each['kind']} {each['metadata']['name']}": each for each in yaml.safe_load_all(MANIFESTS)}
    for each in found.values():
        each["metadata"]["namespace"] = namespace
    return found


_SOURCE = "ask the platform team for: {} in the tenant's policies.sources"
_REFUSED = {
    "Kustomization apps": f"set it to {TENANT}",
    "Service ingress-nginx-controller": "use one of these: ClusterIP",
}
WAYS_OUT: Mapping[str, Mapping[str, str]] = {
    EXAMPLE: _REFUSED,
    CLOSED: _REFUSED
    | {
        "HelmRepository podinfo": _SOURCE.format("oci://registry.example.com/podinfo/*"),
        "HelmRepository cert-manager": _SOURCE.format("https://charts.jetstack.example"),
        "HelmRepository ingress-nginx": _SOURCE.format("https://ingress.example.org/charts"),
        "OCIRepository podinfo": _SOURCE.format("oci://registry.example.com/podinfo/chart"),
    },
}
"""What is refused in a namespace with a list of sources, and in one without, with the words that lead on."""
