"""Host keys: the pinned ones are those that their hosts publish, and nobody else is known by chance."""

import pytest
import sample_keys as keys
from cryptography.hazmat.primitives.asymmetric import ec

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.known_hosts import (
    address_of,
    check_line,
    entries,
    lines_for,
    pinned,
)
from flux_tenancy.components.keys.ssh_keys import fingerprint

KEY = keys.public_line(keys.ed25519_key())
ANOTHER = keys.public_line(ec.generate_private_key(ec.SECP256R1()))
OWN = f"git.example.com {KEY}"
URL = "ssh://git@git.example.com/team/apps"

# Copied from the hosts' own pages, not computed from the keys.
PUBLISHED = {
    # https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/githubs-ssh-key-fingerprints
    "github.com": {
        "ssh-ed25519": "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU",
        "ecdsa-sha2-nistp256": "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM",
        # Since March 2023: https://github.blog/2023-03-23-we-updated-our-rsa-ssh-host-key/
        "ssh-rsa": "SHA256:uNiVztksCsDhcc0u9e8BujQXVUpKZIDTMczCvj3tD2s",
    },
    # https://docs.gitlab.com/user/gitlab_com/#ssh-host-keys-fingerprints
    "gitlab.com": {
        "ssh-ed25519": "SHA256:eUXGGm1YGsMAS7vkcx6JOJdOGHPem5gQp4taiCfCLB8",
        "ecdsa-sha2-nistp256": "SHA256:HbW3g8zUjNSksFbqTiUWPWg2Bq1x8xdGUrliXFzSnUw",
        "ssh-rsa": "SHA256:ROQFvPThGrW4RuWLoL9tq9I9zJ42fK4XywyRtbOz/EQ",
    },
    # https://support.atlassian.com/bitbucket-cloud/docs/configure-ssh-and-two-step-verification/
    "bitbucket.org": {
        "ssh-ed25519": "SHA256:ybgmFkzwOSotHTHLJgHO0QN8L0xErw6vd0VhFA9m3SM",
        "ecdsa-sha2-nistp256": "SHA256:FC73VB6C4OQLSCrjEayhMp9UMxS97caD/Yyi2bhW/J0",
        "ssh-rsa": "SHA256:46OSHA1Rmj8E8ERTC6xkNcmGOw9oFxYr0WF6zWW8l1E",
    },
}


def test_the_pinned_keys_are_those_whose_fingerprints_the_hosts_publish():
    found: dict[str, dict[str, str]] = {}
    for key in pinned():
        [address] = key.addresses
        assert key.type not in found.setdefault(address, {})
        found[address][key.type] = fingerprint(f"{key.type} {key.key}")

    assert found == PUBLISHED


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ssh://git@git.example.com/a/b", "git.example.com"),
        ("ssh://git@git.example.com:22/a/b", "git.example.com"),
        ("ssh://git@git.example.com:2222/a/b", "[git.example.com]:2222"),
        ("ssh://127.0.0.1:20801/a/b.git", "[127.0.0.1]:20801"),
        ("ssh://git@[2001:db8::1]/a/b", "2001:db8::1"),
        ("ssh://git@[2001:db8::1]:2222/a/b", "[2001:db8::1]:2222"),
    ],
)
def test_an_address_stands_as_openssh_writes_it(url, address):
    assert address_of(url) == address
    assert lines_for(url, [f"{address} {KEY}"]) == f"{address} {KEY}\n"


def test_public_hosts_are_known_with_all_their_keys():
    lines = lines_for("ssh://git@github.com/org/apps", []).splitlines()

    assert [line.split()[:2] for line in lines] == [["github.com", kind] for kind in PUBLISHED["github.com"]]


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "ssh://git@github.com:2222/org/apps",
        "ssh://git@github.com.example.com/org/apps",
        "ssh://git@sub.github.com/org/apps",
    ],
)
def test_nobody_else_is_known(url):
    assert lines_for(url, [f"other.example.com {KEY}", f"[git.example.com]:2222 {KEY}"]) == ""


def test_the_stacks_own_lines_replace_the_pinned_ones_of_that_host_alone():
    own = [f"github.com {KEY}"]

    assert lines_for("ssh://git@github.com/org/apps", own) == f"github.com {KEY}\n"
    assert lines_for("ssh://git@gitlab.com/org/apps", own) == lines_for("ssh://git@gitlab.com/org/apps", [])


def test_only_the_host_that_is_asked_for_is_written_once_and_without_comment():
    known = [
        f"git.example.com,192.0.2.1 {KEY} of a friend",
        f"git.example.com {KEY}",
        f"[GIT.example.com]:22 {ANOTHER}",
    ]

    assert lines_for(URL, known) == f"git.example.com {KEY}\ngit.example.com {ANOTHER}\n"


def test_a_line_is_kept_as_it_is_but_for_the_spaces_around_it():
    assert check_line(f"  {OWN} comment \n") == f"{OWN} comment"


def test_comments_and_empty_lines_of_a_file_are_passed_over_but_counted():
    assert list(entries(f"# a comment\n\n  {OWN}\n\t# another\nlast")) == [(3, OWN), (5, "last")]


NO_LINE = (
    "",
    "git.example.com",
    KEY,
    f"{OWN}\n{OWN}",
    f"*.example.com {KEY}",
    f"git?.example.com {KEY}",
    f"a.example,!b.example {KEY}",
    f"a.example, {KEY}",
    f"[git.example.com] {KEY}",
    f"git.example.com:2222 {KEY}",
    f"https://git.example.com {KEY}",
    "# git.example.com:22 SSH-2.0-Go",
    f"@revoked git.example.com {KEY}",
    f"@cert-authority *.example.com {KEY}",
    f"|1|c2FsdA==|aGFzaA== {KEY}",
    "git.example.com ssh-ed448 AAAA",
)
WEAK = ("git.example.com ssh-dss AAAAB3NzaC1kc3M=", f"git.example.com {keys.public_line(keys.rsa_key(1024))}")
DAMAGED = (OWN[:-10], f"git.example.com ssh-rsa {KEY.split()[1]}", "git.example.com ssh-ed25519 not-base64")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (code, line)
        for code, lines in {"FT-CFG-104": NO_LINE, "FT-CFG-108": WEAK, "FT-CFG-124": DAMAGED}.items()
        for line in lines
    ],
)
def test_a_line_that_trusts_nobody_or_too_many_is_refused(code, line):
    with pytest.raises(InvalidKeyError) as refused:
        check_line(line)

    assert message_of(refused.value).code == code
