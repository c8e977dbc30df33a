"""The syncs of a tenant: what does not go together is found before anything is applied."""

from sample_stack import load
from sample_stack import problems as problems_of

from tests.support.messages import said

WHERE = "Pulumi.staging.yaml: tenants.dev-team"
CHECK = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}


def problems(project, entry, **sections):
    return problems_of(project, tenants={"dev-team": entry}, **sections)


def test_syncs_that_depend_on_each_other_are_taken(tmp_path):
    syncs = {"app": {"dependsOn": ["db", "dev-team"], "wait": False, "healthChecks": [CHECK]}, "db": {}}

    tenant = load(tmp_path, tenants={"dev-team": {"syncs": syncs}}).tenants["dev-team"]

    assert tenant.syncs["app"].depends_on == ("db", "dev-team")


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
