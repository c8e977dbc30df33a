"""What a source of any kind needs."""

from __future__ import annotations

from components.git.config import GitSource
from components.git.source import GitAccess, planned_source
from components.plan.planned import Planned, Stage
from components.sources.objects import objects_of
from components.sources.urls import AnySource
from components.vocabulary.object_meta import ObjectMeta


def planned_any_source(meta: ObjectMeta, source: AnySource, access: GitAccess) -> list[Planned]:
    """What a source needs; nothing for an artifact that others make.

    Credentials are immutable Secrets with generated names. If they change, the engine first creates another Secret,
    then refers the source to it, and deletes the previous one last, so that Flux can log in at any time.

    Args:
        meta: name, namespace and labels of its objects.
        source: the source.
        access: what the Git sources of the stack share.
    """
    if isinstance(source, GitSource):
        return planned_source(meta, source, access)
    if (objects := objects_of(meta, source, known_hosts=())) is None:
        return []
    secrets = [Planned(Stage.CONTENT, secret) for secret in objects.secrets]
    return [*secrets, Planned(Stage.CONTENT, objects.source, needs=tuple(each.key for each in secrets))]
