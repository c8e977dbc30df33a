"""Objects as the API server would store them: with its defaults, and with quantities as it writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from components.cluster.client import ask, collection_of, get
from components.cluster.manifests import Manifest, resource_type
from isolation.inventory.intent import Key, key_of

_CONFLICT = 409


class Stored:
    """Asks an API server, once for each object, how it would store what is intended; a dry run, so nothing changes.

    Comparing with that, there is no need to know which fields have defaults.

    Args:
        api: a client for the cluster.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._known: dict[Key, tuple[Manifest, Manifest]] = {}

    def form(self, intended: Manifest, found: Mapping[str, Manifest]) -> Manifest | None:
        """An object as it would be stored in place of the one that is there.

        Returns:
            The object; None if the API server refuses it, for example since the field that differs cannot be changed.
        """
        key = key_of(intended)
        if key not in self._known or self._known[key][0] != intended:
            if (answer := self._asked(intended, found["metadata"]["resourceVersion"])) is None:
                return None
            self._known[key] = intended, answer
        return self._known[key][1]

    def _asked(self, intended: Manifest, version: str) -> Manifest | None:
        path = path_of(intended)
        try:
            return self._replaced(path, intended, version)
        except ApiException as error:
            if error.status != _CONFLICT:
                return None
        # A controller has written to it since it was read.
        try:
            return self._replaced(path, intended, get(self._api, path)["metadata"]["resourceVersion"])
        except ApiException:
            return None

    def _replaced(self, path: str, intended: Manifest, version: str) -> Manifest:
        body = intended | {"metadata": intended["metadata"] | {"resourceVersion": version}}
        answer: Manifest = json.loads(ask(self._api, "PUT", path, body, dryRun="All").data)
        return answer


def path_of(manifest: Manifest) -> str:
    """The path of an object at the API server."""
    collection = collection_of(resource_type(manifest))
    assert collection is not None  # It is an object of the cluster.
    root, _, plural = collection.rpartition("/")
    namespace, name = manifest["metadata"].get("namespace"), quote(manifest["metadata"]["name"], safe="")
    return f"{root}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{collection}/{name}"
