"""Objects of tenants that are there and not open, as a preview tells of them."""

from typing import Any

import pytest
from sample_stack import KYVERNO, load

from flux_tenancy.components.stack.cluster.closed_objects import closed_objects
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.messages import said, values_of

URL = "https://git.example.com/dev-team/apps"
FROM_GIT: dict[str, Any] = {"chart": {"spec": {"chart": "a", "sourceRef": {"kind": "GitRepository", "name": "a"}}}}
FROM_HELM: dict[str, Any] = {"chart": {"spec": {"chart": "a", "sourceRef": {"kind": "HelmRepository", "name": "a"}}}}


def thing(kind: str, name: str = "a", namespace: str = "apps", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def told(tmp_path, *objects, namespaces=None, **sections):
    config = load(tmp_path, tenants={"dev-team": sections.pop("own", {})}, **sections)
    return list(closed_objects(config, objects, namespaces or {}))


def of_tenant(tenant: str) -> dict[str, str]:
    return {TENANT_LABEL: tenant}


def by(policy: str, verb: str = "refused") -> dict[str, str]:
    return {"tenant": "dev-team", "refused": f"{verb} by the policy {policy}"}


def test_what_is_not_open_is_told_once_for_each_entry_that_would_open_it(tmp_path):
    chart = thing("HelmChart", sourceRef={"kind": "Bucket", "name": "a"})
    found = told(
        tmp_path,
        thing("Alert"),
        thing("Alert", "b"),
        thing("HelmRelease", **FROM_GIT),
        chart,
        thing("GitRepository", url=URL),
        thing("Kustomization"),
        thing("HelmRelease", "b", **FROM_HELM),
        thing("HelmRelease", "c", chartRef={"kind": "OCIRepository", "name": "a"}),
        thing("Alert", namespace="elsewhere"),
        policies={"sources": {"allowed": ["https://git.example.com/org/*"]}},
        own={"source": {"url": "https://git.example.com/org/apps"}},
    )

    assert found == [
        said("FT-CFG-680", objects="Alert apps/a, Alert apps/b", entry="Alert", **by("allowed-kinds")),
        said("FT-CFG-680", objects="HelmRelease apps/a, HelmChart apps/a", entry="HelmChart", **by("allowed-kinds")),
        said("FT-CFG-681", objects="GitRepository apps/a", entry=URL, **by("allowed-sources")),
    ]


@pytest.mark.parametrize(
    "open_",
    [
        {"tenancy": {"kinds": ["Alert", "HelmChart"]}, "policies": {"sources": {"allowed": ["*"]}}},
        {"own": {"policies": {"kinds": ["Alert", "HelmChart"], "sources": ["https://git.example.com/*"]}}},
        {"policies": {"engine": "none"}},
    ],
)
def test_nothing_is_told_of_what_is_open(tmp_path, open_):
    own = open_.get("own", {}) | {"source": {"url": URL}}
    objects = (thing("Alert"), thing("HelmRelease", **FROM_GIT), thing("GitRepository", url=URL))

    assert told(tmp_path, *objects, **{**open_, "own": own}) == []


def test_a_chart_that_helm_controller_made_is_told_with_its_release(tmp_path):
    chart = thing("HelmChart", sourceRef={"kind": "GitRepository", "name": "a"})
    chart["metadata"]["labels"] = {"helm.toolkit.fluxcd.io/name": "a"}

    assert told(tmp_path, chart) == []


def test_a_name_in_a_warning_has_no_control_characters(tmp_path):
    [message] = told(tmp_path, thing("GitRepository", url="https://a\x1b[2J"))

    assert "\x1b" not in message


def test_a_policy_in_audit_mode_warns(tmp_path):
    [message] = told(tmp_path, thing("Alert"), policies={"mode": "audit"})

    assert message == said("FT-CFG-680", objects="Alert apps/a", entry="Alert", **by("allowed-kinds", "warned about"))


def test_namespaces_that_a_tenant_makes_or_that_are_onboarded_by_label_are_included(tmp_path):
    objects = [thing("Alert", namespace=name) for name in ("dev-team-more", "labelled", "plain")]
    namespaces = {"dev-team-more": of_tenant("dev-team"), "labelled": of_tenant("qa-team"), "plain": {}}

    onboarding = {"engine": "kyverno", "onboarding": True}
    found = told(tmp_path, *objects, namespaces=namespaces, policies=onboarding, kyverno=KYVERNO)
    assert [(tenant, objects) for objects, tenant, *_ in map(values_of, found)] == [
        ("dev-team", "Alert dev-team-more/a"),
        ("qa-team", "Alert labelled/a"),
    ]


def test_without_onboarding_a_tenant_that_the_stack_does_not_have_is_left_out(tmp_path):
    namespaces = {"labelled": of_tenant("qa-team")}

    assert told(tmp_path, thing("Alert", namespace="labelled"), namespaces=namespaces) == []


def test_an_open_provider_lacks_what_the_lists_do_not_have(tmp_path):
    slack: dict[str, Any] = {"type": "slack", "address": "https://hooks.slack.com/a"}
    listed = {"policies": {"notifications": {"types": ["slack"], "hosts": ["hooks.slack.com"]}}}
    found = told(
        tmp_path,
        thing("Provider", **slack, secretRef={"name": "provider-slack-ops"}),
        thing("Provider", "own", **slack, secretRef={"name": "slack"}),
        thing("Provider", "elsewhere", **slack | {"address": "https://chat.example.com/a"}),
        thing("Provider", "other", type="discord", address="https://hooks.slack.com/a"),
        thing("Provider", "proxied", **slack, proxySecretRef={"name": "a"}),
        tenancy={"kinds": ["Provider"]},
        **listed,
    )

    answer = by("notification-addresses")
    assert found == [
        said("FT-CFG-684", objects="Provider apps/own", entry="provider-slack", **answer),
        said("FT-CFG-683", objects="Provider apps/elsewhere", entry="chat.example.com", **answer),
        said("FT-CFG-682", objects="Provider apps/other", entry="discord", **answer),
        said("FT-CFG-685", objects="Provider apps/proxied", entry="spec.proxySecretRef", **by("allowed-fields")),
    ]


def test_fields_inside_of_a_chart_and_of_artifacts_are_told(tmp_path):
    chart = {"kind": "OCIRepository", "spec": {"url": "oci://registry.example.com/app", "interval": "1m"}}
    artifacts = [{"name": "a", "copy": []}, {"name": "b", "namespace": "tools"}]
    found = told(
        tmp_path,
        thing("HelmRelease", chart=chart),
        thing("ArtifactGenerator", artifacts=artifacts, sources=[]),
        tenancy={"kinds": ["ArtifactGenerator"]},
    )

    answer = by("allowed-fields")
    assert sorted(found) == sorted(
        [
            said("FT-CFG-685", objects="HelmRelease apps/a", entry="spec.chart.kind", **answer),
            said("FT-CFG-685", objects="HelmRelease apps/a", entry="spec.chart.spec.url", **answer),
            said("FT-CFG-685", objects="ArtifactGenerator apps/a", entry="spec.artifacts[].namespace", **answer),
        ]
    )
