"""Objects in tenants' namespaces, and how admission would answer if they were created now.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import NotFoundError

from flux_tenancy.components.cluster.client import answer_of, ask, get, items
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.operations.admission.answers import Response


@dataclass(frozen=True, order=True)
class Kind:
    """A kind as the cluster serves it.

    Attributes:
        api_version: e.g. `apps/v1`.
        name: e.g. `Deployment`.
        resource: e.g. `deployments`.
    """

    api_version: str
    name: str
    resource: str

    def path(self, namespace: str = "") -> str:
        """The path of its objects, in one namespace or in all."""
        root = "/apis" if "/" in self.api_version else "/api"
        within = f"namespaces/{namespace}/" if namespace else ""
        return f"{root}/{self.api_version}/{within}{self.resource}"


def tenant_namespaces(api: client.ApiClient) -> dict[str, str]:
    """The tenant of each namespace, except those that are being deleted, where nothing can be created."""
    return {
        namespace["metadata"]["name"]: namespace["metadata"]["labels"][TENANT_LABEL]
        for namespace in items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL)
        if "deletionTimestamp" not in namespace["metadata"]
    }


def served_kinds(api: client.ApiClient, group: str, resources: Iterable[str]) -> Iterator[Kind]:
    """The namespaced kinds of a group, each in the API server's preferred version that has it.

    Args:
        group: API group; the core group is the empty string.
        resources: plural names; those that the cluster does not serve are skipped.
    """
    missing = set(resources)
    for api_version in _versions(api, group):
        served = get(api, f"/apis/{api_version}" if group else f"/api/{api_version}")["resources"]
        for each in served:
            if each["name"] in missing and each["namespaced"]:
                missing.remove(each["name"])
                yield Kind(api_version, each["kind"], each["name"])


def objects(api: client.ApiClient, kind: Kind, namespaces: Mapping[str, str]) -> Iterator[Manifest]:
    """The objects of a kind in some namespaces, except those that are being deleted."""
    for each in items(api, kind.path()):
        if each["metadata"]["namespace"] in namespaces and "deletionTimestamp" not in each["metadata"]:
            yield {"apiVersion": kind.api_version, "kind": kind.name, **each}


def would_be_created(api: client.ApiClient, kind: Kind, manifest: Manifest) -> Response:
    """The API server's answer to the creation of a copy of an object, as a dry run."""
    return answered(api, "POST", kind.path(manifest["metadata"]["namespace"]), copy_of(manifest), dryRun="All")


def answered(
    api: client.ApiClient, method: str, path: str, body: Mapping[str, Any] | None = None, **query: str
) -> Response:
    """The API server's answer to a request, which may be a refusal. Raises ApiException: there is no answer."""
    try:
        response = ask(api, method, path, body, **query)
    except ApiException as error:
        if not error.status:
            raise
        return Response(error.status, error.headers.getlist("Warning") if error.headers else (), answer_of(error))
    return Response(response.status, response.headers.getlist("Warning"), stored=json.loads(response.data))


def _versions(api: client.ApiClient, group: str) -> list[str]:
    if not group:
        return ["v1"]
    try:
        found = get(api, f"/apis/{group}")
    except NotFoundError:
        return []
    return list(dict.fromkeys(each["groupVersion"] for each in (found["preferredVersion"], *found["versions"])))


_KEPT = ("namespace", "labels", "annotations")
# Labels by which the job controller finds its pods.
_JOB_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


def copy_of(manifest: Manifest) -> Manifest:
    """A copy for which the API server generates another name, since the object's own name is taken."""
    copy = as_created(manifest)
    copy["metadata"]["generateName"] = f"{manifest['metadata']['name']}-"
    return copy


def as_created(manifest: Manifest) -> Manifest:
    """The object as somebody would create it, without a name; the object itself is not changed."""
    copy = deepcopy({key: value for key, value in manifest.items() if key not in ("metadata", "status")})
    metadata = manifest["metadata"]
    copy["metadata"] = {key: deepcopy(metadata[key]) for key in _KEPT if key in metadata}
    spec = copy.get("spec")
    if isinstance(spec, dict) and (strip := _STRIP.get(copy["kind"])):
        strip(spec)
    return copy


def _strip_service(spec: dict[str, Any]) -> None:
    # "None" is an input; an address is assigned by the cluster.
    if spec.get("clusterIP") != "None":
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    spec.pop("healthCheckNodePort", None)
    for port in spec.get("ports", ()):
        port.pop("nodePort", None)


def _strip_pod(spec: dict[str, Any]) -> None:
    spec.pop("nodeName", None)
    # They can only be added to a running pod.
    spec.pop("ephemeralContainers", None)


def _strip_job(spec: dict[str, Any]) -> None:
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        labels = spec["template"].get("metadata", {}).get("labels", {})
        for label in _JOB_LABELS:
            labels.pop(label, None)


_STRIP = {
    "Service": _strip_service,
    "Pod": _strip_pod,
    "Job": _strip_job,
}
