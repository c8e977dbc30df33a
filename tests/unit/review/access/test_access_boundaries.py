"""What changes of namespaces, Flux's flags and its accounts mean for access."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from sample_access import TENANTS, account, binding, of, render, role, rule, sentences

from flux_tenancy.components.installs.flux.lockdown_flags import LOCKDOWN_FLAGS
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.render.rendered import Render

ENFORCE = "pod-security.kubernetes.io/enforce"
ALL = {"components": [controller.value for controller in Controller]}
APPS = "in apps on production"


def edited(before, kind, name, edit):
    """A render with another content of one object."""
    objects = deepcopy(before.objects)
    for each in objects:
        if (each.kind, each.name) == (kind, name):
            edit(each.manifest)
    return Render(before.stack, objects, "", before.settings)


def level(name):
    return render(TENANTS | {"dev-team": {"namespaces": [{"name": "apps", "podSecurity": name}]}})


def arguments(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("restricted", "baseline", "+! dev-team may now run Pods of the Pod Security level baseline"),
        ("restricted", "privileged", "+! dev-team may now run Pods of the Pod Security level privileged"),
        ("privileged", "restricted", "-  dev-team may no longer run Pods of the Pod Security level privileged"),
    ],
)
def test_a_level_of_pod_security_is_what_pods_may_run(before, after, sentence):
    assert sentences(level(before), level(after)) == [f"{sentence} {APPS}"]


def test_a_namespace_without_a_level_runs_any_pod():
    without = edited(render(), "Namespace", "apps", lambda manifest: manifest["metadata"]["labels"].pop(ENFORCE))

    assert sentences(render(), without) == [f"+! dev-team may now run any Pods: Pod Security enforces no level {APPS}"]


def test_the_level_of_a_new_namespace_is_told_if_it_is_not_the_strictest():
    qa = {"namespaces": [{"name": "apps"}, {"name": "qa", "podSecurity": "baseline"}, {"name": "ci"}]}
    found = sentences(render(), render(TENANTS | {"dev-team": qa}))

    assert [line for line in found if "Pod Security" in line] == [
        "+  dev-team may now run Pods of the Pod Security level baseline in qa on production"
    ]


def test_a_network_policy_isolates_pods():
    isolated = render(tenancy={"networkPolicy": "default-deny"})

    assert sentences(isolated, render()) == [
        "+! Both tenants may now let Pods connect to anything (no NetworkPolicy isolates them) "
        "in their namespaces on production"
    ]
    assert sentences(render(), isolated) == [
        "-  Both tenants may no longer let Pods connect to anything (a NetworkPolicy isolates them) "
        "in their namespaces on production"
    ]


LANES: dict[str, Any] = {"lanes": {"tenants": {}, "batch": {}}}


MOVED = TENANTS | {"dev-team": TENANTS["dev-team"] | {"lane": "batch"}}


def served(before, after):
    return [line for line in sentences(before, after) if " lane " in line or "of the platform" in line]


def test_the_first_lanes_separate_tenants_from_the_platform():
    """Tenants with the same new controllers are one sentence."""
    assert served(render(), render(MOVED, flux=LANES)) == [
        "+  The lane batch is new: controllers for the tenants that name it on production",
        "+  The lane tenants is new: controllers for the tenants that name none on production",
        "-  dev-team now has the controllers of the lane batch in apps on production",
        "-  ops-team now has the controllers of the lane tenants in tools on production",
    ]
    assert served(render(flux=LANES), render()) == [
        "+! Both tenants now have the controllers of the platform in their namespaces on production",
        "-  The lane batch is removed on production",
        "-  The lane tenants is removed on production",
    ]


def test_a_tenant_that_moves_is_told_with_those_that_share_its_lane():
    assert served(render(MOVED, flux=LANES), render(flux=LANES)) == [
        "-  dev-team now has the controllers of the lane tenants, together with ops-team, in apps on production"
    ]
    assert served(render(flux=LANES), render(flux=LANES)) == []


def test_the_same_controller_of_another_lane_takes_over_rights_without_a_risk():
    moved = sentences(render(flux=LANES), render(MOVED, flux=LANES))

    assert [line for line in moved if line.startswith("+!")] == []
    assert any(
        line.startswith("+  ") and "may now impersonate apps/default and apps/dev-team" in line for line in moved
    )
    # Nobody hands over.
    extra = {"impersonate": [{"namespace": "apps", "serviceAccounts": ["deployer"]}]}
    assert any("+!" in line and "impersonate" in line for line in sentences(render(), render(flux=extra)))


def test_only_namespaces_of_tenants_are_told():
    isolated = render(tenancy={"networkPolicy": "default-deny"})

    def hand_over(manifest):
        del manifest["metadata"]["labels"]["toolkit.fluxcd.io/tenant"], manifest["metadata"]["labels"][ENFORCE]

    changed = edited(render(), "Namespace", "apps", hand_over)
    told = [line for line in sentences(isolated, changed) if "Pod" in line.split(" may ")[-1].split(" in ")[0]]

    assert told == [
        "+! ops-team may now let Pods connect to anything (no NetworkPolicy isolates them) in tools on production"
    ]


def test_a_namespace_that_is_new_is_not_told_for_its_isolation():
    isolated = render(tenancy={"networkPolicy": "default-deny"})
    shop = render(TENANTS | {"shop": {"namespaces": [{"name": "shop"}]}}, tenancy={"networkPolicy": "default-deny"})

    assert [line for line in sentences(isolated, shop) if "NetworkPolicy" in line] == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda spec: spec.update(podSelector={"matchLabels": {"isolated": "yes"}}),
        lambda spec: spec.update(policyTypes=["Ingress"]),
    ],
    ids=["some pods", "no egress"],
)
def test_a_network_policy_for_some_pods_or_without_egress_isolates_nothing(edit):
    isolated = render(tenancy={"networkPolicy": "default-deny"})
    changed = edited(isolated, "NetworkPolicy", "dev-team-default-deny", lambda manifest: edit(manifest["spec"]))

    assert sentences(isolated, changed) == [
        f"+! dev-team may now let Pods connect to anything (no NetworkPolicy isolates them) {APPS}"
    ]


@pytest.mark.parametrize("flag", LOCKDOWN_FLAGS, ids=lambda flag: f"{flag.argument} of {len(flag.controllers)}")
def test_a_flag_of_the_lockdown_that_is_gone_is_told_with_what_a_tenant_may_do(flag):
    version = "2.9.6" if flag.holds_for("2.9.6") else "2.10.1"
    locked, controller = render(flux=ALL | {"version": version}), sorted(flag.controllers)[0]

    def remove(manifest):
        if flag.name == "feature-gates":
            gates = arguments(manifest).pop()
            arguments(manifest).append(gates.replace(flag.value, "Other=true"))
        else:
            arguments(manifest).remove(flag.argument)

    changed = edited(locked, "Deployment", controller.value, remove)
    told = f"flux-system/{controller.value} no longer has the flag {flag.argument}, so that a tenant may {flag.purpose}"

    assert sentences(locked, changed) == [f"+! {told} on production"]
    [back] = sentences(changed, locked)
    assert back.startswith(f"-  flux-system/{controller.value} now has the flag {flag.argument}, so that no tenant may")


def test_a_gate_that_the_new_release_does_not_need_is_not_told_as_a_danger():
    before, after = (render(flux=ALL | {"version": version}) for version in ("2.9.6", "2.10.1"))
    told = [line for line in sentences(before, after) if "has the flag" in line]

    assert [line.split(", so that")[0] for line in told] == [
        "-  flux-system/source-watcher now has the flag --default-service-account=default"
    ]


def test_another_account_for_objects_that_name_none_is_told():
    named = edited(
        render(),
        "Deployment",
        "helm-controller",
        lambda manifest: arguments(manifest).append("--default-service-account=flux"),
    )

    assert sentences(render(), named) == [
        "+  flux-system/helm-controller now uses the service account flux for objects that name none, "
        "instead of default on production"
    ]


def test_a_flag_that_undoes_the_lockdown_is_told():
    undone = edited(
        render(),
        "Deployment",
        "kustomize-controller",
        lambda manifest: arguments(manifest).append("--insecure-kubeconfig-exec=true"),
    )

    assert sentences(render(), undone) == [
        "+! flux-system/kustomize-controller now has the flag --insecure-kubeconfig-exec, with which "
        "a tenant's kubeconfig could run any program inside the controller on production"
    ]
    assert sentences(undone, render())[0].startswith("-  flux-system/kustomize-controller no longer has the flag")


def deployment(runs_as):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "app", "namespace": "flux-system"},
        "spec": {"template": {"spec": {"serviceAccountName": runs_as}}},
    }


@pytest.mark.parametrize(
    ("runs_as", "instead_of", "mark"),
    [
        ("strong", "weak", "+!"),
        ("weak", "strong", "- "),
        ("everywhere", "strong", "+!"),
        ("strong", "everywhere", "- "),
    ],
)
def test_a_deployment_that_runs_as_another_account_gains_what_that_may_do_more(runs_as, instead_of, mark):
    access = [
        role("one", rule("get", "pods")),
        role("two", rule("get list", "pods")),
        binding("one", [account("weak", "flux-system")], "flux-system", name="one"),
        binding("two", [account("strong", "flux-system")], "flux-system", name="two"),
        binding("two", [account("everywhere", "flux-system")], name="three"),
    ]

    assert sentences(of(*access, deployment(instead_of)), of(*access, deployment(runs_as))) == [
        f"{mark} Deployment flux-system/app now runs as flux-system/{runs_as} instead of flux-system/{instead_of} "
        "on production"
    ]


def applied_as(name):
    return edited(
        render(), "Kustomization", "dev-team", lambda manifest: manifest["spec"].update(serviceAccountName=name)
    )


def test_the_account_that_flux_applies_a_repository_as_is_told_if_it_is_not_the_tenants():
    assert sentences(render(), applied_as("other")) == [
        f"+! Flux now applies the Kustomization dev-team as apps/other instead of apps/dev-team {APPS}"
    ]
    assert sentences(applied_as("other"), render()) == [
        f"-  Flux now applies the Kustomization dev-team as apps/dev-team instead of apps/other {APPS}"
    ]
    assert sentences(render(), applied_as("")) == [
        "+! Flux now applies the Kustomization dev-team as the controller's default account instead of apps/dev-team "
        f"{APPS}"
    ]
    assert [line for line in sentences(None, applied_as("other")) if "applies" in line] == [
        f"+! Flux now applies the Kustomization dev-team as apps/other {APPS}"
    ]


def test_a_cloud_identity_of_a_service_account_is_told():
    role_arn = "arn:aws:iam::123456789012:role/decrypt"
    aws = {"sync": {"decryption": {"workloadIdentity": {"provider": "aws", "roleArn": role_arn}}}}
    with_role = render(TENANTS | {"dev-team": aws})

    assert sentences(render(), with_role) == [
        f"+! apps/dev-team-decryption may now use the cloud identity {role_arn} on production"
    ]
    assert sentences(with_role, render()) == [
        f"-  apps/dev-team-decryption may no longer use the cloud identity {role_arn} on production"
    ]


def test_the_annotation_of_a_cloud_identity_is_one_of_service_accounts_only():
    annotated = edited(
        render(),
        "Namespace",
        "apps",
        lambda manifest: manifest["metadata"]["annotations"].update(
            {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}
        ),
    )

    assert sentences(render(), annotated) == []
