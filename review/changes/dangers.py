"""What is dangerous about a changed object although nobody may do more than before.

What widens access, weakens a policy or deletes something is said elsewhere (`review.access`,
`review.changes.deletions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from flux_tenancy.components.stack.cluster.protection import TAKEN_ALONG
from flux_tenancy.components.vocabulary.names import BUCKET, GIT_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY
from flux_tenancy.review.changes.objects import ABSENT, Action, ObjectChange
from flux_tenancy.review.render.rendered import PROTECT, RenderedObject

# What decides which objects a sync applies, and where.
_CONTENT = {
    KUSTOMIZATION: ("spec.path", "spec.targetNamespace", "spec.sourceRef"),
    GIT_REPOSITORY: ("spec.url", "spec.ref"),
    # That they are fetched from elsewhere is a weakening.
    OCI_REPOSITORY: ("spec.ref", "spec.layerSelector"),
    BUCKET: ("spec.prefix",),
}


def dangers(changes: Iterable[ObjectChange], objects: Collection[RenderedObject]) -> Iterator[tuple[str, str]]:
    """Dangers as pairs of an owner and a sentence without a period, which names no object.

    Args:
        changes: what differs in a stack.
        objects: all that the stack would apply.
    """
    namespaces = {each.name for each in objects if each.kind == "Namespace"}
    pruning = set[tuple[str, str, str]]()
    for each in objects:
        if each.kind == KUSTOMIZATION and each.manifest["spec"].get("prune", False):
            source = each.manifest["spec"].get("sourceRef", {})
            pruning |= {
                (KUSTOMIZATION, each.namespace, each.name),
                (source.get("kind", ""), source.get("namespace", each.namespace), source.get("name", "")),
            }
    unprotected = Counter[tuple[str, str]]()
    for change in changes:
        found = change.object
        unprotected[found.owner, found.kind] += any(
            field.path == (PROTECT,) and field.before for field in change.fields
        )
        if change.action is Action.REMOVED and found.kind == "LimitRange" and found.namespace in namespaces:
            yield found.owner, "loses a LimitRange, which limits its Pods"
        elif change.action is Action.CHANGED and (found.kind, found.namespace, found.name) in pruning:
            keys = [key for key in _CONTENT[found.kind] if any(field.name.startswith(key) for field in change.fields)]
            if keys:
                names = " and ".join(key.removeprefix("spec.") for key in keys)
                values = [
                    str(field.after)
                    for field in change.fields
                    if field.name.startswith(tuple(keys)) and field.after is not ABSENT
                ]
                names += f" ({', '.join(values)})" if values else ""
                yield (
                    found.owner,
                    f"syncs from another {names}: Flux deletes the applied objects that are missing there",
                )
    for (owner, kind), count in unprotected.items():
        if count:
            what, which = (f"a {kind}", "it") if count == 1 else (f"{count} {kind}s", "each")
            yield owner, f"loses Pulumi's protection of {what}: an update may delete {which}, with {TAKEN_ALONG[kind]}"
