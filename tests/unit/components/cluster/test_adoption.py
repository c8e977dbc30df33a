"""Adoption: existing objects are imported and not created, unless they are already in the state."""

import json
from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from recorded_program import run

from flux_tenancy.components.cluster.adoption import adopt
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.plan import register

NOTHING = State({})
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}
SOURCE = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {"name": "flux-system", "namespace": "flux-system"},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "webhook-receiver", "namespace": "flux-system"},
}
TAKEN_OVER = ("ConfigMap", "Secret", "Service")
RECEIVER = SOURCE | {"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver"}


def kinds(*found):
    """An API server's answer about an API version: each kind with its plural and whether it is namespaced."""
    resources = [
        {"name": plural, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": ["get"]}
        for kind, plural, namespaced in found
    ]
    return {"kind": "APIResourceList", "groupVersion": "", "resources": resources}


def listed(*names):
    """A page of a list that contains only metadata."""
    namespace = {"namespace": "flux-system"}
    found = [{"metadata": {"name": name.rpartition("/")[2]} | (namespace if "/" in name else {})} for name in names]
    # An API server encodes an empty list of metadata as null.
    return {"kind": "PartialObjectMetadataList", "items": found or None}


SERVER = {
    "/api/v1": kinds(("Namespace", "namespaces", False), *((kind, f"{kind.lower()}s", True) for kind in TAKEN_OVER)),
    "/apis/source.toolkit.fluxcd.io/v1": kinds(
        ("GitRepository", "gitrepositories/status", True), ("GitRepository", "gitrepositories", True)
    ),
}
NAMESPACES, SOURCES = "/api/v1/namespaces", "/apis/source.toolkit.fluxcd.io/v1/gitrepositories"
AT = {
    "Namespace flux-system": (NAMESPACES, "flux-system"),
    **{
        f"{kind} flux-system/webhook-receiver": (f"/api/v1/{kind.lower()}s", "flux-system/webhook-receiver")
        for kind in TAKEN_OVER
    },
    "GitRepository flux-system/flux-system": (SOURCES, "flux-system/flux-system"),
}


def registered(program, existing=(), recorded=NOTHING, statuses=None, planned=(), preview=False):
    """What a program registers in a cluster with these objects, and the requests to the cluster."""
    lists = {path: listed(*(AT[each][1] for each in existing if AT[each][0] == path)) for path, _ in AT.values()}
    answers = {path: json.dumps(answer).encode() for path, answer in (SERVER | lists).items()}
    asked: list[Any] = []
    statuses = dict.fromkeys(answers, 200) | (statuses or {})
    with serving(answers, 404, asked=asked, statuses=statuses) as server:
        configuration = client.Configuration()
        configuration.host = server

        async def with_adoption():
            await adopt(client.ApiClient(configuration), recorded, planned)
            asked.append("registering")
            program()

        return run(with_adoption, preview=preview), asked


def adopted(*args, **cluster):
    """The ID by which each resource is imported, if it is, and the requests to the cluster."""
    found, asked = registered(*args, **cluster)
    return {name: each.imported for name, each in found.items()}, asked


def manifests(*each):
    def program():
        for manifest in each:
            register(manifest, pulumi.ResourceOptions())

    return program


@pytest.mark.parametrize(("existing", "source"), [(AT, "flux-system/flux-system"), (["Namespace flux-system"], "")])
def test_an_existing_object_is_imported_by_the_providers_id_and_a_missing_one_created(existing, source):
    assert adopted(manifests(NAMESPACE, SOURCE), existing=existing)[0] == {
        "Namespace flux-system": "flux-system",
        "GitRepository flux-system/flux-system": source,
    }


@pytest.mark.parametrize("kind", TAKEN_OVER)
def test_an_existing_object_that_an_import_would_replace_is_taken_over_instead(kind):
    """For its cluster IP, or for data that differs."""
    manifest = SERVICE | {"kind": kind, "data": {}}

    assert adopted(manifests(manifest), existing=AT)[0] == {f"{kind} flux-system/webhook-receiver": ""}


def test_an_object_with_a_generated_name_is_created_without_a_request():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "flux-system-git-"}, "data": {}}

    imported, asked = adopted(manifests(secret), existing=AT)

    assert imported == {"Secret flux-system-git": ""}
    assert not [path for path in asked if "secrets" in str(path)]


@pytest.mark.parametrize("planned", [[NAMESPACE], []])
@pytest.mark.parametrize("broken", ["/api/v1", NAMESPACES])
def test_a_cluster_that_does_not_answer_is_an_error(broken, planned):
    with pytest.raises(pulumi.RunError, match="answers 503"):
        adopted(manifests(NAMESPACE), existing=AT, statuses={broken: 503}, planned=planned)


def test_planned_objects_are_read_before_registration_with_one_request_for_each_kind():
    """Registering resources must not wait for the cluster, since that would block the event loop."""
    more = [{**NAMESPACE, "metadata": {"name": f"team-{number}"}} for number in range(50)]

    imported, asked = adopted(manifests(NAMESPACE, *more, SOURCE), existing=AT, planned=[NAMESPACE, *more, SOURCE])

    assert (len(imported), imported["Namespace flux-system"]) == (52, "flux-system")
    assert asked.pop() == "registering"
    assert sorted(asked) == sorted(
        ["/api/v1", f"{NAMESPACES}?limit=500", "/apis/source.toolkit.fluxcd.io/v1", f"{SOURCES}?limit=500"]
    )


def test_an_object_of_a_kind_that_the_cluster_does_not_have_yet_is_created():
    assert adopted(manifests(RECEIVER), existing=AT)[0] == {"Receiver flux-system/flux-system": ""}


def test_objects_in_the_state_are_not_imported_and_not_requested():
    recorded = State({("kubernetes:core/v1:Namespace", "flux-system"): {}})

    imported, asked = adopted(manifests(NAMESPACE), existing=AT, recorded=recorded, planned=[NAMESPACE])

    assert imported == {"Namespace flux-system": ""}
    assert asked == ["registering"]


def test_an_object_with_the_same_name_and_another_kind_is_not_the_stacks_own():
    recorded = State({("kubernetes:core/v1:ServiceAccount", "flux-system"): {}})

    assert adopted(manifests(NAMESPACE), existing=AT, recorded=recorded)[0] == {"Namespace flux-system": "flux-system"}


def test_components_providers_and_resources_of_other_providers_are_created():
    def program():
        pulumi.ComponentResource("test:index:Tenant", "tenant")
        pulumi.CustomResource("github:index/repositoryDeployKey:RepositoryDeployKey", "key", {"title": "a"})

    imported, _ = adopted(program, existing=AT)

    assert imported == {"Tenant tenant": "", "RepositoryDeployKey key": ""}


@pytest.mark.parametrize("planned", [(), (NAMESPACE, SOURCE)])
def test_a_preview_shows_objects_as_created_whose_kind_its_user_may_not_list(planned):
    imported, _ = adopted(manifests(NAMESPACE, SOURCE), AT, statuses={SOURCES: 403}, planned=planned, preview=True)

    assert imported == {"Namespace flux-system": "flux-system", "GitRepository flux-system/flux-system": ""}


def test_an_update_has_to_list_them():
    with pytest.raises(pulumi.RunError, match="FT-CLU-006"):
        adopted(manifests(SOURCE), AT, statuses={SOURCES: 403}, planned=(SOURCE,))


def test_an_imported_object_keeps_its_options():
    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        first = pulumi.CustomResource("test:index:Thing", "first", {})
        register(NAMESPACE, pulumi.ResourceOptions(parent=parent, depends_on=[first], ignore_changes=["data"]))

    found = registered(program, existing=AT)[0]["Namespace flux-system"]

    assert (found.imported, found.parent, found.after, found.ignored) == (
        "flux-system",
        "Tenant tenant",
        {"Thing first"},
        {"data"},
    )
