"""What changes of namespaces, Flux's flags and its accounts, and networks mean, by the rows of `risks.yaml`."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from sample_access import TENANTS, render, risks

from flux_tenancy.components.installs.flux.lockdown_flags import LOCKDOWN_FLAGS
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.changes.comparisons import openings, opens_further

ENFORCE = "pod-security.kubernetes.io/enforce"
ALL = {"components": [controller.value for controller in Controller]}
HTTP = {"port": 8}
CLOSED = {"networkPolicy": "default-deny"}


def edited(before, kind, name, edit):
    """A render with another content of one object."""
    objects = tuple(replace(each, manifest=deepcopy(each.manifest)) for each in before.objects)
    for each in objects:
        if (each.kind, each.name) == (kind, name):
            edit(each.manifest)
    return replace(before, objects=objects)


def level(name):
    return render(TENANTS | {"dev-team": {"namespaces": [{"name": "apps", "podSecurity": name}]}})


def arguments(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]["args"]


def flagged(controller, flag):
    """A render in which a controller has a further flag."""
    return edited(render(), "Deployment", controller, lambda manifest: arguments(manifest).append(flag))


@pytest.mark.parametrize(
    ("before", "after", "is_risk"),
    [
        ("restricted", "baseline", True),
        ("baseline", "privileged", True),
        ("privileged", "restricted", False),
        ("baseline", "restricted", False),
    ],
)
def test_a_weaker_level_of_pod_security_is_a_risk(before, after, is_risk):
    said = f"dev-team may run Pods of the Pod Security level {after} in Namespace apps (before: {before})"

    assert risks(level(before), level(after)) == ([said] if is_risk else [])


def test_a_namespace_without_a_level_is_a_risk_and_one_of_no_tenant_is_none():
    without = edited(render(), "Namespace", "apps", lambda manifest: manifest["metadata"]["labels"].pop(ENFORCE))
    labels = (ENFORCE, "toolkit.fluxcd.io/tenant")
    handed_over = edited(
        render(), "Namespace", "apps", lambda manifest: [manifest["metadata"]["labels"].pop(each) for each in labels]
    )

    assert [each for each in risks(render(), without) if "level none" in each]
    assert not [each for each in risks(render(), handed_over) if "Pod Security" in each]


def test_only_a_privileged_level_of_a_new_namespace_is_a_risk():
    def more(name):
        return render(TENANTS | {"dev-team": {"namespaces": [{"name": "apps"}, {"name": "qa", "podSecurity": name}]}})

    assert risks(render(), more("baseline")) == []
    assert risks(render(), more("privileged")) == [
        "dev-team may run Pods of the Pod Security level privileged in Namespace qa (before: none)"
    ]


@pytest.mark.parametrize(
    "edit",
    [
        lambda spec: spec.update(podSelector={"matchLabels": {"isolated": "yes"}}),
        lambda spec: spec.update(policyTypes=["Ingress"]),
    ],
    ids=["some pods", "no egress"],
)
def test_a_namespace_that_is_no_longer_isolated_is_a_risk(edit):
    isolated, name = render(tenancy=CLOSED), "dev-team-default-deny"
    changed = edited(isolated, "NetworkPolicy", name, lambda manifest: edit(manifest["spec"]))
    said = "dev-team may let Pods connect to anything: NetworkPolicy apps/dev-team-default-deny no longer isolates them"

    assert risks(isolated, changed) == [said]
    assert said in risks(isolated, render())
    assert risks(render(), isolated) == []


def test_openings_that_go_isolate_as_before():
    opened = render(TENANTS | {"dev-team": {"network": {"egress": [{"cidr": "10.0.0.0/8"}]}}}, tenancy=CLOSED)

    assert risks(opened, render(tenancy=CLOSED)) == risks(render(tenancy=CLOSED), opened) == []


def test_a_further_policy_of_the_release_that_opens_everything_is_a_risk():
    """Policies of one Pod open together: the closed one beside it does not hold any more."""
    before = render()
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}
    metadata = {"name": "allow-egress", "namespace": "flux-system"}
    manifest = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
    like = next(each for each in before.objects if each.kind == "Deployment")
    type_ = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
    further = replace(like, type=type_, resource="allow-egress", manifest=manifest)
    after = replace(before, objects=(*before.objects, further))

    assert risks(before, after) == ["platform lets Flux's controllers connect to anything: allow-egress"]
    assert risks(after, before) == risks(after, after) == []


@pytest.mark.parametrize("flag", LOCKDOWN_FLAGS, ids=lambda flag: f"{flag.argument} of {len(flag.controllers)}")
def test_a_flag_of_the_lockdown_that_is_gone_is_a_risk_with_what_a_tenant_may_do(flag):
    version = "2.9.6" if flag.holds_for("2.9.6") else "2.10.1"
    locked, controller = render(flux=ALL | {"version": version}), sorted(flag.controllers)[0]

    def remove(manifest):
        if flag.name == "feature-gates":
            gates = arguments(manifest).pop()
            arguments(manifest).append(gates.replace(flag.value, "Other=true"))
        else:
            arguments(manifest).remove(flag.argument)

    changed = edited(locked, "Deployment", controller.value, remove)
    said = f"platform starts Deployment flux-system/{controller.value} without {flag.argument}, so that a tenant may"

    assert f"{said} {flag.purpose}" in risks(locked, changed)
    assert not [each for each in risks(changed, locked) if "without" in each]


def test_a_gate_that_the_new_release_does_not_need_is_no_risk():
    before, after = (render(flux=ALL | {"version": version}) for version in ("2.9.6", "2.10.1"))

    assert not [each for each in risks(before, after) if "without" in each]


def test_a_flag_that_undoes_the_lockdown_is_a_risk():
    undone = flagged("kustomize-controller", "--insecure-kubeconfig-exec=true")

    assert risks(render(), undone) == [
        "platform starts Deployment flux-system/kustomize-controller with --insecure-kubeconfig-exec, with which a "
        "tenant's kubeconfig could run any program inside the controller"
    ]
    assert risks(undone, render()) == []


def test_another_account_of_a_controller_is_a_risk():
    def run_as(manifest):
        manifest["spec"]["template"]["spec"]["serviceAccountName"] = "strong"

    [said] = risks(render(), edited(render(), "Deployment", "helm-controller", run_as))
    assert said.startswith("platform runs Deployment flux-system/helm-controller with the rights of the account strong")


@pytest.mark.parametrize(
    ("account", "said"), [("other", "apps/other"), ("", "the controller's default account"), ("dev-team", "")]
)
def test_a_sync_that_is_not_applied_as_its_tenant_is_a_risk(account, said):
    changed = edited(
        render(), "Kustomization", "dev-team", lambda each: each["spec"].update(serviceAccountName=account)
    )
    expected = f"dev-team has Kustomization apps/dev-team applied as {said}, which is not an account of a tenant"

    assert risks(render(), changed) == ([expected] if said else [])
    assert risks(changed, render()) == []
    new = replace(render(), objects=tuple(each for each in render().objects if each.kind != "Kustomization"))
    assert risks(new, changed) == ([expected] if said else [])


def test_a_cloud_identity_is_a_risk_of_service_accounts_only():
    role_arn = "arn:aws:iam::123456789012:role/decrypt"
    aws = {"sync": {"decryption": {"workloadIdentity": {"provider": "aws", "roleArn": role_arn}}}}
    with_role = render(TENANTS | {"dev-team": aws})

    def annotate(manifest):
        manifest["metadata"]["annotations"]["eks.amazonaws.com/role-arn"] = role_arn

    assert risks(render(), with_role) == [
        f"dev-team may use the cloud identity {role_arn} with ServiceAccount apps/dev-team-decryption"
    ]
    assert risks(with_role, render()) == risks(render(), edited(render(), "Namespace", "apps", annotate)) == []


def rules(*blocks):
    return tuple(
        each for block in blocks for each in openings([{"to": [{"ipBlock": block}], "ports": block.get("ports")}], "to")
    )


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ({"cidr": "10.20.0.0/16"}, {"cidr": "10.0.0.0/8"}),
        ({"cidr": "10.20.0.0/16", "ports": [{"port": 80}]}, {"cidr": "10.20.0.0/16"}),
        (
            {"cidr": "10.2.0.0/16", "ports": [{"port": 8}]},
            {"cidr": "10.2.0.0/16", "ports": [{"port": 7, "endPort": 9}]},
        ),
        ({"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        ({"cidr": "10.0.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}),
    ],
)
def test_what_a_wider_opening_includes_opens_nothing(narrow, wide):
    assert opens_further(rules(narrow), rules(wide))
    assert not opens_further(rules(wide), rules(narrow))
    assert not opens_further(rules(wide), None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"cidr": "10.9.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        (
            {"cidr": "10.9.0.0/16", "ports": [{"port": 8}]},
            {"cidr": "10.9.0.0/16", "ports": [{"port": 8, "protocol": "UDP"}]},
        ),
        ({"cidr": "10.9.0.0/16"}, {"cidr": "fd00:9::/32"}),
    ],
)
def test_openings_that_only_overlap_open_both(first, second):
    assert opens_further(rules(first), rules(second))
    assert opens_further(rules(second), rules(first))
