"""Manifests are registered with type tokens that the provider knows and names that a reader understands."""

from copy import deepcopy

import pulumi
import pytest
from recorded_program import run

from flux_tenancy.components.plan import register
from flux_tenancy.components.vocabulary.manifests import name_of, resource_type


@pytest.mark.parametrize(
    ("api_version", "kind", "token"),
    [
        ("v1", "Namespace", "kubernetes:core/v1:Namespace"),
        ("apps/v1", "Deployment", "kubernetes:apps/v1:Deployment"),
        ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization"),
    ],
)
def test_the_type_token_is_the_one_of_pulumis_own_classes(api_version, kind, token):
    assert resource_type({"apiVersion": api_version, "kind": kind}) == token


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"name": "apps"}, "apps"), ({"name": "dev-team", "namespace": "apps"}, "apps/dev-team")],
)
def test_the_name_includes_the_namespace(metadata, name):
    assert name_of({"metadata": metadata}) == name


def registered(manifest):
    [found] = run(lambda: register(manifest, pulumi.ResourceOptions()) and None).values()
    return found.properties


def config_map(**metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts"} | metadata, "data": {"a": "b"}}


def test_flux_and_other_field_managers_cannot_take_over_an_object():
    """Flux ignores objects with its annotation, and the provider forces its values in conflicts about a field."""
    assert registered(config_map()) == config_map(
        annotations={
            "kustomize.toolkit.fluxcd.io/reconcile": "disabled",
            "pulumi.com/patchForce": "true",
            "pulumi.com/deletionPropagationPolicy": "background",
        }
    )


def test_only_objects_whose_dependents_the_cluster_creates_are_deleted_in_the_foreground():
    """A user who may write to a namespace can name an object as owner and make its foreground deletion wait."""
    annotations = registered(config_map() | {"apiVersion": "apps/v1", "kind": "Deployment"})["metadata"]["annotations"]

    assert "pulumi.com/deletionPropagationPolicy" not in annotations


def test_the_manifests_own_annotations_stay():
    annotations = registered(config_map(annotations={"contact": "dev-team@example.com"}))["metadata"]["annotations"]

    assert annotations["contact"] == "dev-team@example.com"
    assert len(annotations) == 4


def test_the_content_of_a_secret_is_also_secret_in_pulumi():
    secret = config_map() | {"kind": "Secret", "data": {"password": "cGE1NXdvcmQ="}}

    assert registered(secret)["data"] == {"secret": {"password": "cGE1NXdvcmQ="}}


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_the_manifest_passed_in_is_not_changed(kind):
    manifest = config_map(annotations={"contact": "dev-team@example.com"}) | {"kind": kind}
    before = deepcopy(manifest)

    registered(manifest)

    assert manifest == before


@pytest.mark.parametrize("kind", ["Alert", "Provider"])
def test_an_object_whose_api_version_has_changed_keeps_its_place(monkeypatch, kind):
    """Otherwise the engine would apply it under the new type, and then delete the object of that name."""
    seen = []
    monkeypatch.setattr(pulumi, "CustomResource", lambda token, _name, _properties, opts: seen.append((token, opts)))

    register(config_map() | {"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": kind}, pulumi.ResourceOptions())
    register(config_map(), pulumi.ResourceOptions())

    [(token, opts), (_, plain)] = seen
    assert token == f"kubernetes:notification.toolkit.fluxcd.io/v1:{kind}"
    assert [alias.type_ for alias in opts.aliases] == [f"kubernetes:notification.toolkit.fluxcd.io/v1beta3:{kind}"]
    assert not plain.aliases
