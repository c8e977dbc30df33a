"""Attempts at what only the platform may change: other namespaces, the cluster, limits, access, tokens, policies."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.policies.rendering import OBJECT_PREFIX
from flux_tenancy.components.rbac.subjects import ALL_ACCOUNTS, Subject, SubjectKind, subjects_of
from flux_tenancy.components.tenant.further_access import is_documented
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest, name_of
from flux_tenancy.isolation.attempts.objects import (
    NAME,
    account,
    deployment,
    made,
    named,
    person,
    role_binding,
)
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.kinds import RESOURCES
from flux_tenancy.isolation.model import Access, Attempt, Finding, Request, State
from flux_tenancy.isolation.scene import Scene

_ROLE_ADMISSION = (Layer.ROLE, Layer.ADMISSION)
_EVERYTHING = "cluster-admin"
_CONDITION = {
    "type": NAME,
    "status": "True",
    "reason": "Attempt",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
_ADMISSION_API = "admissionregistration.k8s.io"
_CLUSTER_WIDE = (
    ("", "nodes"),
    ("", "persistentvolumes"),
    (RBAC, "clusterroles"),
    (RBAC, "clusterrolebindings"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    (_ADMISSION_API, "mutatingwebhookconfigurations"),
    (_ADMISSION_API, "validatingwebhookconfigurations"),
    (_ADMISSION_API, "validatingadmissionpolicies"),
    (_ADMISSION_API, "validatingadmissionpolicybindings"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
    ("kyverno.io", "clusterpolicies"),
    ("policies.kyverno.io", "validatingpolicies"),
)
_ELSEWHERE = (
    ("create", "kustomize.toolkit.fluxcd.io", "kustomizations"),
    ("create", "source.toolkit.fluxcd.io", "gitrepositories"),
    ("create", "", "pods"),
    ("patch", "apps", "deployments"),
    ("get", "", "secrets"),
    ("list", "", "configmaps"),
)


def elsewhere(scene: Scene) -> Iterator[Attempt]:
    """Access outside of the tenant's namespaces (threats 7, 8, 16 and 25)."""
    for namespace in dict.fromkeys((scene.flux, scene.foreign, "kube-system")):
        for verb, group, resource in _ELSEWHERE:
            threat = 16 if resource in ("secrets", "configmaps") else 7
            yield Attempt(
                f"{threat}-{namespace}-{verb}-{resource}",
                threat,
                f"{verb} {resource} in {namespace}",
                (Access(verb, group, resource, namespace),),
            )
    # Where Capsule lets tenants make namespaces, admission decides which: RBAC knows no names of new objects.
    made_one = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
    yield Attempt("8-namespaces", 8, "create namespaces", (Request(made_one, _ROLE_ADMISSION),))
    for group, resource in _CLUSTER_WIDE:
        yield Attempt(f"8-{resource}", 8, f"create {resource}", (Access("create", group, resource),))
    yield Attempt(
        "25-lookup",
        25,
        "lookup of Secrets in all namespaces from a Helm chart",
        (Access("list", "", "secrets"),),
    )


def access(scene: Scene) -> Iterator[Attempt]:
    """Access for others (threats 6 and 10)."""
    tenant, home = scene.tenancy, scene.tenancy.home
    role = _bound_role(scene)
    strangers: dict[str, tuple[str, Manifest]] = {
        "person": ("a person", person("User", "isolation-stranger")),
        "everybody": ("all authenticated users", person("Group", "system:authenticated")),
        "foreign-account": ("another namespace's service account", account("default", scene.foreign)),
    }
    baseline = role_binding(scene, role, [account("isolation-suite", home)])
    for key, (who, subject) in strangers.items():
        yield Attempt(
            f"10-{key}",
            10,
            f"a RoleBinding for {who}",
            (Request(role_binding(scene, role, [subject]), _ROLE_ADMISSION),),
        )
    if role != _EVERYTHING:
        yield Attempt(
            "10-more-than-it-has",
            10,
            "a RoleBinding to a role with more rights than the tenant has",
            (Request(role_binding(scene, _EVERYTHING, [account(NAME, home)]), (Layer.ROLE,)),),
        )
    yield Attempt(
        "10-impersonation",
        10,
        "impersonation of other users",
        (Access("impersonate", "", "users"), Access("impersonate", "", "groups")),
    )
    yield Attempt(
        "6-own-account-in-role",
        6,
        "another service account with the tenant's role, impersonated by Flux",
        (
            Request(baseline, (Layer.ROLE,)),
            Request(
                made(
                    scene,
                    "Kustomization",
                    {
                        "interval": "1h",
                        "suspend": True,
                        "prune": False,
                        "serviceAccountName": NAME,
                        "sourceRef": {"kind": "GitRepository", "name": NAME},
                    },
                ),
                (Layer.ADMISSION,),
            ),
        ),
    )
    yield Attempt("10-beside", 10, "rights of the tenant's account outside of its namespaces", (_beyond(scene),))
    annotations = {"annotations": {"kubernetes.io/service-account.name": tenant.account}}
    yield Attempt.at_admission(
        "18-token-for-ever",
        18,
        "a Secret with a token that never expires",
        made(scene, "Secret", metadata=annotations, type="kubernetes.io/service-account-token"),
        baseline=made(scene, "Secret", stringData={"a": "b"}),
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    yield Attempt(
        "18-token",
        18,
        "a token of the tenant's account for use outside of the cluster",
        (
            Request(
                named(scene, "ServiceAccount", tenant.account),
                _ROLE_ADMISSION,
                subresource="token",
                change=request,
            ),
        ),
    )


def limits(scene: Scene) -> Iterator[Attempt]:
    """The tenant's limits, and the status that controllers write (threats 11, 12, 22 and 37)."""
    home = scene.tenancy.home
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}}
    weaker = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged", NAME: "attempt"}}}
    yield Attempt(
        "11-namespace-labels",
        11,
        "other labels on the tenant's namespace",
        (Request(namespace, _ROLE_ADMISSION, "patch", change=weaker),),
    )
    yield Attempt(
        "11-namespace", 11, "deleting the tenant's namespace", (Request(namespace, _ROLE_ADMISSION, "delete"),)
    )
    for kind, spec in (
        ("ResourceQuota", {"hard": {"pods": "1000"}}),
        ("LimitRange", {"limits": []}),
        ("NetworkPolicy", {"podSelector": {}, "ingress": [{}], "egress": [{}]}),
    ):
        yield Attempt(
            f"11-{kind.lower()}",
            11,
            f"a {kind} created by the tenant",
            (Request(made(scene, kind, spec), _ROLE_ADMISSION),),
        )
        for existing in scene.of_home(kind)[:1]:
            target = named(scene, kind, existing["metadata"]["name"])
            yield Attempt(
                f"11-{kind.lower()}-gone",
                11,
                f"deleting a {kind}",
                (Request(target, _ROLE_ADMISSION, "delete"),),
            )
    for existing in _platforms(scene, "RoleBinding")[:1]:
        target = named(scene, "RoleBinding", existing["metadata"]["name"])
        yield Attempt(
            "11-binding-gone",
            11,
            "deleting the platform's RoleBinding",
            (Request(target, _ROLE_ADMISSION, "delete"),),
        )
    slices: Manifest = {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}]}
    yield Attempt(
        "11-endpoints",
        11,
        "an EndpointSlice with an address outside of the namespace",
        (Request(made(scene, "EndpointSlice", **slices), _ROLE_ADMISSION),),
    )
    for kind in ("Policy", "NamespacedValidatingPolicy", "PolicyException"):
        if kind in scene.kinds:
            yield Attempt(
                f"22-{kind.lower()}",
                22,
                f"a Kyverno {kind} in the tenant's namespace",
                (Request(_kyverno(scene, kind), _ROLE_ADMISSION),),
            )
    yield from _statuses(scene)


def _statuses(scene: Scene) -> Iterator[Attempt]:
    """Status that only controllers may write."""
    forged: tuple[tuple[int, str, Manifest], ...] = (
        (12, "GitRepository", {"status": {"observedGeneration": 1}}),
        (12, "Kustomization", {"status": {"observedGeneration": 1}}),
        (37, "ResourceQuota", {"status": {"used": {"pods": "0"}}}),
        (37, "Pod", {"status": {"message": NAME}}),
        (37, "Service", {"status": {"conditions": [_CONDITION]}}),
    )
    for threat, kind, change in forged:
        yield Attempt(
            f"{threat}-{kind.lower()}-status",
            threat,
            f"writing the status of a {kind}",
            tuple(on_existing(scene, kind, "status", change)),
        )
    yield Attempt(
        "37-pod-binding",
        37,
        "binding a pod to a node without the scheduler",
        tuple(on_existing(scene, "Pod", "binding", {"target": {"apiVersion": "v1", "kind": "Node", "name": NAME}})),
    )
    yield Attempt(
        "12-external-artifact",
        12,
        "an ExternalArtifact with content that no controller fetched",
        (Request(made(scene, "ExternalArtifact", {}), _ROLE_ADMISSION),),
    )


def on_existing(scene: Scene, kind: str, subresource: str, change: Manifest) -> Iterator[Access | Request | Finding]:
    """Proofs for a subresource by role and admission; admission is asked only about an existing object."""
    group, resource = RESOURCES[kind]
    verb = "create" if subresource == "binding" else "patch"
    yield Access(verb, group, resource, scene.tenancy.home, subresource)
    existing = scene.of_home(kind)
    if not existing:
        yield Finding(Layer.ADMISSION, State.UNPROVEN, f"the namespace has no {kind} to try it on")
        return
    target = named(scene, kind, existing[0]["metadata"]["name"])
    if subresource == "binding":
        change = {"apiVersion": "v1", "kind": "Binding", "metadata": target["metadata"]} | change
    yield Request(target, _ROLE_ADMISSION, verb, subresource, change)


def holding(scene: Scene) -> Iterator[Attempt]:
    """Objects that would block offboarding (threats 32 and 49)."""
    baseline = made(scene, "ConfigMap", data={})
    finalizers = {"finalizers": ["isolation.example.com/hold"]}
    finalizer = made(scene, "ConfigMap", data={}, metadata=finalizers)
    yield Attempt.at_admission(
        "32-finalizer", 32, "an object with a finalizer that no controller removes", finalizer, baseline=baseline
    )
    of_pods = deployment(scene)
    of_pods["spec"]["template"]["metadata"] |= finalizers
    yield Attempt.at_admission(
        "32-template-finalizer",
        32,
        "pods with such a finalizer, which Kubernetes creates from a template",
        of_pods,
        baseline=deployment(scene),
    )
    of_jobs = made(scene, "ConfigMap", data={}, metadata={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    yield Attempt.at_admission(
        "49-finalizer", 49, "an object with a finalizer that is for pods of Jobs", of_jobs, baseline=baseline
    )
    for existing in _platforms(scene, "RoleBinding")[:1]:
        owner = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "name": existing["metadata"]["name"],
            "uid": existing["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        owned = made(scene, "ConfigMap", data={}, metadata={"ownerReferences": [owner]})
        yield Attempt.at_admission(
            "32-owner", 32, "an object that blocks the deletion of the platform's RoleBinding", owned, baseline=baseline
        )


def _kyverno(scene: Scene, kind: str) -> Manifest:
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    specs: dict[str, Manifest] = {
        "PolicyException": {"policyRefs": [{"kind": "ValidatingPolicy", "name": f"{OBJECT_PREFIX}host-access"}]},
        "NamespacedValidatingPolicy": {
            "matchConstraints": {"resourceRules": [pods]},
            "validations": [{"expression": "true"}],
        },
        "Policy": {
            "rules": [
                {
                    "name": NAME,
                    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                    "validate": {"pattern": {"kind": "Pod"}},
                }
            ]
        },
    }
    return made(scene, kind, specs[kind])


def _platforms(scene: Scene, kind: str) -> list[Manifest]:
    """The platform's objects of a kind: those that bind the tenant's account."""
    return [
        each
        for each in scene.of_home(kind)
        if any(subject["name"] == scene.tenancy.account for subject in each.get("subjects", ()))
    ]


def _bound_role(scene: Scene) -> str:
    bindings = [each for each in _platforms(scene, "RoleBinding") if each["roleRef"]["kind"] == "ClusterRole"]
    return bindings[0]["roleRef"]["name"] if bindings else "view"


def _beyond(scene: Scene) -> Finding:
    """Bindings of the account, or of one of its groups, outside of the tenant's namespaces.

    What they allow by grants, and by Capsule, other attempts ask for.
    """
    tenant = scene.tenancy
    group = f"{ALL_ACCOUNTS}:{tenant.home}"
    names = {Subject(SubjectKind.GROUP, group), Subject(SubjectKind.ACCOUNT, tenant.account, tenant.home)}
    found = [
        each
        for each in scene.bindings
        if not is_documented(each, tenant.name) and names & {subject for subject, _ in subjects_of(each)}
    ]
    if not found:
        return Finding(
            Layer.ROLE, State.HOLDS, "no binding outside of the tenant's namespaces names the account", "RBAC"
        )
    named_so = ", ".join(f"{name_of(each)} ({each['roleRef']['name']})" for each in found)
    return Finding(Layer.ROLE, State.OPEN, f"the account also has bindings elsewhere: {named_so}")
