"""Reading a cluster: the tenant, its account and its surroundings."""

from __future__ import annotations

from typing import Any, cast

import pytest

from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation import scene
from flux_tenancy.isolation.scene import has_account, read, tenancy, tenants
from flux_tenancy.operations.admission.dry_run import Kind
from flux_tenancy.project.errors import OperationError

API = cast(Any, None)
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SYNCS = "/apis/kustomize.toolkit.fluxcd.io/v1"


def namespace(name: str, tenant: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"toolkit.fluxcd.io/tenant": tenant} if tenant else {}}}


def binding(name: str, *accounts: str, labelled: bool = False) -> dict[str, Any]:
    labels = {"toolkit.fluxcd.io/tenant": "dev-team"} if labelled else {}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "apps"} for account in accounts]
    person = {"kind": "User", "name": "gotk:apps:reconciler"}
    return {"metadata": {"name": name, "namespace": "apps", "labels": labels}, "subjects": [person, *subjects]}


def account(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """Lists by their path."""
    objects: dict[str, list[dict[str, Any]]] = {
        "/api/v1/namespaces": [namespace("apps", "dev-team"), namespace("more", "dev-team"), namespace("free")],
        "/api/v1/namespaces/apps/serviceaccounts": [account("default"), account("flux"), account("ci")],
        "/api/v1/namespaces/free/serviceaccounts": [account("dev-team")],
        f"{RBAC}/namespaces/apps/rolebindings": [binding("a", "flux", labelled=True), binding("b", "ci")],
        f"{RBAC}/namespaces/more/rolebindings": [binding("a", "flux", labelled=True)],
    }

    def items(api: object, path: str, **query: str) -> list[dict[str, Any]]:
        found = objects.get(path, [])
        return [each for each in found if each["metadata"].get("labels")] if "labelSelector" in query else found

    monkeypatch.setattr(scene, "items", items)
    return objects


def test_tenants_are_found_by_their_label(cluster):
    assert tenants(API) == ["dev-team"]
    found = tenancy(API, "dev-team")
    assert (found.namespaces, found.user) == (("apps", "more"), "system:serviceaccount:apps:flux")


def test_the_account_that_flux_impersonates_is_detected_from_bindings(cluster):
    """Without labels on the bindings, what the syncs say decides."""
    cluster[f"{RBAC}/namespaces/apps/rolebindings"] = [binding("a", "flux", "ci")]
    cluster[f"{RBAC}/namespaces/more/rolebindings"] = []
    with pytest.raises(OperationError, match=r"bound there: apps/ci, apps/flux; .*--service-account"):
        tenancy(API, "dev-team")

    cluster[f"{SYNCS}/namespaces/apps/kustomizations"] = [{"spec": {"serviceAccountName": "flux"}}]

    assert tenancy(API, "dev-team").account == "flux"


def test_a_tenant_that_is_leaving_has_no_account(cluster):
    assert has_account(API, "dev-team")

    for name in ("apps", "more"):
        del cluster[f"{RBAC}/namespaces/{name}/rolebindings"]

    assert not has_account(API, "dev-team")


def test_a_namespace_without_the_label_can_be_given(cluster):
    found = tenancy(API, "", ["free"], "dev-team")

    assert (found.name, found.user) == ("free", "system:serviceaccount:free:dev-team")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "no namespace has the label toolkit.fluxcd.io/tenant: nobody; the cluster has .*: dev-team"),
        (("", ["gone"]), "the cluster has no namespace gone"),
        (("", ["free"], "other"), "the cluster has no service account free/other"),
        (("", ["free"]), "impersonates in .*; bound there: none"),
    ],
)
def test_an_unknown_tenant_is_an_error(cluster, arguments, said):
    with pytest.raises(OperationError, match=said):
        tenancy(API, *arguments)


@pytest.fixture
def flux(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"Kustomization": Kind("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "kustomizations")}
    monkeypatch.setattr(scene, "served", lambda api: kinds)
    monkeypatch.setattr(scene, "policies_in_force", lambda api: [])


@pytest.mark.usefixtures("flux")
def test_controllers_are_found_by_label_or_name_in_every_namespace(cluster):
    lane = {"name": "kustomize-lane-1", "namespace": "flux-lanes"}
    labels = {"app.kubernetes.io/component": "kustomize-controller"}
    cluster["/apis/apps/v1/deployments"] = [
        {"metadata": {"name": "kustomize-controller", "namespace": "flux"}},
        {"metadata": lane | {"labels": labels}},
        {"metadata": {"name": "web", "namespace": "apps", "labels": {}}},
    ]

    found = read(API, tenancy(API, "dev-team"))

    assert found.flux == "flux"
    names = [each["metadata"]["name"] for each in found.controllers[Controller.KUSTOMIZE]]
    assert names == ["kustomize-controller", "kustomize-lane-1"]
    assert found.foreign == "default"
    one = read(API, tenancy(API, "dev-team"), "flux-lanes")
    assert [len(each) for each in one.controllers.values()] == [1]


@pytest.mark.usefixtures("flux")
@pytest.mark.parametrize(("lane", "tenant", "alone"), [("a", "b", True), ("", "b", False), ("", "dev-team", True)])
def test_a_tenant_is_alone_in_its_lane_if_no_other_tenant_is_in_it(cluster, lane, tenant, alone):
    other = namespace("other", tenant)
    other["metadata"]["annotations"] = {"flux-tenancy/lane": lane} if lane else {}
    cluster["/api/v1/namespaces"].append(other)

    assert read(API, tenancy(API, "dev-team")).alone is alone


def test_a_cluster_without_flux_is_an_error(cluster, monkeypatch):
    monkeypatch.setattr(scene, "served", lambda api: {})

    with pytest.raises(OperationError, match="Flux is not installed"):
        read(API, tenancy(API, "dev-team"))
