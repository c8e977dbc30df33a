"""The one table of the multi-tenant profile: which flag, on which controllers, and why.

Sources: https://fluxcd.io/flux/installation/configuration/multitenancy/ and the change logs of the controllers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.flux.lockdown_environment import POD_ADDRESS
from flux_tenancy.components.installs.flux.release import reviewed_minor
from flux_tenancy.components.vocabulary.names import RECONCILERS, Controller

_ALL = frozenset(Controller)
_RECONCILERS = frozenset(RECONCILERS)
# The feature gate with which a controller uses the cloud identity of an object instead of its own.
OBJECT_IDENTITY = "ObjectLevelWorkloadIdentity"
# The first version in which it is retired and always on. Its controllers log the retired gate and ignore it.
_ALWAYS_OBJECT_IDENTITY = (2, 10)
EXTERNAL_ARTIFACT = "ExternalArtifact"
# The feature gate with which a controller keeps all Secrets and ConfigMaps of the cluster in its memory.
SECRETS_CACHE = "CacheSecretsAndConfigMaps"
# The feature gate with which a wait for health is given up for something newer.
CANCEL_HEALTH_CHECK = "CancelHealthCheckOnNewRevision"
# The flag, on the controllers that apply, for which `flux.defaultServiceAccount` has the value.
DEFAULT_ACCOUNT = "default-service-account"
_IMAGE = frozenset({Controller.IMAGE_REFLECTOR, Controller.IMAGE_AUTOMATION})
# Where notification-controller listens for events; on the other controllers, the URL that they send events to.
_EVENTS_ADDRESS = "events-addr"
# The brackets are for IPv6; Go accepts an IPv4 address in them, too.
_POD_ADDRESS = f"[$({POD_ADDRESS})]"


@dataclass(frozen=True)
class LockdownFlag:
    """One flag of the multi-tenant profile.

    Attributes:
        name: the flag without its dashes.
        value: what the profile sets it to.
        controllers: the controllers that support the flag; any other does not start with it.
        purpose: what a tenant could do without it.
        since: the first reviewed (major, minor) of Flux whose controllers know it.
        before: the first one whose controllers do not need it any more; None if all do.
    """

    name: str
    value: str
    controllers: frozenset[Controller]
    purpose: str
    since: tuple[int, int] = (2, 9)
    before: tuple[int, int] | None = None

    @property
    def argument(self) -> str:
        return f"--{self.name}={self.value}"

    def holds_for(self, version: str) -> bool:
        """Whether the controllers of a release get it."""
        own = reviewed_minor(version)
        return self.since <= own and (self.before is None or own < self.before)


LOCKDOWN_FLAGS = (
    LockdownFlag(
        "no-cross-namespace-refs",
        "true",
        _RECONCILERS | {Controller.NOTIFICATION} | _IMAGE,
        "read another tenant's sources, subscribe to its events, make its objects reconcile",
    ),
    LockdownFlag(
        "no-cross-namespace-refs",
        "true",
        frozenset({Controller.SOURCE_WATCHER}),
        "assemble an artifact from another tenant's sources",
    ),
    LockdownFlag(
        "no-remote-bases",
        "true",
        frozenset({Controller.KUSTOMIZE}),
        "apply a base from a Git repository that is not a Flux source (a single remote file is still fetched)",
    ),
    LockdownFlag(
        DEFAULT_ACCOUNT,
        "default",
        _RECONCILERS,
        "apply with the controller's own rights by omitting serviceAccountName (`flux.defaultServiceAccount` sets "
        "another account)",
    ),
    # The remaining flags keep a tenant from using the controller's own cloud identity. Those of Flux 2.9 accept
    # them only together with the feature gate for object-level identity, or stop with "cannot set default service
    # accounts".
    LockdownFlag(
        DEFAULT_ACCOUNT,
        "default",
        frozenset({Controller.SOURCE, Controller.NOTIFICATION}) | _IMAGE,
        "fetch or notify with the controller's cloud identity",
    ),
    # An artifact in another namespace and a namespace that an ArtifactGenerator manages are written as this account.
    LockdownFlag(
        DEFAULT_ACCOUNT,
        "default",
        frozenset({Controller.SOURCE_WATCHER}),
        "write artifacts into other namespaces, and namespaces, with the controller's own rights",
        since=(2, 10),
    ),
    LockdownFlag(
        "default-decryption-service-account",
        "default",
        frozenset({Controller.KUSTOMIZE}),
        "decrypt with the controller's access to a key management service",
    ),
    LockdownFlag(
        "default-kubeconfig-service-account",
        "default",
        _RECONCILERS,
        "reach other clusters with the controller's cloud identity",
    ),
    LockdownFlag(
        "feature-gates",
        f"{OBJECT_IDENTITY}=true",
        _ALL - {Controller.SOURCE_WATCHER},
        "use the controller's identity for objects that name none",
        before=_ALWAYS_OBJECT_IDENTITY,
    ),
    # Health checks end as soon as there is a newer revision to apply, instead of at their timeout.
    LockdownFlag(
        "feature-gates",
        f"{CANCEL_HEALTH_CHECK}=true",
        frozenset({Controller.KUSTOMIZE}),
        "keep a worker of the controller waiting for health checks of an outdated revision",
    ),
    LockdownFlag(
        "feature-gates",
        f"{CANCEL_HEALTH_CHECK}=true",
        frozenset({Controller.HELM}),
        "keep a worker of the controller waiting for an outdated release",
    ),
    # Go sends requests to loopback addresses past every proxy. On the pod's address, the ports answer the kubelet and
    # Services as before.
    *(
        LockdownFlag(name, f"{_POD_ADDRESS}:{port}", controllers, f"reach {what} through the controller's own loopback")
        for name, port, controllers, what in (
            ("metrics-addr", 8080, _ALL, "metrics and profiles"),
            ("health-addr", 9440, _ALL, "health checks"),
            (
                "storage-addr",
                9090,
                frozenset({Controller.SOURCE, Controller.SOURCE_WATCHER}),
                "the artifacts of all tenants",
            ),
            (_EVENTS_ADDRESS, 9090, frozenset({Controller.NOTIFICATION}), "the receiver of events"),
            ("receiverAddr", 9292, frozenset({Controller.NOTIFICATION}), "the receiver of webhooks"),
        )
    ),
)

# Flags that would undo the profile; they are refused with it.
FORBIDDEN_FLAGS = {
    "insecure-kubeconfig-exec": "a tenant's kubeconfig could run any program inside the controller",
    "insecure-kubeconfig-tls": "a tenant's kubeconfig could turn off certificate checks",
    "sops-age-secret": "every tenant could decrypt with the cluster-wide fallback key",
}


# Each HelmRepository and HelmChart that is reconciled holds an index in memory. The controller's default is 50 MiB.
HELM_INDEX_LIMIT = "--helm-index-max-size=26214400"
"""The argument that bounds a Helm repository's index to 25 MiB, unless `flux.extraArgs` sets another size."""


def flags_for(controller: Controller, version: str) -> tuple[LockdownFlag, ...]:
    """The flags of a controller in a release of Flux."""
    return tuple(flag for flag in LOCKDOWN_FLAGS if controller in flag.controllers and flag.holds_for(version))


def arguments_for(controller: Controller, default_account: str, version: str) -> list[str]:
    """The arguments that the profile adds to a controller.

    Args:
        controller: the controller.
        default_account: the service account that is used for objects that name none.
        version: the release of Flux.
    """
    return [
        f"--{flag.name}={default_account}"
        if flag.name == DEFAULT_ACCOUNT and controller in RECONCILERS
        else flag.argument
        for flag in flags_for(controller, version)
    ]


def unknown_to(controller: Controller, version: str) -> frozenset[str]:
    """The names of the profile's flags without which a controller has to be started."""
    own = {flag.name for flag in flags_for(controller, version)} | {"feature-gates"}
    return frozenset(flag.name for flag in LOCKDOWN_FLAGS) - own - {_EVENTS_ADDRESS}


def refusal(controller: Controller, argument: str, version: str) -> Message | None:
    """Why an argument from the configuration is refused under the multi-tenant profile, or None if it is allowed."""
    name = argument.removeprefix("--").split("=", 1)[0]
    if name in FORBIDDEN_FLAGS:
        return Message(
            "FT-CFG-310",
            f"sets --{name}, which the multi-tenant profile does not allow: {FORBIDDEN_FLAGS[name]}",
            "remove it",
        )
    # More feature gates are harmless: the lockdown appends its own to the list.
    own = {flag.name for flag in flags_for(controller, version)}
    if name != "feature-gates" and name in own | unknown_to(controller, version):
        return Message("FT-CFG-311", f"sets --{name}, which the multi-tenant profile sets itself", "remove it")
    return None


def has_object_identity(arguments: Iterable[str], version: str) -> bool:
    """Whether a controller with these arguments uses the cloud identity of an object."""
    always = reviewed_minor(version) >= _ALWAYS_OBJECT_IDENTITY
    return always or any(enables(OBJECT_IDENTITY, argument) for argument in arguments)


def caches_secrets(argument: str) -> bool:
    """Whether an argument from the configuration enables the feature gate that makes a controller watch all Secrets."""
    return enables(SECRETS_CACHE, argument)


def enables(gate: str, argument: str) -> bool:
    """Whether an argument from the configuration enables a feature gate."""
    name, _, value = argument.removeprefix("--").partition("=")
    return name == "feature-gates" and f"{gate}=true" in value.split(",")
