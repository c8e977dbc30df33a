"""Tenants with private repositories: deploy keys, tokens, host keys, rotation, and what goes wrong with them.

One update brings a tenant for each way to authenticate, good and bad; what one of them lives through after that is a
scenario.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from flux_tenancy.components.git.github import ALL
from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.components.keys.ssh_keys import SshKey, generate
from tests.support.environment import Environment, base
from tests.support.git_client import Signer, ask
from tests.support.lab import Lab, Reconciling, eventually
from tests.support.project import Project, flux_tenancy

NAME = "private"
REPOSITORY = ("shop-team", "shop")
LOSING = ("unhooked", "vanished", "rotating")
"""Tenants that delete their webhook, or their whole repository, at the Git host."""


def note(text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: note}}\ndata: {{text: {text}}}\n"


def noted(environment: Environment, namespace: str) -> str | None:
    """What the note in the cluster says."""
    found = environment.cluster.find("configmap", "note", namespace)
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

    def keys(self) -> dict[str, Any]:
        """What the stack's outputs say of its keys."""
        found: dict[str, Any] = self.stack.outputs()["tenants"]["shop"]["deployKey"]
        return found

    def rotate(self) -> SshKey:
        """Write a new key into the stack file; returns the previous one."""
        previous = self.key
        self.use(generate())
        return previous

    def use(self, key: SshKey) -> None:
        """Write another key into the stack file."""
        self.key = key
        self.stack.config["tenants"]["shop"]["source"] = {"deployKey": self.stack.secret(key.private)}

    def registered(self) -> set[str]:
        """The public keys that the Git host has for the repository, without comments."""
        keys = self.lab.git.deploy_keys(*REPOSITORY)
        assert all(key["read_only"] for key in keys)
        return {" ".join(key["key"].split()[:2]) for key in keys}

    @contextmanager
    def at_host(self) -> Iterator[httpx.Client]:
        """The API of its repository at the Git host, for an admin."""
        host = f"{self.lab.git.github_url}api/v3/repos/{'/'.join(REPOSITORY)}/"
        headers = {"Authorization": f"Bearer {self.lab.git.token()}"}
        with httpx.Client(base_url=host, headers=headers, trust_env=False) as api:
            yield api

    def drift(self) -> set[tuple[str, str, str]]:
        """What differs of the shop's at the Git host: kind, in which way, and field."""
        done = self._run("drift", "show", "--output", "json")
        found = json.loads(done.stdout)
        assert found["unread"] == []
        return {
            (each["kind"], each["what"], each["field"])
            for each in found["differences"]
            if each["name"].startswith("/".join(REPOSITORY))
        }

    def repair(self) -> None:
        """Run the ordinary update, after which nothing of the shop's differs."""
        self._run("up", "--yes")
        assert self.drift() == set()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.stack.write()
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in self.lab.pulumi.environment().items():
                patch.setenv(variable, value)
            patch.setenv("PATH", str(self.lab.pulumi.bin), prepend=os.pathsep)
            done = flux_tenancy(self.stack.project.folder, *arguments, "--stack", NAME)
        assert done.returncode == 0, done.stderr
        return done

    def source(self) -> tuple[str, str]:
        return self.stack.cluster.ready("gitrepository", "shop", "shop")

    def restore(self) -> None:
        """Whatever a test has done: the host is known, and all is well."""
        self.stack.config["git"] = {"knownHostsFile": str(self.lab.git.known_hosts)}
        self.stack.up()
        assert self.source()[0] == "True"

    @contextmanager
    def without_branch(self) -> Iterator[None]:
        """Delete the branch that is reconciled for the time of the block, as anybody with write access may."""
        repository = f"/repos/{'/'.join(REPOSITORY)}"
        with self.lab.git.gitea.client() as api:
            api.post(f"{repository}/branches", json={"new_branch_name": "kept"}).raise_for_status()
            api.patch(repository, json={"default_branch": "kept"}).raise_for_status()
            api.delete(f"{repository}/branches/main").raise_for_status()
            yield
            api.post(f"{repository}/branches", json={"new_branch_name": "main"}).raise_for_status()


@dataclass(frozen=True)
class Started:
    """The stack after its first update, in which every tenant came.

    Attributes:
        stack: the stack.
        said: what Pulumi printed.
        tenants: what the outputs then said of them.
        shop: the tenant that the scenario is about.
        first_key: fingerprint of the shop's deploy key in that update; the scenario rotates the key.
        alice: who signs the commits of the tenant `signed`.
        wrong_token: what the tenant `wrong-token` has for a password.
        decryption: private keys of the shop, as they are in plain text.
    """

    stack: Environment
    said: str
    tenants: dict[str, Any]
    shop: Shop
    first_key: str
    alice: Signer
    wrong_token: str
    decryption: tuple[str, str]

    def status(self, tenant: str) -> dict[str, str]:
        status: dict[str, str] = self.tenants[tenant]["status"]
        return status


@pytest.fixture(scope="module")
def started(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("repositories")
    for owner, name in (REPOSITORY, *(("guest-team", name) for name in ("site", "signed", *LOSING))):
        repository(lab, owner, name, folder)
    project = Project(tmp_path_factory.mktemp("private") / "project", lab.pulumi)
    with lab.cluster(NAME) as cluster:
        stack = Environment(lab, project, cluster, flux=lab.bundle() | {"webhookUrl": cluster.webhook_url})
        stack.config["tenancy"] = {"settleTimeout": "20s"}
        project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
        stack.onboard("dev-team", "./staging")
        project.tenant("shop", base(lab, "/".join(REPOSITORY), "shop", interval="1h", webhook={}))
        stack.config["tenants"]["shop"] = {}
        shop = Shop(lab, stack)
        shop.use(shop.key)
        decryption = age_keys.generate().private, openpgp_keys.generate("shop").private
        identities, private_keys = (stack.secret(f"{key}\n") for key in decryption)
        keys = {"age": {"identities": identities}, "openpgp": {"privateKeys": private_keys}}
        stack.config["tenants"]["shop"]["sync"] = {"decryption": keys}
        alice, wrong = Signer("alice"), "not-the-token"
        onboard_guests(lab, stack, alice, wrong)
        register_as_if_killed(lab, cluster.webhook_url, shop.key, generate())
        said = stack.up()
        yield Started(stack, said, stack.outputs()["tenants"], shop, shop.key.fingerprint, alice, wrong, decryption)


def register_as_if_killed(lab: Lab, webhook_url: str, *keys: SshKey) -> None:
    """Register at the Git host what an update does, as one that is killed before it has recorded any of it."""
    host = f"{lab.git.github_url}api/v3/repos/{'/'.join(REPOSITORY)}"
    configuration = {"url": f"{webhook_url}/hook/of-a-token-that-is-lost", "content_type": "json"}
    registrations = [("hooks", {"name": "web", "active": True, "events": ["push"], "config": configuration})]
    for key in keys:
        title = f"flux-tenancy {NAME}/shop {key.fingerprint}"
        registrations.append(("keys", {"title": title, "key": key.public, "read_only": True}))
    with httpx.Client(headers={"Authorization": f"Bearer {lab.git.token()}"}, trust_env=False) as api:
        for kind, body in registrations:
            api.post(f"{host}/{kind}", json=body).raise_for_status()


def onboard_guests(lab: Lab, stack: Environment, alice: Signer, wrong: str) -> None:
    """A tenant for each other way to authenticate, with the host's own certificate authority where that is HTTPS."""
    authority = lab.git.certificate_authority.read_text()
    https, ssh = lab.git.https_url("guest-team", "site"), lab.git.ssh_url("guest-team", "signed")
    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    app = {"appId": 1, "installationId": 2, "baseUrl": f"{lab.git.github_url}api/v3"}
    guest(stack, "token", https, {"https": {"password": stack.secret(lab.git.token())}}, certificateAuthority=authority)
    guest(
        stack, "leaver", https, {"https": {"password": stack.secret(lab.git.token())}}, certificateAuthority=authority
    )
    guest(stack, "wrong-token", https, {"https": {"password": stack.secret(wrong)}}, certificateAuthority=authority)
    key = {"githubApp": app | {"privateKey": stack.secret(pem.decode())}}
    guest(stack, "app", https, key, certificateAuthority=authority)
    deploy_key = {"deployKey": stack.secret(generate().private)}
    verified = {"github": {"repository": "guest-team/signed"}, "verify": {"keys": {"alice": alice.public_key}}}
    guest(stack, "signed", ssh, deploy_key, interval="1m", **verified)
    for name in LOSING:
        own_key, github = {"deployKey": stack.secret(generate().private)}, {"repository": f"guest-team/{name}"}
        guest(stack, name, lab.git.ssh_url("guest-team", name), own_key, interval="1h", github=github, webhook={})
    guest(stack, "broken", lab.git.url("nobody", "nothing"), {})


def guest(stack: Environment, name: str, url: str, entry: dict[str, Any], **source: Any) -> None:
    tenant = {"namespaces": [{"name": name}], "sync": {"targetNamespace": name}}
    stack.project.tenant(name, tenant | {"source": {"url": url, **source}})
    stack.config["tenants"][name] = {"source": entry} if entry else {}


@pytest.fixture
def stack(started: Started) -> Environment:
    return started.stack


@pytest.fixture
def shop(started: Started) -> Shop:
    return started.shop


def test_a_tenant_that_fails_blocks_neither_platform_nor_tenants(started: Started) -> None:
    failing = {name for name in started.tenants if started.status(name)["ready"] != "True"}

    assert failing == {"wrong-token", "app", "signed", "broken"}
    assert "tenant broken is not ready" in started.said
    assert "nobody/nothing" in started.status("broken")["message"]


def test_keys_and_webhooks_of_a_killed_update_are_replaced(started: Started) -> None:
    """The key that is wanted, which the host would refuse again, one that is not wanted any more, and a webhook."""
    left = r"the (?:deploy key|webhook) .* of shop-team/shop .* \(FT-GIT-021\)"
    told = set(re.findall(left, started.said))
    assert len(told) == 3
    assert any(f"flux-tenancy {NAME}/shop {started.first_key}" in each for each in told)


@pytest.mark.scenario
class TestDeployKey:
    """A tenant whose repository at GitHub is private, from onboarding to offboarding."""

    def test_a_private_repository_is_onboarded_by_configuration_alone(self, shop: Shop) -> None:
        assert noted(shop.stack, "shop") == "first"
        assert shop.registered() == {shop.key.public}
        (registered,) = shop.lab.git.deploy_keys(*REPOSITORY)
        assert registered["title"] == f"flux-tenancy {NAME}/shop {shop.key.fingerprint}"
        assert shop.stack.outputs()["tenants"]["shop"]["deployKey"]["fingerprint"] == shop.key.fingerprint

    def test_the_deploy_key_is_read_only(self, shop: Shop) -> None:
        assert ask(shop.url, shop.key.private, "git-upload-pack") == ""
        assert "not" in ask(shop.url, shop.key.private, "git-receive-pack")

    def test_an_unchanged_stack_previews_no_change(self, shop: Shop) -> None:
        assert shop.stack.changes() == {}

    def test_what_others_change_at_the_host_is_drift_and_an_update_repairs_it(self, shop: Shop) -> None:
        """The key is registered again with write access, and the webhook leads elsewhere; then the webhook is gone."""
        [key], [webhook] = shop.lab.git.deploy_keys(*REPOSITORY), shop.lab.git.webhooks(*REPOSITORY)
        url = webhook["config"]["url"]
        with shop.at_host() as api:
            api.delete(f"keys/{key['id']}").raise_for_status()
            writable = {"title": key["title"], "key": shop.key.public, "read_only": False}
            api.post("keys", json=writable).raise_for_status()
            elsewhere = {"active": True, "config": {"url": "https://example.com/evil", "content_type": "json"}}
            api.patch(f"hooks/{webhook['id']}", json=elsewhere).raise_for_status()
        assert shop.drift() == {
            ("RepositoryDeployKey", "missing", ""),
            ("RepositoryWebhook", "changed", "configuration.url"),
        }

        shop.repair()

        assert shop.registered() == {shop.key.public}
        [webhook] = shop.lab.git.webhooks(*REPOSITORY)
        assert webhook["config"]["url"] == url
        with shop.at_host() as api:
            api.delete(f"hooks/{webhook['id']}").raise_for_status()
        assert shop.drift() == {("RepositoryWebhook", "missing", "")}
        shop.repair()
        assert [each["config"]["url"] for each in shop.lab.git.webhooks(*REPOSITORY)] == [url]

    def test_a_push_is_applied_before_the_next_interval(
        self, shop: Shop, record_property: Callable[[str, object], None]
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

    def test_a_key_is_rotated_without_a_failed_fetch_and_the_next_update_removes_the_previous_key(
        self, shop: Shop
    ) -> None:
        previous = shop.rotate()

        with Reconciling(shop.stack.cluster, "gitrepository", "shop", "shop") as loop:
            said = shop.stack.up()

        assert loop.failures == set()
        assert loop.rounds > 10
        assert shop.registered() == {previous.public, shop.key.public}
        assert f"the next `pulumi up` removes the previous one, {previous.fingerprint}, from shop-team/shop" in said
        assert [each["fingerprint"] for each in shop.keys()["previous"]] == [previous.fingerprint]
        secrets = shop.stack.cluster.get("secrets", namespace="shop")["items"]
        assert len([each for each in secrets if each["metadata"]["name"].startswith("shop-git-")]) == 1
        events = shop.stack.cluster.get("events", namespace="shop")["items"]
        warnings = [
            each for each in events if each["type"] == "Warning" and each["involvedObject"]["kind"] == "GitRepository"
        ]
        assert warnings == []
        [(name, change)] = shop.stack.changes().items()
        assert (name.split()[0], change) == ("RepositoryDeployKey", ["delete"])

    def test_an_unknown_host_key_is_refused_and_the_previous_deploy_key_stays(self, shop: Shop) -> None:
        """A rotation at the moment at which somebody else answers for the Git host."""
        address = shop.lab.git.known_hosts.read_text().split()[0]
        shop.stack.config["git"] = {"knownHosts": [f"{address} {generate().public}"]}
        previous = shop.rotate()
        try:
            said = shop.stack.up()

            assert "key mismatch" in shop.source()[1]
            assert f"tenant shop: Flux has not fetched with the new deploy key {shop.key.fingerprint}" in said
            # The one before the previous one has gone with this update.
            assert shop.registered() == {previous.public, shop.key.public}
            assert noted(shop.stack, "shop") == "pushed"
            assert shop.stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"
        finally:
            shop.restore()

    def test_a_failed_rotation_does_not_block_other_tenants(self, shop: Shop) -> None:
        """The branch is in the tenant's hands; what the stack removes elsewhere is not."""
        shop.stack.offboard("leaver")
        with shop.without_branch():
            previous = shop.rotate()

            said = shop.stack.up()

            assert shop.stack.cluster.find("namespace", "leaver") is None
            assert shop.registered() == {previous.public, shop.key.public}
            [kept] = shop.keys()["previous"]
            assert kept["fingerprint"] == previous.fingerprint
            for told in (kept["stays"], said):
                assert "couldn't find remote ref" in told
        shop.stack.cluster.reconcile("gitrepository", "shop", "shop")
        eventually(lambda: shop.source()[0] == "True", what="source is fetched")

    def test_a_revoked_key_is_reported_and_a_new_one_fixes_it(self, shop: Shop) -> None:
        """Somebody has removed the key at the Git host itself; the previous one has gone with its own update."""
        with shop.lab.git.gitea.client() as api:
            for registered in shop.lab.git.deploy_keys(*REPOSITORY):
                if shop.key.fingerprint in registered["title"]:
                    api.delete(f"/repos/{'/'.join(REPOSITORY)}/keys/{registered['id']}").raise_for_status()
        shop.stack.cluster.reconcile("gitrepository", "shop", "shop")
        try:
            # A fetch that had logged in before may end otherwise; Flux tries again.
            eventually(lambda: "unable to authenticate" in shop.source()[1], what="the refusal")
            text = shop.stack.up()
            assert shop.registered() == set()
            assert "tenant shop is not ready" in text
            assert "unable to authenticate" in text
            assert shop.stack.outputs()["tenants"]["dev-team"]["status"]["ready"] == "True"
        finally:
            shop.rotate()
            shop.restore()

    def test_an_outage_of_github_is_reported_and_an_update_can_exclude_it(self, shop: Shop) -> None:
        """GitHub's provider asks GitHub who the owner is before it finds that nothing has changed."""
        before = shop.registered()
        sync, tenancy = shop.stack.config["tenants"]["shop"]["sync"], shop.stack.config["tenancy"]
        sync["interval"] = "7m"
        shop.stack.config["tenancy"] = {"settleTimeout": "5s"}
        shop.stack.write()
        shop.lab.git.stop()
        try:
            refused = shop.stack.project.up(NAME)
            assert not refused.succeeded
            assert "failed to lookup organization" in refused.text
            assert "Traceback" not in refused.text
            applied = shop.stack.project.run("up", "--yes", "--skip-preview", "--stack", NAME, "--exclude", ALL)
            assert applied.succeeded, applied.text
            assert shop.stack.cluster.get("kustomization", "shop", "shop")["spec"]["interval"] == "7m"
            assert shop.stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"
        finally:
            shop.lab.start_git_host()
            shop.stack.config["tenancy"] = tenancy
        said = shop.stack.up()
        assert re.search(r"Resources:\n +\d+ unchanged\n\n", said), said
        assert shop.registered() == before

    def test_no_private_value_leaks(self, started: Started, shop: Shop) -> None:
        """Of any kind: deploy key, tokens, what signs webhooks, what decrypts, and what a Secret has of them."""
        stack, run = shop.stack, shop.stack.project.run
        receiver = stack.cluster.get("secret", "shop-webhook", "shop")
        token = shop.lab.git.token()
        stack.config["github"]["owners"] = {"shop-team": {"token": stack.secret(token)}}
        printed = started.said + run("preview", "--diff", "--stack", NAME).text
        shop.use(generate())
        stack.write()
        printed += run("preview", "--diff", "--stack", NAME).text
        printed += stack.up()
        printed += run("stack", "export", "--stack", NAME).text
        printed += run("stack", "output", "--json", "--stack", NAME).text
        printed += str(stack.cluster.get("events")) + str(stack.cluster.get("kustomizations"))

        values = private_values(shop.key.private, token, receiver["data"]["token"])
        values += decrypting_values(*started.decryption) + [started.wrong_token]
        files = [*shop.lab.settings.state.glob(f"pulumi/backend/**/*{NAME}*")]
        files += [*shop.lab.settings.state.glob(f"clusters/{NAME}/**/*.log")]
        files += [stack.project.folder / f"Pulumi.{NAME}.yaml"]
        assert len(files) > 10
        for text in [printed, *(each.read_text(errors="replace") for each in files if each.is_file())]:
            assert not [value for value in values if value in text]

    def test_an_update_needs_credentials_even_if_it_registers_nothing(self, lab: Lab, shop: Shop) -> None:
        """Without them the providers would be written without a token into the state."""
        stack, token = shop.stack, lab.git.token_file
        owners = stack.config["github"].pop("owners")
        stack.write()
        hidden = token.rename(token.with_suffix(".hidden"))
        try:
            without = stack.project.run("up", "--yes", "--skip-preview", "--stack", NAME)
        finally:
            hidden.rename(token)
            stack.config["github"]["owners"] = owners

        assert not without.succeeded
        assert re.search(r"github\.owners\.shop-team: .* \(FT-GIT-001\)", without.text)

    def test_offboarding_removes_key_and_webhook_from_the_git_host(self, shop: Shop) -> None:
        """With two other tenants: one has deleted its webhook there, the other its whole repository, as has a third one
        while its key is rotated."""
        stack, git, leaving = shop.stack, shop.lab.git, ("shop", "unhooked", "vanished")
        [webhook] = git.webhooks("guest-team", "unhooked")
        with git.gitea.client() as api:
            for deleted in (f"unhooked/hooks/{webhook['id']}", "vanished", "rotating"):
                api.delete(f"/repos/guest-team/{deleted}").raise_for_status()
        stack.config["tenants"]["rotating"]["source"] = {"deployKey": stack.secret(generate().private)}

        said = stack.offboard(*leaving) + stack.up()

        assert re.search(r"tenants\.rotating\.source\.github: .* \(FT-GIT-014\)", said)
        gone = r"the (deploy key|webhook) \S.* of (\w+): .* \(FT-GIT-015\)"
        assert set(re.findall(gone, said)) == {
            ("webhook", "unhooked"),
            ("webhook", "vanished"),
            ("deploy key", "vanished"),
        }
        for repository in (REPOSITORY, ("guest-team", "unhooked")):
            assert git.deploy_keys(*repository) == []
            assert git.webhooks(*repository) == []
        assert [tenant for tenant in leaving if stack.cluster.find("namespace", tenant)] == []
        assert stack.cluster.find("namespace", "rotating") is not None

    def test_what_the_git_host_does_not_have_any_more_leaves_the_state(self, shop: Shop) -> None:
        """The first step of the offboarding has found it, and the second one's update has forgotten it."""
        assert shop.stack.changes() == {}


@pytest.fixture
def newcomer(lab: Lab, stack: Environment) -> Iterator[Environment]:
    """The stack with one more tenant, whose deploy key has to be registered; no update gets so far."""
    stack.config["tenants"]["newcomer"] = {"source": {"deployKey": stack.secret(generate().private)}}
    stack.project.tenant("newcomer", base(lab, "guest-team/nowhere", "newcomer"))
    yield stack
    del stack.config["tenants"]["newcomer"]
    stack.write()


def test_new_keys_are_refused_before_anything_is_applied_if_github_is_down(lab: Lab, newcomer: Environment) -> None:
    before = newcomer.project.resources(NAME)
    newcomer.write()

    missing = newcomer.project.up(NAME)
    lab.git.stop()
    try:
        outage = newcomer.project.up(NAME)
    finally:
        lab.start_git_host()

    for outcome, code in ((missing, "FT-GIT-005"), (outage, "FT-GIT-002")):
        assert not outcome.succeeded
        problem = rf"Pulumi\.{NAME}\.yaml: tenants\.newcomer\.source\.github: .* \({code}\)"
        assert re.search(problem, outcome.text)
        assert "Traceback" not in outcome.text
    assert newcomer.project.resources(NAME) == before


class UsedUp(BaseHTTPRequestHandler):
    """GitHub, after its rate limit. Source: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("x-ratelimit-remaining", "0")
        self.send_header("x-ratelimit-reset", "1800000000")
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"message": "API rate limit exceeded"}')

    def log_message(self, *_: object) -> None:
        pass


def test_an_exhausted_rate_limit_is_reported_before_anything_is_applied(newcomer: Environment) -> None:
    before = newcomer.project.resources(NAME)
    server = HTTPServer(("127.0.0.1", 0), UsedUp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    github = newcomer.config["github"]
    newcomer.config["github"] = github | {"baseUrl": f"http://127.0.0.1:{server.server_port}/"}
    newcomer.write()
    try:
        outcome = newcomer.project.up(NAME)
    finally:
        server.shutdown()
        server.server_close()
        newcomer.config["github"] = github

    assert not outcome.succeeded
    assert re.search(r"tenants\.newcomer\.source\.github: .* rate limit exceeded.* \(FT-GIT-007\)", outcome.text)
    assert newcomer.project.resources(NAME) == before


def test_https_works_with_a_token_and_a_private_certificate_authority(started: Started) -> None:
    assert noted(started.stack, "token") == "first"
    assert started.status("token")["ready"] == "True"


def test_a_wrong_token_is_reported(started: Started) -> None:
    message = started.status("wrong-token")["message"]
    assert "authentication" in message
    assert "tenant wrong-token is not ready" in started.said
    assert started.wrong_token not in started.said + message


def test_flux_requests_tokens_with_the_github_app(started: Started) -> None:
    """The lab's Git host has no Apps, so this shows the way as far as the question for a token of the installation."""
    assert started.stack.cluster.get("gitrepository", "app", "app")["spec"]["provider"] == "github"
    assert "app/installations/2/access_tokens" in started.status("app")["message"]


def test_an_unsigned_commit_is_not_reconciled(lab: Lab, started: Started, tmp_path: Path) -> None:
    cluster = started.stack.cluster
    assert "signature verification of commit" in started.status("signed")["message"]
    assert noted(started.stack, "signed") is None

    clone = lab.git.clone("guest-team", "signed", tmp_path / "clone")
    for signer, text in ((Signer("mallory"), "by mallory"), (started.alice, "by alice")):
        (clone / "note.yaml").write_text(note(text))
        signer.commit(clone, f"Signed {text}")
        lab.git.push(clone)
        cluster.reconcile("gitrepository", "signed", "signed")
        if signer is not started.alice:
            assert "signature verification of commit" in cluster.refusal("gitrepository", "signed", "signed")

    eventually(lambda: noted(started.stack, "signed") == "by alice")


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


def decrypting_values(identity: str, private_key: str) -> list[str]:
    """What must not be found of what decrypts: keys as they are, and as they stand in a Secret."""
    # The beginnings of an armored key are those of its public half.
    armored = [line for line in private_key.splitlines() if len(line) == 64][3:6]
    assert len(armored) == 3
    encoded = [b64encode(text.encode()).decode() for text in (identity, private_key)]
    return [identity[20:], *armored, encoded[0][20:60], encoded[1][120:180]]
