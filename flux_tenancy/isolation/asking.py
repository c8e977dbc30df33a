"""Asks the API server as another user: dry runs of requests, and access reviews."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import answer_of, ask, explaining
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation.model import Access, Request
from flux_tenancy.isolation.refusals import is_about_impersonation
from flux_tenancy.operations.admission.answers import Answer
from flux_tenancy.operations.admission.dry_run import Kind
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

    def dry_run(self, request: Request, user: str) -> Answer:
        """The API server's answer to a dry run of a request.

        Raises:
            OperationError: the user of the suite may not impersonate this user.
            ClusterUnavailable: the cluster does not answer.
        """
        # Otherwise, a field that the cluster does not have is dropped, and the rest of the object proves nothing.
        return self.send(request, user, dryRun="All", fieldValidation="Strict")

    def send(self, request: Request, user: str = "", **query: str) -> Answer:
        """The API server's answer to a request of this user; of the suite's own user where empty."""
        named = request.verb != "create" or bool(request.subresource)
        path = self.path(request.object, named=named)
        body = request.change if request.verb == "patch" or request.subresource else request.object
        with explaining(self._api):
            try:
                response = ask(
                    self._as(user),
                    _METHODS[request.verb],
                    f"{path}/{request.subresource}" if request.subresource else path,
                    None if request.verb == "delete" else body,
                    **query,
                )
            except ApiException as error:
                if not error.status:
                    raise
                return self._refused(error, user)
        return Answer(response.status)

    def _refused(self, error: ApiException, user: str) -> Answer:
        message = printable(answer_of(error))
        if is_about_impersonation(message):
            raise OperationError(
                Message(
                    "FT-ISO-010",
                    f"the suite's user may not impersonate {user}: {message}",
                    "use credentials with cluster-admin rights",
                )
            ) from None
        return Answer(error.status, (), message)

    def has(self, manifest: Manifest) -> bool:
        """Whether the cluster has an object."""
        with explaining(self._api):
            try:
                ask(self._api, "GET", self.path(manifest, named=True))
            except ApiException as error:
                if not error.status:
                    raise
                return bool(error.status != 404)
        return True

    def path(self, manifest: Manifest, *, named: bool) -> str:
        """The path of an object, or of its collection."""
        metadata = manifest["metadata"]
        collection = self._kinds[manifest["kind"]].path(metadata.get("namespace", ""))
        return f"{collection}/{metadata['name']}" if named else collection

    def allows(self, access: Access, user: str) -> bool:
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
            try:
                response = ask(self._api, "POST", _REVIEWS, review)
            except ApiException as error:
                if not error.status:
                    raise
                raise OperationError(
                    Message(
                        "FT-ISO-011",
                        f"the suite's user may not create SubjectAccessReviews: {printable(answer_of(error))}",
                        "use credentials with cluster-admin rights",
                    )
                ) from None
            return bool(json.loads(response.data)["status"]["allowed"])

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
