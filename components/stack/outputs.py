"""Stack outputs: what an operator or a tenant needs to know next."""

from __future__ import annotations

from typing import Any

import pulumi

from components.cluster.client import ClusterFacts
from components.engine.update_plans import unplanned
from components.flux.config import PlatformSyncConfig
from components.flux.platform_sync import PlatformSync
from components.git.config import GitSource
from components.git.rotation import Rotations
from components.git.source import RegisteredSource
from components.keys.ssh_keys import read_private_key
from components.stack.access_report import FurtherAccess
from components.stack.config import StackConfig
from components.stack.leaving_report import LeavingTenants
from components.stack.platform import Platform
from components.sync.decryption import Decryption
from components.sync.names import GIT_REPOSITORY, PLATFORM
from components.sync.sops_config import Environment, sops_config
from components.sync.status import Progress
from components.tenant.config import TenantConfig


def stack_outputs(
    config: StackConfig,
    cluster: ClusterFacts,
    platform: Platform,
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
    leaving: pulumi.Output[LeavingTenants],
) -> dict[str, Any]:
    """All outputs of the stack.

    Args:
        config: the stack.
        cluster: facts of the cluster.
        platform: the components of the stack.
        progress: progress of each sync (`settled`).
        further: what tenants may do in addition to their role (`report_further_access`).
        rotating: the previous deploy keys that stay (`rotations`).
        leaving: what is left of tenants that are leaving (`report_leaving`).
    """
    sync, flux, kyverno = config.flux.sync, platform.flux, platform.kyverno
    progress, further, leaving = unplanned(progress), unplanned(further), unplanned(leaving)
    own = {"sync": _platform(sync, platform.sync, progress, rotating)} if sync and platform.sync else {}
    return {
        "cluster": {"uid": cluster.uid, "version": cluster.version, "context": config.cluster.context},
        "flux": {"version": flux.version, "profile": flux.profile} | own,
        **({"kyverno": {"version": kyverno.version}} if kyverno is not None else {}),
        "tenants": {
            name: _leaving(name, config.tenants[name], leaving)
            if each.source is None
            else _tenant(name, config, each.source, progress, further, rotating)
            for name, each in platform.tenants.items()
        },
    }


def _leaving(name: str, tenant: TenantConfig, leaving: pulumi.Output[LeavingTenants]) -> dict[str, Any]:
    return {
        "namespaces": list(tenant.namespace_names),
        "state": tenant.state.value,
        "left": leaving.apply(lambda found: found.get(name, {})),
    }


def _tenant(
    name: str,
    config: StackConfig,
    source: RegisteredSource,
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
) -> dict[str, Any]:
    own = config.tenants[name]
    return {
        "namespaces": list(own.namespace_names),
        "role": own.role.value,
        "furtherAccess": further.apply(lambda found: found.get(name, [])),
        "source": f"{GIT_REPOSITORY}/{own.home}/{name}",
        **_source(name, own.source, source, rotating),
        "path": own.sync.path,
        **_sops(own.sync.path, own.sync.decryption),
        "status": _status(name, progress),
        "look": _commands(name, own, config.cluster.context),
    }


def _platform(
    sync: PlatformSyncConfig,
    platform: PlatformSync,
    progress: pulumi.Output[dict[str, Progress]],
    rotating: Rotations,
) -> dict[str, Any]:
    return {
        **_source(PLATFORM.name, sync.source, platform.source, rotating),
        "path": platform.path,
        **_sops(platform.path, sync.decryption),
        "status": _status(PLATFORM.name, progress),
    }


def _source(name: str, source: GitSource, registered: RegisteredSource, rotating: Rotations) -> dict[str, Any]:
    """A source, and what its Git host has to know."""
    found: dict[str, Any] = {"url": source.url}
    if source.deploy_key is not None:
        key = read_private_key(source.deploy_key.get_secret_value())
        previous = {"previous": rotating[name]} if name in rotating else {}
        found["deployKey"] = {"fingerprint": key.fingerprint, "publicKey": key.public, **previous}
    if registered.webhook is not None:
        found["webhook"] = registered.webhook
    return found


def _sops(path: str, decryption: Decryption | None) -> dict[str, Any]:
    """What is needed to encrypt for this environment; all of it is public."""
    if decryption is None:
        return {}
    found: dict[str, Any] = {"config": sops_config([Environment(path, decryption.rule_keys)])}
    if decryption.age is not None:
        found["age"] = [identity.recipient for identity in decryption.age.parsed]
    if decryption.openpgp is not None:
        found["openpgp"] = {key.fingerprint: key.public for key in decryption.openpgp.parsed}
    return {"sops": found}


def _commands(name: str, tenant: TenantConfig, context: str | None) -> dict[str, str]:
    at = f" --context {context}" if context else ""
    return {
        "flux": f"flux get all -n {tenant.home}{at}",
        "kubectl": f"kubectl get gitrepositories,kustomizations,events -n {tenant.home}{at}",
        "reconcile": f"flux reconcile kustomization {name} -n {tenant.home} --with-source{at}",
    }


def _status(name: str, progress: pulumi.Output[dict[str, Progress]]) -> pulumi.Output[dict[str, str]]:
    def shown(found: dict[str, Progress]) -> dict[str, str]:
        status = found[name].overall
        output = {"ready": status.ready, "message": status.message}
        # Outputs of a healthy stack never change.
        if status.ready == "False" and status.as_of is not None:
            output["asOf"] = status.as_of.isoformat(timespec="seconds")
        return output

    return progress.apply(shown)
