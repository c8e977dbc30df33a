"""The forms of the verdicts, and what the platform team is told to write."""

from __future__ import annotations

import json

import pytest
import yaml

from flux_tenancy.extensions.tenant_check.envelope import FORMAT, Envelope
from flux_tenancy.extensions.tenant_check.judge import Outcome, Verdict
from flux_tenancy.extensions.tenant_check.manifests import Found
from flux_tenancy.extensions.tenant_check.openings import needed_limits, opening_of
from flux_tenancy.extensions.tenant_check.report import Report, as_json, as_markdown, as_sarif, as_text

LEVEL = "pod-security.kubernetes.io/enforce"
ENVELOPE = Envelope(
    format=FORMAT,
    program="1",
    digest="sha256:0123456789abcdef",
    made="today",
    stack="staging",
    tenant="shop",
    home="apps",
    account="system:serviceaccount:apps:shop",
    versions={"flux": "2.9.5", "kubernetes": "1.37.2"},
    namespaces=[
        {"metadata": {"name": name, "labels": {LEVEL: level}}}
        for name, level in (("apps", "restricted"), ("jobs", "restricted"), ("old", "privileged"))
    ],
    access=[],
    policies=[],
    quotas=[{"metadata": {"name": "shop-quota", "namespace": "apps"}}],
    limits=[],
    syncs=[],
    definitions=[],
    used={"apps/shop-quota": {"pods": "2", "requests.cpu": "1"}},
)
EXCEEDED = "exceeded quota: shop-quota, requested: pods=1, used: pods=3, limited: pods=3"


def found(name: str) -> Found:
    return Found({"kind": "Deployment", "metadata": {"name": name, "namespace": "apps"}}, "a.yaml", 7)


def verdict(outcome: Outcome, rule: str, message: str) -> Verdict:
    manifest = found("web").manifest
    return Verdict(found("<b>web"), outcome, rule, message, opening_of(rule, message, manifest, ENVELOPE))


HOST = verdict(Outcome.OPENING, "policy allowed-hosts", "host a.b, c.d is not an allowed host for tenant shop")
OVER = verdict(Outcome.QUOTA, "quota", f"its Pod: 2 of 5: {EXCEEDED}")
REPORT = Report(ENVELOPE, [HOST, OVER, Verdict(found("fine"), Outcome.ACCEPTED)], ["x.yaml: a chart"])


def test_a_terminal_of_100_columns_has_room_for_each_line():
    text = as_text(REPORT)

    assert max(map(len, text.splitlines()[1:])) <= 100
    assert "over quota: Deployment apps/<b>web  a.yaml:7" in text and "fine" not in text
    assert "in the cluster when the envelope was made: pods=2" in " ".join(text.split())
    assert "x.yaml: a chart" in text


def test_the_same_message_is_shown_once():
    text = as_text(Report(ENVELOPE, [OVER, HOST, OVER, OVER], []))

    assert text.count("exceeded quota") == 1 and "a.yaml:7, and 2 more with the same message\n" in text


def test_only_the_first_of_many_unrendered_files_are_named():
    for form in (as_text, as_markdown):
        text = form(Report(ENVELOPE, [], [f"{number}.yaml: a chart" for number in range(9)]))

        assert "4.yaml" in text and "5.yaml" not in text and "and 4 more" in text


def test_a_comment_has_no_markup_of_others():
    text = as_markdown(REPORT)

    assert text.startswith("### ❌ 3 objects: 1 accepted, 1 needs an opening, 1 over quota\n")
    assert "| `Deployment apps/<b>web`<br>`a.yaml:7` | over quota |" in text
    assert "For the platform team, to add in `tenants/shop.yaml`:" in text
    assert as_markdown(Report(ENVELOPE, [], [])).startswith("### ✅ no objects\n")
    assert as_markdown(Report(ENVELOPE, [HOST, HOST], [])).startswith("### ❌ 2 objects: 2 need an opening\n")


def test_programs_get_everything():
    whole = json.loads(as_json(REPORT))

    assert [each["outcome"] for each in whole["objects"]] == ["needs an opening", "over quota", "accepted"]
    assert whole["patches"] == {
        "tenants/shop.yaml": {"policies": {"hosts": ["a.b", "c.d"]}, "limits": {"quota": {"pods": "5"}}}
    }
    assert whole["envelope"]["digest"] == ENVELOPE.digest


def test_code_hosts_get_the_lines():
    [run] = json.loads(as_sarif(REPORT))["runs"]

    assert [each["ruleId"] for each in run["results"]] == ["policy allowed-hosts", "quota"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a.yaml", 7)


@pytest.mark.parametrize(
    ("rule", "message", "tenant", "stack"),
    [
        (
            "policy allowed-kinds",
            "ask the platform team for: Bucket in the tenant's policies.kinds",
            "policies: {kinds: [Bucket]}",
            "",
        ),
        (
            "policy allowed-images",
            "containers[].image: r.example.com:5000/a:1, b@sha256:0 is not an allowed image for tenant shop",
            "policies: {images: [r.example.com:5000/a, b]}",
            "",
        ),
        ("policy pod-volumes", "volumes[].csi.driver: a.b is not allowed", "policies: {csiDrivers: [a.b]}", ""),
        ("policy priority-classes", "spec.priorityClassName a is not allowed", "policies: {priorityClasses: [a]}", ""),
        ("policy volume-claims", "storageClassName a, b is not allowed", "policies: {storageClasses: [a, b]}", ""),
        ("policy node-placement", "tolerations: a.b/c, d is not allowed", "policies: {tolerations: [a.b/c, d]}", ""),
        (
            "Pod Security",
            'violates PodSecurity "restricted:latest": x',
            "namespaces: [{name: apps, podSecurity: baseline}, {name: jobs}, {name: old, podSecurity: privileged}]",
            "",
        ),
        (
            "role",
            'cannot patch resource "networkpolicies" in API group "networking.k8s.io" in the namespace "apps"',
            "",
            "policies: {networkPolicies: true}",
        ),
        (
            "role",
            'cannot patch resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "apps"',
            "",
            "policies: {roles: true}",
        ),
        (
            "role",
            'cannot patch resource "widgets" in API group "example.com" in the namespace "apps"',
            "grants: [{reason: write why, rules: [{apiGroups: [example.com], resources: [widgets], "
            "verbs: [create, delete, get, list, patch, update, watch]}]}]",
            "tenancy: {grantableGroups: [example.com]}",
        ),
    ],
)
def test_an_opening_is_written_as_the_platform_has_it(rule, message, tenant, stack):
    opening = opening_of(rule, message, found("web").manifest, ENVELOPE)

    assert opening is not None
    assert opening.tenant == (yaml.safe_load(tenant) or {})
    assert opening.stack == (yaml.safe_load(stack) or {})


def test_a_setting_is_named_where_its_value_is_for_the_platform_team_to_choose():
    opening = opening_of("policy node-placement", "x is not allowed (policies.tolerations)", {"metadata": {}}, ENVELOPE)

    assert opening is not None and opening.setting == "policies.tolerations"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("policy host-access", "hostNetwork breaks the pod's isolation from the node; remove it"),
        ("policy allowed-hosts", "host * (an Ingress without a host) is not an allowed host for tenant shop"),
        ("role", 'cannot patch resource "widgets" in API group "example.com" at the cluster scope'),
        ("role", 'cannot patch resource "widgets" in API group "example.com" in the namespace "other"'),
        ("role", 'cannot patch resource "networkpolicies" in API group "networking.k8s.io" in the namespace "other"'),
        ("Pod Security", 'violates PodSecurity "baseline:latest": privileged'),
    ],
)
def test_what_nothing_opens_has_no_opening(rule, message):
    assert opening_of(rule, message, found("web").manifest, ENVELOPE) is None


def test_limits_suffice_for_all_that_is_refused():
    syncs = "count/kustomizations.kustomize.toolkit.fluxcd.io"
    of_flux = f"exceeded quota: a, requested: {syncs}=1, used: {syncs}=5, limited: {syncs}=5"
    messages = [EXCEEDED, f"2 of 3: {EXCEEDED}", of_flux, "failed quota: a: must specify requests.cpu for: web"]

    assert needed_limits(messages) == {"kustomizations": 6, "quota": {"pods": "6"}}
