"""`flux-tenancy tenant violations`: its requests to the API server, its report, and its errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import Ran, invoke, refusal, told
from fake_cluster import FakeCluster, Said, manifest, namespace, served, write_kubeconfig

from flux_tenancy.components.policies import table
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import Policy, PolicyName, Requester, Resources, Validation
from flux_tenancy.operations.admission import report
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from tests.support.releases import FLUX_VERSION

ALLOWED = (Validation("true", "''"),)
POLICIES = [
    Policy(
        PolicyName.SERVICE_EXPOSURE, "something", (20,), Requester.CONTENT, (Resources("", ("services",)),), ALLOWED
    ),
    Policy(
        PolicyName.HOST_ACCESS,
        "something",
        (19,),
        Requester.CONTENT,
        (Resources("", ("pods",)), Resources("apps", ("deployments", "deployments/scale", "unknown"))),
        ALLOWED,
    ),
    Policy(
        PolicyName.NO_KUBECONFIG,
        "something",
        (15,),
        Requester.CONTENT,
        (Resources("not.installed", ("things",)),),
        ALLOWED,
    ),
    Policy(
        PolicyName.TENANT_LIMITS, "something", (11,), Requester.TENANTS, (Resources("", ("resourcequotas",)),), ALLOWED
    ),
]
NAMES = tuple(f"flux-tenancy-{policy.name}" for policy in POLICIES)
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


def test_other_refusals_are_listed_apart_and_are_not_findings(stack):
    quota = 'deployments "shop-x" is forbidden: exceeded quota: few'
    stack.cluster.judge = lambda asked: Said(403, message=quota) if asked["kind"] == "Deployment" else Said()

    assert stack.found()["refusedOtherwise"] == [
        {"tenant": "dev-team", "namespace": "apps", "kind": "Deployment", "name": "shop", "reason": quota}
    ]


def test_a_warning_is_a_finding_even_if_something_else_refuses(stack):
    stack.cluster.judge = lambda asked: Said(
        403, (by_native("host-access", "no"),), 'x "y" is forbidden: exceeded quota'
    )

    content = stack.found()

    assert (len(content["findings"]), len(content["refusedOtherwise"])) == (3, 3)


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

    assert found == [
        ("Deployment", "shop"),
        ("Deployment", "the-deployment"),
        ("Pod", "e"),
        ("Rollout", "the-rollout"),
    ]


def test_an_owner_that_makes_no_such_objects_hides_none(stack):
    """A Deployment makes ReplicaSets, so somebody else has named it as the owner of a Pod."""
    stack.cluster.objects["/api/v1/pods"] = []
    without = stack.found()["asked"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "controller": True}
    stack.cluster.objects["/api/v1/pods"] = [manifest("a", ownerReferences=[owner])]

    assert stack.found()["asked"] == without + 1


def test_what_a_tenant_calls_an_owner_steers_no_terminal(stack):
    owner = {"apiVersion": "example.com/v1", "kind": "Own\x1b[31m", "name": "a\x9b2J\nb\u202e", "controller": True}
    stack.cluster.objects["/api/v1/pods"] = [manifest("a", ownerReferences=[owner])]
    stack.cluster.judge = lambda asked: Said(warnings=(by_native("host-access", "no"),))

    _, out, _ = stack.run()

    assert "Own [31m/a 2J b" in " ".join(out.split())
    assert out.replace("\n", "").isprintable()


def test_pods_that_more_policies_look_at_than_their_owner_are_judged_themselves(stack, monkeypatch):
    more = Policy(PolicyName.ALLOWED_IMAGES, "something", (), Requester.CONTENT, (Resources("", ("pods",)),), ALLOWED)
    monkeypatch.setattr(report, "policies", lambda config: [*POLICIES, more])
    stack.cluster.native(AUDIT, *NAMES, "flux-tenancy-allowed-images")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "controller": True}
    stack.cluster.objects["/api/v1/pods"] = [manifest("a", ownerReferences=[owner])]

    assert stack.found()["asked"] == 4


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


def test_a_clean_report_ends_well(stack):
    code, out, _ = stack.run()

    assert code == 0
    assert out.splitlines()[-1] == "None of 3 objects would be refused."


@pytest.mark.parametrize(("warnings", "status"), [((by_native("service-exposure", "no"),), 1), ((), 0)])
def test_a_pipeline_can_ask_for_a_status_that_tells_findings(stack, warnings, status):
    stack.cluster.judge = lambda asked: Said(warnings=warnings)

    code, out, _ = stack.run("--exit-code")

    assert code == status
    assert out.splitlines()[-1].startswith("3 of 3 objects" if warnings else "None of 3 objects")


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


def test_a_webhook_that_is_down_is_an_error(stack):
    said = (
        'Internal error occurred: failed calling webhook "vpol.validate.kyverno.svc-fail": failed to call webhook: Post'
    )
    stack.cluster.judge = lambda asked: Said(500, message=said)

    error = stack.refused()[0]
    assert error.endswith("failed to call webhook: Post (FT-OPS-040)")
    assert "vpol.validate.kyverno.svc-fail" in error and "Service apps/web" in error


def test_a_text_of_a_tenant_about_a_webhook_is_no_error(stack):
    said = 'denied the request: spec.url is https://x/failed calling webhook "vpol.validate.kyverno.svc": EOF'
    stack.cluster.judge = lambda asked: Said(403, message=said)

    assert stack.found()


@pytest.mark.parametrize("text", ["Too many requests, please try again later.", "upstream connect error"])
def test_an_answer_that_is_no_json_is_an_error_about_this_object(stack, text):
    stack.cluster.judge = lambda asked: Said(503, text=text)

    assert text in stack.refused()[0] and "(FT-OPS-042)" in stack.refused()[0]


def test_a_user_who_may_not_dry_run_is_an_error(stack):
    said = 'services is forbidden: User "me" cannot create resource "services" in API group "" in the namespace "apps"'
    stack.cluster.judge = lambda asked: Said(403, message=said)

    error, _ = stack.refused()
    assert error.endswith(f"Service apps/web: {said} (FT-OPS-041)")


def test_an_unhealthy_api_server_is_an_error(stack):
    stack.cluster.judge = lambda asked: Said(503, message="the server is currently unable to handle the request")

    error = stack.refused()[0]
    assert error.endswith("(FT-OPS-042)") and "503" in error and "Service apps/web" in error


@pytest.mark.parametrize(
    ("status", "said"), [(403, "refuses this user (403 Forbidden)"), (500, "answers 500 Internal")]
)
def test_a_cluster_that_refuses_the_user_is_an_error(stack, status, said):
    stack.cluster.status = status

    error = stack.refused()[0]

    assert error.startswith("error: Pulumi.staging.yaml: cluster.kubeconfig: http://127.0.0.1:")
    assert said in error


def test_a_cluster_that_cannot_be_reached_is_an_error(stack):
    write_kubeconfig(stack.folder, "http://127.0.0.1:1")

    code, out, error = stack.run_without_cluster()

    assert (code, out) == (2, "")
    problem, remedy = error.splitlines()
    assert problem.startswith("error: Pulumi.staging.yaml: cluster.kubeconfig: http://127.0.0.1:1 ")
    assert remedy.startswith("remedy: ")


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
        {
            "tenant": "dev-team",
            "namespace": "apps",
            "kind": "Service",
            "name": "web",
            "policy": "service-exposure",
        }
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
