"""Requests of the program's own to the API server: which cluster it is, what it has, what it would refuse.

The objects of a stack are changed by the Pulumi provider; of the functions here, only `ask` and
`patch_current` can change anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.plan import carries_marks
from flux_tenancy.components.vocabulary.manifests import name_of, plural_of

if TYPE_CHECKING:
    from kubernetes import client
    from kubernetes.client.exceptions import ApiException
    from urllib3 import BaseHTTPResponse


_NO_API = Wording(
    "FT-CLU-008", "{server} answers {answer}", "check that it is a Kubernetes API server and that it is healthy"
)

# For connecting, and for reading.
TIMEOUT_SECONDS = (5, 15)
# Lists that are read at once.
WORKERS = 8
# Objects in one page of a list, as kubectl asks for them.
PAGE_SIZE = "500"
MOST_LEVELS = 200
"""Levels of an object's fields that are read; the definitions of kinds have the most, about 60."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BRACKETS_AND_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]')
APPLY_PATCH = "application/apply-patch+yaml"
_REFUSED = (403, 422)
_MERGE_PATCH = "application/merge-patch+json"
# The Accept header for lists of which only the objects' metadata is read.
# Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class ClusterUnavailable(Exception):
    """The cluster does not answer as needed. `key` is the key of the `cluster` section to look at."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key

    def as_problem(self, stack_file: str) -> Problem:
        """A problem of the stack's file, at this key."""
        return Problem(stack_file, f"cluster.{self.key}", self.args[0])


class AccessDenied(ClusterUnavailable):
    """The cluster knows the user, who may not do this."""


@dataclass(frozen=True)
class ClusterFacts:
    """What identifies a cluster, and its namespaces.

    Attributes:
        uid: UID of its namespace kube-system, which stays the same for the cluster's lifetime.
        version: version of its API server, e.g. `v1.36.3`.
        terminating: the namespaces that are being deleted.
        marked: the namespaces that this program has applied, for any stack.
    """

    uid: str
    version: str
    namespaces: Mapping[str, Mapping[str, str]]
    terminating: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Identity:
    """A user as the API server knows it.

    Attributes:
        name: name of the user; that of a service account begins with `system:serviceaccount:`.
        groups: the groups that it is in.
    """

    name: str
    groups: tuple[str, ...]


def read_facts(api: client.ApiClient) -> ClusterFacts:
    """Read which cluster it is, and its namespaces.

    Raises:
        ClusterUnavailable: it does not answer, or not to this user.
    """
    with explaining(api):
        version = printable(get(api, "/version/")["gitVersion"])
        namespaces = [namespace["metadata"] for namespace in get(api, "/api/v1/namespaces")["items"]]
        labels = {namespace["name"]: namespace.get("labels", {}) for namespace in namespaces}
        uid = next(printable(namespace["uid"]) for namespace in namespaces if namespace["name"] == "kube-system")
        terminating = frozenset(namespace["name"] for namespace in namespaces if "deletionTimestamp" in namespace)
    marked = frozenset(namespace["name"] for namespace in namespaces if carries_marks(namespace))
    return ClusterFacts(uid, version, labels, terminating, marked)


def read_identity(api: client.ApiClient) -> Identity:
    """Who this program is in the cluster.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#self-subject-review

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    with explaining(api):
        answer = ask(api, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        user = json.loads(answer.data)["status"]["userInfo"]
        return Identity(printable(user["username"]), tuple(user.get("groups", ())))


def find_object(api: client.ApiClient, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cluster's object with the kind, namespace and name of a manifest, or None. Raises ClusterUnavailable."""
    from kubernetes.dynamic.exceptions import NotFoundError

    with explaining(api):
        try:
            return get(api, path_of(manifest))
        except NotFoundError:
            return None


def path_of(manifest: Mapping[str, Any]) -> str:
    """The path of an object in the API."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    return f"{root}{within}/{plural_of(manifest['kind'])}/{metadata['name']}"


def collection_of(resource_type: str) -> str | None:
    """The path of all objects of a Pulumi type, e.g. `kubernetes:apps/v1:Deployment`; None for other resources."""
    package, _, rest = resource_type.partition(":")
    group_version, _, kind = rest.rpartition(":")
    if package != "kubernetes" or not group_version or group_version.startswith("helm.sh/"):
        return None
    root = "/api/v1" if group_version == "core/v1" else f"/apis/{group_version}"
    return f"{root}/{plural_of(kind)}"


def read_names(api: client.ApiClient, path: str) -> set[str]:
    """The objects at a path, as `namespace/name`, or `name` where they have no namespace. Raises ClusterUnavailable."""
    with explaining(api):
        return {name_of(found) for found in items(api, path)}


def read_quota(api: client.ApiClient, namespace: str, name: str) -> dict[str, Any] | None:
    """A ResourceQuota as the cluster has it, or None. Raises ClusterUnavailable."""
    metadata = {"namespace": namespace, "name": name}
    return find_object(api, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata})


def read_definition_age(api: client.ApiClient, name: str) -> float:
    """The age of a CustomResourceDefinition in seconds, by the cluster's own clock.

    Raises:
        ClusterUnavailable: the cluster does not answer, or has no such definition.
    """
    with explaining(api):
        response = ask(api, "GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        created = datetime.fromisoformat(json.loads(response.data)["metadata"]["creationTimestamp"])
        return (parsedate_to_datetime(response.headers["Date"]) - created).total_seconds()


def read_webhook_configurations(api: client.ApiClient, selector: str) -> dict[str, bool]:
    """The validating and mutating webhook configurations that a label selector matches.

    By name, each with whether this program has applied it, for any stack. Raises ClusterUnavailable.
    """
    with explaining(api):
        return {
            found["metadata"]["name"]: carries_marks(found["metadata"])
            for plural in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
            for found in items(api, f"/apis/admissionregistration.k8s.io/v1/{plural}", labelSelector=selector)
        }


def refusal(api: client.ApiClient, path: str, manifest: Mapping[str, Any]) -> str | None:
    """Why the cluster would refuse to create an object, or None where it would create it. This is a dry run.

    Args:
        path: of the collection, e.g. `/api/v1/namespaces/apps/configmaps`.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    from kubernetes.client.exceptions import ApiException

    with explaining(api):
        try:
            ask(api, "POST", path, manifest, dryRun="All")
        except ApiException as error:
            if not (said := status_message(error)):
                raise
            return printable(said)
    return None


def status_message(error: ApiException) -> str:
    """What the API server says in the Status that it answers; empty if it answers none.

    Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    """
    try:
        return str(json.loads(error.body or "").get("message") or "")
    except (ValueError, AttributeError):
        return ""


def answer_of(error: ApiException) -> str:
    """What was answered instead: the message of a Status, or the text of something else, like a load balancer."""
    return status_message(error) or error.body or ""


def items(api: client.ApiClient, path: str, **query: str) -> list[dict[str, Any]]:
    """All objects of a list; none where the cluster does not know their kind.

    Raises:
        ApiException: the API server answers with another error.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    found: list[dict[str, Any]] = []
    while True:
        try:
            page = get(api, path, limit=PAGE_SIZE, **query)
        except NotFoundError:
            return []
        # In an empty list of metadata, `items` is null.
        found += page["items"] or []
        if not (token := page.get("metadata", {}).get("continue")):
            return found
        query["continue"] = token


def get(api: client.ApiClient, path: str, **query: str) -> dict[str, Any]:
    """The object or list at a path of the API server. Raises ApiException: it answers with an error."""
    found: dict[str, Any] = json.loads(_cut(ask(api, "GET", path, **query).data))
    return found


def _cut(document: bytes) -> bytes:
    """A JSON document with null for what is nested deeper than `MOST_LEVELS`.

    A tenant can store an object with 10,000 levels, which Python reads with as many calls inside one another: it would
    end each command that lists such objects.
    """
    brackets = document.translate(None, _NO_BRACKETS)
    for _ in range(MOST_LEVELS):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    if not brackets:
        return document
    kept, depth, start = [], 0, 0
    for token in _BRACKETS_AND_STRINGS.finditer(document):
        if token[0] in b"[{":
            depth += 1
            if depth == MOST_LEVELS + 1:
                kept.append(document[start : token.start()] + b"null")
        elif token[0] in b"]}":
            depth -= 1
            if depth == MOST_LEVELS:
                start = token.end()
    return b"".join(kept) + document[start:]


def ask(
    api: client.ApiClient,
    method: str,
    path: str,
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    /,
    content_type: str | None = None,
    accept: str = "application/json",
    **query: str,
) -> BaseHTTPResponse:
    """The API server's answer to one request, completely read.

    The body of a PATCH is a merge patch unless `content_type` says otherwise. Where the server answers that it is busy
    and when to come back, the request is repeated as client-go repeats it: an API server also answers so for a kind
    whose definition it has just accepted.

    Raises:
        ApiException: the API server answers with an error (`NotFoundError` for 404), or TLS fails (status 0).
        urllib3.exceptions.HTTPError: it cannot be reached.
    """
    from kubernetes.dynamic import DynamicClient
    from kubernetes.utils import is_retry_after_response, on_retry_after_error, retry_after_backoff

    # Requests are made by path, so nothing is discovered.
    dynamic = DynamicClient(api, discoverer=lambda *_: None)

    def send() -> BaseHTTPResponse:
        response: BaseHTTPResponse = dynamic.request(
            method,
            # A role may have almost any name, with a question mark in it.
            quote(path),
            body,
            serialize=False,
            query_params=list(query.items()),
            header_params={"Accept": accept},
            content_type=content_type or (_MERGE_PATCH if method == "PATCH" else None),
            _request_timeout=TIMEOUT_SECONDS,
        )
        # A connection is used again only after its answer is read.
        response.read(cache_content=True)
        return response

    return on_retry_after_error(retry_after_backoff(), is_retry_after_response, send)


def delete(api: client.ApiClient, path: str, **query: str) -> None:
    """Delete an object, which may be gone already."""
    from kubernetes.dynamic.exceptions import NotFoundError

    with suppress(NotFoundError):
        ask(api, "DELETE", path, **query)


def patch_current(api: client.ApiClient, path: str, patch: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    """Apply a merge patch that depends on the object as it is; again, from the new one, if it changes meanwhile.

    Args:
        patch: makes the patch from the object; it has the object's `resourceVersion`.

    Raises:
        ApiException: the API server answers with an error, or still with a conflict.
    """
    from kubernetes.utils import DEFAULT_BACKOFF, retry_on_conflict

    # What client-go recommends for an object that controllers write to.
    retry_on_conflict(lambda: ask(api, "PATCH", path, patch(get(api, path))), DEFAULT_BACKOFF)


@contextmanager
def explaining(api: client.ApiClient) -> Iterator[None]:
    """Explain failures of requests to the API server in terms that the user can act on.

    Raises:
        ClusterUnavailable: for every failure of the client inside.
    """
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    server = api.configuration.host
    try:
        yield
    except ApiException as error:
        fields = {"server": server, "status": error.status, "reason": printable(str(error.reason))}
        # An API server keeps the content of Secrets out of these; other answers repeat what they could not read.
        detail = f": {printable(said)}" if error.status in _REFUSED and (said := status_message(error)) else ""
        if error.status in (401, 403):
            message = Wording(
                "FT-CLU-006",
                "{server} refuses this user ({status} {reason}){detail}",
                "renew the credentials: an update needs cluster-admin rights, a preview the role "
                "flux-tenancy-previewer (docs/review.md#previews-with-a-read-only-identity)",
            )(**fields, detail=detail)
        elif error.status == 0:  # the client's status where TLS fails
            message = Wording(
                "FT-CLU-007",
                "{server} is not the server that the kubeconfig expects ({reason})",
                "renew the kubeconfig",
            )(**fields)
        elif error.status == 409:
            message = Message(
                "FT-CLU-014",
                f"{server} answers 409 Conflict: something else keeps changing the object",
                "run the command again",
            )
        elif detail:
            message = Message("FT-CLU-015", f"{server} refuses an object{detail}", "correct what it refuses")
        else:
            message = _NO_API(server=server, answer=f"{error.status} {fields['reason']}")
        refused = AccessDenied if error.status == 403 else ClusterUnavailable
        raise refused("kubeconfig", message) from None
    except (ValueError, KeyError, TypeError, StopIteration):  # not JSON, or not an API server's document
        raise ClusterUnavailable("kubeconfig", _NO_API(server=server, answer="something else")) from None
    except (HTTPError, OSError):
        raise ClusterUnavailable(
            "kubeconfig",
            Message(
                "FT-CLU-013",
                f"{server} cannot be reached",
                "check that the cluster is running and that this machine has access to it",
            ),
        ) from None


POD = "Pod"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class NamespacedKind(NamedTuple):
    """A kind whose objects can be listed and deleted.

    Attributes:
        kind: e.g. `Deployment`.
        root: path of its API version, e.g. `/apis/apps/v1`.
        resource: its resource in the API, e.g. `deployments`.
    """

    kind: str
    root: str
    resource: str

    @property
    def name(self) -> str:
        """Its resource as kubectl takes it, e.g. `deployments.apps`; without the group for Kubernetes' core."""
        group = self.root.split("/")[2:-1]
        return ".".join([self.resource, *group])

    def path(self, namespace: str, name: str = "") -> str:
        """The path of all its objects in a namespace, or of the one of a name."""
        path = f"{self.root}/namespaces/{namespace}/{self.resource}"
        return f"{path}/{name}" if name else path


def read_namespaced_kinds(api: client.ApiClient) -> list[NamespacedKind]:
    """Each kind once, in the version that the API server prefers. Raises ClusterUnavailable."""
    with explaining(api):
        answers = {root: ask(api, "GET", root, accept=_DISCOVERY).data for root in ("/api", "/apis")}
        return [kind for root, answer in answers.items() for kind in _kinds(json.loads(answer), root)]


def _kinds(discovery: dict[str, Any], root: str) -> list[NamespacedKind]:
    found: dict[tuple[str, str], NamespacedKind] = {}
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            path = "/".join(filter(None, (root, name, version["version"])))
            for each in version.get("resources", ()):
                if each["scope"] == "Namespaced" and {"list", "delete"} <= set(each["verbs"]):
                    kind = NamespacedKind(each["responseKind"]["kind"], path, each["resource"])
                    found.setdefault((name, each["resource"]), kind)
    return list(found.values())
