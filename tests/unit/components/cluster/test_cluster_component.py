"""Cluster: the stack's only provider, bound to the cluster itself and not to its kubeconfig."""

from typing import Any

import pulumi
import pytest
from recorded_program import run

from flux_tenancy.components.cluster.component import Cluster, ClusterArgs, known_cluster_uid
from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.engine.state import State

UID = "11111111-1111-1111-1111-111111111111"
TYPE = "flux-tenancy:index:Cluster"
PROVIDER = "kubernetes cluster"


def provider(**cluster):
    config = ClusterConfig.model_validate(cluster)
    return run(lambda: Cluster("cluster", ClusterArgs(config, UID)) and None)[PROVIDER]


def test_the_provider_is_bound_to_the_cluster_and_uses_server_side_apply():
    found = provider(kubeconfig="kubeconfig", context="staging")

    assert found.type == "pulumi:providers:kubernetes"
    assert found.parent == "Cluster cluster"
    assert found.properties == {
        "kubeconfig": "kubeconfig",
        "context": "staging",
        "clusterIdentifier": UID,
        "enableServerSideApply": "true",
    }


def test_a_kubeconfig_in_the_configuration_stays_a_secret():
    found = provider(kubeconfigContent="token: pa55word")

    assert found.properties["kubeconfig"] == {"secret": "token: pa55word"}


def test_objects_are_created_with_this_provider():
    def program():
        cluster = Cluster("cluster", ClusterArgs(ClusterConfig.model_validate({"kubeconfig": "kubeconfig"}), UID))
        pulumi.CustomResource(
            "kubernetes:core/v1:ConfigMap", "object", {}, pulumi.ResourceOptions(provider=cluster.provider)
        )

    assert run(program)["ConfigMap object"].provider == PROVIDER


@pytest.mark.parametrize(
    ("resources", "uid"),
    [
        ({}, None),
        ({("flux-tenancy:index:FluxInstall", "flux"): {"uid": "x"}}, None),
        ({(TYPE, "cluster"): {}}, None),
        ({(TYPE, "cluster"): {"uid": UID}}, UID),
        ({("pulumi:providers:kubernetes", "cluster"): {"uid": "x"}, (TYPE, "cluster"): {"uid": UID}}, UID),
    ],
)
def test_the_cluster_of_the_last_update_is_read_from_the_state(resources, uid):
    assert known_cluster_uid(State(resources)) == uid


def test_the_identity_of_the_cluster_is_recorded_for_the_next_update():
    found: list[Any] = []

    def program():
        cluster = Cluster("cluster", ClusterArgs(ClusterConfig.model_validate({"kubeconfig": "kubeconfig"}), UID))
        return cluster.uid.apply(found.append)

    component = run(program)["Cluster cluster"]

    assert component.type == TYPE
    assert found == [UID]
