"""GitHub: one provider for each owner, read-only deploy keys, and webhooks that announce pushes."""

import json

import pulumi
import pytest
from recorded_program import run
from sample_sources import app_key, private_key, public_key

from flux_tenancy.components.git.config import GitHubConfig, GitHubRepository
from flux_tenancy.components.git.github import (
    DEPLOY_KEY_TYPE,
    WEBHOOK_TYPE,
    GitHub,
    new_key,
)
from flux_tenancy.components.keys.ssh_keys import read_private_key

TWO_OWNERS = {"acme": {"token": "acme-t0ken"}, "initech": {"token": "initech-t0ken"}}
KEY = read_private_key(private_key("first"))


def repository(name="acme/apps"):
    return GitHubRepository.model_validate({"repository": name})


def registered(use=lambda github: None, owners=("acme",), config=None):
    """The resources that a use of GitHub registers."""
    found = GitHubConfig.model_validate(config or {"owners": TWO_OWNERS})
    return run(lambda: use(GitHub("github", found, owners)) and None)


def deploy_key(at=None):
    at = at or repository()
    return lambda github: github.deploy_key(new_key("dev-team", KEY, at), at, pulumi.ResourceOptions())


def webhook(github):
    secret = pulumi.Output.secret
    return github.webhook("dev-team", secret("https://hook"), secret("t0ken"), repository(), pulumi.ResourceOptions())


def only(resources, kind):
    [found] = [resource for resource in resources.values() if resource.type == kind]
    return found


def providers(resources):
    return {name: each for name, each in resources.items() if each.type == "pulumi:providers:github"}


def test_each_owner_of_repositories_in_use_has_its_own_provider():
    found = providers(registered(owners=["acme", "initech"]))

    assert {name: each.properties["owner"] for name, each in found.items()} == {
        "github github-acme": "acme",
        "github github-initech": "initech",
    }
    assert {each.parent for each in found.values()} == {"GitHub github"}


def test_owners_that_differ_only_in_case_share_a_provider():
    config = {"owners": {"Acme": {"token": "acme-t0ken"}}}

    resources = registered(deploy_key(repository("aCme/apps")), owners=["ACME", "acme"], config=config)

    assert list(providers(resources)) == ["github github-acme"]
    assert only(resources, DEPLOY_KEY_TYPE).provider == "github github-acme"


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ({"token": "acme-t0ken"}, {"token": {"secret": "acme-t0ken"}}),
        (
            {"app": {"appId": 17, "installationId": 4711, "privateKey": app_key()}},
            {"appAuth": {"secret": {"id": "17", "installationId": "4711", "pemFile": app_key()}}},
        ),
        # The provider reads the environment.
        ({}, {}),
    ],
    ids=["token", "app", "none"],
)
def test_the_credentials_of_an_owner_are_secrets_of_its_provider(identity, expected):
    [provider] = providers(registered(config={"owners": {"acme": identity}})).values()

    found = dict(provider.properties)
    if "appAuth" in found:
        found["appAuth"] = {key: json.loads(value) for key, value in found["appAuth"].items()}
    assert found == {"owner": "acme", "baseUrl": "https://api.github.com/"} | expected


def test_an_enterprise_server_is_used_instead_of_github():
    config = {"owners": TWO_OWNERS, "baseUrl": "https://github.example.com/"}

    assert {each.properties["baseUrl"] for each in providers(registered(config=config)).values()} == {
        "https://github.example.com/"
    }


def test_a_deploy_key_is_read_only_and_its_title_names_stack_source_and_fingerprint():
    found = only(registered(deploy_key()), DEPLOY_KEY_TYPE)

    assert found.properties == {
        "repository": "apps",
        "key": public_key(private_key("first")),
        "title": f"flux-tenancy staging/dev-team {KEY.fingerprint}",
        "readOnly": True,
    }


def test_a_key_is_registered_by_the_provider_of_its_owner():
    resources = registered(deploy_key(repository("initech/apps")), owners=["acme", "initech"])

    assert only(resources, DEPLOY_KEY_TYPE).provider == "github github-initech"


def test_a_webhook_announces_pushes_over_checked_tls_and_its_token_is_a_secret():
    resources = registered(webhook)

    assert only(resources, WEBHOOK_TYPE).properties == {
        "repository": "apps",
        "active": True,
        "events": ["push"],
        "configuration": {
            "url": {"secret": "https://hook"},
            "contentType": "json",
            "secret": {"secret": "t0ken"},
            "insecureSsl": False,
        },
    }
    assert "RepositoryWebhook dev-team" in resources
