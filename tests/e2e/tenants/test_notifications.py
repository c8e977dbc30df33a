"""Messages about a tenant: in its channel, on its commits, and on its pull request, from Flux's own controllers."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.e2e.tenants.given_notifications import (
    FIRST_PATH,
    NAME,
    NAMESPACE,
    OWNER,
    PREVIEW,
    PULL_REQUEST,
    TENANT,
    commit,
    service,
)
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.message_receiver import Posted, receiver

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{TENANT}"
PROVIDER = f"{TENANT}-channel"
SECONDS = 30.0
"""How long a message may take on a busy machine."""


def at_the_host(lab: Lab, path: str) -> Any:
    with lab.git.gitea.client() as api:
        return api.get(f"/repos/{OWNER}/{NAME}{path}").raise_for_status().json()


def comments(lab: Lab) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = at_the_host(lab, f"/issues/{PULL_REQUEST}/comments")
    return found


def comment_with(lab: Lab, text: str) -> dict[str, Any]:
    """The only comment, as soon as it contains a text."""

    def found() -> dict[str, Any] | None:
        several = comments(lab)
        return several[0] if several and text in several[0]["body"] else None

    return eventually(found, SECONDS, what=f"comment with {text}")


def push(lab: Lab, name: str, kind: str) -> tuple[str, Posted, float]:
    """Push a Service that is refused; returns the commit, the message about it, and the seconds until it arrived."""
    pushed = time.monotonic()
    revision = commit(lab, {"app/second.yaml": service(name, kind)})
    message = eventually(lambda: receiver().find(f"Service/{NAMESPACE}/{name} "), SECONDS, what=f"message on {name}")
    return revision, message, message.at - pushed


@pytest.mark.scenario
class TestMessages:
    """One tenant, one step after another."""

    def test_a_refused_object_reaches_the_channel_and_the_pull_request_within_seconds(
        self, stack: Environment, lab: Lab, record_property: Any
    ) -> None:
        revision, message, seconds = push(lab, "node", "NodePort")

        record_property("seconds from push to message", round(seconds, 1))
        assert message.path == FIRST_PATH
        assert "denied request: spec.type NodePort is not allowed" in message.event["message"]
        assert message.event["involvedObject"]["name"] == PREVIEW
        assert message.event["severity"] == "error"
        assert message.event["metadata"]["env"] == "staging"
        assert message.event["metadata"]["revision"].endswith(revision)
        assert "NodePort" in comment_with(lab, f"Service/{NAMESPACE}/node")["body"]

        def failed() -> bool:
            statuses = at_the_host(lab, f"/commits/{revision}/statuses")
            return any(each["status"] == "failure" for each in statuses if PREVIEW in each["context"])

        eventually(failed, SECONDS, what="failure of the commit")

    def test_the_second_failure_updates_the_same_comment(self, stack: Environment, lab: Lab) -> None:
        [first] = comments(lab)

        push(lab, "balanced", "LoadBalancer")

        second = comment_with(lab, f"Service/{NAMESPACE}/balanced")
        assert [each["id"] for each in comments(lab)] == [first["id"]] == [second["id"]]
        assert f"Service/{NAMESPACE}/node" not in second["body"]

    def test_a_tenant_can_neither_redirect_nor_silence_its_messages(self, stack: Environment) -> None:
        kubectl = stack.cluster.kubectl
        patch = '{"spec": {"suspend": true}}'

        # Policies about kinds and types refuse a patch, too, and the API server reports any one of them.
        for kind in ("provider", "alert"):
            done = kubectl("patch", kind, PROVIDER, "-n", NAMESPACE, "--type=merge", "-p", patch, user=ACCOUNT)
            assert "ValidatingAdmissionPolicy 'flux-tenancy-" in done.stderr, done.stderr
            done = kubectl("delete", kind, PROVIDER, "-n", NAMESPACE, user=ACCOUNT)
            assert "which marks platform objects" in done.stderr, done.stderr

    def test_a_new_address_takes_over_without_a_gap(self, stack: Environment, lab: Lab) -> None:
        """The Secret that the Provider refers to exists all the time."""
        path = "/channel/second"
        notification = stack.config["tenants"][TENANT]["notifications"]["channel"]
        notification["secretAddress"] = stack.secret(receiver().url(path))
        gaps: list[str] = []
        before = referred(stack)
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                name = referred(stack)
                if stack.cluster.find("secret", name, NAMESPACE) is None and referred(stack) == name:
                    gaps.append(name)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            stack.up()
        finally:
            done.set()
            watcher.join()

        assert gaps == []
        assert referred(stack) != before
        assert stack.cluster.find("secret", before, NAMESPACE) is None
        _, message, _ = push(lab, "named", "ExternalName")
        assert message.path == path


def referred(stack: Environment) -> str:
    """The name of the Secret that the channel's Provider refers to."""
    name: str = stack.cluster.get("provider", PROVIDER, NAMESPACE)["spec"]["secretRef"]["name"]
    return name
