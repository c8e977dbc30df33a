"""The syncs of a tenant: what does not go together is found before anything is applied."""

import pytest
from sample_stack import load
from sample_stack import problems as problems_of

from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE
from tests.support.messages import said

WHERE = "Pulumi.staging.yaml: tenants.dev-team"
DECRYPTION = "set the decryption of the tenant's `sync`"
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
        ({"syncs": {"dev-team": {}}}, "syncs.dev-team: " + said("FT-CFG-001", "the tenant's own sync")),
        (
            {"syncs": {"app": {"dependsOn": ["db"]}}},
            "syncs.app.dependsOn[0]: " + said("FT-CFG-404", "one of the tenant's syncs", "dev-team").of("db"),
        ),
        (
            {"sync": {"dependsOn": ["db"]}},
            "sync.dependsOn[0]: " + said("FT-CFG-404", "one of the tenant's syncs", "none").of("db"),
        ),
        (
            {"sync": {"dependsOn": ["app"]}, "syncs": {"app": {"dependsOn": ["dev-team"]}}},
            "syncs.app.dependsOn: " + said("FT-TEN-312", "app -> dev-team -> app"),
        ),
        (
            {"syncs": {"app": {"targetNamespace": "tools"}}},
            "syncs.app.targetNamespace: " + FOREIGN_TARGET_NAMESPACE(choices="apps").of("tools"),
        ),
        (
            {"sync": {"wait": False, "healthChecks": [CHECK | {"namespace": "tools"}]}},
            "sync.healthChecks[0].namespace: " + FOREIGN_TARGET_NAMESPACE(choices="apps").of("tools"),
        ),
        ({"syncs": {"app": {"decryption": {}}}}, "syncs.app.decryption: " + said("FT-FLX-034", DECRYPTION)),
        ({"sync": {"serviceAccountName": "admin"}}, "sync.serviceAccountName: " + said("FT-FLX-034", "remove it")),
        ({"sync": {"sourceRef": {"kind": "Bucket"}}}, "sync.sourceRef: " + said("FT-FLX-034", "set source")),
        ({"sync": {"kubeConfig": {}}}, "sync.kubeConfig: " + said("FT-FLX-034", "remove it: a stack is a cluster")),
    ],
)
def test_syncs_that_could_not_be_applied_are_refused(tmp_path, entry, problem):
    assert problems(tmp_path, entry) == [f"{WHERE}.{problem}"]


def test_more_syncs_than_the_quota_admits_are_refused(tmp_path):
    found = problems(tmp_path, {"syncs": {"a": {}, "b": {}}}, tenancy={"limits": {"kustomizations": 1}})

    assert found == [
        f"{WHERE}.syncs: {said('FT-TEN-313', 2, 1, 'Kustomizations besides its own sync', 'kustomizations')}"
    ]


def test_intervals_and_timeouts_of_syncs_are_held_to_the_policies(tmp_path):
    found = problems(
        tmp_path,
        {"syncs": {"app": {"retryInterval": "10s", "timeout": "1h"}}},
        policies={"minimumInterval": "30s", "maximumTimeout": "10m"},
    )

    assert found == [
        f"{WHERE}.syncs.app.retryInterval: "
        + said("FT-CFG-678", "shorter", "policies.minimumInterval", "30s", "more").of("10s"),
        f"{WHERE}.syncs.app.timeout: "
        + said("FT-CFG-678", "longer", "policies.maximumTimeout", "10m", "less").of("1h"),
    ]
