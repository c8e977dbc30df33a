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
from flux_tenancy.components.installs.flux.config import SELECTOR
from flux_tenancy.components.installs.flux.lanes import lane_of, selector_of
from flux_tenancy.components.installs.flux.lockdown_environment import PROXY_VARIABLES
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.tenant.capsule.names import TENANT
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
from flux_tenancy.review.access.policy_settings import FACTOR
from flux_tenancy.review.access.words import counted
from flux_tenancy.review.changes.fields import is_descriptive, is_meaningful, label, shortened
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.words.statement import Statement

_SOURCES = (GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET)
_MANY_WORKERS = 100
_RARE_SECONDS = 86_400.0
"""From this interval on, nobody can count on the correction of drift."""
_HASTY_SECONDS = 10.0
"""Below it, hardly any timeout is long enough for a fetch or an apply."""
_VALUE = 160
"""Characters of a value in a sentence."""
_SUFFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9} | {
    f"{letter}{binary}": float(base**power)
    for binary, base in (("", 1000), ("i", 1024))
    for power, letters in enumerate(("kK", "M", "G", "T", "P", "E"), 1)
    for letter in letters
}
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")
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
        of_gone: whether it is said of objects that go, too, unless their namespace goes, or all syncs of their owner.
    """

    kinds: tuple[str, ...]
    read: Read
    matters: Compare
    sentence: str
    is_risk: bool = True
    of_new: bool = False
    of_gone: bool = False


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


def _entries(field: str) -> Read:
    """Labels or annotations that may have an effect of which no other sentence tells."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = manifest["metadata"].get(field) or {}
        return {
            key: value
            for key, value in found.items()
            if not is_descriptive(key, value) and not is_meaningful(key) and key not in IDENTITIES
        }

    return read


def _common_entries(field: str) -> Read:
    """Labels or annotations that a sync or a release adds to all of its objects, but not its own lane."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        entries = (manifest["spec"].get("commonMetadata") or {}).get(field) or {}
        lane = (LANE_LABEL, manifest["metadata"].get("labels", {}).get(LANE_LABEL))
        return {k: value for k, value in entries.items() if not is_descriptive(k, value) and (k, value) != lane}

    return read


def _intervals(manifest: Manifest) -> Mapping[str, Any]:
    spec = manifest["spec"]
    found = {
        "interval": spec,
        "interval of the chart": (spec.get("chart") or {}).get("spec") or {},
        "retryInterval": (spec.get("install") or {}).get("strategy") or spec,
    }
    return {key: value for key, each in found.items() if (value := each.get(key.split()[0])) is not None}


def _placement(manifest: Manifest) -> Mapping[str, Any]:
    """Where and under which name Helm keeps a release; its own namespace is the default."""
    home, keys = manifest["metadata"].get("namespace"), ("releaseName", "targetNamespace", "storageNamespace")
    return {"targetNamespace": home, "storageNamespace": home, **_of(("spec",), *keys)(manifest)}


def _signer(manifest: Manifest) -> Mapping[str, Any]:
    """An identity that signs, or that there are keys, of which another row tells."""
    verify = manifest["spec"].get("verify")
    return {"signer": verify.get("matchOIDCIdentity", "a key")} if verify else {}


def _signers(manifest: Manifest) -> Mapping[str, Any]:
    """The names of signers by their keys."""
    is_public = manifest["metadata"]["name"].endswith(f"-{SecretPurpose.SIGNERS}")
    return {key: name for name, key in _of(("stringData",))(manifest).items()} if is_public else {}


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


def _other_arguments(manifest: Manifest) -> Mapping[str, Any]:
    """Arguments of which neither another row nor a sentence about access tells, each feature gate by itself."""
    found = dict(_arguments(manifest))
    for gate in found.pop(_GATES, "").split(","):
        name, _, value = gate.partition("=")
        found |= {f"{_GATES}={name}": value} if gate else {}
    own = SELECTOR + selector_of(lane_of(manifest))
    return {key: value for key, value in found.items() if key not in _TOLD and f"{key}={value}" != own}


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


def _administrators(manifest: Manifest) -> Mapping[str, Any]:
    options = _at("properties", "values", "manager", "options")(manifest).get("options") or {}
    return {f"{each['kind'].lower()} {each['name']}": True for each in options.get("administrators") or ()}


def _shared_limits(manifest: Manifest) -> Mapping[str, Any]:
    """The limits of a Tenant of Capsule in all of its namespaces."""
    spec = manifest["spec"]
    quotas = (quota for rule in spec.get("rules") or () for quota in rule.get("quota") or ())
    return {key: value for quota in quotas for key, value in quota["hard"].items()} | {
        "namespaces": spec["namespaceOptions"]["quota"]
    }


def _classes(manifest: Manifest) -> Mapping[str, Any]:
    """The classes that a Tenant of Capsule may use, by their kind; nothing for those that are not limited."""
    spec = manifest["spec"]
    limited = {key: spec.get(key) for key in ("priorityClasses", "runtimeClasses", "storageClasses")}
    limited["ingressClasses"] = (spec.get("ingressOptions") or {}).get("allowedClasses")
    return {key: each["allowed"] for key, each in limited.items() if each}


def _event_kinds(manifest: Manifest) -> Mapping[str, Any]:
    return {each["kind"]: True for each in manifest["spec"].get("eventSources") or ()}


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


def _was_given(before: Any, _after: Any) -> bool:
    return before is not None


def _goes(_before: Any, after: Any) -> bool:
    return after is None


def _gains(before: Any, after: Any) -> bool:
    """Whether a list has further entries."""
    return any(each not in (before or ()) for each in after or ())


def _opens(before: Any, after: Any) -> bool:
    """Whether a list allows more; without one, everything is allowed."""
    return before is not None and (after is None or _gains(before, after))


def _narrows(before: Any, after: Any) -> bool:
    return _opens(after, before)


def _leaves_out(before: Any, after: Any) -> bool:
    """Whether patterns of files may match further ones; each that begins with `!` takes files back in."""
    old, new = ((each or "").splitlines() for each in (before, after))
    return _gains(old, new) or any(each.startswith("!") for each in old)


def _is_hasty(before: Any, after: Any) -> bool:
    return _is_replaced(before, after) and seconds(after) < min(_HASTY_SECONDS, seconds(before))


def _is_laxer(before: Any, after: Any) -> bool:
    return _is_replaced(before, after) and after != "TagAndHEAD"


def _is_replaced(before: Any, after: Any) -> bool:
    return before is not None and after is not None


def _is_multiplied(before: Any, after: Any) -> bool:
    return before is not None and after is not None and _quantity(after) >= FACTOR * _quantity(before)


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


_GATES = FEATURE_GATES.removesuffix("=")
# Of where the controllers send events, no sentence about access tells.
_TOLD = {
    "--concurrent",
    "--log-level",
    *(f"--{each}" for each in FORBIDDEN_FLAGS),
    *({each.argument.rpartition("=")[0] for each in LOCKDOWN_FLAGS} - {"--events-addr"}),
}
_ENTRIES = (("labels", "the labels of"), ("annotations", "the annotations of"))
_SUSPENDABLE = (KUSTOMIZATION, HELM_RELEASE, *_SOURCES)
_TRANSFORMATIONS = ("patches", "images", "components", "namePrefix", "nameSuffix", "postRenderers")
WEAKENINGS = (
    Weakening(
        ("Cluster",), _of(("properties",)), _was_given, "is for another cluster: {keys} {after} (before: {before})"
    ),
    Weakening(_SOURCES, _at("spec", "verify"), _goes, "no longer verifies a signature of {labels}"),
    Weakening(_SOURCES, _at("spec", "verify"), _comes, "now verifies a signature of {labels}", is_risk=False),
    Weakening(_SOURCES, _signer, _is_replaced, "accepts another signer of {labels}: {after} (before: {before})"),
    Weakening(
        _SOURCES,
        _at("spec", "verify", "mode"),
        _is_laxer,
        "verifies the signature of {after} in {labels} (before: {before})",
    ),
    Weakening(("Secret",), _signers, _comes, "accepts another signer or key: {after} in {labels}"),
    Weakening(
        ("Secret",), _signers, _goes, "no longer accepts a key of the signer {before} in {labels}", is_risk=False
    ),
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
        _leaves_out,
        "leaves other files out of {labels} (ignore): where Flux prunes, it deletes what it applied from them",
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
        _placement,
        _differs,
        "uninstalls and reinstalls {labels}: {keys} is {after} (before: {before})",
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE),
        lambda manifest: _at("spec", "ignore")(manifest) or _at("spec", "driftDetection", "ignore")(manifest),
        _gains,
        "no longer corrects drift of some fields with {labels} ({keys})",
    ),
    Weakening(
        (KUSTOMIZATION,),
        _of(("spec", "postBuild")),
        _differs,
        "has other variables in {labels} ({keys})",
        is_risk=False,
    ),
    *(
        Weakening(
            (KUSTOMIZATION, HELM_RELEASE),
            _common_entries(field),
            _differs,
            f"has {{keys}}: {{after}} in {of} all objects of {{labels}} (before: {{before}}), "
            "which other controllers may read",
            of_new=True,
        )
        for field, of in _ENTRIES
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE, *_SOURCES),
        _intervals,
        _is_rare,
        "reconciles {labels} only every {after} ({keys}): changes and drift may stay as long",
        of_new=True,
    ),
    Weakening(
        (KUSTOMIZATION, HELM_RELEASE, *_SOURCES),
        _at("spec", "timeout"),
        _is_hasty,
        "gives up on {labels} after {after} (before: {before}), which is hardly ever enough",
    ),
    Weakening(
        ("Alert",), _at("spec", "exclusionList"), _gains, "no longer reports all events with {labels} ({keys}: {after})"
    ),
    Weakening(
        ("Alert",),
        _at("spec", "inclusionList"),
        _narrows,
        "no longer reports all events with {labels} ({keys}: {after})",
    ),
    Weakening(("Alert",), _event_kinds, _goes, "no longer reports events of {keys} with {labels}", of_gone=True),
    Weakening(
        ("Provider",),
        _of(("spec",), "address", "type"),
        _is_replaced,
        "sends events, and the credentials of {labels}, to another {keys}: {after} (before: {before})",
    ),
    Weakening(
        ("Deployment",),
        _argument("--concurrent"),
        _many_workers,
        "runs {after} workers ({keys}) in {labels}",
        of_new=True,
    ),
    Weakening(("Deployment",), _other_arguments, _differs, "starts {labels} with {keys}: {after} (before: {before})"),
    Weakening(
        ("Deployment",),
        _argument("--log-level"),
        _becomes("debug", "trace"),
        "logs details in {labels} ({keys}={after})",
    ),
    Weakening(
        ("Deployment",), _proxies, _is_given, "sends HTTP requests of {labels} through {after} (before: {before})"
    ),
    Weakening(("Deployment",), _proxies, _goes, "no longer sends HTTP requests of {labels} through {before}"),
    Weakening(("Deployment",), _direct, _comes, "may connect to {keys} from {labels} without the proxy"),
    Weakening((_QUOTAS,), _of(("hard",)), _is_multiplied, "may have {after} of {keys} (before: {before})"),
    Weakening((_QUOTAS,), _of(("hard",)), _is_zero, "may no longer have any {keys} (before: {before})"),
    Weakening((_QUOTAS,), _of(("hard",)), _goes, "loses the limit of {keys} in the {labels}"),
    Weakening((TENANT,), _shared_limits, _is_multiplied, "may have {after} of {keys} with Capsule (before: {before})"),
    Weakening((TENANT,), _shared_limits, _is_zero, "may no longer have any {keys} with Capsule (before: {before})"),
    Weakening((TENANT,), _shared_limits, _goes, "loses the limit of {keys} with Capsule"),
    Weakening(
        (TENANT,),
        _at("spec", "nodeSelector"),
        _was_given,
        "may use other nodes with Capsule: {after} (before: {before})",
    ),
    Weakening((TENANT,), _classes, _opens, "may use other {keys} with Capsule: {after} (before: {before})"),
    Weakening(
        ("Release",), _administrators, _comes, "lets {keys} add namespaces to any tenant of Capsule, and remove them"
    ),
    Weakening(("LimitRange",), _maximums, _is_multiplied, "may have {after} of {keys} (before: {before})"),
    Weakening(("LimitRange",), _maximums, _goes, "loses the maximum of {keys}"),
    Weakening(
        ("Namespace",),
        _of(("metadata", "labels"), TENANT_LABEL),
        _is_replaced,
        "takes over {labels} with everything in it from {before}",
    ),
    *(
        Weakening(
            ("Namespace", "ServiceAccount"),
            _entries(field),
            _differs,
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
            values = [row.read(one.manifest) if one else {} for one in (earlier, later)]
            for name in sorted({*values[0], *values[1]}):
                was, is_now = (value.get(name) for value in values)
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
            joint[kind] = min(joint.get(kind, value), value, key=_quantity)
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
