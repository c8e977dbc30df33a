"""Editors check the files of the user against schemas that say what the program says."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from sample_stack import CLUSTER, DIGEST, FLUX
from sample_stack import PROJECT as NAME

from flux_tenancy.operations.schemas import FOLDER, rendered, stack_schema, tenant_schema

PROJECT = Path(__file__).parents[4]
STACK_FILES = [PROJECT / "Pulumi.staging.yaml", PROJECT / "Pulumi.production.yaml"]
ENCRYPTED = {"secure": "v1:AAAB"}
TENANT_FILES = sorted((PROJECT / "tenants").glob("*.yaml"))


def named_schema(file: Path) -> Path:
    """The schema that the first comment of a file names, as an editor finds it."""
    marker, path = file.read_text().splitlines()[0].split("$schema=")
    assert marker == "# yaml-language-server: "
    return (file.parent / path).resolve()


def errors(schema: dict[str, Any], document: Any) -> list[str]:
    """The paths at which a document does not hold to a schema."""
    found = jsonschema.Draft7Validator(schema).iter_errors(document)
    return sorted(".".join(map(str, error.absolute_path)) for error in found)


def stack(**sections: Any) -> dict[str, Any]:
    described = {"cluster": CLUSTER, "flux": FLUX} | sections
    return {"config": {f"flux-tenancy:{key}": value for key, value in described.items()}}


@pytest.mark.parametrize(("file", "text"), rendered(NAME).items(), ids=lambda value: value[:12])
def test_the_committed_schema_is_what_the_models_say(file, text):
    assert (PROJECT / FOLDER / file).read_text() == text, f"{file} is stale; run `make generate`"


@pytest.mark.parametrize("schema", [stack_schema(NAME), tenant_schema()], ids=["stack", "tenant"])
def test_a_schema_is_one_itself(schema):
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("file", STACK_FILES, ids=lambda file: file.name)
def test_every_stack_file_names_its_schema_and_holds_to_it(file):
    assert named_schema(file) == PROJECT / "schemas" / "stack.schema.json"
    assert errors(stack_schema(NAME), yaml.safe_load(file.read_text())) == []


@pytest.mark.parametrize("file", TENANT_FILES, ids=lambda file: file.name)
def test_every_tenant_file_names_its_schema_and_holds_to_it(file):
    assert named_schema(file) == PROJECT / "schemas" / "tenant.schema.json"
    assert errors(tenant_schema(), yaml.safe_load(file.read_text())) == []


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"tenants": {"dev-team": None, "ops-team": {}, "qa-team": {"sync": {"path": "./staging"}}}},
        {"cluster": {"kubeconfigContent": {"secure": "AAAB"}}},
        {"tenants": {"dev-team": {"source": {"deployKey": ENCRYPTED}}}},
        {"tenants": {"dev-team": {"source": {"https": {"password": ENCRYPTED}}}}},
        {"tenants": {"dev-team": {"source": {"githubApp": {"privateKey": ENCRYPTED}}}}},
        {"flux": FLUX | {"sync": {"source": {"url": "ssh://git@github.com/acme/fleet", "deployKey": ENCRYPTED}}}},
        {"github": {"owners": {"acme": {}, "other": {"token": ENCRYPTED}}}},
        {"git": {"knownHosts": ["git.example.com ssh-ed25519 AAAA"], "knownHostsFile": "known_hosts"}},
        {"flux": FLUX | {"extraArgs": {"helm-controller": ["--concurrent=8"]}}},
    ],
)
def test_a_stack_in_order_holds_to_its_schema(sections):
    assert errors(stack_schema(NAME), stack(**sections)) == []


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"cluster": CLUSTER | {"contxt": "a"}}, "config.flux-tenancy:cluster"),
        ({"cluster": {"kubeconfigContent": "in plain text"}}, "config.flux-tenancy:cluster.kubeconfigContent"),
        ({"flux": {"sha256": DIGEST}}, "config.flux-tenancy:flux"),
        ({"flux": FLUX | {"version": 2.9}}, "config.flux-tenancy:flux.version"),
        ({"flux": FLUX | {"sha256": "5f"}}, "config.flux-tenancy:flux.sha256"),
        ({"flux": FLUX | {"profile": "tenants"}}, "config.flux-tenancy:flux.profile"),
        ({"flux": FLUX | {"components": ["helm"]}}, "config.flux-tenancy:flux.components.0"),
        (
            {"flux": FLUX | {"extraArgs": {"helm-controller": ["-v"]}}},
            "config.flux-tenancy:flux.extraArgs.helm-controller.0",
        ),
        ({"tenant": {}}, "config"),
        ({"tenants": {"dev-team": {"source": {"deployKey": "plain"}}}}, "config.flux-tenancy:tenants.dev-team"),
        ({"flux": FLUX | {"sync": {}}}, "config.flux-tenancy:flux.sync"),
        # Of a tenant's source the base may say the URL; the platform's has no base.
        ({"flux": FLUX | {"sync": {"source": {"branch": "main"}}}}, "config.flux-tenancy:flux.sync"),
        (
            {"github": {"owners": {"acme": {"token": "plain"}}}},
            "config.flux-tenancy:github.owners.acme.token",
        ),
        ({"github": {"owners": {"acme": {"app": {"appId": 1}}}}}, "config.flux-tenancy:github.owners.acme.app"),
        ({"tenants": {"dev-team": {"sync": {"interval": "often"}}}}, "config.flux-tenancy:tenants.dev-team"),
    ],
)
def test_a_stack_out_of_order_is_marked_in_the_editor(sections, where):
    assert errors(stack_schema(NAME), stack(**sections)) == [where]


def test_a_stack_without_its_cluster_is_marked_in_the_editor():
    assert errors(stack_schema(NAME), {"config": {"flux-tenancy:flux": FLUX}}) == ["config"]


def test_keys_of_pulumi_are_its_own():
    document = stack()
    document["config"]["pulumi:disable-default-providers"] = ["*"]

    assert errors(stack_schema(NAME), document | {"encryptionsalt": "v1:salt"}) == []


@pytest.mark.parametrize("key", ["tenants", "other:tenants", "flux-tenancy:tenant", "aws:region"])
def test_a_key_that_nobody_reads_is_marked_in_the_editor(key):
    document = stack()
    document["config"][key] = {}

    assert errors(stack_schema(NAME), document) == ["config"]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"namespaces": [{"name": "apps"}]},
        {"sync": {"path": "./staging"}},
        {"source": {"https": {"username": "bot"}, "github": {}, "githubApp": {"appId": 1}, "webhook": {}}},
    ],
)
def test_a_base_may_leave_any_part_to_the_stacks(document):
    assert errors(tenant_schema(), document) == []


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"namespace": "apps"}, ""),
        ({"namespaces": []}, "namespaces"),
        ({"namespaces": [{"podSecurity": "restricted"}]}, "namespaces.0"),
        ({"namespaces": [{"name": "Apps"}]}, "namespaces.0.name"),
        ({"source": {"url": 7}}, "source.url"),
        ({"sync": {"prune": "maybe"}}, "sync.prune"),
        ({"role": "owner"}, "role"),
        ({"source": {"deployKey": "plain"}}, "source"),
        ({"source": {"deployKey": ENCRYPTED}}, "source"),
        ({"source": {"https": {"password": "plain"}}}, "source.https"),
        ({"source": {"githubApp": {"privateKey": "plain"}}}, "source.githubApp"),
        ({"source": {"github": {"repository": "apps"}}}, "source.github"),
    ],
)
def test_a_base_out_of_order_is_marked_in_the_editor(document, where):
    assert errors(tenant_schema(), document) == [where]
