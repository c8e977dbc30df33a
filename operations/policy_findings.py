"""What would be refused of what runs: every object that a policy of content looks at, asked for as a dry run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubernetes import client

from components.cluster.manifests import Manifest
from components.config.printable import printable
from components.policies.config import PolicyEngine, PolicyMode
from components.policies.names import PolicyName
from components.policies.policy import Policy
from operations.admission_answers import Answer, objections
from operations.dry_run import Kind, objects, served_kinds, tenant_namespaces, would_be_created
from operations.errors import OperationError

_WEBHOOK_IS_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<reason>.*)', re.DOTALL)
# What the authorizer says; admission says why an object is forbidden, and to nobody in particular.
_NOT_ALLOWED = re.compile(r'[^:]* is forbidden: User "')


@dataclass(frozen=True, order=True)
class Place:
    """An object of a tenant, in the order of the report."""

    tenant: str
    namespace: str
    kind: str
    name: str


@dataclass(frozen=True, order=True)
class Finding:
    """What a policy has against an object.

    Attributes:
        place: the object, or what controls it.
        policy: which policy.
        message: its words.
        mode: whether the policy refuses already, or warns only.
        engines: those that say so.
    """

    place: Place
    policy: PolicyName
    message: str
    mode: PolicyMode
    engines: tuple[PolicyEngine, ...]


@dataclass(frozen=True, order=True)
class OtherRefusal:
    """Why something that is no policy of this project would refuse an object, e.g. a quota or Pod Security."""

    place: Place
    reason: str


@dataclass(frozen=True)
class Findings:
    """What was found, sorted.

    Attributes:
        asked: number of objects that were asked for.
        findings: what policies have against them.
        others: what else would refuse them.
    """

    asked: int
    findings: list[Finding]
    others: list[OtherRefusal]


def find(api: client.ApiClient, policies: Sequence[Policy]) -> Findings:
    """Ask for a copy of every object of the tenants' that one of these policies of content looks at.

    Raises:
        OperationError: an answer says nothing of the policies, since a webhook is down or the user may not ask.
        ApiException: the API server does not let the user look.
    """
    namespaces = tenant_namespaces(api)
    watched = watched_kinds(api, policies)
    asked = 0
    engines: dict[tuple[Place, PolicyName, str, PolicyMode], set[PolicyEngine]] = defaultdict(set)
    others = set()
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
    findings = [Finding(*said, tuple(sorted(by))) for said, by in engines.items()]
    return Findings(asked, sorted(findings), sorted(others))


def watched_kinds(api: client.ApiClient, policies: Sequence[Policy]) -> dict[Kind, frozenset[PolicyName]]:
    """The kinds that policies look at, with those policies; subresources are requests, not objects."""
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
    """Whether all policies that look at an object look at what controls it as well, such as the Deployment of a pod."""
    if (owner := _controller(manifest)) is None:
        return False
    group = owner["apiVersion"].rpartition("/")[0]
    return any(
        watched[kind] <= policies
        for other, policies in watched.items()
        if other.name == owner["kind"] and other.api_version.rpartition("/")[0] == group
    )


def _place(manifest: Manifest, namespaces: Mapping[str, str]) -> Place:
    """An object, or what controls it: the owner is what somebody can mend."""
    metadata = manifest["metadata"]
    shown = _controller(manifest) or {"kind": manifest["kind"], "name": metadata["name"]}
    # Nobody checks what is named as an owner.
    kind, name = printable(shown["kind"]), printable(shown["name"])
    return Place(namespaces[metadata["namespace"]], metadata["namespace"], kind, name)


def _check(answer: Answer, manifest: Manifest) -> None:
    """Make sure that an answer comes from admission as a whole."""
    message = printable(answer.message)
    what = f"{manifest['kind']} {manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
    if found := _WEBHOOK_IS_DOWN.search(message):
        raise OperationError(
            f"the webhook {found['name']} does not answer for {what}: {found['reason']}",
            "see that its pods run, Kyverno's with `kubectl get pods -n kyverno`; no report without it",
        )
    if answer.status == 401 or _NOT_ALLOWED.match(message):
        raise OperationError(
            f"this user may not ask for a dry run of {what}: {message}",
            "use credentials with cluster-admin rights",
        )
    if answer.status >= 500 or answer.status == 429:
        raise OperationError(
            f"the API server answers {answer.status} to a dry run of {what}: {message}", "try again once it is well"
        )
