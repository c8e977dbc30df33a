"""`docs/policies.md`: what the policies are, from their own table. `make schemas` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

from components.policies.config import PoliciesConfig
from components.policies.names import PolicyName
from components.policies.policy import Policy, Subject
from components.policies.rendering import OBJECT_PREFIX
from components.policies.table import policies
from components.policies.threats import THREATS, Threat
from components.sync.names import TENANT_LABEL
from components.tenant.annotations import (
    HOSTS,
    IMAGES,
    IMPLIED_ACCOUNT,
    NAMESPACES,
    NOTIFICATIONS,
    SERVICE_ACCOUNT,
    SOURCES,
    VERIFIED,
)

_TITLES = {
    Subject.CONTENT: "What objects may say",
    Subject.TENANTS: "What the platform may do and a tenant may not",
}

_HEAD = "| Policy | Refuses | Settings | Threats |\n| --- | --- | --- | --- |"
# What they do, the settings that switch them on, and the page that explains them.
_OF_KYVERNO_ALONE = {
    PolicyName.TENANT_IMAGES: (
        "refuses tenants' Pods with images that nobody of the stack's list has signed",
        ("policies.images.signatures", "policies.images.registries"),
        "images.md",
    ),
    PolicyName.FLUX_IMAGES: (
        "refuses Pods of `flux-system` with images that Flux's release workflow has not signed",
        ("policies.fluxImages",),
        "images.md#fluxs-own-images",
    ),
    PolicyName.ONBOARDING: (
        "furnishes namespaces that the platform labels for a tenant, and refuses such a label with a name that no "
        "tenant can have",
        ("policies.onboarding",),
        "onboarding.md",
    ),
}

_WRITERS_HEAD = "| Who | As | What lets it pass |\n| --- | --- | --- |"
_EKS_USERS = "https://docs.aws.amazon.com/eks/latest/userguide/default-roles-users.html"
# Who writes in tenants' namespaces, as whom, and why the policies about tenants let it.
_WRITERS = (
    (
        "the controllers of kube-controller-manager: quotas, endpoints, volumes, Jobs, garbage collection",
        "service accounts of `kube-system`",
        "not asked",
    ),
    ("the API server itself: the usage of quotas", "`system:apiserver` in `system:masters`", "every right"),
    ("the scheduler: `pods/binding`, `pods/status`", "`system:kube-scheduler`", "its ClusterRole"),
    (
        "kubelets and virtual nodes such as Fargate's: `serviceaccounts/token`, `pods/status`, `pods/eviction`, "
        "`persistentvolumeclaims/status`",
        "`system:node:<name>` in `system:nodes`",
        "not asked",
    ),
    (
        "the controllers of a managed cluster: load balancers, network interfaces, addons",
        f"service accounts of `kube-system`, or users of the provider such as [EKS's]({_EKS_USERS}) `eks:…`",
        "not asked, or their ClusterRoleBindings",
    ),
    (
        "Flux, for itself",
        "service accounts of `flux-system`",
        "not asked; what it applies for a tenant is asked as the tenant",
    ),
    (
        "controllers of your own, such as External Secrets (`serviceaccounts/token`)",
        "their service accounts",
        "a ClusterRoleBinding; with a RoleBinding in the tenant's namespace alone they are asked as the tenant",
    ),
)

# What no object shows, and what narrows it.
_NETWORK = "a network policy on the controllers' way out"
_UNSEEN = (
    (
        "single files that a kustomization.yaml names by URL",
        "[Flux's lockdown](lockdown.md) refuses them, except from `flux.egress.hosts`",
    ),
    (
        "how long a build or a chart takes: a HelmRelease waits for each of its hooks, and Flux builds a "
        "Kustomization without any bound",
        "`policies.maximumTimeout` bounds each wait that an object asks for",
    ),
    (
        "the index of a Helm repository, which may name charts at another address",
        f"{_NETWORK}; charts from OCI registries have no index",
    ),
    (
        "dependencies of a chart from a GitRepository or Bucket, which its Chart.yaml names, `http://` included",
        f"{_NETWORK}; `policies.sources.verified: [HelmChart]` refuses charts from there",
    ),
    ("submodules, where `policies.sources.submodules` allows them", _NETWORK),
    (
        "a certificate authority in the Secret of a GitRepository or HelmRepository (`ca.crt`, `caFile`): any TLS "
        "Secret has such a key",
        "the list of sources, since the host's name must lead to whoever shows the certificate; `verify`",
    ),
    ("whose key a source is verified with: a tenant may name its own in `verify`", "the list of sources"),
    (
        "where the public name of a Provider or an issuer leads, and what the host there redirects to",
        f"`policies.notifications.hosts`, {_NETWORK}",
    ),
    (
        "a Provider's address in a Secret that is not written as a URL of HTTP, or that a controller of the platform "
        "writes, as an operator for external secrets does",
        f"with `policies.notifications.hosts`, an address in any other form is refused, too; {_NETWORK}",
    ),
    (
        "what a storage class makes: a class of volumes that were made by hand has a name as any other",
        "`policies.storageClasses`",
    ),
    (
        "how many pods a PodDisruptionBudget is for: `minAvailable: 1` holds up a drain where there is one pod. Such a "
        "budget is part of many charts, and so is not refused",
        "a drain's own timeout",
    ),
    (
        "what an operator with rights in the whole cluster does at a tenant's wish: it passes the policies about "
        "tenants",
        "the policies about what objects may say hold for it, too",
    ),
    (
        "objects that are older than a policy, until they change",
        "`make policy-report` and Kyverno's reports list what they say all the same",
    ),
)


def policies_page() -> str:
    """The page."""
    table = policies(PoliciesConfig())
    introduction = f"""
        <!-- Written by `make schemas` from components/policies/table.py; change it there. -->

        # Tenancy policies

        [Flux's own lockdown](lockdown.md), [a narrow role](tenants.md#the-tenant-role) and Pod Security stop much of
        what a tenant could try. The policies stop it once more, at admission, and what the others do not see: where
        sources and images come from, how Services are exposed, how often Flux is kept busy. Their message says what
        to do instead. They look into the namespaces with the label `{TENANT_LABEL}` and at these namespaces
        themselves, and into no other; only `{PolicyName.FLUX_IMAGES}` looks into `flux-system`.

        Without any setting they are in force, enforced, by Kubernetes itself. `pulumi up` touches a tenant only when
        a dry run was refused in the words of this very set of policies. That proves it for the API server and the
        replica of Kyverno that answered; where there are several, the others may follow a moment later.

        ## Engines

        The same policies are there for two engines; `policies.engine` chooses.

        - `native`, the default: Kubernetes' own ValidatingAdmissionPolicies. The API server decides by itself, so
          nothing can be down.
        - `kyverno`: Kyverno's ValidatingPolicies, which need [Kyverno](kyverno.md). It adds reports
          (`kyverno.reports`), and [policies that it alone can have](#of-kyverno-alone). While it is down, what it
          would have looked at is refused: changes in tenants' namespaces and of these namespaces themselves, and
          nothing else. Flux's and Kubernetes' own controllers go on, except that no pod is created there.
        - `both`: each refuses on its own, and while Kyverno is down the native ones still say why.
        - `none`: no policies.

        ## Modes

        `policies.mode` is `enforce`, the default, which refuses, or `audit`, which lets pass, warns and records.
        `policies.modes.<policy>` sets another mode for one policy, or `off`. On a cluster that has tenants already,
        begin with `audit`: [policies-rollout.md](policies-rollout.md) goes through it.
        """
    subjects = """
        ## Who is asked

        There are two kinds of policy.

        - Those about *what objects may say* hold for everybody, the platform included. They look at an object when
          it is created and when what they are about changes, so metadata may always change, and an object that is
          older than the policy is left alone until then.
        - Those about *what the platform may do and a tenant may not* pass whoever holds the right to the same change in
          the whole cluster: administrators, Pulumi, and controllers. A tenant's rights, whatever its role, are bound in
          its own namespaces. Service accounts of `kube-system` and `flux-system` are not asked at all, and neither are
          nodes: their rights follow from the pods that are bound to them, so they hold none in the whole cluster, and
          the Node authorizer and the admission plugin NodeRestriction bound them already.

        So these write in a tenant's namespace as they do elsewhere:
        """
    of_a_tenant = f"""
        `kubectl auth can-i VERB RESOURCE --subresource=PART --all-namespaces --as=USER` tells for a user what the
        policies see.

        ## What a tenant has of its own

        Lists of a tenant are annotations of its namespaces, written from its configuration and separated by spaces:
        `{NAMESPACES}`, `{SOURCES}`, `{IMAGES}`, `{VERIFIED}`,
        `{NOTIFICATIONS}` and `{HOSTS}`. An entry that is no pattern allows nothing.

        `{SERVICE_ACCOUNT}` names the tenant's service account where it is not called like the tenant
        (`serviceAccountName`), and `{IMPLIED_ACCOUNT}` says that Flux takes it where an object names none
        (`flux.defaultServiceAccount` has the same name).

        In the tables below, the settings are keys of [the configuration](configuration.md#policies), and the threats
        are those [at the end](#threats).
        """
    of_kyverno_alone = """
        ## Of Kyverno alone

        They are off unless their setting is there, and need the engine `kyverno` or `both`.

        | Policy | What it does | Settings | Explained in |
        | --- | --- | --- | --- |
        """
    refusals = f"""
        ## How to read a refusal

        The message names the policy behind the prefix `{OBJECT_PREFIX}`, then the field, its value, what is allowed and
        what to do:

            ValidatingAdmissionPolicy '{OBJECT_PREFIX}tenant-service-account' with binding
            '{OBJECT_PREFIX}tenant-service-account' denied request: spec.serviceAccountName is missing; everything in
            this namespace is applied as its tenant: set it to dev-team

        Kyverno's begins with `Policy {OBJECT_PREFIX}tenant-service-account failed:`. What Flux applies for a tenant is
        refused in the same words, in the status of its Kustomization or HelmRelease. Where a message begins with
        `refused by the policy`, the message itself could not be made.
        """
    unseen = """
        ## What admission cannot see

        Admission judges what an object says, and not what lies behind it. What Flux fetches from there is judged when
        it is applied; until then, this is left to others:

        | Not seen | What narrows it |
        | --- | --- |
        """
    writers = "\n".join([_WRITERS_HEAD, *(f"| {who} | {identity} | {why} |" for who, identity, why in _WRITERS)])
    parts = [cleandoc(introduction), cleandoc(subjects), writers, cleandoc(of_a_tenant)]
    for subject, title in _TITLES.items():
        rows = [_row(policy) for policy in table if policy.subject is subject]
        parts.append("\n".join([f"## {title}\n", _HEAD, *rows]))
    alone = (_row_of_kyverno(name, *row) for name, row in _OF_KYVERNO_ALONE.items())
    parts.append("\n".join([cleandoc(of_kyverno_alone), *alone]))
    parts.append(cleandoc(refusals))
    parts.append("\n".join([cleandoc(unseen), *(f"| {what} | {means} |" for what, means in _UNSEEN)]))
    return "\n\n".join([*parts, _threats(table)]) + "\n"


def _threats(table: Sequence[Policy]) -> str:
    head = "## Threats\n\nWhat a tenant may try.\n\n| # | Attempt | Stopped by | Policies |\n| --- | --- | --- | --- |"
    return "\n".join([head, *(_threat(number, threat, table) for number, threat in THREATS.items())])


def _threat(number: int, threat: Threat, table: Sequence[Policy]) -> str:
    names = ", ".join(f"`{policy.name}`" for policy in table if number in policy.threats)
    return f"| {number} | {threat.attempt} | {', '.join(threat.stopped_by)} | {names} |"


def _row_of_kyverno(name: PolicyName, does: str, settings: Sequence[str], page: str) -> str:
    return f"| `{name}` | {does} | {', '.join(map(_setting, settings))} | [{page.partition('#')[0]}]({page}) |"


def _row(policy: Policy) -> str:
    settings = ", ".join(_setting(key) for key in policy.settings)
    return f"| `{policy.name}` | {policy.refuses} | {settings} | {', '.join(map(str, policy.threats))} |"


def _setting(key: str) -> str:
    owner, _, of_tenant = key.partition(": ")
    return f"a tenant's `{of_tenant}`" if of_tenant else f"`{owner}`"
