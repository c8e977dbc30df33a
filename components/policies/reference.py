"""`docs/policies.md`: what the policies are, from their own table. `make schemas` writes it."""

from __future__ import annotations

from inspect import cleandoc

from components.configuration.policies import PoliciesConfig
from components.policies.parameters import IMAGES, NAMESPACES, SOURCES, VERIFIED
from components.policies.policy import Policy, Subject
from components.policies.rendering import OBJECT_PREFIX
from components.policies.table import policies
from components.tenant_objects import TENANT_LABEL

_TITLES = {
    Subject.CONTENT: "What objects may say",
    Subject.TENANTS: "What the platform may do and a tenant may not",
}

_HEAD = "| Policy | Refuses | Settings | Threats |\n| --- | --- | --- | --- |"


def policies_page() -> str:
    """The page."""
    table = policies(PoliciesConfig())
    introduction = f"""
        <!-- Written by `make schemas` from components/policies/table.py; change it there. -->

        # Tenancy policies

        Flux's own lockdown, a narrow role and Pod Security stop most of what a tenant could try. The policies stop it
        once more, at admission, and with a message that says what to do instead. They look into the namespaces with
        the label `{TENANT_LABEL}` and into no other.

        ## Engines

        The same policies are there for two engines; `policies.engine` chooses.

        - `native`: Kubernetes' own ValidatingAdmissionPolicies. The API server decides by itself, so nothing can be
          down.
        - `kyverno`: Kyverno's ValidatingPolicies. Kyverno adds reports, and what is looked up in a registry. While it
          is down, what it would have looked at is refused: changes in tenants' namespaces and of these namespaces
          themselves, and nothing else. Flux's and Kubernetes' own controllers go on, except that no pod is created.
        - `both`: each refuses on its own. `none`: no policies.

        ## Modes

        `policies.mode` is `enforce`, which refuses, or `audit`, which lets pass, warns and records.
        `policies.modes.<policy>` sets another mode for one policy, or `off`. Begin with `audit` on a cluster that has
        tenants already, look at `make policy-report`, and enforce when it is empty.
        """
    subjects = f"""
        ## Who is asked

        There are two kinds of policy.

        - Those about *what objects may say* hold for everybody, the platform included. They look at an object when
          it is created and when what they are about changes, so metadata may always change, and an object that is
          older than the policy is left alone until then.
        - Those about *what the platform may do and a tenant may not* pass whoever holds the right to the same change in
          the whole cluster: administrators, Pulumi, and controllers. A tenant's rights, whatever its role, are bound in
          its own namespaces. Service accounts of `kube-system` and `flux-system` are not asked at all.

        ## What a tenant has of its own

        Lists of a tenant are annotations of its namespaces, written from its configuration and separated by spaces:
        `{NAMESPACES}`, `{SOURCES}`, `{IMAGES}` and `{VERIFIED}`. An entry that is no pattern allows nothing.
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

        ## What admission cannot see

        - A Helm repository's index may name charts at another address.
        - Whose key a source is verified with: a tenant may name its own.
        - The steps inside of a Helm chart or a Kustomization; what comes out of them is judged when it is applied.
        - Objects that are older than a policy, until they change. Kyverno's reports list what they say all the same.
        """
    parts = [cleandoc(introduction), cleandoc(subjects)]
    for subject, title in _TITLES.items():
        rows = [_row(policy) for policy in table if policy.subject is subject]
        parts.append("\n".join([f"## {title}\n", _HEAD, *rows]))
    return "\n\n".join([*parts, cleandoc(refusals)]) + "\n"


def _row(policy: Policy) -> str:
    settings = ", ".join(_setting(key) for key in policy.settings)
    return f"| `{policy.name}` | {policy.refuses} | {settings} | {', '.join(map(str, policy.threats))} |"


def _setting(key: str) -> str:
    owner, _, of_tenant = key.partition(": ")
    return f"a tenant's `{of_tenant}`" if of_tenant else f"`{owner}`"
