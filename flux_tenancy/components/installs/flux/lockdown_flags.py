"""The multi-tenant profile, as `lockdown.yaml` has it: which variables and flags, on which controllers, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.errors import NOT_ALLOWED, SET_BY
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.installs.flux.release import reviewed_minor
from flux_tenancy.components.vocabulary.names import RECONCILERS, Controller

POD_ADDRESS = "POD_IP"
"""The variable with the address of the controller's pod, which its listeners are bound to."""
# The feature gate with which a controller uses the cloud identity of an object instead of its own.
OBJECT_IDENTITY = "ObjectLevelWorkloadIdentity"
EXTERNAL_ARTIFACT = "ExternalArtifact"
SECRETS_CACHE = "CacheSecretsAndConfigMaps"
"""The feature gate with which a controller watches all Secrets, and keeps them in its memory."""
# The flag, on the controllers that apply, for which `flux.defaultServiceAccount` has the value.
DEFAULT_ACCOUNT = "default-service-account"
# Where notification-controller listens for events; on the other controllers, the URL that they send events to.
_EVENTS_ADDRESS = "events-addr"
_GROUPS: Mapping[str, Collection[Controller]] = {
    "all": tuple(Controller),
    "reconcilers": RECONCILERS,
    "image": (Controller.IMAGE_REFLECTOR, Controller.IMAGE_AUTOMATION),
}


@dataclass(frozen=True)
class LockdownVariable:
    """One environment variable of the multi-tenant profile, with its value in place of any of the release."""

    name: str
    value: str
    controllers: frozenset[Controller]
    hole: str


@dataclass(frozen=True)
class LockdownFlag:
    """One flag of the multi-tenant profile, its name without dashes.

    Attributes:
        since: the first reviewed (major, minor) of Flux whose controllers know it.
        before: the first one whose controllers do not need it any more; None if all do.
    """

    name: str
    value: str
    controllers: frozenset[Controller]
    purpose: str
    since: tuple[int, int]
    before: tuple[int, int] | None

    @property
    def argument(self) -> str:
        return f"--{self.name}={self.value}"

    def holds_for(self, version: str) -> bool:
        """Whether the controllers of a release get it."""
        own = reviewed_minor(version)
        return self.since <= own and (self.before is None or own < self.before)


def _controllers(row: Mapping[str, Any]) -> frozenset[Controller]:
    """Those of a row of the file: `controllers` without `but`."""

    def named(key: str) -> frozenset[Controller]:
        return frozenset(one for name in row.get(key, ()) for one in _GROUPS.get(name) or (Controller(name),))

    return named("controllers") - named("but")


_FILE: Mapping[str, Any] = data_of(__file__, "lockdown.yaml")
LOCKDOWN_ENVIRONMENT = tuple(
    LockdownVariable(name, row["value"], _controllers(row), row["hole"])
    for row in _FILE["variables"]
    for name in row["names"]
)
LOCKDOWN_FLAGS = tuple(
    LockdownFlag(
        row["name"],
        row.get("value", "true"),
        _controllers(row),
        row["hole"],
        tuple(row.get("since", (2, 9))),
        tuple(row["before"]) if "before" in row else None,
    )
    for row in _FILE["flags"]
)
FORBIDDEN_FLAGS: Mapping[str, str] = _FILE["forbidden"]
"""Why each flag that would undo the profile is refused with it."""
PROXY_VARIABLES = tuple(
    dict.fromkeys(each.name for each in LOCKDOWN_ENVIRONMENT if each.name.lower().endswith("_proxy"))
)


def variables_for(controller: Controller) -> tuple[LockdownVariable, ...]:
    """The variables of a controller."""
    return tuple(variable for variable in LOCKDOWN_ENVIRONMENT if controller in variable.controllers)


# Each HelmRepository and HelmChart that is reconciled holds an index in memory. The controller's default is 50 MiB.
HELM_INDEX_LIMIT = "--helm-index-max-size=26214400"
"""The argument that bounds a Helm repository's index to 25 MiB, unless `flux.extraArgs` sets another size."""


def flags_for(controller: Controller, version: str) -> tuple[LockdownFlag, ...]:
    """The flags of a controller in a release of Flux."""
    return tuple(flag for flag in LOCKDOWN_FLAGS if controller in flag.controllers and flag.holds_for(version))


def arguments_for(controller: Controller, default_account: str, version: str) -> list[str]:
    """The arguments that the profile adds to a controller."""
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
        return NOT_ALLOWED(what=f"--{name}", owner="the multi-tenant profile", why=FORBIDDEN_FLAGS[name])
    # More feature gates are harmless: the lockdown appends its own to the list.
    own = {flag.name for flag in flags_for(controller, version)}
    if name != "feature-gates" and name in own | unknown_to(controller, version):
        return SET_BY(what=f"--{name}", owner="the multi-tenant profile")
    return None


def has_object_identity(arguments: Iterable[str], version: str) -> bool:
    """Whether a controller with these arguments uses the cloud identity of an object."""
    gate = next(flag for flag in LOCKDOWN_FLAGS if flag.value == f"{OBJECT_IDENTITY}=true")
    return not gate.holds_for(version) or any(enables(OBJECT_IDENTITY, argument) for argument in arguments)


def enables(gate: str, argument: str) -> bool:
    """Whether an argument from the configuration enables a feature gate."""
    name, _, value = argument.removeprefix("--").partition("=")
    return name == "feature-gates" and f"{gate}=true" in value.split(",")
