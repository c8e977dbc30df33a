"""Manifests are registered under tokens and names by which the provider and a reader know them."""

import pytest

from components.manifests import name_of, resource_type


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
