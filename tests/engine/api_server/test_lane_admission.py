"""Labels of lanes and accounts that the API server itself sets, and what it refuses the controllers of a lane."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES, own_objects_only
from flux_tenancy.components.policies.native_only import mutation
from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.components.vocabulary.names import LANE_LABEL, Controller, account_of
from tests.support.api_client import ApiClient
from tests.support.lab import eventually
from tests.support.policy_cases import (
    APPS,
    IMPLIED,
    LANED,
    NAMESPACE_OBJECTS,
    TENANT,
    bucket,
    chart,
    git,
    helm_repository,
    kustomization,
    moved,
    oci,
    release,
)
from tests.support.policy_requests import RBAC, bound
from tests.support.releases import FLUX_VERSION

REFUSED = "controllers of a lane change only Flux's objects of their lane"
CONFIG = FluxConfig.model_validate(
    {"version": FLUX_VERSION, "sha256": "5f" * 32, "lanes": {"tenants": {}, "batch": {}}}
)
ACCOUNT = account_of(Controller.KUSTOMIZE, "batch")
USER = f"system:serviceaccount:flux-system:{ACCOUNT}"


@pytest.fixture(scope="module")
def api(server: ApiClient) -> ApiClient:
    """The API server with two namespaces of tenants in different lanes, and a controller of one of these lanes."""
    rules = [
        {"apiGroups": [group], "resources": [*names, *(f"{name}/status" for name in names)], "verbs": ["*"]}
        for group, names in LANED_RESOURCES.items()
    ]
    plain = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}
    for manifest in (
        RBAC | {"kind": "ClusterRole", "metadata": {"name": "lane"}, "rules": rules},
        bound("ClusterRoleBinding", {"name": "lane"}, "lane", {"kind": "User", "name": USER}),
        *(plain, NAMESPACE_OBJECTS[APPS], NAMESPACE_OBJECTS[LANED], NAMESPACE_OBJECTS[IMPLIED]),
        moved(kustomization(name="older"), LANED),
        moved(kustomization(name="platform"), "flux-system"),
        *(*mutation("set-lanes"), *mutation("set-accounts"), *own_objects_only(CONFIG)),
    ):
        server.apply(manifest)
    for each in (git(), nameless(kustomization()), nameless(release())):
        eventually(partial(is_changed, server, each), what="the policies in force")
    return server


def created(api: ApiClient, manifest: dict[str, Any]) -> dict[str, Any]:
    response = api.request("POST", manifest, dry_run=True)
    assert response.is_success, response.text
    found: dict[str, Any] = response.json()
    return found


def nameless(manifest: dict[str, Any], written: str | None = None) -> dict[str, Any]:
    """A Kustomization or HelmRelease that names no account."""
    found: dict[str, Any] = merge_patch(manifest, {"spec": {"serviceAccountName": written}})
    return found


def is_changed(api: ApiClient, manifest: dict[str, Any]) -> bool:
    """The API server needs some seconds to read a new policy, and the schema of a kind that is new to it."""
    response = api.request("POST", manifest, dry_run=True)
    if not response.is_success:
        return False
    found = response.json()
    return label_of(found) is not None and (found["kind"] == "GitRepository" or "serviceAccountName" in found["spec"])


def label_of(part: dict[str, Any]) -> str | None:
    labels: dict[str, str] = part["metadata"].get("labels", {})
    return labels.get(LANE_LABEL)


@pytest.mark.parametrize("make", [git, oci, bucket, helm_repository, chart, kustomization, release])
@pytest.mark.parametrize(("namespace", "lane"), [(APPS, "tenants"), (LANED, "batch")])
@pytest.mark.parametrize("labels", [{}, {"team": "a"}, {LANE_LABEL: "other"}], ids=str)
def test_an_object_gets_the_label_of_its_tenants_lane(
    api: ApiClient, make: Any, namespace: str, lane: str, labels: dict[str, str]
) -> None:
    metadata = {"metadata": {"labels": labels}} if labels else {}

    found = created(api, merge_patch(moved(make(), namespace), metadata))

    assert found["metadata"]["labels"] == labels | {LANE_LABEL: lane}


@pytest.mark.parametrize("metadata", [None, {}, {"labels": {"team": "a"}}, {"annotations": {"a": "b"}}], ids=str)
def test_a_release_hands_the_label_on_to_its_chart(api: ApiClient, metadata: dict[str, Any] | None) -> None:
    given = {} if metadata is None else {"spec": {"chart": {"metadata": metadata}}}

    found = created(api, merge_patch(release(), given))["spec"]["chart"]["metadata"]

    assert label_of({"metadata": found}) == "tenants"
    assert found.items() >= {key: value for key, value in (metadata or {}).items() if key != "labels"}.items()


def test_an_object_follows_its_tenant_at_its_next_change(api: ApiClient) -> None:
    older = moved(kustomization(name="older"), LANED)
    assert label_of(api.request("GET", older).json()) is None

    changed = api.request("PATCH", older, body={"spec": {"interval": "20m"}}, dry_run=True)

    assert label_of(changed.json()) == "batch"


@pytest.mark.parametrize("make", [kustomization, release])
@pytest.mark.parametrize("written", ["", None])
def test_an_object_that_names_no_account_gets_the_tenants(api: ApiClient, make: Any, written: str | None) -> None:
    for namespace, account in ((APPS, TENANT), (IMPLIED, "flux")):
        manifest = nameless(moved(make(), namespace), written)

        assert created(api, manifest)["spec"]["serviceAccountName"] == account


def test_an_account_that_is_written_stays_for_the_policies_to_judge(api: ApiClient) -> None:
    assert created(api, kustomization(serviceAccountName="other"))["spec"]["serviceAccountName"] == "other"


def test_flux_sees_no_difference_in_an_object_whose_account_was_set(api: ApiClient) -> None:
    """It applies what Git has again and again, as one field manager that forgets the field of the last time."""
    manifest = nameless(kustomization(name="again"))
    api.apply(manifest)
    first = api.request("GET", manifest).json()

    api.apply(manifest)

    again = api.request("GET", manifest).json()
    assert first["spec"] == again["spec"] and first["spec"]["serviceAccountName"] == TENANT
    assert first["metadata"]["generation"] == again["metadata"]["generation"]


def test_an_object_of_the_platform_gets_no_account(api: ApiClient) -> None:
    manifest = nameless(moved(kustomization(), "flux-system"))

    assert "serviceAccountName" not in created(api, manifest)["spec"]


def test_an_object_of_the_platform_gets_no_label(api: ApiClient) -> None:
    assert label_of(created(api, moved(kustomization(), "flux-system"))) is None


@pytest.mark.parametrize("part", ["", "status"])
def test_a_controller_of_a_lane_writes_only_objects_of_its_lane(api: ApiClient, part: str) -> None:
    body = {"status": {"observedGeneration": 3}} if part else {"metadata": {"annotations": {"a": "b"}}}

    def answer(manifest: dict[str, Any]) -> str:
        response = api.request("PATCH", manifest, user=USER, body=body, dry_run=True, subresource=part)
        return "" if response.is_success else response.text

    own, other = kustomization(name="own"), kustomization(name="other")
    api.apply(moved(own, LANED))
    api.apply(other)
    assert REFUSED in answer(moved(kustomization(name="platform"), "flux-system"))
    assert REFUSED in answer(other)
    # The control: so it reconciles its own.
    assert answer(moved(own, LANED)) == ""


def test_a_controller_of_a_lane_neither_creates_nor_deletes_objects_of_others(api: ApiClient) -> None:
    platform = moved(git(), "flux-system")
    deleted = api.request("DELETE", moved(kustomization(name="platform"), "flux-system"), user=USER, dry_run=True)

    assert REFUSED in api.request("POST", platform, user=USER, dry_run=True).text
    assert REFUSED in deleted.text
    # Which it would have to change to enter another lane.
    labelled = merge_patch(platform, {"metadata": {"labels": {LANE_LABEL: "tenants"}}})
    assert REFUSED in api.request("POST", labelled, user=USER, dry_run=True).text
