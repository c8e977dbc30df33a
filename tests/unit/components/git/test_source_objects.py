"""The objects of a Git source: the Secret for source-controller, the GitRepository and its Receiver."""

from base64 import b64decode
from types import SimpleNamespace

import pytest
from sample_keys import ed25519_key, public_line
from sample_sources import SSH_URL, app_key, authority, private_key, public_key, signing_key
from sample_stack import git_source

from flux_tenancy.components.git.source import (
    GitAccess,
    planned_source,
    source_objects,
    webhook_path,
    webhook_secret,
)
from flux_tenancy.components.vocabulary.names import ObjectMeta

LABELS = {"toolkit.fluxcd.io/tenant": "dev-team"}
PLACE = ObjectMeta(name="dev-team", namespace="apps", labels=LABELS)
OWN_HOST = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
OTHER_HOST = OWN_HOST.replace("git.example.com", "other.example.com")
DEPLOY_KEY = {"url": SSH_URL, "deployKey": private_key("first")}
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
VERIFY = {"keys": {"alice": signing_key("first"), "bob": signing_key("second")}}


def objects(known_hosts=(), **keys):
    *secrets, source = source_objects(PLACE, git_source(**keys), known_hosts)
    return SimpleNamespace(secrets=secrets, source=source)


def decoded(secret):
    return {key: b64decode(value).decode() for key, value in secret["data"].items()}


def credentials(known_hosts=(), **keys):
    """The content of the Secret that the source refers to."""
    found = objects(known_hosts, **keys)
    [secret] = [each for each in found.secrets if reference_to(each) == found.source["spec"]["secretRef"]["name"]]
    return decoded(secret)


def reference_to(secret):
    """The placeholder for a Secret until its name is generated."""
    return secret["metadata"]["generateName"].removesuffix("-")


def test_a_public_repository_has_only_a_git_repository():
    found = objects(branch="release", interval="2m", timeout="30s")

    assert found.secrets == []
    assert found.source == {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "dev-team", "namespace": "apps", "labels": LABELS},
        "spec": {
            "url": "https://git.example.com/dev-team/apps",
            "ref": {"branch": "release"},
            "interval": "2m",
            "timeout": "30s",
        },
    }


@pytest.mark.parametrize(
    ("reference", "followed"),
    [
        ({}, {"branch": "main"}),
        ({"branch": "release"}, {"branch": "release"}),
        ({"tag": "v1.2.3"}, {"tag": "v1.2.3"}),
        ({"semver": ">=1.2.0 <2.0.0"}, {"semver": ">=1.2.0 <2.0.0"}),
        ({"branch": "main", "commit": "ab" * 20}, {"branch": "main", "commit": "ab" * 20}),
        ({"commit": "ab" * 20}, {"commit": "ab" * 20}),
    ],
)
def test_the_source_follows_the_configured_reference_or_main(reference, followed):
    assert objects(**reference).source["spec"]["ref"] == followed


def test_a_deploy_key_comes_with_its_public_key_and_its_hosts_keys():
    found = credentials(**DEPLOY_KEY)

    assert set(found) == {"identity", "identity.pub", "known_hosts"}
    assert found["identity"] == private_key("first")
    assert found["identity.pub"] == public_key(private_key("first")) + "\n"
    assert {line.split()[0] for line in found["known_hosts"].splitlines()} == {"github.com"}
    assert len(found["known_hosts"].splitlines()) == 3


def test_the_stacks_host_keys_are_used_only_for_their_own_host():
    found = credentials([OTHER_HOST, OWN_HOST], **DEPLOY_KEY | {"url": "ssh://git@git.example.com/dev-team/apps"})

    assert found["known_hosts"] == OWN_HOST + "\n"


@pytest.mark.parametrize(
    ("https", "expected"),
    [
        ({"password": "pa55word"}, {"username": "git", "password": "pa55word"}),
        ({"username": "robot", "password": "pa55word"}, {"username": "robot", "password": "pa55word"}),
        ({"bearerToken": "t0ken"}, {"bearerToken": "t0ken"}),
        # As `pulumi config set` reads it from a file.
        ({"password": "pa55word\n"}, {"username": "git", "password": "pa55word"}),
        ({"bearerToken": "t0ken\n"}, {"bearerToken": "t0ken"}),
    ],
)
def test_credentials_for_https_are_a_password_or_a_token(https, expected):
    assert credentials(https=https) == expected


@pytest.mark.parametrize(
    ("installation", "expected"),
    [
        ({"installationId": 4711}, {"githubAppInstallationID": "4711"}),
        ({"installationId": None, "installationOwner": "acme"}, {"githubAppInstallationOwner": "acme"}),
        (
            {"installationId": 4711, "baseUrl": "https://github.example.com/api/v3"},
            {"githubAppInstallationID": "4711", "githubAppBaseURL": "https://github.example.com/api/v3"},
        ),
    ],
)
def test_the_secret_of_a_github_app_has_its_installation_and_key(installation, expected):
    app = APP | installation
    always = {"githubAppID": "17", "githubAppPrivateKey": app_key()}

    assert credentials(githubApp=app) == always | expected
    assert objects(githubApp=app).source["spec"]["provider"] == "github"


@pytest.mark.parametrize(
    "keys", [{}, {"https": {"password": "pa55word"}}, {"https": {"bearerToken": "t0ken"}}, {"githubApp": APP}]
)
def test_a_certificate_authority_can_be_set_with_all_https_credentials(keys):
    without = credentials(**keys) if keys else {}

    assert credentials(certificateAuthority=authority(), **keys) == without | {"ca.crt": authority()}


SOURCES_WITH_SECRETS = [
    DEPLOY_KEY,
    {"https": {"password": "pa55word"}},
    {"githubApp": APP},
    {"certificateAuthority": authority()},
    {"verify": VERIFY},
]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DEPLOY_KEY, DEPLOY_KEY | {"deployKey": private_key("second")}),
        ({"https": {"password": "pa55word"}}, {"https": {"password": "pa55w0rd"}}),
        ({"https": {"password": "a"}}, {"https": {"bearerToken": "a"}}),
        ({"githubApp": APP}, {"githubApp": APP | {"installationId": 4712}}),
        ({"https": {"password": "a"}}, {"https": {"password": "a"}, "certificateAuthority": authority()}),
        ({"verify": VERIFY}, {"verify": {"keys": {"alice": signing_key("first")}}}),
    ],
)
def test_names_of_secrets_do_not_depend_on_their_content(before, after):
    """From a digest in a name, a weak password could be found by guessing."""
    one, other = objects(**before), objects(**after)

    assert [each["data"] for each in one.secrets] != [each["data"] for each in other.secrets]
    assert [each["metadata"] for each in one.secrets] == [each["metadata"] for each in other.secrets]
    assert {**one.source["spec"], "verify": ""} == {**other.source["spec"], "verify": ""}


@pytest.mark.parametrize("keys", SOURCES_WITH_SECRETS)
def test_every_secret_is_immutable_and_in_the_namespace_of_its_source(keys):
    [secret] = objects(**keys).secrets

    assert (secret["apiVersion"], secret["kind"], secret["type"]) == ("v1", "Secret", "Opaque")
    assert secret["immutable"] is True
    purpose = "signers" if "verify" in keys else "git"
    assert secret["metadata"] == {"generateName": f"dev-team-{purpose}-", "namespace": "apps", "labels": LABELS}


def test_metadata_without_labels_sets_none():
    assert ObjectMeta("flux-system", "flux-system", {}).metadata("any") == {"name": "any", "namespace": "flux-system"}


@pytest.mark.parametrize("mode", ["HEAD", "Tag", "TagAndHEAD"])
def test_signatures_are_verified_with_exactly_the_configured_keys(mode):
    found = objects(tag="v1.2.3", verify=VERIFY | {"mode": mode})

    [secret] = found.secrets
    assert found.source["spec"]["verify"] == {"mode": mode, "secretRef": {"name": reference_to(secret)}}
    assert decoded(secret) == {"alice.asc": signing_key("first"), "bob.asc": signing_key("second")}
    assert "secretRef" not in found.source["spec"]


def test_ssh_signing_keys_are_recognized_by_their_file_suffix():
    line = public_line(ed25519_key())

    [secret] = objects(verify={"keys": {"alice": line}}).secrets

    assert decoded(secret) == {"alice.sshpub": line}


def test_credentials_and_signing_keys_are_separate_secrets():
    found = objects(**DEPLOY_KEY, verify=VERIFY)

    git, signers = found.secrets
    assert found.source["spec"]["secretRef"]["name"] == reference_to(git)
    assert found.source["spec"]["verify"]["secretRef"]["name"] == reference_to(signers)
    assert set(git["data"]) == {"identity", "identity.pub", "known_hosts"}


@pytest.mark.parametrize(
    ("kind", "events"),
    [
        ("github", ["ping", "push"]),
        ("gitlab", ["Push Hook", "Tag Push Hook"]),
        ("bitbucket", ["repo:refs_changed"]),
        ("generic-hmac", []),
    ],
)
def test_a_receiver_triggers_only_its_own_source_and_only_for_pushes(kind, events):
    planned = planned_source(PLACE, git_source(webhook={"type": kind}), GitAccess((), None, None))

    [receiver] = [each.manifest for each in planned if each.kind == "Receiver"]
    assert receiver == {
        "apiVersion": "notification.toolkit.fluxcd.io/v1",
        "kind": "Receiver",
        "metadata": {"name": "dev-team", "namespace": "apps", "labels": LABELS},
        "spec": {
            "type": kind,
            "events": events,
            "secretRef": {"name": "dev-team-webhook"},
            "resources": [{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "dev-team"}],
        },
    }


def test_the_token_of_a_webhook_is_in_the_secret_that_its_receiver_names():
    secret = webhook_secret(PLACE, "t0ken")

    assert secret["metadata"] == {"name": "dev-team-webhook", "namespace": "apps", "labels": LABELS}
    assert decoded(secret) == {"token": "t0ken"}
    # The token is replaced in place, since both ends refer to the name.
    assert "immutable" not in secret


def test_a_webhooks_path_is_the_one_that_notification_controller_computes():
    """The SHA-256 of token, name and namespace of the Receiver, by `printf t0kendev-teamapps | sha256sum`."""
    assert webhook_path("t0ken", PLACE) == ("/hook/bb5403c99306b2812a752013a111b32904daabc9cb7a6c7c918dc1979c0bd9b5")
