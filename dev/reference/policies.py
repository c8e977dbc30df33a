"""`docs/policies.md`, generated from the table of policies by `make generate`."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

from dev.reference.tables import listed
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import THREATS, Policy, PolicyName, Requester, Threat
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX
from flux_tenancy.components.policies.table import may_be_excepted, policies
from flux_tenancy.components.tenant.annotations import (
    EXCEPTIONS,
    HOSTS,
    IMAGES,
    IMPLIED_ACCOUNT,
    KINDS,
    NAMESPACES,
    NOTIFICATIONS,
    SERVICE_ACCOUNT,
    SERVICE_TYPES,
    SOURCES,
    VERIFIED,
)
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

_TITLES = {
    Requester.CONTENT: "What objects may contain",
    Requester.TENANTS: "What the platform may do and a tenant may not",
    Requester.PATCHERS: "What people may ask of Flux",
}

_TENANT = "tenant: "
"""Begins a setting that is a key of a tenant's file."""
_HEAD = "| Policy | Refuses | Settings |\n| --- | --- | --- |"
# What each policy does, the settings that enable it, and the page that explains it.
_ONLY_WITH_KYVERNO = {
    PolicyName.TENANT_IMAGES: (
        "refuses tenants' Pods whose images have no signature from the stack's list",
        ("policies.images.signatures", "policies.images.registries"),
        "kyverno.md#signed-images",
    ),
    PolicyName.FLUX_IMAGES: (
        "refuses Pods in `flux-system` whose images are not signed by Flux's release workflow",
        ("policies.fluxImages",),
        "kyverno.md#fluxs-own-images",
    ),
    PolicyName.ONBOARDING: (
        "provisions namespaces that the platform labels for a tenant",
        ("policies.onboarding",),
        "kyverno.md#onboarding-by-label",
    ),
}

# What each of them refuses, and the page that explains it. They have no mode of their own.
_ONLY_NATIVE = (
    (
        "tenant-labels",
        f"the label `{TENANT_LABEL}` on a namespace of the cluster itself, or with a name that no tenant can have",
        "kyverno.md#which-namespaces",
    ),
    (
        "listed-tenants",
        f"the label `{TENANT_LABEL}` with the name of a tenant that the stack lists, on a namespace of another",
        "kyverno.md#which-namespaces",
    ),
)

_WRITERS_HEAD = "| Who | As | Why it is allowed |\n| --- | --- | --- |"
_EKS_USERS = "https://docs.aws.amazon.com/eks/latest/userguide/default-roles-users.html"
# Who writes to tenants' namespaces, as which user, and why the policies about tenants allow it.
_WRITERS = (
    (
        "kube-controller-manager: quotas, endpoints, volumes, Jobs, garbage collection",
        "service accounts of `kube-system`",
        "not checked",
    ),
    ("the API server: the usage of quotas", "`system:apiserver` in `system:masters`", "all rights"),
    ("the scheduler: `pods/binding`, `pods/status`", "`system:kube-scheduler`", "its ClusterRole"),
    (
        "kubelets and virtual nodes such as Fargate's: `serviceaccounts/token`, `pods/status`, `pods/eviction`, "
        "`persistentvolumeclaims/status`",
        "`system:node:<name>` in `system:nodes`",
        "not checked",
    ),
    (
        "a managed cluster: load balancers, network interfaces, addons",
        f"service accounts of `kube-system`, or [EKS's]({_EKS_USERS}) `eks:…`",
        "not checked, or their ClusterRoleBindings",
    ),
    (
        "Flux, for itself",
        "service accounts of `flux-system`",
        "not checked; what it applies for a tenant is checked as the tenant",
    ),
    (
        "your controllers, such as External Secrets (`serviceaccounts/token`)",
        "their service accounts",
        "a ClusterRoleBinding; with only a RoleBinding, checked as the tenant",
    ),
)

# What an object does not show, and what limits it.
_NETWORK = "[limits of egress](grants.md#what-fluxs-controllers-may-connect-to)"
_NOT_SEEN = (
    (
        "annotations of Ingresses that choose load balancers, such as `alb.ingress.kubernetes.io/group.name`",
        "the controller: AWS's lets `IngressClassParams` of the platform override them",
    ),
    (
        "single files that a kustomization.yaml names by URL",
        "[Flux's lockdown](lockdown.md) refuses them, except from `flux.egress.hosts`",
    ),
    (
        "how long the build of a Kustomization, a hook of a chart, or the check of its values takes",
        "`policies.maximumTimeout` limits each wait that an object asks for",
    ),
    (
        "the index of a Helm repository, which may name charts at another address",
        f"{_NETWORK}; charts from OCI registries have no index",
    ),
    (
        "dependencies of a chart from a GitRepository or Bucket, which its Chart.yaml names",
        f"such charts are closed unless `HelmChart` is among the kinds; {_NETWORK}",
    ),
    ("submodules, where `policies.sources.submodules` allows them", _NETWORK),
    (
        "a certificate authority in the Secret of a GitRepository or HelmRepository (`ca.crt`, `caFile`)",
        "the list of sources; `verify`",
    ),
    ("the key that a source is verified with: a tenant may name its own in `verify`", "the list of sources"),
    (
        "what the name of a Provider or an issuer resolves to, and where it redirects to",
        f"`policies.notifications.hosts`, {_NETWORK}",
    ),
    (
        "a Provider's Secret that a controller of the platform writes, such as External Secrets",
        _NETWORK,
    ),
    (
        "what a storage class provisions: a class of static volumes looks like any other",
        "`policies.storageClasses`",
    ),
    (
        "how many pods a PodDisruptionBudget selects: `minAvailable: 1` blocks a drain if there is one pod",
        "a drain's own timeout, or `kubectl drain --disable-eviction`",
    ),
    (
        "what an operator with rights in the whole cluster does for a tenant: it passes the policies about tenants",
        "*What objects may contain* applies to it",
    ),
    (
        "objects that are older than a policy, until they change",
        "`flux-tenancy tenant violations` and Kyverno's reports list them",
    ),
)


def policies_page() -> str:
    """The content of the page."""
    table = policies(PoliciesConfig())
    native_only = ", ".join(f"`{policy.name}`" for policy in table if policy.native_only)
    introduction = f"""
        <!-- Written by `make generate` from flux_tenancy/components/policies/*/policy.yaml; change it there. -->

        # Policies

        The policies apply to namespaces with the label `{TENANT_LABEL}`; `{PolicyName.FLUX_IMAGES}` alone applies to
        `flux-system`. `pulumi up` changes tenants only after a dry run shows that the current policies are enforced.

        ## Engines

        `policies.engine` is one of:

        - `native`, the default: Kubernetes' ValidatingAdmissionPolicies; no webhook can be down
        - `kyverno`: [Kyverno](kyverno.md)'s ValidatingPolicies, with reports and [more](#of-kyverno-alone)
        - `both`: each refuses on its own
        - `none`: no policies

        Kubernetes itself enforces {native_only} with each engine but `none`.

        ## Modes

        `policies.mode` is `enforce`, the default, or `audit`, which allows, warns and records.
        `policies.modes.<policy>` sets another one, or `off`. On a cluster that already has tenants, [start with
        `audit`](adoption.md#introducing-policies).
        """
    subjects = """
        ## Who is checked

        - *What objects may contain* applies to everybody, when an object is created and when the relevant part changes.
        - *What the platform may do and a tenant may not* allows users with the right to the same change in the whole
          cluster: administrators, Pulumi, controllers. Service accounts of `kube-system` and `flux-system`, and nodes,
          are not checked.
        - *What people may ask of Flux* checks the same users, if they may patch an object and not update it. It is in
          force in a stack whose tenants have [developers](grants.md#people), or with a mode of its own.

        So these can write to a tenant's namespace:
        """
    excepted = ", ".join(f"`{policy.name}`" for policy in table if may_be_excepted(policy))
    of_a_tenant = f"""
        `kubectl auth can-i VERB RESOURCE --subresource=PART --all-namespaces --as=USER` shows who passes.

        ## Settings of a tenant

        Lists of a tenant are annotations of its namespaces, separated by spaces:
        `{NAMESPACES}`, `{KINDS}`, `{SOURCES}`, `{IMAGES}`, `{VERIFIED}`,
        `{NOTIFICATIONS}` and `{HOSTS}`. Invalid patterns allow nothing.

        `{SERVICE_ACCOUNT}` is the tenant's `serviceAccountName`, if set; `{IMPLIED_ACCOUNT}` says that Flux uses it
        for objects that name none.

        `{SERVICE_TYPES}` and `{EXCEPTIONS}` are [grants](grants.md) of the tenant. Exceptions exist from {excepted};
        a policy reads them only if a tenant of the stack has one.

        The settings below are keys of [the configuration](configuration.md#policies), after a semicolon those of a
        tenant.
        """
    only_with_kyverno = """
        ## Of Kyverno alone

        These policies are off unless they are configured. They need the engine `kyverno` or `both`.

        | Policy | What it does | Settings |
        | --- | --- | --- |
        """
    only_native = """
        ## Of Kubernetes alone

        With each engine but `none`. Their mode is `policies.mode`. They check everybody who labels a namespace.

        | Policy | Refuses |
        | --- | --- |
        """
    refusals = f"""
        ## How to read a refusal

        The message names the policy with the prefix `{OBJECT_PREFIX}`, the field, and what to do:

            ValidatingAdmissionPolicy '{OBJECT_PREFIX}tenant-service-account' with binding
            '{OBJECT_PREFIX}tenant-service-account' denied request: spec.serviceAccountName is missing; everything in
            this namespace is applied as its tenant: set it to dev-team

        Kyverno's begins with `Policy {OBJECT_PREFIX}tenant-service-account failed:`. For objects that Flux applies, the
        same message is in the status of the Kustomization or HelmRelease. `refused by the policy` begins that of a
        policy that could not render its own.
        """
    unseen = """
        ## What admission cannot see

        What Flux fetches is checked when it is applied. Not checked at all are, with what limits them in brackets:

        """
    writers = "\n".join([_WRITERS_HEAD, *(f"| {who} | {identity} | {why} |" for who, identity, why in _WRITERS)])
    parts = [cleandoc(introduction), cleandoc(subjects), writers, cleandoc(of_a_tenant)]
    for subject, title in _TITLES.items():
        rows = [_row(policy) for policy in table if policy.subject is subject]
        parts.append("\n".join([f"## {title}\n", _HEAD, *rows]))
    alone = (_kyverno_row(name, *row) for name, row in _ONLY_WITH_KYVERNO.items())
    parts.append("\n".join([cleandoc(only_with_kyverno), *alone]))
    natives = (f"| [`{name}`]({page}) | {refuses} |" for name, refuses, page in _ONLY_NATIVE)
    parts.append("\n".join([cleandoc(only_native), *natives]))
    parts.append(cleandoc(refusals))
    parts.append("\n".join([f"{cleandoc(unseen)}\n", *(f"- {what} ({limits})" for what, limits in _NOT_SEEN)]))
    return "\n\n".join([*parts, _threats(table)]) + "\n"


def _threats(table: Sequence[Policy]) -> str:
    head = "## Threats\n\n| # | Attempt | Stopped by |\n| --- | --- | --- |"
    return "\n".join([head, *(_threat(number, threat, table) for number, threat in THREATS.items())])


def _threat(number: int, threat: Threat, table: Sequence[Policy]) -> str:
    names = (f"`{policy.name}`" for policy in table if number in policy.threats)
    return f"| {number} | {threat.attempt} | {', '.join([*threat.stopped_by, *names])} |"


def _kyverno_row(name: PolicyName, does: str, settings: Sequence[str], page: str) -> str:
    return f"| [`{name}`]({page}) | {does} | {_settings(settings)} |"


def _row(policy: Policy) -> str:
    return f"| `{policy.name}` | {policy.refuses} | {_settings(policy.settings)} |"


def _settings(keys: Sequence[str]) -> str:
    """The keys of the stack, then those of a tenant."""
    of_stack = listed(key for key in keys if not key.startswith(_TENANT))
    of_tenant = listed(key.removeprefix(_TENANT) for key in keys if key.startswith(_TENANT))
    if of_tenant and not of_stack:
        return f"a tenant's {of_tenant}"
    if of_tenant == of_stack:
        return f"{of_stack}, also a tenant's" if of_stack else ""
    return "; ".join(filter(None, (of_stack, of_tenant)))
