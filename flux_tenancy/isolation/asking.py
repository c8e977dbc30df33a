"""Asks the API server as another user, by dry runs and access reviews, and finds the layer that refused.

Source: the admission plugins of k8s.io/kubernetes 1.36, `pkg/webhooks` of Kyverno 1.19.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubernetes import client

from flux_tenancy.components.cluster.client import explaining
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation.model import AccessReview, Layer, Request
from flux_tenancy.operations.admission.answers import MAY_NOT, Response
from flux_tenancy.operations.admission.dry_run import Kind, answered
from flux_tenancy.project.errors import OperationError

_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_NODE = "system:node:"


class Asker:
    """Asks one API server as any user.

    Args:
        api: a client for the cluster whose user may impersonate others.
        kinds: what the cluster serves.
    """

    def __init__(self, api: client.ApiClient, kinds: Mapping[str, Kind]) -> None:
        self._api = api
        self._kinds = kinds
        self._clients: dict[str, client.ApiClient] = {}

    def serves(self, manifest: Manifest) -> bool:
        return manifest["kind"] in self._kinds

    def dry_run(self, request: Request, user: str) -> Response:
        """The API server's answer to a dry run of a request.

        Raises:
            OperationError: the user of the suite may not impersonate this user.
            ClusterUnavailable: the cluster does not answer.
        """
        # Otherwise, a field that the cluster does not have is dropped, and the rest of the object proves nothing.
        return self.send(request, user, dryRun="All", fieldValidation="Strict")

    def send(self, request: Request, user: str = "", **query: str) -> Response:
        """The API server's answer to a request of this user; of the suite's own user where empty."""
        named = request.verb != "create" or bool(request.subresource)
        path = self.path(request.object, named=named)
        body = request.change if request.verb == "patch" or request.subresource else request.object
        at = f"{path}/{request.subresource}" if request.subresource else path
        given = None if request.verb == "delete" else body
        with explaining(self._api):
            answer = answered(self._as(user), _METHODS[request.verb], at, given, **query)
        message = printable(answer.message)
        if answer.refused and is_about_impersonation(message):
            raise OperationError(MAY_NOT(action=f"impersonate {user}", message=message))
        created = request.verb == "create" and not request.subresource
        return Response(answer.status, message=message, stored=answer.stored if created else {})

    def has(self, manifest: Manifest) -> bool:
        """Whether the cluster has an object."""
        with explaining(self._api):
            return answered(self._api, "GET", self.path(manifest, named=True)).status != 404

    def path(self, manifest: Manifest, *, named: bool) -> str:
        """The path of an object, or of its collection."""
        metadata = manifest["metadata"]
        collection = self._kinds[manifest["kind"]].path(metadata.get("namespace", ""))
        return f"{collection}/{metadata['name']}" if named else collection

    def allows(self, access: AccessReview, user: str) -> bool:
        """Whether RBAC allows it.

        Raises:
            OperationError: the user of the suite may not create access reviews.
            ClusterUnavailable: the cluster does not answer.
        """
        attributes = {
            "verb": access.verb,
            "group": access.group,
            "resource": access.resource,
            "subresource": access.subresource,
            "namespace": access.namespace,
            "name": access.name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups_of(user), "resourceAttributes": attributes},
        }
        with explaining(self._api):
            answer = answered(self._api, "POST", _REVIEWS, review)
        if answer.refused:
            raise OperationError(MAY_NOT(action="create SubjectAccessReviews", message=printable(answer.message)))
        return bool(answer.stored["status"]["allowed"])

    def _as(self, user: str) -> client.ApiClient:
        if not user:
            return self._api
        if user not in self._clients:
            other = client.ApiClient(self._api.configuration)
            other.set_default_header("Impersonate-User", user)
            # The API server knows the groups of a service account.
            if user.startswith(_NODE):
                other.set_default_header("Impersonate-Group", "system:nodes")
            self._clients[user] = other
        return self._clients[user]


def groups_of(user: str) -> list[str]:
    """The groups that Kubernetes derives from a user's name."""
    groups = ["system:authenticated"]
    if user.startswith("system:serviceaccount:"):
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}"]
    return [*groups, "system:nodes"] if user.startswith(_NODE) else groups


# Each matches from just behind the object's name: a tenant's own text may come later.
_OBJECT = r'(?:[^:]*? )?"?[^":]*"? is forbidden: '
_ROLE = re.compile(rf'(?:{_OBJECT})?User "[^"]*" cannot ', re.IGNORECASE)
_GRANT = re.compile(rf'(?:{_OBJECT})?user "[^"]*" .*is attempting to grant RBAC permissions not currently held')
_POD_SECURITY = re.compile(rf'{_OBJECT}violates PodSecurity "(?P<by>[^"]+)"')
_NATIVE = re.compile(rf"{_OBJECT}ValidatingAdmissionPolicy '(?P<by>[^']+)'")
_WEBHOOK = re.compile(r'admission webhook "(?P<by>[^"]+)" denied the request')
# Its newer policies, and its older ones.
_KYVERNO = (
    re.compile(r"Policy (?P<by>[a-z0-9.-]+) (?:failed|error): "),
    re.compile(r"following policies\s+(?P<by>[a-z0-9.-]+):"),
)
_QUOTA = re.compile(rf"{_OBJECT}(?:exceeded|failed) quota: (?P<by>[^,: ]+)")
_LIMITS = re.compile(rf"{_OBJECT}\[?(?:maximum|minimum) \S+ usage per ")
_MUTED = {
    "a webhook does not answer": re.compile(r"failed calling webhook|failed to call webhook"),
    "a webhook does not support dry runs": re.compile(r"does not support dry run"),
}
_UNKNOWN_FIELD = re.compile(r'strict decoding error: .*?unknown field "(?P<field>[^"]+)"')
_IMPERSONATION = re.compile(r"cannot impersonate resource")
FORBIDDEN = 403


@dataclass(frozen=True)
class RefusedBy:
    """The layer that refused a request.

    Attributes:
        layer: None if it was none of the layers, so the refusal proves nothing.
        by: the part of the layer, such as a policy's name; the reason if the layer is None.
    """

    layer: Layer | None
    by: str


def is_about_impersonation(message: str) -> bool:
    """Whether the message refuses impersonation to the user of the suite."""
    return _IMPERSONATION.search(message) is not None


def unknown_field(message: str) -> str:
    """The field of the object that the cluster does not have; empty if the message is about something else."""
    found = _UNKNOWN_FIELD.search(message)
    return found["field"] if found else ""


def refusal(status: int, message: str) -> RefusedBy:
    """The layer that refused a request.

    Args:
        status: of HTTP, 400 or above.
    """
    for reason, words in _MUTED.items():
        if words.search(message):
            return RefusedBy(None, reason)
    if found := _named(message):
        return found
    if status == FORBIDDEN:
        return RefusedBy(Layer.ADMISSION, "an admission plugin")
    if status == 404:
        return RefusedBy(None, "the object does not exist")
    if status >= 500 or status == 429:
        return RefusedBy(None, f"the API server answers {status}")
    return RefusedBy(None, "the API server rejects the object as invalid")


def _named(message: str) -> RefusedBy | None:
    if _ROLE.match(message):
        return RefusedBy(Layer.ROLE, "RBAC")
    if _GRANT.match(message):
        return RefusedBy(Layer.ROLE, "RBAC's escalation check")
    if found := _WEBHOOK.match(message):
        return RefusedBy(Layer.ADMISSION, _of_kyverno(message) or found["by"])
    patterns: Mapping[Layer, re.Pattern[str]] = {
        Layer.ADMISSION: _NATIVE,
        Layer.POD_SECURITY: _POD_SECURITY,
        Layer.QUOTA: _QUOTA,
    }
    for layer, pattern in patterns.items():
        if found := pattern.match(message):
            return RefusedBy(layer, found["by"])
    return RefusedBy(Layer.QUOTA, "LimitRange") if _LIMITS.match(message) else None


def _of_kyverno(message: str) -> str:
    found = next((found for pattern in _KYVERNO if (found := pattern.search(message))), None)
    return found["by"] if found else ""
