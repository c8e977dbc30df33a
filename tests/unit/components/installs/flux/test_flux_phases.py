"""A release is installed in the order of its dependencies."""

from sample_release import release
from sample_stack import flux_config

from flux_tenancy.components.installs.flux.profile import in_phases


def test_every_object_is_in_exactly_one_phase():
    phases = in_phases(release(), flux_config())

    kinds = [
        {manifest["kind"] for manifest in phase}
        for phase in (phases.namespaces, phases.definitions, phases.access, phases.controllers)
    ]
    assert kinds[0] == {"Namespace"}
    assert kinds[1] == {"CustomResourceDefinition"}
    assert {"ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Service", "NetworkPolicy"} <= kinds[2]
    assert kinds[3] == {"Deployment"}
    assert len(release()) == sum(map(len, (phases.namespaces, phases.definitions, phases.access, phases.controllers)))
