"""What a report says of a change: everything once."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console
from sample_objects import kubernetes
from sample_reports import compared, report, side, waived_and_violated

from flux_tenancy.components.vocabulary.manifests import RBAC_API
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.changes.keys import key_changes
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.facts import Written
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.comparison import same_cluster, stack_report
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.terminal import as_text
from flux_tenancy.review.words import Statement


def sync(tenant="dev-team", **spec):
    return kubernetes(
        "Kustomization", tenant, tenant, tenant, spec={"prune": False, "serviceAccountName": tenant} | spec
    )


def config(tenant):
    return kubernetes("ConfigMap", tenant, tenant, tenant)


def both(before, after):
    """The same change in staging and production."""
    return report(*(compared(before, after, stack) for stack in ("production", "staging")))


def saying(statement, *stacks):
    return report(*(replace(compared(side(), side(), stack), said=(statement,)) for stack in stacks))


def secure(value):
    return {"dev-team": {"source": {"deployKey": {"secure": value}}}}


@pytest.mark.parametrize(
    ("before", "after", "headline"),
    [
        (side(config("a")), side(config("a"), config("b")), "1 tenant onboarded"),
        (side(config("a")), side(config("a"), config("b"), config("c")), "2 tenants onboarded"),
        (side(config("a"), config("b")), side(config("a")), "1 tenant offboarded"),
        (side(sync(x=1)), side(sync(x=2)), "1 object changed"),
        (side(sync(x=1)), side(sync(x=2), kubernetes("Role", "a")), "1 object added, 1 object changed"),
        (side(sync(), kubernetes("Role", "a")), side(sync()), "1 object removed"),
        (side(sync()), side(sync()), "No applied object changes"),
        (
            side(kubernetes("Role", "a")),
            side(kubernetes("Role", "a", metadata={"labels": {"team": "b"}})),
            "Only labels and annotations change",
        ),
        (side(flux={"version": "2.9.4"}), side(flux={"version": "2.9.5"}), "Flux upgraded to 2.9.5"),
        (side(flux={"version": "2.9.5"}), side(flux={"version": "2.9.4"}), "Flux is downgraded to 2.9.4"),
        (side(), side(kyverno={"version": "1.19.1"}), "Kyverno installed"),
        (side(kyverno={"version": "1.19.1"}), side(), "Kyverno removed"),
        (
            side(flux={"version": "2.9.5", "sha256": "a"}),
            side(flux={"version": "2.9.5", "sha256": "b"}),
            "Flux has the same version, but another digest",
        ),
        (
            side(flux={"version": "2.9.4", "sha256": "a" * 64}),
            side(flux={"version": "2.9.5", "sha256": "a" * 64}),
            "Flux has another version, but the same digest",
        ),
        (side(tenants=secure("a")), side(tenants=secure("b")), "1 secret rotated"),
        (
            side(sync(prune=True, path="a")),
            side(sync(prune=True, path="b")),
            "dev-team syncs from another path (b): Flux deletes the applied objects that are missing there",
        ),
        (
            side(sync(prune=True, path="a", force=False)),
            side(sync(prune=True, path="b", force=True), config("a")),
            "dev-team syncs from another path (b): Flux deletes the applied objects that are missing there, 1 more "
            "risk, 1 tenant onboarded",
        ),
        (
            side(kubernetes("Namespace", "a"), sync()),
            side(sync()),
            "1 deletion needs an acknowledgement",
        ),
    ],
)
def test_the_headline_says_what_matters_most(before, after, headline):
    assert report(compared(before, after)).headline == headline


def test_a_change_of_several_stacks_counts_once_in_the_headline():
    assert both(side(sync(x=1)), side(sync(x=2))).headline == "1 object changed"
    assert both(side(config("a")), side(config("a"), config("b"))).headline == "1 tenant onboarded"


def test_the_same_change_of_several_stacks_is_one_entry():
    [section] = both(side(sync(x=1)), side(sync(x=2))).sections

    [group] = section.groups
    assert (section.owners, group.stacks) == (("dev-team",), ("production", "staging"))
    assert [(each.action, each.label) for each in group.entries] == [
        (Action.CHANGED, "Kustomization dev-team/dev-team")
    ]


def test_other_changes_of_the_same_object_are_entries_of_their_stacks():
    [section] = report(
        compared(side(sync(x=1)), side(sync(x=2)), "production"), compared(side(sync(x=1)), side(sync(x=3)), "staging")
    ).sections

    assert [group.stacks for group in section.groups] == [("production",), ("staging",)]


def test_tenants_with_the_same_change_are_one_section():
    names = ("a", "b", "c")

    sections = report(
        compared(side(*(sync(name, x=1) for name in names)), side(*(sync(name, x=2) for name in names)))
    ).sections

    assert [section.owners for section in sections] == [names]


def test_tenants_with_different_changes_have_sections_of_their_own():
    before, after = side(sync("a", x=1), sync("b", x=1)), side(sync("a", x=2), sync("b", x=3))

    assert [section.owners for section in report(compared(before, after)).sections] == [("a",), ("b",)]


def test_tenants_whose_changes_only_look_alike_have_sections_of_their_own():
    long = "x\n" * 100
    before = side(sync("a", x=long), sync("b", x=long))

    assert len(report(compared(before, side(sync("a", x=f"{long}a"), sync("b", x=f"{long}b")))).sections) == 2


def binding(tenant, role, group="ops"):
    """A binding of a tenant's account, and of a group."""
    subjects = [{"kind": "ServiceAccount", "name": tenant, "namespace": tenant}, {"kind": "Group", "name": group}]
    metadata = {"labels": {TENANT_LABEL: tenant}}
    content = {"metadata": metadata, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects}
    return kubernetes("RoleBinding", f"{tenant}-reconciler", tenant, tenant, **content)


@pytest.mark.parametrize(
    ("before", "after", "are_alike"),
    [
        (None, lambda name: binding(name, "edit"), True),
        (None, lambda name: binding(name, name), False),
        (None, lambda name: binding(name, "edit", name), False),
        (lambda name: binding(name, "edit"), lambda name: binding(name, name), False),
        (lambda name: sync(name, path="."), lambda name: sync(name, path=name), False),
        (lambda name: sync(name, targetNamespace="x"), lambda name: sync(name, targetNamespace=name), True),
    ],
    ids=["names", "role", "group", "changed role", "path", "place"],
)
def test_a_value_that_equals_the_name_of_its_tenant_does_not_make_changes_alike(before, after, are_alike):
    names = ("admin", "view")
    old, new = (
        side(*(each(name) for name in names)) if each else side(*(config(name) for name in names))
        for each in (before, after)
    )

    entries = [
        entry for section in report(compared(old, new)).sections for group in section.groups for entry in group.entries
    ]

    assert sum(len(each.names) == 2 for each in entries if each.action is not Action.REMOVED) == are_alike


def test_a_right_that_equals_the_name_of_its_tenant_does_not_make_sentences_alike():
    words = ("{0} has the role {0} in {0}", "{0} has the role edit in {0}", "the secret tenants.{0}.key is rotated")
    said = [Statement(name, each.format(name), names_owner=True) for each in words for name in ("admin", "view")]

    [*sections] = report(replace(compared(side(), side()), said=tuple(said))).sections

    assert [[each.text for each in section.groups[0].said] for section in sections] == [
        ["admin has the role admin in admin"],
        ["<tenant> has the role edit in <tenant>", "the secret tenants.<tenant>.key is rotated"],
        ["view has the role view in view"],
    ]


def test_a_key_that_equals_the_name_of_its_tenant_does_not_make_keys_alike():
    before, after = (
        Written(
            "Pulumi.staging.yaml", {"tenants": {name: {"role": role(name), "path": path} for name in ("admin", "view")}}
        )
        for role, path in ((lambda _: "edit", "a"), (lambda name: name, "b"))
    )

    sections = report(replace(compared(side(), side()), keys=key_changes(before, after))).sections

    assert [section.owners for section in sections] == [("admin",), ("admin", "view"), ("view",)]


def test_the_platform_comes_first_and_alone():
    before, after = side(sync("a", x=1), sync(PLATFORM, x=1)), side(sync("a", x=2), sync(PLATFORM, x=2))

    assert [section.owners for section in report(compared(before, after)).sections] == [(PLATFORM,), ("a",)]


def test_a_statement_of_several_stacks_is_one_risk():
    [risk] = saying(Statement("dev-team", "may do more", risk=True), "production", "staging").risks

    assert (risk.owners, risk.stacks, risk.text) == (("dev-team",), ("production", "staging"), "may do more")


def test_a_statement_of_several_tenants_is_one_risk():
    stack = replace(
        compared(side(), side()), said=tuple(Statement(name, "may do more", risk=True) for name in ("a", "b"))
    )

    assert [risk.owners for risk in report(stack).risks] == [("a", "b")]


def test_a_statement_that_is_no_risk_is_in_the_section_of_its_owner():
    found = saying(Statement("dev-team", "may do less"), "staging")

    [section] = found.sections
    assert found.risks == ()
    assert [said.text for said in section.groups[0].said] == ["may do less"]


def test_refusals_are_the_first_risks():
    role = {"kind": "ClusterRole", "name": "cluster-admin"}
    binding = kubernetes(
        "ClusterRoleBinding", "a", apiVersion=RBAC_API, roleRef=role, subjects=[{"kind": "User", "name": "eve"}]
    )

    stack = stack_report("staging", side(), side(binding), (Statement("dev-team", "is refused", risk=True),))

    refusal, access = report(stack).risks
    assert refusal.text == "is refused" and access.text.startswith("user eve may now do everything")


def test_a_deletion_that_is_acknowledged_is_in_the_section_of_its_owner():
    before = side(kubernetes("Namespace", "a"))
    [missing] = report(compared(before, side())).missing_acknowledgements

    found = report(compared(before, side(review={"acknowledge": [missing.token]})))

    assert found.missing_acknowledgements == ()
    assert found.sections[0].groups[0].said[0].text.startswith("everything in namespace a is deleted")


def test_a_deletion_that_is_not_acknowledged_is_not_repeated_in_a_section():
    [section] = report(compared(side(kubernetes("Namespace", "a")), side())).sections

    assert not section.groups[0].said


def test_an_acknowledgement_that_fits_is_not_told_as_unused():
    before = side(kubernetes("Namespace", "a"))
    [deletion] = compared(before, side()).deletions

    assert compared(before, side(review={"acknowledge": [deletion.token]})).unused == ()


def test_an_acknowledgement_that_fits_nothing_is_told():
    assert compared(side(), side(review={"acknowledge": ["a:0"]})).unused == ("a:0",)


def test_an_acknowledgement_that_all_stacks_share_counts():
    before = side(kubernetes("Namespace", "a"))
    [missing] = compared(before, side()).deletions
    after = side()
    shared = replace(after, file=replace(after.file, shared=((("review", "acknowledge"), [missing.token]),)))

    assert not compared(before, shared).deletions[0].is_missing_acknowledgement


def test_a_copied_secret_is_a_risk():
    found = report(compared(side(tenants=secure("a")), side(tenants=secure("a"), flux={"x": {"secure": "a"}})))

    [risk] = found.risks
    assert risk.text.startswith("the secret flux.x is new: it is the value of tenants.dev-team.source.deployKey, which")


@pytest.mark.parametrize(("stack", "is_risk"), [("production", True), ("staging", False)])
def test_the_file_of_a_production_stack_that_goes_is_a_risk(stack, is_risk):
    found = report(compared(side(config("a")), None, stack))

    assert [each.text.startswith("has no file of this production stack any more") for each in found.risks] == (
        [True] if is_risk else []
    )


@pytest.mark.parametrize(
    ("own", "other", "is_same"),
    [
        ({"uid": "1", "context": "a"}, {"uid": "1", "context": "b"}, True),
        ({"context": "a"}, {"context": "a"}, True),
        ({"context": "a"}, {"context": "b"}, False),
        ({}, {}, False),
    ],
)
def test_a_new_stack_for_the_cluster_of_another_is_recognized(own, other, is_same):
    new, production = (side(kubernetes("Cluster", "cluster", properties=each)) for each in (own, other))

    assert same_cluster(new, {"production": production.render}) == (["production"] if is_same else [])


def test_nothing_of_a_stack_that_is_gone_is_deleted():
    gone = compared(side(kubernetes("Namespace", "a")), None)

    assert gone.is_gone
    assert (gone.digest, gone.deletions, gone.changes) == ("", (), ())


def test_a_new_stack_onboards_nobody():
    new = compared(None, side(sync(), tenants=secure("a")))

    assert new.is_new
    assert (new.onboarded, new.secrets, len(new.changes)) == ((), (), 1)


def printed(found):
    file = io.StringIO()
    Console(file=file, width=160, force_terminal=False).print(as_text(found), soft_wrap=True)
    return file.getvalue()


def sample(findings=()):
    before = side(kubernetes("Role", "a", x=1), kubernetes("Namespace", "apps"), flux={"version": "2.9.4"})
    after = side(kubernetes("Role", "a", x=2), kubernetes("Role", "b"), flux={"version": "2.9.5"})
    access = (Statement("dev-team", "may do [bold]more", risk=True),)
    return report(replace(compared(before, after), said=access, findings=findings))


def test_the_text_has_everything_in_the_order_of_its_weight():
    text = printed(sample(waived_and_violated("They leave")))

    parts = [
        "dev-team may do [bold]more, ",
        "1 deletion needs an acknowledgement",
        "Tenant dev-team on staging needs an acknowledgement",
        "review.acknowledge in Pulumi.staging.yaml",
        "Risks on staging\n  - dev-team may do [bold]more",
        "Violations of the review rules on staging\n  - no-policy-engine: policies.engine is none",
        "Waivers on staging\n  - admin-binding of tenant dev-team: RoleBinding apps/admin grants a",
        "Flux on staging: 2.9.4",
        "https://github.com/fluxcd/flux2/releases/tag/v2.9.5",
        "on staging: 1 object added, 1 changed, 1 removed",
        "    + Role b",
        "    - Namespace apps",
        "    - x: 1\n    + x: 2",
        "flux-tenancy up --stack staging --approved sha256:",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_access_is_a_table_of_who_what_and_where():
    cells = [(name, "gains the role view", f"in {name}") for name in ("a", "b")]
    rows = [Statement(row[0], " ".join(row), names_owner=True, access=row) for row in cells]
    found = report(replace(compared(side(), side()), said=tuple(rows)))

    [line] = [line for line in printed(found).splitlines() if "the role view" in line]
    assert line.split("  ") == ["", "", "<tenant>", "gains the role view", "in <tenant>"]
    assert "| Who | What | Where |\n| --- | --- | --- |\n| \\<tenant\\> | gains the role view |" in as_markdown(found)


def test_no_line_of_the_text_ends_with_spaces():
    assert [line for line in printed(sample()).splitlines() if line != line.rstrip()] == []


def test_a_password_in_a_url_is_in_no_form_of_a_report():
    def controller(password):
        env = [{"name": "HTTPS_PROXY", "value": f"http://me:{password}@proxy.example.com"}]
        containers = [{"name": "manager", "args": ["--events-addr=http://me:swordfish@events"], "env": env}]
        return kubernetes("Deployment", "source-controller", spec={"template": {"spec": {"containers": containers}}})

    old, new = "swordfish", "swordfish" * 20
    added = kubernetes("ConfigMap", "added", text=f"see https://{new}@git.example.com")
    found = report(compared(side(controller(old)), side(controller(new), added)))

    for text in (printed(found), as_markdown(found), as_json(found)):
        assert "me:(not shown)@" in text.replace("\\", "")
        assert "swordfish" not in text


def test_text_of_others_does_not_control_the_terminal():
    stack = compared(side(kubernetes("Role", "\x1b[31m")), side(kubernetes("Role", "a", x="\x1b[2J")))
    found = report(replace(stack, said=(Statement("dev-team", "\x1b[5m", risk=True), Statement("a", "\x1b[5m"))))

    assert "\x1b" not in printed(found)


def test_the_json_has_every_change_with_its_fields():
    [stack] = json.loads(as_json(sample()))["stacks"]

    assert {each["object"]: each["action"] for each in stack["changes"]} == {
        "dev-team/cluster/namespace-apps.yaml": "removed",
        "dev-team/cluster/role-a.yaml": "changed",
        "dev-team/cluster/role-b.yaml": "added",
    }
    [changed] = [each for each in stack["changes"] if each["action"] == "changed"]
    assert changed["fields"] == [{"field": "x", "before": 1, "after": 2}]
    assert stack["statements"] == [{"owner": "dev-team", "text": "may do [bold]more", "risk": True, "matters": ""}]
    assert stack["releases"][0]["after"] == {"version": "2.9.5", "sha256": ""}
    assert stack["deletions"][0]["needsAcknowledgement"] is True


def test_the_json_has_no_value_of_a_secret():
    before, after = (kubernetes("Secret", "a", stringData={"a": text}) for text in ("hunter2", "swordfish"))

    text = as_json(report(compared(side(before), side(after))))

    assert "hunter2" not in text and "swordfish" not in text
