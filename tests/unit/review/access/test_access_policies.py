"""What a change of policies, their settings and their exceptions means for tenants."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from sample_access import TENANTS, edited, render, sentences
from sample_project import rendered, tenant
from sample_sources import authority

from flux_tenancy.components.config.allowances import Allows, Bounds
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.tenant.config import TenantBounds
from flux_tenancy.review.access.policy_settings import told_settings, values_of
from flux_tenancy.review.render.rendered import AdmissionSettings, Render

# Those of lanes and of developers are not.
IN_FORCE = sum(policy.needs is None for policy in policies(PoliciesConfig()))
WHERE = "in their namespaces on production"

USUAL_TAINTS = "every taint but those of control planes and of nodes that are cordoned or unhealthy"
ANOTHER_WAY = "checks requests in another way (its CEL is in the diff) for all tenants on production"

# Setting of the stack, what tenants may do with it only, and what only without it.
ROWS = [
    (
        {"serviceTypes": ["ClusterIP", "NodePort", "LoadBalancer"]},
        "create Services of type LoadBalancer and NodePort",
        "",
    ),
    ({"serviceTypes": ["NodePort"]}, "create Services of type NodePort", "create Services of type ClusterIP"),
    ({"serviceAnnotations": ["lb.example.com/*"]}, "set the annotation lb.example.com/* of load balancers", ""),
    ({"loadBalancerClasses": ["lb.example.com/in"]}, "choose the class lb.example.com/in of load balancers", ""),
    ({"loadBalancerClasses": ["*"]}, "choose the class * of load balancers", ""),
    ({"priorityClasses": ["gold"]}, "use the PriorityClass gold", ""),
    (
        {"images": {"allowed": ["registry.example.com/org/*"]}},
        "",
        "run any image (only registry.example.com/org/*)",
    ),
    ({"images": {"digests": True}}, "", "run images by tag"),
    (
        {"sources": {"allowed": ["https://git.example.com/*"]}},
        "fetch sources from https://git.example.com/*",
        "",
    ),
    ({"sources": {"allowed": ["*"]}}, "fetch sources from any URL", ""),
    ({"sources": {"plainHttp": True}}, "fetch sources without TLS", ""),
    ({"sources": {"providers": ["aws"]}}, "let sources log in to the cloud aws", ""),
    ({"sources": {"bucketRegions": ["eu-1"]}}, "", "fetch from Buckets in any region (only eu-1)"),
    ({"sources": {"clientCertificates": True}}, "let sources trust certificate authorities of their own choice", ""),
    ({"sources": {"submodules": True}}, "fetch Git submodules of any URL", ""),
    ({"sources": {"includes": True}}, "include GitRepositories in other ones", ""),
    (
        {"sources": {"verified": ["GitRepository", "HelmChart"]}},
        "",
        "fetch GitRepository and HelmChart objects whose content is not verified",
    ),
    (
        {"notifications": {"hosts": ["hooks.slack.com"]}},
        "send notifications to hooks.slack.com",
        "",
    ),
    ({"notifications": {"types": ["slack"]}}, "write Providers of the type slack", ""),
    ({"notifications": {"plainHttp": True}}, "send notifications without TLS", ""),
    (
        {"minimumInterval": "10s"},
        "let Flux reconcile every 10s (before: 30s)",
        "",
    ),
    ({"minimumInterval": "1m"}, "", "let Flux reconcile more often than every 1m (before: 30s)"),
    ({"maximumTimeout": "90m"}, "set timeouts of up to 90m (before: 1h)", ""),
    ({"maximumTimeout": "10m"}, "", "set timeouts of more than 10m (before: 1h)"),
    ({"maximumTokenLifetime": "48h"}, "mount tokens that are valid for up to 48h (before: 24h)", ""),
    ({"maximumTokenLifetime": "12h"}, "", "mount tokens that are valid for more than 12h (before: 24h)"),
    ({"tolerations": ["*"]}, "tolerate every taint", ""),
    (
        {"tolerations": ["nvidia.com/gpu"]},
        "",
        f"tolerate {USUAL_TAINTS} (only nvidia.com/gpu)",
    ),
    (
        {"tolerations": ["nvidia.com/gpu", "node-role.kubernetes.io/control-plane"]},
        "tolerate node-role.kubernetes.io/control-plane",
        f"tolerate {USUAL_TAINTS} (only nvidia.com/gpu)",
    ),
    ({"nodeNames": True}, "choose a node by its name", ""),
    ({"storageClasses": ["fast", "slow"]}, "", "claim volumes of any StorageClass (only fast and slow)"),
    ({"storageClasses": []}, "", "claim volumes of any StorageClass"),
    ({"csiDrivers": ["csi.example.com"]}, "mount volumes of the CSI driver csi.example.com without a claim", ""),
    ({"volumeTypes": ["nfs"]}, "mount nfs volumes without a claim", ""),
    ({"blockingDisruptionBudgets": True}, "create PodDisruptionBudgets that block node drains", ""),
    ({"ingress": {"hosts": ["*.example.com"]}}, "", "publish any host (only *.example.com)"),
    ({"ingress": {"snippets": True}}, "write snippets of proxy configuration in Ingresses", ""),
    ({"finalizers": ["example.com/cleanup"]}, "set the finalizer example.com/cleanup", ""),
    ({"maximumReleaseSize": 256}, "store Helm releases of up to 256 KiB (before: 128 KiB)", ""),
    ({"maximumReleaseSize": 64}, "", "store Helm releases of more than 64 KiB (before: 128 KiB)"),
    ({"maximumTerminationGracePeriod": "2h"}, "run pods that may take up to 2h to end (before: 1h)", ""),
    ({"maximumTerminationGracePeriod": "30m"}, "", "run pods that may take more than 30m to end (before: 1h)"),
    *(
        row
        for key, words, default in (
            ("containers", "run pods of {} containers", 30),
            ("volumes", "run pods with {} volumes", 60),
            ("projectedSources", "run pods with {} projected sources", 100),
            ("variables", "run pods with {} environment variables", 500),
            ("ports", "list {} ports", 100),
            ("hosts", "write Ingresses with {} hosts and paths", 200),
            ("owners", "set {} owners", 20),
            ("keys", "store {} keys", 1000),
            ("data", "store ConfigMaps and Secrets of {} KiB", 256),
            ("object", "store other objects of {} KiB", 128),
        )
        for row in (
            (
                {"maximumSizes": {key: default + 1}},
                f"{words.format(f'up to {default + 1}')} (before: {default}{' KiB' if 'KiB' in words else ''})",
                "",
            ),
            (
                {"maximumSizes": {key: default - 1}},
                "",
                f"{words.format(f'more than {default - 1}')} (before: {default}{' KiB' if 'KiB' in words else ''})",
            ),
        )
    ),
]
# Keys that change who checks, or what Kyverno alone checks, and not what tenants may use.
NO_SETTINGS = {
    *("engine", "mode", "modes", "flux_images", "onboarding", "images.signatures", "images.registries"),
    # They change the tenants' role, or its pods.
    *("roles", "network_policies", "pod_defaults"),
    *(f"tenant_bounds.{name}" for name in TenantBounds.model_fields),
}


# What these words allow is anything, a whole rule less, or for the cluster's own components.
RISKS = (
    "any URL",
    "without TLS",
    "authorities",
    "submodules",
    "include Git",
    "every taint",
    "control-plane",
    "a node",
    "drains",
    "snip",
    "any StorageClass",
)


def expected(widened, narrowed):
    risk = "!" if any(words in widened for words in RISKS) else " "
    return [
        *([f"+{risk} Both tenants may now {widened} {WHERE}"] if widened else []),
        *([f"-  Both tenants may no longer {narrowed} {WHERE}"] if narrowed else []),
    ]


def test_certificates_of_a_source_of_the_stack_give_tenants_nothing():
    charts = {"kind": "HelmRepository", "url": "https://charts.example.com", "certificateAuthority": authority()}
    with_certificate = {
        "dev-team": TENANTS["dev-team"] | {"sources": {"charts": charts}},
        "ops-team": TENANTS["ops-team"],
    }
    both, tenants_too = {"engine": "both"}, {"engine": "both", "sources": {"clientCertificates": True}}

    assert sentences(render(policies=both), render(with_certificate, both)) == []
    assert sentences(render(with_certificate, both), render(with_certificate, tenants_too)) == expected(
        "let sources trust certificate authorities of their own choice", ""
    )


@pytest.mark.parametrize(("setting", "widened", "narrowed"), ROWS, ids=str)
def test_a_setting_is_what_tenants_may_do_now_and_no_longer(setting, widened, narrowed):
    both = {"engine": "both"}

    assert sentences(render(policies=both), render(policies=both | setting)) == expected(widened, narrowed)


@pytest.mark.parametrize("engine", ["native", "kyverno"])
def test_a_setting_of_one_engine_is_told(engine):
    default, changed = render(policies={"engine": engine}), render(policies={"engine": engine, "nodeNames": True})

    assert sentences(default, changed) == expected("choose a node by its name", "")


def test_a_setting_that_is_taken_back_is_the_reverse():
    assert sentences(render(policies={"tolerations": ["*"]}), render()) == expected(
        "",
        f"tolerate every taint (only {USUAL_TAINTS})",
    )
    assert sentences(render(policies={"storageClasses": ["fast"]}), render()) == expected(
        "claim volumes of any StorageClass", ""
    )


def test_every_key_of_the_policies_is_in_a_row():
    def keys(model, prefix=""):
        for name, each in model.model_fields.items():
            nested = each.annotation if hasattr(each.annotation, "model_fields") else None
            yield from keys(nested, f"{name}.") if nested and not prefix else [f"{prefix}{name}"]

    def in_rows(setting, prefix=""):
        for key, value in setting.items():
            snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
            yield from in_rows(value, f"{snake}.") if isinstance(value, dict) else [f"{prefix}{snake}"]

    told = {key for setting, _, _ in ROWS for key in in_rows(setting)}

    assert set(keys(PoliciesConfig)) - NO_SETTINGS == told


@pytest.mark.parametrize(
    ("key", "stack", "own", "words"),
    [
        ("images", {"images": {"allowed": []}}, "registry.example.com/a/*", "run images of registry.example.com/a/*"),
        (
            "sources",
            {"sources": {"allowed": []}},
            "https://git.example.com/a/*",
            "fetch sources from https://git.example.com/a/*",
        ),
        ("notifications", {"notifications": {"hosts": []}}, "hooks.slack.com", "send notifications to hooks.slack.com"),
        ("hosts", {"ingress": {"hosts": []}}, "shop.example.com", "publish the host shop.example.com"),
    ],
)
def test_an_exception_of_a_tenant_is_told_for_its_namespaces(key, stack, own, words):
    listed = render(TENANTS | {"dev-team": {"policies": {key: [own]}}}, stack)

    assert sentences(render(policies=stack), listed) == [f"+  dev-team may now {words} in apps on production"]
    assert sentences(listed, render(policies=stack)) == [f"-  dev-team may no longer {words} in apps on production"]


@pytest.mark.parametrize(
    ("own", "words", "risk"),
    [
        ({"maximumReleaseSize": 256}, "store Helm releases of up to 256 KiB (before: 128 KiB)", " "),
        ({"maximumReleaseSize": 1024}, "store Helm releases of up to 1024 KiB (before: 128 KiB)", "!"),
        ({"maximumTimeout": "2h"}, "set timeouts of up to 2h (before: 1h)", " "),
        ({"minimumInterval": "20s"}, "let Flux reconcile every 20s (before: 30s)", " "),
        ({"blockingDisruptionBudgets": True}, "create PodDisruptionBudgets that block node drains", "!"),
    ],
)
def test_a_wider_bound_of_a_tenant_is_told_for_its_namespaces(own, words, risk):
    bounded = render(TENANTS | {"dev-team": {"policies": own}})

    assert sentences(render(), bounded) == [f"+{risk} dev-team may now {words} in apps on production"]


def test_a_bound_of_a_tenant_holds_whatever_that_of_the_stack_becomes():
    own = TENANTS | {"dev-team": {"policies": {"maximumReleaseSize": 64, "blockingDisruptionBudgets": False}}}
    wider = {"maximumReleaseSize": 256, "blockingDisruptionBudgets": True}

    found = sentences(render(own), render(own, wider))

    assert found and not [each for each in found if "dev-team" in each]


GRANTED_EXCEPTIONS: dict[str, list[dict[str, list[str]]]] = {
    "allowed-images": [{"names": ["legacy", "old"]}],
    "disruption-budgets": [{}, {"names": ["legacy"]}],
    "verified-sources": [{}],
    "node-placement": [{"names": ["agent"]}],
}


@pytest.mark.parametrize("engine", ["native", "kyverno", "both"])
def test_a_grant_is_told_for_the_namespaces_of_its_tenant_and_changes_nothing_for_others(engine):
    exceptions = [{"policy": policy} | each for policy, given in GRANTED_EXCEPTIONS.items() for each in given]
    grant = {"reason": "PLAT-231", "serviceTypes": ["NodePort"], "exceptions": exceptions}
    stack = {"engine": engine}
    granted = render(TENANTS | {"dev-team": {"grants": [grant]}}, stack)

    told = [
        "create Services of type NodePort",
        "create objects named agent that the policy node-placement refuses",
        "create objects named legacy and old that the policy allowed-images refuses",
        "create objects of any name that the policy disruption-budgets refuses",
        "create objects of any name that the policy verified-sources refuses",
    ]
    for before, after, sign, may in (
        (render(policies=stack), granted, "+", "may now"),
        (granted, render(policies=stack), "-", "may no longer"),
    ):
        marks = ["!" if sign == "+" and "that the policy" in words else " " for words in told]
        assert sorted(sentences(before, after)) == sorted(
            f"{sign}{mark} dev-team {may} {words} in apps on production"
            for mark, words in zip(marks, told, strict=True)
        )


def test_an_exception_for_all_objects_includes_that_for_a_name():
    def granted(**exception):
        grant = {"reason": "PLAT-231", "exceptions": [{"policy": "allowed-images"} | exception]}
        return render(TENANTS | {"dev-team": {"grants": [grant]}})

    what = "create objects of any name that the policy allowed-images refuses in apps on production"
    assert sentences(granted(names=["legacy"]), granted()) == [f"+! dev-team may now {what}"]
    assert sentences(granted(), granted(names=["legacy"])) == [f"-  dev-team may no longer {what}"]


def test_granted_rights_are_told_as_those_of_the_tenant():
    gives = {
        "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["create"]}],
        "clusterObjects": [{"apiGroup": "example.com", "resource": "gizmos", "name": "shared", "verbs": ["patch"]}],
    }
    granted = render(TENANTS | {"dev-team": {"grants": [{"reason": "PLAT-231", **gives}]}})

    assert sentences(render(), granted) == [
        "+! dev-team may now patch gizmos.example.com named shared in the whole cluster on production",
        "+  dev-team may now create widgets.example.com in apps on production",
        "+  dev-team may now write objects of the kind widgets.example.com, if a role allows it, in apps on production",
    ]


def test_a_rule_for_reading_is_not_told_as_writing():
    """The policy opens what a rule names; who may write it, its role says. ConfigMaps are open to all tenants."""
    reading = [{"apiGroups": ["", "example.com"], "resources": ["configmaps"], "verbs": ["get"]}]

    assert sentences(render(), render(tenancy={"extraRules": reading})) == [
        "+  Both tenants may now get configmaps.example.com in their namespaces on production",
        "+  Both tenants may now write objects of the kind configmaps.example.com, if a role allows it, in their "
        "namespaces on production",
    ]


def test_a_narrowed_entry_is_told_with_what_is_left_of_it():
    def hosts(*allowed):
        return render(policies={"ingress": {"hosts": [*allowed]}})

    assert sentences(hosts("*.example.com", "example.net"), hosts("www.example.com", "example.net")) == [
        "-  Both tenants may no longer publish the host *.example.com (only www.example.com) in their namespaces on "
        "production"
    ]


def test_the_first_entry_of_a_tenant_where_everything_was_allowed_narrows():
    listed = render(TENANTS | {"dev-team": {"policies": {"images": ["registry.example.com/dev-team/*"]}}})

    assert sentences(render(), listed) == [
        "-  dev-team may no longer run any image (only registry.example.com/dev-team/*) in apps on production"
    ]


def test_a_kind_that_a_tenant_wants_verified_narrows():
    listed = render(TENANTS | {"dev-team": {"policies": {"verified": ["GitRepository"]}}})

    assert sentences(render(), listed) == [
        "-  dev-team may no longer fetch GitRepository objects whose content is not verified in apps on production"
    ]


@pytest.mark.parametrize(
    ("stack", "key", "entry"),
    [
        ({"images": {"allowed": ["registry.example.com/org/*"]}}, "images", "registry.example.com/org/shop"),
        ({"ingress": {"hosts": ["*.example.com"]}}, "hosts", "shop.example.com"),
    ],
)
def test_an_exception_that_the_stack_allows_already_is_no_change(stack, key, entry):
    assert sentences(render(policies=stack), render(TENANTS | {"dev-team": {"policies": {key: [entry]}}}, stack)) == []


def test_a_tenant_that_is_onboarded_is_told_with_its_exceptions_and_not_with_what_all_may():
    strict = {"images": {"allowed": ["registry.example.com/org/*"]}, "notifications": {"hosts": ["hooks.slack.com"]}}
    shop = {"namespaces": [{"name": "shop"}], "policies": {"images": ["registry.example.com/shop/*"]}}

    found = sentences(render(policies=strict), render(TENANTS | {"shop": shop}, strict))

    assert [line for line in found if "images" in line or "notifications" in line] == [
        "+  shop may now run images of registry.example.com/shop/* in shop on production"
    ]


def test_a_tenant_that_is_onboarded_with_a_wider_setting_may_use_it_like_all_others():
    shop = TENANTS | {"shop": {"namespaces": [{"name": "shop"}]}}
    found = sentences(render(), render(shop, {"nodeNames": True}))

    assert "+! All 3 tenants may now choose a node by its name in their namespaces on production" in found


def test_settings_of_a_policy_that_does_not_refuse_are_not_told():
    audit = {"modes": {"service-exposure": "audit"}}

    assert sentences(render(policies=audit), render(policies=audit | {"serviceTypes": ["NodePort"]})) == []
    assert sentences(render(), render(policies=audit | {"serviceTypes": ["NodePort"]})) == [
        "+! Policy service-exposure no longer refuses, it only warns (audit), for all tenants on production"
    ]


MODES = {
    ("enforce", "audit"): "+! Policy host-access no longer refuses, it only warns (audit), for all tenants",
    ("enforce", "off"): "+! Policy host-access is no longer in force for any tenant",
    ("audit", "off"): "+  Policy host-access no longer warns for any tenant",
    ("audit", "enforce"): "-  Policy host-access now refuses, where it only warned, for all tenants",
    ("off", "enforce"): "-  Policy host-access is now in force for all tenants",
    ("off", "audit"): "-  Policy host-access now warns (audit) for all tenants",
}


@pytest.mark.parametrize(("modes", "sentence"), MODES.items(), ids=str)
def test_a_mode_is_what_a_policy_does_now(modes, sentence):
    before, after = (render(policies={"engine": "both", "modes": {"host-access": mode}}) for mode in modes)

    assert sentences(before, after) == [f"{sentence} on production"]


def test_several_policies_with_the_same_change_are_one_sentence():
    off = {"host-access": "off", "pod-volumes": "off", "node-placement": "off"}

    assert sentences(render(), render(policies={"modes": off})) == [
        "+! Policies host-access, node-placement and pod-volumes are no longer in force for any tenant on production"
    ]
    assert sentences(render(), render(policies={"mode": "audit"})) == [
        f"+! All {IN_FORCE} policies no longer refuse, they only warn (audit), for all tenants on production"
    ]


def test_a_policy_that_another_engine_still_enforces_is_in_force():
    assert sentences(render(policies={"engine": "both"}), render(policies={"engine": "native"})) == []
    assert sentences(render(policies={"engine": "kyverno"}), render(policies={"engine": "native"})) == []
    assert sentences(render(), render(policies={"engine": "none"})) == [
        f"+! All {IN_FORCE} policies are no longer in force for any tenant on production"
    ]


def test_a_native_policy_without_its_binding_is_not_in_force():
    base = render()
    kept = tuple(
        each
        for each in base.objects
        if (each.kind, each.name) != ("ValidatingAdmissionPolicyBinding", "flux-tenancy-host-access")
    )

    assert sentences(base, Render(base.stack, kept, "", base.settings)) == [
        "+! Policy host-access is no longer in force for any tenant on production"
    ]


def test_the_policy_about_flux_images_concerns_flux_alone():
    both = {"engine": "both"}

    assert sentences(render(policies=both | {"fluxImages": True}), render(policies=both)) == [
        "+! Policy flux-images is no longer in force for Flux's controllers on production"
    ]


@pytest.mark.parametrize(
    "edit",
    [
        lambda spec: spec["validations"][0].update(expression="true"),
        lambda spec: spec["variables"].append({"name": "type", "expression": "'ClusterIP'"}),
        lambda spec: spec["matchConditions"].append({"name": "never", "expression": "false"}),
        lambda spec: spec["matchConstraints"].update(resourceRules=[]),
        lambda spec: spec.update(failurePolicy="Ignore"),
    ],
    ids=["validation", "variable", "condition", "constraints", "failure policy"],
)
@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingPolicy"])
def test_a_policy_that_changes_in_another_way_is_told_as_a_risk(kind, edit):
    base = render(policies={"engine": "both"})

    assert sentences(edited(base, "service-exposure", kind, edit), base) == [
        f"+! Policy service-exposure {ANOTHER_WAY}"
    ]


def test_other_messages_of_a_policy_are_no_change():
    def reword(spec):
        for each in spec["validations"]:
            each.update(message="no", messageExpression="'no: ' + variables.wanted")

    base = render()

    assert sentences(edited(base, "allowed-sources", "ValidatingAdmissionPolicy", reword), base) == []


def test_a_change_with_a_setting_and_another_one_has_two_sentences():
    earlier = edited(
        render(), "node-placement", "ValidatingAdmissionPolicy", lambda spec: spec["matchConditions"].clear()
    )

    assert sentences(earlier, render(policies={"nodeNames": True})) == [
        *expected("choose a node by its name", ""),
        f"+! Policy node-placement {ANOTHER_WAY}",
    ]


GRANT = {"reason": "PLAT-231", "serviceTypes": ["NodePort"], "exceptions": [{"policy": "allowed-images"}]}


def settings_of(found: Render) -> AdmissionSettings:
    """The settings, which every render of this program has."""
    assert found.settings is not None
    return found.settings


def with_setting(before: Render, section: str, **values: object) -> Render:
    """A render of a program that has these settings, too."""
    stack = deepcopy(dict(settings_of(before).stack))
    stack[section] |= values
    settings = settings_of(before).model_copy(update={"stack": stack})
    return Render(before.stack, before.objects, before.digest, settings)


def test_a_setting_without_words_is_told_with_its_values():
    signed = {
        "images": {
            "signatures": [
                {"images": ["registry.example.com/*"], "keyless": {"issuer": "https://a.example.com", "subject": "s"}}
            ]
        }
    }
    tools = {"images": {"registries": {"secrets": ["pull"]}}}

    [said] = sentences(render(), render(policies=signed))
    assert said.startswith('+! The setting policies.images.signatures is now [{"images": ["registry.example.com/*"], ')
    assert said.endswith(" (before: []) on production")
    assert sentences(render(), render(policies=tools)) == [
        '+! The setting policies.images.registries.secrets is now ["pull"] (before: []) on production'
    ]


def test_a_setting_of_tenancy_that_policies_read_is_told():
    assert "+! The setting tenancy.mode is now capsule (before: namespaces) on production" in sentences(
        render(), render(tenancy={"mode": "capsule"})
    )


def test_a_setting_of_another_version_of_the_program_is_told():
    base = render()
    further = with_setting(base, "policies", further={"most": 5})

    assert sentences(base, further) == ["+! The setting policies.further.most is now 5 (before: not set) on production"]
    assert sentences(further, base) == ["+! The setting policies.further.most is no longer 5 on production"]


def test_settings_that_this_program_cannot_read_are_told_as_they_are():
    base = with_setting(render(), "policies", maximumTimeout=["1h"])
    edit = edited(base, "node-placement", "ValidatingAdmissionPolicy", lambda spec: spec["matchConditions"].clear())

    assert sentences(edit, render(policies={"nodeNames": True})) == [
        "+! Policy node-placement checks requests in another way (its CEL is in the diff) for all tenants on "
        "production",
        '+! The setting policies.maximumTimeout is now 1h (before: ["1h"]) on production',
        "+! The setting policies.nodeNames is now true (before: false) on production",
    ]


def test_a_list_of_a_namespace_without_words_is_told():
    base, listed = render(), render()
    lists = {"apps": {"flux-tenancy/further": ("one",)}}
    settings = settings_of(listed).model_copy(update={"namespaces": lists})

    assert sentences(base, Render(listed.stack, listed.objects, "", settings)) == [
        '+! dev-team has the setting flux-tenancy/further, now ["one"] (before: not set), in apps on production'
    ]


def test_without_the_settings_before_only_modes_are_compared():
    base = render()
    earlier = Render(base.stack, base.objects, "")

    assert sentences(earlier, render(policies={"nodeNames": True, "modes": {"host-access": "off"}})) == [
        "+! Policy host-access is no longer in force for any tenant on production"
    ]


@pytest.mark.parametrize(
    "sections",
    [{}, {"policies": {"storageClasses": ["fast"], "sources": {"allowed": ["*"]}}}, {"grants": [GRANT]}],
    ids=["default", "settings", "grants"],
)
def test_what_this_program_renders_has_no_other_checks(tmp_path, sections):
    """Policies of the merge base are compared with what this program makes of its settings."""
    tenants = {"dev-team": tenant("dev-team", "apps") | {key: sections[key] for key in ("grants",) if key in sections}}
    found = rendered(
        tmp_path / "project", tenants=tenants, policies=sections.get("policies", {"sources": {"allowed": ["*"]}})
    )

    assert settings_of(found).namespaces["apps"].keys() == (
        {"flux-tenancy/service-types", "flux-tenancy/exceptions"} if "grants" in sections else set()
    )
    assert sentences(found, found) == []


def test_settings_survive_the_way_between_processes_and_are_not_in_the_digest():
    given = render(TENANTS | {"dev-team": {"grants": [GRANT]}})
    settings = AdmissionSettings.model_validate(json.loads(json.dumps(settings_of(given).model_dump(mode="json"))))

    assert settings == given.settings
    assert Render.of("a", given.objects, settings).digest == Render.of("a", given.objects).digest


def test_every_setting_that_a_policy_reads_is_in_the_settings_of_a_render():
    named = {key for each in policies(PoliciesConfig()) for key in each.settings if not key.startswith("tenant: ")}

    # Freezes are in the annotations of namespaces, of which `risks.yaml` tells.
    assert named - {"tenancy.freeze"} <= values_of(settings_of(render()).stack).keys()


def test_every_setting_with_words_belongs_to_a_policy():
    worded = [
        name
        for name, field in PoliciesConfig.model_fields.items()
        if any(isinstance(each, Allows | Bounds) for each in field.metadata)
    ]

    assert {f"policies.{PoliciesConfig.model_fields[name].alias}" for name in worded} <= {
        each.key for each in told_settings()
    }
