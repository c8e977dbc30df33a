"""GitHub: one provider for each owner, read-only deploy keys, and webhooks that announce pushes."""

import json

import pulumi
import pytest
from recorded_program import run
from sample_sources import app_key, private_key, public_key, with_deploy_key
from sample_stack import git_source

from flux_tenancy.components.git.config import GitHubConfig, GitHubRepository
from flux_tenancy.components.git.github import (
    DEPLOY_KEY_TYPE,
    WEBHOOK_TYPE,
    GitHub,
    deploy_key_name,
    new_key,
    registered_key,
    source_of_deploy_key,
)
from flux_tenancy.components.keys.ssh_keys import read_private_key

TWO_OWNERS = {"acme": {"token": "acme-t0ken"}, "initech": {"token": "initech-t0ken"}}
KEY = read_private_key(private_key("first"))
OTHER_KEY = read_private_key(private_key("second"))


def repository(name="acme/apps"):
    return GitHubRepository.model_validate({"repository": name})


def registered(use=lambda github: None, owners=("acme",), config=None):
    """The resources that a use of GitHub registers."""
    found = GitHubConfig.model_validate(config or {"owners": TWO_OWNERS})
    return run(lambda: use(GitHub("github", found, owners)) and None)


def deploy_key(key=KEY, at=None, opts=None):
    at = at or repository()
    return lambda github: github.deploy_key(new_key("dev-team", key, at), at, opts or pulumi.ResourceOptions())


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


def test_an_owner_that_is_not_needed_has_no_provider():
    assert list(providers(registered(owners=["initech"]))) == ["github github-initech"]


def test_owners_that_differ_only_in_case_share_a_provider():
    config = {"owners": {"Acme": {"token": "acme-t0ken"}}}

    resources = registered(deploy_key(at=repository("aCme/apps")), owners=["ACME", "acme"], config=config)

    assert list(providers(resources)) == ["github github-acme"]
    assert only(resources, DEPLOY_KEY_TYPE).provider == "github github-acme"


def test_a_token_is_a_secret():
    [provider] = providers(registered()).values()

    assert provider.properties["token"] == {"secret": "acme-t0ken"}
    assert "appAuth" not in provider.properties


def test_the_key_of_an_app_is_a_secret_and_no_token_is_set():
    app = {"appId": 17, "installationId": 4711, "privateKey": app_key()}

    [provider] = providers(registered(config={"owners": {"acme": {"app": app}}})).values()

    found = provider.properties["appAuth"]
    assert "token" not in provider.properties
    assert app_key() not in json.dumps({key: value for key, value in found.items() if key != "secret"})
    assert json.loads(found["secret"]) == {"id": "17", "installationId": "4711", "pemFile": app_key()}


def test_without_a_token_the_provider_reads_the_environment():
    [provider] = providers(registered(config={"owners": {"acme": {}}})).values()

    assert provider.properties == {"owner": "acme", "baseUrl": "https://api.github.com/"}


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


def test_a_renamed_stack_keeps_the_title_of_its_key():
    """GitHub refuses the same key under another title, so the update of a renamed stack would fail."""
    assert only(registered(deploy_key()), DEPLOY_KEY_TYPE).ignored == {"title"}


def test_the_private_key_is_not_sent_to_github():
    text = json.dumps(only(registered(deploy_key()), DEPLOY_KEY_TYPE).properties)

    assert "PRIVATE KEY" not in text
    assert private_key("first").splitlines()[2] not in text


def test_another_key_is_another_resource_with_another_title():
    first, second = (registered(deploy_key(key)) for key in (KEY, OTHER_KEY))

    assert not set(first) & set(second) & {name for name in first if "RepositoryDeployKey" in name}
    assert only(first, DEPLOY_KEY_TYPE).properties["title"] != only(second, DEPLOY_KEY_TYPE).properties["title"]


def test_keys_and_webhooks_are_registered_by_the_provider_of_their_owner():
    resources = registered(deploy_key(at=repository("initech/apps")), owners=["acme", "initech"])

    assert only(resources, DEPLOY_KEY_TYPE).provider == "github github-initech"
    assert only(registered(webhook), WEBHOOK_TYPE).provider == "github github-acme"


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


@pytest.mark.parametrize("use", [deploy_key(), webhook])
def test_the_options_of_the_caller_are_used(use):
    def program(github):
        first = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "first", {})
        opts = pulumi.ResourceOptions(depends_on=[first])
        if use is webhook:
            return github.webhook("dev-team", "https://hook", "t0ken", repository(), opts)
        return deploy_key(opts=opts)(github)

    kinds = (DEPLOY_KEY_TYPE, WEBHOOK_TYPE)
    [found] = [each for each in registered(program).values() if each.type in kinds]
    assert found.after == {"ConfigMap first"}


def test_the_name_of_a_deploy_keys_resource_contains_its_source():
    assert source_of_deploy_key(deploy_key_name("dev-team", KEY)) == "dev-team"


def test_the_same_key_has_the_same_name_and_another_key_another_name():
    assert deploy_key_name("dev-team", KEY) == deploy_key_name("dev-team", read_private_key(private_key("first")))
    assert deploy_key_name("dev-team", KEY) != deploy_key_name("dev-team", OTHER_KEY)


@pytest.mark.parametrize(
    ("source", "registers"),
    [
        (with_deploy_key(), True),
        # A key for a host at which the program registers nothing.
        ({"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}, False),
        # Only a webhook is registered.
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, False),
        ({}, False),
    ],
)
def test_only_a_deploy_key_of_a_repository_at_github_is_registered(source, registers):
    key = registered_key(git_source(**source))

    assert (key.public if key else None) == (public_key(private_key("first")) if registers else None)
