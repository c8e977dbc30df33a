"""What policies would refuse of what runs: a dry run of every object that a content policy matches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kubernetes import client

from flux_tenancy.components.cluster.client import items
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import Policy, PolicyName
from flux_tenancy.components.tenant.annotations import KINDS, WITHOUT_GRANTS
from flux_tenancy.components.tenant.role import OPENED_KINDS, flux_kinds_by_group, resources_of
from flux_tenancy.components.vocabulary.manifests import MAKERS, Manifest
from flux_tenancy.components.vocabulary.names import HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, TENANT_LABEL
from flux_tenancy.operations.admission.answers import MAY_NOT, Response, objections
from flux_tenancy.operations.admission.dry_run import Kind, objects, served_kinds, tenant_namespaces, would_be_created
from flux_tenancy.operations.admission.policies import PolicyInForce
from flux_tenancy.project.errors import OperationError

_WEBHOOK_IS_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<reason>.*)', re.DOTALL)
_KIND_NOT_OPEN = Wording(
    "FT-CFG-680",
    "{objects}: not open to tenant {tenant}, and {refused} by the policy {policy} at the next change",
    "to keep it open, add {entry} to policies.kinds of the tenant, or to tenancy.kinds",
)
# helm-controller labels the HelmCharts that it makes; those are judged with their HelmRelease.
_OF_A_RELEASE = "helm.toolkit.fluxcd.io/name"
# The authorizer's message names the user; messages of admission do not.
_NOT_ALLOWED = re.compile(r'[^:]* is forbidden: User "')


@dataclass(frozen=True, order=True)
class Place:
    """An object of a tenant, in the order of the report."""

    tenant: str
    namespace: str
    kind: str
    name: str


@dataclass(frozen=True, order=True)
class Violation:
    """An objection of a policy to an object.

    Attributes:
        place: the object, or its controller.
        message: the policy's message.
        mode: whether the policy already refuses, or only warns.
        engines: the engines that object.
    """

    place: Place
    policy: PolicyName
    message: str
    mode: PolicyMode
    engines: tuple[PolicyEngine, ...]


@dataclass(frozen=True, order=True)
class OtherRefusal:
    """Why something other than this project's policies would refuse an object, e.g. a quota or Pod Security."""

    place: Place
    reason: str


@dataclass(frozen=True, order=True)
class GrantedObject:
    """An object to which a policy objects only without the grants of its tenant."""

    place: Place
    policy: PolicyName


@dataclass(frozen=True)
class Findings:
    """What was found, sorted.

    Attributes:
        asked: number of objects that were tried.
        findings: the objections of policies.
        others: other refusals.
        granted: what is allowed only because of a grant.
    """

    asked: int
    findings: list[Violation]
    others: list[OtherRefusal]
    granted: list[GrantedObject] = field(default_factory=list)


def find(
    api: client.ApiClient, policies: Sequence[Policy], relaxed: Mapping[str, Collection[str]] | None = None
) -> Findings:
    """Dry-run a copy of every tenant object that one of these content policies matches.

    Objects of tenants with grants are tried once more without the grants.

    Args:
        relaxed: names of the policies that grants relax, by tenant.

    Raises:
        OperationError: an answer does not come from the policies: a webhook is down, or the user may not dry-run.
        ApiException: the API server refuses to list objects.
    """
    namespaces = tenant_namespaces(api)
    watched = watched_kinds(api, policies)
    asked = 0
    engines: dict[tuple[Place, PolicyName, str, PolicyMode], set[PolicyEngine]] = defaultdict(set)
    others, granted = set(), []
    for kind in watched:
        for manifest in objects(api, kind, namespaces):
            if _is_judged_by_its_controller(manifest, kind, watched):
                continue
            answer = would_be_created(api, kind, manifest)
            asked += 1
            _check(answer, manifest)
            place = _place(manifest, namespaces)
            found = objections(answer)
            for each in found:
                engines[place, each.policy, each.message, each.mode].add(each.engine)
            if answer.refused and not any(each.mode is PolicyMode.ENFORCE for each in found):
                others.add(OtherRefusal(place, printable(answer.message)))
            if policies_of := watched[kind] & set((relaxed or {}).get(place.tenant, ())):
                without = objections(would_be_created(api, kind, _without_grants(manifest)))
                only_without = {each.policy for each in without} - {each.policy for each in found}
                granted += [GrantedObject(place, policy) for policy in policies_of & only_without]
    findings = [Violation(*said, tuple(sorted(by))) for said, by in engines.items()]
    return Findings(asked, sorted(findings), sorted(others), sorted(granted))


def closed_kinds(api: client.ApiClient, opened: Iterable[str], in_force: Sequence[PolicyInForce]) -> list[Violation]:
    """Objections to objects of Flux's kinds that are not open: a dry run by the platform does not show them.

    Args:
        opened: the kinds that the stack opens to all tenants.
        in_force: the policies that the cluster evaluates.

    Raises:
        ApiException: the API server refuses to list objects.
    """
    engines: dict[PolicyMode, list[PolicyEngine]] = defaultdict(list)
    for each in in_force:
        if each.policy is PolicyName.ALLOWED_KINDS:
            engines[each.mode].append(each.engine)
    if not engines:
        return []
    found, namespaces = [], tenant_namespaces(api)
    annotations = {
        each["metadata"]["name"]: each["metadata"].get("annotations", {})
        for each in items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL)
    }
    kinds = [kind for group, names in flux_kinds_by_group() for kind in served_kinds(api, group, names)]
    for manifest in (each for kind in kinds for each in objects(api, kind, namespaces)):
        metadata, entry = manifest["metadata"], _closed_kind(manifest)
        own = annotations.get(metadata["namespace"], {}).get(KINDS, "").split()
        if entry is None or TENANT_LABEL in metadata.get("labels", {}):
            continue
        if {*resources_of([entry])} & {*resources_of(opened), *own}:
            continue
        place = _place(manifest, namespaces)
        shown = f"{place.kind} {place.namespace}/{place.name}"
        for mode, by in engines.items():
            refused = "warned about" if mode is PolicyMode.AUDIT else "refused"
            message = _KIND_NOT_OPEN(
                objects=shown, tenant=place.tenant, entry=entry, refused=refused, policy=PolicyName.ALLOWED_KINDS
            )
            found.append(Violation(place, PolicyName.ALLOWED_KINDS, message, mode, tuple(sorted(by))))
    return found


def _closed_kind(found: Manifest) -> str | None:
    """The entry of `kinds` that an object needs; None if its kind is always open."""
    kind, spec = found["kind"], found.get("spec", {})
    if kind in (HELM_CHART, HELM_RELEASE):
        if _OF_A_RELEASE in found["metadata"].get("labels", {}):
            return None
        chart = spec if kind == HELM_CHART else spec.get("chart", {}).get("spec", {})
        source = chart.get("sourceRef", {}).get("kind", HELM_REPOSITORY)
        return None if source == HELM_REPOSITORY else HELM_CHART
    return kind if kind in OPENED_KINDS else None


def _without_grants(manifest: Manifest) -> Manifest:
    """The object with the annotation that makes policies ignore the grants of its tenant."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), WITHOUT_GRANTS: "true"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def watched_kinds(api: client.ApiClient, policies: Sequence[Policy]) -> dict[Kind, frozenset[PolicyName]]:
    """The kinds that policies match, with those policies; subresources are requests, not objects."""
    wanted: dict[tuple[str, str], set[PolicyName]] = defaultdict(set)
    for policy in policies:
        for resources in policy.resources:
            for name in resources.names:
                if "/" not in name:
                    wanted[resources.group, name].add(policy.name)
    groups = sorted({group for group, _ in wanted})
    return {
        kind: frozenset(wanted[group, kind.resource])
        for group in groups
        for kind in served_kinds(api, group, [name for of, name in wanted if of == group])
    }


def _controller(manifest: Manifest) -> Mapping[str, str] | None:
    owners = manifest["metadata"].get("ownerReferences", ())
    return next((owner for owner in owners if owner.get("controller")), None)


def _is_judged_by_its_controller(manifest: Manifest, kind: Kind, watched: Mapping[Kind, frozenset[PolicyName]]) -> bool:
    """Whether every policy that matches an object matches its controller, too, such as the Deployment of a ReplicaSet.

    A controller of Kubernetes leaves no object of another kind to an owner reference that somebody else has written.
    """
    if (owner := _controller(manifest)) is None or owner["kind"] not in MAKERS.get(kind.name, ()):
        return False
    group = owner["apiVersion"].rpartition("/")[0]
    return any(
        watched[kind] <= policies
        for other, policies in watched.items()
        if other.name == owner["kind"] and other.api_version.rpartition("/")[0] == group
    )


def _place(manifest: Manifest, namespaces: Mapping[str, str]) -> Place:
    """An object, or its controller, which is what somebody can correct."""
    metadata = manifest["metadata"]
    shown = _controller(manifest) or {"kind": manifest["kind"], "name": metadata["name"]}
    # The API server does not validate owner references.
    kind, name = printable(shown["kind"]), printable(shown["name"])
    return Place(namespaces[metadata["namespace"]], metadata["namespace"], kind, name)


def _check(answer: Response, manifest: Manifest) -> None:
    """Check that an answer comes from the whole admission chain."""
    message = printable(answer.message)
    what = f"{manifest['kind']} {manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
    # A refusal may repeat a text of the object.
    if answer.status >= 500 and (found := _WEBHOOK_IS_DOWN.search(message)):
        raise OperationError(
            Message(
                "FT-OPS-040",
                f"webhook {found['name']} does not answer for {what}: {found['reason']}",
                "check that its pods run (for Kyverno: `kubectl get pods -n kyverno`), and run the command again",
            )
        )
    if answer.status == 401 or _NOT_ALLOWED.match(message):
        raise OperationError(MAY_NOT(action=f"dry-run {what}", message=message))
    if answer.status >= 500 or answer.status == 429:
        raise OperationError(
            Message(
                "FT-OPS-042",
                f"the API server answers {answer.status} to a dry run of {what}: {message}",
                "run the command again once the API server is healthy",
            )
        )
