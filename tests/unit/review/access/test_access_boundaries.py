"""What changes of namespaces, Flux's flags and its accounts mean for access."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from sample_access import TENANTS, account, binding, of, render, role, rule, sentences

from flux_tenancy.components.installs.flux.lockdown_flags import LOCKDOWN_FLAGS
from flux_tenancy.components.tenant.people import DEVELOPER, VIEWER
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


def flagged(controller, flag):
    """A render in which a controller has a further flag."""
    return edited(render(), "Deployment", controller, lambda manifest: arguments(manifest).append(flag))


def test_another_account_for_objects_that_name_none_is_told():
    assert sentences(render(), flagged("helm-controller", "--default-service-account=flux")) == [
        "+  flux-system/helm-controller now uses the service account flux for objects that name none, "
        "instead of default on production"
    ]


def test_a_flag_that_undoes_the_lockdown_is_told():
    undone = flagged("kustomize-controller", "--insecure-kubeconfig-exec=true")

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


CLOSED = {"networkPolicy": "default-deny"}
PEOPLE = {
    "viewers": [{"kind": "Group", "name": "oidc:dev-team"}],
    "developers": [{"kind": "User", "name": "oidc:ann"}],
}


def opened(**network):
    return render(TENANTS | {"dev-team": {"network": network}}, tenancy=CLOSED)


@pytest.mark.parametrize(
    ("network", "may"),
    [
        (
            {"ingress": [{"fromNamespace": "ingress-nginx", "ports": [{"port": 8080}]}]},
            "receive connections from Pods in ingress-nginx at 8080/TCP",
        ),
        (
            {"egress": [{"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"], "ports": [{"port": 53, "protocol": "UDP"}]}]},
            "let Pods connect to 10.0.0.0/8 except 10.1.0.0/16 at 53/UDP",
        ),
        (
            {"egress": [{"cidr": "192.0.2.0/24", "ports": [{"port": 80, "endPort": 90}]}]},
            "let Pods connect to 192.0.2.0/24 at 80-90/TCP",
        ),
        ({"tenants": {"to": ["ops-team"]}}, "let Pods connect to Pods of the tenant ops-team"),
        ({"tenants": {"from": ["ops-team"]}}, "receive connections from Pods of the tenant ops-team"),
    ],
)
def test_an_opening_is_told_when_it_comes_and_when_it_goes(network, may):
    before, after = render(tenancy=CLOSED), opened(**network)

    assert sentences(before, after) == [f"+  dev-team may now {may} in apps on production"]
    assert sentences(after, before) == [f"-  dev-team may no longer {may} in apps on production"]


def test_an_opening_that_stays_is_not_told():
    first, second = ({"cidr": cidr} for cidr in ("192.0.2.0/24", "198.51.100.0/24"))

    assert sentences(opened(egress=[first]), opened(egress=[second, first])) == [
        "+  dev-team may now let Pods connect to 198.51.100.0/24 in apps on production"
    ]


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ({"cidr": "10.20.0.0/16"}, {"cidr": "10.0.0.0/8"}),
        ({"cidr": "10.20.0.0/16", "ports": [{"port": 80}]}, {"cidr": "10.20.0.0/16"}),
        (
            {"cidr": "10.20.0.0/16", "ports": [{"port": 80}]},
            {"cidr": "10.20.0.0/16", "ports": [{"port": 79, "endPort": 81}]},
        ),
        ({"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        ({"cidr": "10.0.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}),
    ],
)
def test_what_a_wider_opening_includes_neither_comes_nor_goes(narrow, wide):
    widened = sentences(opened(egress=[narrow]), opened(egress=[wide]))
    narrowed = sentences(opened(egress=[wide]), opened(egress=[narrow]))

    assert [each[:1] for each in widened] == ["+"]
    assert [each[:1] for each in narrowed] == ["-"]
    assert " (only 10." in narrowed[0]


def test_a_narrowed_opening_is_told_with_what_is_left_of_it():
    database = {"cidr": "10.20.0.0/16", "ports": [{"port": 5432}]}
    elsewhere = {"cidr": "192.0.2.0/24"}

    assert sentences(opened(egress=[database, elsewhere]), opened(egress=[database | {"cidr": "10.20.1.0/24"}])) == [
        "-  dev-team may no longer let Pods connect to 10.20.0.0/16 at 5432/TCP (only 10.20.1.0/24 at 5432/TCP) in "
        "apps on production",
        "-  dev-team may no longer let Pods connect to 192.0.2.0/24 in apps on production",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"cidr": "10.9.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        (
            {"cidr": "10.9.0.0/16", "ports": [{"port": 80}]},
            {"cidr": "10.9.0.0/16", "ports": [{"port": 80, "protocol": "UDP"}]},
        ),
        ({"cidr": "10.9.0.0/16"}, {"cidr": "fd00:9::/32"}),
    ],
)
def test_openings_that_only_overlap_are_both_told(first, second):
    assert [each[:1] for each in sentences(opened(egress=[first]), opened(egress=[second]))] == ["+", "-"]


def test_people_get_their_roles_in_the_namespaces_of_the_tenant():
    assert sentences(render(), render(TENANTS | {"dev-team": {"people": PEOPLE}})) == [
        f"+  group oidc:dev-team gains the role {VIEWER} (read only) in apps on production",
        f"+  user oidc:ann gains the role {DEVELOPER} in apps on production",
    ]
