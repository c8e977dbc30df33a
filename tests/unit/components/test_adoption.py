"""Adoption: what is in the cluster already is imported and not created, and what is Pulumi's own is left alone."""

import json
import tempfile
from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from recorded_program import run

from components.adoption import adopt
from components.manifests import register
from components.recorded import Recorded

NOTHING = Recorded({})
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
RECEIVER = SOURCE | {"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver"}


def kinds(*found):
    """What an API server answers for a version: each kind by its plural and whether it has namespaces."""
    resources = [
        {"name": plural, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": ["get"]}
        for kind, plural, namespaced in found
    ]
    return {"kind": "APIResourceList", "groupVersion": "", "resources": resources}


def group(name):
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


SERVER = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": kinds(("Namespace", "namespaces", False), ("Service", "services", True)),
    "/apis": {"kind": "APIGroupList", "groups": [group("source.toolkit.fluxcd.io")]},
    "/apis/source.toolkit.fluxcd.io/v1": kinds(("GitRepository", "gitrepositories", True)),
}
EXISTING = b'{"kind": "Any", "metadata": {"name": "flux-system"}}'
AT = {
    "Namespace flux-system": "/api/v1/namespaces/flux-system",
    "Service flux-system/webhook-receiver": "/api/v1/namespaces/flux-system/services/webhook-receiver",
    "GitRepository flux-system/flux-system": (
        "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system"
    ),
}


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch, tmp_path):
    """The client keeps what it has learnt of a server in a file by the server's address."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def adopted(program, existing=(), recorded=NOTHING, statuses=None):
    """What a program registers in a cluster that has these objects."""
    answers = {path: json.dumps(answer).encode() for path, answer in SERVER.items()}
    answers |= {AT[name]: EXISTING for name in existing}
    asked: list[Any] = []
    statuses = dict.fromkeys(answers, 200) | (statuses or {})
    with serving(answers, 404, asked=asked, statuses=statuses) as server:
        configuration = client.Configuration()
        configuration.host = server

        def with_adoption():
            adopt(client.ApiClient(configuration), recorded)
            program()

        registrations = run(with_adoption)
    return {name: each.imported for name, each in registrations.items()}, asked


def manifests(*each):
    def program():
        for manifest in each:
            register(manifest, pulumi.ResourceOptions())

    return program


def test_what_is_there_already_is_imported_under_the_name_that_the_provider_knows_it_by():
    assert adopted(manifests(NAMESPACE, SOURCE), existing=AT)[0] == {
        "Namespace flux-system": "flux-system",
        "GitRepository flux-system/flux-system": "flux-system/flux-system",
    }


def test_what_is_not_there_is_created():
    assert adopted(manifests(NAMESPACE, SOURCE), existing=["Namespace flux-system"])[0] == {
        "Namespace flux-system": "flux-system",
        "GitRepository flux-system/flux-system": "",
    }


def test_a_service_is_created_over_the_one_that_is_there_since_an_import_would_hold_on_to_its_cluster_ip():
    assert adopted(manifests(SERVICE), existing=AT)[0] == {"Service flux-system/webhook-receiver": ""}


@pytest.mark.parametrize("broken", ["/version", AT["Namespace flux-system"]])
def test_a_cluster_that_does_not_answer_is_told(broken):
    with pytest.raises(pulumi.RunError, match="answers 503"):
        adopted(manifests(NAMESPACE), existing=AT, statuses={broken: 503})


def test_an_object_of_a_kind_that_the_cluster_does_not_have_yet_is_created():
    assert adopted(manifests(RECEIVER), existing=AT)[0] == {"Receiver flux-system/flux-system": ""}


def test_what_an_earlier_update_has_left_is_the_stacks_own_and_not_even_asked_for():
    recorded = Recorded({("kubernetes:core/v1:Namespace", "flux-system"): {}})

    imported, asked = adopted(manifests(NAMESPACE), existing=AT, recorded=recorded)

    assert imported == {"Namespace flux-system": ""}
    assert AT["Namespace flux-system"] not in asked


def test_an_object_of_the_same_name_and_another_kind_is_not_the_stacks_own():
    recorded = Recorded({("kubernetes:core/v1:ServiceAccount", "flux-system"): {}})

    assert adopted(manifests(NAMESPACE), existing=AT, recorded=recorded)[0] == {"Namespace flux-system": "flux-system"}


def test_components_providers_and_resources_of_others_are_created():
    def program():
        pulumi.ComponentResource("test:index:Tenant", "tenant")
        pulumi.CustomResource("github:index/repositoryDeployKey:RepositoryDeployKey", "key", {"title": "a"})

    imported, _ = adopted(program, existing=AT)

    assert imported == {"Tenant tenant": "", "RepositoryDeployKey key": ""}


def test_the_options_of_an_imported_object_stay_as_they_were():
    answers = {path: json.dumps(answer).encode() for path, answer in SERVER.items()}
    answers[AT["Namespace flux-system"]] = EXISTING

    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        first = pulumi.CustomResource("test:index:Thing", "first", {})
        register(NAMESPACE, pulumi.ResourceOptions(parent=parent, depends_on=[first], ignore_changes=["data"]))

    with serving(answers, 404, statuses=dict.fromkeys(answers, 200)) as server:
        configuration = client.Configuration()
        configuration.host = server

        def with_adoption():
            adopt(client.ApiClient(configuration), NOTHING)
            program()

        found = run(with_adoption)["Namespace flux-system"]

    assert (found.imported, found.parent, found.after, found.ignored) == (
        "flux-system",
        "Tenant tenant",
        {"Thing first"},
        {"data"},
    )
