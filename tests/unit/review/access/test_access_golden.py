"""What reviewers read about access after small changes of a stack, as one file that a person can read.

After a change of words: `make generate`, and read the difference.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from sample_access import (
    TENANTS,
    account,
    binding,
    flux_edit,
    group,
    of,
    render,
    risks,
    role,
    rule,
    sentences,
    user,
)

from flux_tenancy.components.cluster.component import previewer_access
from flux_tenancy.components.cluster.config import Subject, SubjectKind
from flux_tenancy.review.render.rendered import Render, RenderedObject
from tests.support.goldens import assert_golden

HEADER = """\
What reviewers read about access. `!` is a risk.
Written by tests/unit/review/access/test_access_golden.py.
"""
_ALLOWED = {"images": {"allowed": ["registry.example.com/platform/*"]}, "sources": {"allowed": []}}
_TEN = {f"team-{number}": {"namespaces": [{"name": f"team-{number}"}]} for number in range(10)}
_AWS = {"workloadIdentity": {"provider": "aws", "roleArn": "arn:aws:iam::123456789012:role/decrypt"}}


def _tenants(name: str, **keys: object) -> dict[str, dict[str, object]]:
    """The tenants of the sample with other keys of one."""
    return TENANTS | {name: TENANTS.get(name, {}) | keys}


def _with_another_check(before: Render) -> Render:
    """A render before an update of the program that changes the CEL of a policy."""
    objects = deepcopy(before.objects)
    policy = next(each for each in objects if each.name == "flux-tenancy-no-kubeconfig" and "Binding" not in each.kind)
    policy.manifest["spec"]["validations"][0]["expression"] = "true"
    return replace(before, objects=objects)


def _without(before: Render, kind: str) -> Render:
    """A render without the objects of a kind."""
    kept: tuple[RenderedObject, ...] = tuple(each for each in before.objects if each.kind != kind)
    return replace(before, objects=kept)


def changes() -> dict[str, tuple[Render, Render]]:
    """The changes by what the pull request does."""
    base, strict = render(), render(policies=_ALLOWED)
    shop = _tenants(
        "shop", namespaces=[{"name": "shop"}], policies={"images": ["registry.example.com/shop/*"], "sources": []}
    )
    ten = render(_TEN)
    isolated = render(tenancy={"networkPolicy": "default-deny"})
    by_label = {"engine": "kyverno", "onboarding": True}
    return {
        "nothing": (base, render()),
        "a tenant is onboarded": (strict, render(shop, _ALLOWED)),
        "a tenant leaves": (render(shop, _ALLOWED), strict),
        "a tenant gets a namespace": (
            base,
            render(_tenants("dev-team", namespaces=[{"name": "apps"}, {"name": "qa"}])),
        ),
        "a tenant's role becomes admin": (
            render(more=[flux_edit()]),
            render(_tenants("ops-team", role="admin"), more=[flux_edit()]),
        ),
        "and tenant again": (
            render(_tenants("ops-team", role="admin"), more=[flux_edit()]),
            render(more=[flux_edit()]),
        ),
        "a tenant's role becomes cluster-admin": (base, render(_tenants("ops-team", role="cluster-admin"))),
        "ten tenants may read certificates": (
            ten,
            render(_TEN, tenancy={"extraRules": [rule("get list watch", "certificates", "cert-manager.io")]}),
        ),
        "tenants may bind roles": (
            base,
            render(tenancy={"extraRules": [rule("bind", "roles", "rbac.authorization.k8s.io")]}),
        ),
        "a tenant's own images": (
            strict,
            render(_tenants("dev-team", policies={"images": ["registry.example.com/dev-team/*"]}), _ALLOWED),
        ),
        "no list of images any longer": (strict, render(policies=_ALLOWED | {"images": {}})),
        "storage classes, priorities and timeouts": (
            base,
            render(policies={"storageClasses": ["fast"], "priorityClasses": ["gold"], "maximumTimeout": "2h"}),
        ),
        "a policy in audit mode": (base, render(policies={"modes": {"service-exposure": "audit"}})),
        "two policies that are off": (base, render(policies={"modes": {"host-access": "off", "pod-volumes": "off"}})),
        "all policies enforced after the audit": (render(policies={"mode": "audit"}), base),
        "the engine none": (base, render(policies={"engine": "none"})),
        "an update of the program changes a policy": (_with_another_check(base), base),
        "Flux's controllers with the release's rights": (
            base,
            render(flux={"controllerRights": "release"}),
        ),
        "the single-tenant profile": (
            render(flux={"components": ["source-controller", "kustomize-controller"]}),
            render(flux={"components": ["source-controller", "kustomize-controller"], "profile": "single-tenant"}),
        ),
        "the platform's own account": (
            base,
            render(flux={"impersonate": [{"namespace": "monitoring", "serviceAccounts": ["prometheus"]}]}),
        ),
        "a group may preview the stack": (
            base,
            render(more=previewer_access([Subject(kind=SubjectKind.GROUP, name="reviewers")])),
        ),
        "privileged Pods": (
            base,
            render(_tenants("dev-team", namespaces=[{"name": "apps", "podSecurity": "privileged"}])),
        ),
        "no network isolation": (isolated, _without(isolated, "NetworkPolicy")),
        "a tenant's secrets in a cloud": (base, render(_tenants("dev-team", sync={"decryption": _AWS}))),
        "onboarding by label": (render(policies={"engine": "kyverno"}), render(policies=by_label)),
        "bindings for people": (
            of(),
            of(
                role("support", rule("get list watch", "pods pods/log")),
                binding("support", [user("alice@example.com"), group("support")], name="support"),
                binding("cluster-admin", [group("platform-admins")], name="admins"),
                binding("view", [group("system:authenticated")], "apps", name="readers"),
                role("deploy", rule("create patch", "deployments", "apps"), namespace="apps"),
                binding("deploy", [account("ci", "builds")], "apps", kind="Role"),
            ),
        ),
    }


def listing() -> str:
    """Each change with its sentences."""
    found = {
        title: [*sentences(*renders), *(f"! {each}" for each in risks(*renders))]
        for title, renders in changes().items()
    }
    return HEADER + "".join(
        f"\n{title}\n" + "".join(f"  {line}\n" for line in lines or ["(no change of access)"])
        for title, lines in found.items()
    )


@pytest.mark.golden
def test_reviewers_read_about_access_what_the_golden_file_says():
    assert_golden("review/access.txt", listing())
