"""The syncs of a tenant: its own, and the further ones of its configuration.

Source: `flux create kustomization` of Flux's reference
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from components.plan.planned import Planned, Stage, key_of
from components.sync.decryption_objects import decryption_objects
from components.sync.kustomization import kustomization
from components.tenant.capsule_proxy import kube_config
from components.tenant.scope import TenantScope
from components.tenant.sources import SourceReference, source_reference
from components.vocabulary.manifests import Manifest


def planned_syncs(tenant: TenantScope) -> Iterator[Planned]:
    """The tenant's Kustomizations."""
    config = tenant.config
    decryption = decryption_objects(tenant.home, config.sync.decryption)
    decrypting = [key_of(each) for each in decryption.manifests]
    for name, sync in config.all_syncs(tenant.name).items():
        source = source_reference(tenant.name, config, sync.source or config.sync.source)
        yield applied_from(source, _sync(tenant, name, source, decryption.spec), decrypting)


def applied_from(source: SourceReference, manifest: Manifest, keys: Iterable[str] = ()) -> Planned:
    """What Flux applies for a tenant, after its source and those that it depends on. It counts among the tenant's own.

    Args:
        source: its source.
        manifest: the Kustomization or HelmRelease.
        keys: the keys of what decrypts it.
    """
    metadata = manifest["metadata"]
    needed = [
        key_of(manifest | {"metadata": metadata | {"name": each["name"]}})
        for each in manifest["spec"].get("dependsOn", ())
    ]
    return Planned(Stage.SYNCS, manifest, needs=(*source.planned, *keys, *needed), room={})


def _sync(tenant: TenantScope, name: str, source: SourceReference, decryption: Manifest) -> Manifest:
    """One of the tenant's syncs, by the name of its Kustomization."""
    config = tenant.config
    sync = config.all_syncs(tenant.name)[name]
    manifest = kustomization(
        tenant.home.metadata(name),
        sync,
        source=source.reference,
        path=sync.path,
        service_account=tenant.account,
        decryption=decryption,
        namespace=sync.target_namespace or config.home,
    )
    manifest["spec"]["deletionPolicy"] = sync.deletion_policy
    if sync.target_namespace is not None:
        manifest["spec"]["targetNamespace"] = sync.target_namespace
    if sync.depends_on:
        manifest["spec"]["dependsOn"] = [{"name": each} for each in sync.depends_on]
    manifest["spec"] |= kube_config(tenant.name, tenant.account, tenant.tenancy.capsule.proxy)
    return manifest
