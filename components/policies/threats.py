"""What a tenant may try, and what stops it besides the policies: the numbers that policies and comments refer to.

A tenant controls its repositories, whatever its service account may do in its namespaces, and, through a member with
kubectl, the same by hand. It is trusted with nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_LOCKDOWN = "Flux's lockdown"
_ROLE = "the tenant role"
_POD_SECURITY = "Pod Security"
_QUOTA = "quotas"
_CHECKS = "the checks before anything is applied"
_NETWORK = "network policies"
_ENVIRONMENT = "what Flux's controllers may do and reach"


@dataclass(frozen=True)
class Threat:
    """An attempt.

    Attributes:
        attempt: what is tried.
        stopped_by: what stops it besides admission.
        at_admission: whether a policy has to stop it too.
    """

    attempt: str
    stopped_by: tuple[str, ...]
    at_admission: bool = True


THREATS: Mapping[int, Threat] = {
    1: Threat("A Kustomization or HelmRelease takes its source or chart from another namespace", (_LOCKDOWN,)),
    2: Threat("An Alert listens to another tenant's events, or a Receiver sets off its objects", (_LOCKDOWN,)),
    3: Threat("An ImagePolicy or ArtifactGenerator reads another tenant's source", (_LOCKDOWN,)),
    4: Threat("A remote base in the tenant's repository; single remote files are fetched", (_LOCKDOWN,), False),
    5: Threat("A Kustomization or HelmRelease without a service account", (_LOCKDOWN,)),
    6: Threat("Another service account than the tenant's, or one that it makes and binds itself", (_ROLE,)),
    7: Threat("Flux objects in flux-system or in another tenant's namespace", (_ROLE,), False),
    8: Threat("Cluster-wide objects in the repository: roles, definitions, namespaces, webhooks", (_ROLE,), False),
    9: Threat("A targetNamespace or storageNamespace that is another's", (_LOCKDOWN, _ROLE)),
    10: Threat("A RoleBinding that lets strangers in, or gives more than the tenant has", (_ROLE,)),
    11: Threat("Changing or deleting the own namespace, its labels, limits or bindings", (_ROLE,)),
    12: Threat("Writing the status of a source, or an ExternalArtifact, to forge what was fetched", (_ROLE,)),
    13: Threat("A source or image from where none may come, with a look-alike name", ()),
    14: Threat("A source without TLS or through a proxy, or without the signature that is asked for", ()),
    15: Threat("A kubeConfig that leads to another server or runs a program", ("Flux's own defaults",)),
    16: Threat("Another tenant's Secrets: values, substitutions, decryption keys", (_ROLE, "a key for each"), False),
    17: Threat("A cloud's key service or registry, used as the controller itself", (_LOCKDOWN,)),
    18: Threat("A token of the service account, taken out of the cluster", (_ROLE,)),
    19: Threat("A pod that shares its node, or gets containers added later", (_POD_SECURITY, _ROLE)),
    20: Threat("Ports of nodes, load balancers, volumes that exist, a higher priority", (_QUOTA,)),
    21: Threat("Talking to Flux's artifacts, other tenants' pods or the cloud's metadata", (_NETWORK,), False),
    22: Threat("A policy, or an exception from one, in the own namespace", (_ROLE, "exceptions are off")),
    23: Threat("Acting while the admission webhook is down", ("it fails closed", "native policies need none"), False),
    24: Threat("Thousands of Flux objects, or intervals of a second", (_QUOTA,)),
    25: Threat("Paths out of the repository, loops, Helm's lookup of foreign objects", ("Flux itself", _ROLE), False),
    26: Threat("Pushing with the deploy key", ("it may only read",), False),
    27: Threat("A tenant or namespace with a reserved or taken name", (_CHECKS,), False),
    28: Threat("A Secret or key in plain text in a stack's file or state", (_CHECKS,), False),
    29: Threat("A remote base whose address makes the controller's git run something", (_ENVIRONMENT,), False),
    30: Threat("Remote files in a build: other tenants' artifacts, inner services, metadata", (_ENVIRONMENT,), False),
    31: Threat("Builds, health checks and waits that keep a shared controller busy", (_ENVIRONMENT,)),
    32: Threat("Finalizers and owner references that hold offboarding up", ("access is taken first",)),
    33: Threat("Pods as the account that Flux applies with, and tokens that outlive them", ()),
    34: Threat("An existing volume by an old annotation, or by the class of static volumes", ()),
    35: Threat("What a source fetches beside its URL: submodules, charts' dependencies, other endpoints", (_NETWORK,)),
    36: Threat("Notifications to, and receivers that trust, addresses of the tenant's choice", (_NETWORK,)),
    37: Threat("Status and bindings of pods, quotas and services, written past their limits", (_ROLE,)),
    38: Threat("Kinds that no quota counts, or a quota that the platform's own objects need", (_QUOTA,), False),
    39: Threat("A name or a field taken before the platform needs it", (_CHECKS,)),
    40: Threat("Control characters in what an admin's terminal shows", ("they are taken out",), False),
    41: Threat("Every node by tolerations, inline drivers, drains held up, others' hosts", ()),
    42: Threat("A secret in plain text under another project's name, or without one", (_CHECKS,), False),
}
