"""Manifests are registered under tokens and names by which the provider and a reader know them."""

from copy import deepcopy

import pulumi
import pytest
from recorded_program import run

from components.cluster.manifests import name_of, register, resource_type


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
def test_the_name_says_where_an_object_stands(metadata, name):
    assert name_of({"metadata": metadata}) == name


def registered(manifest):
    [found] = run(lambda: register(manifest, pulumi.ResourceOptions()) and None).values()
    return found.properties


def config_map(**metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts"} | metadata, "data": {"a": "b"}}


def test_neither_flux_nor_another_field_manager_takes_an_object_away():
    """Flux leaves alone what it is told to, and the provider's word counts where somebody else holds a field."""
    assert registered(config_map()) == config_map(
        annotations={
            "kustomize.toolkit.fluxcd.io/reconcile": "disabled",
            "pulumi.com/patchForce": "true",
            "pulumi.com/deletionPropagationPolicy": "background",
        }
    )


def test_only_what_the_cluster_makes_dependents_for_is_deleted_after_them():
    """Whoever may write in a namespace can name an owner there, and ask that its deletion waits."""
    annotations = registered(config_map() | {"kind": "Deployment"})["metadata"]["annotations"]

    assert "pulumi.com/deletionPropagationPolicy" not in annotations


def test_annotations_of_ones_own_stay():
    annotations = registered(config_map(annotations={"contact": "dev-team@example.com"}))["metadata"]["annotations"]

    assert annotations["contact"] == "dev-team@example.com"
    assert len(annotations) == 4


def test_what_a_secret_holds_is_a_secret_to_pulumi_as_well():
    secret = config_map() | {"kind": "Secret", "data": {"password": "cGE1NXdvcmQ="}}

    assert registered(secret)["data"] == {"secret": {"password": "cGE1NXdvcmQ="}}


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_the_manifest_itself_is_left_as_it_was(kind):
    manifest = config_map(annotations={"contact": "dev-team@example.com"}) | {"kind": kind}
    before = deepcopy(manifest)

    registered(manifest)

    assert manifest == before
