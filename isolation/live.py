"""Objects that the suite does create, as `--live` allows it to: labelled, harmless, and removed whatever happens."""

from __future__ import annotations

import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kubernetes import client

from components.cluster.client import ClusterUnavailable, explaining, get
from components.cluster.manifests import Manifest
from components.cluster.waiting import wait_for
from components.config.printable import printable
from isolation.asking import Asker
from isolation.kinds import RBAC
from isolation.model import Access, Finding, Layer, Live, Request, State
from isolation.scene import Scene
from operations.errors import OperationError

LABEL = "flux-tenancy/isolation"
"""The label of all that the suite creates; its value is the run."""
_ANSWER_SECONDS = 30
_GONE_SECONDS = 30
_REMEDY = f"delete what has the label {LABEL}"
_DEPUTY_ROLE = "cluster-admin"


class LiveObjects:
    """What one run creates in the tenant's namespace.

    Args:
        api: a client for the cluster.
        asker: the same, as any user.
        scene: the cluster.
    """

    def __init__(self, api: client.ApiClient, asker: Asker, scene: Scene) -> None:
        self._api, self._asker, self._scene = api, asker, scene
        self._run = secrets.token_hex(8)
        self._made: list[Manifest] = []

    def deputy(self) -> str:
        """A made-up user who may do everything in the tenant's namespace, and nothing beyond: what admission and quotas
        do about somebody whom no role stops.

        Raises:
            OperationError: the binding cannot be created.
        """
        user, home = f"isolation:{secrets.token_hex(16)}", self._scene.tenancy.home
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "isolation-suite-deputy", "namespace": home},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": _DEPUTY_ROLE},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
        }
        if said := self._create(binding, ""):
            raise OperationError(f"no RoleBinding can be created in {home}: {said}", "run without --without role")
        question = Access("create", "", "configmaps", home)
        wait_for(lambda: None if self._asker.allows(question, user) else "rights", _ANSWER_SECONDS)
        return user

    def answer(self, proof: Live) -> Finding:
        """What Flux says to an object that is created as the tenant."""
        if not self._asker.serves(proof.object):
            return Finding(Layer.FLUX, State.NOT_APPLICABLE, f"the cluster has no {proof.object['kind']}")
        if said := self._create(proof.object, self._scene.tenancy.user):
            return Finding(Layer.FLUX, State.UNPROVEN, f"Flux does not see it: {said}")
        said = ""

        def missing() -> str | None:
            nonlocal said
            said = self._ready_message(proof.object)
            known = re.search(proof.refused, said) or re.search(proof.passed, said)
            return None if known else "an answer of Flux"

        wait_for(missing, _ANSWER_SECONDS)
        if re.search(proof.refused, said):
            return Finding(Layer.FLUX, State.HOLDS, said, "status")
        if re.search(proof.passed, said):
            return Finding(Layer.FLUX, State.OPEN, said)
        return Finding(Layer.FLUX, State.UNPROVEN, f"Flux has not said in {_ANSWER_SECONDS} s what it thinks: {said}")

    def remove(self) -> None:
        """Remove all of it, and wait until it is gone.

        Raises:
            OperationError: something is still there.
        """
        try:
            left = self._removed()
        except ClusterUnavailable as error:
            raise OperationError(f"what was created may still be there: {error}", _REMEDY) from None
        if left:
            names = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in left)
            raise OperationError(f"not removed from {self._scene.tenancy.home}: {names}", _REMEDY)
        self._made.clear()

    def _removed(self) -> list[Manifest]:
        """Remove what was created; returns what is still there."""
        is_there = self._asker.has
        for manifest in reversed(self._made):
            self._asker.send(Request(manifest, (), "delete"))
        wait_for(lambda: "deletion" if any(map(is_there, self._made)) else None, _GONE_SECONDS)
        for manifest in filter(is_there, self._made):
            # Flux takes its finalizer away, but not where it does not run. The object is the suite's own.
            self._asker.send(Request(manifest, (), "patch", change={"metadata": {"finalizers": None}}))
        return [manifest for manifest in self._made if is_there(manifest)]

    def _create(self, manifest: Manifest, user: str) -> str:
        """Create an object under a name of this run; returns what is said against it."""
        metadata = manifest["metadata"]
        labels = metadata.get("labels", {}) | {LABEL: self._run}
        named = {**manifest, "metadata": metadata | {"name": f"{metadata['name']}-{self._run}", "labels": labels}}
        # Remembered before it is asked for: an interrupt may come between.
        self._made.append(named)
        answer = self._asker.send(Request(named, ()), user)
        if answer.refused:
            self._made.remove(named)
        return answer.message

    def _ready_message(self, manifest: Manifest) -> str:
        original = next(
            each
            for each in self._made
            if each["kind"] == manifest["kind"] and each["metadata"]["name"].startswith(manifest["metadata"]["name"])
        )
        with explaining(self._api):
            found = get(self._api, self._asker.path(original, named=True))
        conditions = found.get("status", {}).get("conditions", ())
        return next((printable(each["message"]) for each in conditions if each["type"] == "Ready"), "")


@contextmanager
def removed_afterwards(objects: LiveObjects) -> Iterator[LiveObjects]:
    """Removes what was created, on an interrupt and on SIGTERM too."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield objects
    finally:
        # A second interrupt must not keep it from removing.
        ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            objects.remove()
        finally:
            signal.signal(signal.SIGINT, ignored[signal.SIGINT])
            signal.signal(signal.SIGTERM, before)
