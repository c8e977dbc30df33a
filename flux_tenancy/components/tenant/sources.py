"""The sources of a tenant: its own repository, and what else its syncs and releases apply.

A name in the configuration stands for a source's object; Flux's lockdown allows no references to other namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flux_tenancy.components.plan.planned import Planned, Stage, key_of
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.sources.objects import planned_any_source
from flux_tenancy.components.sync.decryption import decryption_objects
from flux_tenancy.components.tenant.scope import TenantScope, all_sources
from flux_tenancy.components.vocabulary.names import EXTERNAL_ARTIFACT, GIT_REPOSITORY, SOURCE_RESOURCES

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

# At most login, certificates, proxy and public keys, each twice while it is replaced.
_SECRETS_OF_A_SOURCE = 8


def planned_sources(tenant: TenantScope) -> Iterator[Planned]:
    """All sources of the tenant with their Secrets, Receivers and keys, and the keys that decrypt what they contain."""
    for meta, source in all_sources(tenant.name, tenant.config):
        for each in planned_any_source(meta, source, tenant.access):
            if each.kind == "Secret":
                yield replace(each, room={})
            elif each.kind in SOURCE_RESOURCES:
                resource = f"count/{SOURCE_RESOURCES[each.kind]}.source.toolkit.fluxcd.io"
                # The room at home has that of the tenant's own repository.
                yield replace(each, room={resource: 1, "count/secrets": _SECRETS_OF_A_SOURCE} if meta.owner else {})
            else:
                yield each
    for manifest in decryption_objects(tenant.home, tenant.config.sync.decryption).manifests:
        yield Planned(Stage.CONTENT, manifest, room={})


@dataclass(frozen=True)
class SourceReference:
    """A source's object.

    Attributes:
        kind: its kind, e.g. `OCIRepository`.
        namespace: its namespace, the tenant's home.
    """

    kind: str
    name: str
    namespace: str

    @property
    def reference(self) -> Manifest:
        """A `sourceRef` of the same namespace."""
        return {"kind": self.kind, "name": self.name}

    @property
    def planned(self) -> tuple[str, ...]:
        """The key of its object among all that is planned; empty for an artifact that others make."""
        if self.kind == EXTERNAL_ARTIFACT:
            return ()
        return (key_of({"kind": self.kind, "metadata": {"name": self.name, "namespace": self.namespace}}),)


def source_reference(tenant: str, config: TenantConfig, name: str | None = None) -> SourceReference:
    """The object of one of a tenant's sources.

    Args:
        name: name of the source in `sources`; None for the tenant's own repository, `source`.

    Raises:
        KeyError: the tenant has no source of that name; the checks of the stack report it first.
    """
    if name is None:
        return SourceReference(GIT_REPOSITORY, tenant, config.home)
    source = config.sources[name]
    object_name = (source.name or name) if isinstance(source, ExternalArtifactSource) else name
    return SourceReference(source.kind, object_name, config.home)
