"""The registration of a source of any kind."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.manifests import register
from components.git.config import GitSource
from components.git.source import GitAccess, RegisteredSource, register_source
from components.sources.objects import objects_of
from components.sources.urls import AnySource
from components.vocabulary.object_meta import ObjectMeta


def register_any_source(
    meta: ObjectMeta,
    source: AnySource,
    access: GitAccess,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Input[pulumi.Resource]],
) -> RegisteredSource | None:
    """Register a source's resources; None for an artifact that others make.

    Credentials are immutable Secrets with generated names. If they change, the engine first creates another Secret,
    then refers the source to it, and deletes the previous one last, so that Flux can log in at any time.

    Args:
        meta: name, namespace and labels of its objects.
        source: the source.
        access: what the Git sources of the stack share.
        parent: the component that the source belongs to.
        after: the resources to depend on.
    """
    if isinstance(source, GitSource):
        return register_source(meta, source, access, parent, after)
    if (objects := objects_of(meta, source, known_hosts=())) is None:
        return None
    secrets = [
        register(secret, pulumi.ResourceOptions(parent=parent, depends_on=list(after))) for secret in objects.secrets
    ]
    names = generated_names(zip(objects.secrets, secrets, strict=True))
    opts = pulumi.ResourceOptions(parent=parent, depends_on=[*after, *secrets])
    registered = register(referring(objects.source, names), opts)
    return RegisteredSource(registered, None, None, (*secrets, registered))
