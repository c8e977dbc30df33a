"""Objects as the API server would store them: with its defaults, and with quantities as it writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import answer_of, ask, get, path_of
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation.inventory.intent import Key, key_of
from flux_tenancy.isolation.model import NAME

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
