"""Objects as they are in the cluster, and as the API server would store them: with its defaults and quantities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import answer_of, ask, get, path_of
from flux_tenancy.components.config.errors import KeyPath, dotted
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.isolation.inventory.intent import Key, key_of
from flux_tenancy.isolation.model import NAME
from flux_tenancy.operations.drift.foreign_grants import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    EXCEPTION_TYPES,
    ROLE_BINDING,
    SYNC,
)
from flux_tenancy.operations.drift.lists import NAMESPACE, NATIVE_POLICY, NETWORK_POLICY, QUOTA, Lists

_CONFLICT = 409
_UNCHANGEABLE = 422


class NotComparable(Exception):
    """The API server does not say how it would store an object; the message is its own."""


class Stored:
    """Asks an API server, once for each object, how it would store what is intended; a dry run, so nothing changes.

    Comparing with that, there is no need to know which fields have defaults.

    Args:
        api: a client for the cluster.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._known: dict[Key, tuple[Manifest, Manifest]] = {}

    def form(self, intended: Manifest, found: Mapping[str, Any]) -> Manifest | None:
        """An object as it would be stored in place of the one that is there.

        Returns:
            The object; None if a field differs that nobody can change in the one that is there.

        Raises:
            NotComparable: the API server refuses to say it, to this user or since a webhook is down.
        """
        key = key_of(intended)
        if key not in self._known or self._known[key][0] != intended:
            if (answer := self._asked(intended, found["metadata"]["resourceVersion"])) is None:
                return None
            self._known[key] = intended, answer
        return self._known[key][1]

    def _asked(self, intended: Manifest, version: str, *, again: bool = True) -> Manifest | None:
        path = path_of(intended)
        try:
            return self._answer("PUT", path, intended, resourceVersion=version)
        except ApiException as error:
            if not error.status:
                raise
            if error.status == _UNCHANGEABLE:
                return None
            if error.status != _CONFLICT or not again:
                return self._as_new(intended, error)
        # A controller has written to it since it was read.
        return self._asked(intended, get(self._api, path)["metadata"]["resourceVersion"], again=False)

    def _as_new(self, intended: Manifest, refused: ApiException) -> Manifest:
        """The object under another name: Capsule refuses that anybody else changes what it has written."""
        try:
            return self._answer("POST", path_of(intended).rpartition("/")[0], intended, name=NAME)
        except ApiException:
            raise NotComparable(printable(answer_of(refused))) from None

    def _answer(self, method: str, path: str, intended: Manifest, **metadata: str) -> Manifest:
        body = intended | {"metadata": intended["metadata"] | metadata}
        answer: Manifest = json.loads(ask(self._api, method, path, body, dryRun="All").data)
        return answer


LIMIT_RANGE = "kubernetes:core/v1:LimitRange"
WEBHOOKS = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
NATIVE_BINDING = f"{NATIVE_POLICY}Binding"
KYVERNO_POLICY = "kubernetes:policies.kyverno.io/v1:ValidatingPolicy"
READ = frozenset(
    {
        NAMESPACE,
        CLUSTER_ROLE,
        ROLE_BINDING,
        CLUSTER_ROLE_BINDING,
        NETWORK_POLICY,
        QUOTA,
        LIMIT_RANGE,
        WEBHOOKS,
        NATIVE_BINDING,
        KYVERNO_POLICY,
        *EXCEPTION_TYPES,
        SYNC,
    }
)


def within(lists: Lists, type_: str, namespace: str) -> list[Manifest]:
    """The objects of a type in a namespace."""
    return [each for each in lists[type_] if each["metadata"].get("namespace") == namespace]


def namespaces_of(lists: Lists, tenant: str) -> dict[str, Manifest]:
    """The namespaces with a tenant's label, by name."""
    return {
        each["metadata"]["name"]: each
        for each in lists[NAMESPACE]
        if each["metadata"].get("labels", {}).get(TENANT_LABEL) == tenant
    }


Difference = tuple[str, Any, Any]
"""The path of a field, its intended value, and the value that is there; None for a field that is not set."""

NOTHING = "nothing"
_ANYTHING = frozenset({"apiVersion", "kind", "metadata", "status"})
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_MOST = 3
_LENGTH = 160


def differences(intended: Manifest, found: Manifest, *, exact: bool) -> list[Difference]:
    """The fields that differ, outside of metadata and status.

    Args:
        exact: whether a field that is not intended is a difference, too; then `intended` has all defaults.
    """
    keys = {*intended, *(found if exact else ())} - _ANYTHING
    return [each for key in sorted(keys) for each in _differing(intended.get(key), found.get(key), (key,), exact)]


def described(differing: Sequence[Difference]) -> tuple[str, str]:
    """What is there, and what is intended, each on one line."""
    more = [f"{len(differing) - _MOST} more"] if len(differing) > _MOST else []
    shown = differing[:_MOST]
    return (
        ", ".join([*(f"{path}: {_short(found)}" for path, _, found in shown), *more]),
        ", ".join([*(f"{path}: {_short(intended)}" for path, intended, _ in shown), *more]),
    )


def _differing(intended: Any, found: Any, path: KeyPath, exact: bool) -> Iterator[Difference]:
    if intended in _EMPTY and found in _EMPTY:
        return
    if isinstance(intended, Mapping) and isinstance(found, Mapping):
        for key in sorted({*intended, *(found if exact else ())}):
            yield from _differing(intended.get(key), found.get(key), (*path, key), exact)
    elif isinstance(intended, list) and isinstance(found, list) and len(intended) == len(found):
        for index, (first, second) in enumerate(zip(intended, found, strict=True)):
            yield from _differing(first, second, (*path, index), exact)
    elif intended != found:
        yield dotted(path), intended, found


def _short(value: Any) -> str:
    if value is None:
        return NOTHING
    text = printable(value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
