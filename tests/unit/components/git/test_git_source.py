"""A Git source is registered in an order in which each part works immediately, and its secrets stay secret."""

import hashlib
import json
from base64 import b64decode, b64encode
from typing import Any

import pulumi
import pytest
from pulumi.runtime import rpc
from recorded_program import GENERATED, run
from sample_plan import register_source
from sample_sources import app_key, own_source, private_key, public_key, signing_key, stack, with_deploy_key
from sample_stack import FLUX

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github_preflight import new_registrations
from flux_tenancy.components.git.source import git_access, webhook_url
from flux_tenancy.components.vocabulary.names import ObjectMeta

PLACE = ObjectMeta(name="dev-team", namespace="apps", labels={"toolkit.fluxcd.io/tenant": "dev-team"})
VERIFY = {"keys": {"alice": signing_key("first")}}
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
EVERYTHING = with_deploy_key(webhook={}, verify=VERIFY)

NAMESPACE = "ConfigMap before"
KEY, GIT, SIGNERS = "RepositoryDeployKey dev-team", "Secret dev-team-git", "Secret dev-team-signers"
SOURCE, RECEIVER = "GitRepository apps/dev-team", "Receiver apps/dev-team"
TOKEN, WEBHOOK = "Secret apps/dev-team-webhook", "RepositoryWebhook dev-team"


def _without_key_id(name):
    """A name without the suffix that identifies the key."""
    return KEY if name.startswith(f"{KEY}-") else name


def registered(source, state=None, preview=False, **sections):
    """The resources of a source by name, without the suffix that identifies the key."""

    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        before = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "before", {})
        config = stack({"dev-team": source}, **sections)
        register_source(PLACE, own_source(config), git_access(config.git_sources), parent, [before])

    return {_without_key_id(name): resource for name, resource in run(program, state=state, preview=preview).items()}


def after(resources):
    own = {KEY, GIT, SIGNERS, SOURCE, RECEIVER, TOKEN, WEBHOOK}
    return {name: set(map(_without_key_id, resource.after)) for name, resource in resources.items() if name in own}


def test_every_part_is_created_after_its_dependencies():
    """Flux fetches immediately, with a key that the Git host knows. Deletion is in reverse order."""
    first = {NAMESPACE, KEY}
    credentials = first | {GIT, SIGNERS}

    assert after(registered(EVERYTHING)) == {
        KEY: {NAMESPACE},
        GIT: first,
        SIGNERS: first,
        SOURCE: credentials,
        TOKEN: credentials,
        RECEIVER: credentials | {TOKEN, SOURCE},
        WEBHOOK: credentials | {TOKEN, RECEIVER},
    }


def test_a_public_repository_has_only_a_source():
    assert after(registered({})) == {SOURCE: {NAMESPACE}}


def test_a_key_for_a_host_other_than_github_is_not_registered():
    resources = registered({"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")})

    assert after(resources) == {GIT: {NAMESPACE}, SOURCE: {NAMESPACE, GIT}}
    assert not any("github" in resource.type.lower() for resource in resources.values())


@pytest.mark.parametrize("kind", ["gitlab", "bitbucket", "generic-hmac"])
def test_a_webhook_of_another_host_has_a_receiver_and_is_not_registered(kind):
    resources = registered({"webhook": {"type": kind}})

    assert set(after(resources)) == {SOURCE, TOKEN, RECEIVER}


def test_a_webhook_of_another_host_is_not_registered_at_github_even_if_another_tenant_uses_it():
    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        config = stack({"dev-team": {"webhook": {"type": "gitlab"}}, "ops-team": with_deploy_key()})
        register_source(PLACE, own_source(config), git_access(config.git_sources), parent, [])

    assert WEBHOOK not in run(program)


def test_a_webhook_at_github_needs_no_deploy_key():
    resources = registered({"github": {"repository": "acme/apps"}, "webhook": {}})

    assert set(after(resources)) == {SOURCE, TOKEN, RECEIVER, WEBHOOK}


def test_what_cannot_be_registered_is_left_out_and_everything_else_is_there():
    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        config = stack({"dev-team": EVERYTHING})
        sources = config.git_sources
        lost = new_registrations("dev-team", sources.by_name["dev-team"], State({}))
        register_source(PLACE, own_source(config), git_access(sources, lost=lost), parent, [])

    everything = {KEY, GIT, SIGNERS, SOURCE, RECEIVER, TOKEN, WEBHOOK}
    assert {_without_key_id(name) for name in run(program)} & everything == everything - {KEY, WEBHOOK}


def test_all_parts_are_children_of_the_component():
    resources = registered(EVERYTHING)

    assert {resources[name].parent for name in after(resources)} == {"Tenant tenant"}


def test_only_keys_and_webhooks_use_githubs_provider():
    resources = registered(EVERYTHING)

    assert {name for name, each in resources.items() if each.provider == "github github-acme"} == {KEY, WEBHOOK}


def test_the_public_key_goes_to_github_and_the_private_key_to_the_cluster():
    resources = registered(EVERYTHING)

    data = resources[GIT].properties["data"]["secret"]
    assert b64decode(data["identity"]).decode() == private_key("first")
    assert resources[KEY].properties["key"] == public_key(private_key("first"))


def test_both_ends_of_a_webhook_share_a_token_that_determines_the_url():
    resources = registered(EVERYTHING)

    token = b64decode(resources[TOKEN].properties["data"]["secret"]["token"]).decode()
    digest = hashlib.sha256(f"{token}dev-teamapps".encode()).hexdigest()
    configuration = resources[WEBHOOK].properties["configuration"]
    assert configuration["secret"] == {"secret": token}
    assert configuration["url"] == {"secret": f"https://flux.example.com/hook/{digest}"}
    assert resources[RECEIVER].properties["spec"]["secretRef"] == {"name": "dev-team-webhook"}


def test_each_source_has_its_own_long_token():
    tokens = {registered(EVERYTHING)[TOKEN].properties["data"]["secret"]["token"] for _ in range(3)}

    assert len(tokens) == 3
    assert all(len(b64decode(token)) >= 43 for token in tokens)


def test_a_token_is_generated_once_and_both_ends_use_the_one_in_the_state():
    kept = b64encode(b"the t0ken of the first update").decode()

    resources = registered(EVERYTHING, state={TOKEN: {"data": {"token": kept}}})

    assert resources[TOKEN].ignored == {"data"}
    configuration = resources[WEBHOOK].properties["configuration"]
    digest = hashlib.sha256(b"the t0ken of the first update" + b"dev-teamapps").hexdigest()
    assert configuration["secret"] == {"secret": "the t0ken of the first update"}
    assert configuration["url"]["secret"].endswith(digest)


def test_a_token_that_is_not_generated_yet_is_unknown_in_a_preview():
    """An update that follows the plan generates another value than the preview would have generated."""
    data = {preview: registered(EVERYTHING, preview=preview)[TOKEN].properties["data"] for preview in (True, False)}

    # Newer versions of the SDK keep the mark of a secret.
    assert data[True] in (rpc.UNKNOWN, {"secret": rpc.UNKNOWN})
    assert set(data[False]["secret"]) == {"token"}


def test_changes_are_ignored_only_for_the_token_and_the_title_of_a_deploy_key():
    ignored = {name for name, resource in registered(EVERYTHING).items() if resource.ignored}

    assert ignored == {TOKEN, "RepositoryDeployKey dev-team"}


@pytest.mark.parametrize(
    ("source", "private"),
    [
        pytest.param(EVERYTHING, private_key("first").splitlines()[2], id="deploy key"),
        pytest.param({"https": {"password": "pa55word"}}, "pa55word", id="password"),
        pytest.param({"https": {"bearerToken": "pa55word"}}, "pa55word", id="bearer token"),
        pytest.param({"githubApp": APP}, app_key().splitlines()[2], id="app"),
    ],
)
def test_all_secret_values_are_sent_to_the_engine_as_secrets(source, private):
    resources = registered(source)

    secret: list[str] = []
    plain: list[str] = []
    for resource in resources.values():
        _sort(resource.properties, secret, plain)
    encoded = [b64decode(text).decode() for text in secret if _is_base64(text)]
    assert any(private in text for text in encoded)
    assert not any(private in text for text in plain)
    assert not any(private in b64decode(text).decode(errors="replace") for text in plain if _is_base64(text))


def test_credentials_and_tokens_of_the_program_are_sent_to_the_engine_as_secrets():
    resources = registered(EVERYTHING)
    token = resources[WEBHOOK].properties["configuration"]["secret"]["secret"]
    secret: list[str] = []
    plain: list[str] = []
    for resource in resources.values():
        _sort(resource.properties, secret, plain)

    for value in ("gh-t0ken", token):
        assert value in secret
        assert not any(value in text or b64encode(value.encode()).decode() in text for text in plain)


def _sort(value, secret, plain):
    """Sort all strings within a value into secret and plain ones."""
    if isinstance(value, dict) and set(value) == {"secret"}:
        secret += _strings(value["secret"])
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _sort(part, secret, plain)
    else:
        plain += _strings(value)


def _strings(value):
    if isinstance(value, dict | list):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in _strings(part)]
    return [value] if isinstance(value, str) else []


def _is_base64(text):
    try:
        return b64encode(b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def test_another_key_is_another_resource_at_github_and_new_content_of_the_same_secret():
    """The engine replaces the Secret and generates another name."""

    def resources(which):
        def program():
            parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
            config = stack({"dev-team": with_deploy_key(which)})
            register_source(PLACE, own_source(config), git_access(config.git_sources), parent, [])

        return run(program)

    first, second = resources("first"), resources("second")

    assert {_without_key_id(name) for name in set(first) ^ set(second)} == {KEY}
    assert first[GIT].properties["data"] != second[GIT].properties["data"]
    assert first[GIT].properties["immutable"] is second[GIT].properties["immutable"] is True


def test_the_engine_generates_names_of_secrets_and_the_source_refers_to_them():
    resources = registered(EVERYTHING)

    for name in (GIT, SIGNERS):
        assert set(resources[name].properties["metadata"]) == {"namespace", "labels", "annotations"}
    spec = resources[SOURCE].properties["spec"]
    assert spec["secretRef"] == {"name": f"dev-team-git-{GENERATED}"}
    assert spec["verify"] == {"mode": "HEAD", "secretRef": {"name": f"dev-team-signers-{GENERATED}"}}


def test_the_url_of_a_webhook_may_or_may_not_end_with_a_slash():
    urls = []
    state = {TOKEN: {"data": {"token": b64encode(b"t0ken").decode()}}}
    for url in ("https://flux.example.com", "https://flux.example.com/"):
        resources = registered(EVERYTHING, state, flux=FLUX | {"webhookUrl": url})
        urls.append(resources[WEBHOOK].properties["configuration"]["url"]["secret"])

    assert urls[0] == urls[1]
    assert urls[0].startswith("https://flux.example.com/hook/")


def test_the_resources_of_a_source_are_attributes():
    found: dict[str, Any] = {}

    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        config = stack({"dev-team": EVERYTHING})
        result = register_source(PLACE, own_source(config), git_access(config.git_sources), parent, [])
        webhook = webhook_url(PLACE, config.flux.webhook_url, result)
        asked = {"source": result[SOURCE].urn, "receiver": result["Receiver apps/dev-team"].urn, "webhook": webhook}
        return pulumi.Output.all(**asked).apply(found.update)

    registrations = run(program)

    assert found["source"].endswith(":GitRepository::apps/dev-team")
    assert found["receiver"].endswith(":Receiver::apps/dev-team")
    assert registrations[WEBHOOK].properties["configuration"]["url"] == {"secret": found["webhook"]}


def test_a_source_without_a_webhook_has_no_receiver_and_no_url():
    found = []

    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        config = stack({"dev-team": with_deploy_key()})
        found.append(register_source(PLACE, own_source(config), git_access(config.git_sources), parent, []))

    run(program)

    assert not any(key.startswith("Receiver ") for key in found[0])
    assert webhook_url(PLACE, "https://flux.example.com", found[0]) is None


def accessed(config):
    found = []
    registrations = run(lambda: found.append(git_access(config.git_sources)))
    return found[0], registrations


def test_a_stack_without_repositories_at_github_has_no_provider_for_it():
    access, registrations = accessed(stack({"dev-team": {}, "ops-team": {"webhook": {"type": "gitlab"}}}))

    assert access.github is None
    assert registrations == {}


def test_only_owners_of_sources_have_a_provider():
    config = stack(
        {"dev-team": with_deploy_key(), "ops-team": with_deploy_key(github={"repository": "acme/tools"})},
        platform=with_deploy_key(github={"repository": "initech/platform"}),
        github={"owners": {each: {"token": f"{each}-t0ken"} for each in ("acme", "initech", "umbrella")}},
    )

    _, registrations = accessed(config)

    assert set(registrations) == {"GitHub github", "github github-acme", "github github-initech"}


def test_all_sources_share_the_stacks_host_keys_and_webhook_url():
    line = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

    access, _ = accessed(stack(git={"knownHosts": [line]}))

    assert list(access.known_hosts) == [line]
    assert access.webhook_url == "https://flux.example.com/"


def test_the_stacks_host_keys_are_in_the_secret():
    line = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    source = {"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}

    data = registered(source, git={"knownHosts": [line]})[GIT].properties["data"]["secret"]

    assert b64decode(data["known_hosts"]).decode() == line + "\n"


def test_names_contain_no_private_data():
    resources = run_names(EVERYTHING)

    assert not any(part in json.dumps(sorted(resources)) for part in ("PRIVATE", private_key("first").splitlines()[2]))


def run_names(source):
    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        config = stack({"dev-team": source})
        register_source(PLACE, own_source(config), git_access(config.git_sources), parent, [])

    return set(run(program))
