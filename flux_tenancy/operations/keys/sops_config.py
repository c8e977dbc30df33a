"""Makes the `.sops.yaml` of a tenant's repository, or the platform's, for all environments."""

from __future__ import annotations

from pathlib import Path

from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.keys.age_keys import AgeRecipient
from flux_tenancy.components.keys.openpgp_keys import OpenPgpFingerprint
from flux_tenancy.components.sync.decryption import KEY_SERVICES, Environment, WorkloadIdentity
from flux_tenancy.components.sync.decryption import sops_config as rendered
from flux_tenancy.operations.files.described_flux import DescribedSync, described_sync
from flux_tenancy.operations.keys.sops_key import AGE, OPENPGP
from flux_tenancy.operations.stack.connected import section_of
from flux_tenancy.project.described_stack import PLATFORM_SYNC, described_file, described_stacks, listed_tenants
from flux_tenancy.project.errors import OperationError, check_one_owner


def sops_config(tenant: str, platform: bool, project: Path) -> str:
    """The creation rules for all stacks; needs no passphrase and no cluster, since all of it is public.

    Args:
        tenant: name of the tenant; empty for the platform.
        platform: whether they are for the platform's own repository, `flux.sync`.

    Raises:
        OperationError: both or neither of tenant and platform are named, no stack has keys for it, keys are not valid,
            or two stacks share one.
    """
    check_one_owner(tenant, platform, "key sops-config")
    stacks = [stack for stack in described_stacks(project) if _has(stack, tenant, project)]
    syncs = [described_sync(stack, tenant, project) for stack in stacks]
    environments = {sync.file: Environment(sync.folder, _keys(sync)) for sync in syncs}
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
    return rendered(encrypted.values())


def _has(stack: str, tenant: str, project: Path) -> bool:
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


def _keys(sync: DescribedSync) -> dict[str, tuple[str, ...]]:
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
