"""Objects that the suite creates with `--live`: labelled, harmless, and always removed."""

from __future__ import annotations

import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining, get
from flux_tenancy.components.cluster.hooks import wait_for
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.rbac.subjects import rbac_binding
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.isolation.asking import Asker
from flux_tenancy.isolation.model import AccessReview, Finding, Layer, Live, Request, State
from flux_tenancy.isolation.scene import Scene
from flux_tenancy.project.errors import OperationError

LABEL = "flux-tenancy/isolation"
"""The label of everything that the suite creates; its value is the id of the run."""
_ANSWER_SECONDS = 30
_GONE_SECONDS = 30
_DEPUTY_ROLE = "cluster-admin"


class LiveObjects:
    """The objects that one run creates in the tenant's namespace.

    Args:
        api: a client for the cluster.
        asker: asks the same cluster as any user.
        scene: the cluster.
    """

    def __init__(self, api: client.ApiClient, asker: Asker, scene: Scene) -> None:
        self._api, self._asker, self._scene = api, asker, scene
        self._run = secrets.token_hex(8)
        self._made: list[Manifest] = []

    def deputy(self) -> str:
        """Give a made-up user all rights in the tenant's namespace, so that only other layers can refuse it.

        Returns:
            The user's name.

        Raises:
            OperationError: the binding cannot be created.
        """
        user, home = f"isolation:{secrets.token_hex(16)}", self._scene.tenancy.home
        metadata = {"name": "isolation-suite-deputy", "namespace": home}
        subject = {"apiGroup": RBAC, "kind": "User", "name": user}
        bound = rbac_binding("RoleBinding", metadata, _DEPUTY_ROLE, [subject])
        if said := self._create(bound, ""):
            raise OperationError(
                Message("FT-ISO-030", f"cannot create a RoleBinding in {home}: {said}", "run without --without role")
            )
        question = AccessReview("create", "", "configmaps", home)
        wait_for(lambda: None if self._asker.allows(question, user) else "rights", _ANSWER_SECONDS)
        return user

    def answer(self, proof: Live) -> Finding:
        """Create an object as the tenant, and wait for Flux's message about it."""
        if not self._asker.serves(proof.object):
            return Finding(Layer.FLUX, State.NOT_APPLICABLE, f"the cluster has no {proof.object['kind']}")
        if said := self._create(proof.object, self._scene.tenancy.user):
            return Finding(Layer.FLUX, State.UNPROVEN, f"the object was not created: {said}")
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
        return Finding(Layer.FLUX, State.UNPROVEN, f"no answer from Flux in {_ANSWER_SECONDS} s; last message: {said}")

    def remove(self) -> None:
        """Remove all created objects, and wait until they are gone.

        Raises:
            OperationError: an object still exists.
        """
        try:
            left = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in self._removed())
        except ClusterUnavailable as error:
            left = str(error)
        if left:
            raise OperationError(
                Message(
                    "FT-ISO-031",
                    f"created objects may still exist in {self._scene.tenancy.home}: {left}",
                    f"delete the objects with the label {LABEL}",
                )
            )
        self._made.clear()

    def _removed(self) -> list[Manifest]:
        """Remove the created objects; returns those that still exist."""
        is_there = self._asker.has
        for manifest in reversed(self._made):
            self._asker.send(Request(manifest, (), "delete"))
        wait_for(lambda: "deletion" if any(map(is_there, self._made)) else None, _GONE_SECONDS)
        for manifest in filter(is_there, self._made):
            # Flux removes its finalizer, but only while it runs. The object belongs to the suite.
            self._asker.send(Request(manifest, (), "patch", change={"metadata": {"finalizers": None}}))
        return [manifest for manifest in self._made if is_there(manifest)]

    def _create(self, manifest: Manifest, user: str) -> str:
        """Create an object under a name of this run; returns the API server's refusal, empty if it is created."""
        metadata = manifest["metadata"]
        labels = metadata.get("labels", {}) | {LABEL: self._run}
        named = {**manifest, "metadata": metadata | {"name": f"{metadata['name']}-{self._run}", "labels": labels}}
        # Recorded before the request: an interrupt may come in between.
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
    """Removes the created objects at the end of the block, also on an interrupt and on SIGTERM."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield objects
    finally:
        # A second interrupt must not stop the removal.
        ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            objects.remove()
        finally:
            signal.signal(signal.SIGINT, ignored[signal.SIGINT])
            signal.signal(signal.SIGTERM, before)
