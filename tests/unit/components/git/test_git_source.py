"""A Git source is registered in an order in which each part works immediately, and its secrets stay secret."""

import hashlib
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
ELSEWHERE = {"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}
HOST_KEY = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

NAMESPACE = "ConfigMap before"
KEY, GIT, SIGNERS = "RepositoryDeployKey dev-team", "Secret dev-team-git", "Secret dev-team-signers"
SOURCE, RECEIVER = "GitRepository apps/dev-team", "Receiver apps/dev-team"
TOKEN, WEBHOOK = "Secret apps/dev-team-webhook", "RepositoryWebhook dev-team"


PARTS = {KEY, GIT, SIGNERS, SOURCE, RECEIVER, TOKEN, WEBHOOK}
CREDENTIALS = {NAMESPACE, KEY, GIT, SIGNERS}
# Flux fetches immediately, with a key that the Git host knows. Deletion is in reverse order.
AFTER = {
    KEY: {NAMESPACE},
    GIT: {NAMESPACE, KEY},
    SIGNERS: {NAMESPACE, KEY},
    SOURCE: CREDENTIALS,
    TOKEN: CREDENTIALS,
    RECEIVER: CREDENTIALS | {TOKEN, SOURCE},
    WEBHOOK: CREDENTIALS | {TOKEN, RECEIVER},
}


def run_source(config, use=lambda found: None, *, lost=(), **options):
    """The resources of dev-team's source, by name; `use` gets those that the program has of it."""

    def program():
        parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
        before = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "before", {})
        access = git_access(config.git_sources, lost=lost)
        return use(register_source(PLACE, own_source(config), access, parent, [before]))

    return run(program, **options)


def _without_key_id(name):
    """A name without the suffix that identifies the key."""
    return KEY if name.startswith(f"{KEY}-") else name


def registered(source, state=None, preview=False, **sections):
    """The resources of a source by name, without the suffix that identifies the key."""
    resources = run_source(stack({"dev-team": source}, **sections), state=state, preview=preview)
    return {_without_key_id(name): resource for name, resource in resources.items()}


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        pytest.param(EVERYTHING, PARTS, id="everything"),
        pytest.param({}, {SOURCE}, id="a public repository"),
        pytest.param(ELSEWHERE, {GIT, SOURCE}, id="a key for another host"),
        *(
            pytest.param({"webhook": {"type": kind}}, {SOURCE, TOKEN, RECEIVER}, id=f"a webhook of {kind}")
            for kind in ("gitlab", "bitbucket", "generic-hmac")
        ),
        pytest.param(
            {"github": {"repository": "acme/apps"}, "webhook": {}},
            {SOURCE, TOKEN, RECEIVER, WEBHOOK},
            id="a webhook at GitHub without a deploy key",
        ),
    ],
)
def test_a_source_has_the_parts_that_it_needs_each_after_its_dependencies(source, parts):
    found = {name: set(map(_without_key_id, each.after)) for name, each in registered(source).items() if name in PARTS}

    assert found == {name: AFTER[name] & {NAMESPACE, *parts} for name in parts}


def test_a_webhook_of_another_host_is_not_registered_at_github_even_if_another_tenant_uses_it():
    assert WEBHOOK not in run_source(
        stack({"dev-team": {"webhook": {"type": "gitlab"}}, "ops-team": with_deploy_key()})
    )


def test_what_cannot_be_registered_is_left_out_and_everything_else_is_there():
    config = stack({"dev-team": EVERYTHING})
    lost = new_registrations("dev-team", config.git_sources.by_name["dev-team"], State({}))

    found = {_without_key_id(name) for name in run_source(config, lost=lost)}

    assert found & PARTS == PARTS - {KEY, WEBHOOK}


def test_all_parts_are_children_of_the_component_and_only_keys_and_webhooks_use_githubs_provider():
    resources = registered(EVERYTHING)

    assert {resources[name].parent for name in PARTS} == {"Tenant tenant"}
    assert {name for name, each in resources.items() if each.provider == "github github-acme"} == {KEY, WEBHOOK}


def test_the_public_key_goes_to_github_and_the_private_key_to_the_cluster():
    resources = registered(EVERYTHING)

    data = resources[GIT].properties["data"]["secret"]
    assert b64decode(data["identity"]).decode() == private_key("first")
    assert resources[KEY].properties["key"] == public_key(private_key("first"))


@pytest.mark.parametrize(
    ("kept", "webhook_url"),
    [("", "https://flux.example.com/"), ("the t0ken of the first update", "https://flux.example.com")],
    ids=["generated", "in the state"],
)
def test_both_ends_of_a_webhook_share_a_token_that_is_generated_once_and_determines_the_url(kept, webhook_url):
    state = {TOKEN: {"data": {"token": b64encode(kept.encode()).decode()}}} if kept else {}

    resources = registered(EVERYTHING, state, flux=FLUX | {"webhookUrl": webhook_url})

    token = kept or b64decode(resources[TOKEN].properties["data"]["secret"]["token"]).decode()
    digest = hashlib.sha256(f"{token}dev-teamapps".encode()).hexdigest()
    configuration = resources[WEBHOOK].properties["configuration"]
    assert configuration["secret"] == {"secret": token}
    assert configuration["url"] == {"secret": f"https://flux.example.com/hook/{digest}"}
    assert resources[RECEIVER].properties["spec"]["secretRef"] == {"name": "dev-team-webhook"}


def test_each_source_has_its_own_long_token():
    tokens = {registered(EVERYTHING)[TOKEN].properties["data"]["secret"]["token"] for _ in range(3)}

    assert len(tokens) == 3
    assert all(len(b64decode(token)) >= 43 for token in tokens)


def test_a_token_that_is_not_generated_yet_is_unknown_in_a_preview():
    """An update that follows the plan generates another value than the preview would have generated."""
    data = {preview: registered(EVERYTHING, preview=preview)[TOKEN].properties["data"] for preview in (True, False)}

    # Newer versions of the SDK keep the mark of a secret.
    assert data[True] in (rpc.UNKNOWN, {"secret": rpc.UNKNOWN})
    assert set(data[False]["secret"]) == {"token"}


def test_changes_are_ignored_only_of_the_token_and_of_the_title_of_a_deploy_key():
    """GitHub refuses the same key under another title, so the update of a renamed stack would fail."""
    ignored = {name: resource.ignored for name, resource in registered(EVERYTHING).items() if resource.ignored}

    assert ignored == {TOKEN: {"data"}, KEY: {"title"}}


def texts(resources):
    """All strings that the engine gets as secrets, and all others, each as it is and decoded if it is base64."""
    secret: list[str] = []
    plain = [*resources]
    for resource in resources.values():
        _sort(resource.properties, secret, plain)
    return [[*found, *map(_decoded, found)] for found in (secret, plain)]


@pytest.mark.parametrize(
    ("source", "private"),
    [
        pytest.param(EVERYTHING, [private_key("first").splitlines()[2], "gh-t0ken"], id="deploy key"),
        pytest.param({"https": {"password": "pa55word"}}, ["pa55word"], id="password"),
        pytest.param({"https": {"bearerToken": "pa55word"}}, ["pa55word"], id="bearer token"),
        pytest.param({"githubApp": APP}, [app_key().splitlines()[2]], id="app"),
    ],
)
def test_all_secret_values_are_sent_to_the_engine_as_secrets(source, private):
    resources = run_source(stack({"dev-team": source}))
    if WEBHOOK in resources:
        private = [*private, resources[WEBHOOK].properties["configuration"]["secret"]["secret"]]

    secret, plain = texts(resources)

    for value in private:
        assert any(value in text for text in secret)
        assert not any(value in text for text in plain)


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


def _decoded(text):
    try:
        return b64decode(text, validate=True).decode()
    except ValueError:
        return ""


def test_another_key_is_another_resource_at_github_and_new_content_of_the_same_secret():
    """The engine replaces the Secret and generates another name."""
    first, second = (run_source(stack({"dev-team": with_deploy_key(which)})) for which in ("first", "second"))

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


def test_the_resources_of_a_source_are_attributes():
    config = stack({"dev-team": EVERYTHING})
    found: dict[str, Any] = {}

    def use(result):
        webhook = webhook_url(PLACE, config.flux.webhook_url, result)
        asked = {"source": result[SOURCE].urn, "receiver": result[RECEIVER].urn, "webhook": webhook}
        return pulumi.Output.all(**asked).apply(found.update)

    registrations = run_source(config, use)

    assert found["source"].endswith(":GitRepository::apps/dev-team")
    assert found["receiver"].endswith(":Receiver::apps/dev-team")
    assert registrations[WEBHOOK].properties["configuration"]["url"] == {"secret": found["webhook"]}


def test_a_source_without_a_webhook_has_no_url():
    found: list[Any] = []

    run_source(stack({"dev-team": with_deploy_key()}), found.append)

    assert webhook_url(PLACE, "https://flux.example.com", found[0]) is None


def accessed(config):
    found = []
    registrations = run(lambda: found.append(git_access(config.git_sources)))
    return found[0], registrations


def test_a_stack_without_repositories_at_github_has_no_provider_for_it():
    tenants: dict[str, Any] = {"dev-team": {}, "ops-team": {"webhook": {"type": "gitlab"}}, "qa-team": ELSEWHERE}

    access, registrations = accessed(stack(tenants))

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
    config = stack({"dev-team": ELSEWHERE}, git={"knownHosts": [HOST_KEY]})

    access, _ = accessed(config)

    assert list(access.known_hosts) == [HOST_KEY]
    assert access.webhook_url == "https://flux.example.com/"
    data = run_source(config)[GIT].properties["data"]["secret"]
    assert b64decode(data["known_hosts"]).decode() == HOST_KEY + "\n"
