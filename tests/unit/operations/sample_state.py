"""A stack's state with one object of each kind that the tests of drift change, as `pulumi stack export` prints it."""

from __future__ import annotations

import copy
from typing import Any

import yaml

CLUSTER_UID = "3f1c1d0e-7a36-4b8e-9e8d-0c5f3c6f7a11"
PULUMI = "pulumi-kubernetes-73a6b85d"
APPLIED, EDITED = "2026-11-23T03:20:28Z", "2026-11-24T09:15:00Z"
SEALED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
MARKS = {"kustomize.toolkit.fluxcd.io/reconcile": "disabled", "pulumi.com/patchForce": "true"}
_OWN_MARKS: dict[str, Any] = {"f:annotations": {f"f:{name}": {} for name in MARKS}}


def managed(fields: dict[str, Any], manager: str = PULUMI, time: str = APPLIED, **more: str) -> dict[str, Any]:
    """An entry of `managedFields`."""
    operation = "Apply" if manager.startswith("pulumi") else "Update"
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields, **more}


def stored(manifest: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """An object as the API server has it after Pulumi has applied these fields."""
    metadata = {
        **manifest["metadata"],
        "annotations": dict(MARKS),
        "resourceVersion": "7",
        "managedFields": [managed({"f:metadata": copy.deepcopy(_OWN_MARKS), **fields})],
    }
    return copy.deepcopy({**manifest, "metadata": metadata})


def applied(manifest: dict[str, Any]) -> dict[str, Any]:
    """An object as Pulumi applies it."""
    metadata = {
        key: value for key, value in manifest["metadata"].items() if key not in ("managedFields", "resourceVersion")
    }
    return {**manifest, "metadata": metadata}


def resource(type_: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """An object of the cluster as a resource of the state."""
    metadata = manifest["metadata"]
    name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    return {
        "urn": f"urn:pulumi:staging::flux-tenancy::flux-tenancy:index:FluxInstall${type_}::{name}",
        "type": type_,
        "id": name,
        "inputs": applied(manifest),
        "outputs": {**manifest, "__fieldManager": PULUMI, "__initialApiVersion": manifest["apiVersion"]},
    }


_MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: kustomize-controller, namespace: flux-system}
spec:
  replicas: 1
  template:
    spec:
      restartPolicy: Always
      containers:
        - name: manager
          args: [--no-cross-namespace-refs=true, --log-level=info]
          resources: {limits: {cpu: "1"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: flux-tenancy-host-access}
spec: {policyName: flux-tenancy-host-access, validationActions: [Deny]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-egress, namespace: flux-system}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: v1
kind: Secret
metadata: {name: dev-team-webhook, namespace: apps}
type: Opaque
---
apiVersion: v1
kind: Namespace
metadata: {name: apps, labels: {toolkit.fluxcd.io/tenant: dev-team}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev-team-reconciler, namespace: apps, labels: {toolkit.fluxcd.io/tenant: dev-team}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flux-tenant}
subjects: [{kind: ServiceAccount, name: dev-team, namespace: apps}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.source.toolkit.fluxcd.io}
spec:
  scope: Namespaced
  versions: [{name: v1, schema: {properties: {spec: {x_kubernetes_list_type: set}}}}]
"""
_MANAGER: dict[str, Any] = {".": {}, "f:name": {}, "f:args": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
_OF_CONTROLLER = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"manager"}': _MANAGER}}}}
_FIELDS: tuple[dict[str, Any], ...] = (
    {"f:spec": {"f:replicas": {}, **_OF_CONTROLLER}},
    {"f:spec": {"f:policyName": {}, "f:validationActions": {'v:"Deny"': {}}}},
    {"f:spec": {"f:podSelector": {}, "f:policyTypes": {}}},
    {"f:data": {"f:token": {}}, "f:type": {}},
    {},
    {"f:roleRef": {}, "f:subjects": {}},
    {"f:spec": {"f:scope": {}, "f:versions": {}}},
)
CONTROLLER, BINDING, NETWORK_POLICY, SECRET, NAMESPACE, ROLE_BINDING, DEFINITION = map(
    stored, yaml.safe_load_all(_MANIFESTS), _FIELDS
)
SECRET["data"] = SEALED
RESOURCES = [
    {"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:staging::flux-tenancy::pulumi:pulumi:Stack::x", "outputs": {}},
    {
        "type": "flux-tenancy:index:Cluster",
        "urn": "urn:pulumi:staging::flux-tenancy::flux-tenancy:index:Cluster::cluster",
        "outputs": {"uid": CLUSTER_UID},
    },
    resource("kubernetes:apps/v1:Deployment", CONTROLLER),
    resource("kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding", BINDING),
    resource("kubernetes:networking.k8s.io/v1:NetworkPolicy", NETWORK_POLICY),
    resource("kubernetes:core/v1:Secret", SECRET),
    resource("kubernetes:core/v1:Namespace", NAMESPACE),
    resource("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", ROLE_BINDING),
    resource("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", DEFINITION),
]
LISTS = {
    "/api/v1/namespaces": [NAMESPACE, {"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}],
    "/apis/apps/v1/deployments": [CONTROLLER],
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": [BINDING],
    "/apis/networking.k8s.io/v1/networkpolicies": [NETWORK_POLICY],
    "/api/v1/secrets": [{"metadata": SECRET["metadata"]}],
    "/apis/rbac.authorization.k8s.io/v1/rolebindings": [ROLE_BINDING],
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": [],
    "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations": [],
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": [DEFINITION],
}
"""The same objects as the cluster lists them right after the update."""
