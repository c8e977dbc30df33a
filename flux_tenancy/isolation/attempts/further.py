"""Attempts that depend on which objects a cluster has, so that no row can state them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.rbac.subjects import user_of
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.rows import bound_role, made, named, platforms_bindings
from flux_tenancy.isolation.model import NAME, AccessReview, Attempt, Control, Finding, Layer, Request, State
from flux_tenancy.isolation.scene import RESOURCES, Scene
from flux_tenancy.operations.admission.policies import PolicyInForce, failing_open, webhooks_for

_EVERYTHING = "cluster-admin"
# What a controller that runs a tenant's content must not be able to do.
_POWERS = (
    ("create", RBAC, "clusterrolebindings", ""),
    ("create", "", "pods", "kube-system"),
    ("list", "", "secrets", "kube-system"),
    ("impersonate", "", "users", ""),
    ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", "kube-system"),
)


def access(scene: Scene) -> Iterator[Attempt]:
    """Access for others, and the platform's own binding (threats 6, 10, 11 and 32)."""
    if bound_role(scene) != _EVERYTHING:
        yield Attempt(
            "10-more-than-it-has",
            10,
            "a RoleBinding to a role with more rights than the tenant has",
            (Request(made(scene, "RoleBinding", {"roleRef": {"name": _EVERYTHING}}), (Layer.ROLE,)),),
        )
    sync = {"spec": {"serviceAccountName": NAME, "sourceRef": {"kind": "GitRepository", "name": NAME}}}
    yield Attempt(
        "6-own-account-in-role",
        6,
        "another service account with the tenant's role, impersonated by Flux",
        (
            Request(made(scene, "RoleBinding"), (Layer.ROLE,)),
            Request(made(scene, "Kustomization", sync), (Layer.ADMISSION,)),
        ),
    )
    for existing in platforms_bindings(scene)[:1]:
        target = named(scene, "RoleBinding", existing["metadata"]["name"])
        yield Attempt(
            "11-binding-gone",
            11,
            "deleting the platform's RoleBinding",
            (Request(target, (Layer.ROLE, Layer.ADMISSION), "delete"),),
        )
        owner = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "name": existing["metadata"]["name"],
            "uid": existing["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        owned = made(scene, "ConfigMap", {"metadata": {"ownerReferences": [owner]}})
        yield Attempt.at_admission(
            "32-owner",
            32,
            "an object that blocks the deletion of the platform's RoleBinding",
            owned,
            baseline=made(scene, "ConfigMap"),
        )


def programs(scene: Scene) -> Iterator[Attempt]:
    """What a program that a build runs could do with its controller's rights (threat 29)."""
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        user = scene.controller_user(controller)
        for verb, group, resource, namespace in _POWERS:
            where = f" in {namespace}" if namespace else ""
            proof = (
                AccessReview(verb, group, resource, namespace, user=user, layer=Layer.CONTROLLERS)
                if user
                else Finding(Layer.CONTROLLERS, State.UNPROVEN, f"no Deployment of {controller} found")
            )
            yield Attempt(
                f"29-{controller}-{verb}-{resource}",
                29,
                f"{verb} {resource}{where} with the rights of {controller}",
                (proof,),
            )


def volumes(scene: Scene) -> Iterator[Attempt]:
    """An existing volume where no class is the default (threat 34)."""
    default = any(
        each["metadata"].get("annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
        for each in scene.storage_classes
    )
    if not default:
        yield Attempt.at_admission(
            "34-volume-by-no-class",
            34,
            "an existing volume through a claim without a class, because the cluster has no default class",
            made(scene, "PersistentVolumeClaim", {"spec": {"storageClassName": None}}),
        )


_REPLICASETS = user_of("kube-system", "replicaset-controller")


def running_controls(scene: Scene) -> Iterator[Control]:
    """The controls that depend on what a cluster has."""
    claim = Request(made(scene, "PersistentVolumeClaim"), tuple(Layer))
    yield Control("tenant-persistentvolumeclaim", "the tenant creates a PersistentVolumeClaim", claim)
    yield Control(
        "cluster-replicaset",
        "Kubernetes creates the pods of a Deployment",
        Request(made(scene, "Pod"), tuple(Layer), user=_REPLICASETS),
    )
    placed = [each for each in scene.of_home("Pod") if each["spec"].get("nodeName")]
    for running in sorted(placed, key=_mounts_token, reverse=True)[:1]:
        node = f"system:node:{running['spec']['nodeName']}"
        name, uid = running["metadata"]["name"], running["metadata"]["uid"]
        account = running["spec"].get("serviceAccountName", "default")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        token = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [], "expirationSeconds": 3607, "boundObjectRef": bound},
        }
        # A node gets tokens only for the audiences that the pod itself asks for.
        if _mounts_token(running):
            yield Control(
                "kubelet-token",
                "a kubelet requests the token of a pod on its node",
                Request(named(scene, "ServiceAccount", account), tuple(Layer), "create", "token", token, user=node),
            )
        yield Control(
            "kubelet-status",
            "a kubelet writes the status of a pod on its node",
            Request(
                named(scene, "Pod", name),
                tuple(Layer),
                "patch",
                "status",
                {"status": {"phase": running.get("status", {}).get("phase", "Running")}},
                user=node,
            ),
        )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        if user := scene.controller_user(controller):
            yield Control(
                f"{controller}-impersonates",
                f"{controller} impersonates the tenant's account",
                AccessReview(
                    "impersonate",
                    "",
                    "serviceaccounts",
                    scene.tenancy.home,
                    name=scene.tenancy.account,
                    user=user,
                ),
            )
            group, resource = RESOURCES["Kustomization" if controller is Controller.KUSTOMIZE else "HelmRelease"]
            yield Control(
                f"{controller}-status",
                f"{controller} writes the status of its objects",
                AccessReview("patch", group, resource, scene.tenancy.home, "status", user=user),
            )


def _mounts_token(running: Manifest) -> bool:
    """Whether a pod has a token for the API server itself."""
    return any(
        "serviceAccountToken" in source and not source["serviceAccountToken"].get("audience")
        for volume in running["spec"].get("volumes", ())
        for source in volume.get("projected", {}).get("sources", ())
    )


_SELECTING = ("excludeResourceRules", "namespaceSelector", "objectSelector")
# What a validation that depends on the request reads, and one that refuses all.
_READ, _NEVER = ("object", "request", "variables"), "false"
_GROUPS = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")


def webhooks(scene: Scene) -> Iterator[Attempt]:
    yield Attempt(
        "23-webhook-down", 23, "any attempt while the admission webhook does not answer", (_while_down(scene),)
    )

    # Some only Kyverno offers, and some only Kubernetes enforces.
    shared = {each.name for each in policies(PoliciesConfig()) if not each.native_only}
    engines = dict.fromkeys(each.engine for each in scene.policies if each.policy in shared)
    there = {(each.policy, each.engine) for each in scene.policies}
    for policy in dict.fromkeys(each.policy for each in scene.policies):
        for engine in PolicyEngine:
            if (policy in shared and engine in engines) or (policy, engine) in there:
                yield _alone(scene, policy, engine)


def _alone(scene: Scene, policy: PolicyName, engine: PolicyEngine) -> Attempt:
    """Whether a policy refuses in one engine; where another engine has it, too, nothing else would show it."""
    by_engine = {each.engine: each for each in scene.policies if each.policy is policy}
    own = by_engine.pop(engine, None)
    said, audited = _weakness(own, [*by_engine.values()]), own is not None and own.mode is PolicyMode.AUDIT
    if said or audited:
        found = Finding(Layer.ADMISSION, State.OPEN, said or "it is in Audit")
    else:
        found = Finding(
            Layer.ADMISSION, State.HOLDS, "it denies, and is as strict as in the other engine", engine.value
        )
    return Attempt(
        f"23-{engine.value}-{policy.value}",
        23,
        f"requests against {policy.value}, as only {engine.value} evaluates it",
        (found,),
        by_choice="the stack sets it to audit" if audited and not said and policy in scene.audited else "",
    )


def _weakness(own: PolicyInForce | None, others: Sequence[PolicyInForce]) -> str:
    """What makes a policy weaker than in the other engines; empty if nothing does."""
    if own is None:
        return f"only {' and '.join(each.engine for each in others)} has it"
    return _empty(own.spec) or next(filter(None, (_weaker(own.spec, each.spec) for each in others)), "")


def _weaker(own: Manifest, other: Manifest) -> str:
    """What a policy in one engine lets pass that the same one in another refuses; empty if it is as strict.

    Both are rendered from the same rules, conditions and validations (`components.policies.rendering`). A policy that
    refuses nothing is no measure for another one.
    """
    if _empty(other):
        return ""
    if missing := _rules(other) - _rules(own):
        return f"rules of another engine are missing: {len(missing)}"
    if missing := _validations(other) - _validations(own):
        return f"validations of another engine are missing: {len(missing)}"
    if further := _exempting(own) - _exempting(other):
        return f"conditions that another engine lacks: {len(further)}"
    return ""


def _empty(spec: Manifest) -> str:
    """Why a policy refuses nothing at all; empty if it may refuse something."""
    if not _rules(spec):
        return "it has no rules"
    if not any(expression == _NEVER or any(each in expression for each in _READ) for expression in _validations(spec)):
        return "it has no validations that can fail"
    return ""


def _rules(spec: Manifest) -> set[str]:
    return {_text(each) for each in spec.get("matchConstraints", {}).get("resourceRules") or ()}


def _validations(spec: Manifest) -> set[str]:
    return {each["expression"] for each in spec.get("validations") or ()}


def _exempting(spec: Manifest) -> set[str]:
    """All that keeps a policy from judging a request that its rules name."""
    constraints = {key: value for key, value in spec.get("matchConstraints", {}).items() if key in _SELECTING and value}
    return {
        *(each["expression"] for each in spec.get("matchConditions") or ()),
        *(f"{key}: {_text(value)}" for key, value in constraints.items()),
        *([_text(spec["matchResources"])] if spec.get("matchResources") else []),
        *(["failurePolicy: Ignore"] if spec.get("failurePolicy") == "Ignore" else []),
    }


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _while_down(scene: Scene) -> Finding:
    """Whether every webhook that looks at Flux's objects in the tenant's namespace fails closed."""
    labels = scene.namespace["metadata"].get("labels", {})
    asked = [
        webhook
        for webhook in webhooks_for(labels, scene.webhooks)
        if any(set(rule.get("apiGroups", ())) & {"*", *_GROUPS} for rule in webhook.get("rules", ()))
    ]
    if said := failing_open(asked):
        return Finding(Layer.ADMISSION, State.OPEN, said)
    if asked:
        return Finding(Layer.ADMISSION, State.HOLDS, f"{asked[0]['name']} fails closed", asked[0]["name"])
    if scene.admission_policies:
        return Finding(
            Layer.ADMISSION, State.HOLDS, "ValidatingAdmissionPolicies need no webhook", "ValidatingAdmissionPolicy"
        )
    return Finding(Layer.ADMISSION, State.NOT_APPLICABLE, "no admission policy or webhook applies to Flux's objects")
