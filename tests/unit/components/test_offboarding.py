"""Offboarding that is held: access goes all the same, and what holds a namespace is named with what releases it."""

import asyncio
import json
import re
from contextlib import contextmanager

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from sample_stack import Hook

from components.namespace_holds import Held, NamespaceHolds, read_namespace_holds
from components.offboarding import Offboarding

REMAINING = (
    "Some resources are remaining: configmaps. has 2 resource instances, widgets.example.com has 1 resource instances"
)
BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
SYNC = {
    "metadata": {"name": "ops-team", "namespace": "tools", "labels": {"toolkit.fluxcd.io/tenant": "ops-team"}},
    "spec": {"serviceAccountName": "flux"},
}


@pytest.fixture
def told(monkeypatch):
    """What an admin sees in the terminal."""
    said: list[str] = []
    for severity in ("warn", "error"):
        monkeypatch.setattr(pulumi.log, severity, said.append)
    return said


def metadata(name, *finalizers):
    return {"metadata": {"name": name, "finalizers": list(finalizers)} if finalizers else {"name": name}}


def condition(kind, message, status="True"):
    return {"type": kind, "status": status, "message": message}


HELD = {
    "/api/v1/namespaces/tools": {"status": {"conditions": [condition("NamespaceContentRemaining", REMAINING)]}},
    "/api/v1/namespaces/tools/configmaps": {"items": [metadata("held", "example.com/a"), metadata("free")]},
    "/apis/example.com": {"preferredVersion": {"groupVersion": "example.com/v2"}},
    "/apis/example.com/v2/namespaces/tools/widgets": {"items": [metadata("$(x)\n", "example.com/b", "orphan")]},
}


@contextmanager
def cluster(answers, asked=None, statuses=None):
    found = {path: json.dumps(answer).encode() for path, answer in answers.items()}
    with serving(found, 404, asked=asked, statuses=dict.fromkeys(found, 200) | (statuses or {})) as server:
        configuration = client.Configuration()
        configuration.host = server
        yield client.ApiClient(configuration)


def failed(name, inputs=None, *, operation="delete", times=1):
    errors = ["timed out"] * times
    return pulumi.ErrorHookArgs(
        urn="", id="", name=name, type="", old_inputs=inputs, failed_operation=operation, errors=errors
    )


def asked_of(api, hook, args, listed=()):
    """Whether the engine is to try again."""

    async def ask():
        binding = getattr(Offboarding(api, listed, "staging", Hook), f"of_{hook}")
        return await binding.on_error[0](args)

    return asyncio.run(ask())


def test_what_holds_a_namespace_is_found_by_its_finalizers():
    with cluster(HELD) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds == NamespaceHolds(
        "tools",
        (
            Held("configmaps", "held", ("example.com/a",)),
            Held("widgets.example.com", "$(x)\n", ("example.com/b", "orphan")),
        ),
    )


def test_what_releases_it_is_told_and_no_name_reaches_a_shell():
    with cluster(HELD) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds is not None
    assert holds.told("staging").splitlines() == [
        "",
        "  configmaps held by example.com/a: kubectl patch configmaps held -n tools --context staging --type=merge "
        """-p '{"metadata":{"finalizers":null}}'""",
        r"""  widgets.example.com "$(x)\n" by example.com/b, orphan: take these out of its metadata.finalizers""",
    ]


def test_long_lists_are_cut():
    holds = NamespaceHolds("tools", tuple(Held("configmaps", f"a{n}", ("example.com/a",)) for n in range(23)))

    assert len(holds.told(None).splitlines()) == 22
    assert holds.told(None).endswith("\n  and 3 more")


def test_an_api_that_does_not_answer_holds_a_namespace_as_well():
    conditions = [
        condition("NamespaceDeletionDiscoveryFailure", "unable to retrieve\x1b[1m the APIs: metrics.k8s.io/v1"),
        condition("NamespaceDeletionContentFailure", "All content successfully deleted", status="False"),
    ]
    with cluster({"/api/v1/namespaces/tools": {"status": {"conditions": conditions}}}) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds
    assert (
        holds.told(None) == "\n  NamespaceDeletionDiscoveryFailure: unable to retrieve [1m the APIs: metrics.k8s.io/v1"
    )


def test_a_namespace_that_is_gone_is_held_by_nothing():
    with cluster({}) as api:
        assert read_namespace_holds(api, "tools") is None


def test_a_namespace_that_is_held_ends_the_update_with_what_holds_it(told):
    with cluster(HELD) as api:
        assert asked_of(api, "namespace", failed("tools")) is False

    assert "the namespace tools is being deleted and held; nobody has access to it any more" in told[0]
    assert "kubectl patch configmaps held -n tools --context staging" in told[0]
    assert len(told) == 1


@pytest.mark.parametrize(("times", "again"), [(1, True), (2, True), (3, False)])
def test_a_namespace_that_is_only_slow_is_waited_for_a_while(times, again):
    with cluster({"/api/v1/namespaces/tools": {"status": {}}}) as api:
        assert asked_of(api, "namespace", failed("tools", times=times)) is again


def test_a_sync_that_is_not_pruned_loses_its_access_and_is_tried_again(told):
    asked: list[str] = []
    binding = {"metadata": {"name": "ops-team-reconciler", "namespace": "tools"}}
    answers = {
        f"{BINDINGS}/rolebindings": {"items": [binding]},
        f"{BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler": {},
        "/api/v1/namespaces/tools/serviceaccounts/flux": {},
        "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/tools/kustomizations/ops-team": {},
    }
    with cluster(answers, asked) as api:
        assert asked_of(api, "sync", failed("tools/ops-team", SYNC)) is True

    assert re.search("labelSelector=toolkit.fluxcd.io.*ops-team", asked[0])
    assert asked[1:] == [
        f"DELETE {BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler?propagationPolicy=Background",
        "DELETE /api/v1/namespaces/tools/serviceaccounts/flux?propagationPolicy=Background",
        "PATCH /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/tools/kustomizations/ops-team",
    ]
    assert "Flux has not pruned Kustomization tools/ops-team in time" in told[0]


def test_a_sync_that_stays_without_access_ends_the_update(told):
    asked: list[str] = []
    with cluster({}, asked) as api:
        assert asked_of(api, "sync", failed("tools/ops-team", SYNC, times=2)) is False

    assert asked == []
    assert "look whether kustomize-controller is well" in told[0]


def test_access_that_cannot_be_taken_is_told(told):
    with cluster({}, statuses={f"{BINDINGS}/rolebindings": 403}) as api:
        assert asked_of(api, "sync", failed("tools/ops-team", SYNC)) is False

    assert "its access stays" in told[0]


@pytest.mark.parametrize(
    ("hook", "args", "listed"),
    [
        ("sync", failed("tools/ops-team", SYNC), ["ops-team"]),
        ("sync", failed("tools/ops-team", SYNC, operation="update"), []),
        ("namespace", failed("tools", operation="create"), []),
    ],
)
def test_nothing_is_taken_from_a_tenant_that_stays(hook, args, listed, told):
    asked: list[str] = []
    with cluster({}, asked) as api:
        assert asked_of(api, hook, args, listed) is False

    assert asked == [] and told == []
