"""References to objects with generated names are replaced, and nothing else in a manifest."""

from types import SimpleNamespace
from typing import Any

import pulumi
from recorded_program import GENERATED, run

from flux_tenancy.components.plan import generated_names, referring, register

NAMED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "apps"}}
GENERATE = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "dev-team-git-", "namespace": "apps"}}
NAMES = {"dev-team-git": "dev-team-git-1234"}


def test_references_to_objects_with_generated_names_are_replaced_at_any_depth():
    spec = {
        "url": "dev-team-git",
        "secretRef": {"name": "dev-team-git", "key": "a"},
        "verify": {"mode": "HEAD", "secretRef": {"name": "dev-team-signers"}},
        "decryption": {"secretRef": {"name": "dev-team-git"}},
        "sourceRef": {"kind": "GitRepository", "name": "dev-team-git"},
        "list": [{"name": "dev-team-git"}],
    }

    assert referring({"spec": spec}, NAMES) == {
        "spec": spec
        | {
            "secretRef": {"name": "dev-team-git-1234", "key": "a"},
            "decryption": {"secretRef": {"name": "dev-team-git-1234"}},
        }
    }


def test_a_manifest_without_such_references_is_not_changed():
    manifest = {"spec": {"secretRef": {"name": "dev-team-webhook"}}}

    assert referring(manifest, {}) == manifest


def test_the_names_are_the_generated_ones():
    found: dict[str, str] = {}

    def program():
        manifests = [NAMED, GENERATE | {"data": {}}]
        resources = [register(manifest, pulumi.ResourceOptions()) for manifest in manifests]
        names = generated_names(zip(manifests, resources, strict=True))
        return pulumi.Output.all(**names).apply(found.update)

    registered = run(program)

    assert set(registered) == {"ConfigMap apps/settings", "Secret dev-team-git"}
    assert "generateName" not in registered["Secret dev-team-git"].properties["metadata"]
    assert found == {"dev-team-git": f"dev-team-git-{GENERATED}"}


def test_secrets_among_the_sources_of_values_are_replaced_and_values_are_not():
    spec = {
        "valuesFrom": [{"kind": "Secret", "name": "dev-team-git"}, {"kind": "ConfigMap", "name": "dev-team-git"}],
        "values": {"secretRef": {"name": "dev-team-git"}, "other": {"secretRef": "a string"}},
    }

    assert referring({"spec": spec}, NAMES) == {
        "spec": spec
        | {
            "valuesFrom": [
                {"kind": "Secret", "name": "dev-team-git-1234"},
                {"kind": "ConfigMap", "name": "dev-team-git"},
            ]
        }
    }


@pulumi.runtime.test
def test_an_object_that_an_update_leaves_out_has_no_name():
    """With `--target`, the engine answers for such an object with what the program has given."""
    left_out: Any = SimpleNamespace(metadata=pulumi.Output.from_input({"namespace": "apps"}))

    def check(name: str) -> None:
        assert name == ""

    return generated_names([(GENERATE, left_out)])["dev-team-git"].apply(check)
