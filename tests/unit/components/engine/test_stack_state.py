"""The results of earlier updates are read from the resources in the stack's own state."""

import pytest
from recorded_program import run

from flux_tenancy.components.engine.state import State, read_state

STATE = "pulumi:pulumi:readStackResourceOutputs"
DEPLOY_KEY = "github:index/repositoryDeployKey:RepositoryDeployKey"


def resource(kinds, name, **outputs):
    """A resource as readStackResourceOutputs returns it; `kinds` are its parents' types and its own."""
    return {f"urn:pulumi:staging::flux-tenancy::{kinds}::{name}": {"type": kinds.split("$")[-1], "outputs": outputs}}


def read(resources):
    found = []

    async def program():
        found.append(await read_state())

    run(program, calls={STATE: {"outputs": resources}})
    return found[0]


def test_the_stacks_own_state_is_read_which_is_empty_before_the_first_update():
    asked = []

    async def program():
        recorded = await read_state()
        asked.append((recorded.outputs(DEPLOY_KEY), recorded.names(DEPLOY_KEY)))

    def answer(arguments):
        asked.append(arguments)
        return {"outputs": {}}

    run(program, calls={STATE: answer})

    assert asked == [{"stackName": "organization/flux-tenancy/staging"}, ([], set())]


def test_a_resource_is_found_by_its_own_type_below_any_parent():
    recorded = read(
        resource(f"flux-tenancy:index:Tenant${DEPLOY_KEY}", "dev-team-0123456789", key="ssh-ed25519 A")
        | resource(DEPLOY_KEY, "ops-team-0123456789", key="ssh-ed25519 B")
        | resource("flux-tenancy:index:Tenant", "dev-team", namespaces=["apps"])
        | resource("kubernetes:core/v1:ServiceAccount", "apps/dev-team")
    )

    assert recorded.names(DEPLOY_KEY) == {"dev-team-0123456789", "ops-team-0123456789"}
    assert recorded.names("flux-tenancy:index:Tenant") == {"dev-team"}
    assert recorded.names("kubernetes:core/v1:ServiceAccount") == {"apps/dev-team"}
    assert sorted(outputs["key"] for outputs in recorded.outputs(DEPLOY_KEY)) == ["ssh-ed25519 A", "ssh-ed25519 B"]


@pytest.mark.parametrize("kind", ["kubernetes:core/v1", "kubernetes:core/v1:Secre", "Secret", "secret"])
def test_a_part_of_a_type_is_not_the_type(kind):
    recorded = State({("kubernetes:core/v1:Secret", "apps/git"): {}})

    assert recorded.names(kind) == set()
    assert recorded.outputs(kind) == []
