"""Git sources that Flux could not fetch, or not safely, are refused."""

from typing import Any

import pytest
import sample_keys as keys
from pydantic import ValidationError
from sample_sources import own_source
from sample_stack import DEV_TEAM_BASE, FLUX, Secret, load, problems

from flux_tenancy.components.config.errors import MISSING, ConfigurationError
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.keys.ssh_keys import generate, read_private_key
from flux_tenancy.components.stack.files.validation_errors import message
from tests.support.messages import said

KEY = generate().private
APP_KEY = keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL)
SSH, HTTPS = "ssh://git@github.com/acme/apps", "https://github.com/acme/apps.git"
APP = {"appId": 1, "installationId": 2, "privateKey": Secret(APP_KEY)}
ACME: dict[str, Any] = {"owners": {"acme": {}}}
WEBHOOK_URL = FLUX | {"webhookUrl": "https://flux.example.com"}
HOST_LINE = f"git.example.com {keys.public_line(keys.ed25519_key())}"


@pytest.mark.parametrize(
    "source",
    [
        {"url": HTTPS},
        {"url": SSH, "deployKey": Secret(KEY)},
        {"url": SSH, "deployKey": Secret(KEY), "github": {"repository": "acme/apps"}},
        {"url": HTTPS, "https": {"username": "bot", "password": Secret("token")}},
        {"url": HTTPS, "https": {"bearerToken": Secret("token")}},
        {"url": HTTPS, "githubApp": APP},
        {"url": HTTPS, "githubApp": {"appId": 1, "installationOwner": "acme", "privateKey": Secret(APP_KEY)}},
        {"url": HTTPS, "certificateAuthority": keys.certificate()},
        {"url": HTTPS, "webhook": {}},
        {"url": HTTPS, "webhook": {"type": "gitlab"}},
        {"url": HTTPS, "webhook": {}, "github": {"repository": "Acme/Apps"}},
        {"url": HTTPS, "verify": {"keys": {"ana": keys.openpgp_public_key()}}},
        {
            "url": HTTPS,
            "branch": None,
            "tag": "v1",
            "verify": {"mode": "Tag", "keys": {"ana": keys.openpgp_public_key()}},
        },
    ],
    ids=lambda source: "+".join(source),
)
def test_a_source_in_order_is_taken(tmp_path, source):
    load(tmp_path, tenants={"dev-team": {"source": source}}, github={"owners": {"ACME": {}}}, flux=WEBHOOK_URL)


def test_keys_are_handed_on_with_the_line_ends_of_unix(tmp_path):
    source = {"url": SSH, "deployKey": Secret(KEY.replace("\n", "\r\n"))}

    found = own_source(load(tmp_path, tenants={"dev-team": {"source": source}})).deploy_key
    assert found is not None
    assert found.get_secret_value() == KEY


def test_what_does_not_go_together_is_told_of_the_file_that_says_it(tmp_path):
    base = DEV_TEAM_BASE.replace("https://git.example.com/dev-team/apps", SSH)
    base = base.replace("  branch: main\n", "  github:\n    repository: acme/tools\n")

    assert problems(
        tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"source": {"deployKey": Secret(KEY)}}}
    ) == [
        "tenants/dev-team.yaml: source.github.repository: " + said("FT-CFG-660", "acme/apps").of("acme/tools"),
    ]


def test_a_repository_needs_no_entry_for_its_owner(tmp_path):
    """The tenant's file names it, so the platform allows it; the token is the environment's."""
    source = {"url": SSH, "deployKey": Secret(KEY), "github": {"repository": "acme/apps"}}
    owners = {"Other": {"token": Secret("t0ken")}}

    github = load(tmp_path, tenants={"dev-team": {"source": source}}, github={"owners": owners}).github

    assert github.identity("acme").token is None
    assert github.identity("other").token is not None


@pytest.mark.parametrize("form", [keys.PKCS8, keys.OPENSSH])
def test_a_key_that_two_sources_share_is_refused_however_it_is_written(tmp_path, form):
    key = keys.private_text(keys.ec_key(), keys.PKCS8)
    fingerprint = read_private_key(key).fingerprint
    source = {"url": SSH, "deployKey": Secret(key)}
    again = {"url": SSH, "deployKey": Secret(keys.private_text(keys.ec_key(), form))}
    bases = {"dev-team": DEV_TEAM_BASE, "ops-team": DEV_TEAM_BASE.replace("apps", "tools")}

    reason = said("FT-CFG-653", fingerprint, "flux.sync.source.deployKey", "deploy")
    assert problems(
        tmp_path,
        bases=bases,
        flux=FLUX | {"sync": {"source": source}},
        tenants={"dev-team": {"source": {"url": SSH, "deployKey": Secret(KEY)}}, "ops-team": {"source": again}},
    ) == [f"Pulumi.staging.yaml: tenants.ops-team.source.deployKey: {reason}"]


def test_the_platforms_own_source_is_held_to_the_same(tmp_path):
    sync = {"source": {"url": "ssh://git@git.example.com/platform/fleet", "deployKey": Secret(KEY)}}

    (problem,) = problems(tmp_path, flux=FLUX | {"sync": sync})

    assert problem == f"Pulumi.staging.yaml: flux.sync.source.url: {said('FT-CFG-659', 'git.example.com')}"


def test_hosts_of_the_stack_and_of_its_file_are_known(tmp_path):
    (tmp_path / "known_hosts").write_text(f"# ours\n\n[git.example.com]:2222 {HOST_LINE.split(' ', 1)[1]} comment\n")
    tenants = {"dev-team": {"source": {"url": "ssh://git@git.example.com:2222/acme/apps", "deployKey": Secret(KEY)}}}

    config = load(tmp_path, tenants=tenants, git={"knownHosts": [HOST_LINE], "knownHostsFile": "known_hosts"})

    assert config.git.known_hosts == (HOST_LINE, f"[git.example.com]:2222 {HOST_LINE.split(' ', 1)[1]} comment")


def test_lines_that_cannot_be_used_are_named_by_their_file_and_number_and_nothing_follows_from_them(tmp_path):
    (tmp_path / "known_hosts").write_text(f"# ours\n*.example.com {HOST_LINE.split(' ', 1)[1]}\n{HOST_LINE}\nbroken\n")
    tenants = {"dev-team": {"source": {"url": "ssh://git@other.example.com/acme/apps", "deployKey": Secret(KEY)}}}

    assert problems(
        tmp_path, tenants=tenants, git={"knownHosts": ["broken"], "knownHostsFile": "known_hosts"}, flux=...
    ) == [
        "Pulumi.staging.yaml: flux: " + MISSING(),
        "Pulumi.staging.yaml: git.knownHosts[0]: " + said("FT-CFG-104", "it needs these three parts, on one line"),
        "known_hosts: line 2: "
        + said(
            "FT-CFG-104", "'*.example.com' is not a host, or several; patterns, markers and hashes are not supported"
        ),
        "known_hosts: line 4: " + said("FT-CFG-104", "it needs these three parts, on one line"),
    ]


def test_problems_of_the_file_alone_are_all_that_is_told(tmp_path):
    (tmp_path / "known_hosts").write_text("broken\n")
    tenants = {"dev-team": {"source": {"url": "ssh://git@other.example.com/acme/apps", "deployKey": Secret(KEY)}}}

    (problem,) = problems(tmp_path, tenants=tenants, git={"knownHostsFile": "known_hosts"})

    assert problem == f"known_hosts: line 1: {said('FT-CFG-104', 'it needs these three parts, on one line')}"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file or directory"), (b"\xe4", "it is not UTF-8 text")]
)
def test_a_file_of_known_hosts_that_cannot_be_read_is_named(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "hosts").write_bytes(content)

    assert problems(tmp_path, git={"knownHostsFile": "hosts"}) == [
        f"Pulumi.staging.yaml: git.knownHostsFile: {UNREADABLE_FILE(reason=reason).of('hosts')}"
    ]


def test_an_owner_that_nobody_uses_is_fine(tmp_path):
    assert list(load(tmp_path, github=ACME).github.owners) == ["acme"]


@pytest.mark.parametrize(
    "source",
    [
        {"deployKey": "pa55word"},
        {"githubApp": {"appId": 1, "installationId": 2, "privateKey": "pa55word"}},
        {"certificateAuthority": "pa55word"},
        {"verify": {"keys": {"ana": "pa55word"}}},
    ],
    ids=lambda source: "".join(source),
)
def test_the_types_keep_their_values_to_themselves_whoever_asks(source):
    with pytest.raises(ValidationError) as refused:
        GitSource.model_validate({"url": HTTPS} | source)

    answer = [message(details, show_input=True) for details in refused.value.errors()]
    assert len(answer) == 1
    assert "pa55word" not in f"{answer} {refused.value}"


def test_no_message_holds_anything_of_a_key(tmp_path):
    weak = keys.private_text(keys.rsa_key(2048), keys.OPENSSH)
    tenants = {"dev-team": {"source": {"url": SSH, "deployKey": weak, "certificateAuthority": weak, "https": weak}}}

    with pytest.raises(ConfigurationError) as error:
        load(tmp_path, tenants=tenants, git={"knownHosts": [weak]}, github={"owners": {"acme": {"token": weak}}})

    assert not [line for line in weak.splitlines() if len(line) > 20 and line in f"{error.value!r} {error.value}"]
