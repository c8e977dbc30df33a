"""SOPS keys of a tenant, or of the platform: creates one for an environment, and makes the `.sops.yaml` for all.

A key is stored in its stack, encrypted, in front of the existing keys, which decrypt until they are withdrawn. Private
keys are never shown, and of the files that SOPS has encrypted in a checkout, only the recipients are read.

Source: https://getsops.io/docs/#encryption-protocol; SOPS writes the same metadata in each of its formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from shlex import quote

import typer

from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.components.keys.age_keys import AgeRecipient
from flux_tenancy.components.keys.openpgp_keys import OpenPgpFingerprint
from flux_tenancy.components.sync.decryption import KEY_SERVICES, Environment, WorkloadIdentity, sops_config
from flux_tenancy.components.vocabulary.manifests import value_at
from flux_tenancy.operations.files.described_flux import DescribedSync, described_sync
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.operations.files.yaml_edits import Keys
from flux_tenancy.operations.stack.connected import section_of
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from flux_tenancy.project.described_stack import PLATFORM_SYNC, described_file, described_stacks, listed_tenants
from flux_tenancy.project.errors import OperationError, check_one_owner


def sops_key(
    stack: str,
    tenant: str,
    project: Path,
    *,
    platform: bool = False,
    openpgp: bool = False,
    withdraw: str = "",
    repo: Path | None = None,
) -> None:
    """Create an additional key that decrypts for a sync, or withdraw one of its keys.

    Args:
        tenant: name of the tenant; empty for the platform.
        platform: whether it is for the platform's own sync, `flux.sync`.
        openpgp: whether the new key is an OpenPGP key instead of an age identity.
        withdraw: recipient or fingerprint of the key to withdraw; empty creates one.
        repo: folder of a checkout whose encrypted files are listed; None lists none.

    Raises:
        OperationError: both or neither of tenant and platform are named, the stack, the tenant,
            the key or the checkout does not exist, or Pulumi fails.
    """
    check_one_owner(tenant, platform, "key sops")
    sync = described_sync(stack, tenant, project)
    files = encrypted_files(repo) if repo is not None else None
    config = PulumiConfig(stack, project)
    if withdraw:
        _withdraw(withdraw, sync, files, config)
    else:
        _add(OPENPGP if openpgp else AGE, sync, files, config)


def _add(kind: KeyKind, sync: DescribedSync, files: Sequence[EncryptedFile] | None, config: PulumiConfig) -> None:
    old = _stored(kind, sync, config)
    new = kind.generate(f"flux-tenancy {config.stack}/{sync.owner.rpartition(' ')[2]}")
    _store(kind, [new, *old], sync, config)

    typer.echo(f"Stored a new {kind.name} of {sync.owner}, encrypted, in {sync.file}: {_path(kind, sync)}")
    typer.echo(f"{kind.public_name}: {new.public}")
    typer.echo("Next:")
    typer.echo("  run `pulumi preview` and `pulumi up`, so that the cluster can decrypt with it;")
    typer.echo(
        f"  run `flux-tenancy key sops-config {sync.option} > .sops.yaml` for the repository, so that `sops` encrypts "
        "for it;"
    )
    if kind is OPENPGP:
        typer.echo("  the stack's outputs show the public key for those who encrypt: docs/secrets.md;")
    if old or files:
        behind = [file for file in files or () if _is_behind(file, new, old, sync)]
        _list_files(files, behind, "updatekeys --yes")
    for key in old:
        typer.echo(
            f"  {key.public} decrypts until `flux-tenancy key sops {sync.option} --stack {config.stack} "
            f"--withdraw {key.public}`"
        )


def _withdraw(public: str, sync: DescribedSync, files: Sequence[EncryptedFile] | None, config: PulumiConfig) -> None:
    kind = kind_of(public)
    if kind is OPENPGP:
        public = public.upper()  # as `sops` and the stack have fingerprints
    keys = _stored(kind, sync, config)
    remaining = [key for key in keys if key.public != public]
    if len(remaining) == len(keys):
        stored = ", ".join(key.public for key in keys) or "none"
        raise OperationError(
            Message(
                "FT-OPS-031",
                f"{sync.owner} has no key {public} in {sync.file}; its keys there: {stored}",
                "name one of these, or another stack",
            )
        )
    if not remaining:
        section = dotted((*sync.path, kind.secret[0]))
        option = f"{sync.option} --openpgp" if kind is OPENPGP else sync.option
        fields = {"owner": sync.owner, "key": public, "file": sync.file, "kind": kind.name}
        raise OperationError(
            Wording(
                "FT-OPS-033",
                "{key} is the only {kind} of {owner} in {file}",
                "create another first with `flux-tenancy key sops {option} --stack {stack}`, or remove {path}",
            )(**fields, option=option, stack=config.stack, path=section)
        )
    named = [file for file in files or () if public in file.keys]
    of_other_kinds = [key for each in (AGE, OPENPGP) if each is not kind for key in _stored(each, sync, config)]
    left = {key.public for key in [*remaining, *of_other_kinds]}
    if lost := [printable(str(file.path)) for file in named if not file.keys & left]:
        fields = {"files": ", ".join(lost), "file": quote(lost[0]), "key": remaining[0].public, "option": sync.option}
        raise OperationError(
            Wording(
                "FT-OPS-034",
                "no other key decrypts {files}",
                "encrypt for {key} first: `sops updatekeys --yes {file}` with the .sops.yaml of "
                "`flux-tenancy key sops-config {option}`",
            )(**fields)
        )
    _store(kind, remaining, sync, config)

    typer.echo(f"Removed {public} from {sync.file}: {_path(kind, sync)}")
    typer.echo("Next:")
    typer.echo("  run `pulumi preview` and `pulumi up`: from then on the cluster does not decrypt with it;")
    typer.echo(
        f"  run `flux-tenancy key sops-config {sync.option} > .sops.yaml` for the repository, so that `sops` stops "
        "using it;"
    )
    _list_files(files, named, f"rotate --in-place --rm-{kind.option} {public}")
    typer.echo("  whoever has the key can still decrypt Git's history: renew those secrets if the key was leaked.")


def _stored(kind: KeyKind, sync: DescribedSync, config: PulumiConfig) -> list[SopsKey]:
    """The keys that the stack has, newest first."""
    if value_at(sync.decryption, kind.secret) is None:
        return []
    try:
        return kind.read(config.get(_path(kind, sync)), _listed(value_at(sync.decryption, kind.public)))
    except ValueError as error:
        raise OperationError(
            Message(
                "FT-OPS-035",
                f"{sync.file}: {_path(kind, sync)}: {error}",
                "remove it or set the right key, and run the command again",
            )
        ) from None


def _listed(value: object) -> list[str]:
    """The public halves that the stack lists."""
    return [str(each) for each in value] if isinstance(value, list) else []


def _store(kind: KeyKind, keys: list[SopsKey], sync: DescribedSync, config: PulumiConfig) -> None:
    edits = ProjectEdits(config.project)
    edits.set_secret(config.stack, (*sync.path, *kind.secret), kind.joined(keys))
    edits.set(config.stack, (*sync.path, *kind.public), [key.public for key in keys])
    edits.apply()


def _path(kind: KeyKind, sync: DescribedSync) -> str:
    """Where the stack has the private keys."""
    return dotted((*sync.path, *kind.secret))


def _is_behind(file: EncryptedFile, new: SopsKey, old: Sequence[SopsKey], sync: DescribedSync) -> bool:
    """Whether this environment reads the file and the new key does not decrypt it."""
    reads = file.is_below(sync.folder) or any(key.public in file.keys for key in old)
    return reads and new.public not in file.keys


def _list_files(files: Sequence[EncryptedFile] | None, behind: Sequence[EncryptedFile], command: str) -> None:
    if files is None:
        typer.echo(f"  in a checkout, run `sops {command} <file>` for each encrypted file; --repo CHECKOUT lists them;")
    elif behind:
        typer.echo(
            f"  in the checkout, somebody who can decrypt them has to update {len(behind)} of {len(files)} encrypted "
            "files:"
        )
        for file in behind:
            # Anyone with write access to the repository chooses the name, and users copy the line into a shell.
            typer.echo(f"    sops {command} {quote(printable(str(file.path)))}")
    else:
        typer.echo(f"  in the checkout, none of {len(files)} encrypted files has to be updated;")


@dataclass(frozen=True)
class SopsKey:
    """One key.

    Attributes:
        private: what is stored, encrypted.
        public: its name: the recipient or the fingerprint.
    """

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True)
class KeyKind:
    """One kind.

    Attributes:
        name: what messages call it.
        public_name: what messages call the public half.
        secret: path below `decryption` of the private keys.
        public: path below `decryption` of the list of public halves.
        option: name of the option of `sops`.
        read: reads the keys in a text, newest first, with the public halves that the stack lists; its ValueError
            repeats nothing of the text.
        generate: creates a key for the named owner.
    """

    name: str
    public_name: str
    secret: Keys
    public: Keys
    option: str
    read: Callable[[str, Sequence[str]], list[SopsKey]]
    generate: Callable[[str], SopsKey]

    def joined(self, keys: list[SopsKey]) -> str:
        """The keys as one text, in their order."""
        return "".join(f"{key.private.strip()}\n" for key in keys)


def _of_age(identity: age_keys.AgeIdentity) -> SopsKey:
    return SopsKey(identity.private, identity.recipient)


def _of_openpgp(key: openpgp_keys.OpenPgpKey) -> SopsKey:
    return SopsKey(key.private, key.fingerprint)


def _stored_identities(text: str, recipients: Sequence[str]) -> list[SopsKey]:
    identities = age_keys.with_recipients(age_keys.read_identities(text), recipients)
    age_keys.check_recipients(identities)
    return [_of_age(each) for each in identities]


AGE = KeyKind(
    name="age identity",
    public_name="Recipient",
    secret=("age", "identities"),
    public=("age", "recipients"),
    option="age",
    read=_stored_identities,
    generate=lambda _: _of_age(age_keys.generate()),
)
OPENPGP = KeyKind(
    name="OpenPGP key",
    public_name="Fingerprint",
    secret=("openpgp", "privateKeys"),
    public=("openpgp", "fingerprints"),
    option="pgp",
    read=lambda text, _: [_of_openpgp(key) for key in openpgp_keys.read_private_keys(text)],
    generate=lambda owner: _of_openpgp(openpgp_keys.generate(owner)),
)


def kind_of(public: str) -> KeyKind:
    """The kind of the key with this public half."""
    return AGE if public.startswith(age_keys.RECIPIENT) else OPENPGP


_ENCRYPTED = "ENC[AES256_GCM,"
# `recipient: age1…` in YAML, `"recipient": "age1…"` in JSON, `sops_age__list_0__map_recipient=age1…` in dotenv and INI.
_KEY = re.compile(r"""(?:recipient|fp)["']?\s*[:=]\s*["']?(age1[a-z0-9]+|[0-9A-F]{40,64})\b""")


@dataclass(frozen=True)
class EncryptedFile:
    """One file.

    Attributes:
        path: its path inside the checkout.
        keys: age recipients and OpenPGP fingerprints that it is encrypted for.
    """

    path: PurePosixPath
    keys: frozenset[str]

    def is_below(self, folder: str) -> bool:
        """Whether it is in a folder of the repository, such as `./staging`."""
        return self.path.is_relative_to(PurePosixPath(folder))


def encrypted_files(checkout: Path) -> list[EncryptedFile]:
    """All of them, sorted by path.

    Raises:
        OperationError: the folder does not exist.
        OSError: a file cannot be read.
    """
    if not checkout.is_dir():
        raise OperationError(
            Message(
                "FT-OPS-008",
                f"folder {checkout} does not exist",
                "name the folder of a checkout, such as --repo ../apps",
            )
        )
    found = []
    for each in sorted(_files(checkout)):
        text = each.read_bytes().decode(errors="replace")
        if _ENCRYPTED in text:
            path = PurePosixPath(each.relative_to(checkout).as_posix())
            found.append(EncryptedFile(path, frozenset(_KEY.findall(text))))
    return found


def _files(checkout: Path) -> Iterator[Path]:
    """All files but Git's own.

    Raises:
        OSError: a folder cannot be read; `Path.rglob` would leave it out.
    """

    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(checkout, onerror=refuse):
        folders[:] = [each for each in folders if each != ".git"]
        files = (Path(folder, name) for name in names if name != ".git")
        yield from (each for each in files if each.is_file() and not each.is_symlink())


def creation_rules(tenant: str, platform: bool, project: Path) -> str:
    """The creation rules for all stacks; needs no passphrase and no cluster, since all of it is public.

    Args:
        tenant: name of the tenant; empty for the platform.
        platform: whether they are for the platform's own repository, `flux.sync`.

    Raises:
        OperationError: both or neither of tenant and platform are named, no stack has keys for it, keys are not valid,
            or two stacks share one.
    """
    check_one_owner(tenant, platform, "key sops-config")
    stacks = [stack for stack in described_stacks(project) if _has_sync(stack, tenant, project)]
    syncs = [described_sync(stack, tenant, project) for stack in stacks]
    environments = {sync.file: Environment(sync.folder, _public_keys(sync)) for sync in syncs}
    encrypted = {file: environment for file, environment in environments.items() if environment.keys}
    if not encrypted:
        option = tenant or "--platform"
        raise OperationError(
            Wording(
                "FT-OPS-036",
                "no stack has decryption keys for {owner}",
                "create one with `flux-tenancy key sops {option} --stack STACK`",
            )(owner=f"tenant {tenant}" if tenant else "the platform", option=option)
        )
    _check_apart(encrypted)
    return sops_config(encrypted.values())


def _has_sync(stack: str, tenant: str, project: Path) -> bool:
    if tenant:
        return tenant in listed_tenants(stack, project)
    return described_file(stack, project).at(PLATFORM_SYNC) is not None


class _AgeKeys(Section):
    """The part of `age` that is not secret; the identities may be anything."""

    identities: object = None
    recipients: tuple[AgeRecipient, ...] = ()


class _OpenPgpKeys(Section):
    """The same of `openpgp`."""

    private_keys: object = None
    fingerprints: tuple[OpenPgpFingerprint, ...] = ()


class _Decryption(Section):
    """The part of the section `decryption` that is not secret."""

    age: _AgeKeys | None = None
    openpgp: _OpenPgpKeys | None = None
    workload_identity: WorkloadIdentity | None = None


def _public_keys(sync: DescribedSync) -> dict[str, tuple[str, ...]]:
    """Recipients by the key of a creation rule, as far as the files have them in plain text."""
    section = section_of(_Decryption, sync.decryption, sync.file, sync.path)
    age, openpgp, identity = section.age or _AgeKeys(), section.openpgp or _OpenPgpKeys(), section.workload_identity
    found = {}
    for kind, private, public in (
        (AGE, age.identities, age.recipients),
        (OPENPGP, openpgp.private_keys, openpgp.fingerprints),
    ):
        if private is not None and not public:
            secret, missing = dotted((*sync.path, *kind.secret)), dotted((*sync.path, *kind.public))
            raise OperationError(
                Message(
                    "FT-OPS-037",
                    f"{sync.file} has {secret}, but not {missing}",
                    "add the public keys, which `pulumi stack output` shows",
                )
            )
        if public:
            found[kind.option] = public
    if identity is not None and identity.keys:
        found[KEY_SERVICES[identity.provider].rule] = identity.keys
    return found


def _check_apart(environments: dict[str, Environment]) -> None:
    """No key may decrypt in two environments: one cluster could then read another's secrets."""
    owners: dict[str, str] = {}
    for file, environment in environments.items():
        for key in (key for kind in (AGE, OPENPGP) for key in environment.keys.get(kind.option, ())):
            if owners.setdefault(key, file) != file:
                raise OperationError(
                    Message(
                        "FT-OPS-038",
                        f"{owners[key]} and {file} share the key {key}",
                        "create a key for each stack with `flux-tenancy key sops`, then withdraw this one from one "
                        "of them",
                    )
                )
