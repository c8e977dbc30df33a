"""Offboarding that is blocked: access is removed anyway, and what blocks a namespace is reported with a command."""

import asyncio
import json
import re
from contextlib import contextmanager
from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes
from sample_stack import Hook

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.tenant.leaving.deletion import Offboarding, remove_finalizer
from flux_tenancy.components.tenant.leaving.remaining_objects import Held, NamespaceHolds, read_namespace_holds
from flux_tenancy.components.vocabulary.names import LANE_LABEL


def discovery(*groups):
    """The answer of an API server to what kinds it has: group, version, resource, kind."""
    return {
        "items": [
            {
                "metadata": {"name": group},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            {
                                "resource": resource,
                                "responseKind": {"kind": kind},
                                "scope": "Namespaced",
                                "verbs": ["delete", "list"],
                            }
                        ],
                    }
                ],
            }
            for group, version, resource, kind in groups
        ]
    }


BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
KUSTOMIZATION = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/tools/kustomizations/ops-team"
SOURCE_PATH = "/apis/source.toolkit.fluxcd.io/v1/namespaces/tools/gitrepositories/ops-team"
FLUX = "finalizers.fluxcd.io"
SOURCE = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {"name": "ops-team", "namespace": "tools"},
}
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "tools", "labels": {"toolkit.fluxcd.io/tenant": "ops-team"}},
}
CAPSULE_TENANT = {
    "apiVersion": "capsule.clastix.io/v1beta2",
    "kind": "Tenant",
    "metadata": {"name": "ops-team", "labels": {"toolkit.fluxcd.io/tenant": "ops-team"}},
}
CAPSULE_PATH = "/apis/capsule.clastix.io/v1beta2/tenants/ops-team"
SYNC = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"name": "ops-team", "namespace": "tools", "labels": {"toolkit.fluxcd.io/tenant": "ops-team"}},
    "spec": {"serviceAccountName": "flux"},
}


@pytest.fixture
def logged(monkeypatch):
    """The messages in the terminal."""
    messages: list[str] = []
    for severity in ("info", "warn", "error"):
        monkeypatch.setattr(pulumi.log, severity, messages.append)
    return messages


def metadata(name, *finalizers):
    held = {"finalizers": list(finalizers)} if finalizers else {}
    return {"metadata": {"name": name, "deletionTimestamp": "2026-11-27T00:00:00Z", **held}}


def ending(*conditions):
    return metadata("tools") | {"status": {"conditions": list(conditions)}}


def condition(kind, message, status="True"):
    return {"type": kind, "status": status, "message": message}


HELD_BY = "example.com/held"
NO_KINDS = {"/api": discovery(), "/apis": discovery()}
# As Kubernetes 1.36 has it while pods end.
NO_CONTENT = condition("NamespaceContentRemaining", "All content successfully removed", status="False")
HELD = {
    "/api": discovery(("", "v1", "configmaps", "ConfigMap")),
    "/apis": discovery(("example.com", "v2", "widgets", "Widget")),
    "/api/v1/namespaces/tools": ending(NO_CONTENT),
    "/api/v1/namespaces/tools/configmaps": {"items": [metadata("held", "example.com/a"), metadata("free")]},
    "/apis/example.com/v2/namespaces/tools/widgets": {"items": [metadata("$(x)\n", "example.com/b", "orphan")]},
}


@contextmanager
def cluster(answers, asked=None, statuses=None, bodies=None):
    found = {path: json.dumps(answer).encode() for path, answer in (NO_KINDS | answers).items()}
    with serving(
        found, 404, asked=asked, statuses=dict.fromkeys(found, 200) | (statuses or {}), bodies=bodies
    ) as server:
        configuration = client.Configuration()
        configuration.host = server
        yield client.ApiClient(configuration)


def failed(name, inputs=None, *, operation="delete", times=1):
    errors = ["timed out"] * times
    return pulumi.ErrorHookArgs(
        urn="", id="", name=name, type="", old_inputs=inputs, failed_operation=operation, errors=errors
    )


PLANNED = {
    "parts": (Stage.CONTENT, {"kind": "GitRepository", "metadata": {}}),
    "sync": (Stage.SYNCS, {"kind": "Kustomization", "metadata": {}, "spec": {"timeout": "5m"}}),
    "namespace": (Stage.NAMESPACES, {"kind": "Namespace", "metadata": {}}),
    "capsule": (Stage.CAPSULE, {"kind": "Tenant", "metadata": {}}),
}


def retried(api, hook, args, listed=()):
    """Whether the engine should retry."""

    async def ask():
        offboarding = Offboarding(api, listed, Hook)
        planned = Planned(*PLANNED[hook])
        hooks: Any = offboarding.options(planned, 300).hooks
        return await hooks.on_error[0](args)

    return asyncio.run(ask())


def test_what_blocks_a_namespace_is_found_by_its_finalizers():
    with cluster(HELD) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds == NamespaceHolds(
        "tools",
        (
            Held("configmaps", "held", ("example.com/a",)),
            Held("widgets.example.com", "$(x)\n", ("example.com/b", "orphan")),
        ),
    )


def test_a_namespace_is_blocked_by_its_own_finalizers():
    own = {"name": "tools", "finalizers": ["example.com/a"]}
    found = {"metadata": own, "spec": {"finalizers": ["kubernetes", "b/c"]}}
    with cluster({"/api/v1/namespaces/tools": found}) as api:
        holds = read_namespace_holds(api, "tools")
    with cluster({"/api/v1/namespaces/tools": metadata("tools") | {"spec": {"finalizers": ["kubernetes"]}}}) as api:
        assert not read_namespace_holds(api, "tools")

    assert holds is not None
    assert holds.listing.splitlines() == [
        "",
        "  namespaces tools by example.com/a",
        "  spec.finalizers of the namespace itself: b/c",
    ]


def test_no_name_reaches_the_terminal_as_it_is():
    with cluster(HELD) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds is not None
    assert holds.listing.splitlines() == [
        "",
        "  configmaps held by example.com/a",
        "  widgets.example.com $(x) by example.com/b, orphan",
    ]


@pytest.mark.parametrize("status", [403, 500])
def test_resources_that_cannot_be_listed_are_named(status):
    with cluster(HELD, statuses={"/api/v1/namespaces/tools/configmaps": status}) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds is not None
    assert [each.resource for each in holds.objects] == ["widgets.example.com"]
    assert holds.listing.endswith("\n  configmaps that cannot be listed")


def test_long_lists_are_cut():
    holds = NamespaceHolds("tools", tuple(Held("configmaps", f"a{n}", ("example.com/a",)) for n in range(23)))

    assert len(holds.listing.splitlines()) == 22
    assert holds.listing.endswith("\n  and 3 more")


def test_an_api_that_does_not_answer_also_blocks_a_namespace():
    conditions = [
        condition("NamespaceDeletionDiscoveryFailure", "unable to retrieve\x1b[1m the APIs: metrics.k8s.io/v1"),
        condition("NamespaceDeletionContentFailure", "All content successfully deleted", status="False"),
    ]
    with cluster({"/api/v1/namespaces/tools": {"status": {"conditions": conditions}}}) as api:
        holds = read_namespace_holds(api, "tools")

    assert holds
    assert holds.listing == "\n  NamespaceDeletionDiscoveryFailure: unable to retrieve [1m the APIs: metrics.k8s.io/v1"


def test_nothing_blocks_a_namespace_that_is_gone():
    with cluster({}) as api:
        assert read_namespace_holds(api, "tools") is None


def test_a_blocked_namespace_ends_the_update_with_what_blocks_it(logged):
    with cluster(HELD) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE)) is False

    assert codes(logged) == ["FT-TEN-021"]
    assert "namespace tools" in logged[0]
    assert logged[0].splitlines()[1] == "  configmaps held by example.com/a"


@pytest.mark.parametrize(("times", "again"), [(1, True), (2, True), (3, False)])
def test_a_slow_namespace_is_deleted_again_twice(times, again):
    with cluster({"/api/v1/namespaces/tools": ending()}) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE, times=times)) is again


PODS = {
    "/api": discovery(("", "v1", "pods", "Pod")),
    "/api/v1/namespaces/tools": ending(NO_CONTENT),
}
PODS_PATH = "/api/v1/namespaces/tools/pods"


@pytest.mark.parametrize(("times", "again"), [(1, True), (2, True), (3, False)])
def test_pods_that_take_too_long_to_end_are_deleted_at_once(logged, times, again):
    asked: list[str] = []
    with cluster(PODS | {PODS_PATH: {"items": [metadata("slow"), metadata("slower")]}}, asked) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE, times=times)) is again

    ended = [each for each in asked if each.startswith("DELETE ")]
    assert ended == ([f"DELETE {PODS_PATH}?gracePeriodSeconds=0"] if again else [])
    assert codes(logged) == (["FT-TEN-022"] if again else ["FT-TEN-021"])
    assert again or logged[0].endswith("\n  pods that have not ended: slow, slower")


@pytest.mark.parametrize(
    ("finalizer", "times", "again"),
    [
        ("batch.kubernetes.io/job-tracking", 1, True),
        ("batch.kubernetes.io/job-tracking", 3, False),
        (HELD_BY, 1, False),
    ],
)
def test_a_pod_with_a_finalizer_is_named_and_the_others_end(logged, finalizer, times, again):
    """A controller of Kubernetes may only be slow, so its finalizer does not end the update at once."""
    with cluster(PODS | {PODS_PATH: {"items": [metadata("tracked", finalizer), metadata("slow")]}}) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE, times=times)) is again

    assert codes(logged) == [*(["FT-TEN-022"] if times < 3 else []), "FT-TEN-021"]
    assert logged[-1].endswith(f"\n  pods tracked by {finalizer}\n  pods that have not ended: tracked, slow")


def test_pods_that_cannot_be_deleted_are_reported(logged, monkeypatch):
    def denied(*_, **__):
        raise ClusterUnavailable("context", "no")

    monkeypatch.setattr("flux_tenancy.components.tenant.leaving.deletion.ask", denied)
    with cluster(PODS | {PODS_PATH: {"items": [metadata("slow")]}}) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE)) is False

    assert codes(logged) == ["FT-TEN-014"]


def test_a_sync_that_is_not_pruned_loses_its_access_and_its_finalizer(logged):
    asked: list[str] = []
    binding = {"metadata": {"name": "ops-team-reconciler", "namespace": "tools"}}
    answers = {
        f"{BINDINGS}/rolebindings": {"items": [binding]},
        f"{BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler": {},
        "/api/v1/namespaces/tools/serviceaccounts/flux": {},
        KUSTOMIZATION: metadata("ops-team", FLUX),
    }
    with cluster(answers, asked) as api:
        assert retried(api, "sync", failed("tools/ops-team", SYNC)) is True

    assert asked[0] == KUSTOMIZATION
    assert re.search("labelSelector=toolkit.fluxcd.io.*ops-team", asked[1])
    # Only after its access is deleted, since Flux might still apply something.
    assert asked[2:] == [
        f"DELETE {BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler?propagationPolicy=Background",
        "DELETE /api/v1/namespaces/tools/serviceaccounts/flux?propagationPolicy=Background",
        KUSTOMIZATION,
        f"PATCH {KUSTOMIZATION}",
    ]
    assert codes(logged) == ["FT-TEN-010"]
    assert "Kustomization tools/ops-team" in logged[0]


def test_a_sync_that_stays_without_access_ends_the_update_with_what_blocks_it(logged):
    asked: list[str] = []
    with cluster({KUSTOMIZATION: metadata("ops-team", "example.com/a")}, asked) as api:
        assert retried(api, "sync", failed("tools/ops-team", SYNC, times=2)) is False

    assert asked == [KUSTOMIZATION] * 2
    assert codes(logged) == ["FT-TEN-016"]
    sentence, command = logged[0].splitlines()
    assert sentence.startswith("tenant ops-team: ") and sentence.endswith("(FT-TEN-016):")
    assert command == "  kustomization ops-team by example.com/a"


@pytest.mark.parametrize(
    ("times", "again", "requests", "code", "field"),
    [
        (1, True, [f"PATCH {SOURCE_PATH}?fieldManager=flux-tenancy"], "FT-TEN-012", "within 60 s"),
        (2, True, [SOURCE_PATH, f"PATCH {SOURCE_PATH}"], "FT-TEN-013", "in 120 s"),
        (
            3,
            False,
            [SOURCE_PATH],
            "FT-TEN-016",
            "gitrepository ops-team by finalizers.fluxcd.io, example.com/a",
        ),
    ],
)
def test_a_source_is_first_requested_then_released_and_then_reported(logged, times, again, requests, code, field):
    asked: list[str] = []
    with cluster({SOURCE_PATH: metadata("ops-team", FLUX, "example.com/a")}, asked) as api:
        assert retried(api, "parts", failed("tools/ops-team", SOURCE, times=times)) is again

    assert asked == [SOURCE_PATH, *requests]
    assert codes(logged) == [code]
    assert "source-controller" in logged[0] and field in logged[0]


def test_a_source_of_a_lane_is_reported_with_its_controller(logged):
    labelled = {"name": "ops-team", "namespace": "tools", "labels": {LANE_LABEL: "batch"}}
    source = {**SOURCE, "metadata": labelled}
    with cluster({SOURCE_PATH: metadata("ops-team", FLUX)}) as api:
        assert retried(api, "parts", failed("tools/ops-team", source)) is True

    assert logged[0].startswith("source-controller-batch has not removed its finalizer")


def test_only_fluxs_finalizer_is_removed_and_only_from_the_version_that_was_read():
    bodies: list[bytes] = []
    found = metadata("ops-team", "example.com/a", FLUX)
    found["metadata"]["resourceVersion"] = "7"
    with cluster({SOURCE_PATH: found}, bodies=bodies) as api:
        remove_finalizer(api, SOURCE_PATH)

    assert [json.loads(body) for body in bodies] == [
        {"metadata": {"finalizers": ["example.com/a"], "resourceVersion": "7"}}
    ]


def test_an_object_that_is_gone_needs_no_release():
    with cluster({}) as api:
        remove_finalizer(api, SOURCE_PATH)


def with_flux_objects(*finalizers):
    """A namespace that two sources keep."""
    objects = [metadata("one", FLUX), metadata("two", *finalizers)]
    sources = "/apis/source.toolkit.fluxcd.io/v1/namespaces/tools/gitrepositories"
    return {
        "/api/v1/namespaces/tools": ending(NO_CONTENT),
        "/apis": discovery(("source.toolkit.fluxcd.io", "v1", "gitrepositories", "GitRepository")),
        sources: {"items": objects},
        **{f"{sources}/{each['metadata']['name']}": each for each in objects},
    }


def test_a_namespace_does_not_wait_for_what_flux_would_finalize(logged):
    asked: list[str] = []
    with cluster(with_flux_objects(FLUX), asked) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE)) is True

    changed = [each.rpartition("/")[2] for each in asked if each.startswith("PATCH ")]
    assert changed == ["one", "two"]
    assert codes(logged) == ["FT-TEN-020"]
    assert "2 of its objects" in logged[0]


@pytest.mark.parametrize(("refused", "code"), [("/apis", "FT-TEN-014"), (f"{SOURCE_PATH[:-8]}two", "FT-TEN-014")])
def test_a_namespace_is_not_deleted_again_if_what_blocks_it_cannot_be_read_or_released(logged, refused, code):
    with cluster(with_flux_objects(FLUX), statuses={refused: 403}) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE)) is False

    assert codes(logged) == [code]


@pytest.mark.parametrize(
    ("finalizers", "listed", "times"),
    [([FLUX, "example.com/a"], [], 1), ([FLUX], ["ops-team"], 1), ([FLUX], [], 3)],
)
def test_a_namespace_that_other_finalizers_block_or_whose_tenant_stays_is_reported(logged, finalizers, listed, times):
    asked: list[str] = []
    with cluster(with_flux_objects(*finalizers), asked) as api:
        assert retried(api, "namespace", failed("tools", NAMESPACE, times=times), listed) is False

    assert not [each for each in asked if each.startswith("PATCH ")]
    assert codes(logged) == ["FT-TEN-021"]


def test_access_that_cannot_be_removed_is_reported(logged):
    with cluster({}, statuses={f"{BINDINGS}/rolebindings": 403}) as api:
        assert retried(api, "sync", failed("tools/ops-team", SYNC)) is False

    assert codes(logged) == ["FT-TEN-014"]


@pytest.mark.parametrize(
    ("hook", "args", "listed", "read"),
    [
        ("sync", failed("tools/ops-team", SYNC), ["ops-team"], [KUSTOMIZATION]),
        ("sync", failed("tools/ops-team", SYNC, operation="update"), [], []),
        ("namespace", failed("tools", NAMESPACE, operation="create"), [], []),
        ("capsule", failed("ops-team", CAPSULE_TENANT, operation="update"), [], []),
    ],
)
def test_a_tenant_that_stays_keeps_everything(hook, args, listed, read, logged):
    asked: list[str] = []
    with cluster({}, asked) as api:
        assert retried(api, hook, args, listed) is False

    assert asked == read and logged == []


@pytest.mark.parametrize(
    ("hook", "manifest", "path"),
    [
        ("sync", SYNC, KUSTOMIZATION),
        ("parts", SOURCE, SOURCE_PATH),
        ("namespace", NAMESPACE, "/api/v1/namespaces/tools"),
        ("capsule", CAPSULE_TENANT, CAPSULE_PATH),
    ],
)
def test_an_object_whose_deletion_was_refused_keeps_everything(hook, manifest, path, logged):
    """As by a webhook that is down, or for lack of rights."""
    asked: list[str] = []
    there = {path: {"metadata": {"name": "ops-team", "finalizers": [FLUX]}}}
    with cluster(there | {PODS_PATH: {"items": [metadata("running")]}}, asked) as api:
        assert retried(api, hook, failed("ops-team", manifest)) is False

    assert asked == [path] and logged == []


def test_namespaces_that_capsule_has_not_begun_to_delete_are_left_alone(logged):
    asked: list[str] = []
    made = {"/api/v1/namespaces": {"items": [{"metadata": {"name": "tools"}}]}}
    with cluster(PODS | {PODS_PATH: {"items": [metadata("running")]}} | made, asked) as api:
        retried(api, "capsule", failed("ops-team", CAPSULE_TENANT))

    assert not [each for each in asked if each.startswith(("DELETE", "PATCH"))] and logged == []


@pytest.mark.parametrize("hook", ["sync", "namespace"])
def test_a_deletion_of_which_nothing_is_known_forces_nothing(hook, logged):
    manifest, path = {"sync": (SYNC, KUSTOMIZATION), "namespace": (NAMESPACE, "/api/v1/namespaces/tools")}[hook]
    asked: list[str] = []
    with cluster({}, asked, statuses={path: 403}) as api:
        assert retried(api, hook, failed("ops-team", manifest)) is False

    assert asked == [path] and codes(logged) == ["FT-TEN-014"]


MADE = {"/api/v1/namespaces": {"items": [metadata("tools"), metadata("tools-web")]}}


def test_what_blocks_a_namespace_that_the_tenant_has_made_is_named_when_its_tenant_of_capsule_stays(logged):
    asked: list[str] = []
    with cluster(HELD | MADE, asked) as api:
        assert retried(api, "capsule", failed("ops-team", CAPSULE_TENANT)) is False

    assert asked[1] == "/api/v1/namespaces?limit=500&labelSelector=capsule.clastix.io/tenant%3Dops-team"
    assert codes(logged) == ["FT-TEN-021"]
    assert "namespace tools is still being deleted" in logged[0]
    assert "`pulumi up --continue-on-error` removes other tenants" in logged[0]


@pytest.mark.parametrize(("times", "again"), [(1, True), (2, True), (3, False)])
def test_a_tenant_of_capsule_with_slow_namespaces_is_deleted_again_twice(logged, times, again):
    slow = PODS | {PODS_PATH: {"items": [metadata("slow")]}} | MADE
    with cluster(slow) as api:
        assert retried(api, "capsule", failed("ops-team", CAPSULE_TENANT, times=times)) is again

    assert codes(logged) == (["FT-TEN-022"] if again else ["FT-TEN-021"])


def test_namespaces_of_a_tenant_of_capsule_that_cannot_be_read_are_reported(logged):
    with cluster({}, statuses={"/api/v1/namespaces": 403}) as api:
        assert retried(api, "capsule", failed("ops-team", CAPSULE_TENANT)) is False

    assert codes(logged) == ["FT-TEN-014"]
