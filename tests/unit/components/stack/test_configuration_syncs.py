"""The syncs of a tenant: what does not go together is found before anything is applied."""

import pytest
from sample_stack import load
from sample_stack import problems as problems_of

from components.stack.config_wordings import INTERVAL_TOO_SHORT, TIMEOUT_TOO_LONG
from components.sync.config_wordings import NOT_A_VARIABLE
from components.tenant.config_wordings import (
    CIRCLE,
    FOREIGN_TARGET_NAMESPACE,
    NAME_OF_OWN_SYNC,
    TOO_MANY_SYNCS,
    UNKNOWN_DEPENDENCY,
)

WHERE = "Pulumi.staging.yaml: tenants.dev-team"
CHECK = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}


def problems(project, entry, **sections):
    return problems_of(project, tenants={"dev-team": entry}, **sections)


def test_syncs_that_depend_on_each_other_are_taken(tmp_path):
    syncs = {"app": {"dependsOn": ["db", "dev-team"], "wait": False, "healthChecks": [CHECK]}, "db": {}}

    tenant = load(tmp_path, tenants={"dev-team": {"syncs": syncs}}).tenants["dev-team"]

    assert tenant.syncs["app"].depends_on == ("db", "dev-team")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"syncs": {"dev-team": {}}}, "syncs.dev-team: " + NAME_OF_OWN_SYNC()),
        (
            {"syncs": {"app": {"dependsOn": ["db"]}}},
            "syncs.app.dependsOn[0]: " + UNKNOWN_DEPENDENCY(kind="syncs", known="dev-team").of("db"),
        ),
        (
            {"sync": {"dependsOn": ["db"]}},
            "sync.dependsOn[0]: " + UNKNOWN_DEPENDENCY(kind="syncs", known="none").of("db"),
        ),
        (
            {"sync": {"dependsOn": ["app"]}, "syncs": {"app": {"dependsOn": ["dev-team"]}}},
            "syncs.app.dependsOn: " + CIRCLE(circle="app -> dev-team -> app"),
        ),
        (
            {"syncs": {"app": {"targetNamespace": "tools"}}},
            "syncs.app.targetNamespace: " + FOREIGN_TARGET_NAMESPACE(namespaces="apps").of("tools"),
        ),
        (
            {"sync": {"wait": False, "healthChecks": [CHECK | {"namespace": "tools"}]}},
            "sync.healthChecks[0].namespace: " + FOREIGN_TARGET_NAMESPACE(namespaces="apps").of("tools"),
        ),
        (
            {"syncs": {"app": {"postBuild": {"substitute": {"a-b": "c"}}}}},
            "syncs.app.postBuild.substitute.a-b: " + NOT_A_VARIABLE().of("a-b"),
        ),
    ],
)
def test_syncs_that_could_not_be_applied_are_refused(tmp_path, entry, problem):
    assert problems(tmp_path, entry) == [f"{WHERE}.{problem}"]


def test_more_syncs_than_the_quota_admits_are_refused(tmp_path):
    found = problems(tmp_path, {"syncs": {"a": {}, "b": {}}}, tenancy={"limits": {"kustomizations": 1}})

    assert found == [f"{WHERE}.syncs: {TOO_MANY_SYNCS(count=2, limit=1)}"]


def test_intervals_and_timeouts_of_syncs_are_held_to_the_policies(tmp_path):
    found = problems(
        tmp_path,
        {"syncs": {"app": {"retryInterval": "10s", "timeout": "1h"}}},
        policies={"minimumInterval": "30s", "maximumTimeout": "10m"},
    )

    assert found == [
        f"{WHERE}.syncs.app.retryInterval: {INTERVAL_TOO_SHORT(minimum='30s').of('10s')}",
        f"{WHERE}.syncs.app.timeout: {TIMEOUT_TOO_LONG(maximum='10m').of('1h')}",
    ]
