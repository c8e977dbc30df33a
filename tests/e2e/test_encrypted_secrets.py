"""Secrets in Git: each tenant's are decrypted by its own sync, in one environment, and by nobody else."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from components.sops import age_keys
from components.sops.sops_config import Environment as Folder
from components.sops.sops_config import sops_config as sops_rules
from operations import sops_config, sops_key
from tests.e2e.conftest import Environment
from tests.support.lab import Lab, Reconciling, eventually
from tests.support.sops import changed, encrypt, for_post_quantum, public_ring, sops

PAY, MAIL = ("pay-team", "pay"), ("mail-team", "mail")
STAGING, PRODUCTION = "staging/password.yaml", "production/password.yaml"


def secret(password: str) -> str:
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: password}}\nstringData: {{password: {password}}}\n"


def note(text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: note}}\ndata: {{text: {text}}}\n"


def in_flux_system(manifest: str) -> str:
    return manifest.replace("{name:", "{namespace: flux-system, name:")


@dataclass
class Tenant:
    """A tenant with a repository that everybody may read, and a clone of it in which its people work."""

    lab: Lab
    repository: tuple[str, str]
    clone: Path
    stacks: tuple[Environment, ...]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.repository[1]
        url = self.lab.repository(*self.repository, {"staging/note.yaml": note("first")}, self.clone.parent)
        self.lab.git.clone(*self.repository, self.clone)
        source = {"url": url, "interval": "1h"}
        base = {"namespaces": [{"name": self.name}], "source": source, "sync": {"targetNamespace": self.name}}
        for stack in self.stacks:
            stack.project.tenant(self.name, base)
            stack.config["tenants"][self.name] = {"sync": {"path": f"./{stack.cluster.name}", "interval": "1h"}}
            stack.write()

    def decrypt_with(self, decryption: dict[str, Any] | None, stack: Environment) -> None:
        """Write what decrypts in an environment; nothing does with None."""
        sync = stack.config["tenants"][self.name]["sync"]
        sync.pop("decryption", None)
        if decryption is not None:
            sync["decryption"] = decryption
        stack.write()

    def push(self, files: dict[str, str], *stacks: Environment) -> None:
        """Push files, and make these environments fetch and apply them."""
        commit = self.lab.git.commit_files(*self.repository, files, "Change secrets")
        for stack in stacks:
            stack.cluster.reconcile("gitrepository", self.name, self.name)
            eventually(lambda stack=stack: self._attempted(stack).endswith(commit), what=f"{commit} being applied")

    def _attempted(self, stack: Environment) -> str:
        """The revision that was applied or refused last."""
        return self.sync(stack)["status"].get("lastAttemptedRevision", "")

    def encrypt(self, password: str, recipient: str) -> str:
        """The tenant's password of staging, encrypted for one recipient of age."""
        rules = sops_rules([Folder("./staging", {"age": (recipient,)})])
        (self.clone / ".sops.yaml").write_text(rules)
        return encrypt(self.clone, STAGING, secret(password))

    def password(self, stack: Environment) -> str | None:
        """What the cluster has of the tenant's password."""
        found = stack.cluster.get("secret", "password", self.name)
        return base64.b64decode(found["data"]["password"]).decode() if found else None

    def sync(self, stack: Environment) -> dict[str, Any]:
        return stack.cluster.get("kustomization", self.name, self.name)

    def identities(self, stack: Environment) -> list[age_keys.AgeIdentity]:
        """The identities that the stack has for it, newest first."""
        path = f"flux-tenancy:tenants.{self.name}.sync.decryption.age.identities"
        text = stack.project.run("config", "get", "--path", path, "--stack", stack.cluster.name).text
        return list(age_keys.read_identities(text))

    def ready(self, stack: Environment) -> str:
        return stack.cluster.ready("kustomization", self.name, self.name)[0]

    def refusal(self, stack: Environment, saying: str) -> str:
        return stack.cluster.refusal("kustomization", self.name, self.name, saying)


def age(stack: Environment, *identities: age_keys.AgeIdentity) -> dict[str, Any]:
    """`decryption` with these identities, as somebody would write it by hand."""
    text = "".join(f"{identity.private}\n" for identity in identities)
    return {"age": {"identities": stack.secret(text)}}


class Commands:
    """`make sops-key` and `make sops-config` on the test's own project."""

    def key(self, stack: Environment, *arguments: str) -> str:
        """Run the first; the environment's `config` then has what the command has written."""
        stack.write()
        printed = self._run(sops_key.app, "--stack", stack.cluster.name, *arguments)
        written = yaml.safe_load((stack.project.folder / f"Pulumi.{stack.cluster.name}.yaml").read_text())["config"]
        stack.config.update({section: written[f"flux-tenancy:{section}"] for section in ("flux", "tenants")})
        return printed

    def rules(self, *arguments: str) -> str:
        return self._run(sops_config.app, *arguments)

    @staticmethod
    def _run(app: Any, *arguments: str) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        return done.stdout


@pytest.fixture(scope="module")
def commands(lab: Lab, staging_stack: Environment) -> Iterator[Commands]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in lab.pulumi.environment().items():
            patch.setenv(name, value)
        patch.setenv("PATH", f"{lab.pulumi.bin}{os.pathsep}{os.environ['PATH']}")
        for module in (sops_key, sops_config):
            patch.setattr(module, "PROJECT", staging_stack.project.folder)
        yield Commands()


@pytest.fixture(scope="module")
def pay(
    lab: Lab,
    staging_stack: Environment,
    production_stack: Environment,
    commands: Commands,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Tenant]:
    """A tenant in both environments, with keys and rules made by the commands, and one password for each."""
    stacks = (staging_stack, production_stack)
    pay = Tenant(lab, PAY, tmp_path_factory.mktemp("pay") / "clone", stacks)
    for stack in stacks:
        commands.key(stack, "pay")
    (pay.clone / ".sops.yaml").write_text(commands.rules("pay"))
    files = {STAGING: secret("of-staging"), PRODUCTION: secret("of-production")}
    pay.push({path: encrypt(pay.clone, path, text) for path, text in files.items()})
    for stack in stacks:
        stack.up()
    yield pay
    for stack in stacks:
        stack.config["tenants"].pop("pay")
        stack.up()


@pytest.fixture(scope="module")
def mail(
    lab: Lab, staging_stack: Environment, pay: Tenant, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tenant]:
    """Another tenant beside it, which has nothing encrypted yet."""
    mail = Tenant(lab, MAIL, tmp_path_factory.mktemp("mail") / "clone", (staging_stack,))
    staging_stack.up()
    yield mail
    staging_stack.config["tenants"].pop("mail")
    staging_stack.up()


def unharmed(pay: Tenant, stack: Environment) -> bool:
    """Whether the tenants beside are as they were."""
    return pay.ready(stack) == "True" and stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"


def test_each_environment_decrypts_what_is_encrypted_for_it(
    pay: Tenant, staging_stack: Environment, production_stack: Environment
) -> None:
    assert pay.password(staging_stack) == "of-staging"
    assert pay.password(production_stack) == "of-production"


def test_the_outputs_say_whom_to_encrypt_for(pay: Tenant, staging_stack: Environment, commands: Commands) -> None:
    told = staging_stack.outputs()["tenants"]["pay"]["sops"]

    listed = staging_stack.config["tenants"]["pay"]["sync"]["decryption"]["age"]["recipients"]
    assert told["age"] == listed
    own, merged = (yaml.safe_load(text)["creation_rules"] for text in (told["config"], commands.rules("pay")))
    assert own == [rule for rule in merged if "staging" in rule["path_regex"]]


def test_nothing_changes_when_nothing_has_changed(pay: Tenant, staging_stack: Environment) -> None:
    assert staging_stack.changes() == {}


def test_what_is_encrypted_for_another_environment_is_refused(pay: Tenant, staging_stack: Environment) -> None:
    good, foreign = ((pay.clone / path).read_text() for path in (STAGING, PRODUCTION))

    pay.push({STAGING: foreign}, staging_stack)

    pay.refusal(staging_stack, saying="cannot get sops data key")
    assert pay.password(staging_stack) == "of-staging"
    pay.push({STAGING: good}, staging_stack)
    eventually(lambda: pay.ready(staging_stack) == "True")


def warnings(stack: Environment, namespace: str) -> list[str]:
    """The messages of all warnings in a namespace."""
    events = stack.cluster.get("events", namespace=namespace)["items"]
    return [each["message"] for each in events if each["type"] == "Warning"]


def test_a_tenant_is_told_that_it_cannot_decrypt_what_is_another_tenants(
    pay: Tenant, mail: Tenant, staging_stack: Environment
) -> None:
    mail.decrypt_with(age(staging_stack, age_keys.generate()), staging_stack)
    mail.push({STAGING: (pay.clone / STAGING).read_text()}, staging_stack)

    text = staging_stack.up()

    message = mail.refusal(staging_stack, saying="cannot get sops data key")
    assert "decryption failed for" in message
    eventually(lambda: any("cannot get sops data key" in warning for warning in warnings(staging_stack, "mail")))
    assert "tenant mail is not ready" in text
    assert mail.password(staging_stack) is None
    assert unharmed(pay, staging_stack)


def test_without_a_key_nothing_encrypted_is_applied_as_it_is(
    pay: Tenant, mail: Tenant, staging_stack: Environment
) -> None:
    mail.decrypt_with(None, staging_stack)

    staging_stack.up()

    mail.refusal(staging_stack, saying="cannot get sops data key")
    assert mail.password(staging_stack) is None
    assert unharmed(pay, staging_stack)


def test_a_hybrid_post_quantum_identity_decrypts(pay: Tenant, mail: Tenant, staging_stack: Environment) -> None:
    """What `sops` from 3.12 on encrypts; the one that comes as a Python package is older."""
    classic, hybrid = age_keys.generate(), age_keys.generate(post_quantum=True)
    sealed = mail.encrypt("for-later", classic.recipient)
    mail.push({STAGING: for_post_quantum(sealed, classic.private, hybrid.recipient)}, staging_stack)
    mail.decrypt_with(age(staging_stack, hybrid), staging_stack)

    staging_stack.up()

    eventually(lambda: mail.password(staging_stack) == "for-later")
    assert staging_stack.outputs()["tenants"]["mail"]["sops"]["age"] == [hybrid.recipient]


def test_openpgp_decrypts_as_well(mail: Tenant, staging_stack: Environment, commands: Commands, tmp_path: Path) -> None:
    mail.decrypt_with(None, staging_stack)
    printed = commands.key(staging_stack, "mail", "--openpgp")
    staging_stack.up()
    [(fingerprint, public_key)] = staging_stack.outputs()["tenants"]["mail"]["sops"]["openpgp"].items()
    assert f"Fingerprint: {fingerprint}" in printed
    (mail.clone / ".sops.yaml").write_text(commands.rules("mail"))

    sealed = encrypt(mail.clone, STAGING, secret("by-openpgp"), public_ring(tmp_path / "gnupg", public_key))
    mail.push({STAGING: sealed}, staging_stack)

    eventually(lambda: mail.password(staging_stack) == "by-openpgp")
    assert mail.ready(staging_stack) == "True"


def test_a_key_that_somebody_has_deleted_is_missed_by_this_tenant_alone(
    pay: Tenant, mail: Tenant, staging_stack: Environment
) -> None:
    name = mail.sync(staging_stack)["spec"]["decryption"]["secretRef"]["name"]

    staging_stack.cluster.kubectl("delete", "secret", name, "-n", "mail")
    staging_stack.cluster.reconcile("kustomization", "mail", "mail")

    mail.refusal(staging_stack, saying=f'secrets "{name}" not found')
    assert unharmed(pay, staging_stack)


def test_a_changed_file_is_refused(pay: Tenant, mail: Tenant, staging_stack: Environment) -> None:
    """A value that was changed, or that was moved to where it does not belong."""
    identity = age_keys.generate()
    sealed = mail.encrypt("whole", identity.recipient)
    mail.decrypt_with(age(staging_stack, identity), staging_stack)
    mail.push({STAGING: sealed}, staging_stack)
    staging_stack.up()
    assert mail.password(staging_stack) == "whole"

    def move(document: dict[str, Any]) -> None:
        document["stringData"]["user"] = document["stringData"].pop("password")

    def change(document: dict[str, Any]) -> None:
        value = document["stringData"]["password"]
        document["stringData"]["password"] = value.replace("data:", "data:A", 1)

    for each in (move, change):
        mail.push({STAGING: changed(sealed, each)}, staging_stack)
        mail.refusal(staging_stack, saying="error decrypting sops tree")
        assert mail.password(staging_stack) == "whole"
        mail.push({STAGING: sealed}, staging_stack)
        eventually(lambda: mail.ready(staging_stack) == "True")
    assert unharmed(pay, staging_stack)


def test_a_broken_mac_is_refused_by_sops_and_not_looked_at_by_flux(mail: Tenant, staging_stack: Environment) -> None:
    """Each value is authenticated by itself. That none is missing, only the MAC tells, and Flux does not ask it:
    it decrypts what Kustomize has built, to which labels were added meanwhile (`checkSopsMac` of its decryptor).
    """
    identity = age_keys.generate()
    sealed = mail.encrypt("whole", identity.recipient)
    other = yaml.safe_load(mail.encrypt("other", identity.recipient))["sops"]["mac"]
    broken = changed(sealed, lambda document: document["sops"].update(mac=other))
    (mail.clone / STAGING).write_text(broken)

    refused = sops(mail.clone, "decrypt", STAGING, identity=identity.private)
    mail.decrypt_with(age(staging_stack, identity), staging_stack)
    mail.push({STAGING: broken}, staging_stack)
    staging_stack.up()

    assert refused.returncode != 0
    assert "MAC" in refused.stderr
    eventually(lambda: mail.ready(staging_stack) == "True")
    assert mail.password(staging_stack) == "whole"


def test_keys_are_rotated_and_withdrawn_without_one_failed_reconciliation(
    pay: Tenant, staging_stack: Environment, commands: Commands
) -> None:
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
        printed = commands.key(staging_stack, "pay", *withdraw)
        assert f"    sops rotate --in-place --rm-age {before.recipient} {STAGING}\n" in printed
        staging_stack.up()
        (pay.clone / ".sops.yaml").write_text(commands.rules("pay"))
        sealed = encrypt(pay.clone, STAGING, secret("of-staging-anew"))
        pay.push({STAGING: sealed}, staging_stack)
        eventually(lambda: pay.password(staging_stack) == "of-staging-anew")

    assert loop.failures == set()
    assert loop.rounds > 10
    assert pay.identities(staging_stack) == [new]
    assert before.recipient not in sealed
    secrets = staging_stack.cluster.get("secrets", namespace="pay")["items"]
    assert len([each for each in secrets if each["metadata"]["name"].startswith("pay-sops-")]) == 1


def test_a_key_that_a_file_still_needs_is_not_withdrawn(
    pay: Tenant, staging_stack: Environment, commands: Commands
) -> None:
    [needed] = pay.identities(staging_stack)
    commands.key(staging_stack, "pay")
    done = CliRunner().invoke(
        sops_key.app, ["pay", "--stack", "staging", "--withdraw", needed.recipient, "--repo", str(pay.clone)]
    )
    assert done.exit_code == 1
    assert f"error: nothing else decrypts {STAGING}\n" in done.output
    newest = pay.identities(staging_stack)[0]
    commands.key(staging_stack, "pay", "--withdraw", newest.recipient)


def test_the_platforms_own_secrets_are_decrypted_with_a_key_of_its_own(
    lab: Lab, pay: Tenant, staging_stack: Environment, commands: Commands, tmp_path: Path
) -> None:
    files = {"clusters/staging/note.yaml": in_flux_system(note("first"))}
    url = lab.repository("base-team", "fleet", files, tmp_path)
    staging_stack.config["flux"]["sync"] = {"source": {"url": url, "interval": "1h"}}
    try:
        commands.key(staging_stack, "--platform")
        clone = lab.git.clone("base-team", "fleet", tmp_path / "clone")
        (clone / ".sops.yaml").write_text(commands.rules("--platform"))
        path = "clusters/staging/password.yaml"
        sealed = encrypt(clone, path, in_flux_system(secret("of-the-platform")))
        lab.git.commit_files("base-team", "fleet", {path: sealed}, "Add a secret")
        staging_stack.up()

        found = staging_stack.cluster.get("secret", "password", "flux-system")
        assert base64.b64decode(found["data"]["password"]) == b"of-the-platform"
        assert staging_stack.outputs()["flux"]["sync"]["status"]["ready"] == "True"
        assert unharmed(pay, staging_stack)
    finally:
        del staging_stack.config["flux"]["sync"]
        staging_stack.up()


def test_no_private_key_is_to_be_found_anywhere(
    lab: Lab, pay: Tenant, mail: Tenant, staging_stack: Environment, commands: Commands
) -> None:
    printed = commands.key(staging_stack, "pay") + commands.key(staging_stack, "mail", "--openpgp")
    run = staging_stack.project.run
    printed += run("preview", "--diff", "--stack", "staging").text
    printed += staging_stack.up()
    printed += run("stack", "export", "--stack", "staging").text
    printed += run("stack", "output", "--json", "--stack", "staging").text
    printed += str(staging_stack.cluster.get("events")) + str(staging_stack.cluster.get("kustomizations"))

    texts = [
        staging_stack.project.run("config", "get", "--stack", "staging", "--path", f"flux-tenancy:tenants.{path}").text
        for path in ("pay.sync.decryption.age.identities", "mail.sync.decryption.openpgp.privateKeys")
    ]
    values = private_values(*texts)
    files = [*lab.settings.state.glob("pulumi/backend/**/*staging*"), *lab.settings.state.glob("**/*.log")]
    files += [staging_stack.project.folder / "Pulumi.staging.yaml"]
    assert len(files) > 10
    for text in [printed, *(each.read_text(errors="replace") for each in files if each.is_file())]:
        assert not [value for value in values if value in text]


def private_values(identities: str, openpgp_keys: str) -> list[str]:
    """What must not be found: keys as they are, and as they stand in a Secret."""
    lines = [line for line in identities.split() if line]
    assert all(line.startswith("AGE-SECRET-KEY-1") for line in lines) and len(lines) == 2
    # The beginnings of an armored key are those of its public half.
    armored = [line for line in openpgp_keys.splitlines() if len(line) == 64][3:6]
    assert len(armored) == 3
    encoded = [base64.b64encode(text.encode()).decode()[120:180] for text in (identities, openpgp_keys)]
    return [*(line[20:] for line in lines), *armored, *encoded]
