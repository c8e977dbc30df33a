"""A Flux release as a pinned input: fetched from the configured URL or bundle and verified by its digest; its lanes.

What its objects may say is checked by the CustomResourceDefinitions of the release: structure, types, enumerations and
patterns. The rules in CEL (`x-kubernetes-validations`) are checked by the API server, in the dry run of a preview.

Lanes are the controllers of a release once more, each set for the Flux objects with one value of a label. The release
is expanded before its profile is applied, so a controller of a lane is configured like any other.
Source: https://fluxcd.io/flux/installation/configuration/sharding/
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import yaml
from pydantic import AfterValidator

from flux_tenancy.components.config.errors import MISSING, NOT_A, WRONG, KeyPath
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.config.pinned_input import PinnedInput, read_pinned
from flux_tenancy.components.config.types import SEMANTIC_VERSION, matching
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.product import Product, minor, parse_version
from flux_tenancy.components.sync.notifications import BETA_PROVIDER_API, PROVIDER_API
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANE_LABEL, LANED, RECONCILERS, Controller

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


def _not_flux(value: str) -> str:
    """Refuse Flux's own services: every tenant could read the artifacts of all others."""
    host = value.rpartition(":")[0] or value
    own = ".source-controller.flux-system.svc.cluster.local"
    if own.endswith("." + host.strip(".")) or own.startswith("." + host.strip(".") + "."):
        raise ValueError(
            Message(
                "FT-CFG-304",
                "would open the artifacts of all tenants to each of them",
                "list single hosts outside of Flux",
            )
        )
    return value


FluxMinor = Annotated[str, *matching(r"^[0-9]+\.[0-9]+$", NOT_A(what="a minor version of Flux", example='"2.11"'))]
FluxVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A(what="a Flux release", example="2.9.5"))]
# With its value: an argument without one would take the next as its value, which may be one of the lockdown.
ControllerArgument = Annotated[
    str,
    *matching(r"^--[a-z][a-z0-9-]*=.*$", NOT_A(what="a controller argument with its value", example="--concurrent=8")),
]
EgressHost = Annotated[
    str,
    *matching(
        r"^(\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?(:[0-9]{1,5})?|[0-9a-f.:]+/[0-9]{1,3}|\[[0-9a-f:]+\](:[0-9]{1,5})?)$",
        NOT_A(
            what="a host as in a URL, a domain or a network", example="files.example.com, .example.com or 192.0.2.0/24"
        ),
    ),
    AfterValidator(_not_flux),
]


# Flux (major, minor) -> the oldest patch release of each Kubernetes (major, minor) that it supports; it supports none
# before the first, and all after the last.
# Source: `flux check --pre` of each release (cmd/flux/check.go); for 2.10, its release notes.
OLDEST_KUBERNETES: dict[tuple[int, int], dict[tuple[int, int], int]] = {
    (2, 9): {(1, 33): 0},
    (2, 10): {(1, 35): 2, (1, 36): 1, (1, 37): 0},
}

FLUX = Product(
    title="Flux",
    name="flux",
    area="FLX",
    namespace=FLUX_NAMESPACE,
    repository="https://github.com/fluxcd/flux2",
    minors=tuple(OLDEST_KUBERNETES),
)

VERSION_LABEL = "app.kubernetes.io/version"


def reviewed_minor(version: str) -> tuple[int, int]:
    """The reviewed (major, minor) whose flags and requirements hold for a release.

    Its own; for a release that `flux.unreviewedMinor` accepts, the newest.
    """
    return own if (own := minor(version)) in OLDEST_KUBERNETES else max(OLDEST_KUBERNETES)


def needed_kubernetes(version: str, cluster: str) -> str | None:
    """The oldest Kubernetes that a release supports if the cluster is older, e.g. `1.35.2`; None if it is not.

    Args:
        version: of Flux, e.g. `2.9.5`.
        cluster: of the API server, e.g. `v1.36.3-eks-1234`.
    """
    oldest, own = OLDEST_KUBERNETES[reviewed_minor(version)], minor(cluster)
    needed = max((each for each in oldest if each <= own), default=min(oldest))
    release = (*needed, oldest[needed])
    return None if parse_version(cluster) >= release else ".".join(map(str, release))


def provider_api(version: str) -> str:
    """The API of Alerts and Providers in a release."""
    return PROVIDER_API if reviewed_minor(version) >= (2, 10) else BETA_PROVIDER_API


def version_of(manifest: Manifest) -> str:
    """The release that an object belongs to, by its label; the newest reviewed one without the label."""
    return _version_label(manifest).removeprefix("v") or ".".join(map(str, max(OLDEST_KUBERNETES)))


def _version_label(manifest: Manifest) -> str:
    return str((manifest["metadata"].get("labels") or {}).get(VERSION_LABEL, ""))


def labelled(manifest: Manifest, version: str) -> Manifest:
    """An object of the release with its labels.

    `flux install` labels pods as well. They stay as they are: another label would restart every controller.

    Args:
        version: of the release, e.g. `2.9.5`.
    """
    metadata = manifest["metadata"]
    labels = metadata.get("labels", {}) | {
        "app.kubernetes.io/instance": FLUX_NAMESPACE,
        "app.kubernetes.io/part-of": "flux",
        VERSION_LABEL: f"v{version}",
    }
    return manifest | {"metadata": metadata | {"labels": labels}}


COMPONENT_LABEL = "app.kubernetes.io/component"


_NOT_MANIFESTS = Wording(
    "FT-FLX-002",
    "{source} is not an install manifest: {reason}",
    "download install.yaml of the release again, and set its digest",
)


def _pinned(config: FluxConfig) -> PinnedInput:
    return PinnedInput("flux", "manifests", config.url, config.manifests.bundle, config.sha256, ".yaml")


def read_release(config: FluxConfig, project: Path) -> list[Manifest]:
    """The objects of the release that the chosen components need, in the release's own order.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not an install
            manifest, is of another version, or lacks a component that the configuration lists.
    """
    pinned = _pinned(config)
    content = read_pinned(pinned, project)
    try:
        manifests = [manifest for manifest in yaml.load_all(content, FastLoader) if manifest]
    except yaml.YAMLError as error:
        reason = f"it is not valid YAML: {printable(str(error))}"
        raise pinned.error("manifests", _NOT_MANIFESTS(source=pinned.source, reason=reason)) from None
    if not all(_is_object(manifest) for manifest in manifests):
        reason = "it contains documents that are not Kubernetes objects"
        raise pinned.error("manifests", _NOT_MANIFESTS(source=pinned.source, reason=reason))
    # Flags and requirements go by the version, so it has to be that of the content.
    if others := {label for each in manifests if (label := _version_label(each))} - {f"v{config.version}"}:
        raise pinned.error(
            "version",
            Message(
                "FT-FLX-004",
                f"{pinned.source} is of Flux {printable(', '.join(sorted(others)))}, not of v{config.version}",
                "set the version together with its digest, e.g. by `flux-tenancy releases update`",
            ),
        )
    return select_components(manifests, config)


def select_components(manifests: list[Manifest], config: FluxConfig) -> list[Manifest]:
    """The objects that are shared or belong to a listed component, labeled as part of Flux."""
    present = {component for manifest in manifests if (component := component_of(manifest))}
    if missing := [str(component) for component in config.components if component not in present]:
        pinned = _pinned(config)
        raise pinned.error(
            "components",
            Message(
                "FT-FLX-003",
                f"{pinned.source} has no {', '.join(missing)}; it has {', '.join(sorted(present))}",
                "remove the components that it lacks",
            ),
        )
    wanted = {None, *config.components}
    # Whoever creates an account that nothing needs gets no rights by that.
    absent = {controller.value for controller in Controller} - {component.value for component in config.components}
    return [
        labelled(
            without_subjects(manifest, absent) if manifest["kind"] == "ClusterRoleBinding" else manifest, config.version
        )
        for manifest in manifests
        if component_of(manifest) in wanted
    ]


def component_of(manifest: Manifest) -> Controller | None:
    """The controller that an object of the release belongs to, or None if all controllers share it."""
    label = manifest["metadata"].get("labels", {}).get(COMPONENT_LABEL)
    return Controller(label) if label in list(Controller) else None


def deployments_of(manifests: Iterable[Manifest]) -> Iterator[tuple[Controller, Manifest]]:
    """The Deployments of a release, each with its controller."""
    for manifest in manifests:
        if manifest["kind"] == "Deployment" and (controller := component_of(manifest)) is not None:
            yield controller, manifest


def container_of(deployment: Manifest) -> Manifest:
    """The container of a controller."""
    containers: list[Manifest] = deployment["spec"]["template"]["spec"]["containers"]
    return next((each for each in containers if each.get("name") == "manager"), containers[0] if containers else {})


def arguments_of(deployment: Manifest) -> dict[str, str]:
    """The flags of a controller."""
    return flags_in(container_of(deployment).get("args") or ())


def flags_in(arguments: Iterable[str]) -> dict[str, str]:
    """Arguments as flags; the last value of a repeated flag counts, as it does for the controller."""
    parts = (str(each).lstrip("-").partition("=") for each in arguments)
    return {name: value if separator else "true" for name, separator, value in parts}


def environment_of(deployment: Manifest) -> dict[str, str]:
    """The environment of a controller, as far as the Deployment itself states it."""
    return {each["name"]: each.get("value", "") for each in container_of(deployment).get("env") or ()}


def controller_images(manifests: Iterable[Manifest]) -> list[str]:
    """The container images of a release, as its Deployments name them."""
    return [
        container["image"]
        for manifest in manifests
        if manifest["kind"] == "Deployment"
        for container in manifest["spec"]["template"]["spec"]["containers"]
    ]


def _is_object(document: Any) -> bool:
    return isinstance(document, dict) and "kind" in document and isinstance(document.get("metadata"), dict)


def without_subjects(binding: Manifest, names: Container[str]) -> Manifest:
    """A binding without the accounts of these names."""
    return binding | {"subjects": [each for each in binding.get("subjects", ()) if each["name"] not in names]}


_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}
_FOUND = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a mapping"}


class Definitions:
    """The definitions of a release."""

    def __init__(self, release: Iterable[Manifest], version: str) -> None:
        self._definitions = [each for each in release if each["kind"] == "CustomResourceDefinition"]
        self._version = version

    @cached_property
    def _validators(self) -> Mapping[tuple[str, str], Draft202012Validator]:
        # Only stacks that are checked read it.
        from jsonschema import Draft202012Validator

        return {
            (f"{each['spec']['group']}/{version['name']}", each["spec"]["names"]["kind"]): Draft202012Validator(
                _closed(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
            )
            for each in self._definitions
            for version in each["spec"].get("versions", ())
        }

    def problems(self, manifest: Manifest, keys: Iterable[str] = ()) -> Iterator[tuple[KeyPath, Message]]:
        """Where an object's `spec` is not valid, by paths in it; nothing where the release has no such kind.

        A message repeats no value: it may be a secret.
        """
        validator = self._validators.get((manifest["apiVersion"], manifest["kind"]))
        for error in validator.iter_errors(manifest["spec"]) if validator is not None else ():
            path: KeyPath = tuple(error.absolute_path)
            if error.validator == "additionalProperties":
                fields = cast("dict[str, Any]", error.schema)["properties"]
                for key in error.instance.keys() - fields.keys():
                    yield (*path, key), self._unknown(key, [*fields, *(keys if not path else ())], manifest["kind"])
            elif error.validator == "required":
                for key in cast("list[str]", error.validator_value):
                    if key not in error.instance:
                        yield (*path, key), MISSING()
            else:
                yield path, self._invalid(error)

    def _unknown(self, key: str, known: Iterable[str], kind: str) -> Message:
        fields = sorted(set(known))
        close = get_close_matches(str(key), fields, n=1, cutoff=0.7)
        remedy = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(fields)}"
        return Message("FT-FLX-030", f"is not a field of a {kind} in Flux {self._version}", f"{remedy}")

    def _invalid(self, error: ValidationError) -> Message:
        rule, wanted = str(error.validator), error.validator_value
        if rule == "type":
            found = _FOUND.get(type(error.instance), "nothing")
            return WRONG(wanted=_TYPES.get(str(wanted), wanted), found=found)
        said = {"enum": "one of", "pattern": "of the pattern"}.get(rule, f"of the {rule}")
        listed = ", ".join(map(str, wanted)) if isinstance(wanted, list) else wanted
        return Message("FT-FLX-033", f"must be {said} {listed}", f"Flux {self._version} accepts nothing else")


def _closed(schema: Any) -> Any:
    """The same schema, which refuses fields that it does not know: the API server drops them without a word."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    found = {key: _closed(value) for key, value in schema.items()}
    closes = isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields")
    return {"additionalProperties": False} | found if closes else found


APP_LABEL = "app"
"""The label by which Services, Deployments and NetworkPolicies of the release select pods."""
PLATFORM_SELECTOR = f"!{LANE_LABEL}"
"""What the platform's controllers serve: so nobody serves an object with an unknown lane."""
ADVERTISED = "--storage-adv-addr="


def with_lanes(manifests: list[Manifest], lanes: Collection[str]) -> list[Manifest]:
    """The release with a copy of its controllers for each lane; without lanes, the release as it is."""
    if not lanes:
        return manifests
    copies = [
        _of_lane(manifest, controller, lane)
        for lane in lanes
        for manifest in manifests
        if (controller := component_of(manifest)) in LANED and manifest["kind"] in ("Deployment", "Service")
    ]
    for controller, deployment in deployments_of(manifests):
        if controller in RECONCILERS:
            # Another selector is another lease: the pods before and after a change would both be leaders. Recreate
            # cannot be applied on the server's side over the defaults of a rolling update.
            deployment["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    result = [*manifests, *copies]
    for controller, deployment in deployments_of(result):
        if controller in LANED:
            container = container_of(deployment)
            container["args"] = [*container.get("args", ()), SELECTOR + selector_of(lane_of(deployment))]
    return result


def lane_of(manifest: Mapping[str, Any]) -> str:
    """The lane that an object belongs to; empty if it belongs to none."""
    lane: str = manifest["metadata"].get("labels", {}).get(LANE_LABEL, "")
    return lane


def selector_of(lane: str) -> str:
    """The label selector for the objects that the controllers of a lane serve; of the platform if it is empty."""
    return f"{LANE_LABEL}={lane}" if lane else PLATFORM_SELECTOR


def instance_of(controller: Controller, lane: str) -> str:
    """The name of a controller of a lane: of its Deployment and Service, and the label `app` of its pods."""
    return f"{controller.value}-{lane}" if lane else controller.value


def instances_of(controller: Controller, lanes: Collection[str]) -> list[str]:
    """The names of a controller of the platform and of all lanes."""
    return [instance_of(controller, lane) for lane in ("", *(lanes if controller in LANED else ()))]


def lease_of(controller: Controller, lane: str) -> str:
    """The name of the lease by which the pods of a controller elect a leader, in a stack with lanes.

    Source: GenerateID in runtime/leaderelection/leaderelection.go of github.com/fluxcd/pkg
    """
    return f"{controller.value}-leader-election-{hashlib.sha256(selector_of(lane).encode()).hexdigest()[:8]}"


def _of_lane(manifest: Manifest, controller: Controller, lane: str) -> Manifest:
    copy, name = deepcopy(manifest), instance_of(controller, lane)
    copy["metadata"]["name"] = name
    copy["metadata"].setdefault("labels", {})[LANE_LABEL] = lane
    spec = copy["spec"]
    if copy["kind"] == "Service":
        spec["selector"] = spec["selector"] | {APP_LABEL: name}
        return copy
    spec["selector"]["matchLabels"][APP_LABEL] = name
    spec["template"]["metadata"]["labels"] |= {APP_LABEL: name, LANE_LABEL: lane}
    container = container_of(copy)
    own, others = f"{ADVERTISED}{name}.", f"{ADVERTISED}{controller.value}."
    container["args"] = [each.replace(others, own) for each in container.get("args", ())]
    return copy


SELECTOR = "--watch-label-selector="
