"""`flux-tenancy tenant show`: one tenant in each stack that lists it, for people and for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_cluster import FakeCluster, served
from rich.console import Console
from sample_tenants import QUOTAS, RELEASES, REVISION, SOURCES, SYNCS, flux_object, quota, sources_and_syncs
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.components.tenant.annotations import FREEZES
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.operations.tenants.details import details_table, read_details
from flux_tenancy.operations.tenants.overview import short_revision


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    return tenants_project(tmp_path, monkeypatch)


@pytest.fixture
def cluster(project) -> Iterator[FakeCluster]:
    """That of both stacks."""
    cluster = FakeCluster()
    cluster.objects = {
        **sources_and_syncs("no such \x1b[31mbranch"),
        QUOTAS: [
            quota("apps", "dev-team", {"pods": "10", "cpu": "1"}, {"pods": "4", "cpu": "500m"}),
            quota("tools", "ops-team", {"pods": "10"}, {"pods": "9"}),
        ],
    }
    with served(cluster, project.folder):
        yield cluster


def shown(project: TenantsProject, tenant: str, *arguments: str) -> dict[str, Any]:
    """The entry of the tenant in staging."""
    [entry] = json.loads(project.told("show", tenant, "-s", "staging", "-o", "json", *arguments))["stacks"]
    return dict(entry)


def step(project: TenantsProject, tenant: str) -> str:
    """The only next step of the tenant in staging."""
    [only] = shown(project, tenant)["next"]
    return str(only)


def entry_of(kind: str, name: str, state: str = "ready", revision: str = REVISION) -> dict[str, str]:
    """What is shown of an object in the namespace apps that has nothing to say."""
    silent = dict.fromkeys(("since", "message", "refusedBy"), "")
    return {"kind": kind, "namespace": "apps", "name": name, "state": state, "revision": revision, **silent}


def test_a_program_gets_all_that_is_known_of_a_tenant(project, cluster):
    cluster.objects[RELEASES] = [flux_object("HelmRelease", "apps", "web", "Unknown", "installs", suspend=True)]
    cluster.objects[RELEASES][0]["status"] |= {"lastAppliedRevision": "", "history": [{"chartVersion": "6.5.1"}]}

    assert shown(project, "dev-team") == {
        "stack": "staging",
        "error": "",
        "state": "ready",
        "lane": "",
        "message": "",
        "revision": REVISION,
        "changed": "2026-11-20T08:00:00Z",
        "namespaces": ["apps"],
        "sources": [entry_of("GitRepository", "dev-team")],
        "syncs": [entry_of("Kustomization", "dev-team")],
        "releases": [entry_of("HelmRelease", "web", "suspended", "6.5.1")],
        "quotas": [
            {"namespace": "apps", "resource": "cpu", "used": "500m", "hard": "1", "percent": 50},
            {"namespace": "apps", "resource": "pods", "used": "4", "hard": "10", "percent": 40},
        ],
        "next": [],
    }


def test_what_a_tenant_has_created_itself_is_shown_if_it_has_failed(project, cluster):
    refused = 'Service "web" is forbidden: spec.type NodePort is not allowed'
    cluster.objects["/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/apps/kustomizations"] = [
        flux_object("Kustomization", "apps", "extra", "False", refused),
        flux_object("Kustomization", "apps", "fine", "True"),
    ]

    found = shown(project, "dev-team")

    assert found["state"] == "ready"
    assert [(each["name"], each["state"], each["message"]) for each in found["syncs"]] == [
        ("dev-team", "ready", ""),
        ("extra", "failed", refused),
    ]
    assert found["next"] == [
        "correct what the message of Kustomization extra says; its events: `kubectl describe kustomization extra "
        "--namespace apps`"
    ]


@pytest.mark.parametrize(
    "message",
    [
        'Service/apps/web dry-run failed (Forbidden): services "web" is forbidden: ValidatingAdmissionPolicy '
        "'flux-tenancy-service-exposure' with binding 'flux-tenancy-service-exposure' denied request: no",
        'Helm install failed for release apps/web with chart web@1.0.0: admission webhook "validate.kyverno.svc-fail" '
        "denied the request: Policy flux-tenancy-service-exposure failed: no; Policy flux-tenancy-pod-size failed: no",
    ],
)
def test_a_sync_has_the_policy_that_refuses_it(project, cluster, message):
    cluster.objects[SYNCS][0] = flux_object("Kustomization", "apps", "dev-team", "False", message)

    found = shown(project, "dev-team")

    assert [each["refusedBy"] for each in found["syncs"]] == ["service-exposure"]
    assert found["next"] == [
        "policy service-exposure refuses an object of Kustomization dev-team: correct what its message says, or have "
        "the platform team grant it (docs/grants.md)"
    ]


def test_people_get_a_part_for_each_stack_that_lists_the_tenant(project, cluster):
    file = project.folder / "Pulumi.production.yaml"
    file.write_text(file.read_text().replace("kubeconfig: kubeconfig", "kubeconfig: elsewhere"))

    production, staging = project.told("show", "ops-team").split("Tenant ops-team in stack ")[1:]

    assert production.startswith("production\n  state        unknown") and "(FT-CFG-020)" in production
    assert "\n  Next: " in production
    assert staging.startswith("staging\n  state        failed")
    columns = [line.split() for line in staging.splitlines()]
    assert ["GitRepository", "tools", "ops-team", "failed", "main@sha1:0123456…"] in [line[:5] for line in columns]
    assert "90 %" in staging and "Below 1 %" not in staging
    assert "no such [31mbranch" in staging and "\x1b" not in staging
    assert staging.rstrip().endswith(
        "Next: correct what the message of GitRepository ops-team says; its events: `kubectl describe gitrepository "
        "ops-team --namespace tools`"
    )


def test_a_narrow_terminal_gets_messages_below_the_table_and_no_unused_quota(project, cluster):
    cluster.objects[QUOTAS] = [
        quota("tools", "ops-team", {"pods": "10", "secrets": "900"}, {"pods": "9", "secrets": "1"})
    ]
    details = read_details("ops-team", ["staging"], project.folder)
    out = io.StringIO()

    Console(file=out, width=100).print(details_table(details, 100))

    text = out.getvalue()
    assert "\n  GitRepository ops-team: no such" in text and short_revision(REVISION) in text
    assert "90 %" in text and "secrets" not in text and "Below 1 %: 1 further limits" in text


def test_a_stack_that_does_not_list_the_tenant_is_left_out(project, cluster):
    file = project.folder / "Pulumi.production.yaml"
    file.write_text(file.read_text().replace("        ops-team: {}\n", ""))

    [entry] = json.loads(project.told("show", "ops-team", "-o", "json"))["stacks"]

    assert entry["stack"] == "staging"
    error = project.refused("show", "ops-team", "-s", "production")
    assert error.startswith(
        "error: tenant ops-team is not listed in Pulumi.production.yaml; listed: dev-team (FT-OPS-004)\n"
    )


def test_what_has_failed_by_itself_is_named_and_not_what_waits_for_it(project, cluster):
    assert "GitRepository ops-team" in step(project, "ops-team")

    cluster.objects[SOURCES][1] = flux_object("GitRepository", "tools", "ops-team", "True")
    assert "Kustomization ops-team" in step(project, "ops-team")


def test_definitions_of_a_chart_have_a_step_of_their_own(project, cluster):
    said = 'failed to create CustomResourceDefinition: customresourcedefinitions.apiextensions.k8s.io "a" is forbidden'
    cluster.objects[RELEASES] = [flux_object("HelmRelease", "apps", "web", "False", said)]

    assert "`install: {crds: Skip}`" in shown(project, "dev-team")["next"][1]
    cluster.objects[RELEASES] = [flux_object("HelmRelease", "apps", "web", "False", "no such chart")]
    assert len(shown(project, "dev-team")["next"]) == 1


def event(reason: str, of: str, message: str, at: str = "2026-11-28T10:00:00Z") -> dict[str, Any]:
    kind, _, name = of.partition(" ")
    about = {"kind": kind, "namespace": "apps", "name": name}
    return {"metadata": {"name": f"{name}.1"}, "reason": reason, "message": message, "lastTimestamp": at} | {
        "involvedObject": about
    }


EVENTS = "/api/v1/namespaces/apps/events"
START_FAILURES = [
    (
        event(
            "FailedCreate",
            "ReplicaSet web-7d9f",
            'pods "web-7d9f-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
        ),
        "ReplicaSet apps/web-7d9f: Pod Security refuses its Pods: ",
        "`podSecurity` of the namespace",
    ),
    (
        event("FailedCreate", "Job load", 'pods "load-x" is forbidden: exceeded quota: q, used: pods=5'),
        "Job apps/load: a quota is full: ",
        "`limits.quota`",
    ),
    (
        event("FailedCreate", "ReplicaSet a-1", "is forbidden: failed quota: q: must specify limits.memory"),
        "ReplicaSet apps/a-1: its Pods lack requests or limits",
        "`resources` of each container",
    ),
    (
        event("Failed", "Pod web-1", 'Failed to pull image "example.com/a:1": not found'),
        "Pod apps/web-1: its image cannot be pulled: ",
        "`imagePullSecrets`",
    ),
    (
        event("Failed", "Pod web-1", "Error: container has runAsNonRoot and image will run as root (pod: ...)"),
        "Pod apps/web-1: its image runs as root, or names its user without a number: ",
        "`runAsUser` in the Pod template",
    ),
    (
        event("FailedScheduling", "Pod web-1", "0/3 nodes are available: 3 Insufficient cpu."),
        "Pod apps/web-1: no node can run it: ",
        "tolerations",
    ),
    (
        event("FailedScheduling", "Pod db-0", "pod has unbound immediate PersistentVolumeClaims"),
        "Pod apps/db-0: a volume claim is missing, or waits",
        "`kubectl get storageclass`",
    ),
    (
        event("FailedBinding", "PersistentVolumeClaim data", "no storage class is set"),
        "PersistentVolumeClaim apps/data: its volume is not created: ",
        "`storageClassName`",
    ),
    (
        event("FailedMount", "Pod web-1", 'secret "web" not found'),
        "Pod apps/web-1: a volume cannot be mounted: ",
        "create the Secret",
    ),
]


@pytest.mark.parametrize("state", ["Unknown", "False"])
@pytest.mark.parametrize(("found", "cause", "remedy"), START_FAILURES)
def test_the_cause_why_pods_do_not_start_is_a_next_step(project, cluster, state, found, cause, remedy):
    sync = flux_object("Kustomization", "apps", "dev-team", state, "Running health checks with a timeout of 5m0s")
    cluster.objects |= {SYNCS: [sync], EVENTS: [found, event("Unhealthy", "Pod web-1", "Readiness probe failed")]}

    steps = shown(project, "dev-team")["next"]

    assert steps[-1].startswith(cause) and found["message"] in steps[-1] and remedy in steps[-1]
    assert len(steps) == (1 if state == "Unknown" else 2)


def test_a_cause_is_told_once_and_the_latest_first(project, cluster):
    sync = flux_object("Kustomization", "apps", "dev-team", "Unknown", "Running health checks")
    full = "is forbidden: exceeded quota: dev-team-quota, used: pods="
    cluster.objects |= {
        SYNCS: [sync],
        EVENTS: [
            event("FailedCreate", "ReplicaSet web", f"{full}4", "2026-11-28T09:00:00Z"),
            event("FailedScheduling", "Pod a-1", "0/3 nodes are available", "2026-11-28T09:30:00Z"),
            event("FailedScheduling", "Pod a-2", "0/3 nodes are available", "2026-11-28T09:20:00Z"),
            event("FailedCreate", "ReplicaSet web", f"{full}5", "2026-11-28T10:00:00Z"),
        ],
    }

    first, second = shown(project, "dev-team")["next"]

    assert f"{full}5" in first and second.startswith("Pod apps/a-1: ")


def test_events_of_a_tenant_that_is_ready_are_not_read(project, cluster):
    cluster.objects[EVENTS] = [START_FAILURES[0][0]]

    assert shown(project, "dev-team")["next"] == []


@pytest.mark.parametrize(
    ("objects", "kind", "message", "lacks"),
    [
        (SOURCES, "GitRepository", "unable to clone 'a': couldn't find remote ref \"refs/heads/x\"", "no such branch"),
        (SOURCES, "GitRepository", "unable to list remote for 'ssh://a': invalid pkt-len found", "repository exists"),
        (SYNCS, "Kustomization", "kustomization path not found: stat /tmp/a/eu: no such file", "no such folder"),
    ],
)
def test_what_the_repository_lacks_is_the_next_step(project, cluster, objects, kind, message, lacks):
    cluster.objects[SOURCES][1] = flux_object("GitRepository", "tools", "ops-team", "True")
    cluster.objects[objects][1] = flux_object(kind, "tools", "ops-team", "False", message)

    found = step(project, "ops-team")

    assert found.startswith(f"{kind} ops-team: ") and lacks in found


def test_each_state_has_its_next_step(project, cluster):
    cluster.objects[SYNCS] = [flux_object("Kustomization", "apps", "dev-team", "False", suspend=True)]
    cluster.objects[SOURCES].pop()
    suspended, absent = shown(project, "dev-team"), shown(project, "ops-team")
    assert (suspended["state"], absent["state"]) == ("suspended", "absent")
    assert "remove `suspend: true` of dev-team" in suspended["next"][0]
    assert "`pulumi up --stack staging`" in absent["next"][0]
    cluster.objects[SYNCS] = [flux_object("Kustomization", "apps", "dev-team", "True")]
    annotations = {FREEZES: "2026-01-01T00:00:00Z 2099-01-01T00:00:00Z a sale"}
    metadata = {"name": "apps", "labels": {TENANT_LABEL: "dev-team"}, "annotations": annotations}
    cluster.objects["/api/v1/namespaces"] = [{"metadata": metadata}]
    frozen = shown(project, "dev-team")
    assert (frozen["state"], frozen["message"]) == ("frozen", "until 2099-01-01T00:00:00Z: a sale")
    assert "grant dev-team an exception from the policy freeze" in frozen["next"][0]

    for tenant in ("dev-team", "ops-team"):
        project.told("offboard", tenant, "-s", "staging", "--no-backup", "--no-preview")
    first, last = shown(project, "dev-team"), shown(project, "ops-team")
    assert (first["state"], last["state"]) == ("leaving", "leaving")
    assert "`pulumi up --stack staging`" in first["next"][0]
    assert "`flux-tenancy tenant offboard ops-team --stack staging`" in last["next"][0]


def test_a_tenant_without_a_base_file_has_failed_with_the_error_of_its_files(project, cluster):
    (project.folder / "tenants/ops-team.yaml").unlink()

    found = shown(project, "ops-team")

    assert found["state"] == "failed" and "tenants/ops-team.yaml" in found["message"] and len(found["next"]) == 1


@pytest.mark.parametrize(("tenant", "code"), [("dev-team", 0), ("ops-team", 1)])
def test_a_failure_is_an_exit_status_on_request(project, cluster, tenant, code):
    assert project.run("show", tenant, "-s", "staging", "--exit-code")[0] == code
    assert project.run("show", tenant, "-s", "staging")[0] == 0
