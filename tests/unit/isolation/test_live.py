"""Objects that the suite creates with --live: labelled, and always removed."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from sample_scene import scene

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.isolation import live
from flux_tenancy.isolation.asking import Asker
from flux_tenancy.isolation.attempts.rows import made
from flux_tenancy.isolation.live import LABEL, LiveObjects, removed_afterwards
from flux_tenancy.isolation.model import AccessReview, Live, Request, State
from flux_tenancy.operations.admission.answers import Response
from flux_tenancy.project.errors import OperationError

SCENE = scene()
TENANT = SCENE.tenancy.user
PROOF = Live(made(SCENE, "Kustomization"), "blocked", "not found")


@dataclass
class Cluster:
    """Objects by kind and name.

    Attributes:
        held: whether nobody takes finalizers away.
        gone: whether it does not answer any more.
        ready: the message of the condition that Flux writes.
    """

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    users: list[str] = field(default_factory=list)
    refuses: str = ""
    held: bool = False
    gone: bool = False
    ready: str = ""

    def serves(self, manifest: dict[str, Any]) -> bool:
        return True

    def allows(self, access: AccessReview, user: str) -> bool:
        return True

    def path(self, manifest: dict[str, Any], *, named: bool) -> str:
        return str(manifest["metadata"]["name"])

    def has(self, manifest: dict[str, Any]) -> bool:
        return (manifest["kind"], manifest["metadata"]["name"]) in self.objects

    def send(self, request: Request, user: str = "", **query: str) -> Response:
        if self.gone:
            raise ClusterUnavailable("kubeconfig", "it does not answer")
        key = (request.object["kind"], request.object["metadata"]["name"])
        if request.verb == "create":
            if self.refuses:
                return Response(403, (), self.refuses)
            self.objects[key] = request.object
            self.users.append(user)
        elif request.verb == "patch" or not self.held:
            self.objects.pop(key, None)
        return Response(200)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    there = Cluster()
    status = {"conditions": [{"type": "Ready", "message": ""}]}

    def get(api: object, path: str) -> dict[str, Any]:
        status["conditions"][0]["message"] = there.ready
        return {"status": status}

    monkeypatch.setattr(live, "get", get)
    monkeypatch.setattr(live, "_GONE_SECONDS", 0)
    monkeypatch.setattr(live, "_ANSWER_SECONDS", 0)
    return there


class Api:
    class configuration:
        host = "https://127.0.0.1"


def objects(cluster: Cluster) -> LiveObjects:
    return LiveObjects(cast(Any, Api), cast(Asker, cluster), SCENE)


@pytest.mark.parametrize("held", [False, True], ids=["", "with a finalizer that nobody removes"])
def test_created_objects_are_labelled_named_after_the_run_and_removed(cluster, held):
    cluster.held = held
    with removed_afterwards(objects(cluster)) as made:
        deputy = made.deputy()
        made.answer(PROOF)
        there = list(cluster.objects.values())

    runs = {each["metadata"]["labels"][LABEL] for each in there}
    assert [each["kind"] for each in there] == ["RoleBinding", "Kustomization"]
    assert len(runs) == 1 and all(each["metadata"]["name"].endswith(next(iter(runs))) for each in there)
    # What is tried is tried as the tenant.
    assert cluster.users == ["", TENANT]
    assert there[0]["subjects"][0]["name"] == deputy
    assert cluster.objects == {}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_removes_created_objects(cluster, number):
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    with pytest.raises(KeyboardInterrupt), removed_afterwards(objects(cluster)) as made:
        made.answer(PROOF)
        assert cluster.objects
        os.kill(os.getpid(), number)

    assert cluster.objects == {}
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_object_that_cannot_be_removed_is_reported_with_its_label(cluster):
    with pytest.raises(OperationError) as failure, removed_afterwards(objects(cluster)) as made:
        made.answer(PROOF)
        cluster.gone = True

    assert failure.value.message.text == "created objects may still exist in apps: it does not answer"
    assert failure.value.message.remedy == f"delete the objects with the label {LABEL}"


@pytest.mark.parametrize(
    ("refuses", "ready", "state", "message"),
    [
        ("", "references have been blocked", State.HOLDS, ""),
        ("", "GitRepository not found", State.OPEN, ""),
        ("", "", State.UNPROVEN, ""),
        ("denied", "references have been blocked", State.UNPROVEN, "the object was not created: denied"),
    ],
)
def test_fluxs_message_decides_unless_admission_refuses_the_object(cluster, refuses, ready, state, message):
    cluster.ready, cluster.refuses = ready, refuses

    with removed_afterwards(objects(cluster)) as made:
        found = made.answer(PROOF)

    assert found.state is state
    assert message in found.message
