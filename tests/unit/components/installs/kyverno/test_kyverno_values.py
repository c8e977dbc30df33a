"""What the chart is told: locked down whatever the configuration says, and as large as it says."""

import pytest
from sample_kyverno import kyverno_config

from flux_tenancy.components.installs.kyverno import helm_values

SIZES = [{}, {"replicas": 1}, {"replicas": 9, "reports": True}]


@pytest.mark.parametrize("config", SIZES)
def test_nothing_that_weakens_the_platform_can_be_configured(config):
    values = helm_values(kyverno_config(**config))

    assert values["features"]["policyExceptions"] == {"enabled": False}
    assert values["features"]["forceFailurePolicyIgnore"] == {"enabled": False}
    assert values["rbac"]["roles"]["aggregate"] == {"admin": False, "view": False}
    assert values["cleanupController"] == {"enabled": False}


@pytest.mark.parametrize("config", SIZES)
def test_replica_sets_are_checked_and_no_filter_is_added(config):
    settings = helm_values(kyverno_config(**config))["config"]

    assert settings["resourceFiltersExclude"] == [
        "[ReplicaSet,*,*]",
        "[ReplicaSet/?*,*,*]",
        "[Binding,*,*]",
        "[Pod/binding,*,*]",
    ]
    assert {key for key in settings if key.startswith(("resourceFilters", "exclude", "webhooks", "match"))} == {
        "resourceFiltersExclude"
    }


@pytest.mark.parametrize(
    ("replicas", "admission", "others", "guarded"), [(1, 1, 1, False), (2, 2, 2, True), (3, 3, 2, True)]
)
def test_replicas_make_every_controller_highly_available(replicas, admission, others, guarded):
    values = helm_values(kyverno_config(replicas=replicas))
    controllers = {name: values[f"{name}Controller"] for name in ("admission", "background", "reports")}

    assert {name: each["replicas"] for name, each in controllers.items()} == {
        "admission": admission,
        "background": others,
        "reports": others,
    }
    assert {each["podDisruptionBudget"]["enabled"] for each in controllers.values()} == {guarded}


def test_a_pod_that_ends_serves_on_for_a_while():
    lifecycle = helm_values(kyverno_config())["admissionController"]["container"]["lifecycle"]

    assert lifecycle == {"preStop": {"sleep": {"seconds": 5}}}


def test_a_new_pod_is_sent_no_request_before_it_has_compiled_the_policies():
    probe = helm_values(kyverno_config())["admissionController"]["readinessProbe"]

    assert (probe["successThreshold"] - 1) * probe["periodSeconds"] == 10
    assert probe["failureThreshold"] * probe["periodSeconds"] == 60


@pytest.mark.parametrize("reports", [False, True])
def test_reports_and_what_makes_them_come_together(reports):
    values = helm_values(kyverno_config(reports=reports))

    assert values["reportsController"]["enabled"] is reports
    for feature in ("admissionReports", "aggregateReports", "policyReports", "backgroundScan"):
        assert values["features"][feature] == {"enabled": reports}


def test_the_background_controller_may_do_what_it_is_given_and_no_more():
    rule = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["create"]}

    assert helm_values(kyverno_config(), [rule])["backgroundController"]["rbac"] == {
        # Never empty, or the chart's own list would be in its place.
        "coreClusterRole": {"extraResources": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]},
        "clusterRole": {"extraResources": [rule]},
    }


def test_resources_are_those_of_their_controller_and_say_nothing_that_was_not_said():
    given = {
        "admission-controller": {"limits": {"memory": "1Gi"}},
        "background-controller": {"requests": {"cpu": "200m"}},
    }
    values = helm_values(kyverno_config(resources=given))

    assert values["admissionController"]["container"]["resources"] == {"limits": {"memory": "1Gi"}}
    assert values["backgroundController"]["resources"] == {"requests": {"cpu": "200m"}}
    assert "resources" not in values["reportsController"]


@pytest.mark.parametrize(
    ("largest", "given", "memory"),
    [
        (128, {}, "564Mi"),
        (256, {}, "864Mi"),
        (128, {"requests": {"cpu": "1"}}, "564Mi"),
        (128, {"limits": {"memory": "2Gi"}}, "2Gi"),
    ],
)
def test_the_admission_controllers_memory_follows_the_largest_object_unless_the_stack_sets_it(largest, given, memory):
    config = kyverno_config(resources={"admission-controller": given})

    container = helm_values(config, largest_object=largest)["admissionController"]["container"]

    assert container["resources"] == given | {"limits": {"memory": memory}}
    assert container["resources"].get("requests") == given.get("requests")


def test_without_a_largest_object_the_memory_is_the_charts():
    assert "resources" not in helm_values(kyverno_config())["admissionController"]["container"]
