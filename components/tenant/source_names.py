"""The objects behind the names of sources in a tenant's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from components.sources.config import ExternalArtifactSource
from components.tenant.config import TenantConfig
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import GIT_REPOSITORY


@dataclass(frozen=True)
class SourceReference:
    """A source's object.

    Attributes:
        kind: its kind, e.g. `OCIRepository`.
        name: its name.
        namespace: its namespace, the tenant's home; Flux's lockdown allows no references to others.
    """

    kind: str
    name: str
    namespace: str

    @property
    def reference(self) -> Manifest:
        """A `sourceRef` of the same namespace."""
        return {"kind": self.kind, "name": self.name}


def source_reference(tenant: str, config: TenantConfig, name: str | None = None) -> SourceReference:
    """The object of one of a tenant's sources.

    Args:
        tenant: name of the tenant.
        config: the tenant's configuration, with the sources that are shared with it.
        name: name of the source in `sources`; None for the tenant's own repository, `source`.

    Raises:
        KeyError: the tenant has no source of that name; the checks of the stack report it first.
    """
    if name is None:
        return SourceReference(GIT_REPOSITORY, tenant, config.home)
    source = config.sources[name]
    object_name = (source.name or name) if isinstance(source, ExternalArtifactSource) else name
    return SourceReference(source.kind, object_name, config.home)
