"""Values of an object by a key that a sentence can name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from flux_tenancy.components.installs.flux.config import SELECTOR
from flux_tenancy.components.installs.flux.lanes import lane_of, selector_of
from flux_tenancy.components.installs.flux.lockdown_environment import PROXY_VARIABLES
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.vocabulary.manifests import Manifest, value_at
from flux_tenancy.components.vocabulary.names import LANE_LABEL
from flux_tenancy.components.vocabulary.object_meta import SecretPurpose
from flux_tenancy.review.access.boundaries import IDENTITIES
from flux_tenancy.review.changes.fields import is_descriptive, is_meaningful

Read = Callable[[Manifest], Mapping[str, Any]]
"""Reads the values of an object."""

_GATES = FEATURE_GATES.removesuffix("=")
# Of where the controllers send events, no sentence about access tells.
_TOLD = {
    "--concurrent",
    "--log-level",
    *(f"--{each}" for each in FORBIDDEN_FLAGS),
    *({each.argument.rpartition("=")[0] for each in LOCKDOWN_FLAGS} - {"--events-addr"}),
}


def at(*path: str) -> Read:
    """The value of one field, under its last key; nothing if it is absent."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        value = value_at(manifest, path)
        return {} if value is None else {path[-1]: value}

    return read


def of(path: tuple[str, ...], *keys: str) -> Read:
    """Some of the fields of a mapping; all without keys."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = at(*path)(manifest).get(path[-1])
        return (
            {key: value for key, value in found.items() if key in keys or not keys} if isinstance(found, dict) else {}
        )

    return read


def entries(field: str) -> Read:
    """Labels or annotations that may have an effect of which no other sentence tells."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = manifest["metadata"].get(field) or {}
        return {
            key: value
            for key, value in found.items()
            if not is_descriptive(key, value) and not is_meaningful(key) and key not in IDENTITIES
        }

    return read


def common_entries(field: str) -> Read:
    """Labels or annotations that a sync or a release adds to all of its objects, but not its own lane."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = (manifest["spec"].get("commonMetadata") or {}).get(field) or {}
        lane = (LANE_LABEL, manifest["metadata"].get("labels", {}).get(LANE_LABEL))
        return {k: value for k, value in found.items() if not is_descriptive(k, value) and (k, value) != lane}

    return read


def intervals(manifest: Manifest) -> Mapping[str, Any]:
    """How often a sync, a release, a source or its chart is looked at."""
    spec = manifest["spec"]
    found = {
        "interval": spec,
        "interval of the chart": (spec.get("chart") or {}).get("spec") or {},
        "retryInterval": (spec.get("install") or {}).get("strategy") or spec,
    }
    return {key: value for key, each in found.items() if (value := each.get(key.split()[0])) is not None}


def placement(manifest: Manifest) -> Mapping[str, Any]:
    """Where and under which name Helm keeps a release; its own namespace is the default."""
    home, keys = manifest["metadata"].get("namespace"), ("releaseName", "targetNamespace", "storageNamespace")
    return {"targetNamespace": home, "storageNamespace": home, **of(("spec",), *keys)(manifest)}


def signer(manifest: Manifest) -> Mapping[str, Any]:
    """An identity that signs, or that there are keys, of which another row tells."""
    verify = manifest["spec"].get("verify")
    return {"signer": verify.get("matchOIDCIdentity", "a key")} if verify else {}


def signers(manifest: Manifest) -> Mapping[str, Any]:
    """The names of signers by their keys."""
    is_public = manifest["metadata"]["name"].endswith(f"-{SecretPurpose.SIGNERS}")
    return {key: name for name, key in of(("stringData",))(manifest).items()} if is_public else {}


def host_keys(manifest: Manifest) -> Mapping[str, Any]:
    """The keys of each host."""
    text = of(("stringData",), "known_hosts")(manifest).get("known_hosts", "")
    found: dict[str, list[str]] = defaultdict(list)
    for line in sorted(text.splitlines()):
        host, _, key = line.partition(" ")
        found[host].append(key)
    return {host: tuple(keys) for host, keys in found.items()}


def _arguments(manifest: Manifest) -> Mapping[str, Any]:
    arguments = _container(manifest).get("args") or ()
    return {name: value for name, _, value in (each.partition("=") for each in arguments)}


def argument(name: str) -> Read:
    """One argument of a controller."""
    return lambda manifest: {key: value for key, value in _arguments(manifest).items() if key == name}


def other_arguments(manifest: Manifest) -> Mapping[str, Any]:
    """Arguments of which neither another row nor a sentence about access tells, each feature gate by itself."""
    found = dict(_arguments(manifest))
    for gate in found.pop(_GATES, "").split(","):
        name, _, value = gate.partition("=")
        found |= {f"{_GATES}={name}": value} if gate else {}
    own = SELECTOR + selector_of(lane_of(manifest))
    return {key: value for key, value in found.items() if key not in _TOLD and f"{key}={value}" != own}


def _environment(manifest: Manifest) -> Mapping[str, str]:
    return {each["name"]: each.get("value", "") for each in _container(manifest).get("env") or ()}


def proxies(manifest: Manifest) -> Mapping[str, Any]:
    """The proxies of a controller."""
    return {key: value for key, value in _environment(manifest).items() if key in PROXY_VARIABLES}


def direct(manifest: Manifest) -> Mapping[str, Any]:
    """The hosts that a controller reaches without its proxy."""
    return {host: True for host in _environment(manifest).get("NO_PROXY", "").split(",") if host and "$" not in host}


def _container(manifest: Manifest) -> Mapping[str, Any]:
    containers = manifest["spec"]["template"]["spec"]["containers"]
    return containers[0] if containers else {}


def administrators(manifest: Manifest) -> Mapping[str, Any]:
    """Whom Capsule takes for an administrator."""
    options = at("properties", "values", "manager", "options")(manifest).get("options") or {}
    return {f"{each['kind'].lower()} {each['name']}": True for each in options.get("administrators") or ()}


def shared_limits(manifest: Manifest) -> Mapping[str, Any]:
    """The limits of a Tenant of Capsule in all of its namespaces."""
    spec = manifest["spec"]
    quotas = (quota for rule in spec.get("rules") or () for quota in rule.get("quota") or ())
    return {key: value for quota in quotas for key, value in quota["hard"].items()} | {
        "namespaces": spec["namespaceOptions"]["quota"]
    }


def classes(manifest: Manifest) -> Mapping[str, Any]:
    """The classes that a Tenant of Capsule may use, by their kind; nothing for those that are not limited."""
    spec = manifest["spec"]
    limited = {key: spec.get(key) for key in ("priorityClasses", "runtimeClasses", "storageClasses")}
    limited["ingressClasses"] = (spec.get("ingressOptions") or {}).get("allowedClasses")
    return {key: each["allowed"] for key, each in limited.items() if each}


def event_kinds(manifest: Manifest) -> Mapping[str, Any]:
    """The kinds whose events an Alert reports."""
    return {each["kind"]: True for each in manifest["spec"].get("eventSources") or ()}


def maximums(manifest: Manifest) -> Mapping[str, Any]:
    """The largest values that a LimitRange allows, by resource and type."""
    return {
        f"{key} of a {each['type']}": value
        for each in manifest["spec"]["limits"]
        for key, value in (each.get("max") or {}).items()
    }
