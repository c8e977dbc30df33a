"""CapsuleInstall: what Capsule fills in outlives the chart, and the namespace and the definitions outlive both."""

from typing import cast

from kubernetes.client import ApiClient
from recorded_program import run
from sample_capsule import capsule_config, definition

from flux_tenancy.components.installs.capsule import CapsuleInstall, CapsuleInstallArgs, CapsuleRelease
from flux_tenancy.components.installs.product import Chart

CHART = Chart(".charts/3a.tgz", "0.14.0")
RELEASE, HOME = "Release capsule", "Namespace capsule-system"
ROLES = {"provisioner": ["create", "patch"], "deleter": ["delete"]}
DEFINITION = "CustomResourceDefinition tenants.capsule.clastix.io"


def installed():
    release = CapsuleRelease(CHART, (definition("Tenant", v1beta2=True),))
    args = CapsuleInstallArgs(capsule_config(), release, cast("ApiClient", object()), ["tenant-role"])
    return run(lambda: CapsuleInstall("capsule", args) and None)


def test_the_chart_is_one_release_without_definitions_of_its_own():
    release = installed()[RELEASE].properties

    assert (release["name"], release["namespace"], release["chart"]) == ("capsule", "capsule-system", CHART.path)
    assert release["skipCrds"] is True
    assert release["values"]["manager"]["rbac"] == {"strict": True, "bindableClusterRoles": ["tenant-role"]}


def test_what_capsule_fills_in_goes_after_the_release_and_before_the_namespace():
    resources = installed()
    filled = {
        "ValidatingWebhookConfiguration capsule-dynamic-webhook",
        "MutatingWebhookConfiguration capsule-dynamic-webhook",
        "ClusterRole capsule-namespace-provisioner",
        "ClusterRole capsule-namespace-deleter",
        "ClusterRoleBinding capsule-namespace-provisioner",
    }

    assert resources[RELEASE].after == filled | {HOME, DEFINITION}
    assert all(resources[name].after == {HOME, DEFINITION} for name in filled)
    assert not {"webhooks", "subjects"} & {key for name in filled for key in resources[name].properties}


def test_capsule_has_nothing_to_change_about_the_roles_that_it_writes_when_it_starts():
    resources = installed()
    rules = {role: resources[f"ClusterRole capsule-namespace-{role}"].properties["rules"] for role in ROLES}

    assert rules == {
        role: [{"apiGroups": [""], "resources": ["namespaces"], "verbs": verbs}] for role, verbs in ROLES.items()
    }


def test_the_engine_goes_on_once_a_changed_capsule_serves():
    serving = ["capsule-serving"]

    assert installed()[RELEASE].hooks == {"after_create": serving, "after_update": serving}
