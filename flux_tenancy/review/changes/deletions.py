"""What a change deletes, what goes with it, and which deletions reviewers have to acknowledge.

They do so in `review.acknowledge` of the stack's file, not by a label of the pull request: the file is reviewed and
kept in Git, works with every Git host, and names exactly one set of deletions of one stack. A label would cover
whatever is pushed after it was set, and more people may set labels than may approve.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.tenant.capsule.config import TENANT
from flux_tenancy.components.tenant.leaving.remaining_objects import prunes
from flux_tenancy.review.access.rules import made_by
from flux_tenancy.review.changes.objects import Action, ObjectChange
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

ACKNOWLEDGED_FROM = 10
"""From this number of objects on, a deletion needs an acknowledgement."""
_DIGEST_LENGTH = 16


@dataclass(frozen=True)
class OwnerDeletion:
    """Everything that a change deletes of one owner in one stack.

    Attributes:
        owner: the tenant, or PLATFORM.
        objects: what is deleted.
        acknowledged: whether `review.acknowledge` lists it.
    """

    stack: str
    owner: str
    objects: tuple[RenderedObject, ...]
    acknowledged: bool = False

    @property
    def token(self) -> str:
        """The entry of `review.acknowledge` that fits this set of objects in this stack, and nothing else."""
        content = json.dumps([self.stack, self.owner, sorted(each.key for each in self.objects)])
        return f"{self.owner}:{hashlib.sha256(content.encode()).hexdigest()[:_DIGEST_LENGTH]}"

    @property
    def needs_acknowledgement(self) -> bool:
        """Whether it deletes what does not come back: much, or something that takes others' objects with it."""
        return len(self.objects) >= ACKNOWLEDGED_FROM or any(map(_takes_others_along, self.objects))

    @property
    def is_missing_acknowledgement(self) -> bool:
        return self.needs_acknowledgement and not self.acknowledged

    def consequences(self) -> Iterator[str]:
        """What goes with the objects, one sentence each, without a period."""
        return (text for text, _ in self.effects())

    def effects(self) -> Iterator[tuple[str, bool]]:
        """The consequences, each with whether objects are deleted that the change does not list."""
        namespaces = self._names("Namespace")
        if namespaces:
            whose = (
                ""
                if self.owner == PLATFORM
                else f", including the objects that Flux applied from the Git of {self.owner}"
            )
            yield f"everything in {_listed('namespace', namespaces)} is deleted{whose}", True
        if definitions := self._names("CustomResourceDefinition"):
            yield f"every object of {_listed('definition', definitions)} is deleted in the whole cluster", True
        for sync in self._of_kind("Kustomization"):
            if sync.namespace not in namespaces:
                stays = not prunes(sync.manifest)
                what = "Flux keeps the objects" if stays else "Flux deletes the objects"
                yield f"{what} that it applied from the Git of {sync.namespace}/{sync.name}", not stays
        for tenant in self._names(TENANT):
            yield f"Capsule deletes the {made_by(tenant)}, with everything in them", True
        for release in self._of_kind("HelmRelease"):
            if release.namespace not in namespaces:
                # Source: https://fluxcd.io/flux/components/helm/helmreleases/#suspend
                stays = bool(release.manifest["spec"].get("suspend"))
                what = "Flux keeps the suspended" if stays else "Flux uninstalls the"
                yield f"{what} Helm release {release.namespace}/{release.name}", not stays
        for release in (each for each in self.objects if each.type == RELEASE_TYPE):
            yield f"every object of the Helm release {release.name} is deleted, including custom resources", True
        if keys := self._repositories(DEPLOY_KEY_TYPE):
            yield f"its deploy key is removed from {', '.join(keys)} at GitHub", False
        if webhooks := self._repositories(WEBHOOK_TYPE):
            yield f"its webhook is removed from {', '.join(webhooks)} at GitHub", False

    def _of_kind(self, kind: str) -> list[RenderedObject]:
        return [each for each in self.objects if each.is_kubernetes and each.kind == kind]

    def _names(self, kind: str) -> list[str]:
        return [each.name for each in self._of_kind(kind)]

    def _repositories(self, type_: str) -> list[str]:
        return sorted({_repository(each) for each in self.objects if each.type == type_})


def deletions(stack: str, changes: Iterable[ObjectChange], acknowledged: Collection[str]) -> tuple[OwnerDeletion, ...]:
    """What a change deletes in a stack, by owner.

    A deploy key that another one of the same repository replaces is rotated, and not listed.
    """
    found = list(changes)
    replaced = {_registration(each.object) for each in found if each.action is Action.ADDED}
    removed = [
        each.object
        for each in found
        if each.action is Action.REMOVED
        and not (each.object.type == DEPLOY_KEY_TYPE and _registration(each.object) in replaced)
    ]
    by_owner: dict[str, list[RenderedObject]] = {}
    for each in removed:
        by_owner.setdefault(each.owner, []).append(each)
    grouped = [OwnerDeletion(stack, owner, tuple(objects)) for owner, objects in sorted(by_owner.items())]
    return tuple(
        OwnerDeletion(each.stack, each.owner, each.objects, acknowledged=each.token in acknowledged) for each in grouped
    )


def _takes_others_along(rendered: RenderedObject) -> bool:
    return rendered.type == RELEASE_TYPE or (
        rendered.is_kubernetes and rendered.kind in ("Namespace", "CustomResourceDefinition", TENANT)
    )


def _registration(rendered: RenderedObject) -> tuple[str, str, str]:
    """What a deploy key is for."""
    return rendered.type, rendered.owner, _repository(rendered) if rendered.type == DEPLOY_KEY_TYPE else rendered.name


def _repository(rendered: RenderedObject) -> str:
    return str(rendered.manifest["properties"].get("repository"))


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"
