"""The threat model: what a tenant could try, and what stops it in addition to the policies.

A tenant controls its repositories, and uses all rights of its service account in its namespaces, also by hand with
kubectl. It is trusted with nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_LOCKDOWN = "Flux's lockdown"
_ROLE = "the tenant role"
_POD_SECURITY = "Pod Security"
_QUOTA = "quotas"
_LIMITS = "limits of Flux's controllers"
_CHECKS = "configuration checks"
_NETWORK = "network policies"
_ENVIRONMENT = "the controllers' rights"


@dataclass(frozen=True)
class Threat:
    """An attempt.

    Attributes:
        stopped_by: what stops it in addition to admission.
        at_admission: whether a policy must stop it, too.
    """

    attempt: str
    stopped_by: tuple[str, ...]
    at_admission: bool = True


THREATS: Mapping[int, Threat] = {
    1: Threat("A Kustomization or HelmRelease takes its source or chart from another namespace", (_LOCKDOWN,)),
    2: Threat("An Alert listens to another tenant's events, or a Receiver triggers its objects", (_LOCKDOWN,)),
    3: Threat(
        "An ImagePolicy or ArtifactGenerator reads another tenant's source, or writes artifacts there", (_LOCKDOWN,)
    ),
    4: Threat("A remote base in the tenant's repository; single remote files are fetched", (_LOCKDOWN,), False),
    5: Threat("A Kustomization, HelmRelease or ArtifactGenerator without a service account", (_LOCKDOWN,)),
    6: Threat("A service account other than the tenant's, or one that the tenant creates and binds", (_ROLE,)),
    7: Threat("Flux objects in flux-system or in another tenant's namespace", (_ROLE,), False),
    8: Threat("Cluster-wide objects in the repository: roles, definitions, namespaces, webhooks", (_ROLE,), False),
    9: Threat("A targetNamespace or storageNamespace of another tenant", (_LOCKDOWN, _ROLE)),
    10: Threat("A RoleBinding for other subjects, or with more rights than the tenant has", (_ROLE,)),
    11: Threat("Changing or deleting the tenant's namespace, its labels, limits or bindings", (_ROLE,)),
    12: Threat("Writing the status of a source, or an ExternalArtifact, to forge fetched content", (_ROLE,)),
    13: Threat("A source or image that is not allowed, with a look-alike name", ()),
    14: Threat("A source without TLS, through a proxy, or without a required signature", ()),
    15: Threat("A kubeConfig for another server, or that runs a program", ("Flux's own defaults",)),
    16: Threat("Another tenant's Secrets: values, substitutions, decryption keys", (_ROLE, "a key for each"), False),
    17: Threat(
        "A cloud key service or registry, used with the controller's identity; a login chosen by an annotation",
        (_LOCKDOWN,),
    ),
    18: Threat("A token of the service account, used outside of the cluster", (_ROLE,)),
    19: Threat("A pod with access to its node, or with containers added later", (_POD_SECURITY, _ROLE)),
    20: Threat("Node ports, load balancers, existing volumes, a higher priority", (_QUOTA,)),
    21: Threat("Access to Flux's artifacts, other tenants' pods or cloud metadata", (_NETWORK,), False),
    22: Threat("A policy or an exception in the tenant's namespace", (_ROLE, "exceptions are off")),
    23: Threat("Attempts while the admission webhook is down", ("it fails closed", "native policies need none"), False),
    24: Threat("Thousands of Flux objects, or intervals of a second", (_QUOTA,)),
    25: Threat(
        "Paths out of the repository, loops, Helm's lookup of other tenants' objects", ("Flux itself", _ROLE), False
    ),
    26: Threat("Pushing with the deploy key", ("it is read-only",), False),
    27: Threat("A tenant or namespace with a reserved or taken name", (_CHECKS,), False),
    28: Threat("A Secret or key in plain text in a stack's file or state", (_CHECKS,), False),
    29: Threat("A remote base whose URL makes the controller's git run a program", (_ENVIRONMENT,), False),
    30: Threat(
        "Remote files in a build or a chart's schema: other tenants' artifacts, cluster services, cloud metadata",
        (_ENVIRONMENT,),
        False,
    ),
    31: Threat("Builds, health checks and waits that occupy a shared controller", (_ENVIRONMENT,)),
    32: Threat("Finalizers and owner references that block offboarding", ("access is removed first",)),
    33: Threat("Pods with the account that Flux impersonates, and tokens that outlive them", ()),
    34: Threat("An existing volume by a legacy annotation, or by the class of static volumes", ()),
    35: Threat("Additional content of a source: submodules, charts' dependencies, other endpoints", (_NETWORK,)),
    36: Threat("Notifications to, and receivers that trust, addresses that the tenant chooses", (_NETWORK,)),
    37: Threat("Forged status or bindings of pods, quotas and services; Events forged or deleted", (_ROLE,)),
    38: Threat("Kinds that no quota counts, or a quota that the platform's own objects need", (_QUOTA,), False),
    39: Threat("A name or a field taken before the platform needs it", (_CHECKS,)),
    40: Threat("Control characters in an admin's terminal", ("they are removed",), False),
    41: Threat("Any node by tolerations, inline CSI drivers, blocked drains, other tenants' hosts", ()),
    42: Threat("A secret in plain text under another project's name, or without one", (_CHECKS,), False),
    43: Threat("A change of what Flux applies, by a person who may only ask for a reconciliation", ("its role",)),
    44: Threat("An object of a kind that is not open to tenants, whose controller acts for its author", (_ROLE,)),
    45: Threat(
        "Another tenant's artifact by a chart's dependency, an index or a redirect; a controller's own ports",
        (_LOCKDOWN, _NETWORK),
        False,
    ),
    46: Threat("A Helm release that exhausts the controller's memory", ()),
    47: Threat("Objects that occupy shared workers for as long as their timeouts allow", (_QUOTA, _LOCKDOWN), False),
    48: Threat("Pods that keep other tenants' pods from their nodes, and pods that end after a year", ()),
    49: Threat("Finalizers and owners of new objects, or finalizers of the wrong kind", ("access is removed first",)),
    50: Threat("A platform controller that creates objects that the tenant may not create", (_ROLE,)),
    58: Threat("One allowed object that is too large for a webhook or a controller", ()),
    59: Threat("Objects as large as they can be, up to the quota, that fill the cluster's store", (_QUOTA,)),
    61: Threat("Repositories that include each other, so that their content multiplies", ()),
    62: Threat("Containers, repositories or charts that fill the disk of a node", (_QUOTA, _LIMITS), False),
}
