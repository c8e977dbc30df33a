"""Evaluates the shapes of tests/compatibility for one tenant, as `flux-tenancy check` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from sample_project import rendered

from dev.reference.moving_in import Shape
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.tenant.role import owner_of
from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.extensions.tenant_check.envelope import envelope_of
from flux_tenancy.extensions.tenant_check.judge import Verdict, judge
from flux_tenancy.extensions.tenant_check.manifests import Found
from flux_tenancy.review.render.stack import load_and_render
from tests.support.offline_requests import PROGRAM, definitions, tool
from tests.support.policy_cases import Object
from tests.support.policy_requests import definition

TEMPLATE = Path(__file__).parents[2] / "flux_tenancy" / "template"
TEAM = "team"
_TENANT: Object = {"namespaces": [{"name": TEAM}], "source": {"url": "https://git.example.com/team/apps"}}
_CLUSTER_SCOPED = ("ClusterIssuer", "ClusterSecretStore")


def _new_project() -> Object:
    """The sections of a new project that are about tenants."""
    written = yaml.load((TEMPLATE / "Pulumi.stack.example").read_text(), FastLoader)["config"]
    found = {name.partition(":")[2]: section for name, section in written.items()}
    release = {"version", "sha256"}
    return {
        "flux": {key: value for key, value in found["flux"].items() if key not in release},
        "tenancy": found["tenancy"],
        "policies": found["policies"],
    }


class Platform:
    """A stack of a new project with one tenant, as the program renders it."""

    def __init__(self, folder: Path, opening: Mapping[str, Any]) -> None:
        """Render it.

        Args:
            folder: an empty folder for its project.
            opening: what it has in addition to the settings of a new project, as a shape has it.
        """
        stack = merge_patch(_new_project(), opening.get("stack", {}))
        tenants = {TEAM: merge_patch(_TENANT, opening.get("tenant", {}))}
        rendered(folder, **stack, tenants=tenants)
        self._rendered = load_and_render(folder, "staging", TEAM)
        self._verdicts: dict[str, dict[str, Verdict]] = {}

    def verdicts(self, shape: Shape) -> dict[str, Verdict]:
        """The verdict on each object of a shape."""
        if shape.name not in self._verdicts:
            kinds = [*definitions(), *_custom_kinds(shape.objects.values())]
            envelope = envelope_of(*self._rendered, TEAM, definitions=kinds)
            found = judge(tool(PROGRAM), envelope, [Found(each) for each in shape.objects.values()])
            self._verdicts[shape.name] = dict(zip(shape.objects, found, strict=True))
        return self._verdicts[shape.name]

    def refusals(self, shape: Shape) -> dict[str, str]:
        """The first message about each object that is refused, in the order in which the API server asks."""
        return {name: each.message for name, each in self.verdicts(shape).items() if each.is_refused}


def _custom_kinds(objects: Iterable[Object]) -> list[Object]:
    """The definitions of the operators' kinds, without schemas."""
    kinds = {(*each["apiVersion"].split("/"), each["kind"]) for each in objects if "." in each["apiVersion"]}
    return [
        definition(group, kind, "Cluster" if kind in _CLUSTER_SCOPED else "Namespaced", version)
        for group, version, kind in sorted(kinds)
        if owner_of(group) not in ("Flux", "Kubernetes")
    ]
