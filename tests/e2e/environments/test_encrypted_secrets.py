"""Secrets in Git: only a tenant's own sync in one environment decrypts them.

One update brings a tenant for each case; that it was all said without a private key in it is looked for where all other
secrets are, in tests/e2e/test_private_repositories.py.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.components.sync.decryption import Environment as Folder
from flux_tenancy.components.sync.decryption import sops_config as sops_rules
from tests.support import post_quantum_key
from tests.support.environment import Environment
from tests.support.lab import Lab, Reconciling, eventually
from tests.support.project import flux_tenancy
from tests.support.sops import changed, encrypt, public_ring, sops

OWNER = "secret-teams"
PLATFORM_REPOSITORY = ("platform", "fleet")
STAGING, PRODUCTION = "staging/password.yaml", "production/password.yaml"


def secret(password: str, namespace: str = "") -> str:
    place = f"namespace: {namespace}, " if namespace else ""
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{{place}name: password}}\nstringData: {{password: {password}}}\n"


@dataclass
class Tenant:
    """A tenant with a repository that everybody may read, and a clone of it in which its people work."""

    lab: Lab
    name: str
    folder: Path
    stacks: tuple[Environment, ...]
    clone: Path = field(init=False)

    def __post_init__(self) -> None:
        self.clone = self.folder / self.name
        note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
        url = self.lab.repository(OWNER, self.name, {"staging/note.yaml": note}, self.folder / "initial")
        self.lab.git.clone(OWNER, self.name, self.clone)
        source = {"url": url, "interval": "1h"}
        base = {"namespaces": [{"name": self.name}], "source": source, "sync": {"targetNamespace": self.name}}
        for stack in self.stacks:
            stack.project.tenant(self.name, base)
            stack.config["tenants"][self.name] = {"sync": {"path": f"./{stack.cluster.name}", "interval": "1h"}}

    def decrypt_with(self, *identities: age_keys.AgeIdentity) -> None:
        """Write identities into the stack file of staging, as somebody would by hand."""
        [stack] = self.stacks
        text = "".join(f"{identity.private}\n" for identity in identities)
        recipients = [identity.recipient for identity in identities]
        keys = {"age": {"identities": stack.secret(text), "recipients": recipients}}
        stack.config["tenants"][self.name]["sync"]["decryption"] = keys

    def commit(self, files: dict[str, str]) -> str:
        return self.lab.git.commit_files(OWNER, self.name, files, "Change secrets")

    def push(self, files: dict[str, str], stack: Environment) -> None:
        """Push files, and make the environment fetch and apply them."""
        commit = self.commit(files)
        stack.cluster.reconcile("gitrepository", self.name, self.name)
        eventually(lambda: self._attempted(stack).endswith(commit), what=f"{commit} being applied")

    def _attempted(self, stack: Environment) -> str:
        """The revision that was applied or refused last."""
        revision: str = self.sync(stack)["status"].get("lastAttemptedRevision", "")
        return revision

    def encrypt(self, password: str, recipient: str) -> str:
        """The tenant's password of staging, encrypted for one recipient of age."""
        rules = sops_rules([Folder("./staging", {"age": (recipient,)})])
        (self.clone / ".sops.yaml").write_text(rules)
        return encrypt(self.clone, STAGING, secret(password))

    def password(self, stack: Environment) -> str | None:
        """What the cluster has of the tenant's password."""
        found = stack.cluster.find("secret", "password", self.name)
        return base64.b64decode(found["data"]["password"]).decode() if found else None

    def sync(self, stack: Environment) -> dict[str, Any]:
        return stack.cluster.get("kustomization", self.name, self.name)

    def private_keys(self, stack: Environment, path: str) -> str:
        """The keys that the stack file has for it, in plain text."""
        path = f"flux-tenancy:tenants.{self.name}.sync.decryption.{path}"
        return stack.project.run("config", "get", "--path", path, "--stack", stack.cluster.name).text

    def identities(self, stack: Environment) -> list[age_keys.AgeIdentity]:
        """The identities that the stack has for it, newest first."""
        return list(age_keys.read_identities(self.private_keys(stack, "age.identities")))

    def ready(self, stack: Environment) -> str:
        return stack.cluster.ready("kustomization", self.name, self.name)[0]

    def refusal(self, stack: Environment, saying: str) -> str:
        return stack.cluster.refusal("kustomization", self.name, self.name, saying)


class Commands:
    """`flux-tenancy key sops` and `sops-config` on the test's own project.

    Attributes:
        project: its folder.
    """

    def __init__(self, project: Path) -> None:
        self.project = project

    def key(self, stack: Environment, *arguments: str) -> str:
        """Run the first; the environment's `config` then has what the command has written."""
        stack.write()
        printed = self.run("sops", "--stack", stack.cluster.name, *arguments)
        written = yaml.safe_load((stack.project.folder / f"Pulumi.{stack.cluster.name}.yaml").read_text())["config"]
        stack.config.update({section: written[f"flux-tenancy:{section}"] for section in ("flux", "tenants")})
        return printed

    def rules(self, *arguments: str) -> str:
        return self.run("sops-config", *arguments)

    def run(self, *arguments: str) -> str:
        done = flux_tenancy(self.project, "key", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def commands(lab: Lab, staging_stack: Environment) -> Iterator[Commands]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in lab.pulumi.environment().items():
            patch.setenv(name, value)
        patch.setenv("PATH", f"{lab.pulumi.bin}{os.pathsep}{os.environ['PATH']}")
        yield Commands(staging_stack.project.folder)


@dataclass
class Teams:
    """The tenants, named after what is special about their secrets.

    Attributes:
        sealed: the file of the tenant whose file is changed later, as it was encrypted.
        broken_identity: what decrypts the file that has the MAC of another.
        said: what Pulumi printed when they came to staging.
    """

    pay: Tenant
    foreign: Tenant
    keyless: Tenant
    hybrid: Tenant
    openpgp: Tenant
    lost: Tenant
    changed: Tenant
    broken_mac: Tenant
    sealed: str = ""
    broken_identity: str = ""
    said: str = ""


@pytest.fixture(scope="module")
def teams(
    lab: Lab,
    staging_stack: Environment,
    production_stack: Environment,
    commands: Commands,
    tmp_path_factory: pytest.TempPathFactory,
) -> Teams:
    """One tenant in both environments, the others in staging, and the platform's own secrets."""
    folder = tmp_path_factory.mktemp("teams")
    both = (staging_stack, production_stack)

    def in_staging(name: str) -> Tenant:
        return Tenant(lab, name, folder, (staging_stack,))

    teams = Teams(
        pay=Tenant(lab, "pay", folder, both),
        foreign=in_staging("foreign"),
        keyless=in_staging("keyless"),
        hybrid=in_staging("hybrid"),
        openpgp=in_staging("openpgp"),
        lost=in_staging("lost"),
        changed=in_staging("changed"),
        broken_mac=in_staging("broken-mac"),
    )
    # With keys and rules that the commands make.
    for stack in both:
        commands.key(stack, "pay")
    commands.key(staging_stack, "openpgp", "--openpgp")
    commands.key(staging_stack, "--platform")
    commit_with_rules_of_the_commands(teams, staging_stack, commands, folder)
    commit_platform_secret(lab, commands, folder)
    # With keys that somebody brings.
    for tenant in (teams.foreign, teams.lost):
        tenant.decrypt_with(age_keys.generate())
    for tenant in (teams.foreign, teams.keyless):
        tenant.commit({STAGING: (teams.pay.clone / STAGING).read_text()})
    commit_hybrid(teams)
    commit_for_tampering(teams)
    with ThreadPoolExecutor() as pool:
        teams.said, _ = pool.map(Environment.up, both)
    return teams


def commit_with_rules_of_the_commands(teams: Teams, stack: Environment, commands: Commands, folder: Path) -> None:
    (teams.pay.clone / ".sops.yaml").write_text(commands.rules("pay"))
    files = {STAGING: secret("of-staging"), PRODUCTION: secret("of-production")}
    teams.pay.commit({path: encrypt(teams.pay.clone, path, text) for path, text in files.items()})
    [key] = openpgp_keys.read_private_keys(teams.openpgp.private_keys(stack, "openpgp.privateKeys"))
    (teams.openpgp.clone / ".sops.yaml").write_text(commands.rules("openpgp"))
    ring = public_ring(folder / "gnupg", key.public)
    teams.openpgp.commit({STAGING: encrypt(teams.openpgp.clone, STAGING, secret("by-openpgp"), ring)})


def commit_platform_secret(lab: Lab, commands: Commands, folder: Path) -> None:
    clone = lab.git.clone(*PLATFORM_REPOSITORY, folder / "platform")
    (clone / ".sops.yaml").write_text(commands.rules("--platform"))
    path, index = "clusters/staging/password.yaml", "clusters/staging/kustomization.yaml"
    sealed = encrypt(clone, path, secret("of-the-platform", "flux-system"))
    resources = yaml.safe_load((clone / index).read_text())
    resources["resources"].append(Path(path).name)
    lab.git.commit_files(*PLATFORM_REPOSITORY, {path: sealed, index: yaml.safe_dump(resources)}, "Add a secret")


def commit_hybrid(teams: Teams) -> None:
    hybrid = age_keys.AgeIdentity(post_quantum_key.IDENTITY, post_quantum_key.RECIPIENT)
    teams.hybrid.commit({STAGING: teams.hybrid.encrypt("for-later", hybrid.recipient)})
    teams.hybrid.decrypt_with(hybrid)


def commit_for_tampering(teams: Teams) -> None:
    """A file that is whole, and one that has the MAC of another."""
    whole, broken = age_keys.generate(), age_keys.generate()
    teams.changed.decrypt_with(whole)
    teams.sealed = teams.changed.encrypt("whole", whole.recipient)
    teams.changed.commit({STAGING: teams.sealed})
    teams.broken_mac.decrypt_with(broken)
    sealed = teams.broken_mac.encrypt("whole", broken.recipient)
    other = yaml.safe_load(teams.broken_mac.encrypt("other", broken.recipient))["sops"]["mac"]
    (teams.broken_mac.clone / STAGING).write_text(changed(sealed, lambda document: document["sops"].update(mac=other)))
    teams.broken_mac.commit({STAGING: (teams.broken_mac.clone / STAGING).read_text()})
    teams.broken_identity = broken.private


def unharmed(teams: Teams, stack: Environment) -> bool:
    """Whether the other tenants are unchanged."""
    return teams.pay.ready(stack) == "True" and stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"


def test_each_environment_decrypts_its_own_secrets(
    teams: Teams, staging_stack: Environment, production_stack: Environment
) -> None:
    assert (teams.pay.password(staging_stack) or "").startswith("of-staging")
    assert teams.pay.password(production_stack) == "of-production"


def test_the_outputs_list_the_recipients(teams: Teams, staging_stack: Environment, commands: Commands) -> None:
    told = staging_stack.outputs()["tenants"]["pay"]["sops"]

    listed = staging_stack.config["tenants"]["pay"]["sync"]["decryption"]["age"]["recipients"]
    assert told["age"] == listed
    own, merged = (yaml.safe_load(text)["creation_rules"] for text in (told["config"], commands.rules("pay")))
    assert own == [rule for rule in merged if "staging" in rule["path_regex"]]


def test_an_unchanged_stack_previews_no_change(teams: Teams, staging_stack: Environment) -> None:
    assert staging_stack.changes() == {}


def test_a_secret_for_another_environment_is_refused(teams: Teams, staging_stack: Environment) -> None:
    pay = teams.pay
    good, foreign = ((pay.clone / path).read_text() for path in (STAGING, PRODUCTION))
    before = pay.password(staging_stack)
    try:
        pay.push({STAGING: foreign}, staging_stack)

        pay.refusal(staging_stack, saying="cannot get sops data key")
        assert pay.password(staging_stack) == before
    finally:
        pay.push({STAGING: good}, staging_stack)
    eventually(lambda: pay.ready(staging_stack) == "True")


def warnings(stack: Environment, namespace: str) -> list[str]:
    """The messages of all warnings in a namespace."""
    events = stack.cluster.get("events", namespace=namespace)["items"]
    return [each["message"] for each in events if each["type"] == "Warning"]


def test_a_tenant_cannot_decrypt_another_tenants_secret_and_learns_why(
    teams: Teams, staging_stack: Environment
) -> None:
    message = teams.foreign.refusal(staging_stack, saying="cannot get sops data key")
    assert "decryption failed for" in message
    eventually(lambda: any("cannot get sops data key" in warning for warning in warnings(staging_stack, "foreign")))
    assert "tenant foreign is not ready" in teams.said
    assert teams.foreign.password(staging_stack) is None
    assert unharmed(teams, staging_stack)


def test_without_a_key_encrypted_files_are_not_applied(teams: Teams, staging_stack: Environment) -> None:
    teams.keyless.refusal(staging_stack, saying="cannot get sops data key")
    assert teams.keyless.password(staging_stack) is None
    assert unharmed(teams, staging_stack)


def test_a_hybrid_post_quantum_identity_decrypts(teams: Teams, staging_stack: Environment) -> None:
    eventually(lambda: teams.hybrid.password(staging_stack) == "for-later")
    assert staging_stack.outputs()["tenants"]["hybrid"]["sops"]["age"] == [post_quantum_key.RECIPIENT]


def test_an_openpgp_key_decrypts(teams: Teams, staging_stack: Environment) -> None:
    eventually(lambda: teams.openpgp.password(staging_stack) == "by-openpgp")
    [key] = openpgp_keys.read_private_keys(teams.openpgp.private_keys(staging_stack, "openpgp.privateKeys"))
    assert staging_stack.outputs()["tenants"]["openpgp"]["sops"]["openpgp"] == {key.fingerprint: key.public}
    assert teams.openpgp.ready(staging_stack) == "True"


def test_a_deleted_key_affects_only_its_tenant(teams: Teams, staging_stack: Environment) -> None:
    name = teams.lost.sync(staging_stack)["spec"]["decryption"]["secretRef"]["name"]

    staging_stack.cluster.kubectl("delete", "secret", name, "-n", "lost")
    staging_stack.cluster.reconcile("kustomization", "lost", "lost")

    teams.lost.refusal(staging_stack, saying=f'secrets "{name}" not found')
    assert unharmed(teams, staging_stack)


def test_a_changed_file_is_refused(teams: Teams, staging_stack: Environment) -> None:
    """A value that was changed, or that was moved to where it does not belong."""
    tenant = teams.changed
    eventually(lambda: tenant.password(staging_stack) == "whole")

    def move(document: dict[str, Any]) -> None:
        document["stringData"]["user"] = document["stringData"].pop("password")

    def change(document: dict[str, Any]) -> None:
        value = document["stringData"]["password"]
        document["stringData"]["password"] = value.replace("data:", "data:A", 1)

    for each in (move, change):
        tenant.push({STAGING: changed(teams.sealed, each)}, staging_stack)
        tenant.refusal(staging_stack, saying="error decrypting sops tree")
        assert tenant.password(staging_stack) == "whole"
        tenant.push({STAGING: teams.sealed}, staging_stack)
        eventually(lambda: tenant.ready(staging_stack) == "True")
    assert unharmed(teams, staging_stack)


def test_a_broken_mac_is_refused_by_sops_but_not_by_flux(teams: Teams, staging_stack: Environment) -> None:
    """Each value is authenticated by itself. That none is missing, only the MAC tells, and Flux does not ask it:
    it decrypts what Kustomize has built, to which labels were added meanwhile (`checkSopsMac` of its decryptor).
    """
    refused = sops(teams.broken_mac.clone, "decrypt", STAGING, identity=teams.broken_identity)

    assert refused.returncode != 0
    assert "MAC" in refused.stderr
    eventually(lambda: teams.broken_mac.ready(staging_stack) == "True")
    assert teams.broken_mac.password(staging_stack) == "whole"


def test_keys_are_rotated_and_withdrawn_without_a_failed_reconciliation(
    teams: Teams, staging_stack: Environment, commands: Commands
) -> None:
    pay = teams.pay
    [before] = pay.identities(staging_stack)
    with Reconciling(staging_stack.cluster, "kustomization", pay.name, pay.name) as loop:
        printed = commands.key(staging_stack, "pay", "--repo", str(pay.clone))
        assert f"    sops updatekeys --yes {STAGING}\n" in printed
        assert PRODUCTION not in printed
        staging_stack.up()
        new, kept = pay.identities(staging_stack)
        assert (kept, new.recipient in printed) == (before, True)

        (pay.clone / ".sops.yaml").write_text(commands.rules("pay"))
        done = sops(pay.clone, "updatekeys", "--yes", STAGING, identity=before.private)
        assert done.returncode == 0, done.stderr
        pay.push({STAGING: (pay.clone / STAGING).read_text()}, staging_stack)

        withdraw = ["--withdraw", before.recipient, "--repo", str(pay.clone)]
        printed += (withdrawn := commands.key(staging_stack, "pay", *withdraw))
        assert f"    sops rotate --in-place --rm-age {before.recipient} {STAGING}\n" in withdrawn
        staging_stack.up()
        (pay.clone / ".sops.yaml").write_text(commands.rules("pay"))
        sealed = encrypt(pay.clone, STAGING, secret("of-staging-anew"))
        pay.push({STAGING: sealed}, staging_stack)
        eventually(lambda: pay.password(staging_stack) == "of-staging-anew")

    assert loop.failures == set()
    assert loop.rounds > 10
    assert pay.identities(staging_stack) == [new]
    assert before.recipient not in sealed
    assert not [each for each in (before, new) if each.private.strip() in printed]
    secrets = staging_stack.cluster.get("secrets", namespace="pay")["items"]
    assert len([each for each in secrets if each["metadata"]["name"].startswith("pay-sops-")]) == 1


def test_a_key_is_not_withdrawn_while_a_file_needs_it(
    teams: Teams, staging_stack: Environment, commands: Commands
) -> None:
    pay = teams.pay
    [needed] = pay.identities(staging_stack)
    commands.key(staging_stack, "pay")
    withdraw = ("--withdraw", needed.recipient, "--repo", str(pay.clone))
    done = flux_tenancy(staging_stack.project.folder, "key", "sops", "pay", "--stack", "staging", *withdraw)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"decrypts {STAGING} (FT-OPS-034)\n" in done.stderr
    newest = pay.identities(staging_stack)[0]
    commands.key(staging_stack, "pay", "--withdraw", newest.recipient)


def test_the_platforms_secrets_are_decrypted_with_its_own_key(teams: Teams, staging_stack: Environment) -> None:
    staging_stack.cluster.reconcile("gitrepository", "flux-system", "flux-system")

    found = eventually(lambda: staging_stack.cluster.find("secret", "password", "flux-system"))

    assert base64.b64decode(found["data"]["password"]) == b"of-the-platform"
    assert unharmed(teams, staging_stack)
