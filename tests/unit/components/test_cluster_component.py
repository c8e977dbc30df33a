"""Cluster: the one provider of the stack, tied to the cluster itself and not to a file that leads there."""

import pulumi
import pytest
from recorded_program import run

from components.cluster import Cluster, ClusterArgs, recorded_uid
from components.configuration import ClusterConfig

UID = "11111111-1111-1111-1111-111111111111"
STATE = "pulumi:pulumi:readStackResourceOutputs"
PROVIDER = "kubernetes cluster"


def provider(**cluster):
    config = ClusterConfig.model_validate(cluster)
    return run(lambda: Cluster("cluster", ClusterArgs(config, UID)) and None)[PROVIDER]


def test_the_provider_is_tied_to_the_cluster_and_applies_on_the_server():
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


def test_objects_are_created_by_this_provider():
    def program():
        cluster = Cluster("cluster", ClusterArgs(ClusterConfig.model_validate({"kubeconfig": "kubeconfig"}), UID))
        pulumi.CustomResource(
            "kubernetes:core/v1:ConfigMap", "object", {}, pulumi.ResourceOptions(provider=cluster.provider)
        )

    assert run(program)["ConfigMap object"].provider == PROVIDER


def state(resource, **outputs):
    """What the engine's readStackResourceOutputs answers for a stack with one resource."""
    kinds, _ = resource.split("::")
    return {f"urn:pulumi:staging::flux-tenancy::{resource}": {"type": kinds.split("$")[-1], "outputs": outputs}}


@pytest.mark.parametrize(
    ("resources", "uid"),
    [
        ({}, None),
        (state("flux-tenancy:index:FluxInstall::flux", version="2.9.5"), None),
        (state("flux-tenancy:index:Cluster::cluster"), None),
        (state("flux-tenancy:index:Cluster::cluster", uid=UID), UID),
        # The provider below the component is not the component.
        (state("flux-tenancy:index:Cluster$pulumi:providers:kubernetes::a", uid="x"), None),
    ],
)
def test_the_cluster_of_the_last_update_is_read_from_the_state(resources, uid):
    found = []

    async def program():
        found.append(await recorded_uid())

    run(program, calls={STATE: {"outputs": resources}})

    assert found == [uid]


def test_the_next_update_finds_the_identity_of_this_one():
    found = []

    def program():
        cluster = Cluster("cluster", ClusterArgs(ClusterConfig.model_validate({"kubeconfig": "kubeconfig"}), UID))
        return cluster.uid.apply(found.append)

    run(program)

    assert found == [UID]
