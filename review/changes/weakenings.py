"""What a changed field weakens or hands to others: one table over objects, in which each row is data.

A row reads values by key from the objects of some kinds, compares those of both versions, and has one sentence.
What is said of access, of deletions and of replacements is not repeated here.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.printable import without_passwords
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.installs.flux.lockdown_environment import PROXY_VARIABLES
from flux_tenancy.components.tenant.network import OPENINGS_SUFFIX
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    LANE_LABEL,
    OCI_REPOSITORY,
    TENANT_LABEL,
)
from flux_tenancy.components.vocabulary.object_meta import SecretPurpose
from flux_tenancy.review.access.boundaries import IDENTITIES
from flux_tenancy.review.access.openings import is_wide
from flux_tenancy.review.access.words import counted
from flux_tenancy.review.changes.fields import is_descriptive, is_meaningful, label
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.words.statement import Statement

_SOURCES = (GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET)
_FACTOR = 4
"""A limit that grows less than this is an adjustment."""
_MANY_WORKERS = 100
_RARE_SECONDS = 86_400.0
"""From this interval on, nobody can count on the correction of drift."""
_VALUE = 80
"""Characters of a value in a sentence."""
_SUFFIXES = {"": 1.0, "m": 1e-3} | {
    f"{letter}{binary}": float(base**power)
    for binary, base in (("", 1000), ("i", 1024))
    for power, letters in enumerate(("kK", "M", "G", "T", "P", "E"), 1)
    for letter in letters
}
_QUANTITY = re.compile(r"([0-9.]+)([a-zA-Z]*)")
_QUOTAS = "quotas of namespace"
"""The kind of what stands for all ResourceQuotas of a namespace."""

Read = Callable[[Manifest], Mapping[str, Any]]
"""Values of an object by a key that a sentence can name."""
Compare = Callable[[Any, Any], bool]
"""Whether a value matters that differs from the one before; None stands for an absent one."""


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
    """

    kinds: tuple[str, ...]
    read: Read
    matters: Compare
    sentence: str
    is_risk: bool = True
    of_new: bool = False


def _at(*path: str) -> Read:
    """The value of one field, under its last key; nothing if it is absent."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        value: Any = manifest
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return {} if value is None else {path[-1]: value}

    return read


def _of(path: tuple[str, ...], *keys: str) -> Read:
    """Some of the fields of a mapping; all without keys."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = _at(*path)(manifest).get(path[-1])
        return (
            {key: value for key, value in found.items() if key in keys or not keys} if isinstance(found, dict) else {}
        )

    return read


def _entries(manifest: Manifest) -> Mapping[str, Any]:
    """Labels and annotations that may have an effect of which no other sentence tells."""
    metadata = manifest["metadata"]
    found = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return {
        key: value
        for key, value in found.items()
        if not is_descriptive(key, value) and not is_meaningful(key) and key not in IDENTITIES
    }


def _common_entries(manifest: Manifest) -> Mapping[str, Any]:
    """Labels and annotations that a sync or a release adds to all of its objects, but not its own lane."""
    found = manifest["spec"].get("commonMetadata") or {}
    entries = {**(found.get("labels") or {}), **(found.get("annotations") or {})}
    lane = manifest["metadata"].get("labels", {}).get(LANE_LABEL)
    return {
        k: value for k, value in entries.items() if not (is_descriptive(k, value) or (k, value) == (LANE_LABEL, lane))
    }


def _intervals(manifest: Manifest) -> Mapping[str, Any]:
    return {**_at("spec", "interval")(manifest), **_at("spec", "chart", "spec", "interval")(manifest)}


def _signers(manifest: Manifest) -> Mapping[str, Any]:
    is_public = manifest["metadata"]["name"].endswith(f"-{SecretPurpose.SIGNERS}")
    return _of(("stringData",))(manifest) if is_public else {}


def _host_keys(manifest: Manifest) -> Mapping[str, Any]:
    """The keys of each host."""
    text = _of(("stringData",), "known_hosts")(manifest).get("known_hosts", "")
    found: dict[str, list[str]] = defaultdict(list)
    for line in sorted(text.splitlines()):
        host, _, key = line.partition(" ")
        found[host].append(key)
    return {host: tuple(keys) for host, keys in found.items()}


def _arguments(manifest: Manifest) -> Mapping[str, Any]:
    arguments = _container(manifest).get("args") or ()
    return {name: value for name, _, value in (each.partition("=") for each in arguments)}


def _argument(name: str) -> Read:
    return lambda manifest: {key: value for key, value in _arguments(manifest).items() if key == name}


def _environment(manifest: Manifest) -> Mapping[str, str]:
    return {each["name"]: each.get("value", "") for each in _container(manifest).get("env") or ()}


def _proxies(manifest: Manifest) -> Mapping[str, Any]:
    return {key: value for key, value in _environment(manifest).items() if key in PROXY_VARIABLES}


def _direct(manifest: Manifest) -> Mapping[str, Any]:
    """The hosts that a controller reaches without its proxy."""
    return {host: True for host in _environment(manifest).get("NO_PROXY", "").split(",") if host and "$" not in host}


def _container(manifest: Manifest) -> Mapping[str, Any]:
    containers = manifest["spec"]["template"]["spec"]["containers"]
    return containers[0] if containers else {}


def _networks(manifest: Manifest) -> Mapping[str, Any]:
    """The addresses to which Pods may connect; those of tenants have a sentence (`review.access.openings`)."""
    if manifest["metadata"]["name"].endswith(OPENINGS_SUFFIX):
        return {}
    rules = manifest["spec"].get("egress") or ()
    return {peer["ipBlock"]["cidr"]: True for rule in rules for peer in rule.get("to") or () if "ipBlock" in peer}


def _maximums(manifest: Manifest) -> Mapping[str, Any]:
    return {
        f"{key} of a {each['type']}": value
        for each in manifest["spec"]["limits"]
        for key, value in (each.get("max") or {}).items()
    }


def _differs(_before: Any, _after: Any) -> bool:
    return True


def _becomes(*values: Any) -> Compare:
    return lambda _, after: after in values


def _was(value: Any) -> Compare:
    return lambda before, _: before == value


def _comes(before: Any, _after: Any) -> bool:
    return before is None


def _is_given(_before: Any, after: Any) -> bool:
    return after is not None


def _goes(_before: Any, after: Any) -> bool:
    return after is None


def _is_replaced(before: Any, after: Any) -> bool:
    return before is not None and after is not None


def _is_multiplied(before: Any, after: Any) -> bool:
    return before is not None and after is not None and _quantity(after) >= _FACTOR * _quantity(before)


def _is_rare(before: Any, after: Any) -> bool:
    return (
        after is not None and seconds(after) >= _RARE_SECONDS and (before is None or seconds(after) > seconds(before))
    )


def _is_zero(before: Any, after: Any) -> bool:
    return before is not None and after is not None and _quantity(after) == 0


def _many_workers(before: Any, after: Any) -> bool:
    if after is None or (before is not None and _quantity(after) <= _quantity(before)):
        return False
    return _quantity(after) >= _MANY_WORKERS or _is_multiplied(before, after)


def _quantity(value: Any) -> float:
    """A quantity of Kubernetes; endless if it cannot be read.

    Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    found = _QUANTITY.fullmatch(str(value))
    if found is None or found[2] not in _SUFFIXES:
        return float("inf")
    return float(found[1]) * _SUFFIXES[found[2]]


_SUSPENDABLE = (KUSTOMIZATION, HELM_RELEASE, *_SOURCES)
_TRANSFORMATIONS = ("patches", "images", "components", "ignore", "namePrefix", "nameSuffix", "postRenderers")
WEAKENINGS = (
    Weakening(
        ("Cluster",), _of(("properties",)), _differs, "is for another cluster: {keys} {after} (before: {before})"
    ),
    Weakening(_SOURCES, _at("spec", "verify"), _goes, "no longer verifies a signature of {labels}"),
    Weakening(_SOURCES, _at("spec", "verify"), _comes, "now verifies a signature of {labels}", is_risk=False),
    Weakening(
        _SOURCES,
        _of(("spec", "verify"), "matchOIDCIdentity", "mode"),
        _is_replaced,
        "accepts another signer of {labels}: {after} (before: {before})",
    ),
    Weakening(("Secret",), _signers, _is_given, "accepts another signer or key: {keys} in {labels}"),
    Weakening(("Secret",), _signers, _goes, "no longer accepts the signer {keys} in {labels}", is_risk=False),
    Weakening(("Secret",), _host_keys, _is_replaced, "trusts another host key of {keys}"),
    Weakening(
        ("Secret",), _of(("stringData",), "ca.crt"), _is_replaced, "trusts another certificate authority in {labels}"
    ),
    Weakening(
        ("Secret",),
        _of(("stringData",), "ca.crt"),
        _comes,
        "trusts the certificate authority in {labels}, which the stack names",
        is_risk=False,
        of_new=True,
    ),
    Weakening(
        ("Secret",),
        _of(("stringData",), "githubAppBaseURL"),
        _is_given,
        "sends the signed tokens of a GitHub App to {after} (before: {before})",
    ),
    Weakening(_SOURCES, _at("spec", "insecure"), _becomes(True), "fetches {labels} without TLS", of_new=True),
    Weakening(
        (HELM_REPOSITORY,),
        _at("spec", "passCredentials"),
        _becomes(True),
        "sends the credentials of {labels} to any host that its index names",
        of_new=True,
    ),
    Weakening(
        (OCI_REPOSITORY, HELM_REPOSITORY, BUCKET),
        _of(("spec",), "url", "endpoint", "bucketName"),
        _differs,
        "fetches {labels} from another {keys}: {after} (before: {before})",
    ),
    Weakening(
        (GIT_REPOSITORY, OCI_REPOSITORY, BUCKET),
        _at("spec", "ignore"),
        _differs,
        "leaves other files out of {labels} (ignore): Flux deletes the applied objects that are missing there",
    ),
    Weakening(
        (KUSTOMIZATION,),
        _at("spec", "prune"),
        _was(True),
        "no longer prunes with {labels}: objects that are removed from Git stay in the cluster",
    ),
    Weakening(
        _SUSPENDABLE,
        _at("spec", "suspend"),
        _becomes(True),
        "suspends {labels}: Flux applies no changes and corrects no drift",
    ),
    Weakening(
        (KUSTOMIZATION,),
        _at("spec", "force"),
        _becomes(True),
        "forces {labels}: Flux deletes and recreates objects whose immutable fields change",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION,),
        _at("spec", "deletionPolicy"),
        _becomes("Orphan"),
        "has the deletionPolicy Orphan in {labels}: the applied objects stay when it is deleted",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE),
        _of(("spec",), *_TRANSFORMATIONS),
        _differs,
        "has other {keys} in {labels}, so Flux applies something else than the source has",
    ),
    Weakening(
        (HELM_RELEASE,),
        _at("spec", "driftDetection", "mode"),
        _was("enabled"),
        "no longer corrects drift of {labels}",
    ),
    Weakening(
        (HELM_RELEASE,),
        _of(("spec", "chart", "spec"), "chart", "sourceRef"),
        _differs,
        "installs another chart with {labels}: {after} (before: {before})",
    ),
    Weakening(
        (HELM_RELEASE,),
        _at("spec", "chartRef", "name"),
        _differs,
        "installs another chart with {labels}: {after} (before: {before})",
    ),
    # Source: https://fluxcd.io/flux/components/helm/helmreleases/#release-name
    Weakening(
        (HELM_RELEASE,),
        _of(("spec",), "releaseName", "targetNamespace", "storageNamespace"),
        _differs,
        "uninstalls and reinstalls {labels}: {keys} is {after} (before: {before})",
    ),
    Weakening(
        (HELM_RELEASE,),
        _at("spec", "driftDetection", "ignore"),
        _is_given,
        "no longer corrects drift of some fields with {labels}",
    ),
    Weakening(
        (KUSTOMIZATION,),
        _of(("spec", "postBuild")),
        _differs,
        "has other variables in {labels} ({keys})",
        is_risk=False,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE),
        _common_entries,
        _differs,
        "has {keys}: {after} on all objects of {labels} (before: {before}), which other controllers may read",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE, *_SOURCES),
        _intervals,
        _is_rare,
        "reconciles {labels} only every {after}: changes and drift may stay as long",
        of_new=True,
    ),
    Weakening(
        ("Alert",),
        _of(("spec",), "inclusionList", "exclusionList"),
        _is_given,
        "no longer reports all events with {labels} ({keys}: {after})",
    ),
    Weakening(("Deployment",), _argument("--concurrent"), _many_workers, "runs {after} workers ({keys}) in {labels}"),
    Weakening(
        ("Deployment",),
        _argument("--log-level"),
        _becomes("debug", "trace"),
        "logs details in {labels} ({keys}={after})",
    ),
    Weakening(
        ("Deployment",), _proxies, _differs, "sends HTTP requests of {labels} through {after} (before: {before})"
    ),
    Weakening(("Deployment",), _direct, _comes, "may connect to {keys} from {labels} without the proxy"),
    Weakening(
        ("NetworkPolicy",),
        lambda manifest: {key: value for key, value in _networks(manifest).items() if is_wide(key)},
        _comes,
        "lets Pods connect to any address of {keys} with {labels}",
        of_new=True,
    ),
    Weakening((_QUOTAS,), _of(("hard",)), _is_multiplied, "may have {after} of {keys} (before: {before})"),
    Weakening((_QUOTAS,), _of(("hard",)), _is_zero, "may no longer have any {keys} (before: {before})"),
    Weakening((_QUOTAS,), _of(("hard",)), _goes, "loses the limit of {keys} in the {labels}"),
    Weakening(("LimitRange",), _maximums, _is_multiplied, "may have {after} of {keys} (before: {before})"),
    Weakening(("LimitRange",), _maximums, _goes, "loses the maximum of {keys}"),
    Weakening(
        ("Namespace",),
        _of(("metadata", "labels"), TENANT_LABEL),
        _is_replaced,
        "takes over {labels} with everything in it from {before}",
    ),
    Weakening(
        ("Namespace", "ServiceAccount"),
        _entries,
        _differs,
        "has {keys}: {after} on {labels} (before: {before}), which other controllers may read",
        of_new=True,
    ),
)
"""All rows."""


def weakenings(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Statement]:
    """What the changed objects weaken, the same of several objects and keys once.

    Args:
        before: all objects at the merge base.
        after: all objects now.
    """
    old = {each.key: each for each in _with_joint_quotas(before)}
    found: dict[tuple[str, Weakening, str, str], tuple[list[str], list[str]]] = {}
    for each in _with_joint_quotas(after):
        earlier = old.get(each.key)
        if earlier is not None and earlier.digest == each.digest:
            continue
        for row in WEAKENINGS:
            if each.kind not in row.kinds or (earlier is None and not row.of_new):
                continue
            values = [row.read(earlier.manifest) if earlier else {}, row.read(each.manifest)]
            for key in sorted({*values[0], *values[1]}):
                was, is_now = (value.get(key) for value in values)
                if was != is_now and row.matters(was, is_now):
                    shown = (_shown(was) if "{before}" in row.sentence else "", _shown(is_now))
                    keys, labels = found.setdefault((each.owner, row, *shown), ([], []))
                    keys.append(key)
                    labels.append(label(each))
    for (owner, row, was, is_now), (keys, labels) in found.items():
        words = {"keys": counted(dict.fromkeys(keys), "more"), "labels": counted(dict.fromkeys(labels), "more")}
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
            joint[kind] = min(joint.get(kind, value), value, key=_quantity)
    for namespace, owner in owners.items():
        manifest = {"kind": _QUOTAS, "metadata": {"name": namespace}, "hard": hard[namespace]}
        yield RenderedObject(owner, _QUOTAS, namespace, manifest)


def _shown(value: Any) -> str:
    # Before a password loses the @ at its end.
    text = (
        "none"
        if value is None
        else without_passwords(value if isinstance(value, str) else json.dumps(value, default=str))
    )
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"
