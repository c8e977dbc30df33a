"""The sample stacks' renders, held against the schemas and policies of the pinned Kubernetes, Flux and Kyverno."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from flux_tenancy.review.admission.check import Answers, admission_answers, refusals, schema_errors
from flux_tenancy.review.admission.program import Answer
from flux_tenancy.review.render.rendered import Render, RenderedObject
from flux_tenancy.review.render.stack import render_stack
from tests.support.offline_requests import PROGRAM, tool
from tests.support.releases import FLUX_BUNDLE, FLUX_VERSION

CHECKOUT = Path(__file__).parents[2]
STACKS = ("staging", "production")
# Where the sample stacks expect what the lab provides.
FILES = {
    FLUX_BUNDLE: f".lab/flux/v{FLUX_VERSION}/install.yaml",
    "kyverno-chart-1.19.1": ".lab/kyverno/v1.19.1/kyverno-3.9.1.tgz",
}
KNOWN_HOST = "[127.0.0.1]:20801 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample stacks with the files of a lab that has never run."""
    folder = tmp_path_factory.mktemp("project")
    for file in CHECKOUT.glob("Pulumi*.yaml"):
        shutil.copy(file, folder)
    shutil.copytree(CHECKOUT / "tenants", folder / "tenants")
    for name, path in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True)
        shutil.copy(tool(name), target)
    known_hosts = folder / ".lab" / "git-host" / "known_hosts"
    known_hosts.parent.mkdir()
    known_hosts.write_text(KNOWN_HOST)
    return folder


@pytest.fixture(scope="module")
def renders(project: Path) -> dict[str, Render]:
    return {stack: render_stack(project, stack) for stack in STACKS}


@pytest.fixture(scope="module")
def answers(project: Path) -> Callable[[Render], Answers]:
    return lambda render: admission_answers(tool(PROGRAM), render, project)


@pytest.mark.parametrize("stack", STACKS)
def test_every_object_of_a_sample_stack_is_accepted(
    renders: dict[str, Render], answers: Callable[[Render], Answers], stack: str
) -> None:
    found = answers(renders[stack])

    assert len(found) > 100
    assert {key: answer for key, answer in found.items() if answer != Answer()} == {}


def changed(render: Render, changes: dict[tuple[str, str], dict[str, Any]]) -> Render:
    """The render with other values in objects, by kind and name; keys are paths with dots."""
    return Render.of(render.stack, (_changed(each, changes.get((each.kind, each.name), {})) for each in render.objects))


def _changed(each: RenderedObject, fields: dict[str, Any]) -> RenderedObject:
    manifest = copy.deepcopy(dict(each.manifest))
    for path, value in fields.items():
        *parents, last = path.split(".")
        reduce(lambda parent, key: parent[key], parents, manifest)[last] = value
    return replace(each, manifest=manifest)


def test_each_error_names_the_file_and_the_field(
    renders: dict[str, Render], answers: Callable[[Render], Answers]
) -> None:
    policy = "flux-tenancy-allowed-sources"
    render = changed(
        renders["staging"],
        {
            ("GitRepository", "dev-team"): {"spec.branch": "main"},
            ("Kustomization", "dev-team"): {"spec.kubeConfig": {}},
            ("ValidatingPolicy", policy): {"spec.evaluation.mode": 5},
            ("ValidatingAdmissionPolicy", policy): {"spec.failurePolicy": "Never"},
            ("Namespace", "apps"): {"metadata.labels": {"a": "b c"}},
        },
    )

    errors = schema_errors(render, answers(render))

    assert {(each.owner, each.file.name, each.path) for each in errors} == {
        ("dev-team", "gitrepository-dev-team.yaml", "spec.branch"),
        ("dev-team", "kustomization-dev-team.yaml", "spec.kubeConfig"),
        ("platform", f"validatingpolicy-{policy}.yaml", "spec.evaluation.mode"),
        ("platform", f"validatingadmissionpolicy-{policy}.yaml", "spec.failurePolicy"),
        ("dev-team", "namespace-apps.yaml", "metadata.labels"),
    }


def test_a_change_is_refused_by_the_policies_of_its_own_render(
    renders: dict[str, Render], answers: Callable[[Render], Answers]
) -> None:
    before = renders["staging"]
    after = changed(before, {("Kustomization", "dev-team"): {"spec.serviceAccountName": "other"}})

    [refusal] = refusals(answers(before), answers(after), after)

    assert (refusal.owner, refusal.policy, refusal.object) == (
        "dev-team",
        "tenant-service-account",
        "Kustomization apps/dev-team",
    )
    assert refusal.newly and refusal.denied
    assert "set it to dev-team" in refusal.message


def test_kyverno_alone_refuses_the_same(renders: dict[str, Render], answers: Callable[[Render], Answers]) -> None:
    """Its policies are asked as policies of the API server."""
    both = changed(renders["staging"], {("Kustomization", "dev-team"): {"spec.serviceAccountName": "other"}})
    alone = Render.of("staging", (each for each in both.objects if "ValidatingAdmissionPolicy" not in each.kind))

    assert refusals(None, answers(alone), alone) == refusals(None, answers(both), both) != ()
