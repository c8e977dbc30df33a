"""Evaluates the shapes of tests/compatibility offline: RBAC, admission, Pod Security and quotas for one tenant."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sample_project import rendered

from dev.reference.moving_in import Shape
from flux_tenancy.components.rbac.rights import NamedRole, Permission, Right, covers, permissions
from flux_tenancy.components.tenant.kinds import owner_of
from flux_tenancy.components.vocabulary.manifests import RBAC, merge_patch
from flux_tenancy.components.vocabulary.quantities import parse_quantity
from flux_tenancy.review.admission.program import Answer, Request, Surroundings, User, ask
from tests.support.offline_requests import PROGRAM, definitions, owner, tool
from tests.support.policy_cases import Object
from tests.support.policy_requests import definition

TEAM = "team"
_TENANT: Object = {"namespaces": [{"name": TEAM}], "source": {"url": "https://git.example.com/team/apps"}}
_CLUSTER_SCOPED = (
    "ClusterIssuer",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterSecretStore",
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
)
_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


class Platform:
    """A stack with one tenant, as the program renders it."""

    def __init__(self, folder: Path, opening: Mapping[str, Any]) -> None:
        """Render it.

        Args:
            folder: an empty folder for its project.
            opening: what it has in addition to the defaults, as a shape has it.
        """
        stack = opening.get("stack", {})
        tenants = {TEAM: merge_patch(_TENANT, opening.get("tenant", {}))}
        render = rendered(folder, **{"policies": ..., **stack}, tenants=tenants)
        self._objects: list[Object] = [dict(each.manifest) for each in render.objects if each.is_kubernetes]
        self._account = stack.get("tenancy", {}).get("serviceAccountName", TEAM)

    def refusals(self, shape: Shape) -> dict[str, str]:
        """The first message about each object that is refused, in the order in which the API server asks."""
        found = dict(self._forbidden(shape))
        asked = {name: _complete(each) for name, each in shape.objects.items() if name not in found}
        requests = [(name, request) for name, each in asked.items() for request in self._requests(each)]
        surroundings = Surroundings(
            definitions=[*definitions(), *_custom_kinds(asked)],
            policies=[each for each in self._of_kinds(*_POLICIES) if "paramKind" not in each["spec"]],
            namespaces=self._of_kinds("Namespace"),
            access=[each for each in self._objects if each["apiVersion"].startswith(RBAC)],
        )
        answers = ask(tool(PROGRAM), surroundings, (request for _, request in requests))
        for (name, _), answer in zip(requests, answers, strict=True):
            if (message := _message(answer)) is not None:
                found.setdefault(name, message)
        return found | dict(self._over_quota({name: each for name, each in asked.items() if name not in found}))

    def _of_kinds(self, *kinds: str) -> list[Object]:
        return [each for each in self._objects if each["kind"] in kinds]

    def _requests(self, manifest: Object) -> Iterator[Request]:
        """The tenant's request, and that of a controller for the Pod of a workload."""
        yield Request("CREATE", manifest, user=User(f"system:serviceaccount:{TEAM}:{self._account}"))
        yield from (Request("CREATE", pod) for pod in _pods(manifest))

    def _forbidden(self, shape: Shape) -> Iterator[tuple[str, str]]:
        for name, each in shape.objects.items():
            group, resource = _resource(each)
            namespace = each["metadata"].get("namespace", TEAM) if each["kind"] not in _CLUSTER_SCOPED else ""
            permission = Permission("patch", group, resource)
            if not any(covers(right, permission) for right in self._rights(namespace)):
                where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
                yield name, f'cannot patch resource "{resource}" in API group "{group}" {where}'

    def _rights(self, namespace: str) -> Iterator[Right]:
        """What the tenant's service account may do in a namespace."""
        account = {"kind": "ServiceAccount", "name": self._account, "namespace": TEAM}
        roles = {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["rules"]
            for each in self._of_kinds("Role", "ClusterRole")
        }
        for binding in self._of_kinds("RoleBinding"):
            if binding["metadata"]["namespace"] == namespace and account in binding["subjects"]:
                role = binding["roleRef"]
                place = namespace if role["kind"] == "Role" else ""
                rules = roles.get((role["kind"], place, role["name"]))
                yield from permissions(rules) if rules is not None else [NamedRole(role["name"])]

    def _over_quota(self, objects: Mapping[str, Object]) -> Iterator[tuple[str, str]]:
        used = Counter(map(_counted, self._objects))
        for name, each in objects.items():
            namespace, resource = _counted(each)
            used[namespace, resource] += 1
            for quota in self._of_kinds("ResourceQuota"):
                hard = quota["spec"]["hard"].get(f"count/{resource}", "1M")
                if quota["metadata"]["namespace"] == namespace and used[namespace, resource] > parse_quantity(hard):
                    yield name, f"exceeded quota: {quota['metadata']['name']}"


def _message(answer: Answer) -> str | None:
    errors = [f"{each.path}: {each.message}" for each in answer.errors]
    return next(iter([*errors, *(each.message for each in answer.objections if each.denied)]), None)


def _complete(manifest: Object) -> Object:
    """The object as Flux applies it, and as the admission plugins ServiceAccount and DefaultStorageClass leave it."""
    specs = {"Pod": {"serviceAccountName": "default"}, "PersistentVolumeClaim": {"storageClassName": "default"}}
    spec = {"spec": specs[manifest["kind"]]} if manifest["kind"] in specs else {}
    applied = merge_patch({"metadata": {"name": "made", "namespace": TEAM}}, manifest)
    complete: Object = merge_patch(spec, merge_patch(applied, {"metadata": {"managedFields": [owner(applied)]}}))
    return complete


def _pods(manifest: Object) -> Iterator[Object]:
    """The Pod that a controller creates for a workload."""
    if manifest["kind"] not in ("CronJob", "DaemonSet", "Deployment", "Job", "StatefulSet"):
        return
    spec = manifest["spec"]["jobTemplate"]["spec"] if manifest["kind"] == "CronJob" else manifest["spec"]
    pod = copy.deepcopy(spec["template"]) | {"apiVersion": "v1", "kind": "Pod"}
    claims = [each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", [])]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-made-0"}} for name in claims]
    pod["spec"]["volumes"] = [*pod["spec"].get("volumes", []), *volumes]
    yield _complete(pod)


def _resource(manifest: Object) -> tuple[str, str]:
    """API group and plural."""
    kind = re.sub("([^aeiou])y$", r"\1ie", manifest["kind"].lower())
    return manifest["apiVersion"].rpartition("/")[0], f"{kind}{'es' if kind.endswith(('s', 'ch')) else 's'}"


def _counted(manifest: Object) -> tuple[str, str]:
    """Where an object counts, and as what."""
    group, resource = _resource(manifest)
    return manifest["metadata"].get("namespace", TEAM), f"{resource}.{group}" if group else resource


def _custom_kinds(objects: Mapping[str, Object]) -> list[Object]:
    """The definitions of the operators' kinds, without schemas."""
    kinds = {(*each["apiVersion"].split("/"), each["kind"]) for each in objects.values() if "." in each["apiVersion"]}
    return [
        definition(group, kind, version=version)
        for group, version, kind in sorted(kinds)
        if owner_of(group) not in ("Flux", "Kubernetes")
    ]
