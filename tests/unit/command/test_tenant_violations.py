"""`flux-tenancy tenant violations`: its requests to the API server, its report, and its errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import Ran, invoke, refusal, told
from fake_cluster import FakeCluster, Said, manifest, namespace, served

from flux_tenancy.components.policies import table
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import Policy, PolicyName, Requester, Resources, Validation
from flux_tenancy.operations.admission import report
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from tests.support.releases import FLUX_VERSION


def policy(name: PolicyName, *resources: Resources, subject: Requester = Requester.CONTENT) -> Policy:
    return Policy(name, "something", (), subject, resources, (Validation("true", "''"),))


POLICIES = [
    policy(PolicyName.SERVICE_EXPOSURE, Resources("", ("services",))),
    policy(
        PolicyName.HOST_ACCESS,
        Resources("", ("pods",)),
        Resources("apps", ("deployments", "deployments/scale", "unknown")),
    ),
    policy(PolicyName.NO_KUBECONFIG, Resources("not.installed", ("things",))),
    policy(PolicyName.TENANT_LIMITS, Resources("", ("resourcequotas",)), subject=Requester.TENANTS),
]
NAMES = tuple(f"flux-tenancy-{each.name}" for each in POLICIES)
AUDIT, ENFORCE = ("Audit", "Warn"), ("Deny",)
STACK = f"""\
config:
  flux-tenancy:cluster: {{kubeconfig: kubeconfig}}
  flux-tenancy:flux: {{version: {FLUX_VERSION}, sha256: {"5f" * 32}}}
  flux-tenancy:policies: {{engine: %s, modes: {{%s}}}}
"""
NODE_PORT = "spec.type NodePort [bold]is not allowed[/bold]"


def by_native(policy: str, message: str) -> str:
    return f"Validation failed for ValidatingAdmissionPolicy 'flux-tenancy-{policy}' with binding 'x': {message}"


class Stack:
    """A project with one stack, on a fake cluster."""

    def __init__(self, folder, cluster: FakeCluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.write()

    def write(self, engine: str = "native", modes: str = "") -> None:
        (self.folder / "Pulumi.staging.yaml").write_text(STACK % (engine, modes))

    def run(self, *arguments: str) -> Ran:
        with served(self.cluster, self.folder):
            return self.run_without_cluster(*arguments)

    def run_without_cluster(self, *arguments: str) -> Ran:
        ran = invoke("tenant", "violations", "--stack", "staging", *arguments)
        assert "pa55word" not in ran.out + ran.error
        return ran

    def found(self, *arguments: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(told(self.run("--output", "json", *arguments)))
        return content

    def refused(self) -> list[str]:
        return refusal(self.run()).splitlines()


@pytest.fixture
def stack(tmp_path, monkeypatch) -> Stack:
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "policies", lambda config: POLICIES)
    cluster = FakeCluster(
        {
            "/api/v1/namespaces": [
                namespace("apps", "dev-team"),
                namespace("tools", "ops-team"),
                namespace("old", "dev-team", deletionTimestamp="2026-01-01T00:00:00Z"),
            ],
            "/api/v1/services": [manifest("web"), manifest("api", "tools"), manifest("dns", "kube-system")],
            "/api/v1/pods": [],
            "/apis/apps/v1/deployments": [manifest("shop")],
            # The same once more: in another version, and as what is asked of it.
            "/apis/apps/v1beta1/deployments": [manifest("shop")],
            "/apis/apps/v1/deployments/scale": [manifest("shop")],
        }
    )
    cluster.native(AUDIT, *NAMES)
    return Stack(tmp_path, cluster)


def test_each_object_of_a_tenant_is_asked_for_once_as_a_dry_run(stack):
    assert stack.found()["asked"] == 3
    assert [(path, asked["kind"], asked["metadata"]) for path, asked in stack.cluster.asked] == [
        ("/api/v1/namespaces/apps/services?dryRun=All", "Service", {"generateName": "web-", "namespace": "apps"}),
        ("/api/v1/namespaces/tools/services?dryRun=All", "Service", {"generateName": "api-", "namespace": "tools"}),
        (
            "/apis/apps/v1/namespaces/apps/deployments?dryRun=All",
            "Deployment",
            {"generateName": "shop-", "namespace": "apps"},
        ),
    ]


def test_nothing_secret_is_read_or_sent():
    watched = {
        name
        for policy in table.policies(PoliciesConfig())
        if policy.subject is Requester.CONTENT
        for resources in policy.resources
        for name in resources.names
    }

    assert "services" in watched
    assert not watched & {"secrets", "*"}


def test_objects_that_are_being_deleted_are_left_alone(stack):
    stack.cluster.objects["/api/v1/services"] = [manifest("web", deletionTimestamp="now"), manifest("x", "old")]

    assert stack.found()["asked"] == 1


def test_a_warning_is_reported_with_the_owner_of_the_object(stack):
    stack.cluster.judge = lambda asked: Said(warnings=(by_native("service-exposure", NODE_PORT), "something else"))

    assert stack.found()["findings"][0] == {
        "tenant": "dev-team",
        "namespace": "apps",
        "kind": "Deployment",
        "name": "shop",
        "policy": "service-exposure",
        "message": NODE_PORT,
        "mode": "audit",
        "engines": ["native"],
    }


def test_findings_come_by_tenant_namespace_kind_and_name(stack):
    stack.cluster.judge = lambda asked: Said(warnings=(by_native("host-access", "no"),))
    stack.cluster.objects["/api/v1/services"].insert(0, manifest("zoo", "tools"))

    found = stack.found()["findings"]

    assert [(each["tenant"], each["kind"], each["name"]) for each in found] == [
        ("dev-team", "Deployment", "shop"),
        ("dev-team", "Service", "web"),
        ("ops-team", "Service", "api"),
        ("ops-team", "Service", "zoo"),
    ]


NOTIFICATION = "/apis/notification.toolkit.fluxcd.io/v1"


def test_objects_of_closed_kinds_are_findings(stack):
    opened = {"annotations": {"flux-tenancy/kinds": "alerts.notification.toolkit.fluxcd.io"}}
    stack.cluster.objects["/api/v1/namespaces"].append(namespace("open", "qa-team", **opened))
    stack.cluster.objects[f"{NOTIFICATION}/alerts"] = [
        manifest("own"),
        manifest("of-the-stack", labels={"toolkit.fluxcd.io/tenant": "dev-team"}),
        manifest("by-annotation", "open"),
        manifest("of-the-platform", "kube-system"),
    ]
    stack.cluster.objects[f"{NOTIFICATION}/receivers"] = [manifest("by-the-stack")]

    # As long as the policy is not in force, it refuses nothing.
    assert stack.found()["findings"] == []
    stack.cluster.native(ENFORCE, *NAMES, "flux-tenancy-allowed-kinds")
    stack.write("native", "")
    with (stack.folder / "Pulumi.staging.yaml").open("a") as file:
        file.write("  flux-tenancy:tenancy: {kinds: [Receiver]}\n")
    content = stack.found()

    assert content["findings"] == [
        {
            "tenant": "dev-team",
            "namespace": "apps",
            "kind": "Alert",
            "name": "own",
            "policy": "allowed-kinds",
            "message": "Alert apps/own: not open to tenant dev-team, and refused by the policy allowed-kinds at the "
            "next change; to keep it open, add Alert to policies.kinds of the tenant, or to tenancy.kinds",
            "mode": "enforce",
            "engines": ["native"],
        }
    ]
    assert [each["objects"] for each in content["policies"] if each["policy"] == "allowed-kinds"] == [1]
    assert stack.run("--exit-code")[0] == 1


def test_what_both_engines_say_is_one_finding(stack):
    stack.write("both")
    stack.cluster.kyverno(AUDIT, *NAMES)
    said = (by_native("service-exposure", "no"), "Policy flux-tenancy-service-exposure failed: no")
    stack.cluster.judge = lambda asked: Said(warnings=said if asked["kind"] == "Service" else ())

    content = stack.found()

    assert [(each["name"], each["engines"]) for each in content["findings"]] == [
        ("web", ["kyverno", "native"]),
        ("api", ["kyverno", "native"]),
    ]
    assert {each["policy"]: (each["mode"], each["engines"], each["objects"]) for each in content["policies"]} == {
        "host-access": ("audit", ["kyverno", "native"], 0),
        "no-kubeconfig": ("audit", ["kyverno", "native"], 0),
        "service-exposure": ("audit", ["kyverno", "native"], 2),
    }


def test_a_refusal_of_a_policy_that_is_enforced_is_a_finding(stack):
    stack.cluster.native(ENFORCE, *NAMES)
    message = "services \"web-x\" is forbidden: ValidatingAdmissionPolicy '{0}' with binding '{0}' denied request: no"
    stack.cluster.judge = lambda asked: (
        Said(422, message=message.format(NAMES[0])) if asked["kind"] == "Service" else Said()
    )

    content = stack.found()

    assert [(each["name"], each["mode"], each["message"]) for each in content["findings"]] == [
        ("web", "enforce", "no"),
        ("api", "enforce", "no"),
    ]
    assert content["refusedOtherwise"] == []


@pytest.mark.parametrize("warnings", [(), (by_native("host-access", "no"),)], ids=["silent", "beside a warning"])
def test_other_refusals_are_listed_apart_and_only_a_warning_beside_them_is_a_finding(stack, warnings):
    quota = 'deployments "shop-x" is forbidden: exceeded quota: few'
    stack.cluster.judge = lambda asked: Said(403, warnings, quota) if asked["kind"] == "Deployment" else Said()

    content = stack.found()

    assert content["refusedOtherwise"] == [
        {"tenant": "dev-team", "namespace": "apps", "kind": "Deployment", "name": "shop", "reason": quota}
    ]
    assert len(content["findings"]) == len(warnings)


def test_pods_are_judged_by_what_controls_them(stack):
    def owned(name: str, kind: str, api_version: str = "apps/v1") -> dict[str, Any]:
        owner = {"apiVersion": api_version, "kind": kind, "name": f"the-{kind.lower()}", "controller": True}
        return manifest(name, ownerReferences=[{"kind": "Other", "name": "o", "apiVersion": "v1"}, owner])

    stack.cluster.objects["/api/v1/pods"] = [
        owned("a", "Deployment"),
        owned("b", "Rollout", "argoproj.io/v1alpha1"),
        owned("c", "Rollout", "argoproj.io/v1alpha1"),
        owned("d", "Deployment", "apps.example.com/v1"),
        manifest("e"),
    ]
    stack.cluster.judge = lambda asked: Said(warnings=(by_native("host-access", "no"),))

    found = [(each["kind"], each["name"]) for each in stack.found()["findings"] if each["kind"] != "Service"]

    assert found == [("Deployment", "shop"), ("Deployment", "the-deployment"), ("Pod", "e"), ("Rollout", "the-rollout")]


@pytest.mark.parametrize(("kind", "asked"), [("pods", 4), ("replicasets", 4), ("replicasets of the same", 3)])
def test_an_owner_that_makes_no_such_objects_or_that_fewer_policies_look_at_hides_none(stack, monkeypatch, kind, asked):
    """A Deployment makes ReplicaSets, so somebody else has named it as the owner of a Pod."""
    name = PolicyName.HOST_ACCESS if kind.endswith("same") else PolicyName.ALLOWED_IMAGES
    monkeypatch.setattr(report, "policies", lambda _: [*POLICIES, policy(name, Resources("apps", ("replicasets",)))])
    stack.cluster.native(AUDIT, *NAMES, "flux-tenancy-allowed-images")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "controller": True}
    path = "/api/v1/pods" if kind == "pods" else "/apis/apps/v1/replicasets"
    stack.cluster.objects[path] = [manifest("a", ownerReferences=[owner])]

    assert stack.found()["asked"] == asked


def test_what_a_tenant_calls_an_owner_steers_no_terminal(stack):
    owner = {"apiVersion": "example.com/v1", "kind": "Own\x1b[31m", "name": "a\x9b2J\nb\u202e", "controller": True}
    stack.cluster.objects["/api/v1/pods"] = [manifest("a", ownerReferences=[owner])]
    stack.cluster.judge = lambda asked: Said(warnings=(by_native("host-access", "no"),))

    _, out, _ = stack.run()

    assert "Own [31m/a 2J b" in " ".join(out.split())
    assert out.replace("\n", "").isprintable()


def test_the_table_shows_objects_policies_and_messages(stack):
    stack.cluster.judge = lambda asked: Said(
        warnings=(by_native("service-exposure", NODE_PORT),) if asked["kind"] == "Service" else ()
    )

    code, out, error = stack.run()

    assert (code, error) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert f"dev-team apps Service/web service-exposure native {NODE_PORT}" in lines
    assert "service-exposure audit native 2" in lines
    assert "host-access audit native 0" in lines
    assert not [line for line in lines if line.startswith("tenant-limits")]
    assert lines[-1] == (
        "2 of 3 objects would be refused if they were created now or their spec changed. "
        "Running objects are not affected."
    )


@pytest.mark.parametrize(("warnings", "status"), [((by_native("service-exposure", "no"),), 1), ((), 0)])
def test_a_pipeline_can_ask_for_a_status_that_tells_findings(stack, warnings, status):
    stack.cluster.judge = lambda asked: Said(warnings=warnings)

    code, out, _ = stack.run("--exit-code")

    assert (code, stack.run().code) == (status, 0)
    assert out.splitlines()[-1].startswith("3 of 3 objects" if warnings else "None of 3 objects would be refused.")


def test_a_stack_without_engine_has_no_report(stack):
    stack.write("none")

    assert stack.refused()[0].endswith("(FT-OPS-043)")


def test_policies_that_the_cluster_lacks_are_named_by_engine(stack):
    stack.write("both")
    stack.cluster.native(AUDIT, *NAMES[:2])
    stack.cluster.kyverno(AUDIT, NAMES[0], NAMES[2])

    assert stack.refused()[0].endswith("(native: no-kubeconfig; kyverno: host-access) (FT-OPS-044)")
    assert stack.cluster.asked == []


def test_a_policy_that_is_off_is_not_missing(stack):
    stack.write(modes="no-kubeconfig: 'off'")
    stack.cluster.native(AUDIT, *NAMES[:2])

    assert [each["policy"] for each in stack.found()["policies"]] == ["host-access", "service-exposure"]


@pytest.mark.parametrize("lanes", ["", ", lanes: {tenants: {}}"])
def test_the_policy_about_lanes_is_missing_only_where_the_stack_has_lanes(stack, monkeypatch, lanes):
    [lane] = [policy for policy in table.policies(PoliciesConfig()) if policy.name is PolicyName.LANE]
    monkeypatch.setattr(report, "policies", lambda config: [*POLICIES, lane])
    file = stack.folder / "Pulumi.staging.yaml"
    digest = "5f" * 32
    file.write_text(file.read_text().replace(digest, digest + lanes))

    if lanes:
        assert stack.refused()[0].endswith("(native: lane) (FT-OPS-044)")
    else:
        assert len(stack.found()["policies"]) == len(NAMES) - 1


@pytest.mark.parametrize("gone", ["validatingwebhookconfigurations", "not configured", "validatingadmissionpolicies"])
def test_a_policy_that_is_not_evaluated_is_missing(stack, gone):
    stack.write("both")
    stack.cluster.kyverno(AUDIT, *NAMES, configured="False" if gone == "not configured" else "True")
    stack.cluster.objects = {path: each for path, each in stack.cluster.objects.items() if not path.endswith(gone)}

    engine = "native" if gone == "validatingadmissionpolicies" else "kyverno"
    assert stack.refused()[0].endswith(f"({engine}: all) (FT-OPS-044)")


DOWN = 'Internal error occurred: failed calling webhook "vpol.validate.kyverno.svc-fail": failed to call webhook: Post'
FORBIDDEN = 'services is forbidden: User "me" cannot create resource "services" in API group "" in the namespace "apps"'


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (
            Said(500, message=DOWN),
            "FT-OPS-040",
            "svc-fail does not answer for Service apps/web: failed to call webhook: Post (",
        ),
        (Said(403, message=FORBIDDEN), "FT-OPS-041", f"Service apps/web: {FORBIDDEN} ("),
        (Said(503, message="the server is currently unable to handle the request"), "FT-OPS-042", "503"),
        (Said(503, text="Too many requests, please try again later."), "FT-OPS-042", "Too many requests, please try"),
        (Said(503, text="upstream connect error"), "FT-OPS-042", "upstream connect error"),
    ],
    ids=["webhook is down", "user may not dry-run", "unhealthy", "too many requests", "proxy"],
)
def test_an_answer_that_says_nothing_about_policies_is_an_error_with_the_object(stack, said, code, words):
    stack.cluster.judge = lambda asked: said

    error = stack.refused()[0]

    assert error.endswith(f"({code})") and words in error and "Service apps/web" in error


def test_a_text_of_a_tenant_about_a_webhook_is_no_error(stack):
    said = 'denied the request: spec.url is https://x/failed calling webhook "vpol.validate.kyverno.svc": EOF'
    stack.cluster.judge = lambda asked: Said(403, message=said)

    assert stack.found()


@pytest.mark.parametrize(
    ("status", "said"), [(403, "refuses this user (403 Forbidden)"), (500, "answers 500 Internal")]
)
def test_a_cluster_that_refuses_the_user_is_an_error(stack, status, said):
    stack.cluster.status = status

    error = stack.refused()[0]

    assert error.startswith("error: Pulumi.staging.yaml: cluster.kubeconfig: http://127.0.0.1:")
    assert said in error


def test_a_kubeconfig_that_the_stack_holds_itself_is_decrypted_by_pulumi(stack, monkeypatch):
    asked = []

    def decrypted(config, path):
        asked.append((config.stack, path))
        return (stack.folder / "kubeconfig").read_text()

    monkeypatch.setattr(PulumiConfig, "get", decrypted)
    file = stack.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace("kubeconfig: kubeconfig", "kubeconfigContent: {secure: v1:AAAA}"))

    assert stack.found()["asked"] == 3
    assert asked == [("staging", "cluster.kubeconfigContent")]


@pytest.mark.parametrize(
    ("valid", "invalid", "problem"),
    [
        ("{kubeconfig: kubeconfig}", "{}", "cluster: "),
        ("{engine: native, modes: {}}", "{mode: 'off'}", "policies.mode: "),
        ("{engine: native, modes: {}}", "{modes: {x: audit}}", "policies.modes"),
    ],
)
def test_a_stack_that_is_not_valid_is_an_error_of_its_key(stack, valid, invalid, problem):
    file = stack.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace(valid, invalid))

    code, _, error = stack.run_without_cluster()

    assert code == 2
    assert error.startswith(f"error: Pulumi.staging.yaml: {problem}")


TENANT = """\
namespaces: [{name: apps}]
source: {url: "https://git.example.com/dev-team/apps"}
grants:
  - {reason: "[b]PLAT-230[/b]", expires: 2020-03-31, serviceTypes: [NodePort]}
  - {reason: PLAT-231, exceptions: [{policy: allowed-images, names: [shop]}]}
"""
LISTED = """\
  flux-tenancy:tenants: {dev-team: {source: {https: {password: {secure: v1:abc}}}}}
"""


@pytest.fixture
def granted(stack: Stack) -> Stack:
    """The Service of dev-team is a NodePort by a grant that has expired."""
    (stack.folder / "Pulumi.staging.yaml").write_text(STACK % ("native", "") + LISTED)
    (stack.folder / "tenants").mkdir()
    (stack.folder / "tenants" / "dev-team.yaml").write_text(TENANT)

    def judge(asked: dict[str, Any]) -> Said:
        ignored = "flux-tenancy/without-grants" in asked["metadata"].get("annotations", {})
        return Said(warnings=(by_native("service-exposure", NODE_PORT),) if ignored else ())

    stack.cluster.judge = judge
    return stack


def test_what_runs_only_because_of_a_grant_is_in_the_report_and_is_not_a_finding(granted):
    content = granted.found()

    assert content["findings"] == []
    assert content["onlyByGrant"] == [
        {"tenant": "dev-team", "namespace": "apps", "kind": "Service", "name": "web", "policy": "service-exposure"}
    ]
    assert content["grants"] == [
        {
            "tenant": "dev-team",
            "allows": "Services of the type NodePort",
            "reason": "[b]PLAT-230[/b]",
            "expires": "2020-03-31",
            "expired": True,
        },
        {
            "tenant": "dev-team",
            "allows": "an exception from the policy allowed-images for shop",
            "reason": "PLAT-231",
            "expires": None,
            "expired": False,
        },
    ]


def test_what_is_refused_with_its_grant_too_is_only_a_finding(granted):
    granted.cluster.judge = lambda asked: Said(warnings=(by_native("service-exposure", NODE_PORT),))

    content = granted.found()

    assert content["onlyByGrant"] == []
    assert [each["name"] for each in content["findings"]] == ["shop", "web", "api"]


def test_only_objects_that_a_grant_may_concern_are_asked_for_twice(granted):
    granted.found()

    assert [path.partition("?")[0] for path, _ in granted.cluster.asked] == [
        "/api/v1/namespaces/apps/services",
        "/api/v1/namespaces/apps/services",
        "/api/v1/namespaces/tools/services",
        "/apis/apps/v1/namespaces/apps/deployments",
    ]


def test_the_table_marks_grants_that_have_expired(granted):
    _, out, _ = granted.run()

    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "dev-team Services of the type NodePort [b]PLAT-230[/b] 2020-03-31 (expired)" in lines
    assert (
        lines[lines.index("What would be refused without a grant:") + 4] == "dev-team apps Service/web service-exposure"
    )


def test_a_grant_that_is_not_valid_is_an_error_with_its_key(granted):
    file = granted.folder / "tenants" / "dev-team.yaml"
    file.write_text(TENANT.replace("policy: allowed-images", "policy: host-access"))

    error, *_ = granted.refused()

    assert error.startswith("error: tenants/dev-team.yaml: grants[1].exceptions[0].policy: 'host-access' is not one of")
