"""Offboarding that is blocked: access is removed anyway, and what blocks a namespace is reported with a command."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pulumi
import pytest
from loopback import api_client
from message_codes import codes
from sample_stack import Hook

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.tenant.leaving.deletion import Offboarding, remove_finalizer
from flux_tenancy.components.tenant.leaving.remaining_objects import Held, NamespaceHolds, read_namespace_holds
from flux_tenancy.components.vocabulary.names import LANE_LABEL


def discovery(*groups):
    """The answer of an API server to what kinds it has: group, version, resource, kind."""
    namespaced = {"scope": "Namespaced", "verbs": ["delete", "list"]}
    return {
        "items": [
            {
                "metadata": {"name": group},
                "versions": [
                    {
                        "version": version,
                        "resources": [{"resource": resource, "responseKind": {"kind": kind}} | namespaced],
                    }
                ],
            }
            for group, version, resource, kind in groups
        ]
    }


FLUX = "finalizers.fluxcd.io"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
KUSTOMIZATION = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/tools/kustomizations/ops-team"
SOURCES_PATH = "/apis/source.toolkit.fluxcd.io/v1/namespaces/tools/gitrepositories"
SOURCE_PATH = f"{SOURCES_PATH}/ops-team"
NAMESPACE_PATH = "/api/v1/namespaces/tools"
CAPSULE_PATH = "/apis/capsule.clastix.io/v1beta2/tenants/ops-team"
PODS_PATH = f"{NAMESPACE_PATH}/pods"


def of_tenant(version, kind, **metadata):
    labels = {"toolkit.fluxcd.io/tenant": "ops-team"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "ops-team", "labels": labels} | metadata}


SOURCE = of_tenant("source.toolkit.fluxcd.io/v1", "GitRepository", namespace="tools")
SYNC = of_tenant("kustomize.toolkit.fluxcd.io/v1", "Kustomization", namespace="tools")
NAMESPACE = of_tenant("v1", "Namespace", name="tools")
CAPSULE_TENANT = of_tenant("capsule.clastix.io/v1beta2", "Tenant")
# What is deleted, and how it was planned.
DELETED = {
    "parts": (SOURCE, Stage.CONTENT, {}),
    "sync": (SYNC | {"spec": {"serviceAccountName": "flux"}}, Stage.SYNCS, {"spec": {"timeout": "5m"}}),
    "namespace": (NAMESPACE, Stage.NAMESPACES, {}),
    "capsule": (CAPSULE_TENANT, Stage.CAPSULE, {}),
}


def metadata(name, *finalizers):
    held = {"finalizers": list(finalizers)} if finalizers else {}
    return {"metadata": {"name": name, "deletionTimestamp": "2026-11-27T00:00:00Z", **held}}


def ending(*conditions):
    return metadata("tools") | {"status": {"conditions": list(conditions)}}


def condition(kind, message, status="True"):
    return {"type": kind, "status": status, "message": message}


NO_KINDS = {"/api": discovery(), "/apis": discovery()}
# As Kubernetes 1.36 has it while pods end.
NO_CONTENT = condition("NamespaceContentRemaining", "All content successfully removed", status="False")
HELD = {
    "/api": discovery(("", "v1", "configmaps", "ConfigMap")),
    "/apis": discovery(("example.com", "v2", "widgets", "Widget")),
    NAMESPACE_PATH: ending(NO_CONTENT),
    f"{NAMESPACE_PATH}/configmaps": {"items": [metadata("held", "example.com/a"), metadata("free")]},
    "/apis/example.com/v2/namespaces/tools/widgets": {"items": [metadata("$(x)\n", "example.com/b", "orphan")]},
}
RUNNING = {"/api": discovery(("", "v1", "pods", "Pod")), PODS_PATH: {"items": [metadata("slow"), metadata("slower")]}}
PODS = RUNNING | {NAMESPACE_PATH: ending(NO_CONTENT)}
MADE = {"/api/v1/namespaces": {"items": [metadata("tools"), metadata("tools-web")]}}


def cluster(answers, statuses=None, **options):
    found = NO_KINDS | answers
    return api_client(found, 404, statuses=dict.fromkeys(found, 200) | (statuses or {}), **options)


def read_holds(answers, statuses=None):
    with cluster(answers, statuses) as api:
        return read_namespace_holds(api, "tools")


@dataclass
class Outcome:
    """What becomes of a deletion that has failed.

    Attributes:
        again: whether the engine should retry.
        asked: the requests to the API server.
        logged: the messages in the terminal.
        severities: how severe each of them is.
    """

    again: bool
    asked: list[str]
    logged: list[str]
    severities: list[str] = field(default_factory=list)

    @property
    def codes(self):
        return codes(self.logged)

    @property
    def changing(self):
        return [each for each in self.asked if each.startswith(("DELETE ", "PATCH "))]


def failed(hook, answers, *, times=1, operation="delete", listed=(), manifest=None, **options):
    """The outcome after `times` errors, in a stack with the tenants `listed`."""
    inputs, stage, planned = DELETED[hook]
    inputs = manifest or inputs
    args = pulumi.ErrorHookArgs(
        urn="",
        id="",
        name=f"tools/{inputs['metadata']['name']}",
        type="",
        old_inputs=inputs,
        failed_operation=operation,
        errors=["timed out"] * times,
    )
    asked: list[str] = []
    logged: list[str] = []
    severities: list[str] = []

    def log(severity, message):
        logged.append(message)
        severities.append(severity)

    async def ask(api):
        offboarding = Offboarding(api, listed, Hook)
        hooks: Any = offboarding.options(Planned(stage, {"kind": inputs["kind"], "metadata": {}} | planned), 300).hooks
        return await hooks.on_error[0](args)

    with cluster(answers, asked=asked, **options) as api, pytest.MonkeyPatch.context() as patch:
        for severity in ("info", "warn", "error"):
            patch.setattr(pulumi.log, severity, partial(log, severity))
        return Outcome(asyncio.run(ask(api)), asked, logged, severities)


def test_what_blocks_a_namespace_is_found_by_its_finalizers_and_no_name_reaches_the_terminal_as_it_is():
    holds = read_holds(HELD)

    assert holds == NamespaceHolds(
        "tools",
        (
            Held("configmaps", "held", ("example.com/a",)),
            Held("widgets.example.com", "$(x)\n", ("example.com/b", "orphan")),
        ),
    )
    assert holds.listing.splitlines() == [
        "",
        "  configmaps held by example.com/a",
        "  widgets.example.com $(x) by example.com/b, orphan",
    ]


def test_a_namespace_is_blocked_by_its_own_finalizers():
    own = {"name": "tools", "finalizers": ["example.com/a"]}

    holds = read_holds({NAMESPACE_PATH: {"metadata": own, "spec": {"finalizers": ["kubernetes", "b/c"]}}})

    assert not read_holds({NAMESPACE_PATH: metadata("tools") | {"spec": {"finalizers": ["kubernetes"]}}})
    assert holds.listing.splitlines() == [
        "",
        "  namespaces tools by example.com/a",
        "  spec.finalizers of the namespace itself: b/c",
    ]


@pytest.mark.parametrize("status", [403, 500])
def test_resources_that_cannot_be_listed_are_named(status):
    holds = read_holds(HELD, {f"{NAMESPACE_PATH}/configmaps": status})

    assert [each.resource for each in holds.objects] == ["widgets.example.com"]
    assert holds.listing.endswith("\n  configmaps that cannot be listed")


@pytest.mark.parametrize(("number", "last"), [(20, "configmaps a19 by example.com/a"), (21, "and 1 more")])
def test_long_lists_are_cut(number, last):
    holds = NamespaceHolds("tools", tuple(Held("configmaps", f"a{n}", ("example.com/a",)) for n in range(number)))

    assert len(holds.listing.splitlines()) == number + 1
    assert holds.listing.endswith(f"\n  {last}")


def test_an_api_that_does_not_answer_also_blocks_a_namespace():
    conditions = [
        condition("NamespaceDeletionDiscoveryFailure", "unable to retrieve\x1b[1m the APIs: metrics.k8s.io/v1"),
        condition("NamespaceDeletionContentFailure", "All content successfully deleted", status="False"),
    ]

    holds = read_holds({NAMESPACE_PATH: {"status": {"conditions": conditions}}})

    assert holds.listing == "\n  NamespaceDeletionDiscoveryFailure: unable to retrieve [1m the APIs: metrics.k8s.io/v1"


def test_nothing_blocks_a_namespace_that_is_gone():
    assert read_holds({}) is None


def test_a_blocked_namespace_ends_the_update_with_what_blocks_it():
    found = failed("namespace", HELD)

    assert (found.again, found.codes) == (False, ["FT-TEN-021"])
    assert "namespace tools" in found.logged[0]
    assert found.logged[0].splitlines()[1] == "  configmaps held by example.com/a"


TWICE = pytest.mark.parametrize(("times", "again"), [(1, True), (2, True), (3, False)])


@TWICE
def test_a_slow_namespace_is_deleted_again_twice(times, again):
    assert failed("namespace", {NAMESPACE_PATH: ending()}, times=times).again is again


@TWICE
def test_pods_that_take_too_long_to_end_are_deleted_at_once(times, again):
    found = failed("namespace", PODS, times=times)

    assert found.again is again
    assert found.changing == ([f"DELETE {PODS_PATH}?gracePeriodSeconds=0"] if again else [])
    assert found.codes == (["FT-TEN-022"] if again else ["FT-TEN-021"])
    assert again or found.logged[0].endswith("\n  pods that have not ended: slow, slower")


@pytest.mark.parametrize(
    ("finalizer", "times", "again"),
    [
        ("batch.kubernetes.io/job-tracking", 1, True),
        ("batch.kubernetes.io/job-tracking", 3, False),
        ("example.com/held", 1, False),
    ],
)
def test_a_pod_with_a_finalizer_is_named_and_the_others_end(finalizer, times, again):
    """A controller of Kubernetes may only be slow, so its finalizer does not end the update at once."""
    tracked = {PODS_PATH: {"items": [metadata("tracked", finalizer), metadata("slow")]}}

    found = failed("namespace", PODS | tracked, times=times)

    assert found.again is again
    assert found.codes == [*(["FT-TEN-022"] if times < 3 else []), "FT-TEN-021"]
    assert found.severities[-1] == ("warn" if again else "error")
    assert found.logged[-1].endswith(f"\n  pods tracked by {finalizer}\n  pods that have not ended: tracked, slow")


def test_pods_that_cannot_be_deleted_are_reported(monkeypatch):
    def denied(*_, **__):
        raise ClusterUnavailable("context", "no")

    monkeypatch.setattr("flux_tenancy.components.tenant.leaving.deletion.ask", denied)

    found = failed("namespace", PODS)

    assert (found.again, found.codes) == (False, ["FT-TEN-014"])


def test_a_sync_that_is_not_pruned_loses_its_access_and_its_finalizer():
    binding = {"metadata": {"name": "ops-team-reconciler", "namespace": "tools"}}
    answers = {
        f"{BINDINGS}/rolebindings": {"items": [binding]},
        f"{BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler": {},
        f"{NAMESPACE_PATH}/serviceaccounts/flux": {},
        KUSTOMIZATION: metadata("ops-team", FLUX),
    }

    found = failed("sync", answers)

    assert (found.again, found.codes) == (True, ["FT-TEN-010"])
    assert found.asked[0] == KUSTOMIZATION
    assert re.search("labelSelector=toolkit.fluxcd.io.*ops-team", found.asked[1])
    # Only after its access is deleted, since Flux might still apply something.
    assert found.asked[2:] == [
        f"DELETE {BINDINGS}/namespaces/tools/rolebindings/ops-team-reconciler?propagationPolicy=Background",
        f"DELETE {NAMESPACE_PATH}/serviceaccounts/flux?propagationPolicy=Background",
        KUSTOMIZATION,
        f"PATCH {KUSTOMIZATION}",
    ]
    assert "Kustomization tools/ops-team" in found.logged[0]


def test_a_sync_that_stays_without_access_ends_the_update_with_what_blocks_it():
    found = failed("sync", {KUSTOMIZATION: metadata("ops-team", "example.com/a")}, times=2)

    assert (found.again, found.asked, found.codes) == (False, [KUSTOMIZATION] * 2, ["FT-TEN-016"])
    sentence, command = found.logged[0].splitlines()
    assert sentence.startswith("tenant ops-team: ") and sentence.endswith("(FT-TEN-016):")
    assert command == "  kustomization ops-team by example.com/a"


@pytest.mark.parametrize(
    ("times", "again", "requests", "code", "field"),
    [
        (1, True, [f"PATCH {SOURCE_PATH}?fieldManager=flux-tenancy"], "FT-TEN-012", "within 60 s"),
        (2, True, [SOURCE_PATH, f"PATCH {SOURCE_PATH}"], "FT-TEN-013", "in 120 s"),
        (3, False, [SOURCE_PATH], "FT-TEN-016", "gitrepository ops-team by finalizers.fluxcd.io, example.com/a"),
    ],
)
def test_a_source_is_first_requested_then_released_and_then_reported(times, again, requests, code, field):
    found = failed("parts", {SOURCE_PATH: metadata("ops-team", FLUX, "example.com/a")}, times=times)

    assert (found.again, found.asked, found.codes) == (again, [SOURCE_PATH, *requests], [code])
    assert "source-controller" in found.logged[0] and field in found.logged[0]


def test_a_source_of_a_lane_is_reported_with_its_controller():
    labelled = {"name": "ops-team", "namespace": "tools", "labels": {LANE_LABEL: "batch"}}

    found = failed("parts", {SOURCE_PATH: metadata("ops-team", FLUX)}, manifest={**SOURCE, "metadata": labelled})

    assert found.again is True
    assert found.logged[0].startswith("source-controller-batch has not removed its finalizer")


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
    return {
        NAMESPACE_PATH: ending(NO_CONTENT),
        "/apis": discovery(("source.toolkit.fluxcd.io", "v1", "gitrepositories", "GitRepository")),
        SOURCES_PATH: {"items": objects},
        **{f"{SOURCES_PATH}/{each['metadata']['name']}": each for each in objects},
    }


def test_a_namespace_does_not_wait_for_what_flux_would_finalize():
    found = failed("namespace", with_flux_objects(FLUX))

    assert (found.again, found.codes) == (True, ["FT-TEN-020"])
    assert found.changing == [f"PATCH {SOURCES_PATH}/{name}" for name in ("one", "two")]
    assert "2 of its objects" in found.logged[0]


@pytest.mark.parametrize("refused", ["/apis", f"{SOURCES_PATH}/two"])
def test_a_namespace_is_not_deleted_again_if_what_blocks_it_cannot_be_read_or_released(refused):
    found = failed("namespace", with_flux_objects(FLUX), statuses={refused: 403})

    assert (found.again, found.codes) == (False, ["FT-TEN-014"])


@pytest.mark.parametrize(
    ("finalizers", "listed", "times"),
    [([FLUX, "example.com/a"], [], 1), ([FLUX], ["ops-team"], 1), ([FLUX], [], 3)],
)
def test_a_namespace_that_other_finalizers_block_or_whose_tenant_stays_is_reported(finalizers, listed, times):
    found = failed("namespace", with_flux_objects(*finalizers), times=times, listed=listed)

    assert (found.again, found.changing, found.codes) == (False, [], ["FT-TEN-021"])


@pytest.mark.parametrize(
    ("hook", "operation", "listed", "read"),
    [
        ("sync", "delete", ["ops-team"], [KUSTOMIZATION]),
        ("sync", "update", [], []),
        ("namespace", "create", [], []),
        ("capsule", "update", [], []),
    ],
)
def test_a_tenant_that_stays_keeps_everything(hook, operation, listed, read):
    assert failed(hook, {}, operation=operation, listed=listed) == Outcome(False, read, [])


@pytest.mark.parametrize(
    ("hook", "path"),
    [("sync", KUSTOMIZATION), ("parts", SOURCE_PATH), ("namespace", NAMESPACE_PATH), ("capsule", CAPSULE_PATH)],
)
def test_an_object_whose_deletion_was_refused_keeps_everything(hook, path):
    """As by a webhook that is down, or for lack of rights."""
    there = {path: {"metadata": {"name": "ops-team", "finalizers": [FLUX]}}}

    assert failed(hook, RUNNING | there) == Outcome(False, [path], [])


def test_namespaces_that_capsule_has_not_begun_to_delete_are_left_alone():
    found = failed("capsule", PODS | {"/api/v1/namespaces": {"items": [{"metadata": {"name": "tools"}}]}})

    assert found.changing == found.logged == []


@pytest.mark.parametrize(
    ("hook", "path", "requests"),
    [
        ("sync", KUSTOMIZATION, 1),
        ("namespace", NAMESPACE_PATH, 1),
        # Its access cannot be removed.
        ("sync", f"{BINDINGS}/rolebindings", 2),
        # The namespaces of a Tenant of Capsule cannot be read.
        ("capsule", "/api/v1/namespaces", 2),
    ],
)
def test_a_deletion_of_which_nothing_is_known_forces_nothing(hook, path, requests):
    found = failed(hook, {}, statuses={path: 403})

    assert (found.again, found.changing, found.codes) == (False, [], ["FT-TEN-014"])
    assert len(found.asked) == requests and found.asked[-1].startswith(path)


def test_what_blocks_a_namespace_that_the_tenant_has_made_is_named_when_its_tenant_of_capsule_stays():
    found = failed("capsule", HELD | MADE)

    assert (found.again, found.codes) == (False, ["FT-TEN-021"])
    assert found.asked[1] == "/api/v1/namespaces?limit=500&labelSelector=capsule.clastix.io/tenant%3Dops-team"
    assert "namespace tools is still being deleted" in found.logged[0]
    assert "`pulumi up --continue-on-error` removes other tenants" in found.logged[0]


@TWICE
def test_a_tenant_of_capsule_with_slow_namespaces_is_deleted_again_twice(times, again):
    found = failed("capsule", PODS | MADE, times=times)

    assert (found.again, found.codes) == (again, ["FT-TEN-022"] if again else ["FT-TEN-021"])
