"""What the admission policies refuse, check and leave to tenants: which changes are risks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sample_access import TENANTS, edited, render, risks
from sample_project import rendered, tenant

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.tenant.config import TenantBounds
from flux_tenancy.review.access.policies import policy_modes
from flux_tenancy.review.changes.risks import risks as rows

WEAKER = "platform no longer enforces policies (now"
UNVERIFIED = 'may fetch objects whose content is not verified: only [] are (before: ["GitRepository"])'
ANOTHER_WAY = "platform checks requests in another way (the CEL is in the diff):"
# Keys that decide who checks or how, or whose entries allow a single thing more, which the changed key says.
NO_RISK = {
    *("engine", "mode", "modes", "fluxImages", "onboarding", "roles", "networkPolicies", "podDefaults"),
    *("sources.providers", "notifications.types", "notifications.hosts", "serviceTypes", "serviceAnnotations"),
    *("loadBalancerClasses", "finalizers", "csiDrivers", "volumeTypes"),
    *(f"tenantBounds.{field.alias}" for field in TenantBounds.model_fields.values()),
}


def own(**policies: Any) -> dict[str, dict[str, Any]]:
    """The tenants, of which one has policies of its own."""
    return TENANTS | {"dev-team": {"policies": policies}}


def granted(*exceptions: Any) -> dict[str, dict[str, Any]]:
    return TENANTS | {"dev-team": {"grants": [{"reason": "PLAT-231", "exceptions": [*exceptions]}]}}


def test_every_setting_is_in_a_row_or_allows_single_things():
    def keys(model, prefix=""):
        for name, each in model.model_fields.items():
            nested = each.annotation if hasattr(each.annotation, "model_fields") else None
            key = f"{prefix}{each.alias or name}"
            yield from keys(nested, f"{key}.") if nested and not prefix else [key]

    config = PoliciesConfig().model_dump(mode="json", by_alias=True)
    silent = {key for key in keys(PoliciesConfig) if key not in NO_RISK and not _is_read(config, key)}
    assert silent == set()


def _is_read(config: dict[str, Any], key: str) -> bool:
    """Whether a row reads a key: another value of it is another value of the row."""
    changed = {name: dict(each) if isinstance(each, dict) else each for name, each in config.items()}
    *section, last = key.split(".")
    where = changed[section[0]] if section else changed
    where[last] = {"other": 1} if isinstance(where[last], dict) else ["other"]
    return any(row.read(changed) != row.read(config) for row in rows() if row.kinds == {"PolicySettings"})


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"maximumReleaseSize": 256}, []),
        ({}, {"maximumReleaseSize": 1024}, ["may store Helm releases of 1024 KiB (before: 128 KiB)"]),
        ({}, {"blockingDisruptionBudgets": True}, ["may create PodDisruptionBudgets that block node drains"]),
        ({}, {"minimumInterval": "5s"}, ["may let Flux reconcile every 5s (before: 30s)"]),
        ({}, {"sources": ["https://git.example.com/a/*"]}, []),
        ({}, {"sources": ["*"]}, ["may fetch sources from any URL"]),
        ({"images": ["registry.example.com/*"]}, {}, ["may run any image"]),
        ({}, {"images": ["registry.example.com/*"]}, []),
        ({"verified": ["GitRepository"]}, {}, [UNVERIFIED]),
    ],
    ids=str,
)
def test_what_a_tenant_has_of_its_own_counts_together_with_the_stack(before, after, said):
    assert risks(render(own(**before)), render(own(**after))) == [f"dev-team {each}" for each in said]


def test_a_bound_of_a_tenant_holds_whatever_that_of_the_stack_becomes():
    tenants = own(maximumReleaseSize=64, blockingDisruptionBudgets=False)
    wider = {"maximumReleaseSize": 1024, "blockingDisruptionBudgets": True}

    found = risks(render(tenants), render(tenants, wider))

    assert len(found) == 2
    assert not [each for each in found if "dev-team" in each]


def test_a_new_tenant_is_compared_with_what_all_may():
    strict = {"images": {"allowed": ["registry.example.com/*"]}, "nodeNames": True}
    shop = TENANTS | {"shop": {"namespaces": [{"name": "shop"}], "policies": {"sources": ["*"]}}}

    assert risks(render(policies=strict), render(shop, strict)) == ["shop may fetch sources from any URL"]
    assert "shop may choose a node by its name" in risks(render(), render(shop, {"nodeNames": True}))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([], [{"names": ["legacy", "old"]}], "allowed-images/legacy and allowed-images/old"),
        ([], [{}], "allowed-images"),
        ([{"names": ["legacy"]}], [{}], "allowed-images"),
        ([{}], [{"names": ["legacy"]}], ""),
        ([{}], [{}, {"names": ["legacy"]}], ""),
    ],
    ids=str,
)
def test_an_exception_is_a_risk_unless_an_earlier_one_includes_it(before, after, said):
    sides = [
        granted(*({"policy": "allowed-images"} | each for each in given)) if given else TENANTS
        for given in (before, after)
    ]

    found = risks(*map(render, sides))

    assert found == ([f"dev-team may create objects that a policy refuses: {said}"] if said else [])


@pytest.mark.parametrize(("mode", "is_weaker"), [("audit", True), ("off", True), ("enforce", False)])
def test_a_policy_that_no_longer_refuses_is_a_risk(mode, is_weaker):
    both = {"engine": "both"}
    after = render(policies=both | {"modes": {"host-access": mode, "pod-volumes": mode}})

    assert risks(render(policies=both), after) == (
        [f"{WEAKER} {mode}): host-access and pod-volumes"] if is_weaker else []
    )
    assert risks(after, render(policies=both)) == []


def test_a_policy_that_another_engine_still_enforces_is_in_force():
    assert risks(render(policies={"engine": "both"}), render(policies={"engine": "native"})) == []
    assert risks(render(policies={"engine": "kyverno"}), render(policies={"engine": "native"})) == []
    [said] = risks(render(), render(policies={"engine": "none"}))
    assert said.startswith(f"{WEAKER} off): ") and said.endswith(" more")


def test_a_native_policy_without_its_binding_is_not_in_force():
    base = render()
    binding = ("ValidatingAdmissionPolicyBinding", "flux-tenancy-host-access")
    kept = tuple(each for each in base.objects if (each.kind, each.name) != binding)

    assert risks(base, replace(base, objects=kept)) == [f"{WEAKER} off): host-access"]
    assert policy_modes(kept)[PolicyName.HOST_ACCESS] == "off"


def test_the_policy_about_flux_images_is_one_of_them():
    both = {"engine": "both"}

    assert risks(render(policies=both | {"fluxImages": True}), render(policies=both)) == [f"{WEAKER} off): flux-images"]


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
def test_a_policy_that_changes_in_another_way_is_a_risk(kind, edit):
    base = render(policies={"engine": "both"})

    assert risks(edited(base, "service-exposure", kind, edit), base) == [f"{ANOTHER_WAY} service-exposure ({kind})"]


def test_other_messages_of_a_policy_are_no_change():
    def reword(spec):
        for each in spec["validations"]:
            each.update(message="no", messageExpression="'no: ' + variables.wanted")

    base = render()

    assert risks(edited(base, "allowed-sources", "ValidatingAdmissionPolicy", reword), base) == []


def test_a_change_with_a_setting_and_another_one_is_both():
    kind = "ValidatingAdmissionPolicy"
    earlier = edited(render(), "node-placement", kind, lambda spec: spec["matchConditions"].clear())

    assert risks(earlier, render(policies={"nodeNames": True})) == [
        f"{ANOTHER_WAY} node-placement ({kind})",
        "dev-team may choose a node by its name",
        "ops-team may choose a node by its name",
    ]


def test_settings_that_this_program_cannot_read_are_compared_as_they_are():
    base = render(policies={"storageClasses": ["fast"]})
    assert base.facts is not None
    unknown = replace(base, facts={**base.facts, "config/policies": {"storageClasses": ["fast"], "further": 5}})
    edit = edited(unknown, "node-placement", "ValidatingAdmissionPolicy", lambda spec: spec["matchConditions"].clear())

    assert risks(unknown, render()) == [
        f"{ANOTHER_WAY} volume-claims (ValidatingAdmissionPolicy) and volume-classes (ValidatingAdmissionPolicy)",
        *(f"{name} may claim volumes of any StorageClass" for name in TENANTS),
    ]
    assert risks(edit, base) == [f"{ANOTHER_WAY} node-placement (ValidatingAdmissionPolicy)"]


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"policies": {"storageClasses": ["fast"], "sources": {"allowed": ["*"]}}},
        {
            "grants": [
                {"reason": "PLAT-231", "serviceTypes": ["NodePort"], "exceptions": [{"policy": "allowed-images"}]}
            ]
        },
    ],
    ids=["default", "settings", "grants"],
)
def test_what_this_program_renders_has_no_other_checks(tmp_path, sections):
    """Policies of the merge base are compared with what this program makes of its settings."""
    tenants = {"dev-team": tenant("dev-team", "apps") | {key: sections[key] for key in ("grants",) if key in sections}}
    policies = sections.get("policies", {"sources": {"allowed": ["*"]}})
    found = rendered(tmp_path / "project", tenants=tenants, policies=policies)

    assert risks(found, found) == []
