"""Values of an object by a key that a sentence can name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from flux_tenancy.components.installs.flux.lockdown_flags import (
    DEFAULT_ACCOUNT,
    FORBIDDEN_FLAGS,
    LOCKDOWN_FLAGS,
    PROXY_VARIABLES,
    LockdownFlag,
)
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.installs.flux.release import (
    SELECTOR,
    arguments_of,
    component_of,
    container_of,
    environment_of,
    lane_of,
    selector_of,
    version_of,
)
from flux_tenancy.components.sync.decryption import KEY_SERVICES
from flux_tenancy.components.tenant.annotations import FREEZES
from flux_tenancy.components.tenant.network import OPENINGS_SUFFIX
from flux_tenancy.components.vocabulary.manifests import Manifest, value_at
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    FLUX_NAMESPACE,
    GIT_REPOSITORY,
    KUSTOMIZATION,
    LANE_LABEL,
    OCI_REPOSITORY,
    POD_SECURITY_LABEL,
    TENANT_LABEL,
    SecretPurpose,
)
from flux_tenancy.review.changes.comparisons import openings
from flux_tenancy.review.changes.fields import is_descriptive, is_meaningful

Read = Callable[[Manifest], Mapping[str, Any]]
"""Reads the values of an object."""

_GATES = FEATURE_GATES.removesuffix("=")
_IDENTITIES = tuple(annotation for service in KEY_SERVICES.values() for annotation in service.settings.values())
_SIDES = (("egress", "to"), ("ingress", "from"))
# Of where the controllers send events, no sentence about access tells.
_TOLD = {
    "--concurrent",
    "--log-level",
    *(f"--{each}" for each in FORBIDDEN_FLAGS),
    *({each.argument.rpartition("=")[0] for each in LOCKDOWN_FLAGS} - {"--events-addr"}),
}


AROUND = "around"
"""The key of what an object does not say itself.

`synced` tells whether a sync applies it, `home` is its namespace if its owner has no other, `hosts` are those to which
Providers sent events before, `accounts` those of tenants by namespace and name.
"""
_CONTENT = {
    KUSTOMIZATION: ("path", "targetNamespace", "sourceRef"),
    # That they are fetched from elsewhere are rows of their own.
    GIT_REPOSITORY: ("ref",),
    OCI_REPOSITORY: ("ref", "layerSelector"),
    BUCKET: ("prefix",),
}
_NAMES = frozenset({"kind", "name", "namespace"})
_PRIVILEGES = frozenset({"privileged", "hostNetwork", "hostPID", "hostIPC", "allowPrivilegeEscalation"})
_LITERAL = re.compile(r"(?:true|false|\W|\d)*|.*\|\|\s*true\s*")


def at(*path: str) -> Read:
    """The value of one field, under its last key; nothing if it is absent."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        value = value_at(manifest, path)
        return {} if value is None else {path[-1]: value}

    return read


def of(path: tuple[str, ...], *keys: str) -> Read:
    """Some of the fields of a mapping; all without keys."""

    def read(manifest: Manifest) -> Mapping[str, Any]:
        found = value_at(manifest, path)
        return {k: value for k, value in found.items() if k in keys or not keys} if isinstance(found, dict) else {}

    return read


def content(manifest: Manifest) -> Mapping[str, Any]:
    """What decides which objects a sync applies, and where."""
    spec, around = manifest["spec"], manifest[AROUND]
    if manifest["kind"] in (OCI_REPOSITORY, BUCKET) and not around["synced"]:
        return {}
    found = {key: _one_line(spec.get(key)) for key in _CONTENT[manifest["kind"]]}
    return {key: value or (around["home"] if key == "targetNamespace" else None) for key, value in found.items()}


def _one_line(value: Any) -> Any:
    """The reference of a source or to one, without brackets."""
    if not isinstance(value, Mapping):
        return value
    return " ".join(str(each) for key, each in value.items() for each in ([each] if key in _NAMES else [key, each]))


def _entries(manifest: Manifest, field: str) -> Mapping[str, Any]:
    found = manifest["metadata"].get(field) or {}
    return {
        key: value
        for key, value in found.items()
        if not is_descriptive(key, value) and not is_meaningful(key) and key not in _IDENTITIES
    }


def own_labels(manifest: Manifest) -> Mapping[str, Any]:
    """Labels that may have an effect of which no other sentence tells."""
    return _entries(manifest, "labels")


def own_annotations(manifest: Manifest) -> Mapping[str, Any]:
    """Annotations that may have an effect of which no other sentence tells."""
    return _entries(manifest, "annotations")


def freezes(manifest: Manifest) -> Mapping[str, Any]:
    """The freezes of a namespace by their reasons: begin and end."""
    lines = manifest["metadata"].get("annotations", {}).get(FREEZES, "").splitlines()
    parts = (line.split(" ", 2) for line in lines)
    return {reason: f"{start} to {end}" for start, end, reason in parts}


def _common_entries(manifest: Manifest, field: str) -> Mapping[str, Any]:
    found = (manifest["spec"].get("commonMetadata") or {}).get(field) or {}
    lane = (LANE_LABEL, manifest["metadata"].get("labels", {}).get(LANE_LABEL))
    return {k: value for k, value in found.items() if not is_descriptive(k, value) and (k, value) != lane}


def common_labels(manifest: Manifest) -> Mapping[str, Any]:
    """Labels that a sync or a release adds to all of its objects, but not its own lane."""
    return _common_entries(manifest, "labels")


def common_annotations(manifest: Manifest) -> Mapping[str, Any]:
    """Annotations that a sync or a release adds to all of its objects."""
    return _common_entries(manifest, "annotations")


def ignored_drift(manifest: Manifest) -> Mapping[str, Any]:
    """The fields whose drift a sync or a release does not correct."""
    return at("spec", "ignore")(manifest) or at("spec", "driftDetection", "ignore")(manifest)


def always_healthy(manifest: Manifest) -> Mapping[str, Any]:
    """The kinds whose objects a sync counts as ready by an expression that reads nothing of them."""
    found = manifest["spec"].get("healthCheckExprs") or ()
    return {each["kind"]: True for each in found if _LITERAL.fullmatch(each.get("current", ""))}


def new_hosts(manifest: Manifest) -> Mapping[str, Any]:
    """The host to which a Provider sends events, if none did before."""
    host = host_of(manifest)
    return {host: True} if host and host not in manifest[AROUND]["hosts"] else {}


def host_of(provider: Manifest) -> str:
    """The host to which a Provider sends events; empty where its type or a Secret has it."""
    return urlsplit(provider["spec"].get("address") or "").hostname or ""


def values_with_privileges(manifest: Manifest) -> Mapping[str, Any]:
    """The values of a release that ask for rights over a node."""
    found = _walked(manifest["spec"].get("values") or {})
    return {path: True for path, value in found if path.rpartition(".")[2] in _PRIVILEGES and value is True}


def chart_replicas(manifest: Manifest) -> Mapping[str, Any]:
    """How many Pods a chart of the platform runs of each of its components."""
    found = _walked(at("properties", "values")(manifest).get("values") or {})
    return {path: value for path, value in found if path.rpartition(".")[2] in ("replicas", "replicaCount")}


def resources(manifest: Manifest) -> Mapping[str, Any]:
    """The requests and limits of a controller."""
    return dict(_walked(container_of(manifest).get("resources") or {}))


def _walked(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _walked(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _walked(each, f"{path}[{index}]")
    else:
        yield path, value


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


def images(manifest: Manifest) -> Mapping[str, Any]:
    """The images of the containers, by their names."""
    spec = manifest["spec"]["template"]["spec"]
    found = [*(spec.get("initContainers") or ()), *spec["containers"]]
    return {f"container {each['name']}": each.get("image") for each in found}


def concurrent(manifest: Manifest) -> Mapping[str, Any]:
    """The number of workers of a controller."""
    return {f"--{key}": value for key, value in arguments_of(manifest).items() if key == "concurrent"}


def log_level(manifest: Manifest) -> Mapping[str, Any]:
    """How much a controller logs."""
    return {f"--{key}": value for key, value in arguments_of(manifest).items() if key == "log-level"}


def other_arguments(manifest: Manifest) -> Mapping[str, Any]:
    """Arguments of which neither another row nor a sentence about access tells, each feature gate by itself."""
    found = {f"--{key}": value for key, value in arguments_of(manifest).items()}
    for gate in found.pop(_GATES, "").split(","):
        name, _, value = gate.partition("=")
        found |= {f"{_GATES}={name}": value} if gate else {}
    own = SELECTOR + selector_of(lane_of(manifest))
    return {key: value for key, value in found.items() if key not in _TOLD and f"{key}={value}" != own}


def proxies(manifest: Manifest) -> Mapping[str, Any]:
    """The proxies of a controller."""
    return {key: value for key, value in environment_of(manifest).items() if key in PROXY_VARIABLES}


def direct(manifest: Manifest) -> Mapping[str, Any]:
    """The hosts that a controller reaches without its proxy."""
    return {host: True for host in environment_of(manifest).get("NO_PROXY", "").split(",") if host and "$" not in host}


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


def pod_security(manifest: Manifest) -> Mapping[str, Any]:
    """The level of Pod Security that a namespace of a tenant enforces."""
    labels = manifest["metadata"].get("labels") or {}
    return {"level": labels.get(POD_SECURITY_LABEL, "none")} if TENANT_LABEL in labels else {}


def cloud_identities(manifest: Manifest) -> Mapping[str, Any]:
    """The cloud identities of a service account."""
    found = manifest["metadata"].get("annotations") or {}
    return {key: found[key] for key in _IDENTITIES if key in found}


def foreign_account(manifest: Manifest) -> Mapping[str, Any]:
    """The account with whose rights Flux applies a sync or a release, if it is not a tenant's own."""
    namespace, account = manifest["metadata"].get("namespace"), manifest["spec"].get("serviceAccountName", "")
    if (namespace, account) in manifest[AROUND]["accounts"]:
        return {}
    return {"account": f"{namespace}/{account}" if account else "the controller's default account"}


def lockdown_flags(manifest: Manifest) -> Mapping[str, Any]:
    """The flags of the lockdown that a controller has or does not need, with what a tenant could do without."""
    if (controller := component_of(manifest)) is None:
        return {}
    given, version = arguments_of(manifest), version_of(manifest)
    return {
        each.argument: each.purpose
        for each in LOCKDOWN_FLAGS
        if controller in each.controllers and (not each.holds_for(version) or _is_set(each, given))
    }


def _is_set(flag: LockdownFlag, given: Mapping[str, str]) -> bool:
    """Whether a flag has its value; any account is another default than the controller's own."""
    value = given.get(flag.name)
    if flag.name == DEFAULT_ACCOUNT:
        return bool(value)
    return value is not None and flag.value in (value.split(",") if f"--{flag.name}" == _GATES else [value])


def forbidden_flags(manifest: Manifest) -> Mapping[str, Any]:
    """The flags of a controller that undo the lockdown, with the reason."""
    given = arguments_of(manifest) if component_of(manifest) else {}
    return {f"--{name}": reason for name, reason in FORBIDDEN_FLAGS.items() if name in given}


def isolates(manifest: Manifest) -> Mapping[str, Any]:
    """Whether a NetworkPolicy isolates all Pods of a namespace, and does not only open what another one closes."""
    spec = manifest["spec"]
    is_opening = manifest["metadata"]["name"].endswith(OPENINGS_SUFFIX)
    closes = "Egress" in spec.get("policyTypes", ()) and {} not in (spec.get("egress") or ())
    return {"egress": True} if closes and not spec.get("podSelector") and not is_opening else {}


def controller_egress(manifest: Manifest) -> Mapping[str, Any]:
    """The addresses that a controller of Flux may connect to, by the name of the controller."""
    metadata = manifest["metadata"]
    found = tuple(openings(manifest["spec"].get("egress"), "to"))
    return (
        {metadata["name"].removesuffix("-egress"): found} if found and metadata["namespace"] == FLUX_NAMESPACE else {}
    )


def open_egress(manifest: Manifest) -> Mapping[str, Any]:
    """Whether a policy beside Flux's controllers lets them connect to anything; several policies open together."""
    metadata, rules = manifest["metadata"], manifest["spec"].get("egress") or ()
    return {metadata["name"]: True} if metadata["namespace"] == FLUX_NAMESPACE and {} in rules else {}


def wide_openings(manifest: Manifest) -> Mapping[str, Any]:
    """The openings of a tenant to or from networks that are wider than any private one."""
    if not manifest["metadata"]["name"].endswith(OPENINGS_SUFFIX):
        return {}
    found = {f"{key} {side}": openings(manifest["spec"].get(key), side) for key, side in _SIDES}
    return {key: wide for key, each in found.items() if (wide := tuple(one for one in each if one.is_wide))}
