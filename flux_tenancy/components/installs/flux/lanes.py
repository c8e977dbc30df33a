"""Lanes: the controllers of a release once more, each set for the Flux objects with one value of a label.

The release is expanded before its profile is applied, so a controller of a lane is configured like any other.

Source: https://fluxcd.io/flux/installation/configuration/sharding/
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.installs.flux.config import SELECTOR
from flux_tenancy.components.installs.flux.release import component_of
from flux_tenancy.components.vocabulary.names import LANE_LABEL, LANED, RECONCILERS, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

APP_LABEL = "app"
"""The label by which Services, Deployments and NetworkPolicies of the release select pods."""
PLATFORM_SELECTOR = f"!{LANE_LABEL}"
"""What the platform's controllers serve: so nobody serves an object with an unknown lane."""
_ADVERTISED = "--storage-adv-addr="


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
    for manifest in manifests:
        if manifest["kind"] == "Deployment" and component_of(manifest) in RECONCILERS:
            # Another selector is another lease: the pods before and after a change would both be leaders. Recreate
            # cannot be applied on the server's side over the defaults of a rolling update.
            manifest["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    result = [*manifests, *copies]
    for manifest in result:
        if manifest["kind"] == "Deployment" and component_of(manifest) in LANED:
            container = manifest["spec"]["template"]["spec"]["containers"][0]
            container["args"] = [*container.get("args", ()), SELECTOR + selector_of(lane_of(manifest))]
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
    container = spec["template"]["spec"]["containers"][0]
    own, others = f"{_ADVERTISED}{name}.", f"{_ADVERTISED}{controller.value}."
    container["args"] = [each.replace(others, own) for each in container.get("args", ())]
    return copy
