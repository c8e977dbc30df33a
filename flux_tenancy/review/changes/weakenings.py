"""What a changed field weakens or hands to others: one table over objects, in which each row is data.

A row reads values by key from the objects of some kinds, compares those of both versions, and has one sentence.
What is said of access, of deletions and of replacements is not repeated here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.printable import without_passwords
from flux_tenancy.components.tenant.capsule.names import TENANT
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    OCI_REPOSITORY,
    TENANT_LABEL,
)
from flux_tenancy.review.access.words import counted
from flux_tenancy.review.changes import comparisons, values
from flux_tenancy.review.changes.fields import label, shortened
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.words.statement import Statement

_SOURCES = (GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET)
_VALUE = 160
"""Characters of a value in a sentence."""
_QUOTAS = "quotas of namespace"
"""The kind of what stands for all ResourceQuotas of a namespace."""


@dataclass(frozen=True)
class Weakening:
    """A row of the table.

    Attributes:
        kinds: the kinds of objects.
        read: the values.
        matters: which differences are said.
        sentence: `{keys}`, `{labels}`, `{before}` and `{after}` stand for what differs, and where.
        is_risk: whether it is a risk; else it is only explained.
        of_new: whether it is said of objects that come with the change, too.
        of_gone: whether it is said of objects that go, too, unless their namespace goes, or all syncs of their owner.
    """

    kinds: tuple[str, ...]
    read: values.Read
    matters: comparisons.Compare
    sentence: str
    is_risk: bool = True
    of_new: bool = False
    of_gone: bool = False


_ENTRIES = (("labels", "the labels of"), ("annotations", "the annotations of"))
_SUSPENDABLE = (KUSTOMIZATION, HELM_RELEASE, *_SOURCES)
_TRANSFORMATIONS = ("patches", "images", "components", "namePrefix", "nameSuffix", "postRenderers")
WEAKENINGS = (
    Weakening(
        ("Cluster",),
        values.of(("properties",)),
        comparisons.was_given,
        "is for another cluster: {keys} {after} (before: {before})",
    ),
    Weakening(_SOURCES, values.at("spec", "verify"), comparisons.goes, "no longer verifies a signature of {labels}"),
    Weakening(
        _SOURCES, values.at("spec", "verify"), comparisons.comes, "now verifies a signature of {labels}", is_risk=False
    ),
    Weakening(
        _SOURCES,
        values.signer,
        comparisons.is_replaced,
        "accepts another signer of {labels}: {after} (before: {before})",
    ),
    Weakening(
        _SOURCES,
        values.at("spec", "verify", "mode"),
        comparisons.is_laxer,
        "verifies the signature of {after} in {labels} (before: {before})",
    ),
    Weakening(("Secret",), values.signers, comparisons.comes, "accepts another signer or key: {after} in {labels}"),
    Weakening(
        ("Secret",),
        values.signers,
        comparisons.goes,
        "no longer accepts a key of the signer {before} in {labels}",
        is_risk=False,
    ),
    Weakening(("Secret",), values.host_keys, comparisons.is_replaced, "trusts another host key of {keys}"),
    Weakening(
        ("Secret",),
        values.of(("stringData",), "ca.crt"),
        comparisons.is_replaced,
        "trusts another certificate authority in {labels}",
    ),
    Weakening(
        ("Secret",),
        values.of(("stringData",), "ca.crt"),
        comparisons.comes,
        "trusts the certificate authority in {labels}, which the stack names",
        is_risk=False,
        of_new=True,
    ),
    Weakening(
        ("Secret",),
        values.of(("stringData",), "githubAppBaseURL"),
        comparisons.is_given,
        "sends the signed tokens of a GitHub App to {after} (before: {before})",
    ),
    Weakening(
        _SOURCES, values.at("spec", "insecure"), comparisons.becomes(True), "fetches {labels} without TLS", of_new=True
    ),
    Weakening(
        (HELM_REPOSITORY,),
        values.at("spec", "passCredentials"),
        comparisons.becomes(True),
        "sends the credentials of {labels} to any host that its index names",
        of_new=True,
    ),
    Weakening(
        (OCI_REPOSITORY, HELM_REPOSITORY, BUCKET),
        values.of(("spec",), "url", "endpoint", "bucketName"),
        comparisons.differs,
        "fetches {labels} from another {keys}: {after} (before: {before})",
    ),
    Weakening(
        (GIT_REPOSITORY, OCI_REPOSITORY, BUCKET),
        values.at("spec", "ignore"),
        comparisons.leaves_out,
        "leaves other files out of {labels} (ignore): where Flux prunes, it deletes what it applied from them",
    ),
    Weakening(
        (KUSTOMIZATION,),
        values.at("spec", "prune"),
        comparisons.was(True),
        "no longer prunes with {labels}: objects that are removed from Git stay in the cluster",
    ),
    Weakening(
        _SUSPENDABLE,
        values.at("spec", "suspend"),
        comparisons.becomes(True),
        "suspends {labels}: Flux applies no changes and corrects no drift",
    ),
    Weakening(
        (KUSTOMIZATION,),
        values.at("spec", "force"),
        comparisons.becomes(True),
        "forces {labels}: Flux deletes and recreates objects whose immutable fields change",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION,),
        values.at("spec", "deletionPolicy"),
        comparisons.becomes("Orphan"),
        "has the deletionPolicy Orphan in {labels}: the applied objects stay when it is deleted",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE),
        values.of(("spec",), *_TRANSFORMATIONS),
        comparisons.differs,
        "has other {keys} in {labels}, so Flux applies something else than the source has",
    ),
    Weakening(
        (HELM_RELEASE,),
        values.at("spec", "driftDetection", "mode"),
        comparisons.was("enabled"),
        "no longer corrects drift of {labels}",
    ),
    Weakening(
        (HELM_RELEASE,),
        values.of(("spec", "chart", "spec"), "chart", "sourceRef"),
        comparisons.differs,
        "installs another chart with {labels}: {after} (before: {before})",
    ),
    Weakening(
        (HELM_RELEASE,),
        values.at("spec", "chartRef", "name"),
        comparisons.differs,
        "installs another chart with {labels}: {after} (before: {before})",
    ),
    # Source: https://fluxcd.io/flux/components/helm/helmreleases/#release-name
    Weakening(
        (HELM_RELEASE,),
        values.placement,
        comparisons.differs,
        "uninstalls and reinstalls {labels}: {keys} is {after} (before: {before})",
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE),
        lambda manifest: (
            values.at("spec", "ignore")(manifest) or values.at("spec", "driftDetection", "ignore")(manifest)
        ),
        comparisons.gains,
        "no longer corrects drift of some fields with {labels} ({keys})",
    ),
    Weakening(
        (KUSTOMIZATION,),
        values.of(("spec", "postBuild")),
        comparisons.differs,
        "has other variables in {labels} ({keys})",
        is_risk=False,
    ),
    *(
        Weakening(
            (KUSTOMIZATION, HELM_RELEASE),
            values.common_entries(field),
            comparisons.differs,
            f"has {{keys}}: {{after}} in {of} all objects of {{labels}} (before: {{before}}), "
            "which other controllers may read",
            of_new=True,
        )
        for field, of in _ENTRIES
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE, *_SOURCES),
        values.intervals,
        comparisons.is_rare,
        "reconciles {labels} only every {after} ({keys}): changes and drift may stay as long",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE, *_SOURCES),
        values.at("spec", "timeout"),
        comparisons.is_hasty,
        "gives up on {labels} after {after} (before: {before}), which is hardly ever enough",
    ),
    Weakening(
        ("Alert",),
        values.at("spec", "exclusionList"),
        comparisons.gains,
        "no longer reports all events with {labels} ({keys}: {after})",
    ),
    Weakening(
        ("Alert",),
        values.at("spec", "inclusionList"),
        comparisons.narrows,
        "no longer reports all events with {labels} ({keys}: {after})",
    ),
    Weakening(
        ("Alert",),
        values.event_kinds,
        comparisons.goes,
        "no longer reports events of {keys} with {labels}",
        of_gone=True,
    ),
    Weakening(
        ("Provider",),
        values.of(("spec",), "address", "type"),
        comparisons.is_replaced,
        "sends events, and the credentials of {labels}, to another {keys}: {after} (before: {before})",
    ),
    Weakening(
        ("Deployment",),
        values.argument("--concurrent"),
        comparisons.many_workers,
        "runs {after} workers ({keys}) in {labels}",
        of_new=True,
    ),
    Weakening(
        ("Deployment",),
        values.other_arguments,
        comparisons.differs,
        "starts {labels} with {keys}: {after} (before: {before})",
    ),
    Weakening(
        ("Deployment",),
        values.argument("--log-level"),
        comparisons.becomes("debug", "trace"),
        "logs details in {labels} ({keys}={after})",
    ),
    Weakening(
        ("Deployment",),
        values.proxies,
        comparisons.is_given,
        "sends HTTP requests of {labels} through {after} (before: {before})",
    ),
    Weakening(
        ("Deployment",), values.proxies, comparisons.goes, "no longer sends HTTP requests of {labels} through {before}"
    ),
    Weakening(
        ("Deployment",), values.direct, comparisons.comes, "may connect to {keys} from {labels} without the proxy"
    ),
    Weakening(
        (_QUOTAS,), values.of(("hard",)), comparisons.is_multiplied, "may have {after} of {keys} (before: {before})"
    ),
    Weakening(
        (_QUOTAS,), values.of(("hard",)), comparisons.is_zero, "may no longer have any {keys} (before: {before})"
    ),
    Weakening((_QUOTAS,), values.of(("hard",)), comparisons.goes, "loses the limit of {keys} in the {labels}"),
    Weakening(
        (TENANT,),
        values.shared_limits,
        comparisons.is_multiplied,
        "may have {after} of {keys} with Capsule (before: {before})",
    ),
    Weakening(
        (TENANT,),
        values.shared_limits,
        comparisons.is_zero,
        "may no longer have any {keys} with Capsule (before: {before})",
    ),
    Weakening((TENANT,), values.shared_limits, comparisons.goes, "loses the limit of {keys} with Capsule"),
    Weakening(
        (TENANT,),
        values.at("spec", "nodeSelector"),
        comparisons.was_given,
        "may use other nodes with Capsule: {after} (before: {before})",
    ),
    Weakening(
        (TENANT,), values.classes, comparisons.opens, "may use other {keys} with Capsule: {after} (before: {before})"
    ),
    Weakening(
        ("Release",),
        values.administrators,
        comparisons.comes,
        "lets {keys} add namespaces to any tenant of Capsule, and remove them",
    ),
    Weakening(
        ("LimitRange",), values.maximums, comparisons.is_multiplied, "may have {after} of {keys} (before: {before})"
    ),
    Weakening(("LimitRange",), values.maximums, comparisons.goes, "loses the maximum of {keys}"),
    Weakening(
        ("Namespace",),
        values.of(("metadata", "labels"), TENANT_LABEL),
        comparisons.is_replaced,
        "takes over {labels} with everything in it from {before}",
    ),
    *(
        Weakening(
            ("Namespace", "ServiceAccount"),
            values.entries(field),
            comparisons.differs,
            f"has {{keys}}: {{after}} in {of} {{labels}} (before: {{before}}), which other controllers may read",
            of_new=True,
        )
        for field, of in _ENTRIES
    ),
)
"""All rows."""


def weakenings(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Statement]:
    """What the changed objects weaken, the same of several objects and keys once.

    Args:
        before: all objects at the merge base.
        after: all objects now.
    """
    # By kind, since an API may have another version.
    old, new = (
        {(each.kind, each.namespace, each.name): each for each in _with_joint_quotas(objects)}
        for objects in (before, after)
    )
    staying = {each.name for each in new.values() if each.kind == "Namespace"}
    synced = {each.owner for each in new.values() if each.kind in _SUSPENDABLE}
    found: dict[tuple[str, Weakening, str, str], tuple[list[str], list[str]]] = {}
    for key, each in (old | new).items():
        earlier, later = old.get(key), new.get(key)
        if earlier and later and earlier.digest == later.digest:
            continue
        is_gone = later is None and (each.namespace not in staying or each.owner not in synced)
        for row in WEAKENINGS:
            if each.kind not in row.kinds or not (earlier or row.of_new) or is_gone or not (later or row.of_gone):
                continue
            versions = [row.read(one.manifest) if one else {} for one in (earlier, later)]
            for name in sorted({*versions[0], *versions[1]}):
                was, is_now = (version.get(name) for version in versions)
                if was != is_now and row.matters(was, is_now):
                    shown = _shown(was, is_now) if "{before}" in row.sentence else ("", _shown(None, is_now)[1])
                    keys, labels = found.setdefault((each.owner, row, *shown), ([], []))
                    keys.append(name)
                    labels.append(label(each))
    for (owner, row, was, is_now), (keys, labels) in found.items():
        words = {"keys": counted(dict.fromkeys(keys), ""), "labels": counted(dict.fromkeys(labels), "")}
        yield Statement(owner, row.sentence.format(before=was, after=is_now, **words), risk=row.is_risk)


def _with_joint_quotas(objects: Iterable[RenderedObject]) -> Iterator[RenderedObject]:
    """All objects but quotas, and one for the quotas of each namespace: a limit may move from one to another."""
    owners: dict[str, str] = {}
    hard: dict[str, dict[str, Any]] = defaultdict(dict)
    for each in objects:
        if each.kind == "Namespace":
            owners.setdefault(each.name, each.owner)
        if each.kind != "ResourceQuota":
            yield each
            continue
        owners[each.namespace] = each.owner
        joint = hard[each.namespace]
        for key, value in each.manifest["spec"].get("hard", {}).items():
            kind = key.removeprefix("count/")
            joint[kind] = min(joint.get(kind, value), value, key=comparisons.quantity)
    for namespace, owner in owners.items():
        manifest = {"kind": _QUOTAS, "metadata": {"name": namespace}, "hard": hard[namespace]}
        yield RenderedObject(owner, _QUOTAS, namespace, manifest)


def _shown(before: Any, after: Any) -> tuple[str, str]:
    """Two values as a sentence shows them; long ones around what differs."""
    was, is_now = (
        each if len(each) <= _VALUE else f"{each[:_VALUE]}…" for each in shortened(_text(before), _text(after), _VALUE)
    )
    return was, is_now


def _text(value: Any) -> str:
    # Before a password loses the @ at its end.
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return "none" if value is None else without_passwords(text)
