"""Tenants with private repositories: deploy keys, tokens, host keys, rotation, and what goes wrong with them."""

from __future__ import annotations

import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from components.git.ssh_keys import SshKey, generate
from tests.e2e.conftest import Environment, base
from tests.support.git_client import Signer, ask
from tests.support.lab import Lab, Reconciling, eventually

REPOSITORY = ("shop-team", "shop")


def note(text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: note}}\ndata: {{text: {text}}}\n"


def noted(environment: Environment, namespace: str) -> str | None:
    """What the note in the cluster says."""
    found = environment.cluster.get("configmap", "note", namespace)
    return found["data"]["text"] if found else None


def repository(lab: Lab, owner: str, name: str, folder: Path) -> None:
    lab.repository(owner, name, {"note.yaml": note("first")}, folder, private=True)


def eventually_seconds(look: Any) -> float:
    """How long it takes until `look` is true."""
    begin = time.monotonic()
    eventually(look, timeout=120)
    return time.monotonic() - begin


@dataclass
class Shop:
    """A tenant whose repository at GitHub is private, with its key in the stack file."""

    lab: Lab
    stack: Environment
    key: SshKey = field(default_factory=generate)

    @property
    def url(self) -> str:
        return self.lab.git.ssh_url(*REPOSITORY)

    def use(self, key: SshKey) -> None:
        """Write another key into the stack file."""
        self.key = key
        self.stack.config["tenants"]["shop"] = {"source": {"deployKey": self.stack.secret(key.private)}}

    def registered(self) -> list[str]:
        """The public keys that the Git host has for the repository, without comments."""
        keys = self.lab.git.deploy_keys(*REPOSITORY)
        assert all(key["read_only"] for key in keys)
        return [" ".join(key["key"].split()[:2]) for key in keys]

    def source(self) -> tuple[str, str]:
        return self.stack.cluster.ready("gitrepository", "shop", "shop")

    def restore(self) -> None:
        """Whatever a test has done: a new key, and all is well."""
        self.stack.config["git"] = {"knownHostsFile": str(self.lab.git.known_hosts)}
        self.use(generate())
        self.stack.up()
        assert self.source()[0] == "True"


@pytest.fixture(scope="module")
def shop(lab: Lab, staging_stack: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    repository(lab, *REPOSITORY, tmp_path_factory.mktemp("repositories"))
    staging_stack.project.tenant("shop", base(lab, "/".join(REPOSITORY), "shop", interval="1h", webhook={}))
    staging_stack.config["github"]["owners"]["shop-team"] = {}
    staging_stack.config["flux"]["webhookUrl"] = staging_stack.cluster.webhook_url
    shop = Shop(lab, staging_stack)
    shop.use(shop.key)
    staging_stack.up()
    yield shop
    staging_stack.config["tenants"].pop("shop", None)
    staging_stack.up()


@pytest.fixture
def guest(lab: Lab, staging_stack: Environment, tmp_path: Path) -> Iterator[Guest]:
    """A second tenant beside the others, for one test."""
    guest = Guest(lab, staging_stack)
    repository(lab, "guest-team", "site", tmp_path)
    staging_stack.config["tenancy"] = {"settleTimeout": "20s"}
    yield guest
    del staging_stack.config["tenancy"]
    staging_stack.config["tenants"].pop("guest", None)
    staging_stack.up()
    assert staging_stack.cluster.get("namespace", "guest") is None


@dataclass
class Guest:
    lab: Lab
    stack: Environment

    def onboard(self, url: str, entry: dict[str, Any] | None = None, **source: Any) -> str:
        """Write the tenant with such a source and bring the stack up; returns what Pulumi printed."""
        tenant = {"namespaces": [{"name": "guest"}], "sync": {"targetNamespace": "guest"}}
        self.stack.project.tenant("guest", tenant | {"source": {"url": url, **source}})
        self.stack.config["tenants"]["guest"] = {"source": entry} if entry else {}
        return self.stack.up()

    def status(self) -> dict[str, str]:
        tenants = self.stack.outputs()["tenants"]
        others = {name: tenant["status"]["ready"] for name, tenant in tenants.items() if name != "guest"}
        assert set(others.values()) == {"True"}, others
        return tenants["guest"]["status"]


def test_a_private_repository_is_onboarded_by_configuration_alone(shop: Shop) -> None:
    assert noted(shop.stack, "shop") == "first"
    assert shop.registered() == [shop.key.public]
    (registered,) = shop.lab.git.deploy_keys(*REPOSITORY)
    assert registered["title"] == f"flux-tenancy staging/shop {shop.key.fingerprint}"
    assert shop.stack.outputs()["tenants"]["shop"]["deployKey"]["fingerprint"] == shop.key.fingerprint


def test_the_key_may_fetch_and_not_push(shop: Shop) -> None:
    assert ask(shop.url, shop.key.private, "git-upload-pack") == ""
    assert "not" in ask(shop.url, shop.key.private, "git-receive-pack")


def test_nothing_changes_when_nothing_has_changed(shop: Shop) -> None:
    assert shop.stack.changes() == {}


def test_a_push_is_applied_at_once_and_not_at_the_next_interval(
    shop: Shop, record_property: pytest.RecordProperty
) -> None:
    """The source looks only every hour by itself."""
    receiver = shop.stack.cluster.get("receiver", "shop", "shop")
    assert receiver["spec"]["resources"] == [
        {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "shop"}
    ]
    (webhook,) = shop.lab.git.webhooks(*REPOSITORY)
    assert webhook["config"]["url"].endswith(receiver["status"]["webhookPath"])
    eventually(lambda: shop.stack.cluster.ready("receiver", "shop", "shop")[0] == "True")

    shop.lab.git.commit_files(*REPOSITORY, {"note.yaml": note("pushed")}, "Say something else")
    seconds = eventually_seconds(lambda: noted(shop.stack, "shop") == "pushed")

    record_property("seconds from push to cluster", seconds)
    assert seconds < 60


def test_a_key_is_rotated_without_one_failed_fetch(shop: Shop) -> None:
    before, new = shop.key, generate()
    shop.use(new)

    with Reconciling(shop.stack.cluster, "gitrepository", "shop", "shop") as loop:
        shop.stack.up()

    assert loop.failures == set()
    assert loop.rounds > 10
    assert shop.registered() == [new.public] != [before.public]
    secrets = shop.stack.cluster.get("secrets", namespace="shop")["items"]
    assert len([each for each in secrets if each["metadata"]["name"].startswith("shop-git-")]) == 1
    events = shop.stack.cluster.get("events", namespace="shop")["items"]
    warnings = [
        each for each in events if each["type"] == "Warning" and each["involvedObject"]["kind"] == "GitRepository"
    ]
    assert warnings == []


def test_a_host_with_another_key_is_refused_and_the_key_before_stays(shop: Shop) -> None:
    """A rotation at the moment at which somebody else answers for the Git host."""
    before, new = shop.key, generate()
    address = shop.lab.git.known_hosts.read_text().split()[0]
    shop.stack.config["git"] = {"knownHosts": [f"{address} {generate().public}"]}
    shop.use(new)
    shop.stack.write()
    try:
        outcome = shop.stack.project.up("staging")

        assert not outcome.succeeded
        assert "Traceback" not in outcome.text
        assert "the one before stays registered" in outcome.text
        assert "key mismatch" in shop.source()[1]
        assert sorted(shop.registered()) == sorted([before.public, new.public])
        assert noted(shop.stack, "shop") == "pushed"
        assert shop.stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"
    finally:
        shop.restore()
    assert shop.registered() == [shop.key.public]


def test_a_revoked_key_is_told_and_a_new_one_mends_it(shop: Shop) -> None:
    """Somebody has removed the key at the Git host itself."""
    (registered,) = shop.lab.git.deploy_keys(*REPOSITORY)
    with shop.lab.git.gitea.client() as api:
        api.delete(f"/repos/{'/'.join(REPOSITORY)}/keys/{registered['id']}").raise_for_status()
    shop.stack.cluster.reconcile("gitrepository", "shop", "shop")
    try:
        assert "unable to authenticate" in shop.stack.cluster.refusal("gitrepository", "shop", "shop")
        text = shop.stack.up()
        assert "tenant shop is not ready" in text
        assert "unable to authenticate" in text
        assert shop.stack.outputs()["tenants"]["dev-team"]["status"]["ready"] == "True"
    finally:
        shop.restore()


def test_an_outage_of_github_is_told_and_can_be_left_out_of_an_update(shop: Shop) -> None:
    """GitHub's provider asks GitHub who the owner is before it finds that nothing has changed."""
    shop.stack.config["tenants"]["shop"]["sync"] = {"interval": "7m"}
    shop.stack.config["tenancy"] = {"settleTimeout": "5s"}
    shop.stack.write()
    shop.lab.git.stop()
    try:
        refused = shop.stack.project.up("staging")
        assert not refused.succeeded
        assert "failed to lookup organization" in refused.text
        assert "Traceback" not in refused.text
        applied = shop.stack.project.run(
            "up", "--yes", "--skip-preview", "--stack", "staging", "--exclude", "**github:index/**"
        )
        assert applied.succeeded, applied.text
        assert shop.stack.cluster.get("kustomization", "shop", "shop")["spec"]["interval"] == "7m"
        assert shop.stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"
    finally:
        shop.lab.start_git_host()
        del shop.stack.config["tenancy"], shop.stack.config["tenants"]["shop"]["sync"]
        shop.stack.up()


def test_new_keys_are_refused_before_anything_is_applied_when_github_is_not_there(shop: Shop, guest: Guest) -> None:
    before = shop.stack.project.resources("staging")
    shop.stack.config["github"]["owners"]["guest-team"] = {}
    shop.stack.config["tenants"]["guest"] = {"source": {"deployKey": shop.stack.secret(generate().private)}}
    shop.stack.project.tenant("guest", base(shop.lab, "guest-team/nowhere", "guest"))
    shop.stack.write()

    missing = shop.stack.project.up("staging")
    shop.lab.git.stop()
    try:
        outage = shop.stack.project.up("staging")
    finally:
        shop.lab.start_git_host()

    for outcome, reason in ((missing, "guest-team/nowhere does not exist"), (outage, "GitHub cannot be reached at")):
        assert not outcome.succeeded
        assert f"Pulumi.staging.yaml: tenants.guest.source.github: {reason}" in outcome.text
        assert "Traceback" not in outcome.text
    assert shop.stack.project.resources("staging") == before


class UsedUp(BaseHTTPRequestHandler):
    """GitHub, after its rate limit. Source: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("x-ratelimit-remaining", "0")
        self.send_header("x-ratelimit-reset", "1800000000")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_used_up_rate_limit_is_told_before_anything_is_applied(shop: Shop, guest: Guest) -> None:
    before = shop.stack.project.resources("staging")
    key = shop.stack.secret(generate().private)
    shop.stack.config["tenants"]["guest"] = {"source": {"deployKey": key}}
    shop.stack.project.tenant("guest", base(shop.lab, "guest-team/site", "guest"))
    shop.stack.config["github"]["owners"]["guest-team"] = {}
    server = HTTPServer(("127.0.0.1", 0), UsedUp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    shop.stack.config["github"]["baseUrl"] = f"http://127.0.0.1:{server.server_port}/"
    shop.stack.write()
    try:
        outcome = shop.stack.project.up("staging")
    finally:
        server.shutdown()
        server.server_close()
        shop.stack.config["github"]["baseUrl"] = shop.lab.git.github_url

    assert not outcome.succeeded
    assert "tenants.guest.source.github: GitHub's rate limit is used up until 08:00 UTC" in outcome.text
    assert shop.stack.project.resources("staging") == before


def test_https_with_a_token_and_an_authority_of_ones_own(lab: Lab, staging_stack: Environment, guest: Guest) -> None:
    authority = lab.git.certificate_authority.read_text()
    url = lab.git.https_url("guest-team", "site")

    guest.onboard(url, {"https": {"password": staging_stack.secret(lab.git.token())}}, certificateAuthority=authority)

    assert noted(staging_stack, "guest") == "first"
    assert guest.status()["ready"] == "True"


def test_a_wrong_token_is_told(lab: Lab, staging_stack: Environment, guest: Guest) -> None:
    authority = lab.git.certificate_authority.read_text()
    url = lab.git.https_url("guest-team", "site")

    text = guest.onboard(
        url, {"https": {"password": staging_stack.secret("not-the-token")}}, certificateAuthority=authority
    )

    status = guest.status()
    assert status["ready"] == "False"
    assert "authentication" in status["message"]
    assert "tenant guest is not ready" in text
    assert "not-the-token" not in text + status["message"]


def test_a_github_app_is_handed_to_flux_which_asks_for_its_token(
    lab: Lab, staging_stack: Environment, guest: Guest
) -> None:
    """The lab's Git host has no Apps, so this shows the way as far as the question for a token of the installation."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    app = {"appId": 1, "installationId": 2, "baseUrl": f"{lab.git.github_url}api/v3"}

    guest.onboard(
        lab.git.https_url("guest-team", "site"),
        {"githubApp": {**app, "privateKey": staging_stack.secret(pem)}},
        certificateAuthority=lab.git.certificate_authority.read_text(),
    )

    assert staging_stack.cluster.get("gitrepository", "guest", "guest")["spec"]["provider"] == "github"
    status = guest.status()
    assert status["ready"] == "False"
    assert "app/installations/2/access_tokens" in status["message"]


def test_an_unsigned_commit_is_not_reconciled(
    lab: Lab, staging_stack: Environment, guest: Guest, tmp_path: Path
) -> None:
    alice, mallory = Signer("alice"), Signer("mallory")
    key = generate()
    staging_stack.config["github"]["owners"]["guest-team"] = {}
    tenant = base(lab, "guest-team/site", "guest", verify={"keys": {"alice": alice.public_key}})
    guest.onboard(tenant["source"].pop("url"), {"deployKey": staging_stack.secret(key.private)}, **tenant["source"])
    status = guest.status()
    assert status["ready"] == "False"
    assert "signature verification of commit" in status["message"]
    assert noted(staging_stack, "guest") is None

    clone = lab.git.clone("guest-team", "site", tmp_path / "clone")
    for signer, text in ((mallory, "by mallory"), (alice, "by alice")):
        (clone / "note.yaml").write_text(note(text))
        signer.commit(clone, f"Signed {text}")
        lab.git.push(clone)
        staging_stack.cluster.reconcile("gitrepository", "guest", "guest")
        if signer is mallory:
            refusal = staging_stack.cluster.refusal("gitrepository", "guest", "guest")
            assert "signature verification of commit" in refusal

    eventually(lambda: noted(staging_stack, "guest") == "by alice")


def test_no_private_value_is_to_be_found_anywhere(shop: Shop) -> None:
    receiver = shop.stack.cluster.get("secret", "shop-webhook", "shop")
    token = shop.lab.git.token()
    shop.stack.config["github"]["owners"]["shop-team"] = {"token": shop.stack.secret(token)}
    shop.use(generate())
    printed = shop.stack.project.run("preview", "--diff", "--stack", "staging").text
    shop.stack.write()
    printed += shop.stack.project.run("preview", "--diff", "--stack", "staging").text
    printed += shop.stack.up()
    printed += shop.stack.project.run("stack", "export", "--stack", "staging").text
    printed += shop.stack.project.run("stack", "output", "--json", "--stack", "staging").text

    values = private_values(shop.key.private, token, receiver["data"]["token"])
    files = [*shop.lab.settings.state.glob("pulumi/backend/**/*staging*"), *shop.lab.settings.state.glob("**/*.log")]
    assert len(files) > 10
    for text in [printed, *(each.read_text(errors="replace") for each in files if each.is_file())]:
        assert not [value for value in values if value in text]


def private_values(key: str, token: str, encoded_token: str) -> list[str]:
    """What must not be found: secrets as they are, and as they stand in a Secret."""
    lines = [line for line in key.splitlines() if not line.startswith("-----")]
    # The first line of an OpenSSH key says only what kind of key it is.
    return [
        *lines[1:],
        b64encode(key.encode()).decode()[200:260],
        token,
        encoded_token,
        b64decode(encoded_token).decode(),
    ]


def test_offboarding_removes_key_and_webhook_from_the_git_host(shop: Shop) -> None:
    del shop.stack.config["tenants"]["shop"]

    shop.stack.up()

    assert shop.lab.git.deploy_keys(*REPOSITORY) == []
    assert shop.lab.git.webhooks(*REPOSITORY) == []
    assert shop.stack.cluster.get("namespace", "shop") is None
